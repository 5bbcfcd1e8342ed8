//! A module as the driver compiled it.

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use cust::sys::{self, CUfunction, CUfunction_attribute, CUjit_option, CUmodule};

use crate::device::{DeviceError, DeviceInfo, DriverError};
use crate::driver::check;
use crate::module::Module;

/// Room for what the driver's compiler writes about PTX that it refuses.
const LOG_BYTES: usize = 16 * 1024;

/// A module in a context; unloaded when dropped, in that same context.
#[derive(Debug)]
pub struct LoadedModule {
    raw: CUmodule,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for LoadedModule {}
// SAFETY: the driver locks what it must.
unsafe impl Sync for LoadedModule {}

impl LoadedModule {
    /// Has the driver compile a module for the current context.
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
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // Numbers are passed in the pointers themselves.
        let mut values = [
            log.as_mut_ptr().cast::<c_void>(),
            ptr::without_provenance_mut(LOG_BYTES - 1),
        ];
        let mut raw = ptr::null_mut();
        // SAFETY: the text ends in NUL; there are as many values as options; the log outlives the call, and its last
        // byte, which the driver does not know of, stays 0.
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
            Ok(()) => Ok(LoadedModule { raw }),
            Err(cause) => Err(refused(module, device, cause, &log)),
        }
    }

    /// A kernel of the module.
    pub fn function(&self, name: &str) -> Result<CUfunction, DriverError> {
        let name = CString::new(name).expect("a kernel that was found in PTX");
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, and the name ends in NUL.
        unsafe {
            check(
                "cuModuleGetFunction",
                sys::cuModuleGetFunction(&mut function, self.raw, name.as_ptr()),
            )?;
        }
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
    unsafe {
        check(
            "cuFuncGetAttribute",
            sys::cuFuncGetAttribute(&mut value, which, function),
        )?;
    }
    Ok(value.max(0) as u32)
}

/// The driver says of PTX for a newer GPU only that it is invalid.
fn check_target(module: &Module, device: &DeviceInfo) -> Result<(), DeviceError> {
    let (Some(capability), Some(target)) = (device.compute_capability, target(module.ptx())) else {
        return Ok(());
    };
    let digits: String = target
        .chars()
        .skip(3)
        .take_while(char::is_ascii_digit)
        .collect();
    let needed: u32 = digits.parse().unwrap_or(0);
    let has = capability.0 * 10 + capability.1;
    let runs = match target.chars().last() {
        // Code for exactly this architecture, or for its family.
        Some('a') => needed == has,
        Some('f') => needed <= has && needed / 10 == capability.0,
        _ => needed <= has,
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

fn refused(module: &Module, device: &DeviceInfo, cause: DriverError, log: &[u8]) -> DeviceError {
    const UNSUPPORTED_PTX_VERSION: u32 = 222;
    if cause.code == UNSUPPORTED_PTX_VERSION {
        return DeviceError::PtxTooNew {
            module: module.name().to_owned(),
            ptx: directive(module.ptx(), ".version")
                .unwrap_or("?")
                .to_owned(),
            driver_cuda: device.driver_cuda.unwrap_or_default(),
        };
    }
    let log = CStr::from_bytes_until_nul(log)
        .map(|log| log.to_string_lossy().trim().to_owned())
        .unwrap_or_default();
    DeviceError::LoadFailed {
        module: module.name().to_owned(),
        cause: Box::new(cause),
        log,
    }
}

fn target(ptx: &str) -> Option<&str> {
    let target = directive(ptx, ".target")?.split(',').next()?.trim();
    target.starts_with("sm_").then_some(target)
}

/// What follows a directive at the start of a line, up to a space.
fn directive<'p>(ptx: &'p str, name: &str) -> Option<&'p str> {
    ptx.lines()
        .find_map(|line| line.trim_start().strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DeviceKind, Limits};

    fn gpu(compute_capability: (u32, u32)) -> DeviceInfo {
        DeviceInfo {
            kind: DeviceKind::Cuda,
            name: "NVIDIA Test".to_owned(),
            ordinal: 0,
            pci_bus_id: None,
            compute_capability: Some(compute_capability),
            multiprocessors: None,
            memory_bytes: None,
            l2_bytes: None,
            clock_khz: None,
            memory_clock_khz: None,
            memory_bus_bits: None,
            driver_cuda: Some((12, 4)),
            limits: Limits::COMMON,
        }
    }

    fn targeting(target: &str) -> Module {
        let text = format!("//\n.version 8.4\n.target {target}, debug\n.address_size 64\n");
        Module::new("waves", text)
    }

    #[test]
    fn targets_up_to_the_device_run() {
        for target in ["sm_52", "sm_80", "sm_90", "sm_90a"] {
            check_target(&targeting(target), &gpu((9, 0))).unwrap();
        }
        check_target(&targeting("sm_100f"), &gpu((10, 3))).unwrap();
    }

    #[test]
    fn other_targets_do_not() {
        for (target, capability) in [
            ("sm_100", (9, 0)),
            ("sm_90a", (10, 0)),
            ("sm_100f", (12, 0)),
        ] {
            check_target(&targeting(target), &gpu(capability)).unwrap_err();
        }
        let error = check_target(&targeting("sm_120"), &gpu((9, 0))).unwrap_err();
        insta::assert_snapshot!(error, @"module `waves` is built for sm_120, which NVIDIA Test (compute capability 9.0) cannot run; build the kernels for sm_90 or older");
    }

    #[test]
    fn a_driver_that_is_too_old_is_named() {
        let cause = DriverError {
            function: "cuModuleLoadDataEx",
            code: 222,
            name: String::new(),
            description: String::new(),
        };
        let error = refused(&targeting("sm_80"), &gpu((9, 0)), cause, &[0]);
        insta::assert_snapshot!(error, @"module `waves`: PTX version 8.4 is newer than the driver, which supports CUDA 12.4; update the driver, or build the kernels for an older PTX version");
    }

    #[test]
    fn the_compilers_log_is_shown() {
        let cause = DriverError {
            function: "cuModuleLoadDataEx",
            code: 218,
            name: "CUDA_ERROR_INVALID_PTX".to_owned(),
            description: "a PTX JIT compilation failed".to_owned(),
        };
        let log = b"ptxas application ptx input, line 9; error : Unknown symbol 'x'\n\0\0";
        let error = refused(&targeting("sm_80"), &gpu((9, 0)), cause, log);
        insta::assert_snapshot!(error, @"
        module `waves` does not load: cuModuleLoadDataEx returned CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed
        ptxas application ptx input, line 9; error : Unknown symbol 'x'
        ");
    }
}
