//! What a failed kernel means, and a device that one has taken down.

use std::collections::BTreeSet;

use super::CudaDevice;
use crate::device::{DeviceError, DriverError};
use crate::plan::{Command, Plan};

/// What a kernel did, if the result stands for a fault of a kernel; the context does not survive any of them.
fn kernel_fault(code: u32) -> Option<&'static str> {
    Some(match code {
        700 => "it read or wrote memory that it must not (illegal address)",
        702 => "it ran for longer than this machine lets a kernel run (launch timeout)",
        710 => "an assertion in it failed",
        714 => "its call stack was corrupted or overflowed",
        715 => "it met an illegal instruction",
        716 => "it read or wrote an address that is not aligned for the access",
        717 => "it used an address in a memory that the instruction does not work on",
        718 => "it jumped to an address that holds no instruction",
        719 => "it trapped (a panic in Rust) or faulted",
        _ => return None,
    })
}

/// Results other than a kernel's fault that the context does not survive.
fn loses_device(code: u32) -> bool {
    matches!(code, 4 | 201 | 214 | 220 | 226 | 709)
}

impl CudaDevice {
    /// The error for a driver result met while `plan` was in use; marks the device as lost where it is.
    pub(super) fn failed(&self, plan: &str, kernels: &str, cause: DriverError) -> DeviceError {
        if let Some(what) = kernel_fault(cause.code) {
            let error = DeviceError::KernelFault {
                place: format!("plan `{plan}`: {kernels}"),
                what: format!("{what}; {cause}"),
                remedy: "run the case on the emulated device, which names the line and the thread"
                    .to_owned(),
            };
            // The first fault is the one to tell about.
            let _ = self.lost.set(error.to_string());
            return error;
        }
        if loses_device(cause.code) {
            let _ = self.lost.set(cause.to_string());
        }
        cause.into()
    }
}

/// The kernels that a fault may have come from: the driver does not say which.
pub fn suspects(plan: &Plan) -> String {
    let names: BTreeSet<String> = plan
        .commands()
        .filter_map(|command| match command {
            Command::Launch(launch) => Some(format!("`{}`", launch.kernel)),
            _ => None,
        })
        .collect();
    let list = names.iter().cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "no kernel".to_owned(),
        1 => format!("kernel {list}"),
        _ => format!("one of the kernels {list}"),
    }
}

/// What to do about a launch that the driver refused.
pub fn refusal_remedy(code: u32) -> &'static str {
    match code {
        1 => "check grid, block and shared memory against `harness doctor`",
        701 => {
            "its blocks need more registers or shared memory than a multiprocessor has: use smaller blocks, or state \
             the block's size with `#[kernel(max_threads = ...)]`"
        }
        _ => "see the driver's words",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LaunchConfig, args};

    #[test]
    fn suspects_are_named_once() {
        let mut plan = Plan::new("p");
        assert_eq!(suspects(&plan), "no kernel");
        let one = LaunchConfig::new(1, 1);
        plan.launch("step", one, args![]).unwrap();
        plan.launch("step", one, args![]).unwrap();
        assert_eq!(suspects(&plan), "kernel `step`");
        plan.launch("edge", one, args![]).unwrap();
        assert_eq!(suspects(&plan), "one of the kernels `edge`, `step`");
    }
}
