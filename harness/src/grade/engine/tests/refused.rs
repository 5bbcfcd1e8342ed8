//! What is refused before anything runs.

use host::{BufferId, Element, LaunchConfig, args};

use super::*;

#[test]
fn a_bundle_for_other_problems_is_refused() {
    let course = course(MATADD);
    let good = built_in(&course, "grid2d_block1d_64");
    let refused = |change: &dyn Fn(&mut Bundle)| {
        let mut bundle = good.clone();
        change(&mut bundle);
        let report = emulated(&course, &bundle);
        let failing = report.refused.clone().unwrap();
        assert_eq!(failing.kind, Kind::BundleMismatch);
        assert_eq!((report.totals.earned, report.totals.possible), (0.0, 35.0));
        failing.message
    };
    insta::assert_snapshot!(refused(&|bundle| bundle.lab = "wave2d".to_owned()), @"it is a submission for lab wave2d, not matadd; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| drop(bundle.cases.pop())), @"it does not have case `large` exactly once; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| bundle.cases.push(bundle.cases[0].clone())), @"it does not have case `small` exactly once; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| bundle.cases.push(BundledCase {
        name: "more".to_owned(),
        ..bundle.cases[0].clone()
    })), @"it has 3 cases, and the lab has 2; pack the submission again");
    insta::assert_snapshot!(refused(&|bundle| bundle.cases[0].problem["n_x"] = 36.into()), @r#"its plan for case `small` was recorded for another problem: {"n_x":36,"n_y":5} in place of {"n_x":37,"n_y":5}; pack the submission again"#);
}

/// How the small case fails with this plan.
fn refused_plan(ptx: &str, change: impl Fn(&mut Plan, [BufferId; 3])) -> Failing {
    let course = course(MATADD);
    let bundle = bundle(&course, ptx, |case| {
        let mut plan = record_sum(case);
        let ids: Vec<BufferId> = plan.buffer_ids().collect();
        change(&mut plan, [ids[0], ids[1], ids[2]]);
        plan
    });
    let report = emulated(&course, &bundle);
    assert_eq!(report.refused, None);
    report.cases[0].status.failing().unwrap().clone()
}

#[test]
fn plans_that_do_not_fit_are_refused() {
    let ptx = elementwise(SUM);
    let failing = refused_plan(&ptx, |plan, _| {
        plan.buffer("d", Element::F32, 8);
    });
    assert_eq!(failing.kind, Kind::PlanInvalid);
    insta::assert_snapshot!(failing.message, @"the plan's buffers are not the lab's: it has `a`: 185 f32, `b`: 185 f32, `c`: 185 f32, `d`: 8 f32; the lab declares `a`: 185 f32, `b`: 185 f32, `c`: 185 f32");
    let failing = refused_plan(&ptx, |plan, [a, ..]| plan.output("d", a));
    insta::assert_snapshot!(failing.message, @"output `d` is not one that the lab asks for; there are: c");
    let failing = refused_plan(&ptx, |plan, [a, b, c]| {
        let config = LaunchConfig::new(1, 32).with_shared_mem_bytes(300_000);
        plan.launch("sum", config, args![a, b, c, 32u32]).unwrap();
    });
    assert_eq!(failing.kind, Kind::PlanInvalid);
    assert!(failing.message.contains("300000"), "{}", failing.message);
    let failing = refused_plan(&ptx, |plan, _| {
        plan.launch("add", LaunchConfig::new(1, 32), args![])
            .unwrap();
    });
    assert!(
        failing.message.contains("has no kernel `add`"),
        "{}",
        failing.message
    );
    let failing = refused_plan("garbage", |_, _| {});
    assert_eq!(failing.kind, Kind::PtxInvalid);
}

#[test]
fn plans_that_are_too_large_are_refused() {
    let ptx = elementwise(SUM);
    let failing = refused_plan(&ptx, |plan, _| {
        plan.scratch("d", Element::U8, 1 << 40);
    });
    assert_eq!(failing.kind, Kind::PlanTooLarge);
    insta::assert_snapshot!(failing.message, @"the plan needs 1099511627776 bytes of memory beside the lab's buffers; the limit is 67117744");
    let failing = refused_plan(&ptx, |plan, [a, ..]| {
        for _ in 0..crate::grade::engine::screen::MOST_COMMANDS {
            plan.fill(a, 0).unwrap();
        }
    });
    insta::assert_snapshot!(failing.message, @"the plan needs 1000001 launches and copies; the limit is 1000000");
    let failing = refused_plan(&ptx, |plan, _| {
        for i in 0..257 {
            plan.scratch(i.to_string(), Element::U8, 1);
        }
    });
    insta::assert_snapshot!(failing.message, @"the plan needs 257 buffers of its own; the limit is 256");
}
