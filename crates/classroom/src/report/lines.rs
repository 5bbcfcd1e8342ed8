//! A grade for editors and forges: each failure with its lines in the submission's files.

use std::path::Path;

use forge::{Case, Place, Problem, Report, Verdict};
use grading::outcome::{Failure, Outcome};
use grading::report::GradeReport;

use crate::places::{FILES, named};

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
        let place = first_place(&failure.message);
        // A failure without a line is shown at the first file.
        places.push(place.unwrap_or_else(|| Place::new("the submission", FILES[0], 0, 0)));
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

/// The first place that a message names as compilers do, FILE:LINE:COLUMN.
fn first_place(message: &str) -> Option<Place> {
    let mut places = named(message).into_iter();
    places.find_map(|place| {
        Some(Place::new(
            "the message",
            FILES[place.file],
            place.line,
            place.column?,
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::first_place;
    use forge::Place;

    #[test]
    fn a_compilers_message_has_its_line() {
        let rustc = "kernels.rs does not compile:\nerror[E0308]: mismatched types\n  --> launch.rs:35:17\n   |";
        let expected = Place::new("the message", "launch.rs", 35, 17);
        assert_eq!(first_place(rustc), Some(expected));
        let screen = "kernels.rs:6:4: the character U+0060 is not Rust";
        assert_eq!(first_place(screen).unwrap().line, 6);
        assert_eq!(first_place("kernels.rs: too long"), None);
    }
}
