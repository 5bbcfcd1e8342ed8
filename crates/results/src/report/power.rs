//! Power and clock over time.

use device::telemetry::Sample;
use page::plot::tick;
use page::{Axis, Page, Plot, Series, Shape};
use units::three;

use super::command::TABLE;
use super::rows::position;
use crate::document::{CaseResults, DeviceTrace, Results};
use terminal::table::Table;

/// A sample's value, if it was reported.
type Quantity = fn(&Sample) -> Option<f64>;

/// Name, unit, unit in the table, and the quantity.
const QUANTITIES: [(&str, &str, &str, Quantity); 3] = [
    ("power", "W", "W", |sample| sample.reading.power_w),
    ("clock of the multiprocessors", "MHz", "MHz", |sample| {
        sample.reading.sm_clock_mhz.map(f64::from)
    }),
    ("temperature", "degrees Celsius", "degrees C", |sample| {
        sample.reading.temperature_c.map(f64::from)
    }),
];

/// The traces with their cases.
type Trace<'r> = (&'r CaseResults, &'r DeviceTrace);

/// A plot of each quantity, and a table of its range while each case was timed.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let cases = results.cases.iter();
    let traces: Vec<Trace<'_>> = cases
        .flat_map(|case| case.traces.iter().map(move |trace| (case, trace)))
        .collect();
    let mut of_all = QUANTITIES.iter().map(|(.., of)| plots(&traces, *of));
    if of_all.all(|(series, _)| series.iter().all(|one| one.points.is_empty())) {
        return;
    }
    page.section("Power over time");
    for (name, unit, _, of) in QUANTITIES {
        let (series, texts) = plots(&traces, of);
        let plot = Plot {
            x: Axis::linear("since the program was started, s", tick),
            y: Axis::linear(&format!("{name}, {unit}"), tick),
            series,
            texts,
        };
        let caption = format!(
            "The {name} as NVML reported it while each lab was timed; in between, it was not read."
        );
        page.plot(&plot, &caption);
    }
    let limits: Vec<String> = results
        .devices
        .iter()
        .filter_map(|device| {
            let limit_w = three(device.telemetry.as_ref()?.power_limit_w?);
            Some(format!("Power limit of {}: {limit_w} W.", device.device))
        })
        .collect();
    if !limits.is_empty() {
        page.remark(&limits.join(" "));
    }
    let mut table = Table::new(&traces).left("lab", |(case, _)| case.lab.clone());
    for (_, _, unit, of) in QUANTITIES {
        table = table.right(unit, |(_, trace)| {
            let values = || trace.samples.iter().filter_map(of);
            let least = three(values().reduce(f64::min)?);
            let most = three(values().reduce(f64::max)?);
            Some(if least == most {
                least
            } else {
                format!("{least} to {most}")
            })
        });
    }
    page.fold(TABLE, |page| {
        table
            .right("began, s", |(_, trace)| Some(three(trace.began_s)))
            .left("device", |(_, trace)| trace.device.clone())
            .left("case", |(case, _)| case.case.to_string())
            .add_to(page, |_| "");
        page.command(command);
    });
}

/// A series for each trace, those of a device alike; and the name of each lab, where its first
/// trace begins, over all points, in two rows, so that neighbours do not touch.
fn plots(traces: &[Trace<'_>], of: Quantity) -> (Vec<Series>, Vec<(f64, f64, String)>) {
    let mut devices = Vec::new();
    let mut all = Vec::new();
    for (_, trace) in traces {
        let known = devices.len();
        let colour = position(&mut devices, &trace.device);
        let point = |sample: &Sample| Some((trace.began_s + sample.at_s, of(sample)?));
        all.push(Series {
            // The legend has each device once.
            name: if colour == known {
                trace.device.clone()
            } else {
                String::new()
            },
            points: trace.samples.iter().filter_map(point).collect(),
            shape: match colour {
                0 => Shape::Curve,
                _ => Shape::Dashes,
            },
            colour: Some(colour),
        });
    }
    let points = all.iter().flat_map(|series| &series.points);
    let highest = points.map(|point| point.1).fold(0.0, f64::max);
    let mut labs = Vec::new();
    let mut texts = Vec::new();
    for (case, trace) in traces {
        let known = labs.len();
        if position(&mut labs, &case.lab) == known {
            let height = (1.02 + 0.06 * (known % 2) as f64) * highest;
            texts.push((trace.began_s, height, case.lab.clone()));
        }
    }
    (all, texts)
}
