//! What the end of a process means.

use std::path::Path;
use std::sync::Mutex;

use super::*;
use crate::engine::open;

struct Ends(Mutex<Vec<Ended>>);

impl CaseRunner for Ends {
    fn run(&self, job: &CaseJob, _: &Deadlines) -> Result<Ended, GradeError> {
        if job.checks.is_some() {
            return Ok(Ended::NoAnswer(Outcome::not_graded_here(
                "not looked at".to_owned(),
            )));
        }
        Ok(self.0.lock().unwrap().remove(0))
    }
}

#[test]
fn an_end_costs_its_case_and_no_more() {
    let course = course(MATADD);
    let bundle = built_in(&course, "grid2d_block1d_64");
    let device = Clocked::new(|_, _| 1000.0);
    let status = |ended: Ended| {
        // The second case is graded all the same.
        let parts = tempfile::tempdir().unwrap();
        let plan = serde_json::to_string(&bundle.case("large").unwrap().plan).unwrap();
        std::fs::write(open::kernels_file(parts.path()), &bundle.ptx).unwrap();
        std::fs::write(open::plan_file(parts.path(), 1), plan).unwrap();
        let good = Here(&device)
            .run(&job(&course, parts.path()), &DEADLINES)
            .unwrap();
        let runner = Ends(Mutex::new(vec![ended, good]));
        let report = graded_with(&course, &bundle, &device, &runner, &options());
        assert!(
            matches!(report.cases[1].status, Outcome::Passed),
            "{report:#?}"
        );
        report.cases[0].status.clone()
    };
    let died = |has_run, how: &str| Ended::Died {
        has_run,
        how: how.to_owned(),
        said: "first\nlast words".to_owned(),
    };
    let message = |status: Outcome, kind| {
        assert_eq!(status.kind(), Some(kind));
        status.failing().unwrap().message.clone()
    };
    let timed_out = status(Ended::TimedOut(Phase::Submission));
    insta::assert_snapshot!(message(timed_out, Kind::Deadline), @"a run was not finished after 60 s, and was ended");
    let crashed = status(died(true, "signal 11"));
    insta::assert_snapshot!(message(crashed, Kind::Crashed), @"the process that ran it died (signal 11): last words");
    let reason = |status: Outcome| match status {
        Outcome::NotGradedHere { reason } | Outcome::Undecided { reason } => reason,
        other => panic!("{other:?}"),
    };
    insta::assert_snapshot!(reason(status(died(false, "signal 9"))), @"the process that ran it died (signal 9): last words");
    insta::assert_snapshot!(reason(status(died(true, "a bug in harness"))), @"the process that ran it died (a bug in harness): last words");
    insta::assert_snapshot!(reason(status(Ended::TimedOut(Phase::Ours))), @"the harness's own part was not finished after 1800 s");
    insta::assert_snapshot!(reason(status(Ended::NoAnswer(Outcome::not_graded_here("no memory".to_owned())))), @"no memory");
    let failed = Failing::new(Kind::WrongResult, "wrong");
    let failed = status(Ended::NoAnswer(failed.into()));
    assert_eq!(failed.kind(), Some(Kind::WrongResult));
}

const DEADLINES: Deadlines = Deadlines {
    submission: Duration::from_secs(60),
    ours: Duration::from_secs(60),
};

/// The large case.
fn job(course: &Course, parts: &Path) -> CaseJob {
    CaseJob {
        device: DeviceName::Cuda(0),
        course_file: course.file.clone(),
        course_text: course.text.clone(),
        draw: None,
        case: "large".to_owned(),
        parts: parts.to_owned(),
        seed: 1,
        samples: 1,
        stopping: options().stopping,
        checks: None,
    }
}
