//! The tables.

use std::collections::BTreeSet;

use host::device::DeviceInfo;
use host::membench::{Coalescing, CoalescingFigure, LatencyCurve, LatencyPoint, Path};

use super::Measured;
use crate::table::{Align, Columns};
use crate::terminal::Look;
use units::{bytes, bytes_per_s, grouped, three};

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
    let curves: Vec<&LatencyCurve> = measured.latencies.iter().map(|l| &l.curve).collect();
    let first_level = curves.iter().filter(|curve| curve.path == Path::Ca);
    let mut headers = vec!["footprint".to_owned()];
    headers.extend(
        curves
            .iter()
            .map(|curve| format!("{}\ncycles", curve.path.name())),
    );
    headers.push(format!("{}\nns", Path::Ca.name()));
    let headers: Vec<(String, Align)> = headers
        .into_iter()
        .map(|header| (header, Align::Right))
        .collect();
    let mut table = Columns::with_header(look, &headers);
    let points = curves.iter().flat_map(|curve| &curve.points);
    let footprints = points.map(|point| point.footprint_bytes);
    let footprints: BTreeSet<u64> = footprints.filter(|bytes| bytes.is_power_of_two()).collect();
    for footprint in footprints {
        let at = |curve: &LatencyCurve, value: fn(&LatencyPoint) -> f64| {
            let mut points = curve.points.iter();
            let point = points.find(|point| point.footprint_bytes == footprint);
            point.map_or(String::new(), |point| three(value(point)))
        };
        let mut cells = vec![bytes(footprint)];
        cells.extend(curves.iter().map(|curve| at(curve, |point| point.cycles)));
        cells.extend(first_level.clone().map(|curve| at(curve, |point| point.ns)));
        table.row(cells);
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
            table.row(cells);
        }
    }
    table.render(2)
}

/// The sweeps over access patterns: by elements per thread, and by stride.
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
        by_x.row(cells);
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
        by_stride.row(cells);
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
        table.row(cells);
    }
    format!("{}\n  cycles: of the highest clock", table.render(2))
}
