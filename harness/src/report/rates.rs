//! Throughput, lab by lab: against size, where there are several, of one or several measurements.

use super::rows::{OF_LIMIT, Timed, add_table, timed};
use crate::page::plot::tick;
use crate::page::{Axis, Bar, Cell, Page, Plot, Series, Shape};
use crate::perf::results::{CaseResults, Outcome, Results, Row, Verdict};
use crate::units::three;

/// A picture and a table for each lab of all measurements.
pub fn add(page: &mut Page, measurements: &[(&Results, &str)]) {
    let cases = || measurements.iter().flat_map(|(results, _)| &results.cases);
    let mut labs: Vec<&str> = Vec::new();
    for case in cases() {
        if !labs.contains(&case.lab.as_str()) {
            labs.push(&case.lab);
        }
    }
    for lab in labs {
        let mut rows = Vec::new();
        let mut groups = Vec::new();
        for (index, (results, _)) in measurements.iter().enumerate() {
            for timed in timed(results)
                .into_iter()
                .filter(|timed| timed.case.lab == lab)
            {
                rows.push(timed);
                groups.push(match measurements.len() {
                    1 => timed.case.case.clone(),
                    _ => format!("{}, measurement {}", timed.case.case, index + 1),
                });
            }
        }
        let Some(first) = rows.first() else {
            continue;
        };
        let unit = format!("1e9 {}/s", first.figures.unit);
        let work = match first.figures.timesteps {
            Some(_) => format!("{} in a timestep", first.figures.unit),
            None => format!("{} in a run", first.figures.unit),
        };
        if let Some(x) = sizes(&rows, &work) {
            page.section(&format!("{lab}: throughput against size"));
            let plot = Plot {
                x,
                y: Axis::log(&unit, 2.0, tick),
                series: series(&rows),
                texts: Vec::new(),
            };
            page.plot(
                &plot,
                "Medians of single runs, the device's cache flushed before each; the CPU as it is.",
            );
        } else {
            page.section(&format!("{lab}: throughput"));
            let right = rows.iter().zip(&groups);
            let right = right.filter(|(timed, _)| timed.figures.result != Verdict::Wrong);
            let bars: Vec<Bar> = right.map(|(timed, group)| bar(timed, group)).collect();
            page.bars(
                &bars,
                &format!("{unit}, on a logarithmic scale: medians of single runs, the device's cache flushed before each; the CPU as it is."),
            );
        }
        add_table(
            page,
            &headers(first, &unit),
            groups.iter().cloned().zip(rows.iter().map(cells)),
        );
        page.remark(OF_LIMIT);
        let lacking: Vec<String> = cases()
            .filter(|case| case.lab == lab)
            .flat_map(|case| {
                case.rows
                    .iter()
                    .filter_map(|row| without_figures(case, row))
            })
            .collect();
        if !lacking.is_empty() {
            page.list(lacking);
        }
        for (results, command) in measurements {
            if results.cases.iter().any(|case| case.lab == lab) {
                page.command(command);
            }
        }
    }
}

/// The axis of sizes, if the devices' rows, or those of the CPU alone, have several.
fn sizes(rows: &[Timed<'_>], label: &str) -> Option<Axis> {
    let is_cpu = |timed: &&Timed<'_>| timed.row.device == "cpu";
    let only_cpu = rows.iter().all(|timed| is_cpu(&timed));
    let sizes = rows.iter().filter(|timed| only_cpu || !is_cpu(timed));
    let sizes: Vec<f64> = sizes.map(Timed::size).collect();
    let least = sizes.iter().copied().reduce(f64::min)?;
    let most = sizes.iter().copied().reduce(f64::max)?;
    let base = if most >= 100.0 * least { 10.0 } else { 2.0 };
    (most > least).then(|| Axis::log(label, base, size))
}

fn headers(first: &Timed<'_>, unit: &str) -> [Cell; 9] {
    let time = match first.figures.timesteps {
        Some(_) => "us a step",
        None => "us a run",
    };
    [
        Cell::text("variant"),
        Cell::text("device"),
        Cell::number(time),
        Cell::number("95 % interval"),
        Cell::number("back to back"),
        Cell::number(unit),
        Cell::number("of limit"),
        Cell::number("registers"),
        Cell::text("note"),
    ]
}

fn cells(timed: &Timed<'_>) -> Vec<Cell> {
    let Timed { row, figures, .. } = timed;
    let micros = |seconds: f64| three(1e6 * seconds / figures.steps());
    let or_dash = |text: Option<String>| Cell::number(text.unwrap_or_else(|| "-".to_owned()));
    let interval = figures.run.interval_s;
    let registers = figures.kernels.iter();
    let registers: Vec<String> = registers
        .filter_map(|kernel| Some(kernel.registers?.to_string()))
        .collect();
    vec![
        Cell::text(row.name()),
        Cell::text(&row.device),
        Cell::number(micros(figures.run.median_s)),
        or_dash(interval.map(|[low, high]| format!("{} to {}", micros(low), micros(high)))),
        or_dash(figures.batched.as_ref().map(|b| micros(b.run.median_s))),
        Cell::number(three(figures.updates_per_s / 1e9)),
        or_dash(
            figures
                .bound
                .map(|bound| format!("{} %", three(100.0 * bound.share))),
        ),
        or_dash((!registers.is_empty()).then(|| registers.join(", "))),
        timed.note(),
    ]
}

fn bar(timed: &Timed<'_>, group: &str) -> Bar {
    Bar {
        group: group.to_owned(),
        label: timed.label(),
        value: timed.figures.updates_per_s / 1e9,
        colour: usize::from(timed.row.device != "cpu"),
    }
}

/// Why a row has none.
fn without_figures(case: &CaseResults, row: &Row) -> Option<String> {
    let (outcome, message) = match &row.outcome {
        Outcome::Timed(_) => return None,
        Outcome::Skipped { message } => ("skipped", message),
        Outcome::Failed { message } => ("failed", message),
        Outcome::Lacking { message } => ("lacking", message),
    };
    let (case, name) = (&case.case, row.full_name());
    Some(format!("{case}, {name}: {outcome}: {message}"))
}

/// One for each variant on each device, by size. Wrong results are left out.
fn series(rows: &[Timed<'_>]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for timed in rows {
        let Timed { row, figures, .. } = timed;
        if figures.result == Verdict::Wrong {
            continue;
        }
        let name = row.full_name();
        let at = all
            .iter()
            .position(|series| series.name == name)
            .unwrap_or_else(|| {
                all.push(Series {
                    name,
                    points: Vec::new(),
                    shape: Shape::Line,
                    colour: Some(all.len()),
                });
                all.len() - 1
            });
        all[at]
            .points
            .push((timed.size(), figures.updates_per_s / 1e9));
    }
    for series in &mut all {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    all
}

/// `1.05 M`.
fn size(value: f64) -> String {
    let prefixes = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    let (scale, prefix) = prefixes
        .into_iter()
        .find(|(scale, _)| value >= 0.9995 * scale)
        .unwrap_or((1.0, ""));
    format!("{}{prefix}", tick(value / scale))
}
