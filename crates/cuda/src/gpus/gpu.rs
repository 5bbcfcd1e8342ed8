//! A GPU: its context and stream, what is known about it, and what becomes of it after a fault.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cust::context::{Context, CurrentContext};
use cust::stream::{Stream, StreamFlags};
use cust::sys::CUdevice_attribute as Attribute;

use super::digest::{Digest, Digesting, is_whole_words};
use super::driver::stream::StreamRef;
use super::driver::{call, check};
use super::flush::Flush;
use super::gate::Gate;
use super::memory::Memory;
use super::module::{LoadedModule, Trapped};
use super::staging::Staging;
use device::{DeviceError, DeviceInfo, DeviceKind, DriverError, LaunchLimits, Module};
use plan::Plan;

/// A GPU. Its context is created on first use, since it takes time and memory on every GPU that has
/// one.
#[derive(Debug)]
pub struct CudaDevice {
    raw: cust::device::Device,
    pub(super) info: DeviceInfo,
    pub(super) threads_per_multiprocessor: u32,
    /// The first fault that the context did not survive.
    lost: OnceLock<String>,
    opened: OnceLock<Opened>,
    /// Modules by PTX text, so that each is compiled once for many plans. Also locked while the
    /// context is created.
    modules: Mutex<HashMap<String, Arc<LoadedModule>>>,
}

/// A GPU's primary context, and one stream that everything runs on.
#[derive(Debug)]
pub struct Opened {
    // Dropped in this order: memory and stream belong to the context.
    /// For [`Opened::flush_l2`]; made on first use.
    flushing: Mutex<Option<Flush>>,
    /// For [`Opened::digest`]; made on first use, and `None` where the GPU makes none.
    digesting: Mutex<Option<Option<Digesting>>>,
    /// For copies of large buffers; made on first use.
    pub(super) staging: Mutex<Option<Staging>>,
    /// Holds the stream while a timed region is enqueued.
    pub(super) gate: Gate,
    stream: Stream,
    context: Context,
}

impl CudaDevice {
    /// The GPU of this number, from 0.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`], [`DeviceError::NoSuchDevice`], or another error of the driver.
    pub fn open(ordinal: u32) -> Result<CudaDevice, DeviceError> {
        let count = count()?;
        if ordinal >= count {
            return Err(DeviceError::NoSuchDevice { ordinal, count });
        }
        let raw = check("cuDeviceGet", cust::device::Device::get_device(ordinal))?;
        Ok(CudaDevice {
            info: info(raw, ordinal)?,
            threads_per_multiprocessor: call::device_attribute(
                raw,
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
            )?,
            raw,
            lost: OnceLock::new(),
            opened: OnceLock::new(),
            modules: Mutex::default(),
        })
    }

    /// Every GPU of this machine; at least one.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`] with the reason, or another error of the driver.
    pub fn all() -> Result<Vec<CudaDevice>, DeviceError> {
        (0..count()?).map(CudaDevice::open).collect()
    }

    /// As the driver knows it.
    pub(super) fn raw(&self) -> cust::device::Device {
        self.raw
    }

    /// Its name for messages, with its number where there are several.
    pub(super) fn named(&self, are_several: bool) -> String {
        if are_several {
            format!("cuda:{} ({})", self.info.ordinal, self.info.name)
        } else {
            self.info.name.clone()
        }
    }

    /// Makes the context current on this thread, or fails if a fault has destroyed it.
    pub(super) fn enter(&self) -> Result<&Opened, DeviceError> {
        if let Some(cause) = self.lost.get() {
            return Err(DeviceError::Lost {
                cause: cause.clone(),
            });
        }
        let opened = self.opened()?;
        let set = CurrentContext::set_current(&opened.context);
        check("cuCtxSetCurrent", set)?;
        Ok(opened)
    }

    fn opened(&self) -> Result<&Opened, DeviceError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        // One thread creates the context; others wait here and find it.
        let _guard = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let context = check("cuDevicePrimaryCtxRetain", Context::new(self.raw))?;
        let stream = Stream::new(StreamFlags::DEFAULT, None);
        let stream = check("cuStreamCreateWithPriority", stream)?;
        let gate = Gate::new()?;
        Ok(self.opened.get_or_init(|| Opened {
            flushing: Mutex::default(),
            digesting: Mutex::default(),
            staging: Mutex::default(),
            gate,
            stream,
            context,
        }))
    }

    /// The module as compiled for this GPU. The context is current.
    pub(super) fn load(&self, module: &Module) -> Result<Arc<LoadedModule>, DeviceError> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = modules.get(module.ptx()) {
            return Ok(Arc::clone(loaded));
        }
        let loaded = Arc::new(LoadedModule::new(module, &self.info)?);
        modules.insert(module.ptx().to_owned(), Arc::clone(&loaded));
        Ok(loaded)
    }

    /// The error for a result of the driver while `plan` was in use, with the module of its
    /// kernels. Marks the device as lost if it is.
    pub(super) fn failed(
        &self,
        plan: &Plan,
        module: &LoadedModule,
        cause: DriverError,
    ) -> DeviceError {
        if let Some(what) = kernel_fault(cause.code) {
            let trapped = match cause.code {
                ASSERT | ILLEGAL_INSTRUCTION | DriverError::LAUNCH_FAILED => {
                    module.trapped(plan.kernels())
                }
                _ => Trapped::default(),
            };
            let suspects = match &trapped.kernels[..] {
                [] => suspects(plan.kernels()),
                kernels => suspects(kernels),
            };
            let what = match (&trapped.panic, &trapped.can_trap[..]) {
                (Some(panic), _) => panic.to_string(),
                (None, []) => what.to_owned(),
                (None, can_trap) => format!("{what}; a panic can be in {}", can_trap.join(", ")),
            };
            let error = DeviceError::KernelFault {
                place: format!("plan `{}`: {suspects}", plan.name()),
                code: cause.code,
                what: format!("{what}; {cause}"),
            };
            // Only the first fault is kept.
            let _ = self.lost.set(error.to_string());
            return error;
        }
        if loses_device(cause.code) {
            let _ = self.lost.set(cause.to_string());
        }
        cause.into()
    }
}

impl Opened {
    /// The GPU's context.
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// The stream that everything runs on.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Does a large copy with the memory for it. The context is current.
    pub(super) fn staged<T>(
        &self,
        copy: impl FnOnce(&mut Staging) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *staging {
            Some(staging) => copy(staging),
            none => copy(none.insert(Staging::new()?)),
        }
    }

    /// Displaces all of L2, waits, and returns the number of bytes written. The context of this
    /// GPU is current.
    pub(super) fn flush_l2(&self, info: &DeviceInfo, l2_bytes: u64) -> Result<u64, DriverError> {
        let mut flushing = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        let flush = match &mut *flushing {
            Some(flush) => flush,
            none => none.insert(Flush::new(info, l2_bytes)?),
        };
        flush.run(StreamRef::from(&self.stream))
    }

    /// The digest of a buffer, if this GPU makes one. Waits. The context of this GPU is current.
    pub(super) fn digest(
        &self,
        info: &DeviceInfo,
        memory: &Memory,
    ) -> Result<Option<Digest>, DriverError> {
        if !is_whole_words(memory.bytes()) {
            return Ok(None);
        }
        let lock = self.digesting.lock();
        let mut digesting = lock.unwrap_or_else(PoisonError::into_inner);
        let digesting = match &mut *digesting {
            Some(digesting) => digesting,
            none => none.insert(Digesting::new(info)?),
        };
        let of = |ready: &Digesting| ready.of(memory, StreamRef::from(&self.stream));
        digesting.as_ref().map(of).transpose()
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        // Modules unload from the current context. A failure here has no remedy.
        if let Some(opened) = self.opened.get() {
            let _ = CurrentContext::set_current(&opened.context);
            self.modules
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
        }
    }
}

/// How many GPUs there are; at least 1.
fn count() -> Result<u32, DeviceError> {
    cuda_driver::open().map_err(|reason| DeviceError::NoDevice {
        reason: reason.to_owned(),
    })?;
    call::init().map_err(|error| DeviceError::NoDevice {
        reason: why_not_started(&error),
    })?;
    match check("cuDeviceGetCount", cust::device::Device::num_devices())? {
        0 => Err(DeviceError::NoDevice {
            reason: "the driver finds no GPU".to_owned(),
        }),
        count => Ok(count),
    }
}

fn why_not_started(error: &DriverError) -> String {
    match error.code {
        34 => "the libcuda.so.1 found is a toolkit's stub, not a driver".to_owned(),
        100 => "the driver finds no GPU (is CUDA_VISIBLE_DEVICES set to hide it?)".to_owned(),
        803 => format!("{error}; restart the machine to load the installed driver's kernel module"),
        _ => error.to_string(),
    }
}

fn info(device: cust::device::Device, ordinal: u32) -> Result<DeviceInfo, DriverError> {
    use Attribute::*;
    let get = |which| call::device_attribute(device, which);
    let driver_version = call::driver_version()?;
    let compute_capability = (
        get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    Ok(DeviceInfo {
        kind: DeviceKind::Cuda,
        name: check("cuDeviceGetName", device.name())?,
        ordinal,
        pci_bus_id: Some(call::device_pci_bus_id(device)?.to_lowercase()),
        compute_capability: Some(compute_capability),
        multiprocessors: Some(get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?),
        memory_bytes: Some(check("cuDeviceTotalMem", device.total_memory())? as u64),
        l2_bytes: Some(get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into()),
        clock_khz: Some(get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?),
        memory_clock_khz: Some(get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?),
        memory_bus_bits: Some(get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?),
        driver_cuda: Some((driver_version / 1000, driver_version % 1000 / 10)),
        limits: LaunchLimits {
            threads_per_block: get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            block: [
                get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            grid: [
                get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            shared_mem_per_block_bytes: get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            compute_capability,
        },
    })
}

/// `CUDA_ERROR_ASSERT`: a kernel called `__assertfail`.
const ASSERT: u32 = 710;

/// `CUDA_ERROR_ILLEGAL_INSTRUCTION`: on some GPUs a trap is one.
const ILLEGAL_INSTRUCTION: u32 = 715;

/// A description of the fault, if the result means a fault of a kernel. The context survives none
/// of these.
fn kernel_fault(code: u32) -> Option<&'static str> {
    Some(match code {
        DriverError::ILLEGAL_ADDRESS => {
            "it read or wrote memory that it must not (illegal address)"
        }
        702 => "it ran for longer than this machine lets a kernel run (launch timeout)",
        ASSERT => "an assertion in it failed",
        714 => "its call stack was corrupted or overflowed",
        ILLEGAL_INSTRUCTION => "it met an illegal instruction",
        DriverError::MISALIGNED_ADDRESS => {
            "it read or wrote an address that is not aligned for the access"
        }
        717 => "it used an address in a memory that the instruction does not work on",
        718 => "it jumped to an address that holds no instruction",
        DriverError::LAUNCH_FAILED => "it trapped (a panic in Rust) or faulted",
        _ => return None,
    })
}

/// Other results that the context does not survive.
fn loses_device(code: u32) -> bool {
    matches!(code, 4 | 201 | 214 | 220 | 226 | 709)
}

/// The kernels that may have failed: the driver does not say which one did.
pub fn suspects(kernels: &[String]) -> String {
    let names: Vec<String> = kernels.iter().map(|k| format!("`{k}`")).collect();
    match &names[..] {
        [] => "no kernel".to_owned(),
        [kernel] => format!("kernel {kernel}"),
        _ => format!("one of the kernels {}", names.join(", ")),
    }
}
