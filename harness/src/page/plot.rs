//! Plots as SVG in the page's own colours.
//!
//! They are drawn by plotters in fixed colours, each of which stands for one of the page's: in the end it is replaced by
//! the name of the style sheet's variable, so that one drawing serves the light and the dark page.

use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::escape;
use crate::units::three;

const WIDTH: u32 = 760;
/// Without the legend, which lies above.
const HEIGHT: u32 = 430;
/// Of a row of the legend.
const ROW: i32 = 22;
const FOREGROUND: RGBColor = RGBColor(0x01, 0x00, 0x01);
const GRID: RGBColor = RGBColor(0xdf, 0xe3, 0x01);
const MUTED: RGBColor = RGBColor(0x5d, 0x66, 0x01);

/// How many series are told apart by colour.
const SERIES_COLOURS: u8 = 8;

/// The stand-in for the style sheet's variable `--sN`.
const fn series_colour(index: usize) -> RGBColor {
    RGBColor(0x12, 0x34, (index % SERIES_COLOURS as usize) as u8)
}

/// One of the two axes.
#[derive(Clone)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// Whether equal distances are equal ratios; the base of the ticks.
    pub log_base: Option<f64>,
    /// How a tick is written.
    pub tick: fn(f64) -> String,
    /// Whether the axis starts at 0, where it is not logarithmic.
    pub from_zero: bool,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A line through its points, which are marked.
    Line,
    /// A line without marks, for many points or limits.
    Curve,
    /// Marks alone.
    Marks,
    /// Bars of width 1 around whole numbers.
    Bars,
}

/// A series of points.
#[derive(Debug, Clone)]
pub struct Series {
    /// For the legend; no entry if empty.
    pub name: String,
    /// Horizontal and vertical.
    pub points: Vec<(f64, f64)>,
    /// How they are drawn.
    pub shape: Shape,
    /// Which of the page's colours; `None` for that of secondary text.
    pub colour: Option<usize>,
}

/// A plot in the making.
pub struct Plot {
    /// Horizontal.
    pub x: Axis,
    /// Vertical.
    pub y: Axis,
    /// What is plotted. Points that are not finite, or not above 0 on a logarithmic axis, are left out.
    pub series: Vec<Series>,
    /// Texts at places in the plot, in the colour of secondary text.
    pub texts: Vec<(f64, f64, String)>,
}

impl Plot {
    /// The SVG element.
    ///
    /// # Errors
    ///
    /// Why it cannot be drawn: no points.
    pub fn svg(&self) -> Result<String, String> {
        let points = || {
            self.series
                .iter()
                .flat_map(|series| series.points.iter())
                .filter(|p| self.is_shown(**p))
        };
        let bounds = |axis: &Axis, of: fn(&(f64, f64)) -> f64| {
            let least = points().map(of).fold(f64::INFINITY, f64::min);
            let most = points().map(of).fold(f64::NEG_INFINITY, f64::max);
            axis.bounds(least, most)
        };
        if points().next().is_none() {
            return Err("there is nothing to plot".to_owned());
        }
        let x = bounds(&self.x, |point| point.0);
        let y = bounds(&self.y, |point| point.1);
        let mut text = String::new();
        let drawn = match (self.x.log_base, self.y.log_base) {
            (None, None) => self.draw(&mut text, x.0..x.1, y.0..y.1),
            (Some(b), None) => self.draw(&mut text, (x.0..x.1).log_scale().base(b), y.0..y.1),
            (None, Some(b)) => self.draw(&mut text, x.0..x.1, (y.0..y.1).log_scale().base(b)),
            (Some(a), Some(b)) => self.draw(
                &mut text,
                (x.0..x.1).log_scale().base(a),
                (y.0..y.1).log_scale().base(b),
            ),
        };
        drawn.map_err(|error| error.to_string())?;
        Ok(in_page_colours(&text))
    }

    fn is_shown(&self, (x, y): (f64, f64)) -> bool {
        let fits =
            |value: f64, axis: &Axis| value.is_finite() && (axis.log_base.is_none() || value > 0.0);
        fits(x, &self.x) && fits(y, &self.y)
    }

    fn draw<X, Y>(
        &self,
        text: &mut String,
        x: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = X, Value = f64>,
        y: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = Y, Value = f64>,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let legend = self.legend();
        let rows = legend.iter().map(|entry| entry.row + 1).max().unwrap_or(0);
        let above = ROW * rows + if rows > 0 { 8 } else { 0 };
        let size = (WIDTH, HEIGHT + above as u32);
        let whole = SVGBackend::with_string(text, size).into_drawing_area();
        let (top, root) = whole.split_vertically(above);
        let mut chart = ChartBuilder::on(&root)
            .margin(12)
            .margin_right(24)
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d(x, y)?;
        let style = |size: u32, colour: &RGBColor| ("sans-serif", size).into_font().color(colour);
        let (x_tick, y_tick) = (self.x.tick, self.y.tick);
        chart
            .configure_mesh()
            .x_desc(escape::line(&self.x.label))
            .y_desc(escape::line(&self.y.label))
            .x_labels(8)
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
            let colour = series.colour.map_or(MUTED, series_colour);
            let points: Vec<(f64, f64)> = series
                .points
                .iter()
                .copied()
                .filter(|point| self.is_shown(*point))
                .collect();
            if matches!(series.shape, Shape::Line | Shape::Curve) {
                chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
            }
            match (series.shape, series.colour.unwrap_or(0) % 3) {
                (Shape::Curve, _) => {}
                (Shape::Bars, _) => {
                    let bar = |(x, y): &(f64, f64)| {
                        Rectangle::new([(x - 0.46, 0.0), (x + 0.46, *y)], colour.filled())
                    };
                    chart.draw_series(points.iter().map(bar))?;
                }
                (_, 0) => {
                    chart
                        .draw_series(points.iter().map(|p| Circle::new(*p, 4, colour.filled())))?;
                }
                (_, 1) => {
                    chart.draw_series(
                        points
                            .iter()
                            .map(|p| TriangleMarker::new(*p, 6, colour.filled())),
                    )?;
                }
                (_, _) => {
                    chart.draw_series(
                        points
                            .iter()
                            .map(|p| Cross::new(*p, 4, colour.stroke_width(2))),
                    )?;
                }
            }
        }
        for (x, y, label) in &self.texts {
            let style = style(13, &MUTED).pos(Pos::new(HPos::Left, VPos::Bottom));
            chart.draw_series(std::iter::once(Text::new(
                escape::plain(label),
                (*x, *y),
                style,
            )))?;
        }
        for entry in legend {
            entry.draw(&top)?;
        }
        whole.present()?;
        Ok(())
    }

    /// The names of the series, each behind a sample of it, in as many rows as they need.
    fn legend(&self) -> Vec<Entry<'_>> {
        const LEFT: i32 = 84;
        let (mut row, mut left) = (0, LEFT);
        let mut entries = Vec::new();
        for series in self.series.iter().filter(|series| !series.name.is_empty()) {
            let name = escape::line(&series.name);
            // About as wide as letters are, generously.
            let width = 60 + 8 * name.chars().count() as i32;
            if left > LEFT && left + width > WIDTH as i32 {
                (row, left) = (row + 1, LEFT);
            }
            entries.push(Entry {
                series,
                name,
                row,
                left,
            });
            left += width;
        }
        entries
    }
}

/// An entry of the legend.
struct Entry<'p> {
    series: &'p Series,
    name: String,
    row: i32,
    left: i32,
}

impl Entry<'_> {
    fn draw(
        self,
        area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let Entry {
            series, row, left, ..
        } = self;
        let colour = series.colour.map_or(MUTED, series_colour);
        let y = 8 + ROW / 2 + ROW * row;
        let (from, middle, to) = ((left, y), (left + 14, y), (left + 28, y));
        if matches!(series.shape, Shape::Line | Shape::Curve) {
            area.draw(&PathElement::new([from, to], colour.stroke_width(2)))?;
        }
        match (series.shape, series.colour.unwrap_or(0) % 3) {
            (Shape::Curve, _) => {}
            (Shape::Bars, _) => {
                let corners = [(left + 8, y - 6), (left + 20, y + 6)];
                area.draw(&Rectangle::new(corners, colour.filled()))?;
            }
            (_, 0) => area.draw(&Circle::new(middle, 4, colour.filled()))?,
            (_, 1) => area.draw(&TriangleMarker::new(middle, 6, colour.filled()))?,
            (_, _) => area.draw(&Cross::new(middle, 4, colour.stroke_width(2)))?,
        }
        let style = ("sans-serif", 14).into_font().color(&FOREGROUND);
        let style = style.pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(self.name, (left + 36, y), style))?;
        Ok(())
    }
}

/// A tick's number: three digits, no zeros behind the point.
pub fn tick(value: f64) -> String {
    let text = three(value);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

impl Axis {
    /// A linear axis from 0.
    pub fn linear(label: &str, tick: fn(f64) -> String) -> Axis {
        Axis {
            label: label.to_owned(),
            log_base: None,
            tick,
            from_zero: true,
        }
    }

    /// A logarithmic axis.
    pub fn log(label: &str, base: f64, tick: fn(f64) -> String) -> Axis {
        Axis {
            label: label.to_owned(),
            log_base: Some(base),
            tick,
            from_zero: false,
        }
    }

    fn bounds(&self, least: f64, most: f64) -> (f64, f64) {
        if self.log_base.is_some() {
            return (least / 1.25, most * 1.25);
        }
        let least = if self.from_zero {
            least.min(0.0)
        } else {
            least
        };
        let span = if most > least {
            most - least
        } else {
            most.abs().max(1.0)
        };
        let below = if self.from_zero && least >= 0.0 {
            0.0
        } else {
            0.04 * span
        };
        (least - below, least + 1.06 * span)
    }
}

/// Replaces the stand-ins, and makes the drawing as wide as it may be.
fn in_page_colours(svg: &str) -> String {
    let named = [(FOREGROUND, "--fg"), (GRID, "--grid"), (MUTED, "--muted")];
    let named = named.map(|(colour, variable)| (colour, variable.to_owned()));
    let series =
        (0..SERIES_COLOURS).map(|index| (series_colour(index.into()), format!("--s{index}")));
    let mut text = svg.to_owned();
    for (RGBColor(r, g, b), variable) in named.into_iter().chain(series) {
        text = text.replace(
            &format!("#{r:02X}{g:02X}{b:02X}"),
            &format!("var({variable})"),
        );
    }
    let start = format!("<svg width=\"{WIDTH}\" height=\"");
    if let Some((height, _)) = text
        .strip_prefix(&start)
        .and_then(|rest| rest.split_once('"'))
    {
        let size = format!("{start}{height}\" ");
        text = text.replacen(&size, "<svg role=\"img\" ", 1);
    }
    text.replace("font-family=\"sans-serif\" ", "")
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn only_the_pages_colours_are_used() {
        let svg = plot(vec![(1.0, 1.0), (100.0, 3.0)]).svg().unwrap();
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
        .svg()
        .unwrap();
        assert_eq!(
            svg.matches("<circle").count(),
            2,
            "one point and the legend's: {svg}"
        );
        assert_eq!(
            plot(vec![(0.0, 1.0)]).svg(),
            Err("there is nothing to plot".to_owned())
        );
    }
}
