//! What a grade consists of. This is what `report.json` holds; `docs/grading.md` describes it for other programs.

mod performance;

use std::collections::BTreeMap;

use host::{DeviceInfo, DeviceKind};
use serde::{Deserialize, Serialize};

use super::diagnose::Diagnosis;
use super::kind::{Category, Kind};
pub use performance::{Against, Interval, Limit, PerformanceGrade, PerformanceStatus, Times};

/// Changes whenever a field changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 2;

/// A submission's grade.
///
/// Texts come from submissions in part (names, compiler messages, panics): whoever shows them escapes them for where they
/// go. Numbers are finite; what may not be is an `Option`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradeReport {
    /// [`SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// The program's version.
    pub harness_version: String,
    /// Whose grade this is.
    pub submission: SubmissionId,
    /// The lab's name.
    pub lab: String,
    /// What it was graded on, as `--device` has it: `cuda`, `emulated`.
    pub device: String,
    /// What is known of that device.
    pub device_info: Option<DeviceInfo>,
    /// When grading began, in seconds since 1970.
    pub started_unix_s: Option<u64>,
    /// How long it took.
    pub elapsed_s: f64,
    /// The seed of the inputs, where it was given; a secret one is not told.
    pub seed: Option<u64>,
    /// Why no case was run at all, if none was.
    pub refused: Option<Failing>,
    /// Correctness, in the lab's order.
    pub cases: Vec<CaseGrade>,
    /// Speed, in the lab's order.
    pub performance: Vec<PerformanceGrade>,
    /// Sums over cases and performance.
    pub totals: Totals,
    /// What kept the submission from interfering with its grade, and what of that this machine lacks.
    pub protections: Vec<Protection>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
}

/// Which submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionId {
    /// The name of its folder or bundle.
    pub name: String,
    /// SHA-256 of what was graded, in hexadecimal.
    pub sha256: Option<String>,
}

/// The groups of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Tests correctness; students have them too.
    Small,
    /// Timed.
    Large,
    /// Tests correctness; students do not know them.
    Hidden,
}

impl Group {
    /// The name, as in lab.toml.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Small => "small",
            Group::Large => "large",
            Group::Hidden => "hidden",
        }
    }
}

/// What one case earned, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseGrade {
    /// As in lab.toml.
    pub name: String,
    /// As in lab.toml.
    pub group: Group,
    /// Points that it is worth.
    pub points: f64,
    /// Points that it earned.
    pub earned: f64,
    /// How it ended.
    pub status: Status,
    /// Runs with fresh inputs whose results were compared in full.
    pub samples: u32,
    /// Exact counts of the emulated device, by name: `instructions`, `global_sectors`, ...
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// On a GPU: whether the emulated device has looked for what a GPU does not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
}

/// Whether the emulated device has looked at a case that a GPU grades.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "checks", rename_all = "snake_case")]
pub enum Checks {
    /// At every access of every launch.
    Whole,
    /// At some blocks of the first launch of each kernel and shape, for races and barriers.
    Sampled,
    /// It could not, through no fault of the submission's.
    NotMade {
        /// Why.
        reason: String,
    },
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Every value of every sample was right.
    Passed,
    /// It failed.
    Failed(Failing),
    /// It could not be graded, through no fault of the submission's.
    NotGradedHere {
        /// Why.
        reason: String,
    },
}

impl Status {
    /// A failure.
    pub fn failed(kind: Kind, message: impl Into<String>) -> Status {
        Status::Failed(Failing::new(kind, message))
    }

    /// The failure, if it is one.
    pub fn failing(&self) -> Option<&Failing> {
        match self {
            Status::Failed(failing) => Some(failing),
            Status::Passed | Status::NotGradedHere { .. } => None,
        }
    }

    /// How it failed, if it did.
    pub fn kind(&self) -> Option<Kind> {
        self.failing().map(|failing| failing.kind)
    }
}

/// How something failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failing {
    /// The stable code.
    pub kind: Kind,
    /// How far the submission got; follows from the kind.
    pub category: Category,
    /// What happened, with the numbers and names involved.
    pub message: String,
    /// The device that found it, where that is not the one that the report is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The emulated device's message, where it found a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sanitizer: Option<String>,
    /// Which sample failed, from 0, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<u32>,
    /// What the wrong values look like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Box<Diagnosis>>,
    /// Whether what is said here was written by code that knew hidden cases: no student may read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub knew_hidden: bool,
}

impl Failing {
    /// A failure without further detail.
    pub fn new(kind: Kind, message: impl Into<String>) -> Failing {
        Failing {
            kind,
            category: kind.category(),
            message: message.into(),
            device: None,
            sanitizer: None,
            sample: None,
            diagnosis: None,
            knew_hidden: false,
        }
    }

    /// With the device that found it.
    pub fn with_device(mut self, device: impl Into<String>) -> Failing {
        self.device = Some(device.into());
        self
    }

    /// With the emulated device's message.
    pub fn with_sanitizer(mut self, message: impl Into<String>) -> Failing {
        self.sanitizer = Some(message.into());
        self
    }

    /// With the sample that failed.
    pub fn with_sample(mut self, sample: u32) -> Failing {
        self.sample = Some(sample);
        self
    }

    /// Said by code that knew hidden cases.
    pub fn with_hidden_cases_known(mut self) -> Failing {
        self.knew_hidden = true;
        self
    }

    /// With what the wrong values look like.
    pub fn with_diagnosis(mut self, diagnosis: Diagnosis) -> Failing {
        self.diagnosis = Some(Box::new(diagnosis));
        self
    }
}

/// Sums of points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Points earned.
    pub earned: f64,
    /// Points that the lab is worth.
    pub possible: f64,
    /// Points of `possible` that could not be graded here: neither earned nor lost.
    pub not_graded_here: f64,
}

impl Totals {
    /// The sums of these parts.
    pub fn of(cases: &[CaseGrade], performance: &[PerformanceGrade]) -> Totals {
        let cases = cases.iter().map(|case| {
            let is_graded = !matches!(case.status, Status::NotGradedHere { .. });
            (case.points, case.earned, is_graded)
        });
        let performance = performance.iter().map(|timed| {
            let is_graded = !matches!(timed.status, PerformanceStatus::NotGradedHere { .. });
            (timed.points, timed.earned, is_graded)
        });
        let mut totals = Totals::default();
        for (points, earned, is_graded) in cases.chain(performance) {
            totals.possible += points;
            if is_graded {
                totals.earned += earned;
            } else {
                totals.not_graded_here += points;
            }
        }
        totals
    }

    /// Points that were graded here.
    pub fn graded(&self) -> f64 {
        self.possible - self.not_graded_here
    }
}

/// Something that keeps a submission from interfering with its grade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protection {
    /// What: `seccomp`, `guard bands`.
    pub name: String,
    /// Whether it was in force.
    pub in_force: bool,
    /// What it does, or why it is not in force.
    pub detail: String,
}

impl GradeReport {
    /// A report of nothing yet.
    pub fn new(
        submission: SubmissionId,
        lab: impl Into<String>,
        device: impl Into<String>,
    ) -> GradeReport {
        GradeReport {
            schema_version: SCHEMA_VERSION,
            harness_version: env!("CARGO_PKG_VERSION").to_owned(),
            submission,
            lab: lab.into(),
            device: device.into(),
            device_info: None,
            started_unix_s: None,
            elapsed_s: 0.0,
            seed: None,
            refused: None,
            cases: Vec::new(),
            performance: Vec::new(),
            totals: Totals::default(),
            protections: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The same with its sums, once cases and performance are complete.
    pub fn with_totals(mut self) -> GradeReport {
        self.totals = Totals::of(&self.cases, &self.performance);
        self
    }

    /// Whether nothing failed. Points that a slow submission did not earn are no failure.
    pub fn is_right(&self) -> bool {
        self.refused.is_none()
            && self
                .cases
                .iter()
                .all(|case| case.status.failing().is_none())
            && self
                .performance
                .iter()
                .all(|timed| timed.status.failing().is_none())
    }

    /// Whether every point was graded.
    pub fn is_complete(&self) -> bool {
        self.totals.not_graded_here == 0.0
    }

    /// Whether it was graded on a GPU.
    pub fn is_on_gpu(&self) -> bool {
        self.device_info
            .as_ref()
            .is_some_and(|info| info.kind == DeviceKind::Cuda)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(points: f64, earned: f64, status: Status) -> CaseGrade {
        CaseGrade {
            name: "odd-37x53".to_owned(),
            group: Group::Small,
            points,
            earned,
            status,
            samples: 3,
            counts: BTreeMap::new(),
            checks: None,
        }
    }

    fn report() -> GradeReport {
        let submission = SubmissionId {
            name: "ada".to_owned(),
            sha256: None,
        };
        let mut report = GradeReport::new(submission, "wave2d", "emulated");
        report.cases = vec![
            case(2.0, 2.0, Status::Passed),
            case(3.0, 0.0, Status::failed(Kind::Race, "a race")),
        ];
        report.performance = vec![PerformanceGrade {
            case: "large-3201".to_owned(),
            against: Against::Reference {
                variant: "shmem".to_owned(),
            },
            points: 40.0,
            earned: 0.0,
            zero: 0.2,
            full: 0.9,
            status: PerformanceStatus::NotGradedHere {
                reason: "no GPU".to_owned(),
            },
            ratio: None,
            submission: None,
            reference: None,
            limit: None,
        }];
        report.with_totals()
    }

    #[test]
    fn points_that_could_not_be_graded_are_neither_earned_nor_lost() {
        let totals = report().totals;
        assert_eq!(
            (totals.earned, totals.possible, totals.not_graded_here),
            (2.0, 45.0, 40.0)
        );
        assert_eq!(totals.graded(), 5.0);
    }

    #[test]
    fn what_failed_is_not_right() {
        let mut report = report();
        assert!(!report.is_right() && !report.is_complete());
        report.cases.pop();
        assert!(report.is_right());
        report.refused = Some(Failing::new(Kind::CompileError, "no"));
        assert!(!report.is_right());
    }

    #[test]
    fn json_is_read_back() {
        let report = report();
        let json = serde_json::to_string_pretty(&report).unwrap();
        assert_eq!(serde_json::from_str::<GradeReport>(&json).unwrap(), report);
        insta::assert_snapshot!(serde_json::to_string(&report.cases[1]).unwrap(), @r#"{"name":"odd-37x53","group":"small","points":3.0,"earned":0.0,"status":{"status":"failed","kind":"race","category":"faulted","message":"a race"},"samples":3}"#);
    }
}
