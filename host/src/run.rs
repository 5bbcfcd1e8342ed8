//! One case of a lab on one device.

use crate::buffer::NamedBuffers;
use crate::device::{Device, Session, Timing};
use crate::error::Error;
use crate::lab::Case;
use crate::module::Module;
use crate::plan::{BufferId, Plan};

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
    let plan = case.record(variant)?;
    let mut session = device.prepare(module, &plan)?;
    reset(session.as_mut(), &plan, &case.inputs()?)?;
    let timing = session.run()?;
    let outputs = outputs(session.as_mut(), &plan)?;
    Ok(Outcome { outputs, timing })
}

/// Writes the inputs and poisons every other buffer of the plan: see [`Session::poison`].
///
/// # Errors
///
/// [`crate::plan::PlanError::UnknownName`] for an input that the plan has no buffer for; what the device answers.
pub fn reset(session: &mut dyn Session, plan: &Plan, inputs: &NamedBuffers) -> Result<(), Error> {
    write(session, plan, inputs, |_| true)
}

/// Between two runs, the same as [`reset`] with the same inputs, but sooner: inputs that no command of the plan can write
/// (see [`Plan::may_write`]) are taken to be as they were.
///
/// # Errors
///
/// As [`reset`].
pub fn restore(session: &mut dyn Session, plan: &Plan, inputs: &NamedBuffers) -> Result<(), Error> {
    let may_write = plan.may_write();
    write(session, plan, inputs, |id| may_write[id.index()])
}

/// Writes those inputs that `is_due` names, poisons what is no input.
fn write(
    session: &mut dyn Session,
    plan: &Plan,
    inputs: &NamedBuffers,
    is_due: impl Fn(BufferId) -> bool,
) -> Result<(), Error> {
    let mut is_input = vec![false; plan.buffers().len()];
    for (name, buffer) in inputs {
        let id = plan.find_buffer(name)?;
        if is_due(id) {
            session.write(id, buffer)?;
        }
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
