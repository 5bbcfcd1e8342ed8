//! One run of a plan: inputs written, other buffers poisoned, outputs read.

use crate::buffer::{HostBuffer, NamedBuffers, take};
use crate::check::find;
use crate::error::Error;
use crate::{Session, TimedSession, Timing};
use plan::{BufferId, Plan};

/// The results of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The plan's outputs, by name.
    pub outputs: NamedBuffers,
    /// How long it took.
    pub timing: Timing,
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
/// [`plan::PlanError::UnknownName`] for an input that the plan has no buffer for; what the device
/// answers.
pub fn reset(session: &mut dyn Session, plan: &Plan, inputs: &NamedBuffers) -> Result<(), Error> {
    start(session, plan, inputs, |session, id, input| {
        session.write(id, input)
    })
}

/// Does what [`reset`] does, but sooner from the second time on: in memory that sessions share, the
/// device keeps the inputs. They are the same in all calls for one memory.
///
/// # Errors
///
/// As [`reset`].
pub fn restore(
    session: &mut dyn TimedSession,
    plan: &Plan,
    inputs: &NamedBuffers,
) -> Result<(), Error> {
    start(session, plan, inputs, |session, id, input| {
        if !session.recall(id)? {
            session.write(id, input)?;
            session.keep(id)?;
        }
        Ok(())
    })
}

/// Writes each input by `write`, poisons all other buffers.
fn start<S: Session + ?Sized>(
    session: &mut S,
    plan: &Plan,
    inputs: &NamedBuffers,
    write: impl Fn(&mut S, BufferId, &HostBuffer) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut is_input = vec![false; plan.buffers().len()];
    for (name, buffer) in inputs {
        let id = plan.find_buffer(name)?;
        write(session, id, buffer)?;
        is_input[id.index()] = true;
    }
    // Parts are written, and poisoned, with their whole.
    let parts = plan
        .all_scattered()
        .iter()
        .flat_map(|scattered| &scattered.parts);
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
/// Errors of the device.
pub fn outputs(session: &mut dyn Session, plan: &Plan) -> Result<NamedBuffers, Error> {
    plan.outputs()
        .iter()
        .map(|(name, id)| Ok((name.clone(), session.read(*id)?)))
        .collect()
}

/// Whether every output of the plan holds these values, to the last bit; they are named as
/// [`outputs`] names them.
///
/// # Errors
///
/// Errors of the device.
pub fn holds(
    session: &mut dyn Session,
    plan: &Plan,
    expected: &NamedBuffers,
) -> Result<bool, Error> {
    if plan.outputs().len() != expected.len() {
        return Ok(false);
    }
    for (name, id) in plan.outputs() {
        let declared = plan.buffer_info(*id)?;
        let fits = |buffer: &&HostBuffer| {
            (buffer.element(), buffer.len() as u64) == (declared.element, declared.len)
        };
        let expected = find(expected, name).filter(fits);
        let Some(expected) = expected else {
            return Ok(false);
        };
        if !session.holds(*id, expected)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The name, the bytes and the digest of each output, in the order of names.
pub type Digests = Vec<(String, u64, [u64; 2])>;

/// The digests of all outputs of the plan; `None` where the device makes none: see
/// [`TimedSession::digest`].
///
/// # Errors
///
/// Errors of the device.
pub fn digests(session: &mut dyn TimedSession, plan: &Plan) -> Result<Option<Digests>, Error> {
    let mut digests = Vec::new();
    for (name, id) in plan.outputs() {
        let bytes = plan.buffer_info(*id)?.bytes();
        let Some(digest) = session.digest(*id)? else {
            return Ok(None);
        };
        digests.push((name.clone(), bytes, digest));
    }
    digests.sort();
    Ok(Some(digests))
}

/// Reads every output of the plan into the buffer of its name where that has its type and length,
/// and into a new one elsewhere.
///
/// # Errors
///
/// Errors of the device.
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
