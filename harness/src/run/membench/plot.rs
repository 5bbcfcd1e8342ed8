//! Latency against footprint, as SVG.

use host::membench::Path;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Measured;
use crate::units::bytes;

const SIZE: (u32, u32) = (960, 600);
const BLUE: RGBColor = RGBColor(0x1f, 0x6f, 0xb4);
const ORANGE: RGBColor = RGBColor(0xd9, 0x77, 0x06);
const GREEN: RGBColor = RGBColor(0x2e, 0x8b, 0x57);
const PURPLE: RGBColor = RGBColor(0x7b, 0x3f, 0xa0);
const GREY: RGBColor = RGBColor(0x80, 0x80, 0x80);

/// Told apart without colours by their widths.
const fn colour(path: Path) -> RGBColor {
    match path {
        Path::Ca => BLUE,
        Path::Cg => ORANGE,
        Path::Cv => GREEN,
        Path::Shared => PURPLE,
    }
}

const fn width(path: Path) -> u32 {
    match path {
        Path::Ca | Path::Shared => 2,
        Path::Cg => 4,
        Path::Cv => 6,
    }
}

/// Numbers that begin with 1, 2, 3, 5 or 7: there is room for no more in a decade.
fn y_label(cycles: f64) -> String {
    let text = format!("{cycles}");
    if text
        .trim_start_matches(['0', '.'])
        .starts_with(['1', '2', '3', '5', '7'])
    {
        text
    } else {
        String::new()
    }
}

/// The plot: both axes logarithmic, levels of `ld.global.ca` and of shared memory as lines with their names, sizes that the
/// device states as vertical lines.
///
/// # Errors
///
/// Why it cannot be drawn.
pub fn svg(measured: &Measured) -> Result<String, String> {
    let mut text = String::new();
    draw(&mut text, measured).map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(text: &mut String, measured: &Measured) -> Result<(), Box<dyn std::error::Error>> {
    let points = || measured.latencies.iter().flat_map(|l| &l.curve.points);
    let smallest = points()
        .map(|point| point.footprint_bytes)
        .min()
        .unwrap_or(1);
    let largest = points()
        .map(|point| point.footprint_bytes)
        .max()
        .unwrap_or(2);
    let least = points()
        .map(|point| point.cycles)
        .fold(f64::INFINITY, f64::min);
    let most = points().map(|point| point.cycles).fold(0.0, f64::max);
    if !(least > 0.0 && most.is_finite()) {
        return Err("a latency that is no number above 0".into());
    }

    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!("Latency of dependent loads, {}", measured.device);
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(15)
        .margin_right(45)
        .x_label_area_size(45)
        .y_label_area_size(60)
        .build_cartesian_2d(
            (smallest as f64..largest.max(2 * smallest) as f64)
                .log_scale()
                .base(2.0),
            (0.7 * least..1.5 * most).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("footprint")
        .y_desc("cycles for a load")
        .x_labels(11)
        .x_label_formatter(&|footprint| bytes(footprint.round() as u64))
        .y_label_formatter(&|cycles| y_label(*cycles))
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(0xe4, 0xe4, 0xe4))
        .draw()?;

    // Under the curves: what the device says.
    let mut stated: Vec<(u64, &str)> = measured
        .latencies
        .iter()
        .flat_map(|latencies| &latencies.levels)
        .filter_map(|level| Some((level.attribute_bytes?, level.memory?.name())))
        .filter(|(size, _)| (smallest..=largest).contains(size))
        .collect();
    stated.sort_unstable();
    stated.dedup();
    let (mut last, mut label_y) = (0, 1.45 * most);
    for (size, name) in stated {
        // Sizes that are near each other have their names on lines of their own.
        label_y = if size < 64 * last {
            0.9 * label_y
        } else {
            1.45 * most
        };
        last = size;
        let x = size as f64;
        let ends = vec![(x, 0.7 * least), (x, 1.5 * most)];
        chart.draw_series(std::iter::once(PathElement::new(
            ends,
            GREY.stroke_width(1),
        )))?;
        let style = ("sans-serif", 13).into_font().color(&GREY);
        let style = style.pos(Pos::new(HPos::Right, VPos::Top));
        let label = format!("{name}: {} ", bytes(size));
        chart.draw_series(std::iter::once(Text::new(label, (x, label_y), style)))?;
    }

    // Where caches of several loads are the same ones, their curves lie on each other: the first, narrowest, on top.
    for latencies in measured.latencies.iter().rev() {
        let path = latencies.curve.path;
        let colour = colour(path);
        let width = width(path);
        let line = latencies
            .curve
            .points
            .iter()
            .map(|point| (point.footprint_bytes as f64, point.cycles));
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(width)))?
            .label(path.name())
            .legend(move |(x, y)| {
                PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(width))
            });
        if !matches!(path, Path::Ca | Path::Shared) {
            continue;
        }
        for level in &latencies.levels {
            let plateau = &level.plateau;
            let (from, to) = (plateau.first_bytes as f64, plateau.last_bytes as f64);
            let ends = vec![(from, plateau.cycles), (to, plateau.cycles)];
            let style = colour.mix(0.35).stroke_width(8);
            chart.draw_series(std::iter::once(PathElement::new(ends, style)))?;
            let name = level.memory.map_or("level", |memory| memory.name());
            let label = format!("{name}: {:.0} cycles, {:.0} ns", plateau.cycles, plateau.ns);
            // L1 and shared memory are near each other: one name above its line, one below.
            let (factor, at) = match path {
                Path::Shared => (0.93, VPos::Top),
                _ => (1.07, VPos::Bottom),
            };
            let style = ("sans-serif", 14).into_font().color(&colour);
            // A name that begins near the right edge would leave the plot.
            let (x, side) = if from > to / 64.0 && to >= largest as f64 {
                (to, HPos::Right)
            } else {
                (from, HPos::Left)
            };
            let style = style.pos(Pos::new(side, at));
            let text = Text::new(label, (x, factor * plateau.cycles), style);
            chart.draw_series(std::iter::once(text))?;
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE)
        .border_style(GREY)
        .label_font(("sans-serif", 14))
        .draw()?;
    root.present()?;
    Ok(())
}
