//! Errors of devices.

use thiserror::Error;

use plan::Dependence;

/// A result of the CUDA driver other than success.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{function} returned {name} ({code}): {description}")]
pub struct DriverError {
    /// The driver function.
    pub function: &'static str,
    /// `CUresult`.
    pub code: u32,
    /// The constant's name.
    pub name: String,
    /// The driver's description.
    pub description: String,
}

impl DriverError {
    /// `CUDA_ERROR_ILLEGAL_ADDRESS`: a kernel accessed memory that is not its own.
    pub const ILLEGAL_ADDRESS: u32 = 700;
    /// `CUDA_ERROR_MISALIGNED_ADDRESS`: an address is not aligned for the access.
    pub const MISALIGNED_ADDRESS: u32 = 716;
    /// `CUDA_ERROR_LAUNCH_FAILED`: a kernel trapped.
    pub const LAUNCH_FAILED: u32 = 719;
}

/// A device that is missing or that failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No CUDA device was found. An ordinary answer, not a fault.
    #[error("no CUDA device: {reason}")]
    NoDevice {
        /// Why.
        reason: String,
    },
    /// No device has this number.
    #[error("no CUDA device {ordinal}: this machine has {count}, numbered from 0")]
    NoSuchDevice {
        /// The number asked for.
        ordinal: u32,
        /// How many devices there are.
        count: u32,
    },
    /// The driver is older than the PTX and cannot read it.
    #[error("module `{module}`: PTX version {ptx} is newer than the driver, which supports CUDA {}.{}; update the driver, or build the kernels for an older PTX version", driver_cuda.0, driver_cuda.1)]
    PtxTooNew {
        /// The module.
        module: String,
        /// Its `.version`.
        ptx: String,
        /// The version that the driver supports.
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
        /// The driver's result.
        #[source]
        cause: Box<DriverError>,
        /// The compiler's messages.
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
    #[error("{place} was refused: {cause}; {}", refusal_remedy(cause.code))]
    LaunchRefused {
        /// Plan, command and kernel.
        place: String,
        /// The driver's result.
        #[source]
        cause: Box<DriverError>,
    },
    /// A kernel stopped with a fault: a trap, an access out of bounds.
    #[error(
        "{place} failed: {what}; run the case on the emulated device, which names the line and the thread"
    )]
    KernelFault {
        /// The plan, and the kernels that may have failed.
        place: String,
        /// The driver's `CUresult`.
        code: u32,
        /// The fault.
        what: String,
    },
    /// A kernel failed on the emulated device; thread, line and access are named.
    #[error("{place}\n{fault}")]
    Emulated {
        /// Plan, command and kernel.
        place: String,
        /// The fault.
        #[source]
        fault: Box<ptx_emu::Fault>,
    },
    /// Commands that are recorded as independent, and were found not to be.
    #[error(transparent)]
    Dependent(#[from] Box<Dependence>),
    /// A kernel that accesses elements which its arguments do not state, in a plan over several
    /// devices.
    #[error(
        "{place}: it {} element {element} of buffer `{buffer}`, which its arguments do not state ({stated}); another device may use that element at the same time. Pass a range that has all elements which the kernel accesses", if *writes { "writes" } else { "reads" }
    )]
    Unstated {
        /// Plan, command and kernel.
        place: String,
        /// The buffer.
        buffer: String,
        /// The first such element.
        element: u64,
        /// Whether the kernel writes it.
        writes: bool,
        /// The elements of the buffer that the arguments state.
        stated: String,
    },
    /// An earlier fault left the device unusable by this process.
    #[error(
        "this process can no longer use the device after an earlier fault: {cause}; start the program again"
    )]
    Lost {
        /// The earlier fault.
        cause: String,
    },
    /// Another error of the driver.
    #[error("CUDA driver: {0}")]
    Driver(#[source] Box<DriverError>),
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
        /// The type of the host buffer.
        got_element: crate::Element,
        /// The elements of the host buffer.
        got_len: u64,
    },
}

impl From<DriverError> for DeviceError {
    fn from(error: DriverError) -> DeviceError {
        DeviceError::Driver(Box::new(error))
    }
}

/// The remedy for a launch that the driver refused with this code.
fn refusal_remedy(code: u32) -> &'static str {
    match code {
        1 => "check grid, block and shared memory against `harness doctor`",
        701 => {
            "its blocks need more registers or shared memory than a multiprocessor has: use smaller blocks, or state \
             the block's size with `#[kernel(max_threads = ...)]`"
        }
        _ => "see the driver's message",
    }
}
