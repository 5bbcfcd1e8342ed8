//! Whole grades, of right and wrong submissions, on the emulated device and on one whose clock is
//! ours.

mod approximations;
pub(super) mod clocked;
mod emulated;
mod ends;
mod kernels;
mod panics;
mod refused;
mod replayed;
mod right;
mod several;
mod time;
mod tolerance;
mod wrong;

use std::time::Duration;

use device::EmulatedDevice;
use device::{Device, DeviceKind};
use host::find_lab;
use plan::Plan;

use clocked::{Clocked, Who};
use kernels::{SUM, elementwise, record_sum};

use select::devices::{DeviceName, Named};
use stats::SamplingRule;

use super::job::CaseJob;
use super::runner::{CaseEnd, CaseRunner};
use super::sampling::Stopping;
use super::{GradeError, Options, Packed, Quiet, Submitted, grade};
use crate::bundle::{BuiltWith, Bundle, BundledCase, NotRecorded};
use crate::lab_spec::LabSpec;
use crate::outcome::{Failure, Kind, NoResult, Outcome};
use crate::report::{GradeReport, SubmissionId};
use crate::worker::{Clock, Deadlines, Exit, Phase, Watch};

pub(super) const MATADD: &str = r#"format_version = 1
lab = "matadd"
tolerance = { rule = "exact" }
[[case]]
name = "small"
group = "small"
points = 2
params = { n_x = 37, n_y = 5 }
[[case]]
name = "large"
group = "large"
points = 3
params = { n_x = 64, n_y = 6 }
[[performance]]
case = "large"
points = 10
against = "reference"
variant = "grid2d_block2d_32x8"
zero = 0.5
full = 1.5
[[performance]]
case = "large"
points = 20
against = "limit"
zero = 0.0
full = 1.0
"#;

pub(super) fn lab_spec(text: &str) -> LabSpec {
    LabSpec::parse(text, "lab.toml").unwrap()
}

/// A submission with these kernels, whose plans `record` makes from each case's own.
fn bundle(lab_spec: &LabSpec, ptx: &str, record: impl Fn(&dyn lab::LabCase) -> Plan) -> Bundle {
    bundle_for(lab_spec, ptx, |case, _| record(case))
}

/// A submission with these kernels, where `record` also learns for how many devices a plan is.
fn bundle_for(
    lab_spec: &LabSpec,
    ptx: &str,
    record: impl Fn(&dyn lab::LabCase, u32) -> Plan,
) -> Bundle {
    let lab = lab_spec.lab;
    let cases = lab_spec.cases.iter().map(|spec| {
        let case = spec.with_seed(lab, 0).unwrap();
        BundledCase {
            name: spec.name.clone(),
            problem: case.problem_json(),
            plan: Ok(record(case.as_ref(), spec.devices)),
        }
    });
    Bundle {
        draw: lab_spec.draw,
        lab: lab_spec.lab.name.to_owned(),
        ptx: ptx.to_owned(),
        cases: cases.collect(),
        timed: Vec::new(),
        built_with: BuiltWith {
            harness: "0".to_owned(),
            kernels: "test".to_owned(),
            llvm: 22,
            host: "test".to_owned(),
        },
        protections: Vec::new(),
    }
}

/// The plan of a built-in variant of matadd.
pub(super) fn matadd_plan(case: &dyn lab::LabCase) -> Plan {
    let variant = find_lab("matadd")
        .unwrap()
        .find("grid2d_block1d_64")
        .unwrap();
    variant.record(case).unwrap()
}

/// A built-in variant as a submission.
pub(super) fn built_in(lab_spec: &LabSpec, variant: &str) -> Bundle {
    let lab = lab_spec.lab;
    let module = &lab.module;
    // As the emulated device runs it.
    let ptx = module.for_device((9, 0)).ptx();
    let variant = lab.find(variant).unwrap();
    bundle(lab_spec, ptx, |case| variant.record(case).unwrap())
}

/// Jobs in this process, on this device.
struct Here<'d>(&'d dyn Device);

pub(super) struct Unwatched;

impl Watch for Unwatched {
    fn enter(&mut self, _: Phase) {}
    fn failed(&mut self, _: &Failure) {}
}

impl CaseRunner for Here<'_> {
    fn run(&self, job: &CaseJob, _: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        // As through a pipe.
        let json = serde_json::to_string(job).unwrap();
        let job = CaseJob {
            parts: job.parts.clone(),
            ..serde_json::from_str(&json).unwrap()
        };
        let ran = match job.checks {
            Some(extent) => job.run_on(&extent.device(job.fuel, false), &mut Unwatched),
            None => job.run_on(self.0, &mut Unwatched),
        };
        Ok(match ran {
            Ok(answer) => CaseEnd::Answer(Box::new(answer)),
            Err(why) => CaseEnd::NoAnswer(why),
        })
    }
}

pub(super) fn options() -> Options {
    Options {
        seed: Some(42),
        stopping: Stopping {
            rule: SamplingRule {
                min_samples: 10,
                min_time: Duration::MAX,
                max_samples: 12,
                noise: 0.005,
                spread: f64::MAX,
                patience: Duration::MAX,
            },
            points: 0.005,
        },
        ..Options::default()
    }
}

fn graded_with(
    lab_spec: &LabSpec,
    bundle: &Bundle,
    device: &dyn Device,
    runner: &dyn CaseRunner,
    options: &Options,
) -> GradeReport {
    let id = SubmissionId {
        name: "ada".to_owned(),
        sha256: None,
    };
    let name = match device.info().kind {
        DeviceKind::Cuda => DeviceName::Cuda(0),
        DeviceKind::Emulated => DeviceName::Emulated,
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.bundle");
    std::fs::write(&file, bundle.packed().unwrap().bytes).unwrap();
    let packed = Packed {
        file: &file,
        is_ours: true,
    };
    let submitted = Submitted {
        packed,
        id,
        lab_spec,
    };
    let on = Named { name, device };
    grade(submitted, on, runner, options, &mut Quiet).unwrap()
}

fn graded(lab_spec: &LabSpec, bundle: &Bundle, device: &dyn Device) -> GradeReport {
    graded_with(lab_spec, bundle, device, &Here(device), &options())
}

fn emulated(lab_spec: &LabSpec, bundle: &Bundle) -> GradeReport {
    graded(lab_spec, bundle, &EmulatedDevice::default())
}
