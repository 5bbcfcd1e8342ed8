//! Functions by name, in the libraries of a process.

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The versions of `dlsym` in the C library, the usual one first.
#[cfg(target_arch = "x86_64")]
const VERSIONS: [&CStr; 2] = [c"GLIBC_2.2.5", c"GLIBC_2.34"];
#[cfg(not(target_arch = "x86_64"))]
const VERSIONS: [&CStr; 2] = [c"GLIBC_2.17", c"GLIBC_2.34"];

/// The function of a name in the library that has another function, or in those behind this one.
pub(crate) fn sibling(of: *mut c_void, name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name of a file, which ends in a NUL.
    let path = unsafe { CStr::from_ptr(info_of(of)?.dli_fname) };
    in_loaded(path, &name)
}

/// The real function behind one that a program was linked with. The library may be one of an
/// extension's alone, which is not in the list of all: then it is looked for by the beginning of
/// its file's name, to which wheels add what they like.
pub(crate) fn linked(name: &CStr, file: &str) -> Option<*mut c_void> {
    // SAFETY: a name, and the libraries behind this one.
    let next = unsafe { system_dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return Some(next);
    }
    loaded(file)
        .into_iter()
        .find_map(|path| in_loaded(&path, name))
}

/// A function of a library that is loaded.
fn in_loaded(path: &CStr, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name of a file that is loaded. It stays, as the program holds it.
    let found = unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        let found = system_dlsym(handle, name.as_ptr());
        libc::dlclose(handle);
        found
    };
    (!found.is_null()).then_some(found)
}

/// The paths of the libraries in this process whose files' names begin so.
fn loaded(file: &str) -> Vec<CString> {
    struct Search<'a> {
        file: &'a str,
        found: Vec<CString>,
    }
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _bytes: usize,
        search: *mut c_void,
    ) -> i32 {
        // SAFETY: the system gives a library, and what it was given itself below.
        let (path, search) = unsafe {
            let path = (*info).dlpi_name;
            (path, &mut *search.cast::<Search<'_>>())
        };
        if path.is_null() {
            return 0;
        }
        // SAFETY: the library's name, which ends in a NUL.
        let path = unsafe { CStr::from_ptr(path) };
        let name = path.to_bytes().rsplit(|byte| *byte == b'/').next();
        if name.is_some_and(|name| name.starts_with(search.file.as_bytes())) {
            search.found.push(path.to_owned());
        }
        0
    }
    let found = Vec::new();
    let mut search = Search { file, found };
    // SAFETY: `look` gets the search, and takes it for one.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// Where the library of an address begins; null if there is none.
pub(crate) fn base_of(address: *mut c_void) -> *mut c_void {
    info_of(address).map_or(null_mut(), |info| info.dli_fbase)
}

fn info_of(address: *mut c_void) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: it looks the address up, and fills `info` where it does not return 0.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) } != 0;
    // SAFETY: it is filled.
    found.then(|| unsafe { info.assume_init() })
}

/// Calls the system's `dlsym`.
///
/// # Safety
///
/// As of `dlsym`.
pub(crate) unsafe fn system_dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    // SAFETY: it is a `dlsym`.
    let real: Dlsym = unsafe { std::mem::transmute(real_dlsym()) };
    // SAFETY: the caller's promise.
    unsafe { real(handle, name) }
}

/// The `dlsym` behind ours.
pub(crate) fn real_dlsym() -> *const c_void {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    let known = REAL.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let found = VERSIONS.iter().find_map(|version| {
        // SAFETY: names that end in a NUL.
        let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        (!found.is_null()).then_some(found)
    });
    let Some(found) = found else {
        // No C library that this library can be loaded with is without it.
        std::process::abort();
    };
    REAL.store(found, Ordering::Relaxed);
    found
}
