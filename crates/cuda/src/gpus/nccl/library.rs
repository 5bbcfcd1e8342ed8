//! The library: found, opened, its functions.

use std::env;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};

use libloading::Library;

use super::error::NcclError;

/// The id that all ranks of a communicator share.
pub type UniqueId = [u8; 128];

/// `ncclUniqueId`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RawId(pub UniqueId);

/// `ncclComm_t`.
pub type RawComm = *mut c_void;

/// `ncclConfig_t` as of 2.14. Newer versions of NCCL fill in what they have added, as `version`
/// tells them.
#[repr(C)]
pub struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
}

impl Config {
    /// A communicator whose calls do not block.
    pub const NONBLOCKING: Config = Config {
        size: size_of::<Config>(),
        magic: 0xcafe_beef,
        version: OLDEST as c_uint,
        blocking: 0,
    };
}

const _: () = assert!(size_of::<Config>() == 24);

/// `NCCL_VERSION(2, 14, 0)`: the first with nonblocking communicators.
const OLDEST: c_int = 21_400;

/// `ncclSuccess`.
pub const SUCCESS: c_int = 0;
/// `ncclInProgress`.
pub const IN_PROGRESS: c_int = 7;
/// `ncclUint8`.
pub const BYTES: c_int = 1;

/// `cudaStream_t`, which is the driver's `CUstream` too.
pub type RawStream = *mut c_void;

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($type:ty),*) $(-> $result:ty)?;)*) => {
        /// NCCL's functions, with the signatures of `nccl.h`.
        pub struct Functions {
            $(pub $field: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Functions {
            /// # Safety
            ///
            /// The library is NCCL, and is never closed.
            unsafe fn of(library: &Library) -> Result<Functions, &'static str> {
                Ok(Functions {
                    $(
                        // SAFETY: NCCL's function of this name has this signature.
                        $field: *unsafe { library.get(concat!($name, "\0").as_bytes()) }.map_err(|_| $name)?,
                    )*
                })
            }
        }
    };
}

functions! {
    get_unique_id = "ncclGetUniqueId": fn(*mut RawId) -> c_int;
    init = "ncclCommInitRankConfig": fn(*mut RawComm, c_int, RawId, c_int, *const Config) -> c_int;
    finalize = "ncclCommFinalize": fn(RawComm) -> c_int;
    destroy = "ncclCommDestroy": fn(RawComm) -> c_int;
    abort = "ncclCommAbort": fn(RawComm) -> c_int;
    async_error = "ncclCommGetAsyncError": fn(RawComm, *mut c_int) -> c_int;
    error_string = "ncclGetErrorString": fn(c_int) -> *const c_char;
    last_error = "ncclGetLastError": fn(RawComm) -> *const c_char;
    group_start = "ncclGroupStart": fn() -> c_int;
    group_end = "ncclGroupEnd": fn() -> c_int;
    send = "ncclSend": fn(*const c_void, usize, c_int, c_int, RawComm, RawStream) -> c_int;
    receive = "ncclRecv": fn(*mut c_void, usize, c_int, c_int, RawComm, RawStream) -> c_int;
}

/// NCCL, once it is loaded. It stays so until the program ends.
#[derive(Clone, Copy)]
pub struct Nccl {
    pub(super) functions: &'static Functions,
    version: c_int,
}

impl std::fmt::Debug for Nccl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nccl")
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}

impl Nccl {
    /// Loads the library: the file of `setting`, else of `HARNESS_NCCL`, else in the folder of
    /// `NCCL_HOME`, else `libnccl.so.2` wherever the system's loader looks (`LD_LIBRARY_PATH` too).
    ///
    /// NCCL does not use NVLink SHARP (multicast) unless the environment says so: this sets
    /// `NCCL_NVLS_ENABLE=0` if it is not set. Call it before other threads read the environment
    /// through C.
    ///
    /// # Errors
    ///
    /// [`NcclError::Missing`] or [`NcclError::TooOld`].
    pub fn open(setting: Option<&Path>) -> Result<Nccl, NcclError> {
        let candidates = candidates(setting, |name| env::var_os(name).map(PathBuf::from));
        if env::var_os("NCCL_NVLS_ENABLE").is_none() {
            // SAFETY: Rust's own accesses are under a lock, and no thread of this program reads the
            // environment otherwise; the driver's have done so by the time there is a device. The
            // caller keeps others away.
            unsafe { env::set_var("NCCL_NVLS_ENABLE", "0") };
        }
        open_first(&candidates)
    }

    /// Its version: `2.32.3`.
    pub fn version(&self) -> String {
        version(self.version)
    }

    /// A new id, for the ranks of one communicator.
    ///
    /// # Errors
    ///
    /// [`NcclError::Call`], typically for want of a network interface.
    pub fn unique_id(&self) -> Result<UniqueId, NcclError> {
        let mut id = RawId([0; 128]);
        // SAFETY: the id is ours to write.
        let code = unsafe { (self.functions.get_unique_id)(&raw mut id) };
        self.check("ncclGetUniqueId", code)?;
        Ok(id.0)
    }

    /// The error for a result other than success and in progress.
    pub(super) fn check(&self, function: &'static str, code: c_int) -> Result<(), NcclError> {
        if matches!(code, SUCCESS | IN_PROGRESS) {
            return Ok(());
        }
        // SAFETY: any number is described; the text is a constant of NCCL's.
        let text = unsafe { text((self.functions.error_string)(code)) };
        // SAFETY: NCCL does not use the argument, as its documentation says. The text may be a
        // later error's: it explains only.
        let detail = unsafe { text_of_last(self.functions) };
        let detail = detail.lines().last().unwrap_or_default().trim().to_owned();
        Err(NcclError::Call {
            function,
            text,
            detail: match detail.as_str() {
                "" => detail,
                detail => format!(" ({detail})"),
            },
        })
    }
}

/// # Safety
///
/// `text` is null or a string that ends in a NUL.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// # Safety
///
/// The functions are NCCL's.
unsafe fn text_of_last(functions: &Functions) -> String {
    // SAFETY: null is allowed; the result is a string in NCCL's memory.
    unsafe { text((functions.last_error)(std::ptr::null_mut())) }
}

/// Where to look. A file that a setting names is the only candidate.
pub(super) fn candidates(
    setting: Option<&Path>,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> Vec<PathBuf> {
    let variable = |name| variable(name).filter(|value| !value.as_os_str().is_empty());
    if let Some(file) = setting.map(Path::to_owned).or(variable("HARNESS_NCCL")) {
        return vec![file];
    }
    let home = variable("NCCL_HOME").into_iter();
    home.flat_map(|home| ["lib", "lib64"].map(|folder| home.join(folder).join("libnccl.so.2")))
        .chain(["libnccl.so.2", "libnccl.so"].map(PathBuf::from))
        .collect()
}

pub(super) fn open_first(candidates: &[PathBuf]) -> Result<Nccl, NcclError> {
    let mut reasons = Vec::new();
    for candidate in candidates {
        match open_one(candidate) {
            Err(NcclError::Missing { reason }) => reasons.push(reason),
            found => return found,
        }
    }
    // Of names that are simply not there, one is enough.
    reasons.dedup();
    Err(NcclError::Missing {
        reason: reasons.join("; "),
    })
}

fn open_one(candidate: &Path) -> Result<Nccl, NcclError> {
    let missing = |reason: String| NcclError::Missing { reason };
    // SAFETY: NCCL's initialisers have no preconditions.
    let library = unsafe { Library::new(candidate) }.map_err(|error| {
        let text = error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string);
        let name = candidate.display();
        let absent = text.starts_with(&format!("{name}: cannot open shared object file"));
        missing(match absent {
            true if candidate.is_absolute() => format!("{name} not found"),
            true => "libnccl.so.2 not found".to_owned(),
            false => text,
        })
    })?;
    // Never closed: NCCL has threads.
    let library: &'static Library = Box::leak(Box::new(library));
    let other = |name: &str| missing(format!("{} has no {name}", candidate.display()));
    let mut number: c_int = 0;
    // SAFETY: NCCL's function has this signature; the number is ours to write.
    let result = unsafe {
        let get = library.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"ncclGetVersion\0");
        get.map_err(|_| other("ncclGetVersion"))?(&raw mut number)
    };
    if result != SUCCESS || number < OLDEST {
        return Err(NcclError::TooOld {
            version: version(number),
            path: candidate.display().to_string(),
        });
    }
    // SAFETY: it is NCCL, of a version that has these functions with these signatures.
    let functions = unsafe { Functions::of(library) }.map_err(other)?;
    Ok(Nccl {
        functions: Box::leak(Box::new(functions)),
        version: number,
    })
}

/// `NCCL_VERSION_CODE` as people write it. Up to 2.8 it had one digit less.
pub(super) fn version(code: c_int) -> String {
    let thousands = if code < 10_000 { 1000 } else { 10_000 };
    format!(
        "{}.{}.{}",
        code / thousands,
        code % thousands / 100,
        code % 100
    )
}
