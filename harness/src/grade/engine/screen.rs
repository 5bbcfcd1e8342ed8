//! What is refused before anything runs.
//!
//! Nothing in a bundle is trusted: problems are compared with those that follow from the lab file, the lab's buffers in
//! each plan with those that the lab declares, launches with the kernels' signatures and the device's limits.

use host::plan::{Buffer, Role};
use host::validate::validate;
use host::{Lab, Module, Plan};

use super::fault;
use crate::bundle::{Bundle, MOST_PTX_BYTES};
use crate::course::{CaseSpec, Course, Group};
use crate::grade::kind::Kind;
use crate::grade::verdict::Failing;

/// Commands that a plan may have: enough for 32 launches a step in the longest case of any lab.
pub const MOST_COMMANDS: usize = 1_000_000;
/// Memory of its own that a plan may have beside the lab's buffers: this much, and as many times their size.
pub const SCRATCH_BYTES: u64 = 64 << 20;
/// See [`SCRATCH_BYTES`].
pub const SCRATCH_TIMES: u64 = 4;
/// Buffers of its own that a plan may have.
pub const MOST_SCRATCH_BUFFERS: usize = 256;

/// Whether the bundle is one for this course.
///
/// # Errors
///
/// How the submission fails as a whole.
pub fn bundle(bundle: &Bundle, course: &Course, lab: &dyn Lab) -> Result<(), Failing> {
    let mismatch = |message: String| {
        let message = format!("{message}; pack the submission again");
        Err(Failing::new(Kind::BundleMismatch, message))
    };
    if bundle.lab != course.lab {
        return mismatch(format!(
            "it is a submission for lab {}, not {}",
            bundle.lab, course.lab
        ));
    }
    let bytes = bundle.ptx.len();
    if bytes > MOST_PTX_BYTES {
        let message = format!("it has {bytes} bytes of PTX; the limit is {MOST_PTX_BYTES}");
        return Err(Failing::new(Kind::PtxInvalid, message));
    }
    for spec in &course.cases {
        let name = &spec.name;
        let mut found = bundle.cases.iter().filter(|case| case.name == *name);
        let (Some(case), None) = (found.next(), found.next()) else {
            if spec.group == Group::Hidden && !bundle.cases.iter().any(|case| case.name == *name) {
                let message = format!(
                    "it has no hidden case `{name}`: it was packed with a student's copy of the course; grade the folder \
                     that it was packed from, or grade by that copy's lab file (--lab-file labs/{}/lab.toml)",
                    course.lab
                );
                return Err(Failing::new(Kind::BundleMismatch, message));
            }
            return mismatch(format!("it does not have case `{name}` exactly once"));
        };
        let expected = problem(spec, lab)?;
        if case.problem != expected {
            return mismatch(format!(
                "its plan for case `{name}` was recorded for another problem: {} in place of {expected}",
                case.problem
            ));
        }
    }
    if bundle.cases.len() != course.cases.len() {
        return mismatch(format!(
            "it has {} cases, and the lab has {}",
            bundle.cases.len(),
            course.cases.len()
        ));
    }
    Ok(())
}

fn problem(spec: &CaseSpec, lab: &dyn Lab) -> Result<serde_json::Value, Failing> {
    let case = spec.with_seed(lab, 0);
    let case = case.map_err(|error| Failing::new(Kind::BundleMismatch, error.to_string()))?;
    Ok(case.problem_json())
}

/// Whether a case's plan may run.
///
/// # Errors
///
/// How the submission fails in this case.
pub fn plan(
    plan: &Plan,
    module: &Module,
    spec: &CaseSpec,
    lab: &dyn Lab,
    limits: &host::device::LaunchLimits,
) -> Result<(), Failing> {
    let invalid = |error: host::Error| {
        fault::failing(&error).unwrap_or_else(|message| Failing::new(Kind::PlanInvalid, message))
    };
    plan.check().map_err(|error| invalid(error.into()))?;
    let own = spec.with_seed(lab, 0).and_then(|case| case.declared());
    same_buffers(plan, &own.map_err(invalid)?)?;
    within_limits(plan)?;
    validate(module, plan, limits).map_err(invalid)?;
    let program = module.program().map_err(|error| invalid(error.into()))?;
    let variables = program.globals.iter();
    variables_within_limits(variables.map(|variable| u64::from(variable.size)).sum())
}

fn of_role(plan: &Plan, role: Role) -> impl Iterator<Item = &Buffer> {
    plan.buffers()
        .iter()
        .filter(move |buffer| buffer.role == role)
}

/// The lab's buffers, no more and no less.
fn same_buffers(plan: &Plan, own: &Plan) -> Result<(), Failing> {
    let describe =
        |buffer: &Buffer| format!("`{}`: {} {}", buffer.name, buffer.len, buffer.element);
    let of = |plan: &Plan| -> Vec<String> {
        let mut all: Vec<String> = of_role(plan, Role::Io).map(describe).collect();
        all.sort();
        all
    };
    let (got, expected) = (of(plan), of(own));
    if got == expected {
        return Ok(());
    }
    let message = format!(
        "the plan's buffers are not the lab's: it has {}; the lab declares {}",
        got.join(", "),
        expected.join(", ")
    );
    Err(Failing::new(Kind::PlanInvalid, message))
}

/// Global variables are memory of the submission's own too.
fn variables_within_limits(bytes: u64) -> Result<(), Failing> {
    if bytes <= SCRATCH_BYTES {
        return Ok(());
    }
    let message =
        format!("the kernels' global variables take {bytes} bytes; the limit is {SCRATCH_BYTES}");
    Err(Failing::new(Kind::PlanTooLarge, message))
}

fn within_limits(plan: &Plan) -> Result<(), Failing> {
    let too_large = |message: String| Err(Failing::new(Kind::PlanTooLarge, message));
    let commands = plan.commands().len();
    if commands > MOST_COMMANDS {
        return too_large(format!(
            "the plan needs {commands} launches and copies; the limit is {MOST_COMMANDS}"
        ));
    }
    let scratch = of_role(plan, Role::Scratch).count();
    if scratch > MOST_SCRATCH_BUFFERS {
        return too_large(format!(
            "the plan needs {scratch} buffers of its own; the limit is {MOST_SCRATCH_BUFFERS}"
        ));
    }
    let bytes = |role| -> u64 {
        of_role(plan, role)
            .map(Buffer::bytes)
            .fold(0, u64::saturating_add)
    };
    let (scratch, io) = (bytes(Role::Scratch), bytes(Role::Io));
    let limit = SCRATCH_BYTES.saturating_add(io.saturating_mul(SCRATCH_TIMES));
    if scratch > limit {
        return too_large(format!(
            "the plan needs {scratch} bytes of memory beside the lab's buffers; the limit is {limit}"
        ));
    }
    Ok(())
}
