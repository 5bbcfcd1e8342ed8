//! A submission's plan against its lab, its kernels, and what a device allows.
//!
//! [`fits`] is checked when a submission is packed, for every GPU, and again when its bundle is
//! graded, which anyone may have written, for the device at hand. [`is_affordable`] bounds what a
//! plan may cost the machine that grades it. [`registers`] warns of what a GPU may refuse.

mod devices;
pub mod registers;

use device::LaunchLimits;
use device::Module;
use device::validate::validate;
use plan::InterfaceInfo;
use plan::Plan;
use plan::{Buffer, Role};

use crate::outcome::{Failure, Kind, NoResult, fail};
pub use devices::{Devices, each_works};

/// The most device memory that a plan's buffers may take together, in bytes; no device has more.
const MAX_BUFFER_BYTES: u64 = 1 << 40;
/// Commands that a plan may have: enough for 32 launches per step in the longest case of any lab.
pub const MAX_COMMANDS: usize = 1_000_000;
/// Memory of its own that a plan may have beside the lab's buffers: this much, and
/// [`SCRATCH_TIMES`] times their size.
const SCRATCH_BYTES: u64 = 64 << 20;
const SCRATCH_TIMES: u64 = 4;
/// Buffers of its own that a plan may have.
const MAX_SCRATCH_BUFFERS: usize = 256;

/// Whether the plan is one for this problem of the lab: it has the lab's buffers and outputs, has
/// each of this number of devices launch something, asks for no more memory than any device has,
/// and its launches fit the kernels and the device's limits.
///
/// # Errors
///
/// The first thing that does not fit.
///
/// # Panics
///
/// If `problem` is not one of the lab's.
pub fn fits(
    lab: &str,
    problem: &serde_json::Value,
    plan: &Plan,
    module: &Module,
    limits: &LaunchLimits,
    devices: Devices,
) -> Result<(), NoResult> {
    let of_lab = InterfaceInfo::find(lab).expect("a case's lab exists");
    let declared = of_lab
        .declared(problem)
        .expect("a case's problem is its lab's");
    plan.check().map_err(device::Error::from)?;
    lab_buffers(&declared, of_lab.outputs, plan)?;
    devices::are_used(plan, devices)?;
    let bytes = bytes(plan.buffers().iter());
    if bytes > MAX_BUFFER_BYTES {
        fail!(
            Kind::PlanTooLarge,
            "the plan's buffers take {bytes} bytes together; no device has more than {MAX_BUFFER_BYTES}"
        );
    }
    validate(module, plan, limits)?;
    Ok(())
}

fn bytes<'p>(buffers: impl Iterator<Item = &'p Buffer>) -> u64 {
    buffers.map(Buffer::bytes).fold(0, u64::saturating_add)
}

/// Whether the plan's inputs are exactly the lab's, and its outputs too.
fn lab_buffers(declared: &Plan, outputs: &[&str], plan: &Plan) -> Result<(), Failure> {
    let is_input = |buffer: &&Buffer| buffer.role == Role::Io;
    let expected = declared.buffers();
    let described =
        |buffer: &Buffer| format!("`{}` ({} of {})", buffer.name, buffer.len, buffer.element);
    if plan.buffers().get(..expected.len()) != Some(expected) {
        let list: Vec<_> = expected.iter().map(described).collect();
        fail!(
            Kind::PlanInvalid,
            "the plan does not begin with the lab's buffers {}",
            list.join(", ")
        );
    }
    if let Some(other) = plan.buffers()[expected.len()..].iter().find(is_input) {
        fail!(
            Kind::PlanInvalid,
            "the plan declares an input {}, which the lab does not have; use `Plan::scratch`",
            described(other)
        );
    }
    let names: Vec<_> = plan.outputs().iter().map(|(name, _)| name).collect();
    if names != outputs {
        fail!(
            Kind::PlanInvalid,
            "the plan's outputs are {names:?}; the lab's are {outputs:?}"
        );
    }
    for (position, (name, id)) in plan.outputs().iter().enumerate() {
        let buffer = &plan.buffers()[id.index()];
        let mut earlier = plan.outputs()[..position].iter();
        if let Some((other, _)) = earlier.find(|(_, other)| other == id) {
            fail!(
                Kind::PlanInvalid,
                "outputs `{other}` and `{name}` are the same buffer `{}`; each needs one of its own",
                buffer.name
            );
        }
        // Each output is the successor of the input of its name.
        let Some(like) = expected.iter().find(|input| input.name == *name) else {
            continue;
        };
        if (buffer.element, buffer.len) != (like.element, like.len) {
            fail!(
                Kind::PlanInvalid,
                "output `{name}` must have {} elements of {}, but buffer `{}` has {} of {}",
                like.len,
                like.element,
                buffer.name,
                buffer.len,
                buffer.element
            );
        }
    }
    Ok(())
}

/// Whether the plan and the kernels' global variables take no more commands, buffers and memory
/// than a submission may.
///
/// # Errors
///
/// The plan or the kernels have too much of something.
pub fn is_affordable(plan: &Plan, module: &Module) -> Result<(), NoResult> {
    let commands = plan.commands().len();
    if commands > MAX_COMMANDS {
        fail!(
            Kind::PlanTooLarge,
            "the plan needs {commands} launches and copies; the limit is {MAX_COMMANDS}"
        );
    }
    let buffers = plan.buffers().iter();
    let (io, scratch): (Vec<_>, Vec<_>) = buffers.partition(|buffer| buffer.role == Role::Io);
    if scratch.len() > MAX_SCRATCH_BUFFERS {
        fail!(
            Kind::PlanTooLarge,
            "the plan needs {} buffers of its own; the limit is {MAX_SCRATCH_BUFFERS}",
            scratch.len()
        );
    }
    let limit = SCRATCH_BYTES.saturating_add(bytes(io.into_iter()).saturating_mul(SCRATCH_TIMES));
    let scratch = bytes(scratch.into_iter());
    if scratch > limit {
        fail!(
            Kind::PlanTooLarge,
            "the plan needs {scratch} bytes of memory beside the lab's buffers; the limit is {limit}"
        );
    }
    let program = module.program().map_err(device::Error::from)?;
    let sizes = program.globals.iter().map(|v| u64::from(v.size));
    let variables: u64 = sizes.sum();
    if variables > SCRATCH_BYTES {
        fail!(
            Kind::PlanTooLarge,
            "the kernels' global variables take {variables} bytes; the limit is {SCRATCH_BYTES}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
