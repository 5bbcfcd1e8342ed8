//! Power and clock over time.

use host::telemetry::Sample;

use crate::page::plot::tick;
use crate::page::{Axis, Cell, Page, Plot, Series, Shape};
use crate::perf::results::{CaseResults, DeviceRecord, DeviceTrace, Results};
use crate::units::three;

/// A quantity, of a sample.
type Quantity = (&'static str, &'static str, fn(&Sample) -> Option<f64>);

const QUANTITIES: [Quantity; 3] = [
    ("power", "W", |sample| sample.reading.power_w),
    ("clock of the multiprocessors", "MHz", |sample| {
        sample.reading.sm_clock_mhz.map(f64::from)
    }),
    ("temperature", "degrees Celsius", |sample| {
        sample.reading.temperature_c.map(f64::from)
    }),
];

/// A plot of each quantity, and a table of its range while each case was timed.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let is_any = |(_, trace): (_, &DeviceTrace)| {
        let mut of_any = QUANTITIES.iter();
        of_any.any(|(_, _, of)| !points(trace, *of).is_empty())
    };
    if !traces(results).any(is_any) {
        return;
    }
    page.section("Power over time");
    for (name, unit, of) in QUANTITIES {
        let plot = Plot {
            x: Axis::linear("since the program was started, s", tick),
            y: Axis::linear(&format!("{name}, {unit}"), tick),
            series: series(results, of),
            texts: starts(results, of),
        };
        let caption = format!(
            "The {name} as NVML reported it while each lab was timed; in between, it was not read."
        );
        page.plot(&plot, &caption);
    }
    let limit = |device: &DeviceRecord| {
        let limit_w = device.telemetry.as_ref()?.power_limit_w?;
        Some(format!(
            "Power limit of {}: {} W.",
            device.device,
            three(limit_w)
        ))
    };
    let limits: Vec<String> = results.devices.iter().filter_map(limit).collect();
    if !limits.is_empty() {
        page.remark(&limits.join(" "));
    }
    let headers = [
        Cell::text("lab"),
        Cell::number("W"),
        Cell::number("MHz"),
        Cell::number("degrees C"),
        Cell::number("began, s"),
        Cell::text("device"),
        Cell::text("case"),
    ];
    let rows = traces(results).map(|(case, trace)| {
        let mut cells = vec![Cell::text(&case.lab)];
        cells.extend(QUANTITIES.iter().map(|(_, _, of)| {
            let values = || trace.samples.iter().filter_map(of);
            let ends = values().reduce(f64::min).zip(values().reduce(f64::max));
            Cell::number(
                match ends.map(|(least, most)| (three(least), three(most))) {
                    None => "-".to_owned(),
                    Some((least, most)) if least == most => least,
                    Some((least, most)) => format!("{least} to {most}"),
                },
            )
        }));
        cells.extend([
            Cell::number(three(trace.began_s)),
            Cell::text(&trace.device),
            Cell::text(&case.case),
        ]);
        cells
    });
    page.table(&headers, rows);
    page.command(command);
}

fn traces(results: &Results) -> impl Iterator<Item = (&CaseResults, &DeviceTrace)> {
    let cases = results.cases.iter();
    cases.flat_map(|case| case.traces.iter().map(move |trace| (case, trace)))
}

fn points(trace: &DeviceTrace, of: fn(&Sample) -> Option<f64>) -> Vec<(f64, f64)> {
    let point = |sample: &Sample| Some((trace.began_s + sample.at_s, of(sample)?));
    trace.samples.iter().filter_map(point).collect()
}

/// One for each trace, those of a device alike.
fn series(results: &Results, of: fn(&Sample) -> Option<f64>) -> Vec<Series> {
    let mut devices: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    for (_, trace) in traces(results) {
        let known = devices.iter().position(|device| *device == trace.device);
        let colour = known.unwrap_or(devices.len());
        let name = match known {
            Some(_) => String::new(),
            None => {
                devices.push(&trace.device);
                trace.device.clone()
            }
        };
        all.push(Series {
            name,
            points: points(trace, of),
            shape: if colour == 0 {
                Shape::Curve
            } else {
                Shape::Dashes
            },
            colour: Some(colour),
        });
    }
    all
}

/// The name of each lab, where its first trace begins, over all points; in two rows, so that neighbours do not touch.
fn starts(results: &Results, of: fn(&Sample) -> Option<f64>) -> Vec<(f64, f64, String)> {
    let highest = traces(results)
        .flat_map(|(_, trace)| points(trace, of))
        .fold(0.0, |most, (_, y)| f64::max(most, y));
    let mut labs: Vec<&str> = Vec::new();
    let mut texts = Vec::new();
    for (case, trace) in traces(results) {
        if !labs.contains(&case.lab.as_str()) {
            let row = (labs.len() % 2) as f64;
            labs.push(&case.lab);
            let height = (1.02 + 0.06 * row) * highest;
            texts.push((trace.began_s, height, case.lab.clone()));
        }
    }
    texts
}
