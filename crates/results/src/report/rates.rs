//! Throughput, lab by lab: against size, where there are several, of one or several measurements.

use page::plot::tick;
use page::{Axis, Bar, Page, Plot, Series, Shape};

use super::command::TABLE;
use super::rows::{OF_LIMIT, OWN_LIMIT, Timed, position, timed};
use crate::document::{CaseResults, Outcome, Results, Row};
use terminal::table::{Align, Table};

/// A picture and a table for each lab of all measurements, each with the command that made it.
pub fn add(page: &mut Page, measurements: &[(&Results, String)]) {
    let cases = || measurements.iter().flat_map(|(results, _)| &results.cases);
    let mut labs = Vec::new();
    for case in cases() {
        position(&mut labs, &case.lab);
    }
    for lab in labs {
        let mut rows = Vec::new();
        for (index, (results, _)) in measurements.iter().enumerate() {
            let of_lab = timed(results).into_iter();
            rows.extend(
                of_lab
                    .filter(|timed| timed.of.case.lab == lab)
                    .map(|timed| {
                        let case = &timed.of.case.case;
                        let heading = match measurements.len() {
                            1 => case.to_string(),
                            _ => format!("{case}, measurement {}", index + 1),
                        };
                        Timed { heading, ..timed }
                    }),
            );
        }
        if rows.is_empty() {
            continue;
        }
        picture(page, lab, &rows);
        let lacking: Vec<String> = cases()
            .filter(|case| case.lab == lab)
            .flat_map(|case| case.rows.iter().map(move |row| (case, row)))
            .filter_map(without_figures)
            .collect();
        page.fold(TABLE, |page| {
            table(page, &rows);
            if !lacking.is_empty() {
                page.list(lacking);
            }
            for (results, command) in measurements {
                if results.cases.iter().any(|case| case.lab == lab) {
                    page.command(command);
                }
            }
        });
    }
}

/// A plot against size, or bars where there is one size. Wrong results are left out.
fn picture(page: &mut Page, lab: &str, rows: &[Timed<'_>]) {
    let figures = rows[0].figures;
    let unit = unit(&rows[0]);
    let work = match figures.timesteps {
        Some(_) => format!("{} in a timestep", figures.work.unit),
        None => format!("{} in a run", figures.work.unit),
    };
    let right = rows.iter().filter(|timed| timed.figures.is_result());
    if let Some(x) = sizes(rows, &work) {
        page.section(&format!("{lab}: throughput against size"));
        let plot = Plot {
            x,
            y: Axis::log(&unit, 2.0, tick),
            series: series(right),
            texts: Vec::new(),
        };
        page.plot(
            &plot,
            "Medians of single runs, the device's cache flushed before each; the CPU as it is.",
        );
    } else {
        page.section(&format!("{lab}: throughput"));
        let bars = right.map(|timed| Bar {
            group: timed.heading.clone(),
            label: timed.label(),
            value: timed.figures.work.updates_per_s / 1e9,
            colour: usize::from(timed.of.row.device != "cpu"),
        });
        page.bars(
            &bars.collect::<Vec<Bar>>(),
            &format!("{unit}, on a logarithmic scale: medians of single runs, the device's cache flushed before each; the CPU as it is."),
        );
    }
}

fn unit(timed: &Timed<'_>) -> String {
    format!("1e9 {}/s", timed.figures.work.unit)
}

fn table(page: &mut Page, rows: &[Timed<'_>]) {
    let first = &rows[0];
    let time = match first.figures.timesteps {
        Some(_) => "us a step",
        None => "us a run",
    };
    Table::new(rows)
        .left("variant", |timed| timed.of.row.name())
        .left("device", |timed| timed.of.row.device.clone())
        .right(time, |timed| Some(timed.figures.step_us()))
        .right("back to back", |timed| {
            let batched = timed.figures.on_device.batched.as_ref()?;
            Some(timed.figures.us_of_step(&batched.run))
        })
        .right(&unit(first), |timed| {
            Some(timed.figures.giga_updates_per_s())
        })
        .right("of limit", |timed| timed.of_limit())
        .right("own limit", |timed| timed.of_own_limit())
        .right("registers", |timed| {
            let kernels = timed.figures.on_device.kernels.iter();
            let registers: Vec<String> = kernels
                .filter_map(|kernel| Some(kernel.registers?.to_string()))
                .collect();
            (!registers.is_empty()).then(|| registers.join(", "))
        })
        .toned("note", Align::Left, |timed| timed.note())
        .add_to(page, |timed| &timed.heading);
    page.remark(OF_LIMIT);
    page.remark(OWN_LIMIT);
}

/// The axis of sizes, if the devices' rows, or those of the CPU alone, have several.
fn sizes(rows: &[Timed<'_>], label: &str) -> Option<Axis> {
    let is_cpu = |timed: &Timed<'_>| timed.of.row.device == "cpu";
    let only_cpu = rows.iter().all(is_cpu);
    let sizes = || {
        let sizes = rows.iter().filter(|timed| only_cpu || !is_cpu(timed));
        sizes.map(|timed| timed.size())
    };
    let (least, most) = (sizes().reduce(f64::min)?, sizes().reduce(f64::max)?);
    let base = if most >= 100.0 * least { 10.0 } else { 2.0 };
    (most > least).then(|| Axis::log(label, base, size))
}

/// Why a row has none.
fn without_figures((case, row): (&CaseResults, &Row)) -> Option<String> {
    let (outcome, message) = match &row.outcome {
        Outcome::Timed(_) | Outcome::Computed { .. } | Outcome::DoesNotFit => return None,
        Outcome::Skipped { message } => ("skipped", message),
        Outcome::Failed { message } => ("failed", message),
        Outcome::Lacking { message } => ("lacking", message),
    };
    let (case, name) = (&case.case, row.full_name());
    Some(format!("{case}, {name}: {outcome}: {message}"))
}

/// One for each variant on each device, by size.
fn series<'t>(rows: impl Iterator<Item = &'t Timed<'t>>) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for timed in rows {
        let name = timed.of.row.full_name();
        let point = (timed.size(), timed.figures.work.updates_per_s / 1e9);
        match all.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                name,
                points: vec![point],
                shape: Shape::Line,
                colour: Some(all.len()),
            }),
        }
    }
    for series in &mut all {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    all
}

/// `1.05 M`.
fn size(value: f64) -> String {
    let prefixes = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    let prefix = prefixes
        .into_iter()
        .find(|(scale, _)| value >= 0.9995 * scale);
    let (scale, prefix) = prefix.unwrap_or((1.0, ""));
    format!("{}{prefix}", tick(value / scale))
}
