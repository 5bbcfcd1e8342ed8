//! The driver's results as errors.

use std::ffi::{CStr, c_char, c_int};

use cust::error::CudaError;
use cust::sys::CUresult;

use super::{forward, library};
use crate::device::DriverError;

/// A result of a driver function that was called directly.
pub fn check(function: &'static str, result: CUresult) -> Result<(), DriverError> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        CUresult::CUDA_ERROR_UNKNOWN => Err(describe(function, forward::last_unknown())),
        other => Err(describe(function, other as c_int)),
    }
}

/// A result of `cust`. `function` is the driver function behind it.
pub fn check_cust<T>(
    function: &'static str,
    result: Result<T, CudaError>,
) -> Result<T, DriverError> {
    result.map_err(|error| match error {
        CudaError::UnknownError => describe(function, forward::last_unknown()),
        other => describe(function, other as c_int),
    })
}

fn describe(function: &'static str, code: c_int) -> DriverError {
    DriverError {
        function,
        code: code as u32,
        name: words("cuGetErrorName\0", code).unwrap_or_else(|| "unknown result".to_owned()),
        description: words("cuGetErrorString\0", code)
            .unwrap_or_else(|| "the driver has no words for it".to_owned()),
    }
}

/// What `cuGetErrorName` or `cuGetErrorString` of the real driver say; called with the bare number, which need be no
/// value of the enum.
fn words(function: &'static str, code: c_int) -> Option<String> {
    type Real = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
    let address = library::function(function).ok()?;
    // SAFETY: both functions have this signature; the enum is passed as an `int`.
    let real: Real = unsafe { std::mem::transmute::<usize, Real>(address) };
    let mut text = std::ptr::null();
    // SAFETY: `text` may be written.
    unsafe { real(code, &mut text) };
    if text.is_null() {
        return None;
    }
    // SAFETY: the driver returns a NUL-terminated string that lives as long as it does.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}
