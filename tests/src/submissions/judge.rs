//! Whether a report is what was expected.

use harness::grade::Category;
use harness::grade::verdict::{Failing, GradeReport, Group, PerformanceStatus, Status};

use super::expect::{Expectation, Verdict};

/// How much faster than what it is made from a harmless submission may seem: what two timings of one program differ by.
const NO_FASTER: f64 = 1.2;

/// Compares a report with what is expected of the submission on this device, and says in a word what became of it.
///
/// # Errors
///
/// What is not as expected.
pub fn judge(
    expectation: &Expectation,
    report: &GradeReport,
    device: &str,
) -> Result<String, String> {
    let verdict = &expectation.verdict;
    match verdict {
        Verdict::Passes => all_right(report).map(|()| verdict.to_string()),
        Verdict::Harmless => {
            if is_found_out(report) {
                return Ok(outcome(report));
            }
            all_right(report)?;
            no_faster(report)?;
            Ok(verdict.to_string())
        }
        Verdict::Fails(_) | Verdict::FailsInOneOf(_) => {
            fails(expectation, device, report)?;
            Ok(outcome(report))
        }
    }
}

/// In a word: the first way in which it failed.
pub fn outcome(report: &GradeReport) -> String {
    let first = report
        .refused
        .iter()
        .chain(report.cases.iter().filter_map(|case| case.status.failing()))
        .next();
    first.map_or_else(
        || "passes".to_owned(),
        |failing| failing.kind.code().to_owned(),
    )
}

/// Whether results were seen to be wrong, and no such case has earned anything.
fn is_found_out(report: &GradeReport) -> bool {
    let is_wrong = |failing: &Failing| failing.category == Category::Wrong;
    let cases = || {
        let failing = report
            .cases
            .iter()
            .map(|case| (case.status.failing(), case.earned));
        let timed = report
            .performance
            .iter()
            .map(|timed| (timed.status.failing(), timed.earned));
        failing.chain(timed)
    };
    cases().any(|(failing, _)| failing.is_some_and(is_wrong))
        && cases().all(|(failing, earned)| failing.is_none() || earned == 0.0)
}

fn all_right(report: &GradeReport) -> Result<(), String> {
    if let Some(failing) = &report.refused {
        return Err(format!("refused: {}", described(failing)));
    }
    if report.cases.is_empty() {
        return Err("no case was graded".to_owned());
    }
    for case in &report.cases {
        match &case.status {
            Status::Passed if case.earned == case.points => {}
            Status::Passed => {
                return Err(format!(
                    "case {} passed with {} of {} points",
                    case.name, case.earned, case.points
                ));
            }
            Status::Failed(failing) => {
                return Err(format!("case {}: {}", case.name, described(failing)));
            }
            // Large cases are for GPUs.
            Status::NotGradedHere { .. } if case.group == Group::Large => {}
            Status::NotGradedHere { reason } => {
                return Err(format!("case {} was not graded: {reason}", case.name));
            }
        }
    }
    for timed in &report.performance {
        if let PerformanceStatus::Failed(failing) = &timed.status {
            return Err(format!("timing of {}: {}", timed.case, described(failing)));
        }
    }
    Ok(())
}

fn no_faster(report: &GradeReport) -> Result<(), String> {
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

fn fails(expectation: &Expectation, device: &str, report: &GradeReport) -> Result<(), String> {
    let verdict = &expectation.verdict;
    let as_expected = |failing: &Failing, group: Group, place: &str| {
        let kinds = expectation.kinds(device, group);
        if !kinds.contains(&failing.kind) {
            let codes: Vec<_> = kinds.iter().map(|kind| kind.code()).collect();
            return Err(format!(
                "{place}: {}, expected {}",
                described(failing),
                codes.join(" or ")
            ));
        }
        let sanitizer = failing.sanitizer.as_deref().unwrap_or_default();
        match &expectation.message {
            Some(part) if !failing.message.contains(part) && !sanitizer.contains(part) => Err(
                format!("{place}: `{part}` is not in: {}", described(failing)),
            ),
            _ => Ok(()),
        }
    };
    if report.totals.earned > 0.0 && expectation.cases.is_none() {
        return Err(format!("earned {} points", report.totals.earned));
    }
    if let Some(failing) = &report.refused {
        if expectation.cases.is_some() {
            return Err(format!("refused as a whole: {}", described(failing)));
        }
        return as_expected(failing, Group::Small, "refused");
    }
    let mut failed = 0;
    for case in &report.cases {
        let should_fail = match &expectation.cases {
            Some(names) => names.contains(&case.name),
            None => true,
        };
        match (&case.status, should_fail) {
            (Status::Failed(failing), true) => {
                as_expected(failing, case.group, &format!("case {}", case.name))?;
                if case.earned != 0.0 {
                    return Err(format!("case {} earned {}", case.name, case.earned));
                }
                failed += 1;
            }
            (Status::Failed(failing), false) => {
                return Err(format!("case {}: {}", case.name, described(failing)));
            }
            (Status::Passed, true) => return Err(format!("case {} passed", case.name)),
            (Status::Passed, false) | (Status::NotGradedHere { .. }, _) => {}
        }
    }
    if failed == 0 {
        return Err(format!("no case failed, expected {verdict}"));
    }
    for timed in &report.performance {
        if timed.earned != 0.0 {
            return Err(format!(
                "earned {} for speed in {}",
                timed.earned, timed.case
            ));
        }
    }
    Ok(())
}

fn described(failing: &Failing) -> String {
    let sanitizer = failing
        .sanitizer
        .as_deref()
        .map(|message| format!(" [{message}]"));
    format!(
        "{}: {}{}",
        failing.kind,
        failing.message,
        sanitizer.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use harness::grade::Kind;
    use harness::grade::verdict::{CaseGrade, SubmissionId};

    use super::*;

    fn expectation(lines: &str) -> Expectation {
        Expectation::parse(&format!("lab = \"wave2d\"\n{lines}")).unwrap()
    }

    fn report(statuses: &[(&str, Status)]) -> GradeReport {
        let submission = SubmissionId {
            name: "ada".to_owned(),
            sha256: None,
        };
        let mut report = GradeReport::new(submission, "wave2d", "emulated");
        report.cases = statuses
            .iter()
            .map(|(name, status)| CaseGrade {
                name: (*name).to_owned(),
                group: Group::Small,
                points: 10.0,
                earned: if *status == Status::Passed { 10.0 } else { 0.0 },
                status: status.clone(),
                samples: 2,
                counts: BTreeMap::new(),
                checks: None,
            })
            .collect();
        report.with_totals()
    }

    fn wrong() -> Status {
        Status::failed(Kind::WrongResult, "`u0` is wrong")
    }

    fn verdict(lines: &str, report: &GradeReport) -> Result<String, String> {
        judge(&expectation(lines), report, "emulated")
    }

    #[test]
    fn a_hostile_submission_that_passes_is_a_miss() {
        let fails = "verdict = \"wrong_result\"";
        let passes = report(&[("a", Status::Passed)]);
        assert_eq!(verdict(fails, &passes).unwrap_err(), "earned 10 points");
        assert!(verdict(fails, &report(&[("a", wrong()), ("b", Status::Passed)])).is_err());
        assert!(verdict(fails, &report(&[])).is_err());
        assert_eq!(
            verdict(fails, &report(&[("a", wrong())])).unwrap(),
            "wrong_result"
        );
    }

    #[test]
    fn failing_in_another_way_or_with_other_words_is_a_miss() {
        let race = report(&[("a", Status::failed(Kind::Race, "a race"))]);
        assert!(verdict("verdict = \"wrong_result\"", &race).is_err());
        assert!(verdict("verdict = \"race\"\nmessage = \"shared\"", &race).is_err());
        assert!(verdict("verdict = \"race\"\nmessage = \"a race\"", &race).is_ok());
        assert!(verdict("verdict = [\"race\", \"barrier\"]", &race).is_ok());
    }

    #[test]
    fn only_the_named_cases_fail() {
        let named = "verdict = \"wrong_result\"\ncases = [\"b\"]";
        assert!(verdict(named, &report(&[("a", Status::Passed), ("b", wrong())])).is_ok());
        assert!(verdict(named, &report(&[("a", wrong()), ("b", wrong())])).is_err());
        assert!(
            verdict(
                named,
                &report(&[("a", Status::Passed), ("b", Status::Passed)])
            )
            .is_err()
        );
    }

    #[test]
    fn an_honest_submission_gets_everything() {
        let honest = "verdict = \"passes\"";
        assert!(verdict(honest, &report(&[("a", Status::Passed)])).is_ok());
        assert!(verdict(honest, &report(&[("a", Status::Passed), ("b", wrong())])).is_err());
        assert!(verdict(honest, &report(&[])).is_err());
        let mut less = report(&[("a", Status::Passed)]);
        less.cases[0].earned = 9.0;
        assert!(verdict(honest, &less).is_err());
        let mut refused = report(&[("a", Status::Passed)]);
        refused.refused = Some(Failing::new(Kind::CompileError, "no"));
        assert!(verdict(honest, &refused).is_err());
    }

    #[test]
    fn a_trick_that_is_found_out_is_harmless_and_one_that_faults_is_not() {
        let harmless = "verdict = \"harmless\"";
        assert!(verdict(harmless, &report(&[("a", Status::Passed)])).is_ok());
        assert!(verdict(harmless, &report(&[("a", wrong())])).is_ok());
        let race = report(&[("a", Status::failed(Kind::Race, "a race"))]);
        assert!(verdict(harmless, &race).is_err());
    }

    #[test]
    fn a_gpu_may_show_large_cases_in_its_own_way() {
        let expectation = expectation("verdict = \"out_of_bounds\"\ncuda = \"guard_overwritten\"");
        let guard = Status::failed(Kind::GuardOverwritten, "before `u0`");
        let small = report(&[("a", guard)]);
        assert!(judge(&expectation, &small, "cuda").is_err());
        let mut large = small;
        large.cases[0].group = Group::Large;
        assert!(judge(&expectation, &large, "cuda").is_ok());
        assert!(judge(&expectation, &large, "emulated").is_err());
    }
}
