//! CUDA GPUs, through `cust`.
//!
//! - `gpu`: a GPU, its context and stream, and what becomes of it after a fault;
//! - `module`: modules as the driver compiles them;
//! - `commands`: a plan's commands in the form that the driver takes, and graphs of them;
//! - `gate`: holds the stream until a timed region is enqueued;
//! - `memory`: the memory of a buffer, with or without guard bands;
//! - `staging`: copies of large buffers;
//! - `session`: the buffers and runs of a plan.

mod commands;
mod fan;
mod gate;
mod gpu;
mod memory;
mod module;
mod session;
mod staging;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use cust::sys;

use self::memory::Bands;
use self::module::LoadedModule;
use self::session::{CudaSession, Use};
use crate::device::error::DeviceError;
use crate::device::info::DeviceInfo;
use crate::device::traits::{Device, Session, SharedMemory};
use crate::driver::check;
use crate::error::Error;
use crate::module::Module;
use crate::plan::Plan;
use crate::validate::validate;

pub use gpu::CudaDevice;

impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn prepare<'d>(&'d self, module: &Module, plan: &Plan) -> Result<Box<dyn Session + 'd>, Error> {
        let module = validate(module, plan, &self.info.limits)?;
        let opened = self.enter()?;
        let loaded = self.load(module)?;
        let session = CudaSession::new(self, opened, loaded, plan, Use::Own)?;
        Ok(Box::new(session))
    }

    fn prepare_shared<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        memory: &SharedMemory,
    ) -> Result<Box<dyn Session + 'd>, Error> {
        let module = validate(module, plan, &self.info.limits)?;
        let opened = self.enter()?;
        let loaded = self.load(module)?;
        let memory = Use::Shared(memory.clone());
        let session = CudaSession::new(self, opened, loaded, plan, memory)?;
        Ok(Box::new(session))
    }

    fn prepare_isolated<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
    ) -> Result<Box<dyn Session + 'd>, Error> {
        let module = validate(module, plan, &self.info.limits)?;
        let opened = self.enter()?;
        reset_settings()?;
        // Not among the modules that are kept: its globals have their initial values.
        let loaded = Arc::new(LoadedModule::new(module, &self.info)?);
        let session = CudaSession::new(self, opened, loaded, plan, Use::Banded(Bands::new()))?;
        Ok(Box::new(session))
    }
}

/// Resets what a kernel may have changed in the context beyond its buffers: lines that persist in L2. The context is
/// current.
fn reset_settings() -> Result<(), DeviceError> {
    /// The results of a GPU and of a driver without persisting lines.
    const NOT_SUPPORTED: [u32; 2] = [801, 302];
    // SAFETY: the function has no arguments.
    let result = unsafe { sys::cuCtxResetPersistingL2Cache() };
    match check("cuCtxResetPersistingL2Cache", result) {
        Err(cause) if !NOT_SUPPORTED.contains(&cause.code) => Err(cause.into()),
        _ => Ok(()),
    }
}
