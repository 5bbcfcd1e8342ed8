//! What was measured, as tables.

use std::collections::BTreeMap;

use stats::Summary;
use units::{count, three};

use super::kernels;
use super::results::{CaseResults, Clock, Conditions, Correctness, Figures, Outcome, Row};
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;

/// Title, table, notes of a case.
pub fn render(case: &CaseResults, look: Look) -> String {
    let title = format!("{}  {}", look.title(&case.lab), case.case);
    let mut parts = vec![title, String::new(), table(case, look).render(2)];
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

fn table(case: &CaseResults, look: Look) -> Columns {
    let has_steps = figures(case).any(|figures| figures.timesteps.is_some());
    let us = if has_steps { "us/step" } else { "us" };
    let first = match case.first_variant.len() <= FIRST_WIDTH {
        true => &case.first_variant,
        false => "first",
    };
    let mut table = Columns::with_header(
        look,
        &[
            ("device", Align::Left),
            ("variant", Align::Left),
            (&format!("time\n{us}"), Align::Right),
            ("noise\n%", Align::Right),
            (&format!("batched\n{us}"), Align::Right),
            ("rate\nG/s", Align::Right),
            ("GB/s", Align::Right),
            ("of\nlimit", Align::Right),
            (&format!("vs\n{first}"), Align::Right),
            ("vs\nCPU", Align::Right),
            ("result", Align::Left),
        ],
    );
    // A device that is not there takes one line, however many variants it would have had.
    for rows in case.rows.chunk_by(is_absent_like) {
        let row = &rows[0];
        let variant = match &row.language {
            _ if rows.len() > 1 => (format!("all {}", rows.len()), Tone::Normal),
            _ if row.figures().is_some_and(|figures| figures.is_fastest) => {
                (format!("{}*", row.variant), Tone::Good)
            }
            None => (row.variant.clone(), Tone::Normal),
            Some(language) => (format!("> {language}"), Tone::Normal),
        };
        let names = [(row.device.clone(), Tone::Normal), variant];
        table.row(names.into_iter().chain(match &row.outcome {
            Outcome::Timed(figures) => timed(figures),
            Outcome::Skipped { .. } => not_timed("skipped", Tone::Caution),
            Outcome::Failed { .. } => not_timed("FAILED", Tone::Bad),
            Outcome::Lacking { .. } => not_timed("lacking", Tone::Bad),
        }));
    }
    table
}

/// Whether both were skipped for one reason, which is their device's.
fn is_absent_like(row: &Row, other: &Row) -> bool {
    let reason = |row: &Row| match &row.outcome {
        Outcome::Skipped { message } if row.language.is_none() => Some(message.clone()),
        _ => None,
    };
    row.device == other.device && reason(row).is_some() && reason(row) == reason(other)
}

fn timed(figures: &Figures) -> Vec<(String, Tone)> {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), three);
    let ratio = |value: Option<f64>| match value {
        Some(value) if value < 100.0 => format!("{value:.2}"),
        value => number(value),
    };
    let share = figures.bound.map(|bound| {
        let decimals = usize::from(bound.share < 0.1);
        format!("{:.decimals$}%", 100.0 * bound.share)
    });
    let noise = match figures.run.noise {
        _ if !figures.run.is_result() => ("noisy".to_owned(), Tone::Caution),
        None => ("-".to_owned(), Tone::Normal),
        Some(noise) => (format!("{:.1}", 100.0 * noise), Tone::Normal),
    };
    let (result, tone) = match figures.result {
        Correctness::Reference => ("reference", Tone::Normal),
        Correctness::Equal => ("bit-equal", Tone::Good),
        Correctness::Close => ("close", Tone::Good),
        Correctness::Wrong => ("WRONG", Tone::Bad),
        Correctness::Unchecked => ("unchecked", Tone::Caution),
    };
    let batched_s = figures.batched.as_ref().map(|batched| batched.run.median_s);
    let mut cells = vec![(three(figures.step_s() * 1e6), Tone::Normal), noise];
    let normal = [
        number(batched_s.map(|run_s| run_s / figures.steps() * 1e6)),
        three(figures.updates_per_s / 1e9),
        number(figures.bytes_per_s.map(|rate| rate / 1e9)),
        share.unwrap_or("-".to_owned()),
        ratio(figures.vs_first.map(|ratio| ratio.estimate)),
        ratio(figures.vs_cpu),
    ];
    cells.extend(normal.map(|text| (text, Tone::Normal)));
    cells.push((result.to_owned(), tone));
    cells
}

/// Dashes where the figures would be.
fn not_timed(result: &str, tone: Tone) -> Vec<(String, Tone)> {
    let mut cells = vec![("-".to_owned(), Tone::Faint); 8];
    cells.push((result.to_owned(), tone));
    cells
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
