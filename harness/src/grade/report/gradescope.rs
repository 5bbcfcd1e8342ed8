//! The `results.json` that Gradescope reads.
//!
//! The format is Gradescope's, as its documentation of autograder specifications gives it: a total `score`, and `tests` with
//! `name`, `score`, `max_score`, `status`, `output` and `visibility`. All texts are of format `text`: nothing of a submission
//! is ever interpreted.

use serde::Serialize;

use super::figures;
use crate::grade::verdict::{Failing, GradeReport, Group, PerformanceStatus, Status};
use crate::page::escape;

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Results {
    score: f64,
    execution_time: f64,
    output: String,
    output_format: &'static str,
    test_output_format: &'static str,
    test_name_format: &'static str,
    visibility: &'static str,
    stdout_visibility: &'static str,
    tests: Vec<Test>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Test {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    output: String,
    visibility: &'static str,
}

/// The results. Hidden cases are shown after the grades are published; what could not be graded has no score.
pub fn results(report: &GradeReport) -> Results {
    let cases = report.cases.iter().map(|case| {
        let (status, output) = match &case.status {
            Status::Passed => (Some("passed"), "every value is right".to_owned()),
            Status::Failed(failing) => (Some("failed"), explained(failing)),
            Status::NotGradedHere { reason } => (None, not_graded(reason)),
        };
        Test::new(
            &format!("{} ({})", case.name, case.group.name()),
            status.map(|_| (case.earned, case.points)),
            status,
            output,
            if case.group == Group::Hidden {
                "after_published"
            } else {
                "visible"
            },
        )
    });
    let performance = report.performance.iter().map(|timed| {
        let ratio = || {
            format!(
                "{} of {}; nothing at {}, all points at {}",
                figures::ratio(timed.ratio.as_ref()),
                figures::against(timed),
                timed.zero,
                timed.full
            )
        };
        let (status, output) = match &timed.status {
            PerformanceStatus::Measured if timed.earned > 0.0 => (Some("passed"), ratio()),
            PerformanceStatus::Measured => (Some("failed"), ratio()),
            PerformanceStatus::Failed(failing) => (Some("failed"), explained(failing)),
            PerformanceStatus::NotGradedHere { reason } => (None, not_graded(reason)),
        };
        Test::new(
            &format!("speed of {}", timed.case),
            status.map(|_| (timed.earned, timed.points)),
            status,
            output,
            "visible",
        )
    });
    let (figure, caption) = figures::score(report);
    let mut output = vec![format!("{figure} {caption}")];
    output.extend(report.refused.as_ref().map(explained));
    output.extend(report.notes.iter().map(|note| escape::line(note)));
    Results {
        score: report.totals.earned,
        execution_time: report.elapsed_s,
        output: output.join("\n"),
        output_format: "text",
        test_output_format: "text",
        test_name_format: "text",
        visibility: "visible",
        stdout_visibility: "hidden",
        tests: cases.chain(performance).collect(),
    }
}

impl Test {
    fn new(
        name: &str,
        score: Option<(f64, f64)>,
        status: Option<&'static str>,
        output: String,
        visibility: &'static str,
    ) -> Test {
        Test {
            name: escape::line(name),
            score: score.map(|(earned, _)| earned),
            max_score: score.map(|(_, possible)| possible),
            status,
            output,
            visibility,
        }
    }
}

fn explained(failing: &Failing) -> String {
    let mut lines = vec![format!("{} [{}]", failing.kind.summary(), failing.kind)];
    lines.extend(figures::explanation(failing));
    lines.join("\n")
}

fn not_graded(reason: &str) -> String {
    format!("not graded here: {}", escape::line(reason))
}
