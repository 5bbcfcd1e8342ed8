//! The CUDA driver's functions, by `cust` and by `cuda_driver`, which opens the driver on first
//! use.
//!
//! The rest of the crate calls [`call`], [`stream`] and [`graph`], which wrap each function once.

pub(crate) mod call;
mod cluster;
pub(crate) mod graph;
pub(crate) mod stream;

use std::ffi::{CStr, c_char, c_int};

use cuda_driver::{function, last_unknown};
use cust::error::CudaError;
use cust::sys::CUresult;

use device::DriverError;

/// A result of the driver, directly or through `cust`.
pub(crate) trait DriverResult {
    /// The value of a success.
    type Value;

    /// The value, or the driver's code.
    fn code(self) -> Result<Self::Value, c_int>;
}

impl DriverResult for CUresult {
    type Value = ();

    fn code(self) -> Result<(), c_int> {
        match self {
            CUresult::CUDA_SUCCESS => Ok(()),
            error => Err(error as c_int),
        }
    }
}

impl<T> DriverResult for Result<T, CudaError> {
    type Value = T;

    fn code(self) -> Result<T, c_int> {
        self.map_err(|error| error as c_int)
    }
}

/// Turns a result into an error that names the driver function behind it.
pub(crate) fn check<R: DriverResult>(
    function: &'static str,
    result: R,
) -> Result<R::Value, DriverError> {
    result.code().map_err(|code| {
        let code = match code {
            UNKNOWN => last_unknown(),
            _ => code,
        };
        DriverError {
            function,
            code: code as u32,
            name: describe("cuGetErrorName\0", code).unwrap_or_else(|| "unknown result".to_owned()),
            description: describe("cuGetErrorString\0", code)
                .unwrap_or_else(|| "the driver has no description for it".to_owned()),
        }
    })
}

const UNKNOWN: c_int = CUresult::CUDA_ERROR_UNKNOWN as c_int;

/// The result of the real driver's `cuGetErrorName` or `cuGetErrorString`, called with the bare
/// number, which need not be a value of the enum.
fn describe(name: &'static str, code: c_int) -> Option<String> {
    type Real = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
    let address = function(name).ok()?;
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
