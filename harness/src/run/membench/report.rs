//! The tables.

use host::device::DeviceInfo;
use host::membench::{Coalescing, CoalescingFigure, Path};

use super::results::Measured;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use crate::units::{bytes, bytes_per_s, grouped, three};

/// Latencies, levels, bandwidths.
pub fn render(measured: &Measured, info: &DeviceInfo, look: Look) -> String {
    let title = look.title(&format!("membench  {}", measured.device));
    [
        title,
        latencies(measured, look),
        levels(measured, look),
        bandwidths(measured, info, look),
        coalescing(&measured.coalescing, look),
    ]
    .join("\n\n")
}

/// Cycles by footprint: powers of two; the plot has those between.
fn latencies(measured: &Measured, look: Look) -> String {
    let mut headers = vec![("footprint".to_owned(), Align::Right)];
    headers.extend(measured.latencies.iter().map(|latencies| {
        (
            format!("{}\ncycles", latencies.curve.path.name()),
            Align::Right,
        )
    }));
    headers.push((format!("{}\nns", Path::Ca.name()), Align::Right));
    let headers: Vec<(&str, Align)> = headers
        .iter()
        .map(|(text, align)| (text.as_str(), *align))
        .collect();
    let mut table = Columns::with_header(look, &headers);
    let mut footprints: Vec<u64> = measured
        .latencies
        .iter()
        .flat_map(|latencies| &latencies.curve.points)
        .map(|point| point.footprint_bytes)
        .filter(|bytes| bytes.is_power_of_two())
        .collect();
    footprints.sort_unstable();
    footprints.dedup();
    for footprint in footprints {
        let at = |latencies: &super::results::Latencies| {
            let mut points = latencies.curve.points.iter();
            points
                .find(|point| point.footprint_bytes == footprint)
                .copied()
        };
        let mut cells = vec![bytes(footprint)];
        cells.extend(
            measured
                .latencies
                .iter()
                .map(|latencies| at(latencies).map_or(String::new(), |point| three(point.cycles))),
        );
        let ca = measured
            .latencies
            .iter()
            .find(|latencies| latencies.curve.path == Path::Ca);
        cells.push(
            ca.and_then(at)
                .map_or(String::new(), |point| three(point.ns)),
        );
        table.row(cells.into_iter().map(|cell| (cell, Tone::Normal)));
    }
    table.render(2)
}

/// The plateaus.
fn levels(measured: &Measured, look: Look) -> String {
    let headers = [
        ("load", Align::Left),
        ("level", Align::Left),
        ("cycles", Align::Right),
        ("ns", Align::Right),
        ("flat from", Align::Right),
        ("to", Align::Right),
        ("the device says", Align::Right),
    ];
    let mut table = Columns::with_header(look, &headers);
    for latencies in &measured.latencies {
        for level in &latencies.levels {
            let cells = [
                latencies.curve.path.name().to_owned(),
                level
                    .memory
                    .map_or("unknown", |memory| memory.name())
                    .to_owned(),
                three(level.plateau.cycles),
                three(level.plateau.ns),
                bytes(level.plateau.first_bytes),
                bytes(level.plateau.last_bytes),
                level.attribute_bytes.map_or(String::new(), bytes),
            ];
            table.row(cells.map(|cell| (cell, Tone::Normal)));
        }
    }
    table.render(2)
}

/// The sweeps over access patterns: by elements a thread, and by stride.
pub fn coalescing(sweeps: &Coalescing, look: Look) -> String {
    let time = |figure: &CoalescingFigure| {
        figure
            .seconds
            .map_or("-".to_owned(), |seconds| three(1e3 * seconds))
    };
    let rate = |figure: &CoalescingFigure| figure.bytes_per_s.map_or("-".to_owned(), bytes_per_s);
    let excess =
        |figure: &CoalescingFigure| three(figure.sectors as f64 / figure.ideal_sectors as f64);
    let slower = |figure: &CoalescingFigure, than: &CoalescingFigure| {
        let both = figure.seconds.zip(than.seconds);
        both.map_or("-".to_owned(), |(seconds, than)| three(seconds / than))
    };

    let mut by_x = Columns::with_header(
        look,
        &[
            ("elements\na thread", Align::Right),
            ("coalesced\nms", Align::Right),
            ("bandwidth", Align::Right),
            ("sectors\nx ideal", Align::Right),
            ("non-coalesced\nms", Align::Right),
            ("bandwidth", Align::Right),
            ("sectors\nx ideal", Align::Right),
            ("speedup\nx", Align::Right),
        ],
    );
    for [coalesced, other] in &sweeps.by_x {
        let cells = [
            coalesced.x.to_string(),
            time(coalesced),
            rate(coalesced),
            excess(coalesced),
            time(other),
            rate(other),
            excess(other),
            slower(other, coalesced),
        ];
        by_x.row(cells.map(|cell| (cell, Tone::Normal)));
    }

    let mut by_stride = Columns::with_header(
        look,
        &[
            ("stride\nelements", Align::Right),
            ("time\nms", Align::Right),
            ("bandwidth", Align::Right),
            ("sectors\nx ideal", Align::Right),
            ("vs stride 1\nx", Align::Right),
        ],
    );
    let first = sweeps.by_stride.first().map(|(_, figure)| figure);
    for (stride, figure) in &sweeps.by_stride {
        let cells = [
            stride.to_string(),
            time(figure),
            rate(figure),
            excess(figure),
            first.map_or(String::new(), |first| slower(figure, first)),
        ];
        by_stride.row(cells.map(|cell| (cell, Tone::Normal)));
    }
    format!(
        "{}\n\n{}\n  bandwidth: of the elements, {} of them; sectors: counted by the emulated device",
        by_x.render(2),
        by_stride.render(2),
        grouped(sweeps.elements.into())
    )
}

fn bandwidths(measured: &Measured, info: &DeviceInfo, look: Look) -> String {
    let headers = [
        ("memory", Align::Left),
        ("access", Align::Left),
        ("footprint", Align::Right),
        ("bandwidth", Align::Right),
        ("bytes a cycle\nof a multiprocessor", Align::Right),
    ];
    let mut table = Columns::with_header(look, &headers);
    // At the highest clock, which the device need not run at.
    let cycles_per_s = info
        .clock_khz
        .zip(info.multiprocessors)
        .map(|(khz, count)| 1e3 * f64::from(khz) * f64::from(count));
    for figure in &measured.bandwidths {
        let rate = figure.bytes_per_s;
        let cells = [
            figure.memory.name().to_owned(),
            figure.access.name().to_owned(),
            bytes(figure.footprint_bytes),
            rate.map_or("no clock".to_owned(), bytes_per_s),
            rate.zip(cycles_per_s)
                .map_or(String::new(), |(rate, cycles)| three(rate / cycles)),
        ];
        table.row(cells.map(|cell| (cell, Tone::Normal)));
    }
    format!("{}\n  cycles: of the highest clock", table.render(2))
}
