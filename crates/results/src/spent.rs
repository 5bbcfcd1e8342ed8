//! Where the wall time of a measurement goes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::waited;

/// Work that a measurement consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The device's limits.
    Limits,
    /// Timing the CPU.
    References,
    /// Making inputs.
    Inputs,
    /// Loading kernels, allocating buffers, making graphs.
    Preparation,
    /// First runs, and writing inputs.
    WarmUp,
    /// Single runs, each after its preparation.
    Samples,
    /// Runs back to back, and their energy.
    Batches,
    /// Runs in other allocations of the buffers.
    Elsewhere,
    /// Reading results, and comparing them with each other.
    Results,
    /// Waiting for the CPU's results.
    Waiting,
    /// Runs up to the points that are compared with the CPU, and the comparisons.
    Checks,
    /// Giving the host's memory back.
    Freeing,
    /// Everything else.
    Rest,
}

impl Phase {
    /// As the line at the end says it.
    fn name(self) -> &'static str {
        match self {
            Phase::Limits => "limits",
            Phase::References => "CPU references",
            Phase::Inputs => "inputs",
            Phase::Preparation => "preparation",
            Phase::WarmUp => "warm-up",
            Phase::Samples => "single runs",
            Phase::Batches => "batches",
            Phase::Elsewhere => "other allocations",
            Phase::Results => "reading results",
            Phase::Waiting => "waiting for the CPU",
            Phase::Checks => "checks",
            Phase::Freeing => "freeing memory",
            Phase::Rest => "rest",
        }
    }
}

/// Seconds of each phase.
pub type Seconds = BTreeMap<Phase, f64>;

/// The wall time of a lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// None for what comes before the first lab.
    pub lab: Option<String>,
    /// By part of the work.
    pub seconds: Seconds,
}

/// A time from which on users ask where it went.
const LONG_S: f64 = 30.0;

/// `wall time 5 min 10 s: checks 100 s, single runs 60 s, ...`: the longest phases of all labs
/// first, those of less than a second left out. Nothing for a short measurement.
pub fn in_words(labs: &[Spent]) -> Option<String> {
    let mut all = Seconds::new();
    for (phase, s) in labs.iter().flat_map(|lab| &lab.seconds) {
        *all.entry(*phase).or_insert(0.0) += s;
    }
    let whole_s: f64 = all.values().sum();
    let mut phases: Vec<(Phase, f64)> = all.into_iter().filter(|(_, s)| *s >= 1.0).collect();
    phases.sort_by(|a, b| b.1.total_cmp(&a.1));
    let phases = phases
        .iter()
        .map(|(phase, s)| format!("{} {s:.0} s", phase.name()))
        .collect::<Vec<String>>()
        .join(", ");
    let whole = waited(Duration::try_from_secs_f64(whole_s).unwrap_or_default());
    (whole_s >= LONG_S).then(|| format!("wall time {whole}: {phases}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_phases_come_first() {
        let lab = |seconds: &[(Phase, f64)]| Spent {
            lab: None,
            seconds: seconds.iter().copied().collect(),
        };
        let labs = [
            lab(&[(Phase::Limits, 2.0)]),
            lab(&[
                (Phase::Samples, 20.0),
                (Phase::Checks, 30.2),
                (Phase::Rest, 0.4),
            ]),
            lab(&[(Phase::Samples, 21.0)]),
        ];
        insta::assert_snapshot!(in_words(&labs).unwrap(), @"wall time 1 min 14 s: single runs 41 s, checks 30 s, limits 2 s");
        assert_eq!(in_words(&labs[..1]), None);
    }
}
