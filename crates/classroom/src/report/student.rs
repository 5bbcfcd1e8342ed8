//! The part of a grade that its student may read.
//!
//! How hidden cases fail tells of them: wrong values tell their sizes, counts tell their work, what
//! a recorder says may tell their parameters. The student learns that a hidden case failed, and
//! with which kind of failure. Where code that knew hidden cases failed, the kind is left out too:
//! a recorder that ends in one way or another would tell what it was asked for. Draw, seed and the
//! time that grading took are left out, and so are notes and protections, which are the
//! instructor's.

use grading::lab_spec::Group;
use grading::outcome::{Failure, Kind, Outcome};
use grading::report::{CaseGrade, Checks, CountGrade, GradeReport};

/// In place of a reason.
const UNTOLD: &str = "the instructor can see why";

/// Leaves out of a grade what is told to instructors alone.
pub fn safe(report: &GradeReport) -> GradeReport {
    GradeReport {
        schema_version: report.schema_version,
        harness_version: report.harness_version.clone(),
        submission: report.submission.clone(),
        lab: report.lab.clone(),
        lab_file_sha256: report.lab_file_sha256.clone(),
        device: report.device.clone(),
        device_info: report.device_info.clone(),
        started_unix_s: report.started_unix_s,
        elapsed_s: 0.0,
        seed: None,
        draw: None,
        refused: report.refused.as_ref().map(safe_failure),
        cases: report.cases.iter().map(safe_case).collect(),
        performance: report
            .performance
            .iter()
            .map(|timed| {
                let mut timed = timed.clone();
                timed.status = safe_outcome(&timed.status);
                timed
            })
            .collect(),
        // Only cases that students know are counted.
        counted: { report.counted.iter().cloned() }
            .map(|counted| CountGrade {
                status: safe_outcome(&counted.status),
                ..counted
            })
            .collect(),
        totals: report.totals,
        protections: Vec::new(),
        printed: report.printed.clone(),
        notes: Vec::new(),
        // Of a case that is not hidden.
        replayed: report.replayed.clone(),
    }
}

fn safe_case(case: &CaseGrade) -> CaseGrade {
    let mut case = case.clone();
    case.status = safe_outcome(&case.status);
    if case.group != Group::Hidden {
        return case;
    }
    case.counts.clear();
    case.printed.clear();
    if let Some(Checks::NotMade { reason, .. }) = &mut case.checks {
        *reason = UNTOLD.to_owned();
    }
    match &mut case.status {
        Outcome::Failed(failing) if !failing.knew_hidden => {
            *failing = Failure::new(failing.kind, "");
        }
        Outcome::Undecided { reason } => *reason = UNTOLD.to_owned(),
        _ => {}
    }
    case
}

fn safe_outcome(outcome: &Outcome) -> Outcome {
    match outcome {
        Outcome::Failed(failing) => Outcome::Failed(safe_failure(failing)),
        other => other.clone(),
    }
}

/// Whether a failure may tell of hidden cases. A bundle of the student's own making has the names
/// that it is asked for.
pub fn is_secret(failing: &Failure) -> bool {
    failing.knew_hidden || failing.kind == Kind::BundleMismatch
}

fn safe_failure(failing: &Failure) -> Failure {
    if is_secret(failing) {
        let told = "it failed in a hidden case; the instructor can see how";
        return Failure::new(Kind::RecorderFailed, told).with_hidden_cases_known();
    }
    failing.clone()
}
