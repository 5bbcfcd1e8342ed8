//! Notes for which the tables have no room.

use std::collections::BTreeMap;

use stats::Summary;
use units::{count, three};

use super::by_variant::{FIRST_WIDTH, percent};
use super::lab_results::{LabResults, is_variant};
use crate::bound::Unit;
use crate::document::{CaseResults, CheckedSteps, Clock, Conditions, Figures, Outcome, Row};
use crate::ratios::{RowView, is_cpu};
use terminal::look::Look;

/// How many lines the most important notes may take.
const LINES: usize = 3;

/// The most important first: what is wrong, failed, missing, doubtful; what was checked; what
/// limits. `vs_cpu` is a column that the table had no room for.
pub fn brief(lab: &LabResults<'_>, vs_cpu: Option<String>, look: Look) -> Option<String> {
    let say = |kind: &str, of: fn(&Row) -> Option<String>| first_and_number(lab, kind, of);
    let error = [
        say("WRONG", wrong),
        say("FAILED", failed),
        say("lacking", lacking),
    ];
    let mut notes: Vec<String> = error.into_iter().flatten().collect();
    // Where something is amiss, its reason and remedy have the room.
    let is_fine = notes.is_empty();
    notes.extend(say("withheld", withheld));
    notes.extend(checked(lab));
    // A peer has its variant's shape.
    notes.extend(say("tuned", |row| {
        tuned(row).filter(|_| row.language.is_none())
    }));
    notes.extend(vs_cpu);
    if is_fine {
        let told: Vec<String> = [limits(lab), own_limits(lab)]
            .into_iter()
            .flatten()
            .collect();
        notes.extend((!told.is_empty()).then(|| told.join("; ")));
        notes.extend(say("slow local memory", spills));
        notes.extend(say("uncertain", doubt));
    }
    (!notes.is_empty()).then(|| within(LINES, &notes, look))
}

fn wrong(row: &Row) -> Option<String> {
    let figures = row.figures()?;
    let is_wrong = figures.is_wrong();
    is_wrong.then(|| figures.judgement.mismatch.clone().unwrap_or_default())
}

fn failed(row: &Row) -> Option<String> {
    match &row.outcome {
        Outcome::Failed { message } => Some(message.clone()),
        _ => None,
    }
}

fn lacking(row: &Row) -> Option<String> {
    match &row.outcome {
        Outcome::Lacking { message } => Some(message.clone()),
        _ => None,
    }
}

/// Why a time is not shown.
fn withheld(row: &Row) -> Option<String> {
    Some(row.figures()?.run.withheld()?.to_string())
}

/// Why an interval is wide, or may be too narrow.
fn doubt(row: &Row) -> Option<String> {
    let figures = row.figures().filter(|figures| figures.is_result())?;
    Some(figures.run.doubts.first()?.to_string())
}

/// In which shape it was launched, if not in the default one.
fn tuned(row: &Row) -> Option<String> {
    let shape = row.shape.as_ref().filter(|_| row.figures().is_some())?;
    Some(format!(
        "launched in the shape {shape}, as `harness tune` found"
    ))
}

fn spills(row: &Row) -> Option<String> {
    let mut kernels = row.figures()?.on_device.kernels.iter();
    let kernel = kernels.find(|kernel| kernel.local_bytes > 0)?;
    let (name, bytes) = (&kernel.name, kernel.local_bytes);
    Some(format!(
        "kernel `{name}` keeps {bytes} bytes per thread there"
    ))
}

/// As many notes as these lines hold; the last says how many more there are.
fn within(lines: usize, notes: &[String], look: Look) -> String {
    let mut text: Vec<String> = Vec::new();
    for (index, note) in notes.iter().enumerate() {
        let more = notes.len() - index;
        let room = lines - text.len() - usize::from(more > 1);
        if room == 0 {
            text.push(format!("  {}: --notes", count(more, "more note")));
            break;
        }
        text.extend(look.first_lines(note, 2, room));
    }
    text.join("\n")
}

/// The first row with something to say, our own before peers, and how many more there are.
fn first_and_number(
    lab: &LabResults<'_>,
    kind: &str,
    of: fn(&Row) -> Option<String>,
) -> Option<String> {
    let mut rows: Vec<RowView<'_>> = lab.rows().collect();
    rows.sort_by_key(|one| one.row.language.is_some());
    let mut said = rows.iter().filter_map(|one| Some((one, of(one.row)?)));
    let (RowView { case, row, .. }, message) = said.next()?;
    let size = match lab.size(case) {
        "" => String::new(),
        size => format!(", {size}"),
    };
    let on = if lab.devices.len() > 1 || is_cpu(row) {
        format!(" on {}", row.device)
    } else {
        String::new()
    };
    let more = match said.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(format!("{kind}{more}: {}{size}{on}: {message}", row.name()))
}

/// The steps that are compared where the CPU did not compute all: of the first such row.
fn checked(lab: &LabResults<'_>) -> Option<String> {
    let mut rows = lab.rows();
    let steps = rows.find_map(|one| one.row.figures()?.judgement.checked_steps)?;
    let CheckedSteps { first, last, of } = steps;
    let variants = lab.rows().filter(|one| is_variant(one.row)).count();
    let others = if variants > lab.cases.len() {
        "; variants with each other"
    } else {
        ""
    };
    Some(format!(
        "{first}+{last}: first {first} and last {last} of {of} steps compared with the CPU{others}"
    ))
}

/// The variants whose limits are told; of several sizes, each one's best variant.
fn limited<'c>(lab: &LabResults<'c>) -> impl Iterator<Item = RowView<'c>> {
    let of_fastest = lab.cases.len() > 1 && lab.rows().any(|one| one.row.is_fastest());
    lab.rows()
        .filter(move |one| is_variant(one.row) && (!of_fastest || one.row.is_fastest()))
}

/// By how much the units of multiprocessors limit them: `own limit: L1, 52% to 70%`.
fn own_limits(lab: &LabResults<'_>) -> Option<String> {
    let mut shares: BTreeMap<Unit, (f64, f64)> = BTreeMap::new();
    for own in limited(lab).filter_map(|one| one.own_limit()) {
        let (least, most) = shares.entry(own.by).or_insert((own.share, own.share));
        (*least, *most) = (least.min(own.share), most.max(own.share));
    }
    let told = shares.iter().map(|(unit, (least, most))| {
        let (least, most) = (percent(*least), percent(*most));
        let to = if least == most {
            most
        } else {
            format!("{least} to {most}")
        };
        format!("{}, {to}", unit.name())
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("own limit: {}", told.join("; ")))
}

/// Which limit binds which variants.
fn limits(lab: &LabResults<'_>) -> Option<String> {
    let several = lab.cases.len() > 1;
    let bound = limited(lab).filter_map(|one| {
        let name = if several {
            lab.differing(one.case)?.first()?.to_owned()
        } else {
            one.row.variant.clone()
        };
        Some((one.bound()?.by.name(), name))
    });
    bottlenecks(bound)
}

/// `limit: memory; L2 for naive`: most of them first.
fn bottlenecks<'n>(rows: impl Iterator<Item = (&'n str, String)>) -> Option<String> {
    let mut limits: Vec<(&str, Vec<String>)> = by_reason(rows).into_iter().collect();
    limits.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let mut limits = limits.into_iter();
    let (usual, _) = limits.next()?;
    let others = limits.map(|(limit, names)| format!("; {limit} for {}", names.join(", ")));
    Some(format!("limit: {usual}{}", others.collect::<String>()))
}

/// All that is known of a case, peers too.
pub fn all(lab: &LabResults<'_>, case: &CaseResults, look: Look) -> Option<String> {
    let rows: Vec<RowView<'_>> = lab
        .rows()
        .filter(|one| std::ptr::eq(one.case, case))
        .collect();
    let timed = || {
        rows.iter()
            .filter_map(|one| Some((*one, one.row.figures()?)))
    };
    let mut notes = Vec::new();
    if case.first_variant.len() > FIRST_WIDTH && timed().any(|(one, _)| one.vs_first().is_some()) {
        notes.push(format!("first: {}", case.first_variant));
    }
    notes.extend(bottlenecks(timed().filter_map(|(one, _)| {
        Some((one.bound()?.by.name(), one.row.variant.clone()))
    })));
    if timed().any(|(_, figures)| figures.compared.is_fastest) {
        notes.push("*: the fastest".to_owned());
    }
    // The table of a course: rates relative to one core.
    let over_one = timed().filter(|(one, _)| !is_cpu(one.row) || one.row.variant != "serial");
    let speedups: Vec<String> = over_one
        .filter_map(|(one, _)| Some(format!("{} {}", one.row.name(), one.vs_serial()?.short())))
        .collect();
    if !speedups.is_empty() {
        notes.push(format!("speedup over one core: {}", speedups.join("; ")));
    }
    for one in &rows {
        let row = one.row;
        let name = row.full_name();
        let note = match &row.outcome {
            Outcome::Timed(figures) => {
                let remarks = remarks(one, figures).into_iter();
                notes.extend(remarks.map(|remark| format!("{name}: {remark}")));
                continue;
            }
            Outcome::Computed { .. } | Outcome::DoesNotFit => continue,
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
    // Why runs back to back were not a graph, once for each reason.
    let no_graph = by_reason(timed().filter_map(|(one, figures)| {
        Some((
            figures.on_device.batched.as_ref()?.no_graph.as_deref()?,
            one.row.name(),
        ))
    }))
    .into_iter();
    notes.extend(
        no_graph.map(|(reason, names)| format!("no graph of {}: {reason}", names.join("; "))),
    );
    notes.extend(conditions(case));
    let mut elsewhere = timed().filter(|(one, _)| one.row.case != case.case);
    notes.extend(elsewhere.next().map(|(RowView { row, .. }, _)| {
        format!("{}: timed on {}, compared by rate", row.device, row.case)
    }));
    let notes: Vec<String> = notes.iter().map(|note| look.wrapped(note, 2)).collect();
    (!notes.is_empty()).then(|| notes.join("\n"))
}

/// The names by what they have in common, each once.
fn by_reason<'n>(rows: impl Iterator<Item = (&'n str, String)>) -> BTreeMap<&'n str, Vec<String>> {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (reason, name) in rows {
        let names = by_reason.entry(reason).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    by_reason
}

/// Remarks on the figures of a row.
fn remarks(one: &RowView<'_>, figures: &Figures) -> Vec<String> {
    let mut remarks = Vec::from_iter(figures.judgement.mismatch.clone());
    remarks.extend(tuned(one.row));
    let mut doubt = |what: &str, run: &Summary| {
        let doubts = run.doubts.iter();
        remarks.extend(doubts.map(|doubt| {
            if doubt.withholds() {
                format!("{what}withheld: {doubt}")
            } else {
                format!("{what}{doubt}")
            }
        }));
    };
    doubt("", &figures.run);
    if let Some(batched) = &figures.on_device.batched {
        doubt("batched: ", &batched.run);
    }
    if figures.run.runs_per_sample() > 1 {
        remarks.push(format!(
            "single runs have several speeds: a sample is the mean of {}",
            figures.run.runs_per_sample()
        ));
    }
    if let (Some(first), true) = (figures.run.discarded.first(), figures.is_result()) {
        let samples = count(figures.run.discarded.len(), "sample");
        remarks.push(format!("{samples} discarded: {}", first.reason));
    }
    if figures.clock == Clock::Host && figures.on_device.batched.is_some() {
        remarks.push("timed by the host's clock: the device has none".to_owned());
    }
    if let Some(steps) = figures.judgement.checked_steps {
        remarks.push(format!("compared with the CPU over {steps}"));
    }
    if let Some(segments) = figures.segments {
        remarks.push(format!("timed in {segments} segments of a run"));
    }
    if let Some(ratio) = one.vs_variant() {
        let built_by = one.row.built_by.as_deref().unwrap_or("unknown compiler");
        remarks.push(format!("ours takes {ratio} times as long ({built_by})"));
    }
    for kernel in figures
        .on_device
        .kernels
        .iter()
        .filter(|kernel| kernel.local_bytes > 0)
    {
        remarks.push(format!(
            "kernel `{}` keeps {} bytes per thread in local memory, which is slow",
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
            .filter_map(|row| Some((row, row.figures()?.on_device.conditions.as_ref()?)))
            .collect();
        let range = |text: &str, unit: &str, of: fn(&Conditions) -> Option<[f64; 2]>| {
            let ranges = rows.iter().filter_map(|(_, conditions)| of(conditions));
            let [low, high] = ranges.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
            Some(match (format!("{low:.0}"), format!("{high:.0}")) {
                (least, most) if least == most => format!("{text}{least} {unit}"),
                (least, most) => format!("{text}{least} to {most} {unit}"),
            })
        };
        let parts: Vec<String> = [
            range("SM ", "MHz", |one| Some(one.sm_clock_mhz?.map(f64::from))),
            range("memory ", "MHz", |one| {
                Some(one.memory_clock_mhz?.map(f64::from))
            }),
            range("", "C", |one| Some(one.temperature_c?.map(f64::from))),
            range("", "W", |one| one.power_w),
        ]
        .into_iter()
        .flatten()
        .collect();
        if let (Some((row, _)), false) = (rows.first(), parts.is_empty()) {
            notes.push(format!("{} while timed: {}", row.device, parts.join(", ")));
        }
        let energy: Vec<String> = rows
            .iter()
            .filter_map(|(row, conditions)| {
                Some(format!(
                    "{} {} J",
                    row.name(),
                    three(conditions.energy_per_run_j?)
                ))
            })
            .collect();
        if !energy.is_empty() {
            notes.push(format!("energy of a run: {}", energy.join(", ")));
        }
    }
    notes
}
