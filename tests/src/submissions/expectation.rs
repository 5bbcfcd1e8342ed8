//! The expectations of submissions, compared with reports.

use std::fmt;

use serde::Deserialize;

use super::Submission;
use crate::grade::{Category, Failure, GradeReport, Group, Kind, Outcome};

/// The largest base time / time of a harmless submission: two timings of one program differ by this
/// factor.
const NO_FASTER: f64 = 1.2;

/// The expected verdict on a submission.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedVerdict {
    /// It is right, and earns all points for correctness.
    Passes,
    /// Its trick never pays. Either the trick gets no chance: the submission is right and not
    /// faster than its base. Or its results are wrong, and it earns nothing for them.
    Harmless,
    /// The submission prevents the grading of cases. They count, earn nothing, and the grade says
    /// so.
    Undecided,
    /// It fails in this way, and earns no points for the failing cases.
    #[serde(untagged)]
    Fails(Kind),
    /// It fails in one of these ways, which depend on the machine.
    #[serde(untagged)]
    FailsInOneOf(Vec<Kind>),
}

impl ExpectedVerdict {
    /// The ways in which it may fail.
    fn kinds(&self) -> &[Kind] {
        match self {
            ExpectedVerdict::Fails(kind) => std::slice::from_ref(kind),
            ExpectedVerdict::FailsInOneOf(kinds) => kinds,
            ExpectedVerdict::Passes | ExpectedVerdict::Harmless | ExpectedVerdict::Undecided => &[],
        }
    }

    /// Whether it may fail in this way.
    pub fn may_be(&self, kind: Kind) -> bool {
        self.kinds().contains(&kind)
    }
}

impl fmt::Display for ExpectedVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExpectedVerdict::Passes => f.write_str("passes"),
            ExpectedVerdict::Harmless => f.write_str("harmless"),
            ExpectedVerdict::Undecided => f.write_str("undecided"),
            _ => f.write_str(&codes(self.kinds())),
        }
    }
}

/// Compares a report from this device, `emulated` or `cuda`, with the submission's expectation.
/// Returns the verdict in a word.
///
/// # Errors
///
/// The difference from the expectation.
pub fn check(
    submission: &Submission,
    report: &GradeReport,
    device: &str,
) -> Result<String, String> {
    // As where a GPU's approximations of the values at hand are exact.
    let may_pass = device == "cuda" && submission.cuda == Some(ExpectedVerdict::Passes);
    if may_pass && earns_everything(report).is_ok() {
        return Ok(outcome(report));
    }
    match &submission.verdict {
        ExpectedVerdict::Passes => earns_everything(report)?,
        ExpectedVerdict::Harmless if is_found_out(report) => {}
        ExpectedVerdict::Harmless => {
            earns_everything(report)?;
            is_no_faster(report)?;
            return Ok("harmless".to_owned());
        }
        ExpectedVerdict::Undecided if submission.cuda.is_some() && device == "cuda" => {
            fails_as_expected(submission, device, report)?;
        }
        ExpectedVerdict::Undecided => {
            is_undecided(submission, report)?;
            return Ok("undecided".to_owned());
        }
        ExpectedVerdict::Fails(_) | ExpectedVerdict::FailsInOneOf(_) => {
            fails_as_expected(submission, device, report)?;
        }
    }
    Ok(outcome(report))
}

/// The code of its first kind of failure, or `passes`.
pub fn outcome(report: &GradeReport) -> String {
    let in_cases = report.cases.iter().filter_map(|case| case.status.failure());
    let first = report.refused.iter().chain(in_cases).next();
    first
        .map_or("passes", |failing| failing.kind.code())
        .to_owned()
}

/// Whether some result is wrong, and no failed case has earned points.
fn is_found_out(report: &GradeReport) -> bool {
    let in_cases = report
        .cases
        .iter()
        .map(|case| (case.status.failure(), case.earned));
    let in_timing = report
        .performance
        .iter()
        .map(|timed| (timed.status.failure(), timed.earned));
    let all: Vec<(Option<&Failure>, f64)> = in_cases.chain(in_timing).collect();
    let is_wrong = |failing: &Failure| failing.category == Category::Wrong;
    all.iter().any(|(failing, _)| failing.is_some_and(is_wrong))
        && all
            .iter()
            .all(|(failing, earned)| failing.is_none() || *earned == 0.0)
}

fn earns_everything(report: &GradeReport) -> Result<(), String> {
    if let Some(failing) = &report.refused {
        return Err(format!("refused: {}", described(failing)));
    }
    if report.cases.is_empty() {
        return Err("no case was graded".to_owned());
    }
    for case in &report.cases {
        let name = &case.name;
        match &case.status {
            Outcome::Passed if case.earned == case.points => {}
            Outcome::Passed | Outcome::Measured => {
                let (earned, points) = (case.earned, case.points);
                return Err(format!(
                    "case {name} passed with {earned} of {points} points"
                ));
            }
            Outcome::Failed(failing) => return Err(format!("case {name}: {}", described(failing))),
            // Large cases are for GPUs.
            Outcome::NotGradedHere { .. } if case.group == Group::Large => {}
            Outcome::NotGradedHere { reason } | Outcome::Undecided { reason } => {
                return Err(format!("case {name} was not graded: {reason}"));
            }
        }
    }
    for timed in &report.performance {
        if let Outcome::Failed(failing) = &timed.status {
            return Err(format!("timing of {}: {}", timed.case, described(failing)));
        }
    }
    Ok(())
}

fn is_undecided(submission: &Submission, report: &GradeReport) -> Result<(), String> {
    let totals = report.totals;
    let mut undecided = 0.0;
    for case in report
        .cases
        .iter()
        .filter(|case| case.group != Group::Large)
    {
        let names = submission.cases.as_ref();
        let should_be = names.is_none_or(|names| names.contains(&case.name));
        match (&case.status, should_be) {
            (Outcome::Undecided { .. }, true) => undecided += case.points,
            (Outcome::Passed, false) => {}
            (status, _) => return Err(format!("case {}: {status:?}", case.name)),
        }
    }
    let least_graded = totals.earned + undecided;
    if undecided == 0.0 || totals.undecided < undecided || totals.graded() < least_graded {
        return Err(format!(
            "the total is without what is undecided: {totals:?}"
        ));
    }
    Ok(())
}

fn is_no_faster(report: &GradeReport) -> Result<(), String> {
    for timed in &report.performance {
        if let Some(ratio) = timed.ratio
            && ratio.value > NO_FASTER
        {
            return Err(format!(
                "its trick pays: {} times as fast as the reference in {}",
                ratio.value, timed.case
            ));
        }
    }
    Ok(())
}

fn fails_as_expected(
    submission: &Submission,
    device: &str,
    report: &GradeReport,
) -> Result<(), String> {
    if report.totals.earned > 0.0 && submission.cases.is_none() {
        return Err(format!("earned {} points", report.totals.earned));
    }
    if let Some(failing) = &report.refused {
        return match submission.cases {
            Some(_) => Err(format!("refused as a whole: {}", described(failing))),
            None => is_expected(submission, device, Group::Small, failing)
                .map_err(|error| format!("refused: {error}")),
        };
    }
    let should_fail = |name: &String| {
        let names = submission.cases.as_ref();
        names.is_none_or(|names| names.contains(name))
    };
    let mut failed = 0;
    for case in &report.cases {
        let name = &case.name;
        match (&case.status, should_fail(name)) {
            (Outcome::Failed(failing), true) => {
                is_expected(submission, device, case.group, failing)
                    .map_err(|error| format!("case {name}: {error}"))?;
                if case.earned != 0.0 {
                    return Err(format!("case {name} earned {}", case.earned));
                }
                failed += 1;
            }
            (Outcome::Failed(failing), false) => {
                return Err(format!("case {name}: {}", described(failing)));
            }
            (Outcome::NotGradedHere { .. }, _) => {}
            (Outcome::Undecided { reason }, _) => {
                return Err(format!("case {name} is undecided: {reason}"));
            }
            (Outcome::Passed | Outcome::Measured, true) => {
                return Err(format!("case {name} passed"));
            }
            (Outcome::Passed | Outcome::Measured, false) => {}
        }
    }
    if failed == 0 {
        return Err(format!("no case failed, expected {}", submission.verdict));
    }
    let mut timed = report.performance.iter();
    match timed.find(|timed| timed.earned != 0.0 && should_fail(&timed.case)) {
        Some(timed) => Err(format!(
            "earned {} for speed in {}",
            timed.earned, timed.case
        )),
        None => Ok(()),
    }
}

/// Whether a case of this group failed in an expected way, with the expected words.
fn is_expected(
    submission: &Submission,
    device: &str,
    group: Group,
    failing: &Failure,
) -> Result<(), String> {
    let mut kinds = submission.verdict.kinds().to_vec();
    let is_otherwise = group == Group::Large || submission.verdict == ExpectedVerdict::Undecided;
    if let (Some(verdict), "cuda", true) = (&submission.cuda, device, is_otherwise) {
        kinds.extend(verdict.kinds());
    }
    if !kinds.contains(&failing.kind) {
        return Err(format!(
            "{}, expected {}",
            described(failing),
            codes(&kinds)
        ));
    }
    let sanitizer = failing.sanitizer.as_deref().unwrap_or_default();
    match &submission.message {
        // A GPU does not give a reason for its wait.
        _ if device == "cuda" && failing.kind == Kind::Deadline => Ok(()),
        Some(part) if !failing.message.contains(part) && !sanitizer.contains(part) => {
            Err(format!("`{part}` is not in: {}", described(failing)))
        }
        _ => Ok(()),
    }
}

fn codes(kinds: &[Kind]) -> String {
    let codes: Vec<_> = kinds.iter().map(|kind| kind.code()).collect();
    codes.join(" or ")
}

fn described(failing: &Failure) -> String {
    let Failure {
        kind,
        message,
        sanitizer,
        ..
    } = failing;
    match sanitizer {
        Some(sanitizer) => format!("{kind}: {message} [{sanitizer}]"),
        None => format!("{kind}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::grade::{CaseGrade, SubmissionId};

    fn submission(lines: &str) -> Submission {
        toml::from_str(&format!("about = \"\"\nlab = \"wave2d\"\n{lines}")).unwrap()
    }

    fn report(statuses: &[(&str, Outcome)]) -> GradeReport {
        let id = SubmissionId {
            name: "ada".to_owned(),
            sha256: None,
        };
        let mut report = GradeReport::new(id, "wave2d", "emulated");
        report.cases = statuses
            .iter()
            .map(|(name, status)| CaseGrade {
                name: (*name).to_owned(),
                group: Group::Small,
                points: 10.0,
                earned: if *status == Outcome::Passed {
                    10.0
                } else {
                    0.0
                },
                status: status.clone(),
                samples: 2,
                counts: BTreeMap::new(),
                checks: None,
                printed: String::new(),
            })
            .collect();
        report.with_totals()
    }

    fn wrong() -> Outcome {
        Outcome::Failed(Failure::new(Kind::WrongResult, "`u0` is wrong"))
    }

    fn checked(lines: &str, report: &GradeReport) -> Result<String, String> {
        check(&submission(lines), report, "emulated")
    }

    #[test]
    fn a_hostile_submission_that_passes_is_a_miss() {
        let fails = "verdict = \"wrong_result\"";
        let passes = report(&[("a", Outcome::Passed)]);
        assert_eq!(checked(fails, &passes).unwrap_err(), "earned 10 points");
        assert!(checked(fails, &report(&[("a", wrong()), ("b", Outcome::Passed)])).is_err());
        assert!(checked(fails, &report(&[])).is_err());
        assert_eq!(
            checked(fails, &report(&[("a", wrong())])).unwrap(),
            "wrong_result"
        );
    }

    #[test]
    fn failing_in_another_way_or_with_other_words_is_a_miss() {
        let race = report(&[("a", Outcome::Failed(Failure::new(Kind::Race, "a race")))]);
        assert!(checked("verdict = \"wrong_result\"", &race).is_err());
        assert!(checked("verdict = \"race\"\nmessage = \"shared\"", &race).is_err());
        assert!(checked("verdict = \"race\"\nmessage = \"a race\"", &race).is_ok());
        assert!(checked("verdict = [\"race\", \"barrier\"]", &race).is_ok());
    }

    #[test]
    fn only_the_named_cases_fail() {
        let named = "verdict = \"wrong_result\"\ncases = [\"b\"]";
        let result = |a, b| checked(named, &report(&[("a", a), ("b", b)]));
        assert!(result(Outcome::Passed, wrong()).is_ok());
        assert!(result(wrong(), wrong()).is_err());
        assert!(result(Outcome::Passed, Outcome::Passed).is_err());
    }

    #[test]
    fn an_honest_submission_earns_everything() {
        let honest = "verdict = \"passes\"";
        assert_eq!(
            checked(honest, &report(&[("a", Outcome::Passed)])).unwrap(),
            "passes"
        );
        assert!(checked(honest, &report(&[("a", Outcome::Passed), ("b", wrong())])).is_err());
        assert!(checked(honest, &report(&[])).is_err());
        let mut less = report(&[("a", Outcome::Passed)]);
        less.cases[0].earned = 9.0;
        assert!(checked(honest, &less).is_err());
        let mut refused = report(&[("a", Outcome::Passed)]);
        refused.refused = Some(Failure::new(Kind::CompileError, "no"));
        assert!(checked(honest, &refused).is_err());
    }

    #[test]
    fn a_trick_that_is_found_out_is_harmless_and_one_that_faults_is_not() {
        let harmless = "verdict = \"harmless\"";
        assert_eq!(
            checked(harmless, &report(&[("a", Outcome::Passed)])).unwrap(),
            "harmless"
        );
        assert_eq!(
            checked(harmless, &report(&[("a", wrong())])).unwrap(),
            "wrong_result"
        );
        let race = report(&[("a", Outcome::Failed(Failure::new(Kind::Race, "a race")))]);
        assert!(checked(harmless, &race).is_err());
    }

    #[test]
    fn what_is_undecided_here_fails_on_a_gpu() {
        let submission = submission("verdict = \"undecided\"\ncuda = \"wrong_result\"");
        let passes = report(&[("a", Outcome::Passed)]);
        let fails = report(&[("a", wrong())]);
        assert!(check(&submission, &fails, "cuda").is_ok());
        assert!(check(&submission, &passes, "cuda").is_err());
        assert!(check(&submission, &fails, "emulated").is_err());
    }

    #[test]
    fn a_deadline_of_a_gpu_has_no_reason() {
        let submission = submission("verdict = \"deadline\"\nmessage = \"launch at most\"");
        let fails = report(&[(
            "a",
            Outcome::Failed(Failure::new(Kind::Deadline, "not finished")),
        )]);
        assert!(check(&submission, &fails, "cuda").is_ok());
        assert!(check(&submission, &fails, "emulated").is_err());
    }

    #[test]
    fn a_gpu_may_show_large_cases_in_its_own_way() {
        let submission = submission("verdict = \"out_of_bounds\"\ncuda = \"guard_overwritten\"");
        let guard = Outcome::Failed(Failure::new(Kind::GuardOverwritten, "before `u0`"));
        let small = report(&[("a", guard)]);
        assert!(check(&submission, &small, "cuda").is_err());
        let mut large = small;
        large.cases[0].group = Group::Large;
        assert!(check(&submission, &large, "cuda").is_ok());
        assert!(check(&submission, &large, "emulated").is_err());
    }
}
