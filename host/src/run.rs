//! One case of a lab on one device.

use crate::lab::Case;
use device::buffer::NamedBuffers;
use device::error::Error;
use device::module::Module;
use device::run::{Outcome, run_once};
use device::{CheckError, Device};
#[cfg(test)]
use plan::Plan;

/// Records the variant's plan, runs it once on the device, reads the outputs.
///
/// Buffers that are not inputs are poisoned first: see [`device::run::reset`].
///
/// # Errors
///
/// The errors of recording, preparing and running.
pub fn run_case(
    device: &dyn Device,
    module: &Module,
    case: &dyn Case,
    variant: &str,
) -> Result<Outcome, Error> {
    run_from(device, module, case, variant, &case.inputs()?)
}

/// The same from other inputs, such as what a part of the case left: see [`Case::part`].
///
/// # Errors
///
/// As [`run_case`].
pub fn run_from(
    device: &dyn Device,
    module: &Module,
    case: &dyn Case,
    variant: &str,
    inputs: &NamedBuffers,
) -> Result<Outcome, Error> {
    let plan = case.record_for(device.count(), variant)?;
    let mut session = device.prepare(module, &plan)?;
    run_once(session.as_mut(), &plan, inputs)
}

/// The comparison's finding, with the place in the problem's own coordinates.
pub fn explain(case: &dyn Case, error: &CheckError) -> String {
    error.located(|buffer, index| case.locate(buffer, index))
}

/// The results of a case's plan on the emulated device, for tests of solutions.
#[cfg(test)]
pub(crate) fn computed(module: &Module, case: &dyn Case, plan: &Plan) -> NamedBuffers {
    let run = || {
        plan.check()?;
        let device = device::EmulatedDevice::default();
        let mut session = device.prepare(module, plan)?;
        run_once(session.as_mut(), plan, &case.inputs()?)
    };
    let outcome: Result<Outcome, Error> = run();
    outcome
        .unwrap_or_else(|error| panic!("{}, {}: {error}", plan.name(), case.label()))
        .outputs
}

/// Asserts that a plan of a case computes these values, to the last bit, on the emulated device.
#[cfg(test)]
pub(crate) fn assert_computes(
    module: &Module,
    case: &dyn Case,
    plan: &Plan,
    expected: &NamedBuffers,
) {
    device::check::exact(expected, &computed(module, case, plan))
        .unwrap_or_else(|error| panic!("{}, {}: {error}", plan.name(), case.label()));
}
