//! What was measured, as tables.

use std::collections::BTreeMap;

use super::kernels;
use super::results::{CaseResults, Clock, Conditions, Figures, Outcome, Row, Verdict};
use crate::stats::Summary;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use crate::units::{count, three};

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

fn table(case: &CaseResults, look: Look) -> Columns {
    let has_steps = figures(case).any(|figures| figures.timesteps.is_some());
    // A long name would widen the table for a column of short numbers.
    let first = if case.first_variant.len() <= 6 {
        &case.first_variant
    } else {
        "first"
    };
    let vs_first = format!("vs\n{first}");
    let us = if has_steps { "us/step" } else { "us" };
    let (time, batched) = (format!("time\n{us}"), format!("batched\n{us}"));
    let mut table = Columns::with_header(
        look,
        &[
            ("device", Align::Left),
            ("variant", Align::Left),
            (&time, Align::Right),
            ("noise\n%", Align::Right),
            (&batched, Align::Right),
            ("rate\nG/s", Align::Right),
            ("GB/s", Align::Right),
            ("of\nlimit", Align::Right),
            (&vs_first, Align::Right),
            ("vs\nCPU", Align::Right),
            ("result", Align::Left),
        ],
    );
    let mut rows = &case.rows[..];
    while let Some((row, rest)) = rows.split_first() {
        // A device that is not there takes one line, however many variants it would have had.
        let absent = rows
            .iter()
            .take_while(|other| is_absent_like(row, other))
            .count();
        if absent > 1 {
            let names = [row.device.clone(), format!("all {absent}")];
            let names = names.map(|name| (name, Tone::Normal));
            table.row(names.into_iter().chain(not_timed("skipped", Tone::Caution)));
            rows = &rows[absent..];
            continue;
        }
        rows = rest;
        let is_fastest = row.figures().is_some_and(|figures| figures.is_fastest);
        let variant = match &row.language {
            _ if is_fastest => (format!("{}*", row.variant), Tone::Good),
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
    let cell = |value: Option<f64>| (value.map_or("-".to_owned(), three), Tone::Normal);
    let share = figures.bound.map_or("-".to_owned(), |bound| {
        let decimals = usize::from(bound.share < 0.1);
        format!("{:.decimals$}%", 100.0 * bound.share)
    });
    let noise = match figures.run.noise {
        _ if !figures.run.is_result() => ("noisy".to_owned(), Tone::Caution),
        None => ("-".to_owned(), Tone::Normal),
        Some(noise) => (format!("{:.1}", 100.0 * noise), Tone::Normal),
    };
    let (result, tone) = match figures.result {
        Verdict::Reference => ("reference", Tone::Normal),
        Verdict::Equal => ("bit-equal", Tone::Good),
        Verdict::Close => ("close", Tone::Good),
        Verdict::Wrong => ("WRONG", Tone::Bad),
        Verdict::Unchecked => ("unchecked", Tone::Caution),
    };
    let ratio = |value: Option<f64>| {
        let text = value.map_or("-".to_owned(), |value| {
            if value < 100.0 {
                format!("{value:.2}")
            } else {
                three(value)
            }
        });
        (text, Tone::Normal)
    };
    let steps = figures.steps();
    let batched = figures.batched.as_ref();
    vec![
        cell(Some(figures.step_s() * 1e6)),
        noise,
        cell(batched.map(|batched| batched.run.median_s / steps * 1e6)),
        cell(Some(figures.updates_per_s / 1e9)),
        cell(figures.bytes_per_s.map(|rate| rate / 1e9)),
        (share, Tone::Normal),
        ratio(figures.vs_first.map(|ratio| ratio.estimate)),
        ratio(figures.vs_cpu),
        (result.to_owned(), tone),
    ]
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
            .map(|figures| format!("rate: {}", figures.unit)),
    );
    if case.first_variant.len() > 6 && figures(case).any(|figures| figures.vs_first.is_some()) {
        notes.push(format!("first: {}", case.first_variant));
    }
    notes.extend(limits(case));
    if figures(case).any(|figures| figures.is_fastest) {
        notes.push("*: the fastest".to_owned());
    }
    notes.extend(speedups(case));
    let mut last_skipped = None;
    for row in &case.rows {
        let name = row.full_name();
        match &row.outcome {
            Outcome::Timed(figures) => {
                notes.extend(remarks(row, figures).map(|remark| format!("{name}: {remark}")));
            }
            Outcome::Failed { message } | Outcome::Lacking { message } => {
                notes.push(format!("{name}: {message}"));
            }
            // A peer's reason is its own; a device's, all its rows'.
            Outcome::Skipped { message } if row.language.is_some() => {
                notes.push(format!("{name} skipped: {message}"));
            }
            Outcome::Skipped { message } => {
                let note = format!("{} skipped: {message}", row.device);
                if last_skipped.as_ref() != Some(&note) {
                    notes.push(note.clone());
                }
                last_skipped = Some(note);
            }
        }
    }
    notes.extend(without_graph(case));
    notes.extend(conditions(case));
    let elsewhere = |row: &&Row| row.figures().is_some() && row.case != case.case;
    if let Some(row) = case.rows.iter().find(elsewhere) {
        notes.push(format!(
            "{}: timed on {}, compared by rate",
            row.device, row.case
        ));
    }
    notes
}

/// Why runs back to back were no graph, once for each reason.
fn without_graph(case: &CaseResults) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in &case.rows {
        let batched = row.figures().and_then(|figures| figures.batched.as_ref());
        if let Some(reason) = batched.and_then(|batched| batched.no_graph.as_deref()) {
            by_reason.entry(reason).or_default().push(row.name());
        }
    }
    let notes = by_reason.into_iter();
    notes
        .map(|(reason, names)| format!("no graph of {}: {reason}", names.join("; ")))
        .collect()
}

/// Which limit binds which rows.
fn limits(case: &CaseResults) -> Option<String> {
    let mut by_limit: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in &case.rows {
        if let Some(bound) = row.figures().and_then(|figures| figures.bound) {
            let names = by_limit.entry(bound.by.name()).or_default();
            if !names.contains(&row.variant) {
                names.push(row.variant.clone());
            }
        }
    }
    let text = match by_limit.len() {
        0 => return None,
        1 => by_limit.keys().next()?.to_string(),
        _ => {
            let parts = by_limit
                .iter()
                .map(|(limit, names)| format!("{limit} for {}", names.join(", ")));
            parts.collect::<Vec<String>>().join("; ")
        }
    };
    Some(format!("limit: {text}"))
}

/// The table of a course: rates relative to one core.
fn speedups(case: &CaseResults) -> Option<String> {
    let rows = case.rows.iter().filter_map(|row| {
        let vs_serial = row.figures()?.vs_serial?;
        (row.variant != "serial").then(|| format!("{} {}", row.name(), three(vs_serial)))
    });
    let rows: Vec<String> = rows.collect();
    (!rows.is_empty()).then(|| format!("speedup over one core: {}", rows.join(", ")))
}

fn remarks<'f>(row: &'f Row, figures: &'f Figures) -> impl Iterator<Item = String> + 'f {
    let mismatch = figures.mismatch.clone();
    let doubts = |what: &'static str, run: &Summary| -> Vec<String> {
        let doubts = run.doubts.iter();
        doubts
            .map(|doubt| format!("{what}no result: {doubt}"))
            .collect()
    };
    let isolated = doubts("", &figures.run);
    let batched = figures.batched.as_ref();
    let batched_doubts = batched.map_or(Vec::new(), |batched| doubts("batched: ", &batched.run));
    let discarded = figures.run.discarded.len();
    let discarded = (discarded > 0 && figures.run.is_result()).then(|| {
        format!(
            "{} discarded: {}",
            count(discarded, "sample"),
            figures.run.discarded[0].reason
        )
    });
    let clock = (figures.clock == Clock::Host && figures.batched.is_some())
        .then(|| "timed by the host's clock: the device has none".to_owned());
    let launches = figures.per_command.as_ref().map(|per| {
        let us = |time_s: f64| format!("{} us", three(time_s * 1e6));
        let stream = us(per.stream_s);
        let graph = per.graph_s.map_or(String::new(), |graph_s| {
            format!(", {} as a graph", us(graph_s))
        });
        format!("a launch takes {stream} by stream{graph}")
    });
    let peer = figures.vs_variant.map(|ratio| {
        let built_by = row.built_by.as_deref().unwrap_or("unknown compiler");
        format!("ours takes {ratio} times as long ({built_by})")
    });
    let spilling = figures
        .kernels
        .iter()
        .filter(|kernel| kernel.local_bytes > 0);
    let spills = spilling.map(|kernel| {
        format!(
            "kernel `{}` keeps {} bytes a thread in local memory, which is slow",
            kernel.name, kernel.local_bytes
        )
    });
    let single = [discarded, clock, launches, peer];
    mismatch
        .into_iter()
        .chain(isolated)
        .chain(batched_doubts)
        .chain(single.into_iter().flatten())
        .chain(spills)
}

/// Clocks, temperature and power of each device, and the energy of each row.
fn conditions(case: &CaseResults) -> Vec<String> {
    let mut devices: Vec<&str> = case.rows.iter().map(|row| row.device.as_str()).collect();
    devices.dedup();
    let mut notes = Vec::new();
    for device in devices {
        let rows = case.rows.iter().filter(|row| row.device == device);
        let rows: Vec<(&Row, &Conditions)> = rows
            .filter_map(|row| Some((row, row.figures()?.conditions.as_ref()?)))
            .collect();
        let all: Vec<&Conditions> = rows.iter().map(|(_, conditions)| *conditions).collect();
        let mut parts = Vec::new();
        let mut part = |text: &str, range: Option<[f64; 2]>, unit: &str| {
            if let Some([low, high]) = range {
                let (low, high) = (format!("{low:.0}"), format!("{high:.0}"));
                let range = if low == high {
                    low
                } else {
                    format!("{low} to {high}")
                };
                parts.push(format!("{text}{range} {unit}"));
            }
        };
        let wide = |range: Option<[u32; 2]>| range.map(|range| range.map(f64::from));
        part("SM ", merge(&all, |one| wide(one.sm_clock_mhz)), "MHz");
        part(
            "memory ",
            merge(&all, |one| wide(one.memory_clock_mhz)),
            "MHz",
        );
        part("", merge(&all, |one| wide(one.temperature_c)), "C");
        part("", merge(&all, |one| one.power_w), "W");
        if !parts.is_empty() {
            notes.push(format!("{device} while timed: {}", parts.join(", ")));
        }
        let energy = rows.iter().filter_map(|(row, conditions)| {
            let energy_j = conditions.energy_per_run_j?;
            Some(format!("{} {} J", row.name(), three(energy_j)))
        });
        let energy: Vec<String> = energy.collect();
        if !energy.is_empty() {
            notes.push(format!("energy of a run: {}", energy.join(", ")));
        }
    }
    notes
}

fn merge(all: &[&Conditions], of: impl Fn(&Conditions) -> Option<[f64; 2]>) -> Option<[f64; 2]> {
    let ranges = all.iter().filter_map(|one| of(one));
    ranges.reduce(|[low, high], [other_low, other_high]| [low.min(other_low), high.max(other_high)])
}
