//! Throughput against size, lab by lab.

use super::rows::{Timed, timed};
use crate::page::plot::tick;
use crate::page::{Axis, Cell, Page, Plot, Series, Shape};
use crate::perf::results::{CaseResults, Outcome, Results, Row, Verdict};
use crate::units::three;

/// A plot and a table for each lab.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let mut labs: Vec<&str> = results.cases.iter().map(|case| case.lab.as_str()).collect();
    labs.dedup();
    for lab in labs {
        let rows = timed(results).into_iter();
        let rows: Vec<Timed<'_>> = rows.filter(|timed| timed.case.lab == lab).collect();
        let Some(first) = rows.first() else {
            continue;
        };
        page.section(&format!("{lab}: throughput against size"));
        let unit = format!("1e9 {}/s", first.figures.unit);
        let plot = Plot {
            x: Axis::log(
                &format!("{} of a timestep", first.figures.unit),
                10.0,
                power_of_ten,
            ),
            y: Axis::log(&unit, 2.0, tick),
            series: series(&rows),
            texts: Vec::new(),
        };
        if let Ok(svg) = plot.svg() {
            page.svg(&svg, "Medians of whole runs, alone, after the device's cache was flushed; the CPU as it is.");
        }
        let headers = [
            Cell::text("case"),
            Cell::text("variant"),
            Cell::text("device"),
            Cell::number("step, us"),
            Cell::number("95 % interval"),
            Cell::number("back to back"),
            Cell::number(unit),
            Cell::number("of bound"),
            Cell::number("registers"),
            Cell::text(""),
        ];
        let cells = rows.iter().map(|timed| {
            let Timed { row, figures, .. } = timed;
            let micros = |seconds: f64| three(1e6 * seconds / figures.steps());
            let none = || "-".to_owned();
            let interval = figures.run.interval_s;
            let registers: Vec<String> = figures
                .kernels
                .iter()
                .filter_map(|kernel| kernel.registers)
                .map(|registers| registers.to_string())
                .collect();
            vec![
                Cell::text(&row.case),
                Cell::text(row.name()),
                Cell::text(&row.device),
                Cell::number(micros(figures.run.median_s)),
                Cell::number(interval.map_or_else(none, |[low, high]| {
                    format!("{} to {}", micros(low), micros(high))
                })),
                Cell::number(
                    figures
                        .batched
                        .as_ref()
                        .map_or_else(none, |b| micros(b.run.median_s)),
                ),
                Cell::number(three(figures.updates_per_s / 1e9)),
                Cell::number(
                    figures
                        .bound
                        .as_ref()
                        .map_or_else(none, |bound| format!("{} %", three(100.0 * bound.share))),
                ),
                Cell::number(if registers.is_empty() {
                    none()
                } else {
                    registers.join(", ")
                }),
                timed
                    .caution()
                    .map_or_else(|| Cell::text(""), Cell::caution),
            ]
        });
        page.table(&headers, cells);
        let of_lab = results.cases.iter().filter(|case| case.lab == lab);
        let lacking: Vec<String> = of_lab
            .flat_map(|case| {
                case.rows
                    .iter()
                    .filter_map(|row| without_figures(case, row))
            })
            .collect();
        if !lacking.is_empty() {
            page.list(lacking);
        }
        page.command(command);
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

/// One for each variant on each device, by size. Rows that are no results are left out.
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

/// `1e6`.
fn power_of_ten(value: f64) -> String {
    let exponent = value.log10();
    if (exponent - exponent.round()).abs() < 1e-9 {
        format!("1e{}", exponent.round())
    } else {
        format!("{value:.1e}")
    }
}
