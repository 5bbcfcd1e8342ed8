//! Cases for several devices.

use device::Element;
use plan::{LaunchConfig, args};

use super::*;

const SEVERAL: &str = r#"format_version = 1
lab = "poisson"
tolerance = { rule = "exact" }
[[case]]
name = "one"
group = "small"
points = 1
params = { n = 9, iterations = 3 }
[[case]]
name = "two"
group = "small"
points = 2
devices = 2
params = { n = 9, iterations = 3 }
[[case]]
name = "three"
group = "small"
points = 4
devices = 3
params = { n = 10, iterations = 2 }
"#;

/// A built-in variant of poisson, recorded for `devices(asked)` devices.
fn submitted(lab_spec: &LabSpec, variant: &str, devices: impl Fn(u32) -> u32) -> Bundle {
    let lab = find_lab("poisson").unwrap();
    let variant = lab.find(variant).unwrap();
    let ptx = lab.module.for_device((9, 0)).ptx();
    bundle_for(lab_spec, ptx, |case, asked| {
        variant.record_for(case, devices(asked)).unwrap()
    })
}

fn on_three(lab_spec: &LabSpec, bundle: &Bundle) -> GradeReport {
    graded(lab_spec, bundle, &EmulatedDevice::default().with_devices(3))
}

fn said(report: &GradeReport) -> Vec<String> {
    let cases = report.cases.iter();
    cases
        .map(|case| {
            let why = match &case.status {
                Outcome::Passed | Outcome::Measured => return format!("{}:", case.name),
                Outcome::Failed(failure) => &failure.message,
                Outcome::NotGradedHere { reason } | Outcome::Undecided { reason } => reason,
            };
            format!("{}: {why}", case.name)
        })
        .collect()
}

#[test]
fn a_submission_computes_on_as_many_devices_as_the_case_has() {
    let lab_spec = lab_spec(SEVERAL);
    let report = on_three(
        &lab_spec,
        &submitted(&lab_spec, "split_single", |asked| asked),
    );
    assert!(
        report
            .cases
            .iter()
            .all(|case| case.status == Outcome::Passed),
        "{:?}",
        said(&report)
    );
}

#[test]
fn one_that_leaves_devices_out_fails_those_cases() {
    let lab_spec = lab_spec(SEVERAL);
    let report = on_three(&lab_spec, &submitted(&lab_spec, "split_single", |_| 1));
    insta::assert_snapshot!(said(&report).join("\n"), @r"
    one:
    two: the plan uses 1 device; this case has 2 (`Plan::available_devices`)
    three: the plan uses 1 device; this case has 3 (`Plan::available_devices`)
    ");
}

#[test]
fn one_that_uses_more_devices_fails() {
    let lab_spec = lab_spec(SEVERAL);
    let report = on_three(
        &lab_spec,
        &submitted(&lab_spec, "split_single", |asked| asked + 1),
    );
    insta::assert_snapshot!(said(&report).join("\n"), @r"
    one: the plan uses 2 devices; this case has 1 (`Plan::available_devices`)
    two: the plan uses 3 devices; this case has 2 (`Plan::available_devices`)
    three: the plan uses 4 devices; this case has 3 (`Plan::available_devices`)
    ");
}

/// Each device computes at least half of an equal share.
fn half() -> LabSpec {
    lab_spec(&SEVERAL.replace(
        "[[case]]\nname = \"one\"",
        "each_device = 0.5\n[[case]]\nname = \"one\"",
    ))
}

/// The plan of one device, with a buffer on each further one, and with what `add` records for it.
fn beside(lab_spec: &LabSpec, add: impl Fn(&mut Plan, u32)) -> Bundle {
    let lab = find_lab("poisson").unwrap();
    let variant = lab.find("split_single").unwrap();
    // One element of an array of their own.
    let idle = ".visible .entry idle(.param .u64 p) {
        .reg .u64 %a;
        ld.param.u64 %a, [p];
        cvta.to.global.u64 %a, %a;
        st.global.u64 [%a], %a;
        ret;
    }";
    let ptx = lab.module.for_device((9, 0)).ptx().to_owned() + idle;
    bundle_for(lab_spec, &ptx, |case, devices| {
        let mut plan = variant.record_for(case, 1).unwrap();
        for device in 1..devices {
            add(&mut plan, device);
        }
        plan
    })
}

#[test]
fn each_device_of_the_course_s_solutions_works() {
    let lab_spec = half();
    for variant in ["split_single", "fast", "fast_at_once"] {
        let report = on_three(&lab_spec, &submitted(&lab_spec, variant, |asked| asked));
        let mut cases = report.cases.iter();
        let all_passed = cases.all(|case| case.status == Outcome::Passed);
        assert!(all_passed, "{variant}: {:?}", said(&report));
    }
}

#[test]
fn a_device_with_a_buffer_and_no_launch_does_not_work() {
    let lab_spec = half();
    let idle = beside(&lab_spec, |plan, device| {
        plan.scratch_on(device, format!("idle.{device}"), Element::F64, 8);
    });
    insta::assert_snapshot!(said(&on_three(&lab_spec, &idle)).join("\n"), @r"
    one:
    two: device 1 of 2 launches no kernel; each device computes its share: a launch runs where the buffers are that it writes (`Plan::scratch_on`, `Slabs::share`)
    three: device 1 of 3 launches no kernel; each device computes its share: a launch runs where the buffers are that it writes (`Plan::scratch_on`, `Slabs::share`)
    ");
}

#[test]
fn a_device_whose_stores_nobody_reads_does_not_work() {
    let lab_spec = half();
    let busy = beside(&lab_spec, |plan, device| {
        let own = plan.scratch_on(device, format!("idle.{device}"), Element::F64, 8);
        let one = LaunchConfig::new(1, 1);
        plan.launch("idle", one, args![own]).unwrap();
    });
    insta::assert_snapshot!(said(&on_three(&lab_spec, &busy)).join("\n"), @r"
    one:
    two: device 1 of 2 computes 0 of the 343 values that the results follow from; this lab asks each device for 0.5 of an equal share, 86: let it compute its share
    three: device 1 of 3 computes 0 of the 512 values that the results follow from; this lab asks each device for 0.5 of an equal share, 86: let it compute its share
    ");
}

#[test]
fn where_nothing_is_computed_no_device_works() {
    let text = half().text.replace("iterations = 2", "iterations = 0");
    let lab_spec = lab_spec(&text);
    let report = on_three(
        &lab_spec,
        &submitted(&lab_spec, "split_single", |asked| asked),
    );
    assert_eq!(
        report.cases[2].status,
        Outcome::Passed,
        "{:?}",
        said(&report)
    );
}
