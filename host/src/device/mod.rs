//! What executes plans.
//!
//! A [`Device`] checks a plan ([`crate::validate`]) and prepares it: memory allocated, kernels looked up, arguments
//! laid out. The [`Session`] that comes of it moves buffers and runs the plan, any number of times.

#[cfg(target_os = "linux")]
mod cuda;
mod discover;
mod emulated;
mod error;
mod info;
mod layout;
mod traits;

#[cfg(target_os = "linux")]
pub use cuda::CudaDevice;
pub use discover::{Discovery, discover, emulated};
pub use emulated::{EmulatedDevice, KernelReport};
pub use error::{DeviceError, DriverError};
pub use info::{
    Capture, DeviceInfo, DeviceKind, Flushed, KernelInfo, Launching, Limits, Side, Stray, Timing,
};
pub use ptx_emu::{
    Counts, Executed, Fault, FaultKind, GlobalTraffic, InstructionClass, InstructionCounts,
    Options, Sanitize, Schedule, SharedTraffic,
};
pub use traits::{Device, POISON, Session};
