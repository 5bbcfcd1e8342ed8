//! CUDA GPUs as devices that execute plans: one, several of a machine, those of several processes.
//!
//! A program that only tests on the emulated device needs the crate [`device`] alone, and builds
//! neither `cust` nor its patch. This crate adds the GPUs behind the same two traits, so that a
//! program that has recorded a plan asks here which devices there are, and goes on as before:
//!
//! ```
//! use device::{Device, EmulatedDevice};
//!
//! let devices: Vec<Box<dyn Device>> = match cuda::discover() {
//!     Ok(gpus) => gpus,
//!     Err(why) => {
//!         println!("{why}; the plan runs on the emulated device");
//!         vec![Box::new(EmulatedDevice::default())]
//!     }
//! };
//! assert!(!devices.is_empty());
//! ```
//!
//! # Contract
//!
//! - Nothing of CUDA is linked. The driver, NVML and NCCL are opened when they are first used, and
//!   a machine without one gets an ordinary answer that says why.
//! - A GPU computes what the emulated device computes: the same suite of tests runs on both
//!   (`crates/device/tests/suite`), and without a GPU on the emulated driver.
//! - A kernel's fault is the kernel's: the error names it, and every later use of the GPU by this
//!   process says what was lost.
//! - An edit here leaves [`device`], and whatever uses that alone, as it is.
//!
//! # Spine, in reading order
//!
//! | file | what it holds |
//! |---|---|
//! | `lib.rs` | [`discover`] and [`telemetry`] |
//! | `gpus/mod.rs` | the list of what is in `gpus/`; one GPU as a device |
//! | `gpus/gpu.rs` | one GPU: its context, memory, modules, and what becomes of it after a fault |
//! | `gpus/session/mod.rs` | a prepared plan: writes, runs, times, reads |
//! | `gpus/commands.rs` | a plan's commands as they are enqueued |
//! | `gpus/schedule/mod.rs` | which commands may overlap, on streams of one or several GPUs |
//! | `gpus/group.rs` | several GPUs as one device, and their share of those of all processes |
//! | `gpus/module.rs` | PTX as the driver compiles it, and what it refuses |
//! | `gpus/driver/mod.rs` | the driver's functions, each wrapped once |
//! | `gpus/nccl/mod.rs` | bytes between the GPUs of several processes |
//! | `gpus/nvml.rs` | clocks, temperature and power of a GPU |
//! | `no_gpus.rs` | the same names on a system without CUDA, where there is no GPU |
//!
//! # In a workspace of one's own
//!
//! This crate launches with `cust`. A workspace that uses it has the patch that the page of
//! `cuda_driver` describes.
//!
//! # Limits
//!
//! CUDA is used on Linux alone; elsewhere every question has the answer that there is no GPU. A
//! port to another system begins with the declaration of the module `gpus`, and with
//! `cuda_driver`.

#[cfg_attr(not(target_os = "linux"), path = "no_gpus.rs")]
mod gpus;
#[cfg(test)]
mod tests;

pub use gpus::*;

use device::telemetry::{NoTelemetry, Telemetry};
use device::{Device, DeviceInfo, DeviceKind, Discovery};

/// Every CUDA device of this machine.
///
/// # Errors
///
/// [`NoDevice`](device::DeviceError::NoDevice) with the reason: no driver, no GPU, a driver that
/// does not start, a system without CUDA. Other errors of the driver.
pub fn discover() -> Discovery {
    let devices = CudaDevice::all()?;
    Ok(devices
        .into_iter()
        .map(|device| Box::new(device) as Box<dyn Device>)
        .collect())
}

/// The telemetry of a device: the GPU at the same place on the bus, by NVML, whose library
/// (`libnvidia-ml.so.1`) belongs to the driver.
///
/// # Errors
///
/// [`NoTelemetry`]: the emulated device, no NVML, a GPU that NVML does not know.
pub fn telemetry(device: &DeviceInfo) -> Result<Box<dyn Telemetry>, NoTelemetry> {
    let none = |reason: &str| NoTelemetry {
        reason: reason.to_owned(),
    };
    if device.kind == DeviceKind::Emulated {
        return Err(none("an emulated device has no clocks, and draws no power"));
    }
    let Some(pci_bus_id) = &device.pci_bus_id else {
        return Err(none("the driver does not say where on the bus the GPU is"));
    };
    gpus::telemetry_at(pci_bus_id)
}

/// How two GPUs are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Copies go from one to the other, over NVLink or a PCIe switch.
    Peer {
        /// Whether atomic operations work across it: over NVLink they do.
        has_atomics: bool,
    },
    /// Copies go through the host's memory.
    Staged,
}
