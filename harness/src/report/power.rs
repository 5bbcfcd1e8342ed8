//! Power and clock over time.

use host::telemetry::Sample;

use crate::page::plot::tick;
use crate::page::{Axis, Cell, Page, Plot, Series, Shape};
use crate::perf::results::Results;
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
    let has_any = results
        .cases
        .iter()
        .flat_map(|case| &case.traces)
        .any(|trace| {
            trace
                .samples
                .iter()
                .any(|sample| QUANTITIES.iter().any(|(_, _, of)| of(sample).is_some()))
        });
    if !has_any {
        return;
    }
    page.section("Power over time");
    for (name, unit, of) in QUANTITIES {
        let mut series: Vec<Series> = Vec::new();
        for trace in results.cases.iter().flat_map(|case| &case.traces) {
            let at = series.iter().position(|series| series.name == trace.device);
            let at = at.unwrap_or_else(|| {
                series.push(Series {
                    name: trace.device.clone(),
                    points: Vec::new(),
                    shape: Shape::Curve,
                    colour: Some(series.len()),
                });
                series.len() - 1
            });
            let points = trace
                .samples
                .iter()
                .filter_map(|sample| Some((trace.began_s + sample.at_s, of(sample)?)));
            series[at].points.extend(points);
        }
        let plot = Plot {
            x: Axis::linear("since the program was started, s", tick),
            y: Axis::linear(&format!("{name}, {unit}"), tick),
            series,
            texts: Vec::new(),
        };
        if let Ok(svg) = plot.svg() {
            page.svg(&svg, &format!("The {name} as NVML reported it."));
        }
    }
    let headers = [
        Cell::text("lab"),
        Cell::text("case"),
        Cell::text("device"),
        Cell::number("began, s"),
        Cell::number("W"),
        Cell::number("MHz"),
        Cell::number("degrees C"),
    ];
    let rows = results.cases.iter().flat_map(|case| {
        case.traces.iter().map(move |trace| {
            let mut cells = vec![
                Cell::text(&case.lab),
                Cell::text(&case.case),
                Cell::text(&trace.device),
                Cell::number(three(trace.began_s)),
            ];
            cells.extend(QUANTITIES.iter().map(|(_, _, of)| {
                let values = || trace.samples.iter().filter_map(of);
                match (values().reduce(f64::min), values().reduce(f64::max)) {
                    (Some(least), Some(most)) => {
                        Cell::number(format!("{} to {}", three(least), three(most)))
                    }
                    _ => Cell::number("-"),
                }
            }));
            cells
        })
    });
    page.table(&headers, rows);
    page.command(command);
}
