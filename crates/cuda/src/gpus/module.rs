//! Modules as the driver compiles them.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Arc;

use cust::context::{CurrentContext, ResourceLimit};
use cust::sys::{CUfunction, CUfunction_attribute as Attribute, CUmodule};
use ptx_emu::Executable;

use super::driver::{call, check};
use super::panics::{self, Mailbox, Panic};
use device::{DeviceError, DeviceInfo, DriverError, Module, STACK_BYTES, Spills};
use plan::LaunchConfig;

/// Room for the driver's compiler to explain why it refuses the PTX.
const LOG_BYTES: usize = 16 * 1024;

/// Room for its lines about each kernel.
const TOLD_BYTES: usize = 256 * 1024;

/// Shared memory, static and dynamic, that every launch may use without opting in.
const DEFAULT_SHARED_MEM_BYTES: u32 = 48 * 1024;

/// A module in a context; unloaded when dropped, in that same context.
#[derive(Debug)]
pub struct LoadedModule {
    raw: CUmodule,
    /// By kernel. Empty where the driver had compiled the module before.
    spills: HashMap<String, Spills>,
    /// For the message of a panic, if the module's panics have one.
    mailbox: Option<Mailbox>,
    /// The module's PTX, read; to say where it can trap.
    executable: Option<Arc<Executable>>,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for LoadedModule {}
// SAFETY: the driver synchronises access to them.
unsafe impl Sync for LoadedModule {}

impl LoadedModule {
    /// Compiles a module for the current context.
    pub fn new(module: &Module, device: &DeviceInfo) -> Result<LoadedModule, DeviceError> {
        check_target(module, device)?;
        let text = CString::new(module.ptx()).map_err(|_| DeviceError::LoadFailed {
            module: module.name().to_owned(),
            cause: Box::new(DriverError {
                function: "cuModuleLoadDataEx",
                code: 218,
                name: "CUDA_ERROR_INVALID_PTX".to_owned(),
                description: "the text contains a NUL character".to_owned(),
            }),
            log: String::new(),
        })?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut told = vec![0u8; TOLD_BYTES];
        let raw = call::load_module(&text, &mut log, &mut told)
            .map_err(|cause| refused(module, device, cause, &log))?;
        let mut loaded = LoadedModule {
            raw,
            spills: spills(&text_of(&told)),
            mailbox: None,
            executable: module.executable().ok().cloned(),
        };
        let executable = loaded.executable.as_deref();
        if executable.is_none_or(Executable::is_recursive) {
            deepen_stack()?;
        }
        // SAFETY: the module is loaded, and the mailbox is freed after it.
        loaded.mailbox = unsafe { Mailbox::new(raw, module.ptx()) }?;
        Ok(loaded)
    }

    /// The first panic of its kernels, if it has messages. Nothing runs on the device.
    pub fn panic(&self) -> Option<Panic> {
        self.mailbox.as_ref()?.panic()
    }

    /// Whether a kernel has panicked, with the message, and where this module's `kernels` can trap,
    /// for the error of a launch that trapped. Nothing runs on the device.
    pub fn trapped(&self, kernels: &[String]) -> Trapped {
        let panic = self.panic();
        let Some(executable) = &self.executable else {
            return Trapped {
                panic,
                ..Trapped::default()
            };
        };
        let of_panic = panic
            .as_ref()
            .map(|panic| panic.kernels(executable, kernels));
        Trapped {
            kernels: { of_panic.unwrap_or_default().into_iter() }
                .map(str::to_owned)
                .collect(),
            can_trap: panics::traps(executable, kernels),
            panic,
        }
    }

    /// A kernel's spills, as the compiler told them.
    pub fn spills(&self, kernel: &str) -> Option<Spills> {
        self.spills.get(kernel).copied()
    }

    /// A kernel of the module.
    pub fn kernel(self: &Arc<Self>, name: &str) -> Result<Kernel, DriverError> {
        let name = CString::new(name).expect("a kernel that was found in PTX");
        Ok(Kernel {
            // SAFETY: the module is loaded as long as `self` lives.
            raw: unsafe { call::module_function(self.raw, &name) }?,
            _module: Arc::clone(self),
        })
    }
}

/// Gives the threads of the current context [`STACK_BYTES`], if they have less: ptxas cannot say
/// how deep functions go that call each other by addresses or again and again.
fn deepen_stack() -> Result<(), DriverError> {
    let bytes = CurrentContext::get_resource_limit(ResourceLimit::StackSize);
    if check("cuCtxGetLimit", bytes)? < STACK_BYTES {
        let set = CurrentContext::set_resource_limit(ResourceLimit::StackSize, STACK_BYTES);
        check("cuCtxSetLimit", set)?;
    }
    Ok(())
}

/// The things that a module knows of a trap.
#[derive(Debug, Default)]
pub struct Trapped {
    /// The panic, with its message.
    pub panic: Option<Panic>,
    /// The kernels that the panic is in.
    pub kernels: Vec<String>,
    /// The kernels that can trap, with lines.
    pub can_trap: Vec<String>,
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // SAFETY: `new` loaded the module, and nothing else unloads it. Each kernel holds the
        // module, and a session holds its kernels until nothing runs any more. A failure means that
        // the context is gone, and the module with it.
        let _ = unsafe { call::unload_module(self.raw) };
    }
}

/// A kernel of a loaded module, which it keeps loaded.
#[derive(Debug, Clone)]
pub struct Kernel {
    raw: CUfunction,
    _module: Arc<LoadedModule>,
}

impl Kernel {
    /// The driver's handle. It is valid as long as the kernel lives.
    pub fn raw(&self) -> CUfunction {
        self.raw
    }

    /// An attribute of the kernel.
    pub fn attribute(&self, which: Attribute) -> Result<u32, DriverError> {
        // SAFETY: `self` keeps the module loaded.
        unsafe { call::function_attribute(self.raw, which) }
    }

    /// Opts in to this much dynamic shared memory, if a launch needs to.
    pub fn allow_shared_memory(&self, dynamic_bytes: u32) -> Result<(), DriverError> {
        let which = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let static_bytes = self.attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        if dynamic_bytes + static_bytes <= DEFAULT_SHARED_MEM_BYTES {
            return Ok(());
        }
        // Another session may launch the same kernel with more: never lower its limit.
        let bytes = dynamic_bytes.max(self.attribute(which)?);
        // SAFETY: `self` keeps the module loaded.
        unsafe { call::set_function_attribute(self.raw, which, bytes) }
    }

    /// Lets the kernel have clusters of more blocks than is portable.
    pub fn allow_non_portable_cluster(&self) -> Result<(), DriverError> {
        // SAFETY: `self` keeps the module loaded.
        unsafe { call::allow_non_portable_cluster(self.raw) }
    }

    /// How many blocks of this shape run on one multiprocessor at a time.
    pub fn blocks_per_multiprocessor(&self, config: &LaunchConfig) -> Result<u32, DriverError> {
        let threads = config.threads_per_block() as u32;
        // SAFETY: `self` keeps the module loaded.
        unsafe { call::max_active_blocks(self.raw, threads, config.shared_mem_bytes) }
    }
}

/// Refuses PTX for another GPU. The driver would only say that it is invalid.
pub fn check_target(module: &Module, device: &DeviceInfo) -> Result<(), DeviceError> {
    let (Some(capability), Some(target)) = (device.compute_capability, module.target()) else {
        return Ok(());
    };
    let needs: u32 = target["sm_".len()..]
        .trim_end_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .unwrap_or(0);
    let has = capability.0 * 10 + capability.1;
    let runs = match target.chars().last() {
        // Code for exactly this architecture, or for its family.
        Some('a') => needs == has,
        Some('f') => needs <= has && needs / 10 == capability.0,
        _ => needs <= has,
    };
    if runs {
        return Ok(());
    }
    Err(DeviceError::WrongTarget {
        module: module.name().to_owned(),
        target: target.to_owned(),
        device: device.name.clone(),
        compute_capability: capability,
    })
}

/// The error for a module that the driver refused.
pub fn refused(
    module: &Module,
    device: &DeviceInfo,
    cause: DriverError,
    log: &[u8],
) -> DeviceError {
    const UNSUPPORTED_PTX_VERSION: u32 = 222;
    if cause.code == UNSUPPORTED_PTX_VERSION {
        return DeviceError::PtxTooNew {
            module: module.name().to_owned(),
            ptx: ptx::directive(module.ptx(), "version")
                .unwrap_or("?")
                .to_owned(),
            driver_cuda: device.driver_cuda.unwrap_or_default(),
        };
    }
    DeviceError::LoadFailed {
        module: module.name().to_owned(),
        cause: Box::new(cause),
        log: text_of(log).trim().to_owned(),
    }
}

/// A log up to its first NUL.
fn text_of(log: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(log).unwrap_or_default();
    text.to_string_lossy().into_owned()
}

/// Each kernel's spills, as the compiler tells them:
///
/// ```text
/// ptxas info    : Function properties for step
/// ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
/// ```
pub fn spills(told: &str) -> HashMap<String, Spills> {
    let mut spills = HashMap::new();
    let mut function = None;
    for line in told.lines() {
        if let Some((_, name)) = line.split_once("Function properties for ") {
            let name = name.trim();
            function = Some(name.trim_matches('\'').to_owned());
        } else if line.contains("bytes spill stores") {
            let bytes = |what: &str| {
                let before = line.split(what).next()?;
                before.split_whitespace().last()?.parse().ok()
            };
            let both = bytes(" bytes spill stores").zip(bytes(" bytes spill loads"));
            if let (Some(name), Some((store_bytes, load_bytes))) = (function.take(), both) {
                let known = Spills {
                    store_bytes,
                    load_bytes,
                };
                spills.insert(name, known);
            }
        }
    }
    spills
}
