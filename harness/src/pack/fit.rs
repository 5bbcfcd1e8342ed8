//! A plan against its lab, its kernels and what any device allows.

use host::device::Limits;
use host::plan::{Buffer, Role};
use host::{Module, Plan};
use plan::AnyLab;

use super::PackError;
use crate::grade::kind::Kind;

/// The most device memory that a plan's buffers may take together, of which no device has more.
pub const MAX_BUFFER_BYTES: u64 = 1 << 40;

/// The lab's type, as a recorder's source names it.
pub fn lab_type(lab: &str) -> Option<&'static str> {
    AnyLab::find(lab).map(|lab| lab.type_path)
}

/// Checks a submission's plan for a problem: it has the lab's buffers and outputs, asks for no more memory than any device
/// has, and its launches fit the kernels and every GPU's limits.
///
/// # Errors
///
/// The first thing that does not fit.
pub fn check(
    lab: &str,
    problem: &serde_json::Value,
    plan: &Plan,
    module: &Module,
) -> Result<(), PackError> {
    let of_lab = AnyLab::find(lab).and_then(|lab| Some((lab, lab.declared(problem).ok()?)));
    let Some((lab, declared)) = of_lab else {
        return Err(PackError::Environment(format!(
            "bug in harness: the problem is none of `{lab}`"
        )));
    };
    lab_buffers(&declared, lab.outputs, plan)
        .map_err(|message| PackError::refused(Kind::PlanInvalid, message))?;
    let bytes = plan
        .buffers()
        .iter()
        .map(|buffer| u128::from(buffer.len) * buffer.element.size() as u128)
        .sum::<u128>();
    if bytes > u128::from(MAX_BUFFER_BYTES) {
        let message = format!(
            "the plan's buffers take {bytes} bytes together; no device has more than {MAX_BUFFER_BYTES}"
        );
        return Err(PackError::refused(Kind::PlanTooLarge, message));
    }
    host::validate::validate(module, plan, &Limits::COMMON)
        .map_err(|error| PackError::refused(Kind::PlanInvalid, error.to_string()))
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

#[cfg(test)]
mod tests;
