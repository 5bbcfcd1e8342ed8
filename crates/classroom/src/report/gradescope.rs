//! The `results.json` that Gradescope reads.
//!
//! The format is Gradescope's (gradescope-autograders.readthedocs.io/en/latest/specs): a total
//! `score`, which overrides the sum over `tests`; tests with `name`, `score`, `max_score`,
//! `status`, `output` and `visibility`, where one without a score only informs. All texts are of
//! format `text`: nothing of a submission is ever interpreted.
//!
//! Students read it: what [`student`] leaves of the grade. The rest is in a test
//! whose visibility is `hidden`, which Gradescope shows to instructors alone. That a hidden case
//! passed or failed is shown once grades are published; until then Gradescope does not show the
//! total. `output` and the lines on undecided points do not show it either.

use serde::Serialize;

use super::{figures, student};
use grading::lab_spec::Group;
use grading::outcome::{Failure, Outcome};
use grading::report::{CaseGrade, CountGrade, GradeReport, PerformanceGrade};
use page::escape;

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Results {
    score: f64,
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

/// Shown to students at any time.
const VISIBLE: &str = "visible";
/// Shown to students once the instructor publishes the grades.
const AFTER_PUBLISHED: &str = "after_published";
/// Shown to instructors alone.
const HIDDEN: &str = "hidden";

/// The results.
pub fn results(report: &GradeReport) -> Results {
    let for_instructors = for_instructors(report);
    let report = &student::safe(report);
    let mut tests: Vec<Test> = report.cases.iter().map(case).collect();
    tests.extend(report.performance.iter().map(speed));
    tests.extend(report.counted.iter().map(counted));
    if !for_instructors.is_empty() {
        let output = for_instructors.join("\n\n");
        tests.push(Test::new("for the instructor", None, None, output, HIDDEN));
    }
    let shown = tests.iter().filter(|test| test.visibility == VISIBLE);
    let (earned, possible) = shown.fold((0.0, 0.0), |(earned, possible), test| {
        let (score, max_score) = (test.score.unwrap_or(0.0), test.max_score.unwrap_or(0.0));
        (earned + score, possible + max_score)
    });
    let mut output = vec![format!("{} points", figures::earned(earned, possible))];
    if tests.iter().any(|test| test.visibility == AFTER_PUBLISHED) {
        output[0] += "; hidden cases count too, once grades are published";
    }
    let lacking = points_of(report, |status| status.not_graded().is_some());
    if lacking > 0.0 {
        output.push(format!(
            "{} points not graded here",
            figures::points(lacking)
        ));
    }
    let undecided = points_of(report, |status| status.left_undecided().is_some());
    if undecided > 0.0 {
        output.insert(
            0,
            format!("undecided here: {} points", figures::points(undecided)),
        );
    }
    output.extend(report.refused.as_ref().map(for_students));
    if !report.printed.is_empty() {
        let printed = escape::plain(report.printed.trim_end());
        output.push(format!("\nlaunch.rs printed:\n{printed}"));
    }
    Results {
        score: report.totals.earned,
        output: output.join("\n"),
        output_format: "text",
        test_output_format: "text",
        test_name_format: "text",
        visibility: VISIBLE,
        stdout_visibility: HIDDEN,
        tests,
    }
}

/// The points of what students are shown at once and that ended like this.
fn points_of(report: &GradeReport, ended: impl Fn(&Outcome) -> bool) -> f64 {
    let cases = report
        .cases
        .iter()
        .filter(|case| case.group != Group::Hidden && ended(&case.status));
    let performance = report
        .performance
        .iter()
        .filter(|timed| ended(&timed.status));
    let counted = { report.counted.iter() }.filter(|counted| ended(&counted.status));
    let cases = cases.map(|case| case.points);
    cases
        .chain(performance.map(|timed| timed.points))
        .chain(counted.map(|counted| counted.points))
        .sum()
}

fn counted(counted: &CountGrade) -> Test {
    let (status, output) = match &counted.status {
        Outcome::NotGradedHere { reason } => (None, not_graded(reason)),
        Outcome::Undecided { reason } => (Some("failed"), undecided(reason)),
        Outcome::Failed(_) => (Some("failed"), "the case failed".to_owned()),
        Outcome::Passed | Outcome::Measured => (Some("passed"), figures::count_in_words(counted)),
    };
    Test::new(
        &figures::count_of(counted),
        status.map(|_| (counted.earned, counted.points)),
        status,
        output,
        VISIBLE,
    )
}

fn case(case: &CaseGrade) -> Test {
    let is_hidden = case.group == Group::Hidden;
    let (status, mut output) = match &case.status {
        Outcome::Passed | Outcome::Measured => (Some("passed"), "every value is right".to_owned()),
        Outcome::Undecided { reason } => (Some("failed"), undecided(reason)),
        Outcome::Failed(failing) => (Some("failed"), for_students(failing)),
        Outcome::NotGradedHere { reason } => (None, not_graded(reason)),
    };
    if !case.printed.is_empty() {
        let printed = escape::plain(case.printed.trim_end());
        output += &format!("\n\nkernels printed:\n{printed}");
    }
    Test::new(
        &format!("{} ({})", case.name, case.group.name()),
        status.map(|_| (case.earned, case.points)),
        status,
        output,
        if is_hidden { AFTER_PUBLISHED } else { VISIBLE },
    )
}

fn speed(timed: &PerformanceGrade) -> Test {
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
        Outcome::Failed(failing) => (Some("failed"), for_students(failing)),
        Outcome::Undecided { reason } => (Some("failed"), undecided(reason)),
        Outcome::NotGradedHere { reason } => (None, not_graded(reason)),
        _ if timed.earned > 0.0 => (Some("passed"), ratio()),
        _ => (Some("failed"), ratio()),
    };
    Test::new(
        &format!("speed of {}", timed.case),
        status.map(|_| (timed.earned, timed.points)),
        status,
        output,
        VISIBLE,
    )
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

/// The part for instructors, and notes.
fn for_instructors(report: &GradeReport) -> Vec<String> {
    let refused = report
        .refused
        .iter()
        .filter(|failing| student::is_secret(failing))
        .map(|failing| format!("the submission: {}", explained(failing)));
    let hidden = report.cases.iter().filter_map(|case| {
        let is_told = case.group == Group::Hidden && report.refused.is_none();
        let what = match &case.status {
            Outcome::Failed(failing) if is_told => explained(failing),
            Outcome::Undecided { reason } if is_told => undecided(reason),
            _ => return None,
        };
        Some(format!("{}: {what}", escape::line(&case.name)))
    });
    let notes = report.notes.iter().map(|note| escape::line(note));
    refused.chain(hidden).chain(notes).collect()
}

/// The failure as students have it.
fn for_students(failing: &Failure) -> String {
    if failing.knew_hidden {
        failing.message.clone()
    } else {
        explained(failing)
    }
}

fn explained(failing: &Failure) -> String {
    let mut lines = vec![format!("{} [{}]", failing.kind.summary(), failing.kind)];
    lines.extend(figures::explanation(failing));
    lines.join("\n")
}

fn undecided(reason: &str) -> String {
    let reason = escape::at_most(reason, figures::LONGEST_MESSAGE);
    format!("undecided here: {}", escape::line(&reason))
}

fn not_graded(reason: &str) -> String {
    format!("not graded here: {}", escape::line(reason))
}
