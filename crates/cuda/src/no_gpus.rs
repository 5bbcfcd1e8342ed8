//! A system without CUDA: there is no GPU, and the types of GPUs have no values.
//!
//! Programs above this crate are written once. They ask for a GPU, and get the reason why there is
//! none.

use device::telemetry::{NoTelemetry, Telemetry};
use device::{Device, DeviceError, DeviceInfo, Error, Module, Preparation, Share, TimedSession};
use plan::Plan;

use crate::Link;

/// The remedy where no GPU is found, on this system.
pub const REMEDY: &str = "to use a GPU, run Linux, on Windows in WSL 2";

/// A GPU. There is none here.
#[derive(Debug)]
pub enum CudaDevice {}

/// Several GPUs. There are none here.
#[derive(Debug)]
pub enum CudaGroup {}

fn no_device() -> DeviceError {
    DeviceError::NoDevice {
        reason: format!(
            "CUDA is used on Linux only, and this is {}",
            std::env::consts::OS
        ),
    }
}

pub(crate) fn telemetry_at(_: &str) -> Result<Box<dyn Telemetry>, NoTelemetry> {
    Err(NoTelemetry {
        reason: "NVML is used on Linux only".to_owned(),
    })
}

impl CudaDevice {
    /// Always an error.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`].
    pub fn open(_: u32) -> Result<CudaDevice, DeviceError> {
        Err(no_device())
    }

    /// Always an error.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`].
    pub fn all() -> Result<Vec<CudaDevice>, DeviceError> {
        Err(no_device())
    }
}

impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        match *self {}
    }

    fn prepare_as<'d>(
        &'d self,
        _: &Module,
        _: &Plan,
        _: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        match *self {}
    }
}

impl CudaGroup {
    /// Always an error.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`].
    pub fn new(_: Vec<CudaDevice>) -> Result<CudaGroup, DeviceError> {
        Err(no_device())
    }

    /// Not reached: there is no group.
    ///
    /// # Errors
    ///
    /// None.
    pub fn among(self, _: Share, _: &ranks::Session) -> Result<CudaGroup, Error> {
        match self {}
    }

    /// Not reached: there is no group.
    pub fn gpus(&self) -> &[CudaDevice] {
        match *self {}
    }

    /// Not reached: there is no group.
    ///
    /// # Errors
    ///
    /// None.
    pub fn link(&self, _: usize, _: usize) -> Result<Link, DeviceError> {
        match *self {}
    }
}

impl Device for CudaGroup {
    fn info(&self) -> &DeviceInfo {
        match *self {}
    }

    fn prepare_as<'d>(
        &'d self,
        _: &Module,
        _: &Plan,
        _: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        match *self {}
    }
}
