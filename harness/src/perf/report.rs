//! What was measured, as tables.

use std::collections::BTreeMap;

use stats::Summary;
use units::{count, three};

use super::kernels;
use super::results::{CaseResults, Clock, Conditions, Correctness, Figures, Outcome, Row};
use crate::table::{Align, Table, Tone};
use crate::terminal::Look;

/// The cases of one lab.
pub fn render_lab(cases: &[CaseResults], _has_notes: bool, look: Look) -> String {
    let cases: Vec<String> = cases.iter().map(|case| render(case, look)).collect();
    cases.join("\n")
}

/// Title, table, notes of a case.
fn render(case: &CaseResults, look: Look) -> String {
    let title = format!("{}  {}", look.title(&case.lab), case.case);
    let mut parts = vec![title, String::new(), table(case, look)];
    let notes = notes(case);
    if !notes.is_empty() {
        parts.push(String::new());
        parts.extend(notes.iter().map(|note| format!("  {note}")));
    }
    if let Some(kernels) = kernels::render(&case.rows, case.counted.as_ref(), look) {
        parts.extend([String::new(), kernels]);
    }
    parts.push(String::new());
    parts.join("\n")
}

fn figures(case: &CaseResults) -> impl Iterator<Item = &Figures> {
    case.rows.iter().filter_map(Row::figures)
}

/// A longer name of the first variant would widen the table for a column of short numbers.
const FIRST_WIDTH: usize = 6;

fn table(case: &CaseResults, look: Look) -> String {
    let has_steps = figures(case).any(|figures| figures.timesteps.is_some());
    let us = if has_steps { "us/step" } else { "us" };
    let first = match case.first_variant.len() <= FIRST_WIDTH {
        true => &case.first_variant,
        false => "first",
    };
    // A device that is not there takes one line, however many variants it would have had.
    let rows = case.rows.chunk_by(is_absent_like);
    let rows: Vec<(&[Row], Option<&Figures>)> =
        rows.map(|rows| (rows, rows[0].figures())).collect();
    Table::new(&rows)
        .left("device", |(rows, _)| rows[0].device.clone())
        .toned("variant", Align::Left, |(rows, _)| variant(rows))
        .right(&format!("time\n{us}"), |(_, of)| {
            Some(three((*of)?.step_s() * 1e6))
        })
        .toned("noise\n%", Align::Right, |(_, of)| noise(*of))
        .right(&format!("batched\n{us}"), |(_, of)| {
            let batched_s = (*of)?.batched.as_ref()?.run.median_s;
            Some(three(batched_s / (*of)?.steps() * 1e6))
        })
        .right("rate\nG/s", |(_, of)| {
            Some(three((*of)?.updates_per_s / 1e9))
        })
        .right("GB/s", |(_, of)| Some(three((*of)?.bytes_per_s? / 1e9)))
        .right("of\nlimit", |(_, of)| {
            let share = (*of)?.bound?.share;
            let decimals = usize::from(share < 0.1);
            Some(format!("{:.decimals$}%", 100.0 * share))
        })
        .right(&format!("vs\n{first}"), |(_, of)| {
            Some(ratio((*of)?.vs_first?.estimate))
        })
        .right("vs\nCPU", |(_, of)| Some(ratio((*of)?.vs_cpu?)))
        .toned("result", Align::Left, |(rows, _)| result(&rows[0].outcome))
        .render(look, 2)
}

fn noise(figures: Option<&Figures>) -> (String, Tone) {
    match figures.map(|figures| (figures.run.is_result(), figures.run.noise)) {
        Some((false, _)) => ("noisy".to_owned(), Tone::Caution),
        Some((true, Some(noise))) => (format!("{:.1}", 100.0 * noise), Tone::Normal),
        Some((true, None)) | None => ("-".to_owned(), Tone::Faint),
    }
}

fn ratio(ratio: f64) -> String {
    match ratio < 100.0 {
        true => format!("{ratio:.2}"),
        false => three(ratio),
    }
}

fn variant(rows: &[Row]) -> (String, Tone) {
    let row = &rows[0];
    let is_fastest = row.figures().is_some_and(|figures| figures.is_fastest);
    match &row.language {
        _ if rows.len() > 1 => (format!("all {}", rows.len()), Tone::Normal),
        _ if is_fastest => (format!("{}*", row.variant), Tone::Good),
        None => (row.variant.clone(), Tone::Normal),
        Some(language) => (format!("> {language}"), Tone::Normal),
    }
}

fn result(outcome: &Outcome) -> (String, Tone) {
    let (text, tone) = match outcome {
        Outcome::Timed(figures) => match figures.result {
            Correctness::Reference => ("reference", Tone::Normal),
            Correctness::Equal => ("bit-equal", Tone::Good),
            Correctness::Close => ("close", Tone::Good),
            Correctness::Wrong => ("WRONG", Tone::Bad),
            Correctness::Unchecked => ("unchecked", Tone::Caution),
        },
        Outcome::Skipped { .. } => ("skipped", Tone::Caution),
        Outcome::Failed { .. } => ("FAILED", Tone::Bad),
        Outcome::Lacking { .. } => ("lacking", Tone::Bad),
    };
    (text.to_owned(), tone)
}

/// Whether both were skipped for one reason, which is their device's.
fn is_absent_like(row: &Row, other: &Row) -> bool {
    let reason = |row: &Row| match &row.outcome {
        Outcome::Skipped { message } if row.language.is_none() => Some(message.clone()),
        _ => None,
    };
    row.device == other.device && reason(row).is_some() && reason(row) == reason(other)
}

/// What the table has no room for.
fn notes(case: &CaseResults) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(
        figures(case)
            .next()
            .map(|one| format!("rate: {}", one.unit)),
    );
    let has_first = figures(case).any(|figures| figures.vs_first.is_some());
    if case.first_variant.len() > FIRST_WIDTH && has_first {
        notes.push(format!("first: {}", case.first_variant));
    }
    notes.extend(bottlenecks(case));
    if figures(case).any(|figures| figures.is_fastest) {
        notes.push("*: the fastest".to_owned());
    }
    // The table of a course: rates relative to one core.
    let speedups: Vec<String> = case
        .rows
        .iter()
        .filter(|row| row.variant != "serial")
        .filter_map(|row| {
            Some(format!(
                "{} {}",
                row.name(),
                three(row.figures()?.vs_serial?)
            ))
        })
        .collect();
    if !speedups.is_empty() {
        notes.push(format!("speedup over one core: {}", speedups.join(", ")));
    }
    for row in &case.rows {
        let name = row.full_name();
        let note = match &row.outcome {
            Outcome::Timed(figures) => {
                let remarks = remarks(row, figures).into_iter();
                notes.extend(remarks.map(|remark| format!("{name}: {remark}")));
                continue;
            }
            Outcome::Failed { message } | Outcome::Lacking { message } => {
                format!("{name}: {message}")
            }
            // A peer's reason is its own; a device's, all its rows'.
            Outcome::Skipped { message } if row.language.is_some() => {
                format!("{name} skipped: {message}")
            }
            Outcome::Skipped { message } => format!("{} skipped: {message}", row.device),
        };
        if notes.last() != Some(&note) {
            notes.push(note);
        }
    }
    // Why runs back to back were no graph, once for each reason.
    let no_graph = by_reason(case, |row| {
        let batched = row.figures()?.batched.as_ref()?;
        Some((batched.no_graph.as_deref()?, row.name()))
    });
    let no_graph = no_graph.into_iter();
    notes.extend(
        no_graph.map(|(reason, names)| format!("no graph of {}: {reason}", names.join("; "))),
    );
    notes.extend(conditions(case));
    let elsewhere = |row: &&Row| row.figures().is_some() && row.case != case.case;
    notes.extend(
        case.rows
            .iter()
            .find(elsewhere)
            .map(|row| format!("{}: timed on {}, compared by rate", row.device, row.case)),
    );
    notes
}

/// The rows' names by what they have in common.
fn by_reason<'c>(
    case: &'c CaseResults,
    of: impl Fn(&'c Row) -> Option<(&'c str, String)>,
) -> BTreeMap<&'c str, Vec<String>> {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (reason, name) in case.rows.iter().filter_map(of) {
        let names = by_reason.entry(reason).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    by_reason
}

/// Which limit binds which rows.
fn bottlenecks(case: &CaseResults) -> Option<String> {
    let by_limit = by_reason(case, |row| {
        let bound = row.figures()?.bound?;
        Some((bound.by.name(), row.variant.clone()))
    });
    let limits = by_limit.iter();
    let limits: Vec<String> = match by_limit.len() {
        0 => return None,
        1 => limits.map(|(limit, _)| (*limit).to_owned()).collect(),
        _ => limits
            .map(|(limit, names)| format!("{limit} for {}", names.join(", ")))
            .collect(),
    };
    Some(format!("limit: {}", limits.join("; ")))
}

/// What to know of the figures of a row.
fn remarks(row: &Row, figures: &Figures) -> Vec<String> {
    let mut remarks = Vec::from_iter(figures.mismatch.clone());
    let mut doubt = |what: &str, run: &Summary| {
        let doubts = run.doubts.iter();
        remarks.extend(doubts.map(|doubt| format!("{what}no result: {doubt}")));
    };
    doubt("", &figures.run);
    if let Some(batched) = &figures.batched {
        doubt("batched: ", &batched.run);
    }
    if let (Some(first), true) = (figures.run.discarded.first(), figures.run.is_result()) {
        let samples = count(figures.run.discarded.len(), "sample");
        remarks.push(format!("{samples} discarded: {}", first.reason));
    }
    if figures.clock == Clock::Host && figures.batched.is_some() {
        remarks.push("timed by the host's clock: the device has none".to_owned());
    }
    if let Some(ratio) = figures.vs_variant {
        let built_by = row.built_by.as_deref().unwrap_or("unknown compiler");
        remarks.push(format!("ours takes {ratio} times as long ({built_by})"));
    }
    for kernel in figures
        .kernels
        .iter()
        .filter(|kernel| kernel.local_bytes > 0)
    {
        remarks.push(format!(
            "kernel `{}` keeps {} bytes a thread in local memory, which is slow",
            kernel.name, kernel.local_bytes
        ));
    }
    remarks
}

/// Clocks, temperature and power of each device, and the energy of each row.
fn conditions(case: &CaseResults) -> Vec<String> {
    let mut notes = Vec::new();
    for rows in case.rows.chunk_by(|a, b| a.device == b.device) {
        let rows: Vec<(&Row, &Conditions)> = rows
            .iter()
            .filter_map(|row| Some((row, row.figures()?.conditions.as_ref()?)))
            .collect();
        let range = |text: &str, unit: &str, of: fn(&Conditions) -> Option<[f64; 2]>| {
            let ranges = rows.iter().filter_map(|(_, conditions)| of(conditions));
            let [low, high] = ranges.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
            Some(match (format!("{low:.0}"), format!("{high:.0}")) {
                (low, high) if low == high => format!("{text}{low} {unit}"),
                (low, high) => format!("{text}{low} to {high} {unit}"),
            })
        };
        let parts = [
            range("SM ", "MHz", |one| Some(one.sm_clock_mhz?.map(f64::from))),
            range("memory ", "MHz", |one| {
                Some(one.memory_clock_mhz?.map(f64::from))
            }),
            range("", "C", |one| Some(one.temperature_c?.map(f64::from))),
            range("", "W", |one| one.power_w),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if let (Some((row, _)), false) = (rows.first(), parts.is_empty()) {
            notes.push(format!("{} while timed: {}", row.device, parts.join(", ")));
        }
        let energy = rows.iter().filter_map(|(row, conditions)| {
            Some(format!(
                "{} {} J",
                row.name(),
                three(conditions.energy_per_run_j?)
            ))
        });
        let energy: Vec<String> = energy.collect();
        if !energy.is_empty() {
            notes.push(format!("energy of a run: {}", energy.join(", ")));
        }
    }
    notes
}
