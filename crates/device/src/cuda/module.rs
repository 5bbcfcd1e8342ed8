//! Modules as the driver compiles them.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::ptr;

use cust::sys::{self, CUfunction, CUfunction_attribute, CUjit_option, CUmodule};

use crate::device_error::{DeviceError, DriverError};
use crate::driver::check;
use crate::info::{DeviceInfo, Spills};
use crate::module::Module;

/// Room for the driver's compiler to explain why it refuses the PTX.
const LOG_BYTES: usize = 16 * 1024;

/// Room for what it tells of each kernel.
const TOLD_BYTES: usize = 256 * 1024;

/// A module in a context; unloaded when dropped, in that same context.
#[derive(Debug)]
pub struct LoadedModule {
    raw: CUmodule,
    /// By kernel. Empty where the driver had compiled the module before.
    spills: HashMap<String, Spills>,
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
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_LOG_VERBOSE,
        ];
        // Numbers are passed in the pointers themselves.
        let mut values = [
            log.as_mut_ptr().cast::<c_void>(),
            ptr::without_provenance_mut(LOG_BYTES - 1),
            told.as_mut_ptr().cast(),
            ptr::without_provenance_mut(TOLD_BYTES - 1),
            ptr::without_provenance_mut(1),
        ];
        let mut raw = ptr::null_mut();
        // SAFETY: the text ends in NUL; there are as many values as options; both logs outlive the call, and the last
        // byte of each, which the driver does not know of, stays 0.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &mut raw,
                text.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        match check("cuModuleLoadDataEx", result) {
            Ok(()) => Ok(LoadedModule {
                raw,
                spills: spills(&text_of(&told)),
            }),
            Err(cause) => Err(refused(module, device, cause, &log)),
        }
    }

    /// What the compiler told of a kernel's spills.
    pub fn spills(&self, kernel: &str) -> Option<Spills> {
        self.spills.get(kernel).copied()
    }

    /// A kernel of the module.
    pub fn function(&self, name: &str) -> Result<CUfunction, DriverError> {
        let name = CString::new(name).expect("a kernel that was found in PTX");
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, and the name ends in NUL.
        let result = unsafe { sys::cuModuleGetFunction(&mut function, self.raw, name.as_ptr()) };
        check("cuModuleGetFunction", result)?;
        Ok(function)
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // SAFETY: nothing uses the module any more: sessions hold it as long as they live. A failure means that the
        // context is gone, and the module with it.
        unsafe {
            let _ = sys::cuModuleUnload(self.raw);
        }
    }
}

/// An attribute of a kernel.
pub fn function_attribute(
    function: CUfunction,
    which: CUfunction_attribute,
) -> Result<u32, DriverError> {
    let mut value = 0;
    // SAFETY: `value` may be written; the caller's function is of a loaded module.
    let result = unsafe { sys::cuFuncGetAttribute(&mut value, which, function) };
    check("cuFuncGetAttribute", result)?;
    Ok(value.max(0) as u32)
}

/// Refuses PTX for another GPU, of which the driver only says that it is invalid.
pub fn check_target(module: &Module, device: &DeviceInfo) -> Result<(), DeviceError> {
    let (Some(capability), Some(target)) = (device.compute_capability, module.target()) else {
        return Ok(());
    };
    let needs = target["sm_".len()..].trim_end_matches(|c: char| !c.is_ascii_digit());
    let needs: u32 = needs.parse().unwrap_or(0);
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
            ptx: module.directive(".version").unwrap_or("?").to_owned(),
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

/// What the compiler tells of each kernel's spills:
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
