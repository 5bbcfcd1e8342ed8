//! Which rows of two documents belong together.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use stats::{BETWEEN_RUNS, Interval, Summary};
use units::count;

use super::change::{Change, Margin, compare};
use crate::document::{
    Batched, Correctness, DeviceRecord, Figures, OnDevice, Outcome, Results, Row,
};
use crate::ratios::RowView;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Differences up to this share do not count.
    pub margin: Margin,
    /// In the order of the old document.
    pub rows: Vec<Pair>,
    pub only_old: Vec<String>,
    pub only_new: Vec<String>,
    /// Other differences: devices, drivers, kernels.
    pub differences: Vec<String>,
    /// How well the old document says where the new one's medians lie.
    pub foretold: Foretold,
}

/// Times of devices whose new median lies within the old interval, widened by what other runs
/// differ by: at least 95 % of two runs of one program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Foretold {
    pub within: usize,
    /// Those that have an interval.
    pub of: usize,
}

impl Foretold {
    fn add(&mut self, old: &Summary, new: &Summary) {
        let Some([low, high]) = old.interval_s else {
            return;
        };
        let ends = low * (1.0 - BETWEEN_RUNS)..=high * (1.0 + BETWEEN_RUNS);
        self.of += 1;
        self.within += usize::from(ends.contains(&new.median_s));
    }
}

/// A time of two documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    #[serde(flatten)]
    pub row: RowName,
    pub old_s: Option<f64>,
    pub new_s: Option<f64>,
    pub ratio: Option<Interval>,
    pub verdict: Change,
    /// Why it is undecided or broken, where the ratio does not tell.
    pub reason: Option<String>,
}

/// The names that distinguish rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowName {
    pub lab: String,
    pub case: String,
    pub device: String,
    /// The variant, or a peer of it, and how it was run.
    pub name: String,
    /// The number of GPUs that took part, where that is what rows differ by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
}

impl fmt::Display for RowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}: {} on {}",
            self.lab, self.case, self.name, self.device
        )
    }
}

fn rows(results: &Results) -> impl Iterator<Item = (RowName, &Row)> {
    results.rows().map(|RowView { case, row, .. }| {
        let name = RowName {
            lab: case.lab.clone(),
            case: row.case.to_string(),
            device: row.device.clone(),
            name: row.name(),
            gpus: row.gpus,
        };
        (name, row)
    })
}

/// The rows that were timed.
fn timed(results: &Results) -> impl Iterator<Item = (RowName, &Figures)> {
    rows(results).filter_map(|(name, row)| Some((name, row.figures()?)))
}

/// A document's content in a few words.
pub fn summary(results: &Results) -> String {
    let mut labs: Vec<&str> = results.cases.iter().map(|case| case.lab.as_str()).collect();
    labs.dedup();
    let rows = count(timed(results).count(), "timed row");
    match &labs[..] {
        [] => rows,
        labs => format!("{rows} of {}", labs.join(", ")),
    }
}

impl Compared {
    /// Compares every row that both have.
    pub fn new(old: &Results, new: &Results, margin: Margin) -> Compared {
        // A shared CPU's time says nothing about the program.
        let is_shared = |results: &Results| results.cpu.as_ref().is_some_and(|cpu| cpu.is_virtual);
        let is_shared = is_shared(old) || is_shared(new);
        let mut compared = Compared {
            margin,
            rows: Vec::new(),
            only_old: Vec::new(),
            only_new: Vec::new(),
            differences: differences(old, new),
            foretold: Foretold::default(),
        };
        for (name, figures) in timed(old) {
            match rows(new).find(|(other, _)| *other == name) {
                None => compared.only_old.push(name.to_string()),
                Some((_, row)) => {
                    compared.rows.extend(pairs(&name, figures, row, margin));
                    let of_device = row.figures().filter(|_| name.device != "cpu");
                    if let Some(timed_again) = of_device {
                        compared.foretell(figures, timed_again);
                    }
                }
            }
        }
        for pair in &mut compared.rows {
            let has_changed = matches!(pair.verdict, Change::Faster | Change::Slower);
            if pair.row.device == "cpu" && is_shared && has_changed {
                pair.verdict = Change::Undecided;
                pair.reason = Some("a virtual machine's CPU, which others share".to_owned());
            }
        }
        let is_new = |name: &RowName| !timed(old).any(|(other, _)| other == *name);
        let only_new = timed(new).filter(|(name, _)| is_new(name));
        compared.only_new = only_new.map(|(name, _)| name.to_string()).collect();
        compared
    }
}

impl Compared {
    /// Counts a row's times, isolated and batched.
    fn foretell(&mut self, old: &Figures, new: &Figures) {
        self.foretold.add(&old.run, &new.run);
        if let Some((old, new)) = batched(old).zip(batched(new)) {
            self.foretold.add(&old.run, &new.run);
        }
    }
}

/// Times back to back.
fn batched(figures: &Figures) -> Option<&Batched> {
    figures.on_device.batched.as_ref()
}

/// The verdicts on a row's times, isolated and batched.
fn pairs(name: &RowName, old: &Figures, new: &Row, margin: Margin) -> Vec<Pair> {
    let without_ratio = |verdict, new_s, reason: &str| Pair {
        row: name.clone(),
        old_s: Some(old.run.median_s),
        new_s,
        ratio: None,
        verdict,
        reason: Some(reason.to_owned()),
    };
    let pair = |how: String, before: &Summary, after: &Summary| {
        let (ratio, verdict) = compare(before, after, margin);
        let is_open = verdict == Change::Undecided;
        Pair {
            row: RowName {
                name: how,
                ..name.clone()
            },
            old_s: Some(before.median_s),
            new_s: Some(after.median_s),
            ratio,
            verdict,
            reason: is_open.then(|| doubts(before, after)).flatten(),
        }
    };
    match &new.outcome {
        Outcome::Failed { message } => vec![without_ratio(Change::Broken, None, message)],
        Outcome::Skipped { message } | Outcome::Lacking { message } => {
            vec![without_ratio(Change::Undecided, None, message)]
        }
        Outcome::DoesNotFit => vec![without_ratio(Change::Undecided, None, "it does not fit")],
        Outcome::Computed {
            result: Correctness::Wrong,
        } => vec![without_ratio(Change::Broken, None, "its result is wrong")],
        Outcome::Computed { .. } => {
            vec![without_ratio(Change::Undecided, None, "it was not timed")]
        }
        Outcome::Timed(new) if new.is_wrong() => {
            let new_s = Some(new.run.median_s);
            vec![without_ratio(Change::Broken, new_s, "its result is wrong")]
        }
        Outcome::Timed(new) => {
            let mut pairs = vec![pair(name.name.clone(), &old.run, &new.run)];
            if let Some((old, new)) = batched(old).zip(batched(new)) {
                pairs.push(pair(format!("{}, batched", name.name), &old.run, &new.run));
            }
            pairs
        }
    }
}

/// Why two times are undecided: the first doubt of each.
fn doubts(old: &Summary, new: &Summary) -> Option<String> {
    let first = |which: &str, summary: &Summary| {
        let doubt = summary.doubts.first()?;
        Some(format!("{which}: {doubt}"))
    };
    let doubts: Vec<String> = [first("old", old), first("new", new)]
        .into_iter()
        .flatten()
        .collect();
    (!doubts.is_empty()).then(|| doubts.join("; "))
}

/// The row whose kernels are others than before; only its lab, where a document does not tell its
/// kernels apart.
fn changed_code(name: &RowName, old: &OnDevice, new: &OnDevice) -> Option<String> {
    let digests = [&old.kernel_digests, &new.kernel_digests];
    if digests.iter().all(|digests| !digests.is_empty()) {
        return (digests[0] != digests[1]).then(|| format!("{} {}", name.lab, name.name));
    }
    let [old, new] = [old, new].map(|of| of.code_sha256.as_ref());
    let has_changed = old.zip(new).is_some_and(|(old, new)| old != new);
    has_changed.then(|| name.lab.clone())
}

/// Other differences, from which a difference in time may come.
fn differences(old: &Results, new: &Results) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |what: &str, before: Option<&str>, after: Option<&str>| {
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            differences.push(format!("{what}: {before}, now {after}"));
        }
    };
    let [old_cpu, new_cpu] = [old, new].map(|results| Some(results.cpu.as_ref()?.model.as_str()));
    differ("CPU", old_cpu, new_cpu);
    for device in &old.devices {
        let is_same = |other: &&DeviceRecord| other.device == device.device;
        let Some(other) = new.devices.iter().find(is_same) else {
            continue;
        };
        let name = &device.device;
        differ(name, Some(&device.info.name), Some(&other.info.name));
        let [old_driver, new_driver] =
            [device, other].map(|record| record.telemetry.as_ref()?.driver.as_deref());
        differ(&format!("driver of {name}"), old_driver, new_driver);
    }
    let [old_link, new_link] = [old, new].map(|results| {
        let link = results.scaling.as_ref()?.link?;
        Some(link.to_string())
    });
    differ("link", old_link.as_deref(), new_link.as_deref());
    let versions = [old, new].map(|results| Some(results.harness_version.as_str()));
    differ("harness", versions[0], versions[1]);
    let mut changed: Vec<String> = timed(old)
        .filter_map(|(name, figures)| {
            let (_, other) = timed(new).find(|(other, _)| *other == name)?;
            changed_code(&name, &figures.on_device, &other.on_device)
        })
        .collect();
    let mut seen = BTreeSet::new();
    changed.retain(|name| seen.insert(name.clone()));
    if !changed.is_empty() {
        differences.push(format!("device code of {} has changed", changed.join(", ")));
    }
    for (which, results) in [("old", old), ("new", new)] {
        if results.interrupted {
            differences.push(format!("the {which} measurement was interrupted"));
        }
    }
    if old.quick != new.quick {
        differences.push("one of the two was --quick".to_owned());
    }
    differences
}
