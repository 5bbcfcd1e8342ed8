//! A grade for editors and forges: each failure with its lines in the submission's files.

use std::path::Path;

use forge::{Case, Place, Problem, Report, Verdict};
use grading::outcome::{Failure, Outcome};
use grading::report::GradeReport;

/// The file that a failure without a line is shown at.
const KERNELS: &str = "kernels.rs";

/// The grade of `submission`, a folder or a bundle.
pub fn report(submission: &Path, grade: &GradeReport) -> Report {
    let suite = format!("{}: {}", grade.lab, grade.submission.name);
    let mut report = Report::new("harness grade");
    let mut add = |name: &str, verdict| report.cases.push(Case::new(&suite, name, verdict));
    if let Some(refused) = &grade.refused {
        let problem = problem(submission, refused);
        add("the submission as a whole", Verdict::Wrong(vec![problem]));
    }
    for case in &grade.cases {
        add(&case.name, verdict(submission, &case.status));
    }
    for timed in &grade.performance {
        let name = format!("speed of {}", timed.case);
        add(&name, verdict(submission, &timed.status));
    }
    for counted in &grade.counted {
        let name = format!("{} of {}", counted.count, counted.case);
        add(&name, verdict(submission, &counted.status));
    }
    report
}

fn verdict(submission: &Path, outcome: &Outcome) -> Verdict {
    match outcome {
        Outcome::Passed | Outcome::Measured => Verdict::Right,
        Outcome::Failed(failure) => Verdict::Wrong(vec![problem(submission, failure)]),
        Outcome::NotGradedHere { reason } | Outcome::Undecided { reason } => {
            Verdict::LeftOut(reason.clone())
        }
    }
}

fn problem(submission: &Path, failure: &Failure) -> Problem {
    let mut places = failure.places.clone();
    if places.is_empty() {
        places.push(Place::new("the submission", KERNELS, 0, 0));
    }
    let places = places.into_iter().map(|place| place.within(submission));
    Problem {
        rule: failure.kind.code().replace('_', " "),
        message: failure
            .sanitizer
            .as_ref()
            .unwrap_or(&failure.message)
            .clone(),
        places: places.collect(),
    }
}
