//! The meaning of a process's end.

use std::path::Path;
use std::sync::Mutex;

use super::*;
use crate::engine::job::Answer;
use crate::engine::open;

struct Ends(Mutex<Vec<CaseEnd>>);

impl CaseRunner for Ends {
    fn run(&self, job: &CaseJob, _: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        if job.checks.is_some() {
            return Ok(CaseEnd::NoAnswer(NoResult::not_graded_here(
                "not looked at".to_owned(),
            )));
        }
        Ok(self.0.lock().unwrap().remove(0))
    }
}

#[test]
fn an_end_costs_its_case_and_no_more() {
    let lab_spec = lab_spec(MATADD);
    let bundle = built_in(&lab_spec, "grid2d_block1d_64");
    let device = Clocked::new(|_, _| 1000.0);
    let status = |ended: CaseEnd| {
        // The second case is graded all the same.
        let parts = tempfile::tempdir().unwrap();
        let plan = bundle.case("large").unwrap().plan.as_ref().unwrap();
        let plan = serde_json::to_string(plan).unwrap();
        std::fs::write(open::kernels_file(parts.path()), &bundle.ptx).unwrap();
        std::fs::write(open::plan_file(parts.path(), 1), plan).unwrap();
        let good = Here(&device)
            .run(&job(&lab_spec, parts.path()), &DEADLINES)
            .unwrap();
        let runner = Ends(Mutex::new(vec![ended, good]));
        let report = graded_with(&lab_spec, &bundle, &device, &runner, &options());
        assert!(
            matches!(report.cases[1].status, Outcome::Passed),
            "{report:#?}"
        );
        report.cases[0].status.clone()
    };
    let died = |has_run, exit| CaseEnd::Died {
        has_run,
        exit,
        said: "first\nlast words".to_owned(),
    };
    let message = |ended: Outcome, kind| {
        assert_eq!(ended.kind(), Some(kind));
        ended.failure().unwrap().message.clone()
    };
    let timed_out = status(CaseEnd::TimedOut(Phase::Submission));
    insta::assert_snapshot!(message(timed_out, Kind::Deadline), @"a run was not finished after 60 s, and was ended");
    let crashed = status(died(true, Exit::Signal(11)));
    insta::assert_snapshot!(message(crashed, Kind::Crashed), @"the process that ran it died (signal 11): last words");
    let reason = |ended: Outcome| match ended {
        Outcome::NotGradedHere { reason } | Outcome::Undecided { reason } => reason,
        other => panic!("{other:?}"),
    };
    insta::assert_snapshot!(reason(status(died(false, Exit::Signal(9)))), @"the process that ran it died (signal 9): last words");
    insta::assert_snapshot!(reason(status(died(true, Exit::Bug))), @"the process that ran it died (a bug in harness): last words");
    insta::assert_snapshot!(reason(status(CaseEnd::TimedOut(Phase::Ours))), @"the harness's own part was not finished after 1800 s");
    insta::assert_snapshot!(reason(status(CaseEnd::NoAnswer(NoResult::not_graded_here("no memory".to_owned())))), @"no memory");
    let failed = Failure::new(Kind::WrongResult, "wrong");
    let failed = status(CaseEnd::NoAnswer(failed.into()));
    assert_eq!(failed.kind(), Some(Kind::WrongResult));
}

/// Runs that take long, out of what is left for all.
struct Slow {
    takes: Duration,
    asked: Mutex<usize>,
}

impl CaseRunner for Slow {
    fn run(&self, _: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        *self.asked.lock().unwrap() += 1;
        let left = deadlines.all_runs.expect("is the emulated device");
        left.set(left.get().saturating_sub(self.takes));
        Ok(CaseEnd::TimedOut(Phase::Submission))
    }
}

#[test]
fn the_emulated_device_is_patient_with_all_of_a_submission_too() {
    let (cases, _) = MATADD.split_once("[[performance]]").unwrap();
    let lab_spec = lab_spec(&cases.replace("group = \"large\"", "group = \"small\""));
    let bundle = built_in(&lab_spec, "grid2d_block1d_64");
    let messages = |seconds: u64| {
        let runner = Slow {
            takes: Duration::from_secs(seconds),
            asked: Mutex::default(),
        };
        let device = EmulatedDevice::default();
        let report = graded_with(&lab_spec, &bundle, &device, &runner, &options());
        let messages = report.cases.iter().map(|case| {
            assert_eq!(case.status.kind(), Some(Kind::Deadline));
            case.status.failure().unwrap().message.clone()
        });
        (messages.collect::<Vec<_>>(), *runner.asked.lock().unwrap())
    };
    let (said, asked) = messages(60);
    assert_eq!(asked, 2);
    insta::assert_snapshot!(said[1], @"a run was not finished after 6 s, and was ended; this case had 1/10 of the usual time and instructions, because a case before it did not end: with those mended, it has all");
    insta::assert_snapshot!(said[0], @"a run was not finished after 60 s, and was ended; the emulated device is far slower than a GPU: `--deadline 600` gives it more");
    let (patient, once) = messages(600);
    assert_eq!((patient[0] == patient[1], once), (true, 1));
    insta::assert_snapshot!(patient[0], @"the case was not finished when the submission's runs had taken 600 s together, all that they may; the emulated device is far slower than a GPU: `--total-deadline 6000` gives them more");
}

/// Nothing ends; the deadlines and the fuel that cases were given.
#[derive(Default)]
struct Endless(Mutex<Vec<(u64, u64)>>);

impl CaseRunner for Endless {
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        let given = (deadlines.submission.as_secs(), job.fuel);
        self.0.lock().unwrap().push(given);
        let failure = Failure::new(Kind::Deadline, "out of fuel").with_sanitizer("out of fuel");
        Ok(CaseEnd::Answer(Box::new(Answer {
            status: Outcome::Failed(failure),
            samples: 0,
            printed: String::new(),
            replay: None,
            counts: Default::default(),
            performance: Vec::new(),
        })))
    }
}

/// A lab of cases of these groups.
fn lab_of(groups: &[&str]) -> LabSpec {
    let mut text =
        "format_version = 1\nlab = \"matadd\"\ntolerance = { rule = \"exact\" }\n".to_owned();
    for (i, group) in groups.iter().enumerate() {
        text += &format!(
            "[[case]]\nname = \"case-{i}\"\ngroup = \"{group}\"\npoints = 1\nparams = {{ n_x = 37, n_y = 5 }}\n"
        );
    }
    lab_spec(&text)
}

/// After the first few cases that do not end, the others take little.
#[test]
fn what_never_ends_takes_little_time() {
    let given = |groups: &[&str]| {
        let lab_spec = lab_of(groups);
        let bundle = built_in(&lab_spec, "grid2d_block1d_64");
        let runner = Endless::default();
        let device = EmulatedDevice::default();
        let report = graded_with(&lab_spec, &bundle, &device, &runner, &options());
        (runner.0.into_inner().unwrap(), report)
    };
    let (all, tenth, hundredth) = ((60, 100_000_000), (6, 10_000_000), (3, 1_000_000));
    let (asked, report) = given(&["small"; 5]);
    assert_eq!(asked, [all, tenth, hundredth, hundredth, hundredth]);
    let said = |case: usize| {
        let failure = report.cases[case].status.failure().unwrap();
        failure.sanitizer.clone().unwrap()
    };
    assert_eq!(said(0), "out of fuel");
    insta::assert_snapshot!(said(1), @r"
    out of fuel
    this case had 1/10 of the usual time and instructions, because a case before it did not end: with those mended, it has all
    ");
    insta::assert_snapshot!(said(2), @r"
    out of fuel
    this case had 1/100 of the usual time and instructions, because cases before it did not end: with those mended, it has all
    ");
    // A hidden case that does not end shortens no other that students see.
    let (visible, _) = given(&[
        "hidden", "hidden", "hidden", "small", "small", "small", "hidden",
    ]);
    assert_eq!(
        visible,
        [all, tenth, hundredth, all, tenth, hundredth, hundredth]
    );
}

/// A case that ends is graded, with the smaller part too.
#[test]
fn a_case_that_ends_is_graded_after_others_that_do_not() {
    struct FirstTwo<'d>(&'d dyn Device);
    impl CaseRunner for FirstTwo<'_> {
        fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
            match job.case.as_str() {
                "case-0" | "case-1" => Ok(CaseEnd::TimedOut(Phase::Submission)),
                _ => Here(self.0).run(job, deadlines),
            }
        }
    }
    let lab_spec = lab_of(&["small"; 4]);
    let bundle = built_in(&lab_spec, "grid2d_block1d_64");
    let device = EmulatedDevice::default();
    let report = graded_with(&lab_spec, &bundle, &device, &FirstTwo(&device), &options());
    assert_eq!(report.totals.earned, 2.0, "{report:#?}");
}

const DEADLINES: Deadlines<'static> = Deadlines {
    submission: Duration::from_secs(60),
    all_runs: None,
    ours: Duration::from_secs(60),
    clock: Clock::Wall,
};

/// The large case.
fn job(lab_spec: &LabSpec, parts: &Path) -> CaseJob {
    CaseJob {
        device: DeviceName::Cuda(0),
        lab_file: lab_spec.file.clone(),
        lab_text: lab_spec.text.clone(),
        draw: None,
        case: "large".to_owned(),
        parts: parts.to_owned(),
        seed: 1,
        samples: 1,
        stopping: options().stopping,
        fuel: 1 << 30,
        checks: None,
        with_messages: false,
        replay: None,
        host_threads: 0,
    }
}
