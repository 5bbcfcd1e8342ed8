//! What executes plans.
//!
//! A [`Device`] checks a plan ([`crate::validate`]) and prepares it: it allocates memory, looks up kernels and lays out
//! arguments. The resulting [`Session`] moves buffers and runs the plan, any number of times.

#[cfg(target_os = "linux")]
mod cuda;
mod emulated;
pub(crate) mod error;
mod independent;
pub(crate) mod info;
mod params;
mod pieces;
mod ranked;
mod report;
mod share;
mod traits;

#[cfg(target_os = "linux")]
pub use cuda::{CudaDevice, CudaGroup, Link};
pub use emulated::EmulatedDevice;
pub use error::{DeviceError, DriverError};
pub use info::{
    Capture, DeviceInfo, DeviceKind, Flushed, KernelInfo, LaunchLimits, Launching, Side, Spills,
    Stray, Timing,
};
pub use ptx_emu::{
    Counts, Executed, Fault, FaultKind, GlobalTraffic, InstructionClass, InstructionCounts,
    Options, Sanitize, Schedule, SharedTraffic,
};
pub use ranked::RankedDevice;
pub use report::KernelReport;
pub use share::Share;
pub use traits::{Device, POISON, Segments, Session, SharedMemory};

/// The devices of one kind, or why there are none.
pub type Discovery = Result<Vec<Box<dyn Device>>, DeviceError>;

/// Every CUDA device of this machine.
///
/// # Errors
///
/// [`DeviceError::NoDevice`] with the reason: no driver, no GPU, a driver that does not start. Other errors of the driver.
#[cfg(target_os = "linux")]
pub fn discover() -> Discovery {
    let devices = CudaDevice::all()?;
    Ok(devices
        .into_iter()
        .map(|device| Box::new(device) as Box<dyn Device>)
        .collect())
}

/// Always an error: CUDA devices are supported on Linux only.
///
/// # Errors
///
/// Always [`DeviceError::NoDevice`].
#[cfg(not(target_os = "linux"))]
pub fn discover() -> Discovery {
    Err(DeviceError::NoDevice {
        reason: format!(
            "CUDA is used on Linux only, and this is {}",
            std::env::consts::OS
        ),
    })
}
