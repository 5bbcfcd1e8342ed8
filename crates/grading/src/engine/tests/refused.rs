//! Submissions that are refused before anything runs.

use device::Element;
use plan::{BufferId, LaunchConfig, args};

use super::*;
use crate::engine::open;

#[test]
fn a_bundle_for_other_problems_is_refused() {
    let lab_spec = lab_spec(MATADD);
    let good = built_in(&lab_spec, "grid2d_block1d_64");
    let refused = |change: &dyn Fn(&mut Bundle)| {
        let mut bundle = good.clone();
        change(&mut bundle);
        let report = emulated(&lab_spec, &bundle);
        let failure = report.refused.clone().unwrap();
        assert_eq!(failure.kind, Kind::BundleMismatch);
        assert_eq!((report.totals.earned, report.totals.possible), (0.0, 35.0));
        failure.message
    };
    insta::assert_snapshot!(refused(&|bundle| bundle.lab = "wave2d".to_owned()), @"it is a submission for lab wave2d, not matadd; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| drop(bundle.cases.pop())), @"it does not have case `large` exactly once; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| bundle.cases.push(bundle.cases[0].clone())), @"it does not have case `small` exactly once; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| bundle.cases.push(BundledCase {
        name: "more".to_owned(),
        ..bundle.cases[0].clone()
    })), @"it has 3 cases, and the lab has 2; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| bundle.cases[0].problem["n_x"] = 36.into()), @"its plan for case `small` was recorded for another problem: `n_x` is 36 instead of 37; pack the submission again");
}

/// A case without a plan fails in the words of the bundle, and the others are graded.
#[test]
fn a_case_that_was_not_recorded_costs_itself() {
    let lab_spec = lab_spec(DRAWN);
    let bundle = built_in(&lab_spec.drawn(7), "grid2d_block1d_64");
    let device = EmulatedDevice::default();
    let graded = |change: &dyn Fn(&mut Bundle)| {
        let mut bundle = bundle.clone();
        change(&mut bundle);
        let options = Options {
            draw: Some(7),
            ..options()
        };
        graded_with(&lab_spec, &bundle, &device, &Here(&device), &options)
    };
    let not_recorded = |kind| {
        let message = "launch.rs: it panicked".to_owned();
        Err(NotRecorded { kind, message })
    };
    for (failing, earned) in [(0, 3.0), (1, 2.0)] {
        let report = graded(&|packed| {
            packed.cases[failing].plan = not_recorded(Kind::RecorderFailed);
        });
        assert_eq!(report.totals.earned, earned, "{report:#?}");
        let failure = report.cases[failing].status.failure().unwrap();
        assert_eq!(failure.kind, Kind::RecorderFailed);
        assert_eq!(failure.message, "launch.rs: it panicked");
        assert_eq!(failure.knew_hidden, failing == 1);
    }
    // A race is found by a run: it is not a reason for a missing plan.
    let report = graded(&|packed| packed.cases[0].plan = not_recorded(Kind::Race));
    insta::assert_snapshot!(report.refused.unwrap().message, @"case `small` is said to fail with race before it ran; pack the submission again");
}

/// Students whose files are the same share what is said of them.
#[test]
fn a_damaged_file_is_described_without_its_name() {
    let lab_spec = lab_spec(MATADD);
    let folder = tempfile::tempdir().unwrap();
    let job = open::OpenJob {
        bundle: folder.path().join("ada.bundle"),
        is_ours: false,
        parts: folder.path().to_owned(),
        lab_file: lab_spec.file,
        lab_text: lab_spec.text,
        draw: None,
        device: EmulatedDevice::default().info().clone(),
    };
    let said = || job.open().unwrap_err().to_string();
    insta::assert_snapshot!(said(), @"the file cannot be read: No such file or directory (os error 2)");
    std::fs::write(&job.bundle, "no bundle").unwrap();
    insta::assert_snapshot!(said(), @"the file is not a bundle; make one with `harness pack`");
}

/// How the small case fails with this plan.
fn refused_plan(ptx: &str, change: impl Fn(&mut Plan, [BufferId; 3])) -> Failure {
    let lab_spec = lab_spec(MATADD);
    let bundle = bundle(&lab_spec, ptx, |case| {
        let mut plan = record_sum(case);
        let ids: Vec<BufferId> = plan.buffer_ids().collect();
        change(&mut plan, [ids[0], ids[1], ids[2]]);
        plan
    });
    let report = emulated(&lab_spec, &bundle);
    assert_eq!(report.refused, None);
    report.cases[0].status.failure().unwrap().clone()
}

#[test]
fn plans_that_do_not_fit_are_refused() {
    let ptx = elementwise(SUM);
    let failure = refused_plan(&ptx, |plan, _| {
        plan.buffer("d", Element::F32, 8);
    });
    assert_eq!(failure.kind, Kind::PlanInvalid);
    insta::assert_snapshot!(failure.message, @"the plan declares an input `d` (8 of f32), which the lab does not have; use `Plan::scratch`");
    let wrong_output = refused_plan(&ptx, |plan, [a, ..]| plan.output("d", a));
    insta::assert_snapshot!(wrong_output.message, @r#"the plan's outputs are ["c", "d"]; the lab's are ["c"]"#);
    let too_much_shared = refused_plan(&ptx, |plan, [a, b, c]| {
        let config = LaunchConfig::new(1, 32).with_shared_mem_bytes(300_000);
        plan.launch("sum", config, args![a, b, c, 32u32]).unwrap();
    });
    assert_eq!(too_much_shared.kind, Kind::PlanInvalid);
    assert!(
        too_much_shared.message.contains("300000"),
        "{}",
        too_much_shared.message
    );
    let unknown_kernel = refused_plan(&ptx, |plan, _| {
        plan.launch("add", LaunchConfig::new(1, 32), args![])
            .unwrap();
    });
    assert!(
        unknown_kernel.message.contains("has no kernel `add`"),
        "{}",
        unknown_kernel.message
    );
    let not_ptx = refused_plan("garbage", |_, _| {});
    assert_eq!(not_ptx.kind, Kind::PtxInvalid);
}

#[test]
fn plans_that_are_too_large_are_refused() {
    let ptx = elementwise(SUM);
    let failure = refused_plan(&ptx, |plan, _| {
        plan.scratch("d", Element::U8, 1 << 40);
    });
    assert_eq!(failure.kind, Kind::PlanTooLarge);
    insta::assert_snapshot!(failure.message, @"the plan needs 1099511627776 bytes of memory beside the lab's buffers; the limit is 67117744");
    let many_commands = refused_plan(&ptx, |plan, [a, ..]| {
        for _ in 0..crate::plan_check::MAX_COMMANDS {
            plan.fill(a, 0).unwrap();
        }
    });
    insta::assert_snapshot!(many_commands.message, @"the plan needs 1000001 launches and copies; the limit is 1000000");
    let many_buffers = refused_plan(&ptx, |plan, _| {
        for i in 0..257 {
            plan.scratch(i.to_string(), Element::U8, 1);
        }
    });
    insta::assert_snapshot!(many_buffers.message, @"the plan needs 257 buffers of its own; the limit is 256");
}

#[test]
fn plans_over_more_devices_than_the_case_has_are_refused() {
    let failure = refused_plan(&elementwise(SUM), |plan, _| {
        plan.scratch_on(1, "there", Element::U8, 8);
    });
    assert_eq!(failure.kind, Kind::PlanInvalid);
    insta::assert_snapshot!(failure.message, @"the plan uses 2 devices; this case has 1 (`Plan::available_devices`)");
}

#[test]
fn what_the_emulated_device_does_not_know_is_undecided_there() {
    let lab_spec = lab_spec(MATADD);
    let body = "add.f32 %f3, %f1, %f2; tcgen05.fence::before_thread_sync;";
    let report = emulated(
        &lab_spec,
        &bundle(&lab_spec, &elementwise(body), record_sum),
    );
    let Outcome::Undecided { reason } = &report.cases[0].status else {
        panic!("{report:#?}")
    };
    assert!(
        reason.contains("tcgen05") && reason.ends_with("; grade it on a GPU"),
        "{reason}"
    );
    // A submission takes nothing out of the total.
    let totals = report.totals;
    assert_eq!(
        (totals.earned, totals.undecided, totals.graded()),
        (0.0, 2.0, 2.0)
    );
    assert!(report.is_right() && !report.is_complete());
    // On a GPU it is graded, and the report says that it was not checked on the emulated device.
    let device = Clocked::new(|_, _| 10.0);
    let right = bundle(&lab_spec, &elementwise(SUM), record_sum);
    let runner = Unknown(
        &device,
        bundle(&lab_spec, &elementwise(body), record_sum).ptx,
    );
    let unmade = graded_with(&lab_spec, &right, &device, &runner, &options());
    let left = unmade.cases[0].status.left_undecided().unwrap();
    assert!(
        left.starts_with("right on the GPU, and not checked"),
        "{left}"
    );
    let Some(crate::report::Checks::NotMade { reason: why, .. }) = &unmade.cases[0].checks else {
        panic!("{unmade:#?}")
    };
    assert!(
        why.contains("tcgen05") && !why.contains("grade it"),
        "{why}"
    );
}

/// Has other kernels looked at: what this GPU can run, which is the emulated device, that cannot
/// run them.
struct Unknown<'d>(&'d dyn Device, String);

impl CaseRunner for Unknown<'_> {
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        let mut job = job.clone();
        let other = tempfile::tempdir().unwrap();
        if job.checks.is_some() {
            std::fs::write(open::kernels_file(other.path()), &self.1).unwrap();
            for case in 0..2 {
                let plan = open::plan_file(&job.parts, case);
                std::fs::copy(plan, open::plan_file(other.path(), case)).unwrap();
            }
            job.parts = other.path().to_owned();
        }
        Here(self.0).run(&job, deadlines)
    }
}

#[test]
fn a_problem_however_large_is_not_quoted_in_every_case() {
    let lab_spec = lab_spec(MATADD);
    let mut huge = built_in(&lab_spec, "grid2d_block1d_64");
    huge.cases[0].problem = serde_json::json!({ "n_x": "9".repeat(1 << 20), "n_y": [0, 0, 0] });
    let report = emulated(&lab_spec, &huge);
    assert_eq!(report.refused.as_ref().unwrap().kind, Kind::BundleMismatch);
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.len() < 10_000, "{}", json.len());
}

#[test]
fn what_a_bundle_says_of_its_making_is_bounded() {
    let lab_spec = lab_spec(MATADD);
    let mut boast = built_in(&lab_spec, "grid2d_block1d_64");
    boast.protections = (0..100)
        .map(|_| crate::report::Protection {
            name: "n".repeat(1 << 16),
            in_force: true,
            detail: "d".repeat(1 << 16),
        })
        .collect();
    let json = serde_json::to_string(&emulated(&lab_spec, &boast)).unwrap();
    assert!(json.len() < 40_000, "{}", json.len());
}

#[test]
fn whoever_packs_a_bundle_does_not_draw_its_cases() {
    let lab_spec = lab_spec(DRAWN);
    let drawn = lab_spec.drawn(7);
    let bundle = built_in(&drawn, "grid2d_block1d_64");
    let device = EmulatedDevice::default();
    let graded = |packed: &Bundle, draw| {
        let options = Options { draw, ..options() };
        graded_with(&lab_spec, packed, &device, &Here(&device), &options)
    };
    let report = graded(&bundle, Some(7));
    assert!(
        report.is_right() && report.totals.earned == 5.0,
        "{report:#?}"
    );
    assert_eq!(report.draw, Some(7));
    // Nobody here knows the number: the case counts, and earns nothing.
    let unnamed = graded(&bundle, None);
    assert_eq!(
        (unnamed.totals.earned, unnamed.totals.undecided),
        (2.0, 3.0)
    );
    insta::assert_snapshot!(unnamed.cases[1].status.left_undecided().unwrap(), @"the author of the bundle drew this case: name the number that it was packed with (--draw), or grade the folder");
    let refused = |packed: &Bundle, draw| {
        let whole = graded(packed, draw);
        assert_eq!(whole.totals.earned, 0.0);
        whole.refused.unwrap().message
    };
    insta::assert_snapshot!(refused(&bundle, Some(8)), @"its drawn cases do not follow from the number that it is graded with (--draw); pack the submission again");
    // Of the right number, with a problem of another.
    let other = built_in(&lab_spec.drawn(9), "grid2d_block1d_64");
    let forged = Bundle {
        draw: Some(7),
        ..other
    };
    let message = refused(&forged, Some(7));
    assert!(
        message.contains("case `drawn` was recorded for another problem: `n_"),
        "{message}"
    );
    let without = Bundle {
        draw: None,
        ..bundle
    };
    insta::assert_snapshot!(refused(&without, Some(7)), @"it was packed without drawn cases, which the lab has; pack the submission again");
}

const DRAWN: &str = r#"format_version = 1
lab = "matadd"
tolerance = { rule = "exact" }
[[case]]
name = "small"
group = "small"
points = 2
params = { n_x = 37, n_y = 5 }
[[case]]
name = "drawn"
group = "hidden"
points = 3
most_updates = 10_000
params = { n_x = { from = 3, to = 3000 }, n_y = { from = 1, to = 40 } }
"#;

#[test]
fn memory_that_kernels_declare_is_bounded() {
    let lab_spec = lab_spec(MATADD);
    let ptx = elementwise(SUM).replace(
        ".global .align 4 .u32 seen = 0;",
        ".global .align 4 .u32 seen = 0; .global .align 4 .b8 huge[67108864];",
    );
    let report = emulated(&lab_spec, &bundle(&lab_spec, &ptx, record_sum));
    let failure = report.cases[0].status.failure().unwrap();
    assert_eq!(failure.kind, Kind::PlanTooLarge);
    insta::assert_snapshot!(failure.message, @"the kernels' global variables take 67108868 bytes; the limit is 67108864");
}

#[test]
fn text_without_end_is_no_ptx() {
    let lab_spec = lab_spec(MATADD);
    let long = elementwise(SUM) + &"// and so on\n".repeat(1 << 20);
    let deep = elementwise(&"{ ".repeat(1 << 20));
    let nested =
        elementwise(SUM).replace("seen = 0;", &format!("seen = {}0;", "(".repeat(1 << 20)));
    for ptx in [long, deep, nested] {
        let report = emulated(&lab_spec, &bundle(&lab_spec, &ptx, record_sum));
        let failure = report.cases[0].status.failure().unwrap();
        assert_eq!(failure.kind, Kind::PtxInvalid, "{}", failure.message);
        assert!(failure.message.len() < 1000, "{}", failure.message.len());
    }
}

#[test]
fn names_that_a_bundle_invents_are_not_obeyed() {
    let lab_spec = lab_spec(MATADD);
    let graded = |name: &str| {
        let named = bundle(&lab_spec, &elementwise(SUM), |case| {
            let own = matadd_plan(case);
            let mut plan = Plan::new(name);
            for buffer in own.buffers() {
                plan.buffer(buffer.name.clone(), buffer.element, buffer.len as usize);
            }
            let c = plan.find_buffer("c").unwrap();
            plan.scratch(name, Element::F32, 8);
            plan.launch("<script>", LaunchConfig::new(1, 32), args![c])
                .unwrap();
            plan.output("c", c);
            plan
        });
        emulated(&lab_spec, &named)
    };
    let report = graded("<script>");
    assert_eq!(
        report.cases[0].status.kind(),
        Some(Kind::PlanInvalid),
        "{report:#?}"
    );
    // With control characters a plan is none at all.
    for evil in ["\u{1b}[2J", "a\nb", "\u{202e}"] {
        let refused = graded(evil).refused.unwrap();
        assert_eq!(refused.kind, Kind::BundleDamaged);
        assert!(!refused.message.contains(evil), "{}", refused.message);
    }
}
