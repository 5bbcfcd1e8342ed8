//! One case of a lab on one device.

use crate::buffer::{HostBuffer, NamedBuffers, take};
use crate::device::{Device, Session, Timing};
use crate::error::Error;
use crate::lab::Case;
use crate::module::Module;
use crate::plan::Plan;

/// What a run gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The plan's outputs, by name.
    pub outputs: NamedBuffers,
    /// How long it took.
    pub timing: Timing,
}

/// Records the variant's plan, runs it once on the device, reads the outputs.
///
/// Buffers that are not inputs are poisoned first: see [`reset`].
///
/// # Errors
///
/// Whatever recording, preparing or running answers.
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

/// Runs a prepared plan once from these inputs, and reads the outputs.
///
/// Buffers that are not inputs are poisoned first: see [`reset`].
///
/// # Errors
///
/// As [`reset`]; what the device answers.
pub fn run_once(
    session: &mut dyn Session,
    plan: &Plan,
    inputs: &NamedBuffers,
) -> Result<Outcome, Error> {
    reset(session, plan, inputs)?;
    let timing = session.run()?;
    let outputs = outputs(session, plan)?;
    Ok(Outcome { outputs, timing })
}

/// Writes the inputs and poisons every other buffer of the plan: see [`Session::poison`].
///
/// # Errors
///
/// [`crate::plan::PlanError::UnknownName`] for an input that the plan has no buffer for; what the device answers.
pub fn reset(session: &mut dyn Session, plan: &Plan, inputs: &NamedBuffers) -> Result<(), Error> {
    write(session, plan, inputs, false)
}

/// The same as [`reset`], but sooner from the second time on: in memory that sessions share, the device keeps the inputs.
/// They are the same in all calls for one memory.
///
/// # Errors
///
/// As [`reset`].
pub fn restore(session: &mut dyn Session, plan: &Plan, inputs: &NamedBuffers) -> Result<(), Error> {
    write(session, plan, inputs, true)
}

/// Writes the inputs, poisons what is no input.
fn write(
    session: &mut dyn Session,
    plan: &Plan,
    inputs: &NamedBuffers,
    is_kept: bool,
) -> Result<(), Error> {
    let mut is_input = vec![false; plan.buffers().len()];
    for (name, buffer) in inputs {
        let id = plan.find_buffer(name)?;
        if !(is_kept && session.recall(id)?) {
            session.write(id, buffer)?;
            if is_kept {
                session.keep(id)?;
            }
        }
        is_input[id.index()] = true;
    }
    // Parts are written, and poisoned, with their whole.
    let parts = { plan.all_scattered().iter() }.flat_map(|scattered| &scattered.parts);
    for (id, _) in parts {
        is_input[id.index()] = true;
    }
    for id in plan.buffer_ids() {
        if !is_input[id.index()] {
            session.poison(id)?;
        }
    }
    Ok(())
}

/// Reads every output of the plan.
///
/// # Errors
///
/// What the device answers.
pub fn outputs(session: &mut dyn Session, plan: &Plan) -> Result<NamedBuffers, Error> {
    plan.outputs()
        .iter()
        .map(|(name, id)| Ok((name.clone(), session.read(*id)?)))
        .collect()
}

/// Reads every output of the plan into the buffer of its name where that has its type and length, and into a new one elsewhere.
///
/// # Errors
///
/// What the device answers.
pub fn outputs_into(
    session: &mut dyn Session,
    plan: &Plan,
    to: &mut NamedBuffers,
) -> Result<(), Error> {
    let mut old = std::mem::take(to);
    for (name, id) in plan.outputs() {
        let declared = plan.buffer_info(*id)?;
        let fits = |buffer: &HostBuffer| {
            (buffer.element(), buffer.len() as u64) == (declared.element, declared.len)
        };
        let buffer = match take(&mut old, name) {
            Ok(mut buffer) if fits(&buffer) => {
                session.read_into(*id, &mut buffer)?;
                buffer
            }
            _ => session.read(*id)?,
        };
        to.push((name.clone(), buffer));
    }
    Ok(())
}

/// What a plan of a case computes on the emulated device, for tests of solutions.
#[cfg(test)]
pub(crate) fn computed(module: &Module, case: &dyn Case, plan: &Plan) -> NamedBuffers {
    let run = || {
        plan.check()?;
        let device = crate::device::EmulatedDevice::default();
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
    crate::check::exact(expected, &computed(module, case, plan))
        .unwrap_or_else(|error| panic!("{}, {}: {error}", plan.name(), case.label()));
}
