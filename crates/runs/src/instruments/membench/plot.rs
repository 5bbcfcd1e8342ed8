//! Latency against footprint, as SVG.

use std::collections::BTreeSet;
use std::iter::once;

use host::membench::{Measured, Path};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use units::bytes;

const SIZE: (u32, u32) = (960, 600);
const GREY: RGBColor = RGBColor(0x80, 0x80, 0x80);

/// Colour and width of a curve. The widths differ too, for readers who cannot tell the colours
/// apart.
const fn style(path: Path) -> (RGBColor, u32) {
    match path {
        Path::Ca => (RGBColor(0x1f, 0x6f, 0xb4), 2),
        Path::Cg => (RGBColor(0xd9, 0x77, 0x06), 4),
        Path::Cv => (RGBColor(0x2e, 0x8b, 0x57), 6),
        Path::Shared => (RGBColor(0x7b, 0x3f, 0xa0), 2),
    }
}

/// Numbers that begin with 1, 2, 3, 5 or 7: there is room for no more in a decade.
fn y_label(cycles: f64) -> String {
    let text = cycles.to_string();
    let digits = text.trim_start_matches(['0', '.']);
    if digits.starts_with(['1', '2', '3', '5', '7']) {
        text
    } else {
        String::new()
    }
}

/// The plot: both axes logarithmic, levels of `ld.global.ca` and of shared memory as lines with
/// their names, sizes that the device states as vertical lines.
///
/// # Errors
///
/// Why it cannot be drawn.
pub fn svg(measured: &Measured) -> Result<String, Box<dyn std::error::Error>> {
    let points = || measured.latencies.iter().flat_map(|l| &l.curve.points);
    let footprints = || points().map(|point| point.footprint_bytes);
    let smallest = footprints().min().unwrap_or(1);
    let largest = footprints().max().unwrap_or(2);
    let cycles = || points().map(|point| point.cycles);
    let least = cycles().fold(f64::INFINITY, f64::min);
    let most = cycles().fold(0.0, f64::max);
    if !(least > 0.0 && most.is_finite()) {
        return Err("a latency is not a number above 0".into());
    }
    let (bottom, top) = (0.7 * least, 1.5 * most);

    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!("Latency of dependent loads, {}", measured.device);
    let axis = smallest as f64..largest.max(2 * smallest) as f64;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(15)
        .margin_right(45)
        .x_label_area_size(45)
        .y_label_area_size(60)
        .build_cartesian_2d(axis.log_scale().base(2.0), (bottom..top).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("footprint")
        .y_desc("cycles for a load")
        .x_labels(11)
        .x_label_formatter(&|footprint| bytes(footprint.round() as u64))
        .y_label_formatter(&|value| y_label(*value))
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(0xe4, 0xe4, 0xe4))
        .draw()?;
    let label =
        |words: String, at: (f64, f64), size: u32, colour: &RGBColor, side: (HPos, VPos)| {
            let style = ("sans-serif", size).into_font().color(colour);
            once(Text::new(words, at, style.pos(Pos::new(side.0, side.1))))
        };

    // Under the curves: what the device says.
    let levels = measured.latencies.iter().flat_map(|l| &l.levels);
    let stated: BTreeSet<(u64, &str)> = levels
        .filter_map(|level| Some((level.attribute_bytes?, level.memory?.name())))
        .filter(|(size, _)| (smallest..=largest).contains(size))
        .collect();
    let (mut last, mut y) = (0, 1.45 * most);
    for (size, name) in stated {
        // Sizes that are near each other have their names on lines of their own.
        y = if size < 64 * last {
            0.9 * y
        } else {
            1.45 * most
        };
        last = size;
        let x = size as f64;
        let line = PathElement::new([(x, bottom), (x, top)], GREY.stroke_width(1));
        chart.draw_series(once(line))?;
        let name = format!("{name}: {} ", bytes(size));
        chart.draw_series(label(name, (x, y), 13, &GREY, (HPos::Right, VPos::Top)))?;
    }

    // Where caches of several loads are the same ones, their curves lie on each other: the first,
    // narrowest, on top.
    for latencies in measured.latencies.iter().rev() {
        let path = latencies.curve.path;
        let (colour, width) = style(path);
        let measured_points = latencies.curve.points.iter();
        let line = measured_points.map(|point| (point.footprint_bytes as f64, point.cycles));
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(width)))?
            .label(path.name())
            .legend(move |(x, at_y)| {
                PathElement::new([(x, at_y), (x + 20, at_y)], colour.stroke_width(width))
            });
        // L1 and shared memory are near each other: one name above its line, one below.
        let (factor, above) = match path {
            Path::Ca => (1.07, VPos::Bottom),
            Path::Shared => (0.93, VPos::Top),
            _ => continue,
        };
        for level in &latencies.levels {
            let plateau = &level.plateau;
            let (from, to) = (plateau.first_bytes as f64, plateau.last_bytes as f64);
            let level_cycles = plateau.cycles;
            let wide = colour.mix(0.35).stroke_width(8);
            chart.draw_series(once(PathElement::new(
                [(from, level_cycles), (to, level_cycles)],
                wide,
            )))?;
            let name = level.memory.map_or("level", |memory| memory.name());
            let name = format!("{name}: {level_cycles:.0} cycles, {:.0} ns", plateau.ns);
            // A name that begins near the right edge would leave the plot.
            let (x, side) = if from > to / 64.0 && to >= largest as f64 {
                (to, HPos::Right)
            } else {
                (from, HPos::Left)
            };
            let at = (x, factor * level_cycles);
            chart.draw_series(label(name, at, 14, &colour, (side, above)))?;
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
    drop(chart);
    drop(root);
    Ok(text)
}
