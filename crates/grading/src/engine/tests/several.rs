//! Cases for several devices.

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
