//! Why a plan does not fit its kernels or the device.

use plan::suggestion;
use thiserror::Error;

use crate::info::LaunchLimits;
use plan::Plan;

/// A plan that does not fit its kernels or the device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValidationError {
    /// A kernel that the plan does not launch.
    #[error("plan `{plan}` does not launch `{kernel}`; {suggestion}")]
    NotLaunched {
        /// The plan.
        plan: String,
        /// The name asked for.
        kernel: String,
        /// The nearest name, or all of them.
        suggestion: String,
    },
    /// A plan over more devices than there are.
    #[error("plan `{plan}` needs {needed} devices, and there {} {has}", if *has == 1 { "is" } else { "are" })]
    TooFewDevices {
        /// The plan.
        plan: String,
        /// How many it needs.
        needed: u32,
        /// How many there are.
        has: u32,
    },
    /// A kernel that reads the memory of a device which its own cannot reach.
    #[error(
        "{place}: it runs on device {device} and uses `{buffer}`, which is on device {of}; these two have no peer access. Use a solution that copies between devices"
    )]
    NoPeerAccess {
        /// Plan, command and kernel.
        place: String,
        /// The launch's device.
        device: u32,
        /// The buffer.
        buffer: String,
        /// Its device.
        of: u32,
    },
    /// A launch that does not fit its kernel or the device.
    #[error("{place}: {fault}")]
    Launch {
        /// Plan, command and kernel.
        place: String,
        /// The mistake.
        #[source]
        fault: LaunchFault,
    },
}

impl ValidationError {
    /// Whether a launch asks for more shared memory than the device has, and no more than larger
    /// devices have.
    pub fn is_for_larger_devices(&self) -> bool {
        let most = u64::from(LaunchLimits::MAX_SHARED_MEM_PER_BLOCK_BYTES);
        let ValidationError::Launch { fault, .. } = self else {
            return false;
        };
        matches!(fault, LaunchFault::Shape(ptx::ShapeError::SharedMemory { bytes, .. }) if *bytes <= most)
    }

    /// A kernel that the plan does not launch.
    pub fn not_launched(plan: &Plan, kernel: &str) -> ValidationError {
        ValidationError::NotLaunched {
            plan: plan.name().to_owned(),
            kernel: kernel.to_owned(),
            suggestion: suggestion(kernel, plan.kernels().iter().map(String::as_str)),
        }
    }
}

/// A mistake in a launch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaunchFault {
    /// Arguments that do not fit the kernel's parameters.
    #[error(transparent)]
    Args(#[from] ptx::ArgsError),
    /// Arguments that break a condition of the kernel.
    #[error("the kernel requires `{condition}`, which does not hold: {values}")]
    Requires {
        /// The condition, as the kernel's source has it.
        condition: String,
        /// The values of its parameters.
        values: String,
    },
    /// A shape that does not fit the kernel or the device.
    #[error("{0}{remedy}", remedy = remedy(.0))]
    Shape(#[from] ptx::ShapeError),
}

/// The remedy for a shape, in the words of those who write kernels in Rust.
fn remedy(error: &ptx::ShapeError) -> &'static str {
    match error {
        ptx::ShapeError::LaunchBounds { .. } => {
            "; launch smaller blocks, or raise `max_threads` in its `#[kernel]`"
        }
        ptx::ShapeError::Registers { .. } => {
            "; launch smaller blocks, or say how large they are with `max_threads` in its `#[kernel]`, so that the compiler takes fewer"
        }
        ptx::ShapeError::StaticSharedMemory { .. } => {
            "; take `shared::dynamic_shared_mem` and `with_shared_mem_bytes` for more than `shared_array!`s may have"
        }
        ptx::ShapeError::ClusterTooLarge {
            is_portable: true, ..
        } => "; ask for more with `with_non_portable_cluster`",
        _ => "",
    }
}
