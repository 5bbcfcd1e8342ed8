//! Which GPUs there are; one of them, with its context and stream.

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cust::context::{Context, CurrentContext};
use cust::device::DeviceAttribute as Attribute;
use cust::memory::DeviceBuffer;
use cust::stream::{Stream, StreamFlags};
use cust::sys::{self, CUdevice_attribute};

use super::hold::Gate;
use super::loaded::LoadedModule;
use super::memory::Bands;
use super::session::CudaSession;
use crate::device::{Device, DeviceError, DeviceInfo, DeviceKind, DriverError, Limits, Session};
use crate::driver::{self, check, check_cust};
use crate::error::Error;
use crate::module::Module;
use crate::plan::Plan;
use crate::validate::validate;

/// A GPU. Its context is made when first needed: it takes time and memory on each GPU, used or not.
#[derive(Debug)]
pub struct CudaDevice {
    raw: cust::device::Device,
    info: DeviceInfo,
    pub(super) threads_per_multiprocessor: u32,
    /// Set by the first fault that the context does not survive; says which.
    pub(super) lost: OnceLock<String>,
    opened: OnceLock<Opened>,
    /// Modules by PTX text, so that preparing many plans compiles once. Held while the context is made, too.
    modules: Mutex<HashMap<String, Arc<LoadedModule>>>,
}

/// A GPU's primary context, and one stream that everything runs on.
#[derive(Debug)]
pub struct Opened {
    // Dropped in this order: memory and stream belong to the context.
    /// What [`Opened::flush_l2`] writes, once it was needed.
    flushing: Mutex<Option<DeviceBuffer<u8>>>,
    /// Holds the stream while a timed region is enqueued.
    pub gate: Gate,
    pub stream: Stream,
    context: Context,
}

impl CudaDevice {
    /// The GPU of this number, from 0.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDevice`], [`DeviceError::NoSuchDevice`], or what the driver answers.
    pub fn open(ordinal: u32) -> Result<CudaDevice, DeviceError> {
        let count = count()?;
        if ordinal >= count {
            return Err(DeviceError::NoSuchDevice { ordinal, count });
        }
        let raw = check_cust("cuDeviceGet", cust::device::Device::get_device(ordinal))?;
        Ok(CudaDevice {
            info: info(raw, ordinal)?,
            threads_per_multiprocessor: attribute(raw, Attribute::MaxThreadsPerMultiprocessor)?,
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
    /// [`DeviceError::NoDevice`] with the reason, or what the driver answers.
    pub fn all() -> Result<Vec<CudaDevice>, DeviceError> {
        (0..count()?).map(CudaDevice::open).collect()
    }

    /// Makes the context current on this thread; refuses if a fault has destroyed it.
    pub(super) fn enter(&self) -> Result<&Opened, DeviceError> {
        if let Some(cause) = self.lost.get() {
            return Err(DeviceError::Lost {
                cause: cause.clone(),
            });
        }
        let opened = self.opened()?;
        check_cust(
            "cuCtxSetCurrent",
            CurrentContext::set_current(&opened.context),
        )?;
        Ok(opened)
    }

    fn opened(&self) -> Result<&Opened, DeviceError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        // One thread makes the context, others wait here and find it made.
        let _guard = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let context = check_cust("cuDevicePrimaryCtxRetain", Context::new(self.raw))?;
        let stream = Stream::new(StreamFlags::DEFAULT, None);
        let stream = check_cust("cuStreamCreateWithPriority", stream)?;
        let gate = Gate::new()?;
        Ok(self.opened.get_or_init(|| Opened {
            flushing: Mutex::default(),
            gate,
            stream,
            context,
        }))
    }

    /// The context is current.
    fn load(&self, module: &Module) -> Result<Arc<LoadedModule>, DeviceError> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = modules.get(module.ptx()) {
            return Ok(Arc::clone(loaded));
        }
        let loaded = Arc::new(LoadedModule::new(module, &self.info)?);
        modules.insert(module.ptx().to_owned(), Arc::clone(&loaded));
        Ok(loaded)
    }
}

impl Opened {
    /// Writes more bytes than L2 holds, over whatever it holds, and waits. The context is current. Returns how many.
    pub fn flush_l2(&self, l2_bytes: u64) -> Result<u64, DriverError> {
        let mut flushing = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        if flushing.is_none() {
            // Twice L2's size, since its replacement is not strictly least recently used.
            // SAFETY: nothing reads the buffer; any bytes are valid `u8`.
            let allocated = unsafe { DeviceBuffer::uninitialized(2 * l2_bytes as usize) };
            *flushing = Some(check_cust("cuMemAlloc", allocated)?);
        }
        let buffer = flushing.as_ref().expect("just allocated");
        // SAFETY: the buffer has so many bytes, and the context is current.
        let result = unsafe {
            sys::cuMemsetD8Async(
                buffer.as_device_ptr().as_raw(),
                0,
                buffer.len(),
                self.stream.as_inner(),
            )
        };
        check("cuMemsetD8Async", result)?;
        check_cust("cuStreamSynchronize", self.stream.synchronize())?;
        Ok(buffer.len() as u64)
    }
}

impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn prepare<'d>(&'d self, module: &Module, plan: &Plan) -> Result<Box<dyn Session + 'd>, Error> {
        validate(module, plan, &self.info.limits)?;
        let opened = self.enter()?;
        let loaded = self.load(module)?;
        Ok(Box::new(CudaSession::new(
            self, opened, loaded, plan, None,
        )?))
    }

    fn prepare_isolated<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
    ) -> Result<Box<dyn Session + 'd>, Error> {
        validate(module, plan, &self.info.limits)?;
        let opened = self.enter()?;
        reset_settings()?;
        // Not among the modules that are kept: its globals have their initial values.
        let loaded = Arc::new(LoadedModule::new(module, &self.info)?);
        let bands = Some(Bands::new());
        Ok(Box::new(CudaSession::new(
            self, opened, loaded, plan, bands,
        )?))
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        // Modules unload from the current context. What fails here can no longer be put right.
        if let Some(opened) = self.opened.get() {
            let _ = CurrentContext::set_current(&opened.context);
            self.modules
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
        }
    }
}

/// Undoes what a kernel may have done to the context beyond its buffers: lines that it made persist in L2. The context is
/// current.
fn reset_settings() -> Result<(), DeviceError> {
    /// Results of a GPU, or a driver, that knows no persisting lines.
    const NOT_SUPPORTED: [u32; 2] = [801, 302];
    // SAFETY: takes nothing and writes nothing of ours.
    let reset = unsafe {
        check(
            "cuCtxResetPersistingL2Cache",
            sys::cuCtxResetPersistingL2Cache(),
        )
    };
    match reset {
        Err(cause) if !NOT_SUPPORTED.contains(&cause.code) => Err(cause.into()),
        _ => Ok(()),
    }
}

/// How many GPUs there are; at least 1.
fn count() -> Result<u32, DeviceError> {
    driver::open().map_err(|reason| DeviceError::NoDevice {
        reason: reason.to_owned(),
    })?;
    // SAFETY: may be called at any time, more than once.
    let started = unsafe { check("cuInit", sys::cuInit(0)) };
    started.map_err(|error| DeviceError::NoDevice {
        reason: why_not_started(&error),
    })?;
    match check_cust("cuDeviceGetCount", cust::device::Device::num_devices())? {
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
    let get = |which| attribute(device, which);
    let mut driver_version = 0;
    // SAFETY: `driver_version` may be written.
    unsafe {
        check(
            "cuDriverGetVersion",
            sys::cuDriverGetVersion(&mut driver_version),
        )?;
    }
    let driver_version = driver_version as u32;
    Ok(DeviceInfo {
        kind: DeviceKind::Cuda,
        name: check_cust("cuDeviceGetName", device.name())?,
        ordinal,
        pci_bus_id: Some(pci_bus_id(device)?),
        compute_capability: Some((
            get(Attribute::ComputeCapabilityMajor)?,
            get(Attribute::ComputeCapabilityMinor)?,
        )),
        multiprocessors: Some(get(Attribute::MultiprocessorCount)?),
        memory_bytes: Some(check_cust("cuDeviceTotalMem", device.total_memory())? as u64),
        l2_bytes: Some(get(Attribute::L2CacheSize)?.into()),
        clock_khz: Some(get(Attribute::ClockRate)?),
        memory_clock_khz: Some(get(Attribute::MemoryClockRate)?),
        memory_bus_bits: Some(get(Attribute::GlobalMemoryBusWidth)?),
        driver_cuda: Some((driver_version / 1000, driver_version % 1000 / 10)),
        limits: Limits {
            threads_per_block: get(Attribute::MaxThreadsPerBlock)?,
            block: [
                get(Attribute::MaxBlockDimX)?,
                get(Attribute::MaxBlockDimY)?,
                get(Attribute::MaxBlockDimZ)?,
            ],
            grid: [
                get(Attribute::MaxGridDimX)?,
                get(Attribute::MaxGridDimY)?,
                get(Attribute::MaxGridDimZ)?,
            ],
            shared_mem_per_block_bytes: shared_mem_optin(device)?,
        },
    })
}

fn attribute(device: cust::device::Device, which: Attribute) -> Result<u32, DriverError> {
    let value = check_cust("cuDeviceGetAttribute", device.get_attribute(which))?;
    // The driver's integers are signed; none of these is negative.
    Ok(value.max(0) as u32)
}

fn pci_bus_id(device: cust::device::Device) -> Result<String, DriverError> {
    // The driver asks for 13 bytes; domains of 32 bits need 17.
    let mut text = [0u8; 32];
    // SAFETY: the text has that many bytes, and `device` is the driver's.
    unsafe {
        check(
            "cuDeviceGetPCIBusId",
            sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), text.len() as i32, device.as_raw()),
        )?;
    }
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    Ok(text.to_string_lossy().to_lowercase())
}

/// `cust` has no name for this attribute.
fn shared_mem_optin(device: cust::device::Device) -> Result<u32, DriverError> {
    let which = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    let mut value = 0;
    // SAFETY: `value` may be written, and `device` is the driver's.
    unsafe {
        check(
            "cuDeviceGetAttribute",
            sys::cuDeviceGetAttribute(&mut value, which, device.as_raw()),
        )?;
    }
    Ok(value.max(0) as u32)
}
