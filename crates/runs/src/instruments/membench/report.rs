//! The tables.

use std::collections::BTreeSet;

use device::DeviceInfo;
use host::membench::{
    BandwidthFigure, Coalescing, CoalescingFigure, LatencyCurve, Level, Measured, Path,
};
use units::{bytes, bytes_per_s, grouped, three};

use terminal::look::Look;
use terminal::table::Table;

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
    let curves = || measured.latencies.iter().map(|latencies| &latencies.curve);
    let footprints: BTreeSet<u64> = curves()
        .flat_map(|curve| &curve.points)
        .map(|point| point.footprint_bytes)
        .filter(|bytes| bytes.is_power_of_two())
        .collect();
    let footprints: Vec<u64> = footprints.into_iter().collect();
    let at = |curve: &LatencyCurve, footprint: u64| {
        let mut points = curve.points.iter();
        points
            .find(|point| point.footprint_bytes == footprint)
            .copied()
    };
    let mut table = Table::new(&footprints).right("footprint", |size| Some(bytes(*size)));
    for curve in curves() {
        table = table.right(&format!("{}\ncycles", curve.path.name()), |size| {
            Some(at(curve, *size).map_or(String::new(), |point| three(point.cycles)))
        });
    }
    for curve in curves().filter(|curve| curve.path == Path::Ca) {
        table = table.right(&format!("{}\nns", curve.path.name()), |size| {
            Some(at(curve, *size).map_or(String::new(), |point| three(point.ns)))
        });
    }
    table.render(look, 2)
}

/// The plateaus.
fn levels(measured: &Measured, look: Look) -> String {
    let latencies = measured.latencies.iter();
    let levels: Vec<(Path, &Level)> = latencies
        .flat_map(|latencies| latencies.levels.iter().map(|l| (latencies.curve.path, l)))
        .collect();
    let name = |level: &Level| level.memory.map_or("unknown", |memory| memory.name());
    Table::new(&levels)
        .left("load", |(path, _)| path.name().to_owned())
        .left("level", |(_, level)| name(level).to_owned())
        .right("cycles", |(_, level)| Some(three(level.plateau.cycles)))
        .right("ns", |(_, level)| Some(three(level.plateau.ns)))
        .right("flat from", |(_, level)| {
            Some(bytes(level.plateau.first_bytes))
        })
        .right("to", |(_, level)| Some(bytes(level.plateau.last_bytes)))
        .right("the device says", |(_, level)| {
            level.attribute_bytes.map(bytes)
        })
        .render(look, 2)
        + &steps(measured, look)
}

/// The flat parts between plateaus, if there are some: a line for each way to load.
fn steps(measured: &Measured, look: Look) -> String {
    let lines = measured.latencies.iter().filter_map(|latencies| {
        let curve = &latencies.curve;
        let steps = host::membench::steps(&curve.points)
            .iter()
            .map(|step| {
                let [first, last] = [step.first_bytes, step.last_bytes].map(bytes);
                format!("{} cycles from {first} to {last}", three(step.cycles))
            })
            .collect::<Vec<String>>()
            .join(", ");
        let text = format!("steps of {}: {steps}", curve.path.name());
        (!steps.is_empty()).then(|| format!("\n{}", look.wrapped(&text, 2)))
    });
    lines.collect()
}

fn bandwidths(measured: &Measured, info: &DeviceInfo, look: Look) -> String {
    // At the highest clock, which the device need not run at.
    let clock_and_multiprocessors = info.clock_khz.zip(info.multiprocessors);
    let bytes_a_cycle = |figure: &BandwidthFigure| {
        let (khz, multiprocessors) = clock_and_multiprocessors?;
        let cycles_per_s = 1e3 * f64::from(khz) * f64::from(multiprocessors);
        Some(three(figure.bytes_per_s? / cycles_per_s))
    };
    let table = Table::new(&measured.bandwidths)
        .left("memory", |figure| figure.memory.name().to_owned())
        .left("access", |figure| figure.access.name().to_owned())
        .right("footprint", |figure| Some(bytes(figure.footprint_bytes)))
        .right("bandwidth", |figure| {
            let rate = figure.bytes_per_s.map(bytes_per_s);
            Some(rate.unwrap_or_else(|| "no clock".to_owned()))
        })
        .right("bytes a cycle\nof a multiprocessor", bytes_a_cycle);
    format!("{}\n  cycles: of the highest clock", table.render(look, 2))
}

/// The sweeps over access patterns: by elements per thread, and by stride.
pub fn coalescing(sweeps: &Coalescing, look: Look) -> String {
    let time = |figure: &CoalescingFigure| figure.seconds.map(|seconds| three(1e3 * seconds));
    let rate = |figure: &CoalescingFigure| figure.bytes_per_s.map(bytes_per_s);
    let excess = |figure: &CoalescingFigure| {
        Some(three(figure.sectors as f64 / figure.ideal_sectors as f64))
    };
    let slower = |figure: &CoalescingFigure, than: &CoalescingFigure| {
        Some(three(figure.seconds? / than.seconds?))
    };
    let by_x = Table::new(&sweeps.by_x)
        .right("elements\na thread", |[one, _]| Some(one.x.to_string()))
        .right("coalesced\nms", |[one, _]| time(one))
        .right("bandwidth", |[one, _]| rate(one))
        .right("sectors\nx ideal", |[one, _]| excess(one))
        .right("non-coalesced\nms", |[_, other]| time(other))
        .right("bandwidth", |[_, other]| rate(other))
        .right("sectors\nx ideal", |[_, other]| excess(other))
        .right("speedup\nx", |[one, other]| slower(other, one));
    let first = sweeps.by_stride.first();
    let by_stride = Table::new(&sweeps.by_stride)
        .right("stride\nelements", |(stride, _)| Some(stride.to_string()))
        .right("time\nms", |(_, figure)| time(figure))
        .right("bandwidth", |(_, figure)| rate(figure))
        .right("sectors\nx ideal", |(_, figure)| excess(figure))
        .right("vs stride 1\nx", |(_, figure)| slower(figure, &first?.1));
    let note = format!(
        "bandwidth: of the elements, {} of them; sectors: counted by the emulated device",
        grouped(sweeps.elements.into())
    );
    format!(
        "{}\n\n{}\n{}",
        by_x.render(look, 2),
        by_stride.render(look, 2),
        look.wrapped(&note, 2)
    )
}
