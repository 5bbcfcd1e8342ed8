//! A submission's grade, as `report.json` holds it. `docs/reference/report-json.md` describes it
//! for other programs.

use std::collections::BTreeMap;

use device::DeviceInfo;
use serde::{Deserialize, Serialize};

use crate::lab_spec::{Against, CountSpec, Group, PerformanceSpec};
use crate::outcome::{Failure, NoResult, Outcome};

/// Changes whenever a field changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 3;

/// A submission's grade.
///
/// Texts come from submissions in part (names, compiler messages, panics): code that shows them
/// escapes them for where they go. Numbers are finite; what may not be is an `Option`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GradeReport {
    /// [`SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// The program's version.
    pub harness_version: String,
    /// Whose grade this is.
    pub submission: SubmissionId,
    /// The lab's name.
    pub lab: String,
    /// SHA-256 of the lab.toml that it was graded by, as `sha256sum` prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab_file_sha256: Option<String>,
    /// The device that graded it, as `--device` has it: `cuda`, `emulated`.
    pub device: String,
    /// The properties of that device.
    pub device_info: Option<DeviceInfo>,
    /// When grading began, in seconds since 1970.
    pub started_unix_s: Option<u64>,
    /// How long it took.
    pub elapsed_s: f64,
    /// The seed of the inputs, where it was given; a secret one is not told.
    pub seed: Option<u64>,
    /// The number that the parameters of drawn cases follow from, where there are some and the
    /// grader chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<u64>,
    /// Why no case was run at all, if none was.
    pub refused: Option<Failure>,
    /// Correctness, in the lab's order.
    pub cases: Vec<CaseGrade>,
    /// Speed, in the lab's order.
    pub performance: Vec<PerformanceGrade>,
    /// Exact counts that earn points, in the lab's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CountGrade>,
    /// Sums over cases, performance and counts.
    pub totals: Totals,
    /// The protections against interference with the grade, and those that this machine lacks.
    pub protections: Vec<Protection>,
    /// The beginning of the text that launch.rs printed while plans were recorded for the cases
    /// that are not hidden.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub printed: String,
    /// Further notes for the reader.
    pub notes: Vec<String>,
    /// The page that replays a case, if it is asked for.
    #[serde(skip)]
    pub replayed: Option<Replayed>,
}

/// A page that replays a case: the first with a fault, else the first that is wrong, else the
/// first; no hidden one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    /// The case.
    pub case: String,
    /// The page, which stands alone.
    pub html: String,
}

/// Which submission.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionId {
    /// The name of its folder or bundle.
    pub name: String,
    /// SHA-256 of what was graded, in hexadecimal.
    pub sha256: Option<String>,
}

/// The grade of one case.
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
    pub status: Outcome,
    /// Runs with fresh inputs whose results were compared in full.
    pub samples: u32,
    /// Exact counts of the emulated device, by name: `instructions`, `global_sectors`, ...
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// On a GPU: whether the emulated device has looked for what a GPU does not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// The beginning of the text that kernels printed on the emulated device, in the first run or
    /// in the one that failed. Always empty for a hidden case: it may tell of the case.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub printed: String,
}

/// Whether the emulated device has looked at a case that a GPU grades.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "checks", rename_all = "snake_case")]
pub enum Checks {
    /// At every access of every launch.
    Whole,
    /// At some blocks of some launches of each kernel and shape, for races, barriers, and reads of
    /// unwritten memory of the block or thread.
    Sampled,
    /// It could not.
    NotMade {
        /// Why.
        reason: String,
        /// Whether that is so for any submission.
        #[serde(default)]
        for_anyone: bool,
    },
}

impl Checks {
    /// They could not be made, of this submission.
    pub fn by_submission(reason: impl Into<String>) -> Checks {
        Checks::NotMade {
            reason: reason.into(),
            for_anyone: false,
        }
    }
}

/// The grade of one case's speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerformanceGrade {
    /// The case's name.
    pub case: String,
    /// The reference of the comparison.
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
    pub status: Outcome,
    /// The ratio that the points follow from: higher is faster.
    pub ratio: Option<Interval>,
    /// The submission's times.
    pub submission: Option<Times>,
    /// The times of the reference that ran in turn with it.
    pub reference: Option<Times>,
    /// The rate that the ratio is relative to, where that is the device's limit.
    pub limit: Option<CopyLimit>,
}

impl PerformanceGrade {
    /// An entry of the lab file that ended like this, without figures.
    pub fn new(timed: &PerformanceSpec, status: Outcome) -> PerformanceGrade {
        PerformanceGrade {
            case: timed.case.clone(),
            against: timed.against.clone(),
            points: timed.points,
            earned: 0.0,
            zero: timed.zero,
            full: timed.full,
            status,
            ratio: None,
            submission: None,
            reference: None,
            limit: None,
        }
    }
}

/// The grade of an exact count of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountGrade {
    /// The case's name.
    pub case: String,
    /// The count's, as in [`CaseGrade::counts`].
    pub count: String,
    /// Points that it is worth.
    pub points: f64,
    /// Points that it earned.
    pub earned: f64,
    /// The count up to which all points are earned.
    pub full: u64,
    /// The count from which nothing is earned.
    pub zero: u64,
    /// How it ended: measured, or as its case did.
    pub status: Outcome,
    /// The emulated device's count, of a case that passed.
    pub counted: Option<u64>,
}

impl CountGrade {
    /// The grade of this count of a case: points are for right results alone.
    pub fn new(spec: &CountSpec, case: &CaseGrade) -> CountGrade {
        let counted = case
            .counts
            .get(&spec.count)
            .copied()
            .filter(|_| case.status == Outcome::Passed);
        let status = match (&case.status, counted) {
            (Outcome::Passed, Some(_)) => Outcome::Measured,
            (Outcome::Passed, None) => NoResult::undecided(match &case.checks {
                Some(Checks::NotMade { reason, .. }) => reason,
                _ => "the emulated device did not count it",
            })
            .into(),
            (other, _) => other.clone(),
        };
        CountGrade {
            case: spec.case.clone(),
            count: spec.count.clone(),
            points: spec.points,
            earned: counted.map_or(0.0, |counted| spec.earned(counted)),
            full: spec.full,
            zero: spec.zero,
            status,
            counted,
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
pub struct CopyLimit {
    /// Bytes that any solution of the case must move.
    pub necessary_bytes: u64,
    /// Bandwidth in copying memory, measured in the same run.
    pub copy_bytes_per_s: f64,
}

/// Sums of points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Points earned.
    pub earned: f64,
    /// Points that the lab is worth.
    pub possible: f64,
    /// Points of `possible` that could not be graded here for any submission: they are not earned
    /// and not lost.
    pub not_graded_here: f64,
    /// Points of `possible` that are not earned, since what the submission does kept them from
    /// being graded here.
    #[serde(default)]
    pub undecided: f64,
}

impl Totals {
    /// The sums of a report's parts.
    pub fn of(report: &GradeReport) -> Totals {
        let GradeReport {
            cases,
            performance,
            counted,
            ..
        } = report;
        let cases = cases
            .iter()
            .map(|case| (case.points, case.earned, &case.status));
        let timed = performance
            .iter()
            .map(|timed| (timed.points, timed.earned, &timed.status));
        let counted = counted
            .iter()
            .map(|counted| (counted.points, counted.earned, &counted.status));
        let mut totals = Totals::default();
        for (points, earned, status) in cases.chain(timed).chain(counted) {
            totals.possible += points;
            match status {
                Outcome::NotGradedHere { .. } => totals.not_graded_here += points,
                Outcome::Undecided { .. } => totals.undecided += points,
                _ => totals.earned += earned,
            }
        }
        totals
    }

    /// Points that are graded here; what a submission does takes none out.
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
    /// Its effect, or why it is not in force.
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
            ..GradeReport::default()
        }
    }

    /// Fills in its sums, once cases, performance and counts are complete.
    pub fn with_totals(mut self) -> GradeReport {
        self.totals = Totals::of(&self);
        self
    }

    /// Whether nothing failed. Points that a slow submission did not earn are not a failure.
    pub fn is_right(&self) -> bool {
        let cases = self.cases.iter().map(|case| &case.status);
        let mut outcomes = cases.chain(self.performance.iter().map(|timed| &timed.status));
        self.refused.is_none() && outcomes.all(|outcome| outcome.failure().is_none())
    }

    /// Whether every point was graded.
    pub fn is_complete(&self) -> bool {
        self.totals.not_graded_here == 0.0 && self.totals.undecided == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Kind;

    fn case(points: f64, earned: f64, status: Outcome) -> CaseGrade {
        CaseGrade {
            name: "odd-37x53".to_owned(),
            group: Group::Small,
            points,
            earned,
            status,
            samples: 3,
            counts: BTreeMap::new(),
            checks: None,
            printed: String::new(),
        }
    }

    /// 4 points for at most 100 sectors.
    fn sectors() -> CountSpec {
        CountSpec {
            case: "odd-37x53".to_owned(),
            count: "global_sectors".to_owned(),
            points: 4.0,
            full: 100,
            zero: 300,
        }
    }

    #[test]
    fn a_count_earns_the_more_the_less_it_is() {
        let earned = |sectors_counted| sectors().earned(sectors_counted);
        assert_eq!(
            [0, 100, 150, 299, 300, 999].map(earned),
            [4.0, 4.0, 3.0, 0.02, 0.0, 0.0]
        );
    }

    #[test]
    fn counts_are_for_right_results_that_were_counted() {
        let counted = |status, sectors_counted: Option<u64>| {
            let mut case = case(2.0, 2.0, status);
            let counts = sectors_counted.map(|counted| ("global_sectors".to_owned(), counted));
            case.counts = counts.into_iter().collect();
            CountGrade::new(&sectors(), &case)
        };
        let right = counted(Outcome::Passed, Some(150));
        assert_eq!((right.earned, right.counted), (3.0, Some(150)));
        assert_eq!(right.status, Outcome::Measured);
        let race = Outcome::from(NoResult::failed(Kind::Race, "a race"));
        let wrong = counted(race.clone(), Some(150));
        assert_eq!(
            (wrong.earned, wrong.counted, wrong.status),
            (0.0, None, race)
        );
        let uncounted = counted(Outcome::Passed, None);
        assert_eq!(uncounted.earned, 0.0);
        assert!(uncounted.status.left_undecided().is_some());
    }

    fn report() -> GradeReport {
        let submission = SubmissionId {
            name: "ada".to_owned(),
            sha256: None,
        };
        let mut report = GradeReport::new(submission, "wave2d", "emulated");
        report.cases = vec![
            case(2.0, 2.0, Outcome::Passed),
            case(
                3.0,
                0.0,
                Outcome::from(NoResult::failed(Kind::Race, "a race")),
            ),
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
            status: Outcome::NotGradedHere {
                reason: "no GPU".to_owned(),
            },
            ratio: None,
            submission: None,
            reference: None,
            limit: None,
        }];
        report.counted = vec![CountGrade::new(&sectors(), &report.cases[0])];
        report.with_totals()
    }

    #[test]
    fn points_that_could_not_be_graded_are_neither_earned_nor_lost() {
        let totals = report().totals;
        assert_eq!(
            (totals.earned, totals.possible, totals.not_graded_here),
            (2.0, 49.0, 40.0)
        );
        assert_eq!((totals.graded(), totals.undecided), (9.0, 4.0));
    }

    #[test]
    fn what_failed_is_not_right() {
        let mut report = report();
        assert!(!report.is_right() && !report.is_complete());
        report.cases.pop();
        assert!(report.is_right());
        report.refused = Some(Failure::new(Kind::CompileError, "no"));
        assert!(!report.is_right());
    }

    #[test]
    fn every_field_is_documented() {
        let page = include_str!("../../../docs/reference/report-json.md");
        let report = serde_json::to_value(report()).unwrap();
        let names = test_support::field_names(&report, &[]);
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            assert!(page.contains(name), "the page of report.json lacks {name}");
        }
    }

    #[test]
    fn json_is_read_back() {
        let report = report();
        let json = serde_json::to_string_pretty(&report).unwrap();
        assert_eq!(serde_json::from_str::<GradeReport>(&json).unwrap(), report);
        insta::assert_snapshot!(serde_json::to_string(&report.cases[1]).unwrap(), @r#"{"name":"odd-37x53","group":"small","points":3.0,"earned":0.0,"status":{"status":"failed","kind":"race","category":"faulted","message":"a race"},"samples":3}"#);
    }
}
