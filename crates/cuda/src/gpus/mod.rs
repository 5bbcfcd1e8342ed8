//! CUDA GPUs, through `cust`.
//!
//! - `group`: several GPUs as one device;
//! - `schedule`: what runs on which stream, and waits for what; `placement`: the same over several
//!   GPUs;
//! - `streams`: the streams and events of a schedule;
//! - `gpu`: a GPU, its context and stream, and what becomes of it after a fault;
//! - `module`: modules as the driver compiles them; `kernels`: those of a plan on one GPU;
//! - `panics`: what is known of a kernel that trapped;
//! - `commands`: a plan's commands in the form that the driver takes; `graph`: graphs of them;
//! - `digest`: digests of what buffers hold;
//! - `flush`: takes L2 from all that ran before;
//! - `gate`: holds the stream until a timed region is enqueued;
//! - `memory`: the memory of a buffer, with or without guard bands;
//! - `staging`: copies of large buffers;
//! - `session`: the buffers and runs of a plan, and how runs are timed;
//! - `driver`: the driver's functions, each wrapped once; [`nccl`]: bytes between processes;
//! - `nvml`: clocks, temperature and power.

mod commands;
mod digest;
mod driver;
mod flush;
mod gate;
mod gpu;
mod graph;
mod group;
mod kernels;
mod memory;
mod module;
pub mod nccl;
mod nvml;
mod panics;
mod placement;
mod schedule;
mod session;
mod staging;
mod streams;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::driver::call;
use self::kernels::Gpu;
use self::module::LoadedModule;
use self::session::{CudaSession, Use};
use device::telemetry::{NoTelemetry, Telemetry};
use device::validate::{validate, validate_devices};
use device::{Device, DeviceError, DeviceInfo, Error, Module, Preparation, Share, TimedSession};
use plan::Plan;

/// The remedy where no GPU is found, on this system.
pub const REMEDY: &str = "to use a GPU, install NVIDIA's driver";

pub use gpu::CudaDevice;
pub use group::CudaGroup;

/// The telemetry of the GPU at this PCI address.
pub(crate) fn telemetry_at(pci_bus_id: &str) -> Result<Box<dyn Telemetry>, NoTelemetry> {
    Ok(Box::new(nvml::Gpu::find(pci_bus_id)?))
}

impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn prepare_as<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        how: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        let memory = Use::of(&how.buffers);
        let module = validate(module, plan, &self.info.limits)?;
        validate_devices(plan, 1, |_, _| true)?;
        let opened = self.enter()?;
        let gpus = vec![Gpu::new(
            self,
            opened,
            self.load_for(module, &memory)?,
            plan,
        )?];
        let session = CudaSession::new(gpus, Share::whole(1), None, plan, memory)?;
        Ok(Box::new(session))
    }
}

impl CudaDevice {
    /// The module for a session with this memory. Its context is current.
    fn load_for(&self, module: &Module, memory: &Use) -> Result<Arc<LoadedModule>, DeviceError> {
        match memory {
            // Not among the modules that are kept: its globals have their initial values.
            Use::Banded(_) => {
                reset_settings()?;
                Ok(Arc::new(LoadedModule::new(module, &self.info)?))
            }
            Use::Own | Use::Pool(_) => self.load(module),
        }
    }
}

/// Resets what a kernel may have changed in the current context beyond its buffers: lines that
/// persist in L2.
fn reset_settings() -> Result<(), DeviceError> {
    /// The results of a GPU and of a driver without persisting lines.
    const NOT_SUPPORTED: [u32; 2] = [801, 302];
    match call::reset_persisting_l2() {
        Err(cause) if !NOT_SUPPORTED.contains(&cause.code) => Err(cause.into()),
        _ => Ok(()),
    }
}
