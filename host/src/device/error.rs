//! What can go wrong with a device.

use thiserror::Error;

use crate::error::ErrorKind;

/// An answer of the CUDA driver other than success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverError {
    /// The driver function.
    pub function: &'static str,
    /// `CUresult`.
    pub code: u32,
    /// The constant's name.
    pub name: String,
    /// The driver's own words.
    pub description: String,
}

impl std::fmt::Display for DriverError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} returned {} ({}): {}",
            self.function, self.name, self.code, self.description
        )
    }
}

impl std::error::Error for DriverError {}

/// A device that is missing, or that failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no CUDA device. An ordinary answer, not a fault.
    #[error("no CUDA device: {reason}")]
    NoDevice {
        /// Why.
        reason: String,
    },
    /// There are fewer devices than that.
    #[error("no CUDA device {ordinal}: this machine has {count}, numbered from 0")]
    NoSuchDevice {
        /// Asked for.
        ordinal: u32,
        /// How many there are.
        count: u32,
    },
    /// The driver cannot read this PTX because it is older.
    #[error("module `{module}`: PTX version {ptx} is newer than the driver, which supports CUDA {}.{}; update the driver, or build the kernels for an older PTX version", driver_cuda.0, driver_cuda.1)]
    PtxTooNew {
        /// The module.
        module: String,
        /// Its `.version`.
        ptx: String,
        /// What the driver supports.
        driver_cuda: (u32, u32),
    },
    /// The PTX is for another GPU.
    #[error("module `{module}` is built for {target}, which {device} (compute capability {}.{}) cannot run; build the kernels for sm_{}{} or older", compute_capability.0, compute_capability.1, compute_capability.0, compute_capability.1)]
    WrongTarget {
        /// The module.
        module: String,
        /// Its `.target`.
        target: String,
        /// The device's name.
        device: String,
        /// Its compute capability.
        compute_capability: (u32, u32),
    },
    /// The driver's compiler refused the PTX.
    #[error("module `{module}` does not load: {cause}{}", if log.is_empty() { String::new() } else { format!("\n{log}") })]
    LoadFailed {
        /// The module.
        module: String,
        /// The driver's answer.
        cause: Box<DriverError>,
        /// What its compiler wrote.
        log: String,
    },
    /// The device's memory is too small.
    #[error(
        "out of device memory: plan `{plan}` needs {needed_bytes} bytes, {device} has {free_bytes} of {total_bytes} bytes free; use a smaller case, or end what else uses the device"
    )]
    OutOfMemory {
        /// The plan.
        plan: String,
        /// Bytes of all its buffers.
        needed_bytes: u64,
        /// The device's name.
        device: String,
        /// Free before the plan was prepared.
        free_bytes: u64,
        /// All there is.
        total_bytes: u64,
    },
    /// The driver refused a launch.
    #[error("{place} was refused: {cause}; {remedy}")]
    LaunchRefused {
        /// Plan, command and kernel.
        place: String,
        /// The driver's answer.
        cause: Box<DriverError>,
        /// What to do.
        remedy: String,
    },
    /// A kernel stopped with a fault: a trap, an access out of bounds.
    #[error("{place} failed: {what}; {remedy}")]
    KernelFault {
        /// Plan and kernels that may have been at fault.
        place: String,
        /// What happened.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A kernel did on the emulated device what it must not; thread, line and access are named.
    #[error("{place}\n{fault}")]
    Emulated {
        /// Plan, command and kernel.
        place: String,
        /// What happened.
        fault: Box<ptx_emu::Fault>,
    },
    /// An earlier fault left the device unusable by this process.
    #[error(
        "the device is lost to this process since an earlier fault: {cause}; start the program again"
    )]
    Lost {
        /// The earlier fault.
        cause: String,
    },
    /// Another answer of the driver.
    #[error("CUDA driver: {0}")]
    Driver(Box<DriverError>),
    /// A host buffer of the wrong type or size for a buffer of the plan.
    #[error(
        "buffer `{buffer}` of plan `{plan}` has {len} {element} elements; got {got_len} of {got_element}"
    )]
    WrongBuffer {
        /// The plan.
        plan: String,
        /// The buffer.
        buffer: String,
        /// Its type.
        element: crate::Element,
        /// Its elements.
        len: u64,
        /// The type offered.
        got_element: crate::Element,
        /// The elements offered.
        got_len: u64,
    },
}

impl DeviceError {
    /// Who can put it right.
    pub fn kind(&self) -> ErrorKind {
        match self {
            DeviceError::LaunchRefused { .. } | DeviceError::KernelFault { .. } => {
                ErrorKind::Submission
            }
            DeviceError::Emulated { fault, .. } => match **fault {
                ptx_emu::Fault::Unsupported(_) => ErrorKind::Environment,
                _ => ErrorKind::Submission,
            },
            DeviceError::WrongBuffer { .. } => ErrorKind::Bug,
            _ => ErrorKind::Environment,
        }
    }
}

impl From<DriverError> for DeviceError {
    fn from(error: DriverError) -> DeviceError {
        DeviceError::Driver(Box::new(error))
    }
}
