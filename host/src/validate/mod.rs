//! A plan against its module and a device's limits, before anything runs.
//!
//! A driver that is given a wrong plan answers "invalid value" at best, and reads arbitrary memory at worst: it takes
//! the number and the sizes of arguments on trust. So every launch is checked here first, on every device alike.

mod args;
mod error;
mod launch;

pub use error::ValidationError;

use crate::device::Limits;
use crate::error::Error;
use crate::module::{KernelSignature, Module};
use crate::plan::{Command, Plan};

/// Checks a plan: [`Plan::check`], then every launch against its kernel's signature and the limits.
///
/// # Errors
///
/// The first fault found.
pub fn validate(module: &Module, plan: &Plan, limits: &Limits) -> Result<(), Error> {
    plan.check()?;
    let kernels = plan
        .kernels()
        .iter()
        .map(|name| module.kernel(name))
        .collect::<Result<Vec<&KernelSignature>, ValidationError>>()?;
    for (position, command) in plan.commands().enumerate() {
        if let Command::Launch(launch) = command {
            let kernel = kernels[launch.kernel_index];
            let place = || plan.place(position, format_args!("launch of `{}`", launch.kernel));
            launch::check(kernel, &launch.config, limits, place)?;
            args::check(kernel, launch.args, place)?;
        }
    }
    Ok(())
}
