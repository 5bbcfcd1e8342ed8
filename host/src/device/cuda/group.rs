//! Several GPUs as one device, for plans over several devices.

use cust::sys::{self, CUdevice_P2PAttribute as P2pAttribute};

use super::gpu::CudaDevice;
use super::lanes::reach;
use super::session::{CudaSession, Gpu, Use};
use crate::device::error::{DeviceError, DriverError};
use crate::device::info::DeviceInfo;
use crate::device::traits::{Device, Session, SharedMemory};
use crate::driver::check;
use crate::error::Error;
use crate::module::Module;
use crate::plan::Plan;
use crate::validate::{validate, validate_devices};

/// GPUs of this machine: a plan's device 0 is the first of them. Kernels reach the memory of every other GPU where the driver allows it; a
/// copy between two that do not goes through the host's memory.
#[derive(Debug)]
pub struct CudaGroup {
    gpus: Vec<CudaDevice>,
    /// For each GPU, which others its kernels reach.
    reaches: Vec<Vec<bool>>,
}

/// How two GPUs are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Copies go from one to the other, over NVLink or a PCIe switch; by the driver's rank of performance, 0 the best.
    Peer {
        /// The driver's `PERFORMANCE_RANK`.
        rank: u32,
        /// Whether atomic operations work across it: over NVLink they do.
        has_atomics: bool,
    },
    /// Copies go through the host's memory.
    Staged,
}

impl CudaGroup {
    /// A group of these GPUs, at least one. Their contexts are made, and peer access is enabled.
    ///
    /// # Errors
    ///
    /// Errors of the driver.
    ///
    /// # Panics
    ///
    /// Without a GPU.
    pub fn new(gpus: Vec<CudaDevice>) -> Result<CudaGroup, DeviceError> {
        assert!(!gpus.is_empty(), "a group has a GPU");
        let opened: Result<Vec<_>, DeviceError> = gpus.iter().map(CudaDevice::enter).collect();
        let opened = opened?;
        let of = |from: usize| {
            let reaches = opened.iter().enumerate().map(|(to, other)| {
                Ok(from == to || reach(opened[from].context(), other.context())?)
            });
            reaches.collect::<Result<Vec<bool>, DriverError>>()
        };
        let reaches = (0..gpus.len()).map(of);
        let reaches = reaches.collect::<Result<_, DriverError>>()?;
        Ok(CudaGroup { gpus, reaches })
    }

    /// The GPUs, in the order of a plan's numbers.
    pub fn gpus(&self) -> &[CudaDevice] {
        &self.gpus
    }

    /// How two of its GPUs are joined, by their numbers in the group.
    ///
    /// # Errors
    ///
    /// Errors of the driver.
    pub fn link(&self, from: usize, to: usize) -> Result<Link, DeviceError> {
        if !self.reaches[from][to] {
            return Ok(Link::Staged);
        }
        let attribute = |which| {
            let mut value = 0;
            let (from, to) = (self.gpus[from].raw(), self.gpus[to].raw());
            // SAFETY: the value may be written, and the devices are the driver's.
            let result = unsafe { sys::cuDeviceGetP2PAttribute(&mut value, which, from, to) };
            check("cuDeviceGetP2PAttribute", result)?;
            Ok::<i32, DriverError>(value)
        };
        let rank = attribute(P2pAttribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)?;
        let atomics = attribute(P2pAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)?;
        Ok(Link::Peer {
            rank: rank.max(0) as u32,
            has_atomics: atomics != 0,
        })
    }

    fn session<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        memory: Use,
    ) -> Result<Box<dyn Session + 'd>, Error> {
        validate_devices(plan, self.count(), |from, to| {
            self.reaches[from as usize][to as usize]
        })?;
        let mut gpus = Vec::new();
        for device in &self.gpus[..plan.devices() as usize] {
            let module = validate(module, plan, &device.info.limits)?;
            let opened = device.enter()?;
            gpus.push(Gpu::new(device, opened, device.load(module)?, plan)?);
        }
        let mut session = CudaSession::new(gpus, plan, memory)?;
        if self.reaches.iter().flatten().any(|reaches| !reaches) {
            session.forbid_graphs("a graph has no copies between GPUs without peer access");
        }
        Ok(Box::new(session))
    }
}

impl Device for CudaGroup {
    fn info(&self) -> &DeviceInfo {
        &self.gpus[0].info
    }

    fn count(&self) -> u32 {
        self.gpus.len() as u32
    }

    fn prepare<'d>(&'d self, module: &Module, plan: &Plan) -> Result<Box<dyn Session + 'd>, Error> {
        self.session(module, plan, Use::Own)
    }

    fn prepare_shared<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        memory: &SharedMemory,
    ) -> Result<Box<dyn Session + 'd>, Error> {
        self.session(module, plan, Use::Shared(memory.clone()))
    }
}
