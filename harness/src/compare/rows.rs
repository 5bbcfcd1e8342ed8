//! Which rows of two documents belong together.

use serde::{Deserialize, Serialize};

use super::verdict::{Margin, Verdict, compare};
use crate::perf::results::{self, Figures, Outcome, Results, Row};
use crate::stats::{Interval, Summary};
use crate::units::count;

/// Two documents, row by row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// In the order of the old document.
    pub rows: Vec<Pair>,
    /// Rows of the old document alone.
    pub only_old: Vec<String>,
    /// Rows of the new document alone.
    pub only_new: Vec<String>,
    /// What else differs: devices, drivers, kernels.
    pub differences: Vec<String>,
}

/// A time of two documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The lab.
    pub lab: String,
    /// The case.
    pub case: String,
    /// The device.
    pub device: String,
    /// The variant, or a peer of it, and how it was run.
    pub name: String,
    /// Medians of a run.
    pub old_s: Option<f64>,
    /// Likewise.
    pub new_s: Option<f64>,
    /// new/old.
    pub ratio: Option<Interval>,
    /// What became of it.
    pub verdict: Verdict,
    /// Why it is undecided or broken, where the ratio does not tell.
    pub reason: Option<String>,
}

/// What tells rows apart.
type Key = (String, String, String, String);

fn rows(results: &Results) -> impl Iterator<Item = (Key, &Row)> {
    results.cases.iter().flat_map(|case| {
        case.rows.iter().map(|row| {
            let key = (
                case.lab.clone(),
                row.case.clone(),
                row.device.clone(),
                row.name(),
            );
            (key, row)
        })
    })
}

fn key_text((lab, case, device, name): &Key) -> String {
    format!("{lab} {case}: {name} on {device}")
}

/// What a document has, in a few words.
pub fn summary(results: &Results) -> String {
    let timed = rows(results).filter(|(_, row)| row.figures().is_some());
    let mut labs: Vec<&str> = results.cases.iter().map(|case| case.lab.as_str()).collect();
    labs.dedup();
    let rows = count(timed.count(), "timed row");
    if labs.is_empty() {
        rows
    } else {
        format!("{rows} of {}", labs.join(", "))
    }
}

impl Compared {
    /// Compares every row that both have.
    pub fn new(old: &Results, new: &Results, margin: Margin) -> Compared {
        let of_new: Vec<(Key, &Row)> = rows(new).collect();
        let mut compared = Compared {
            rows: Vec::new(),
            only_old: Vec::new(),
            only_new: Vec::new(),
            differences: differences(old, new),
        };
        let mut seen = Vec::new();
        for (key, row) in rows(old) {
            let Some(figures) = row.figures() else {
                continue;
            };
            match of_new.iter().find(|(other, _)| *other == key) {
                Some((_, other)) => {
                    let mut pairs = pairs(&key, figures, other, margin);
                    if key.2 == "cpu" && (is_shared(old) || is_shared(new)) {
                        pairs.iter_mut().for_each(distrust);
                    }
                    compared.rows.extend(pairs);
                }
                None => compared.only_old.push(key_text(&key)),
            }
            seen.push(key);
        }
        let timed = of_new.iter().filter(|(_, row)| row.figures().is_some());
        let fresh = timed.filter(|(key, _)| !seen.contains(key));
        compared.only_new = fresh.map(|(key, _)| key_text(key)).collect();
        compared
    }
}

/// Whether the CPU does other work, of which this machine knows nothing.
fn is_shared(results: &Results) -> bool {
    results.cpu.as_ref().is_some_and(|cpu| cpu.is_virtual)
}

/// What a shared CPU takes longer or shorter for says nothing of the program.
fn distrust(pair: &mut Pair) {
    if matches!(pair.verdict, Verdict::Faster | Verdict::Slower) {
        pair.verdict = Verdict::Undecided;
        pair.reason = Some("a virtual machine's CPU, which others share".to_owned());
    }
}

fn pairs(key: &Key, old: &Figures, row: &Row, margin: Margin) -> Vec<Pair> {
    let (lab, case, device, name) = key.clone();
    let empty = Pair {
        lab,
        case,
        device,
        name,
        old_s: Some(old.run.median_s),
        new_s: None,
        ratio: None,
        verdict: Verdict::Broken,
        reason: None,
    };
    let new = match &row.outcome {
        Outcome::Timed(new) => new,
        Outcome::Failed { message } => {
            let reason = Some(message.clone());
            return vec![Pair { reason, ..empty }];
        }
        Outcome::Skipped { message } | Outcome::Lacking { message } => {
            return vec![Pair {
                verdict: Verdict::Undecided,
                reason: Some(message.clone()),
                ..empty
            }];
        }
    };
    if new.result == results::Verdict::Wrong {
        return vec![Pair {
            new_s: Some(new.run.median_s),
            reason: Some("its result is wrong".to_owned()),
            ..empty
        }];
    }
    let pair = |name: String, old: &Summary, new: &Summary| {
        let (ratio, verdict) = compare(old, new, margin);
        Pair {
            name,
            old_s: Some(old.median_s),
            new_s: Some(new.median_s),
            ratio,
            verdict,
            reason: (verdict == Verdict::Undecided)
                .then(|| doubt(old, new))
                .flatten(),
            ..empty.clone()
        }
    };
    let mut pairs = vec![pair(empty.name.clone(), &old.run, &new.run)];
    if let Some((old, new)) = old.batched.as_ref().zip(new.batched.as_ref()) {
        pairs.push(pair(format!("{}, batched", empty.name), &old.run, &new.run));
    }
    pairs
}

fn doubt(old: &Summary, new: &Summary) -> Option<String> {
    let doubts = [("old", old), ("new", new)].into_iter();
    let first = doubts.filter_map(|(which, summary)| {
        let doubt = summary.doubts.first()?;
        Some(format!("{which}: {doubt}"))
    });
    let text = first.collect::<Vec<String>>().join("; ");
    (!text.is_empty()).then_some(text)
}

/// What else differs, that a difference in time may come from.
fn differences(old: &Results, new: &Results) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |what: &str, old: Option<&str>, new: Option<&str>| {
        if let (Some(old), Some(new)) = (old, new)
            && old != new
        {
            differences.push(format!("{what}: {old}, now {new}"));
        }
    };
    let cpu = |results: &Results| results.cpu.as_ref().map(|cpu| cpu.model.clone());
    differ("CPU", cpu(old).as_deref(), cpu(new).as_deref());
    for device in &old.devices {
        let mut others = new.devices.iter();
        let Some(other) = others.find(|other| other.device == device.device) else {
            continue;
        };
        let name = device.device.as_str();
        differ(name, Some(&device.info.name), Some(&other.info.name));
        let driver = |record: &results::DeviceRecord| record.telemetry.clone()?.driver;
        let (old, new) = (driver(device), driver(other));
        differ(&format!("driver of {name}"), old.as_deref(), new.as_deref());
    }
    let version = |results: &Results| results.harness_version.clone();
    differ("harness", Some(&version(old)), Some(&version(new)));
    let code = |results: &Results, key: &Key| {
        let row = rows(results).find(|(other, _)| other == key)?.1;
        row.figures()?.code_sha256.clone()
    };
    let changed = rows(old).filter(|(key, _)| {
        let codes = code(old, key).zip(code(new, key));
        codes.is_some_and(|(old, new)| old != new)
    });
    let mut labs: Vec<String> = changed.map(|(key, _)| key.0).collect();
    labs.dedup();
    if !labs.is_empty() {
        differences.push(format!("device code of {} has changed", labs.join(", ")));
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
