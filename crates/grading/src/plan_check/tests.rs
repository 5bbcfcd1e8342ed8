use plan::{Element, LaunchConfig, args};
use serde_json::Value;

use super::*;
use crate::outcome::Outcome;

const ONE: Devices = Devices {
    number: 1,
    has_work: true,
};

/// One kernel that takes a pointer.
const PTX: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry step(.param .u64 step_param_0)
{
    ret;
}
";

fn problem() -> Value {
    let problem = plan::poisson::Problem {
        n: 5,
        iterations: 1,
    };
    serde_json::to_value(problem).unwrap()
}

/// The message for a plan that `record` makes for 5^3 points.
fn said(record: impl FnOnce(&mut Plan)) -> (Option<Kind>, String) {
    let mut plan = Plan::new("case");
    record(&mut plan);
    checked(&plan, &Module::new("kernels.rs", PTX))
}

/// The verdict on a plan for 5^3 points, and its message.
fn checked(plan: &Plan, module: &Module) -> (Option<Kind>, String) {
    match fits(
        "poisson",
        &problem(),
        plan,
        module,
        &LaunchLimits::SM_90,
        ONE,
    ) {
        Ok(()) => (None, String::new()),
        Err(NoResult::Failed(failure)) => (Some(failure.kind), failure.message),
        Err(other) => panic!("{other:?}"),
    }
}

fn u(plan: &mut Plan) -> plan::BufferId {
    plan.buffer("u", Element::F64, 125)
}

#[test]
fn what_fits_is_taken() {
    let (kind, message) = said(|plan| {
        let u = u(plan);
        let other = plan.scratch("other", Element::F64, 125);
        plan.launch("step", LaunchConfig::new(1, 1), args![u])
            .unwrap();
        plan.output("u", other);
    });
    assert_eq!((kind, message.as_str()), (None, ""));
}

#[test]
fn inputs_are_the_labs() {
    for record in [
        |plan: &mut Plan| {
            plan.buffer("v", Element::F64, 125);
        },
        |plan: &mut Plan| {
            plan.buffer("u", Element::F32, 125);
        },
        |plan: &mut Plan| {
            plan.buffer("u", Element::F64, 124);
        },
        |plan: &mut Plan| {
            plan.scratch("u", Element::F64, 125);
        },
        |_: &mut Plan| (),
    ] {
        let (kind, message) = said(record);
        assert_eq!(kind, Some(Kind::PlanInvalid));
        insta::allow_duplicates! {
            insta::assert_snapshot!(message, @"the plan does not begin with the lab's buffers `u` (125 of f64)");
        }
    }
    let (kind, message) = said(|plan| {
        let u = u(plan);
        plan.buffer("answer", Element::F64, 125);
        plan.output("u", u);
    });
    assert_eq!(kind, Some(Kind::PlanInvalid));
    insta::assert_snapshot!(message, @"the plan declares an input `answer` (125 of f64), which the lab does not have; use `Plan::scratch`");
}

#[test]
fn outputs_are_the_labs() {
    let (kind, message) = said(|plan| {
        u(plan);
    });
    assert_eq!(kind, Some(Kind::PlanInvalid));
    insta::assert_snapshot!(message, @r#"the plan's outputs are []; the lab's are ["u"]"#);
    let (short_kind, short_message) = said(|plan| {
        u(plan);
        let short = plan.scratch("short", Element::F64, 1);
        plan.output("u", short);
    });
    assert_eq!(short_kind, Some(Kind::PlanInvalid));
    insta::assert_snapshot!(short_message, @"output `u` must have 125 elements of f64, but buffer `short` has 1 of f64");
}

#[test]
fn outputs_have_buffers_of_their_own() {
    let problem = plan::wave2d::Problem {
        n_x: 4,
        n_y: 4,
        steps: 1,
        first_step: 0,
        scene: 0,
        k: 0.25,
    };
    let mut plan = Plan::new("case");
    let [_, u1] = ["u0", "u1"].map(|name| plan.buffer(name, Element::F32, 16));
    plan.output("u0", u1);
    plan.output("u1", u1);
    let module = Module::new("kernels.rs", PTX);
    let problem = serde_json::to_value(problem).unwrap();
    let refused = fits(
        "wave2d",
        &problem,
        &plan,
        &module,
        &LaunchLimits::SM_90,
        ONE,
    )
    .unwrap_err();
    assert_eq!(
        Outcome::from(refused.clone()).kind(),
        Some(Kind::PlanInvalid)
    );
    insta::assert_snapshot!(refused, @"outputs `u0` and `u1` are the same buffer `u1`; each needs one of its own");
}

#[test]
fn launches_fit_the_kernels() {
    let (kind, message) = said(|plan| {
        let u = u(plan);
        plan.output("u", u);
        plan.launch("other", LaunchConfig::new(1, 1), args![u])
            .unwrap();
    });
    assert_eq!(kind, Some(Kind::PlanInvalid));
    assert!(message.contains("has no kernel `other`"), "{message}");
}

/// The verdict on a kernel that adds to this number of doubles, in blocks of `threads` threads.
fn of_sums(sums: u32, bounds: &str, threads: u32) -> (Option<Kind>, String, Vec<String>) {
    let each = |line: &str| -> String {
        let lines = (0..sums).map(|i| line.replace('#', &i.to_string()));
        lines.collect()
    };
    let ptx = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry sums(.param .u64 u)\n{bounds}\n{{\n\
         .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<4>; .reg .f64 %s<{sums}>; .reg .f64 %x<2>;\n\
         ld.param.u64 %rd1, [u]; mov.u32 %r1, 0;\n{}ROUND:\nld.global.f64 %x1, [%rd1];\n{}\
         add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra ROUND;\n{}ret;\n}}\n",
        each("mov.f64 %s#, 0d0000000000000000;\n"),
        each("fma.rn.f64 %s#, %s#, %s#, %x1;\n"),
        each("st.global.f64 [%rd1], %s#;\n"),
    );
    let module = Module::new("kernels.rs", ptx);
    let mut plan = Plan::new("case");
    let u = u(&mut plan);
    plan.output("u", u);
    plan.launch("sums", LaunchConfig::new(1, threads), args![u])
        .unwrap();
    let (kind, message) = checked(&plan, &module);
    let mut tight = registers::Tight::default();
    tight.add(&plan, &module);
    (kind, message, tight.warnings())
}

#[test]
fn blocks_have_the_registers_that_their_threads_need() {
    let (kind, message, _) = of_sums(35, "", 1024);
    assert_eq!(kind, Some(Kind::PlanInvalid));
    insta::assert_snapshot!(message, @"plan `case`, command 0 (launch of `sums`): a thread of the kernel needs at least 70 registers, so that a block of [1024, 1, 1] takes 73728; a block has 65536; launch smaller blocks, or say how large they are with `max_threads` in its `#[kernel]`, so that the compiler takes fewer");
    for (sums, bounds, threads) in [
        (35, ".maxntid 1024, 1, 1", 1024),
        (35, ".maxnreg 64", 1024),
        (28, "", 768),
        (35, "", 256),
    ] {
        let said = of_sums(sums, bounds, threads);
        assert_eq!(
            said,
            (None, String::new(), Vec::new()),
            "{sums} {bounds} {threads}"
        );
    }
}

#[test]
fn blocks_that_may_need_more_registers_are_warned_of() {
    let (kind, _, warnings) = of_sums(28, "", 1024);
    assert_eq!(kind, None);
    insta::assert_snapshot!(warnings[0], @"kernel `sums` in blocks of 1024 threads takes at least 57344 of the 65536 registers that a block has; a compiler may take more, and a GPU then refuses the launch: say how large its blocks are with `max_threads` in its `#[kernel]`");
}

#[test]
fn memory_has_a_limit() {
    let (kind, message) = said(|plan| {
        let u = u(plan);
        plan.output("u", u);
        for name in ["a", "b", "c", "d", "e"] {
            plan.scratch(name, Element::F64, 1 << 35);
        }
    });
    assert_eq!(kind, Some(Kind::PlanTooLarge));
    insta::assert_snapshot!(message, @"the plan's buffers take 1374389535720 bytes together; no device has more than 1099511627776");
}

#[test]
fn every_lab_can_be_packed() {
    for lab in host::labs() {
        assert!(InterfaceInfo::find(lab.name).is_some(), "{}", lab.name);
    }
}
