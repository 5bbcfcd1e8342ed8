//! A submission's plan against its lab, its kernels, and what a device allows.
//!
//! [`fits`] is checked when a submission is packed, for every GPU, and again when its bundle is graded, which anyone may have
//! written, for the device at hand. [`is_affordable`] bounds what a plan may cost the machine that grades it.

use host::device::LaunchLimits;
use host::plan::{Buffer, Role};
use host::validate::validate;
use host::{Module, Plan};
use plan::Lab;

use crate::outcome::{Failing, Kind, NotPassed};

/// The most device memory that a plan's buffers may take together, in bytes; no device has more.
const MOST_BUFFER_BYTES: u64 = 1 << 40;
/// Commands that a plan may have: enough for 32 launches a step in the longest case of any lab.
pub const MOST_COMMANDS: usize = 1_000_000;
/// Memory of its own that a plan may have beside the lab's buffers: this much, and [`SCRATCH_TIMES`] times their size.
const SCRATCH_BYTES: u64 = 64 << 20;
const SCRATCH_TIMES: u64 = 4;
/// Buffers of its own that a plan may have.
const MOST_SCRATCH_BUFFERS: usize = 256;

/// Calls a macro with every lab's module and type in [`plan`].
macro_rules! of_lab {
    ($name:expr, $callback:ident) => {
        match $name {
            "wave2d" => Some($callback!(plan::wave2d::Wave2d)),
            "wave3d" => Some($callback!(plan::wave3d::Wave3d)),
            "poisson" => Some($callback!(plan::poisson::Poisson)),
            "matadd" => Some($callback!(plan::matadd::MatAdd)),
            "membench" => Some($callback!(plan::membench::MemBench)),
            _ => None,
        }
    };
}

/// The lab's type, as a recorder's source names it.
pub fn lab_type(lab: &str) -> Option<&'static str> {
    macro_rules! name {
        ($lab:ty) => {
            stringify!($lab)
        };
    }
    of_lab!(lab, name)
}

/// The buffers that the lab declares for a problem, and the names of its outputs.
fn declared(lab: &str, problem: &serde_json::Value) -> Option<(Plan, &'static [&'static str])> {
    fn of<L: Lab>(problem: &serde_json::Value) -> Option<(Plan, &'static [&'static str])> {
        let problem = serde_json::from_value(problem.clone()).ok()?;
        let mut plan = Plan::new("");
        L::declare(&problem, &mut plan);
        Some((plan, L::OUTPUTS))
    }
    macro_rules! declared {
        ($lab:ty) => {
            of::<$lab>(problem)
        };
    }
    of_lab!(lab, declared).flatten()
}

/// Whether the plan is one for this problem of the lab: it has the lab's buffers and outputs, asks for no more memory than
/// any device has, and its launches fit the kernels and the device's limits.
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
) -> Result<(), NotPassed> {
    let (declared, outputs) = declared(lab, problem).expect("a case's problem is its lab's");
    plan.check().map_err(host::Error::from)?;
    lab_buffers(&declared, outputs, plan)
        .map_err(|message| Failing::new(Kind::PlanInvalid, message))?;
    let bytes = bytes(plan.buffers().iter());
    if bytes > MOST_BUFFER_BYTES {
        let message = format!(
            "the plan's buffers take {bytes} bytes together; no device has more than {MOST_BUFFER_BYTES}"
        );
        return Err(NotPassed::failed(Kind::PlanTooLarge, message));
    }
    Ok(validate(module, plan, limits)?)
}

fn bytes<'p>(buffers: impl Iterator<Item = &'p Buffer>) -> u64 {
    buffers.map(Buffer::bytes).fold(0, u64::saturating_add)
}

/// Whether the plan's inputs are exactly the lab's, and its outputs too.
fn lab_buffers(declared: &Plan, outputs: &[&str], plan: &Plan) -> Result<(), String> {
    let is_input = |buffer: &&Buffer| buffer.role == Role::Io;
    let expected = declared.buffers();
    let described =
        |buffer: &Buffer| format!("`{}` ({} of {})", buffer.name, buffer.len, buffer.element);
    if plan.buffers().get(..expected.len()) != Some(expected) {
        let list: Vec<_> = expected.iter().map(described).collect();
        return Err(format!(
            "the plan does not begin with the lab's buffers {}",
            list.join(", ")
        ));
    }
    if let Some(other) = plan.buffers()[expected.len()..].iter().find(is_input) {
        return Err(format!(
            "the plan declares an input {}, which the lab does not have; use `Plan::scratch`",
            described(other)
        ));
    }
    let names: Vec<&str> = plan
        .outputs()
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    if names != outputs {
        return Err(format!(
            "the plan's outputs are {names:?}; the lab's are {outputs:?}"
        ));
    }
    for (name, id) in plan.outputs() {
        let buffer = &plan.buffers()[id.index()];
        // Each output is the successor of the input of its name.
        let Some(like) = expected.iter().find(|buffer| buffer.name == *name) else {
            continue;
        };
        if (buffer.element, buffer.len) != (like.element, like.len) {
            return Err(format!(
                "output `{name}` is in buffer {}; it has {} of {}",
                described(buffer),
                like.len,
                like.element
            ));
        }
    }
    Ok(())
}

/// Whether the plan and the kernels' global variables take no more commands, buffers and memory than a submission may.
///
/// # Errors
///
/// What they have too much of.
pub fn is_affordable(plan: &Plan, module: &Module) -> Result<(), NotPassed> {
    let too_large = |message| Err(NotPassed::failed(Kind::PlanTooLarge, message));
    let commands = plan.commands().len();
    if commands > MOST_COMMANDS {
        return too_large(format!(
            "the plan needs {commands} launches and copies; the limit is {MOST_COMMANDS}"
        ));
    }
    let (io, scratch): (Vec<&Buffer>, Vec<&Buffer>) = plan
        .buffers()
        .iter()
        .partition(|buffer| buffer.role == Role::Io);
    if scratch.len() > MOST_SCRATCH_BUFFERS {
        return too_large(format!(
            "the plan needs {} buffers of its own; the limit is {MOST_SCRATCH_BUFFERS}",
            scratch.len()
        ));
    }
    let limit = SCRATCH_BYTES.saturating_add(bytes(io.into_iter()).saturating_mul(SCRATCH_TIMES));
    let scratch = bytes(scratch.into_iter());
    if scratch > limit {
        return too_large(format!(
            "the plan needs {scratch} bytes of memory beside the lab's buffers; the limit is {limit}"
        ));
    }
    let program = module.program().map_err(host::Error::from)?;
    let variables: u64 = program
        .globals
        .iter()
        .map(|variable| u64::from(variable.size))
        .sum();
    if variables > SCRATCH_BYTES {
        return too_large(format!(
            "the kernels' global variables take {variables} bytes; the limit is {SCRATCH_BYTES}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
