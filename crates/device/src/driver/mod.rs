//! The CUDA driver, opened on first use.
//!
//! `cust` needs `libcuda` when the program is linked, which would tie the program to machines that
//! have a driver. `crates/find_cuda_helper` makes its build scripts link nothing; [`forward`]
//! defines the functions instead, and passes each call on to the driver that this file opens.
//! Without a driver every function returns `CUDA_ERROR_SHARED_OBJECT_INIT_FAILED`.
//!
//! The rest of the crate calls [`call`], [`stream`] and [`graph`], which wrap each function once.

pub(crate) mod call;
mod cluster;
mod forward;
pub(crate) mod graph;
pub(crate) mod stream;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use cust::error::CudaError;
use cust::sys::CUresult;
use libloading::Library;

use crate::device_error::DriverError;

/// Where the driver may be: wherever the system's loader looks, then folders that some systems
/// leave out of its list.
const CANDIDATES: [&str; 3] = [
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
];

/// Why a function of the driver cannot be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// The driver's library was not found.
    Library,
    /// The driver is too old to have it.
    Function,
}

/// The driver's library, never closed; or why there is none, as a message for the user.
pub(crate) fn open() -> Result<&'static Library, &'static str> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    match LIBRARY.get_or_init(|| open_first(&CANDIDATES)) {
        Ok(library) => Ok(library),
        Err(reason) => Err(reason),
    }
}

/// The address of a driver function. `name` ends in a NUL.
fn function(name: &'static str) -> Result<usize, Missing> {
    let library = open().map_err(|_| Missing::Library)?;
    // SAFETY: the symbol is only taken as an address here.
    let symbol = unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) };
    symbol
        .map(|function| *function as usize)
        .map_err(|_| Missing::Function)
}

fn open_first(candidates: &[&str]) -> Result<Library, String> {
    let mut reasons = Vec::new();
    for &candidate in candidates {
        match open_one(candidate) {
            Ok(library) => return Ok(library),
            Err(Some(reason)) => reasons.push(reason),
            Err(None) => {}
        }
    }
    if reasons.is_empty() {
        Err("libcuda.so.1 not found".to_owned())
    } else {
        Err(reasons.join("; "))
    }
}

/// Opens one candidate. `Err(None)` if the file does not exist, `Err(Some(reason))` if it cannot be
/// used.
fn open_one(candidate: &str) -> Result<Library, Option<String>> {
    // SAFETY: the driver's library may be opened at any time; its initialisers have no
    // preconditions.
    let library = unsafe { Library::new(candidate) }.map_err(|error| {
        let text = match error.source() {
            Some(cause) => cause.to_string(),
            None => error.to_string(),
        };
        let missing = text.starts_with(&format!("{candidate}: cannot open shared object file"));
        (!missing).then_some(text)
    })?;
    // A toolkit's stub has the driver's name and none of its code. Its folder tells, before it is
    // called.
    match mapped_stub() {
        Some(path) => Err(Some(format!("{path} is a toolkit's stub, not a driver"))),
        None => Ok(library),
    }
}

/// The path of a stub of libcuda among the files mapped into this process.
fn mapped_stub() -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines()
        .filter_map(|line| line.find('/').map(|start| &line[start..]))
        .find(|path| is_stub(path))
        .map(str::to_owned)
}

fn is_stub(path: &str) -> bool {
    let path = Path::new(path);
    let is_libcuda = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name == "libcuda.so" || name.starts_with("libcuda.so."));
    is_libcuda && path.components().any(|part| part.as_os_str() == "stubs")
}

thread_local! {
    /// The driver's result behind the `CUDA_ERROR_UNKNOWN` that a function returned last on this
    /// thread.
    static LAST_UNKNOWN: Cell<c_int> = const { Cell::new(0) };
}

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
            UNKNOWN => LAST_UNKNOWN.get(),
            code => code,
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
