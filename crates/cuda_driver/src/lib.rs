//! The CUDA driver, opened when it is first called.
//!
//! `cust` needs `libcuda` when a program is linked, which would tie the program to machines that
//! have a driver, and its build scripts look for a CUDA toolkit. With this crate a program needs
//! neither: the crate defines the functions (module `forward`), and passes each call on to the
//! driver that it opens. Without a driver every function returns
//! `CUDA_ERROR_SHARED_OBJECT_INIT_FAILED`.
//!
//! A program takes this crate into its dependencies, and names it once:
//!
//! ```
//! use cuda_driver as _;
//! ```
//!
//! # The patch
//!
//! The build scripts of `cust` fail without a CUDA toolkit. A workspace that uses this crate
//! therefore has the line that the course's `Cargo.toml` has:
//!
//! ```toml
//! [patch.crates-io]
//! find_cuda_helper = { git = "URL of this repository" }
//! ```
//!
//! It needs nothing else: no toolkit and no variable. cargo refuses a workspace without the line,
//! and names it. `harness new` makes such a workspace.
//!
//! # Limits
//!
//! Linux alone; elsewhere the crate is empty.

#![cfg(target_os = "linux")]

mod forward;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::error::Error;
use std::ffi::c_int;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use cust::sys::CUresult;
use libloading::Library;

/// Where the driver may be: wherever the system's loader looks, then folders that some systems
/// leave out of its list.
const CANDIDATES: [&str; 3] = [
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
];

/// Why a function of the driver cannot be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The driver's library was not found.
    Library,
    /// The driver is too old to have it.
    Function,
}

impl Missing {
    /// The result of a call of the function.
    pub fn result(self) -> CUresult {
        match self {
            Missing::Library => CUresult::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
            Missing::Function => CUresult::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
        }
    }
}

/// The driver's library, never closed.
///
/// # Errors
///
/// Why there is none, as a message for the user.
pub fn open() -> Result<&'static Library, &'static str> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    match LIBRARY.get_or_init(|| open_first(&CANDIDATES)) {
        Ok(library) => Ok(library),
        Err(reason) => Err(reason),
    }
}

/// The address of a driver function. `name` ends in a NUL.
///
/// # Errors
///
/// Why it cannot be called; as a result of the driver: [`Missing::result`].
pub fn function(name: &'static str) -> Result<usize, Missing> {
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
    static LAST_UNKNOWN: Cell<c_int> = const { Cell::new(0) };
}

/// The driver's result behind the `CUDA_ERROR_UNKNOWN` that a function returned last on this
/// thread.
pub fn last_unknown() -> c_int {
    LAST_UNKNOWN.get()
}

/// Results of newer drivers that are not values of the enum that `cust_raw` declares become
/// `CUDA_ERROR_UNKNOWN`.
pub fn known(code: c_int) -> CUresult {
    match code {
        0..=8
        | 34
        | 100..=102
        | 200..=202
        | 205..=224
        | 300..=304
        | 400..=401
        | 500
        | 600
        | 700..=705
        | 708..=720
        | 800..=809
        | 900..=911 => {
            // SAFETY: the enum is `repr(i32)` and has each of these values: `cudaError_enum` of
            // `cust_raw` 0.11.3.
            unsafe { std::mem::transmute::<c_int, CUresult>(code) }
        }
        _ => {
            LAST_UNKNOWN.set(code);
            CUresult::CUDA_ERROR_UNKNOWN
        }
    }
}
