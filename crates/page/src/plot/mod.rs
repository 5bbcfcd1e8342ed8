//! Plots as SVG in the page's own colours, drawn by plotters: once for a wide screen, once for a
//! phone.

mod axis;
mod legend;
mod series;

use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::escape;
pub use axis::{Axis, tick, whole};
use legend::Legend;
use series::{FOREGROUND, GRID, MUTED, Mark};
pub use series::{Series, Shape};

/// The size of a plot, in pixels, where text is 14 pixels high.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    width: u32,
    /// Without the legend, which lies above.
    height: u32,
    /// Width of the numbers of the vertical axis, and of its description.
    y_labels: u32,
    /// The largest number of ticks of the horizontal axis.
    x_ticks: usize,
}

impl Size {
    /// The width, in pixels.
    pub fn width(self) -> u32 {
        self.width
    }
}

/// For a wide screen.
pub const BROAD: Size = Size {
    width: 760,
    height: 430,
    y_labels: 72,
    x_ticks: 8,
};
/// For a phone.
pub const NARROW: Size = Size {
    width: 400,
    height: 340,
    y_labels: 64,
    x_ticks: 4,
};

/// A plot under construction.
pub struct Plot {
    /// Horizontal.
    pub x: Axis,
    /// Vertical.
    pub y: Axis,
    /// The plotted series. Points that are not finite, or not above 0 on a logarithmic axis, are
    /// left out.
    pub series: Vec<Series>,
    /// Texts at places in the plot, in the colour of secondary text.
    pub texts: Vec<(f64, f64, String)>,
}

impl Plot {
    /// The SVG element.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be drawn, for example a lack of points.
    pub fn svg(&self, size: Size) -> Result<String, String> {
        let points = || {
            self.series
                .iter()
                .flat_map(|series| series.points.iter())
                .filter(|p| self.is_shown(**p))
        };
        let bounds = |axis: &Axis, of: fn((f64, f64)) -> f64| {
            let texts = self.texts.iter().map(|(x, y, _)| (*x, *y));
            let values = || points().copied().chain(texts.clone()).map(of);
            let least = values().fold(f64::INFINITY, f64::min);
            let most = values().fold(f64::NEG_INFINITY, f64::max);
            axis.bounds(least, most)
        };
        if points().next().is_none() {
            return Err("there is nothing to plot".to_owned());
        }
        let x = bounds(&self.x, |point| point.0);
        let y = bounds(&self.y, |point| point.1);
        let mut text = String::new();
        let drawn = match (self.x.log_base, self.y.log_base) {
            (None, None) => self.draw(&mut text, size, x.0..x.1, y.0..y.1),
            (Some(b), None) => self.draw(&mut text, size, (x.0..x.1).log_scale().base(b), y.0..y.1),
            (None, Some(b)) => self.draw(&mut text, size, x.0..x.1, (y.0..y.1).log_scale().base(b)),
            (Some(a), Some(b)) => self.draw(
                &mut text,
                size,
                (x.0..x.1).log_scale().base(a),
                (y.0..y.1).log_scale().base(b),
            ),
        };
        drawn.map_err(|error| error.to_string())?;
        Ok(as_wide_as_the_page(&series::in_page(&text), size))
    }

    fn is_shown(&self, (x, y): (f64, f64)) -> bool {
        let fits =
            |value: f64, axis: &Axis| value.is_finite() && (axis.log_base.is_none() || value > 0.0);
        fits(x, &self.x) && fits(y, &self.y)
    }

    fn draw<X, Y>(
        &self,
        text: &mut String,
        size: Size,
        x: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = X, Value = f64>,
        y: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = Y, Value = f64>,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let indent = size.y_labels as i32 + 12;
        let start = if size.width < BROAD.width { 12 } else { indent };
        let legend = Legend::new(&self.series, start, size.width as i32);
        let above = legend.height();
        let whole = SVGBackend::with_string(text, (size.width, size.height + above as u32))
            .into_drawing_area();
        let (top, root) = whole.split_vertically(above);
        let mut chart = ChartBuilder::on(&root)
            .margin(12)
            .margin_right(24)
            .x_label_area_size(48)
            .y_label_area_size(size.y_labels)
            .build_cartesian_2d(x, y)?;
        let style =
            |points: u32, colour: &RGBColor| ("sans-serif", points).into_font().color(colour);
        let (x_tick, y_tick) = (self.x.tick, self.y.tick);
        chart
            .configure_mesh()
            .x_desc(escape::line(&self.x.label))
            .y_desc(escape::line(&self.y.label))
            .x_labels(size.x_ticks)
            .y_labels(7)
            .x_label_formatter(&|value| x_tick(*value))
            .y_label_formatter(&|value| y_tick(*value))
            .label_style(style(14, &MUTED))
            .axis_desc_style(style(15, &FOREGROUND))
            .axis_style(MUTED)
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .draw()?;
        for series in &self.series {
            let colour = series.colour();
            let stroke = colour.stroke_width(2);
            let points: Vec<(f64, f64)> = series
                .points
                .iter()
                .copied()
                .filter(|point| self.is_shown(*point))
                .collect();
            match series.shape {
                Shape::Line | Shape::Curve => {
                    let points = thinned(&points, size.width as usize);
                    chart.draw_series(LineSeries::new(points, stroke))?;
                }
                Shape::Dashes | Shape::Dots => {
                    let [dash, gap] = series.shape.dashes();
                    let dashes = DashedLineSeries::new(points.iter().copied(), dash, gap, stroke);
                    chart.draw_series(dashes)?;
                }
                Shape::Bars => {
                    let bar = |(middle, height): &(f64, f64)| {
                        Rectangle::new(
                            [(middle - 0.46, 0.0), (middle + 0.46, *height)],
                            colour.filled(),
                        )
                    };
                    chart.draw_series(points.iter().map(bar))?;
                }
                Shape::Marks => {}
            }
            if matches!(series.shape, Shape::Line | Shape::Marks) {
                let mark = |at: &(f64, f64)| Mark {
                    at: *at,
                    series: series.colour.unwrap_or(0),
                    colour,
                };
                chart.draw_series(points.iter().map(mark))?;
            }
        }
        for (at_x, at_y, label) in &self.texts {
            let style = style(13, &MUTED).pos(Pos::new(HPos::Left, VPos::Bottom));
            chart.draw_series(std::iter::once(Text::new(
                escape::plain(label),
                (*at_x, *at_y),
                style,
            )))?;
        }
        legend.draw(&top)?;
        whole.present()?;
        Ok(())
    }
}

/// At most about four points for each pixel of the width: where there are more, the first, least,
/// greatest and last.
fn thinned(points: &[(f64, f64)], width: usize) -> Vec<(f64, f64)> {
    let chunk = points.len().div_ceil(width.max(1));
    if chunk <= 4 {
        return points.to_vec();
    }
    let ends = |four: &[(f64, f64)]| {
        let by_height = |a: &&usize, b: &&usize| four[**a].1.total_cmp(&four[**b].1);
        let all: Vec<usize> = (0..four.len()).collect();
        let mut kept = vec![0, four.len() - 1];
        kept.extend(all.iter().min_by(by_height));
        kept.extend(all.iter().max_by(by_height));
        kept.sort_unstable();
        kept.dedup();
        kept.into_iter()
            .map(|index| four[index])
            .collect::<Vec<_>>()
    };
    points.chunks(chunk).flat_map(ends).collect()
}

/// Leaves the size to the style sheet.
fn as_wide_as_the_page(svg: &str, size: Size) -> String {
    let start = format!("<svg width=\"{}\" height=\"", size.width);
    let mut text = svg.to_owned();
    if let Some((height, _)) = svg
        .strip_prefix(&start)
        .and_then(|rest| rest.split_once('"'))
    {
        let sized = format!("{start}{height}\" ");
        text = text.replacen(&sized, "<svg role=\"img\" ", 1);
    }
    text.replace("font-family=\"sans-serif\" ", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::three;

    fn plot(points: Vec<(f64, f64)>) -> Plot {
        Plot {
            x: Axis::log("cells", 10.0, three),
            y: Axis::linear("rate", three),
            series: vec![Series {
                name: "a < b".to_owned(),
                points,
                shape: Shape::Line,
                colour: Some(0),
            }],
            texts: Vec::new(),
        }
    }

    #[test]
    fn dashes_and_dots_are_broken_lines_and_look_different() {
        let drawn = |shape| {
            let mut plot = plot(vec![(1.0, 1.0), (100.0, 3.0)]);
            plot.series[0].shape = shape;
            let svg = plot.svg(BROAD).unwrap();
            svg.matches("<polyline").count()
        };
        let [curve, dashes, dots] = [Shape::Curve, Shape::Dashes, Shape::Dots].map(drawn);
        assert!(curve < dashes && dashes < dots, "{curve} {dashes} {dots}");
    }

    #[test]
    fn only_the_pages_colours_are_used() {
        let svg = plot(vec![(1.0, 1.0), (100.0, 3.0)]).svg(BROAD).unwrap();
        assert!(svg.starts_with("<svg role=\"img\" viewBox"), "{svg}");
        assert!(!svg.contains("\"#"), "{svg}");
        assert!(
            svg.contains("var(--s0)") && svg.contains("var(--grid)") && svg.contains("a &lt; b"),
            "{svg}"
        );
    }

    #[test]
    fn what_cannot_be_shown_is_left_out() {
        let svg = plot(vec![
            (0.0, 1.0),
            (f64::NAN, 1.0),
            (10.0, f64::INFINITY),
            (5.0, 2.0),
        ])
        .svg(BROAD)
        .unwrap();
        assert_eq!(
            svg.matches("<circle").count(),
            2,
            "one point and the legend's: {svg}"
        );
        assert_eq!(
            plot(vec![(0.0, 1.0)]).svg(NARROW),
            Err("there is nothing to plot".to_owned())
        );
    }

    #[test]
    fn every_series_has_its_own_mark() {
        let marks: Vec<String> = (0..8)
            .map(|colour| {
                let mut plot = plot(vec![(10.0, 1.0)]);
                plot.series[0].shape = Shape::Marks;
                plot.series[0].colour = Some(colour);
                let svg = plot.svg(BROAD).unwrap();
                svg.replace(&format!("--s{colour}"), "--s")
            })
            .collect();
        for (index, mark) in marks.iter().enumerate() {
            assert!(!marks[..index].contains(mark), "{index}");
        }
    }

    #[test]
    fn long_curves_are_thinned_and_keep_their_ends() {
        let wave = |index: usize| (index as f64, (index as f64).sin());
        let points: Vec<(f64, f64)> = (0..10_000).map(wave).collect();
        let thin = thinned(&points, 100);
        assert!(thin.len() <= 400, "{}", thin.len());
        assert_eq!(
            (thin[0], thin.last()),
            (points[0], points.last().copied().as_ref())
        );
        assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
        let most = |some: &[(f64, f64)]| some.iter().map(|p| p.1).fold(0.0, f64::max);
        assert_eq!(most(&thin), most(&points));
        assert_eq!(thinned(&points[..50], 100), points[..50]);
    }
}
