//! Latency against footprint.

use super::shell_line;
use crate::page::plot::tick;
use crate::page::{Axis, Cell, Page, Plot, Series, Shape};
use crate::run::membench::Measured;
use crate::units::{bytes, three};

/// The plot, and a table of the levels.
pub fn add(page: &mut Page, measured: &Measured) {
    if measured.latencies.is_empty() {
        return;
    }
    page.section(&format!("Latency, {}", measured.device));
    let series = measured
        .latencies
        .iter()
        .enumerate()
        .map(|(colour, latencies)| Series {
            name: latencies.curve.path.name().to_owned(),
            points: latencies
                .curve
                .points
                .iter()
                .map(|point| (point.footprint_bytes as f64, point.cycles))
                .collect(),
            shape: Shape::Line,
            colour: Some(colour),
        });
    let plot = Plot {
        x: Axis::log(
            "footprint",
            2.0,
            |footprint| bytes(footprint.round() as u64),
        ),
        y: Axis::log("cycles for a load", 2.0, tick),
        series: series.collect(),
        texts: Vec::new(),
    };
    page.plot(
        &plot,
        "A chain of dependent loads in random order, by the memory that it spans.",
    );
    let headers = [
        Cell::text("load"),
        Cell::text("memory"),
        Cell::number("cycles"),
        Cell::number("ns"),
        Cell::number("from"),
        Cell::number("to"),
        Cell::number("device says"),
    ];
    let rows = measured.latencies.iter().flat_map(|latencies| {
        latencies.levels.iter().map(|level| {
            let plateau = &level.plateau;
            vec![
                Cell::text(latencies.curve.path.name()),
                Cell::text(level.memory.map_or("?", |memory| memory.name())),
                Cell::number(three(plateau.cycles)),
                Cell::number(three(plateau.ns)),
                Cell::number(bytes(plateau.first_bytes)),
                Cell::number(bytes(plateau.last_bytes)),
                Cell::number(level.attribute_bytes.map_or_else(|| "-".to_owned(), bytes)),
            ]
        })
    });
    page.table(&headers, rows);
    page.command(&match &measured.command_line[..] {
        [] => "harness run membench --json=FILE".to_owned(),
        words => shell_line(words),
    });
}
