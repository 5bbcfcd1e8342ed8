//! A variant's case on one device.

use device::buffer::NamedBuffers;
use device::error::Error;
use device::run::{Outcome, run_once};
use device::{CheckError, Device};

use crate::case::LabCase;
use crate::variant::Variant;

/// Records the variant's plan, runs it once on the device, reads the outputs.
///
/// Buffers that are not inputs are poisoned first: see [`device::run::reset`].
///
/// # Errors
///
/// The errors of recording, preparing and running.
pub fn run_case(
    device: &dyn Device,
    case: &dyn LabCase,
    variant: &Variant,
) -> Result<Outcome, Error> {
    run_from(device, case, variant, &case.inputs()?)
}

/// Runs the variant once as [`run_case`] does, from other inputs, such as what a part of the case
/// left: see [`LabCase::part`].
///
/// # Errors
///
/// As [`run_case`].
pub fn run_from(
    device: &dyn Device,
    case: &dyn LabCase,
    variant: &Variant,
    inputs: &NamedBuffers,
) -> Result<Outcome, Error> {
    let plan = variant.record_on(case, device)?;
    let mut session = device.prepare(&variant.module, &plan)?;
    run_once(session.as_mut(), &plan, inputs)
}

/// The comparison's finding, with the place in the problem's own coordinates.
pub fn explain(case: &dyn LabCase, error: &CheckError) -> String {
    error.located(|buffer, index| case.locate(buffer, index))
}
