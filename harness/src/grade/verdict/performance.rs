//! What the speed of a case earned.

use serde::{Deserialize, Serialize};

use super::Failing;

/// What the speed of one case earned, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerformanceGrade {
    /// The case's name.
    pub case: String,
    /// What the submission is compared with.
    pub against: Against,
    /// Points that it is worth.
    pub points: f64,
    /// Points that it earned.
    pub earned: f64,
    /// The ratio that earns nothing.
    pub zero: f64,
    /// The ratio that earns all points.
    pub full: f64,
    /// How it ended.
    pub status: PerformanceStatus,
    /// The ratio that the points follow from: higher is faster.
    pub ratio: Option<Interval>,
    /// The submission's times.
    pub submission: Option<Times>,
    /// The times of the reference that ran in turn with it.
    pub reference: Option<Times>,
    /// What the ratio is relative to, where that is the device's limit.
    pub limit: Option<Limit>,
}

/// What a time is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// A built-in variant, or the instructor's solution: the ratio is its time by the submission's.
    Reference {
        /// The variant's name.
        variant: String,
    },
    /// The device's bandwidth in copying memory: the ratio is the necessary bytes by the time, relative to it.
    Limit,
}

/// How a timing ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PerformanceStatus {
    /// There is a ratio.
    Measured,
    /// Its results are wrong, or its times cannot be believed.
    Failed(Failing),
    /// It could not be timed, through no fault of the submission's.
    NotGradedHere {
        /// Why.
        reason: String,
    },
}

impl PerformanceStatus {
    /// The failure, if it is one.
    pub fn failing(&self) -> Option<&Failing> {
        match self {
            PerformanceStatus::Failed(failing) => Some(failing),
            PerformanceStatus::Measured | PerformanceStatus::NotGradedHere { .. } => None,
        }
    }
}

/// A figure and how far it can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The probability that intervals made this way hold the true figure: 0.95.
    pub confidence: f64,
}

/// Times of whole runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The middle sample.
    pub median_s: f64,
    /// Every sample that counts, by the device's clock, in the order taken.
    pub samples_s: Vec<f64>,
    /// Samples that do not count: taken while the device was throttled, for example.
    #[serde(default)]
    pub discarded: u32,
}

/// A measured limit of the device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Bytes that any solution of the case must move.
    pub necessary_bytes: u64,
    /// Bandwidth in copying memory, measured in the same run.
    pub copy_bytes_per_s: f64,
}
