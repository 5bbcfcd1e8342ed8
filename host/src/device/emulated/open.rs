//! The device and its options.

use ptx_emu::Options;

use super::session::EmulatedSession;
use crate::device::{Device, DeviceInfo, DeviceKind, Limits, Session};
use crate::error::Error;
use crate::module::Module;
use crate::plan::Plan;
use crate::validate::validate;

/// The PTX interpreter as a device. Its limits are those of compute capability 9.0.
#[derive(Debug)]
pub struct EmulatedDevice {
    info: DeviceInfo,
    options: Options,
}

impl EmulatedDevice {
    /// With these checks, this order of execution, this bound on endless loops.
    pub fn new(options: Options) -> EmulatedDevice {
        EmulatedDevice {
            info: DeviceInfo {
                kind: DeviceKind::Emulated,
                name: "PTX interpreter".to_owned(),
                ordinal: 0,
                pci_bus_id: None,
                compute_capability: None,
                multiprocessors: None,
                memory_bytes: Some(ptx_emu::DeviceLimits::default().global_bytes),
                l2_bytes: None,
                clock_khz: None,
                memory_clock_khz: None,
                memory_bus_bits: None,
                driver_cuda: None,
                limits: Limits::COMMON,
            },
            options,
        }
    }

    /// How it executes kernels.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

impl Default for EmulatedDevice {
    /// With every check on.
    fn default() -> EmulatedDevice {
        EmulatedDevice::new(Options::default())
    }
}

impl Device for EmulatedDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn prepare<'d>(&'d self, module: &Module, plan: &Plan) -> Result<Box<dyn Session + 'd>, Error> {
        validate(module, plan, &self.info.limits)?;
        Ok(Box::new(EmulatedSession::new(self, module, plan)?))
    }
}
