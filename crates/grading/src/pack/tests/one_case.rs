//! A case that cannot be recorded, or whose plan does not fit, costs that case alone.

use super::*;
use sandbox::ResourceLimits;

/// The fault of each case, by its name, of a submission that does this first.
fn cases_of(body: &str, options: Options) -> Vec<(String, Option<NotRecorded>)> {
    let bundle = packed(&before_recording(body), options).unwrap();
    let cases = bundle.cases.into_iter();
    cases.map(|case| (case.name, case.plan.err())).collect()
}

/// How the only case fails that does: `small`, whose n is 5.
fn small_fails(body: &str, options: Options) -> NotRecorded {
    let cases = cases_of(&format!("if problem.n == 5 {{ {body} }}"), options);
    let [(_, Some(fault)), (_, None), (_, None)] = cases.as_slice() else {
        panic!("{body}: {cases:?}")
    };
    fault.clone()
}

// Windows has no signals.
#[test]
#[cfg(unix)]
fn the_other_cases_are_recorded() {
    for (body, kind, said) in [
        ("panic!(\"too long\")", Kind::RecorderFailed, "too long"),
        (
            "std::process::exit(0)",
            Kind::RecorderFailed,
            "recording ended before case `small`: there are 0 of 2 plans",
        ),
        ("std::process::exit(3)", Kind::RecorderFailed, "exit code 3"),
        ("std::process::abort()", Kind::RecorderFailed, "signal 6"),
        (
            "let c = LaunchConfig::new(0, 128); plan.launch(\"halve\", c, args![buffers.u, 5u64])?;",
            Kind::RecorderFailed,
            "case `small`: plan `small`, command 0",
        ),
        (
            "let c = LaunchConfig::new(1, 2048); plan.launch(\"halve\", c, args![buffers.u, 5u64])?;",
            Kind::PlanInvalid,
            "exceeds the device's limit",
        ),
        (
            "let c = LaunchConfig::new(1, 128); plan.launch(\"halve\", c, args![buffers.u, 5u32])?;",
            Kind::PlanInvalid,
            "there: it is for `n` in kernels.rs:8",
        ),
        (
            "loop { plan.fill(buffers.u, 0)? }",
            Kind::PlanTooLarge,
            "launch.rs: case `small`: ",
        ),
    ] {
        let fault = small_fails(body, options());
        assert_eq!(fault.kind, kind, "{body}: {}", fault.message);
        assert!(fault.message.contains(said), "{body}: {}", fault.message);
    }
}

/// Of a recorder that hangs in one case, the others are recorded too; of one that hangs in every
/// case, not one after the other.
#[test]
fn a_recorder_that_hangs_takes_seconds() {
    let limited = || Options {
        record: ResourceLimits {
            wall: Duration::from_secs(10),
            cpu_s: 2,
            ..options().record
        },
        ..options()
    };
    let fault = small_fails("loop {}", limited());
    assert_eq!(fault.kind, Kind::RecorderTimedOut, "{}", fault.message);
    let cases = cases_of("if problem.n != 4 { loop {} }", limited());
    let [(_, Some(small)), (_, Some(hidden)), (_, None)] = cases.as_slice() else {
        panic!("{cases:?}")
    };
    insta::assert_snapshot!(small.message, @"launch.rs: recording took more than 2 s; it only lists launches, and takes milliseconds");
    insta::assert_snapshot!(hidden.message, @"in a hidden case: launch.rs: recording took more than 1 s; it only lists launches, and takes milliseconds [recorder_timed_out]");
}

/// The time of recorders has a bound that does not depend on the number of cases.
#[test]
fn recorders_are_not_waited_for_without_end() {
    let first = options().record;
    let mut allowance = Allowance::default();
    let cpu_s = |left: &Allowance| left.limits(first).map(|limits| limits.cpu_s);
    assert_eq!(cpu_s(&allowance), Some(10));
    for expected in [Some(2), Some(2), None] {
        allowance.timed_out += 1;
        assert_eq!(cpu_s(&allowance), expected);
    }
    insta::assert_snapshot!(allowance.over().message, @"launch.rs: not recorded: recording the cases before took too long 3 times; it only lists launches, and takes milliseconds");
    // Hidden cases have their own chance.
    assert_eq!(cpu_s(&allowance.for_others()), Some(2));
    let long = Allowance {
        timed_out: 0,
        taken: first.wall * 3,
    };
    assert_eq!(cpu_s(&long), None);
    insta::assert_snapshot!(long.over().message, @"launch.rs: not recorded: recording the cases before took too long; it only lists launches, and takes milliseconds");
}
