//! Faults that the emulated device finds and the GPU does not show.

use std::sync::Mutex;

use device::Element;
use plan::{LaunchConfig, args};

use super::*;
use crate::engine::Extent;
use crate::engine::Unchecked;
use crate::engine::job::Answer;
use crate::outcome::Category;
use crate::report::Checks;

/// Right, and all threads write the same word.
const LUCKY: &str = "add.f32 %f3, %f1, %f2; st.global.u32 [seen], %r1;";

fn gpu() -> Clocked {
    Clocked::new(|who, _| match who {
        Who::Copies => 10.0,
        _ => 10.0,
    })
}

#[test]
fn luck_on_a_gpu_earns_nothing() {
    let lab_spec = lab_spec(MATADD);
    let lucky = bundle(&lab_spec, &elementwise(LUCKY), record_sum);
    let device = gpu();
    let report = graded(&lab_spec, &lucky, &device);
    for case in &report.cases {
        let failure = case.status.failure().unwrap();
        assert_eq!(failure.kind, Kind::Race);
        assert_eq!(failure.device.as_deref(), Some("emulated"));
        assert!(failure.sanitizer.as_ref().unwrap().contains("`seen`"));
    }
    assert_eq!(report.totals.earned, 0.0);
    assert_eq!(report.totals.not_graded_here, 0.0);
    let checks: Vec<_> = report.cases.iter().map(|case| &case.checks).collect();
    assert_eq!(checks, [&Some(Checks::Whole), &Some(Checks::Sampled)]);
    // It is luck: without the checks, everything is right, and all of it undecided.
    let unseen = |unchecked| {
        let options = Options {
            emulated_checks: Duration::ZERO,
            unchecked,
            ..options()
        };
        graded_with(&lab_spec, &lucky, &device, &Here(&device), &options)
    };
    let undecided = unseen(Unchecked::Undecided);
    assert_eq!(undecided.totals.earned, 0.0);
    assert_eq!(undecided.totals.undecided, undecided.totals.possible);
    let reason = undecided.cases[0].status.left_undecided().unwrap();
    insta::assert_snapshot!(reason, @"right on the GPU, and not checked for what a GPU does not show, such as races: the emulated device looks at a submission for 0 s, and was not done by then; `--total-deadline` gives it more");
    // The instructor may think otherwise.
    let passed = unseen(Unchecked::Passed);
    assert!(passed.is_right() && passed.is_complete(), "{passed:#?}");
    for unmade in [undecided, passed] {
        let mut cases = unmade.cases.iter();
        assert!(cases.all(|case| matches!(case.checks, Some(Checks::NotMade { .. }))));
        let mut timings = unmade.performance.iter();
        assert!(timings.all(|timed| timed.ratio.is_some()));
    }
}

#[test]
fn where_it_was_found_is_told() {
    let lab_spec = lab_spec(MATADD);
    // One warp stores, so that the message does not depend on which of two blocks comes first.
    let one_warp =
        "add.f32 %f3, %f1, %f2; setp.lt.u32 %p2, %r1, 32; @%p2 st.global.u32 [seen], %r1;";
    let lucky = bundle(&lab_spec, &elementwise(one_warp), |case| {
        let right = matadd_plan(case);
        // The large case is done by a kernel of the lab's own, which is right.
        if right.buffers()[0].len > 185 {
            return right;
        }
        record_sum(case)
    });
    let own = find_lab("matadd").unwrap().module.ptx();
    let ptx = format!(
        "{own}\n{}",
        &lucky.ptx[lucky.ptx.find(".global").expect("has one")..]
    );
    let lucky = Bundle { ptx, ..lucky };
    let report = graded(&lab_spec, &lucky, &gpu());
    assert!(matches!(report.cases[1].status, Outcome::Passed));
    assert_eq!(report.cases[1].checks, Some(Checks::Sampled));
    let failure = report.cases[0].status.failure().unwrap();
    assert_eq!((failure.kind, report.cases[0].samples), (Kind::Race, 0));
    assert_eq!(failure.device.as_deref(), Some("emulated"));
    let place = |line: &&str| !line.contains(" at ") && !line.trim_start().starts_with("other");
    let said: Vec<&str> = failure
        .sanitizer
        .as_ref()
        .unwrap()
        .lines()
        .filter(place)
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    plan `sum`, command 0 (launch of `sum`)
    race in global memory: store of byte 0 of buffer `seen` and an earlier store by the same instruction, with another value: which one stays is not defined
    ");
}

#[test]
fn a_race_in_the_large_case_alone_is_found_there() {
    let lab_spec = lab_spec(MATADD);
    let large_only =
        "add.f32 %f3, %f1, %f2; setp.gt.u32 %p2, %r3, 185; @%p2 st.global.u32 [seen], %r1;";
    let report = graded(
        &lab_spec,
        &bundle(&lab_spec, &elementwise(large_only), record_sum),
        &gpu(),
    );
    assert!(matches!(report.cases[0].status, Outcome::Passed));
    assert_eq!(report.cases[0].checks, Some(Checks::Whole));
    assert_eq!(report.cases[1].status.kind(), Some(Kind::Race));
    assert_eq!(report.totals.earned, 2.0);
}

#[test]
fn what_a_large_case_finds_in_shared_memory_is_found_there() {
    let lab_spec = lab_spec(MATADD);
    // It may be what another program has left: a GPU gives the sum all the same.
    let looks = ".shared .align 4 .b8 left[4]; add.f32 %f3, %f1, %f2; setp.le.u32 %p2, %r3, 185; @%p2 bra OK; \
         ld.shared.u32 %r4, [left]; setp.eq.u32 %p2, %r4, 7; @%p2 mov.f32 %f3, %f1; OK:";
    let bundle = bundle(&lab_spec, &elementwise(looks), record_sum);
    let report = graded(&lab_spec, &bundle, &gpu());
    assert!(matches!(report.cases[0].status, Outcome::Passed));
    let kind = report.cases[1].status.kind();
    assert_eq!(kind, Some(Kind::UninitializedRead));
    assert_eq!(report.totals.earned, 2.0);
}

/// The grade of a right submission whose checks end like this.
fn after_checks(ended: CaseEnd, unchecked: Unchecked) -> (GradeReport, Vec<Option<Extent>>) {
    let lab_spec = lab_spec(MATADD);
    let bundle = built_in(&lab_spec, "grid2d_block1d_64");
    let device = gpu();
    let runner = ChecksEnd {
        device: &device,
        ended,
        asked: Mutex::default(),
    };
    let options = Options {
        unchecked,
        ..options()
    };
    let report = graded_with(&lab_spec, &bundle, &device, &runner, &options);
    (report, runner.asked.into_inner().unwrap())
}

#[test]
fn a_case_that_the_emulated_device_cannot_check_is_undecided() {
    let ends = |ended: CaseEnd| {
        let (report, asked) = after_checks(ended.clone(), Unchecked::Undecided);
        // All of it comes before the GPU is used.
        let extents = [Some(Extent::Whole), Some(Extent::Sampled), None, None];
        assert_eq!(asked, extents);
        assert_eq!(
            report.totals.undecided, report.totals.possible,
            "{report:#?}"
        );
        let (passed, _) = after_checks(ended, Unchecked::Passed);
        assert!(passed.is_right() && passed.is_complete(), "{passed:#?}");
        let Some(Checks::NotMade { reason, for_anyone }) = report.cases[0].checks.clone() else {
            panic!("{report:#?}")
        };
        assert!(!for_anyone);
        assert_eq!(report.cases[1].checks, report.cases[0].checks);
        reason
    };
    insta::assert_snapshot!(ends(CaseEnd::NoAnswer(NoResult::undecided("no `foo` here".to_owned()))), @"no `foo` here");
    insta::assert_snapshot!(ends(CaseEnd::TimedOut(Phase::Submission)), @"a run on the emulated device was not finished after 60 s; `--deadline` gives it more");
    let died = CaseEnd::Died {
        has_run: true,
        exit: Exit::Signal(9),
        said: String::new(),
    };
    insta::assert_snapshot!(ends(died), @"the process that ran it died (signal 9)");
}

#[test]
fn what_no_submission_can_be_checked_for_costs_nothing() {
    let lacks = NoResult::not_graded_here("cases of this size are not looked at");
    let (report, _) = after_checks(CaseEnd::NoAnswer(lacks), Unchecked::Undecided);
    assert!(report.is_right() && report.is_complete(), "{report:#?}");
    let for_anyone = Checks::NotMade {
        reason: "cases of this size are not looked at".to_owned(),
        for_anyone: true,
    };
    assert_eq!(report.cases[0].checks, Some(for_anyone));
}

/// Remembers how each job ended.
struct Asked<'d> {
    device: &'d dyn Device,
    asked: Mutex<Vec<(Option<Extent>, Outcome)>>,
}

impl<'d> Asked<'d> {
    fn new(device: &'d dyn Device) -> Asked<'d> {
        Asked {
            device,
            asked: Mutex::default(),
        }
    }
}

impl CaseRunner for Asked<'_> {
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        let ended = Here(self.device).run(job, deadlines)?;
        if let CaseEnd::Answer(answer) = &ended {
            let asked = (job.checks, answer.status.clone());
            self.asked.lock().unwrap().push(asked);
        }
        Ok(ended)
    }
}

/// Checks end like this; all else is done.
struct ChecksEnd<'d> {
    device: &'d dyn Device,
    ended: CaseEnd,
    asked: Mutex<Vec<Option<Extent>>>,
}

impl CaseRunner for ChecksEnd<'_> {
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        self.asked.lock().unwrap().push(job.checks);
        match job.checks {
            Some(_) => Ok(self.ended.clone()),
            None => Here(self.device).run(job, deadlines),
        }
    }
}

#[test]
fn a_block_that_does_not_end_fails_and_what_comes_after_it_is_undecided() {
    let endless = CaseEnd::Answer(Box::new(Answer {
        status: NoResult::failed(Kind::Deadline, "is there an endless loop?").into(),
        samples: 0,
        printed: String::new(),
        replay: None,
        counts: Default::default(),
        performance: Vec::new(),
    }));
    for unchecked in [Unchecked::Undecided, Unchecked::Passed] {
        let (report, asked) = after_checks(endless.clone(), unchecked);
        let failure = report.cases[0].status.failure().unwrap();
        assert_eq!(failure.kind, Kind::Deadline);
        assert_eq!(failure.device.as_deref(), Some("emulated"));
        // The second has a tenth of the fuel, and a GPU that does it may be right.
        let extents = [Some(Extent::Whole), Some(Extent::Sampled), None];
        assert_eq!(asked, extents);
        let Some(Checks::NotMade { reason, .. }) = &report.cases[1].checks else {
            panic!("{report:#?}")
        };
        insta::allow_duplicates! { insta::assert_snapshot!(reason, @"the emulated device did not get to its end: is there an endless loop?; this case had 1/10 of the usual time and instructions, because a case before it did not end: with those mended, it has all") };
        let is_undecided = report.cases[1].status.left_undecided().is_some();
        assert_eq!(is_undecided, unchecked == Unchecked::Undecided);
    }
}

#[test]
fn a_race_in_a_later_launch_alone_is_found_by_some_seeds() {
    // The second half of a plan of 64 launches: no first launch shows it.
    let text = MATADD.replace("n_x = 64, n_y = 6", "n_x = 640, n_y = 64");
    let lab_spec = lab_spec(&text);
    let body = "add.f32 %f3, %f1, %f2; ld.param.u32 %r5, [late]; setp.ne.u32 %p2, %r5, 0; \
                @%p2 st.global.u32 [seen], %r1;";
    let ptx = elementwise(body).replace(".param .u32 n)", ".param .u32 n, .param .u32 late)");
    let late = bundle(&lab_spec, &ptx, |case| {
        let len = matadd_plan(case).buffers()[0].len as usize;
        let mut plan = Plan::new("late");
        let [a, b, c] = ["a", "b", "c"].map(|name| plan.buffer(name, Element::F32, len));
        let config = LaunchConfig::covering(len as u32, 64).unwrap();
        for number in 0..64u32 {
            let is_late = len > 185 && number >= 32;
            let args = args![a, b, c, len as u32, u32::from(is_late)];
            plan.launch("sum", config, args).unwrap();
        }
        plan.output("c", c);
        plan
    });
    let kinds = (0..12).map(|seed| {
        let options = Options {
            seed: Some(seed),
            ..options()
        };
        let device = gpu();
        let report = graded_with(&lab_spec, &late, &device, &Here(&device), &options);
        assert_eq!(report.cases[0].status, Outcome::Passed, "{report:#?}");
        report.cases[1].status.kind()
    });
    let found = kinds.filter(|kind| *kind == Some(Kind::Race)).count();
    assert!((5..=11).contains(&found), "{found}");
}

#[test]
fn wrong_values_are_seen_in_a_case_that_ran_whole() {
    let lab_spec = lab_spec(MATADD);
    let wrong = bundle(
        &lab_spec,
        &elementwise("sub.f32 %f3, %f1, %f2;"),
        record_sum,
    );
    let device = gpu();
    let runner = Asked::new(&device);
    let report = graded_with(&lab_spec, &wrong, &device, &runner, &options());
    let asked = runner.asked.into_inner().unwrap();
    let [
        (Some(Extent::Whole), whole),
        (Some(Extent::Sampled), sampled),
        ..,
    ] = &asked[..]
    else {
        panic!("{asked:?}")
    };
    assert_eq!(whole.kind(), Some(Kind::WrongResult));
    assert_eq!(*sampled, Outcome::Passed);
    // The GPU has them wrong too, and what it says counts.
    let failure = report.cases[0].status.failure().unwrap();
    assert_eq!(failure.device, None);
    assert!(failure.diagnosis.is_some());
}

#[test]
fn what_is_right_on_the_gpu_alone_is_right_by_luck() {
    let lab_spec = lab_spec(MATADD);
    let bundle = built_in(&lab_spec, "grid2d_block1d_64");
    let device = gpu();
    let runner = ChecksEnd {
        device: &device,
        ended: CaseEnd::Answer(Box::new(Answer {
            status: NoResult::failed(Kind::WrongResult, "`c` is wrong").into(),
            samples: 0,
            counts: Default::default(),
            performance: Vec::new(),
            printed: String::new(),
            replay: None,
        })),
        asked: Mutex::default(),
    };
    let report = graded_with(&lab_spec, &bundle, &device, &runner, &options());
    assert_eq!(report.totals.earned, 0.0);
    let failure = report.cases[0].status.failure().unwrap();
    assert_eq!(
        (failure.kind, failure.category),
        (Kind::WrongResult, Category::Wrong)
    );
    assert_eq!(failure.device.as_deref(), Some("emulated"));
    insta::assert_snapshot!(failure.message, @"`c` is wrong; correct on the GPU only by chance: the result depends on thread order (`--device emulated` says more)");
}

#[test]
fn the_emulated_device_does_not_look_twice() {
    let lab_spec = lab_spec(MATADD);
    let report = emulated(&lab_spec, &built_in(&lab_spec, "grid2d_block1d_64"));
    assert!(report.cases.iter().all(|case| case.checks.is_none()));
}
