//! The results of a solution's plan, for tests of solutions.

use device::buffer::NamedBuffers;
use device::error::Error;
use device::module::Module;
use device::run::{Outcome, run_once};
use device::{Device, EmulatedDevice};
use lab::LabCase;
use plan::Plan;

/// The results of a case's plan on the emulated device.
pub(crate) fn computed(module: &Module, case: &dyn LabCase, plan: &Plan) -> NamedBuffers {
    let run = || {
        plan.check()?;
        let device = EmulatedDevice::default();
        let mut session = device.prepare(module, plan)?;
        run_once(session.as_mut(), plan, &case.inputs()?)
    };
    let outcome: Result<Outcome, Error> = run();
    outcome
        .unwrap_or_else(|error| panic!("{}, {case}: {error}", plan.name()))
        .outputs
}

/// Asserts that a plan of a case computes these values, to the last bit, on the emulated device.
pub(crate) fn assert_computes(
    module: &Module,
    case: &dyn LabCase,
    plan: &Plan,
    expected: &NamedBuffers,
) {
    device::check::exact(expected, &computed(module, case, plan))
        .unwrap_or_else(|error| panic!("{}, {case}: {error}", plan.name()));
}
