//! Latency against footprint.

use page::plot::tick;
use page::{Axis, Page, Plot, Series, Shape};
use units::{bytes, three};

use super::command::{TABLE, shell_line};
use host::membench::Measured;
use terminal::table::Table;

/// The plot, and a table of the levels.
pub fn add(page: &mut Page, measured: &Measured) {
    if measured.latencies.is_empty() {
        return;
    }
    page.section(&format!("Latency, {}", measured.device));
    let mut series = Vec::new();
    let mut levels = Vec::new();
    for latencies in &measured.latencies {
        let name = latencies.curve.path.name();
        let points = latencies.curve.points.iter();
        series.push(Series {
            name: name.to_owned(),
            points: points
                .map(|point| (point.footprint_bytes as f64, point.cycles))
                .collect(),
            shape: Shape::Line,
            colour: Some(series.len()),
        });
        let of_load = latencies.levels.iter();
        levels.extend(of_load.map(|level| (name, level)));
    }
    let plot = Plot {
        x: Axis::log(
            "footprint",
            2.0,
            |footprint| bytes(footprint.round() as u64),
        ),
        y: Axis::log("cycles for a load", 2.0, tick),
        series,
        texts: Vec::new(),
    };
    page.plot(
        &plot,
        "A chain of dependent loads in random order, by the memory that it spans.",
    );
    page.fold(TABLE, |page| {
        Table::new(&levels)
            .left("load", |(name, _)| (*name).to_owned())
            .left("memory", |(_, level)| {
                level.memory.map_or("?", |memory| memory.name()).to_owned()
            })
            .right("cycles", |(_, level)| Some(three(level.plateau.cycles)))
            .right("ns", |(_, level)| Some(three(level.plateau.ns)))
            .right("from", |(_, level)| Some(bytes(level.plateau.first_bytes)))
            .right("to", |(_, level)| Some(bytes(level.plateau.last_bytes)))
            .right("device says", |(_, level)| level.attribute_bytes.map(bytes))
            .add_to(page, |_| "");
        page.command(&match &measured.command_line[..] {
            [] => "harness run membench --json=FILE".to_owned(),
            words => shell_line(words),
        });
    });
}
