//! nvJitLink: a linker hands out PTX where it is asked for the linked machine code.
//!
//! With `-lto` the real linker can make PTX of what it has linked, and is told to (`-ptx`).
//! Without, it assembles PTX texts, and the text that was put in is what comes out. The linker's
//! handle is always the real one; what we know of it is kept beside.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::os::unix::ffi::OsStrExt;
use std::sync::{LazyLock, Mutex};

use crate::symbols::{base_of, sibling};
use crate::text;

type Linker = *mut c_void;
type Create = unsafe extern "C" fn(*mut Linker, u32, *const *const c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Linker) -> c_int;
type AddData = unsafe extern "C" fn(Linker, c_int, *const c_void, usize, *const c_char) -> c_int;
type AddFile = unsafe extern "C" fn(Linker, c_int, *const c_char) -> c_int;
type GetSize = unsafe extern "C" fn(Linker, *mut usize) -> c_int;
type Get = unsafe extern "C" fn(Linker, *mut c_char) -> c_int;

/// `nvJitLinkInputType`.
const KIND_CUBIN: c_int = 1;
const KIND_PTX: c_int = 2;
const KIND_ANY: c_int = 10;

/// `NVJITLINK_ERROR_INTERNAL`.
const INTERNAL_ERROR: c_int = 6;

/// The functions that are exchanged, without `nvJitLink`.
const NAMES: [&str; 6] = [
    "Create",
    "Destroy",
    "AddData",
    "AddFile",
    "GetLinkedCubinSize",
    "GetLinkedCubin",
];

/// The functions of a library.
#[derive(Clone, Copy)]
struct Real {
    base: usize,
    create: Create,
    destroy: Destroy,
    add_data: AddData,
    add_file: AddFile,
    cubin_size: GetSize,
    cubin: Get,
    ptx_size: GetSize,
    ptx: Get,
}

/// The libraries of a process. A function of ours has the number of its own.
static LIBRARIES: Mutex<Vec<Real>> = Mutex::new(Vec::new());

/// A linker, as far as it is known here.
#[derive(Default)]
struct Link {
    /// The real one makes PTX.
    optimises: bool,
    /// The texts that were put in, where it does not.
    texts: Vec<Vec<u8>>,
}

/// By their handles.
static LINKS: LazyLock<Mutex<HashMap<usize, Link>>> = LazyLock::new(Mutex::default);

/// The function's name without `nvJitLink`, and the version that it ends in. A program that was
/// compiled with the library's header has `__nvJitLinkCreate_13_5`.
fn parts(name: &[u8]) -> Option<(&str, &str)> {
    let name = std::str::from_utf8(name).ok()?;
    let name = name.trim_start_matches('_').strip_prefix("nvJitLink")?;
    let end = name.find('_').unwrap_or(name.len());
    Some(name.split_at(end))
}

pub(crate) fn has(name: &[u8]) -> bool {
    parts(name).is_some_and(|(function, _)| NAMES.contains(&function))
}

/// Our form of a function of nvJitLink; `None` where the library lacks another that it needs.
pub(crate) fn instead(real: *mut c_void, name: &[u8]) -> Option<*mut c_void> {
    let (function, version) = parts(name)?;
    let index = NAMES.iter().position(|known| *known == function)?;
    let ours = [ours::<0>, ours::<1>, ours::<2>, ours::<3>];
    let ours = ours.get(number(real, version)?)?;
    Some(ours()[index])
}

/// Our functions for the library with this number, in the order of [`NAMES`].
fn ours<const LIBRARY: usize>() -> [*mut c_void; 6] {
    [
        create::<LIBRARY> as *mut c_void,
        destroy::<LIBRARY> as *mut c_void,
        add_data::<LIBRARY> as *mut c_void,
        add_file::<LIBRARY> as *mut c_void,
        size::<LIBRARY> as *mut c_void,
        get::<LIBRARY> as *mut c_void,
    ]
}

/// The number of the library that has this function.
fn number(real: *mut c_void, version: &str) -> Option<usize> {
    let base = base_of(real) as usize;
    let mut libraries = LIBRARIES.lock().ok()?;
    if let Some(number) = libraries.iter().position(|known| known.base == base) {
        return Some(number);
    }
    let function = |name: &str| {
        sibling(real, &format!("nvJitLink{name}"))
            .or_else(|| sibling(real, &format!("__nvJitLink{name}{version}")))
    };
    // SAFETY: functions of these names have these types, in every version.
    let library = unsafe {
        Real {
            base,
            create: transmute::<*mut c_void, Create>(function("Create")?),
            destroy: transmute::<*mut c_void, Destroy>(function("Destroy")?),
            add_data: transmute::<*mut c_void, AddData>(function("AddData")?),
            add_file: transmute::<*mut c_void, AddFile>(function("AddFile")?),
            cubin_size: transmute::<*mut c_void, GetSize>(function("GetLinkedCubinSize")?),
            cubin: transmute::<*mut c_void, Get>(function("GetLinkedCubin")?),
            ptx_size: transmute::<*mut c_void, GetSize>(function("GetLinkedPtxSize")?),
            ptx: transmute::<*mut c_void, Get>(function("GetLinkedPtx")?),
        }
    };
    libraries.push(library);
    Some(libraries.len() - 1)
}

fn library(number: usize) -> Option<Real> {
    LIBRARIES.lock().ok()?.get(number).copied()
}

/// Uses what is known of a linker.
fn with_link<T>(linker: Linker, use_it: impl FnOnce(&mut Link) -> T) -> Option<T> {
    let mut links = LINKS.lock().ok()?;
    links.get_mut(&(linker as usize)).map(use_it)
}

/// # Safety
///
/// As of the real one.
unsafe extern "C" fn create<const LIBRARY: usize>(
    to: *mut Linker,
    count: u32,
    options: *const *const c_char,
) -> c_int {
    let Some(real) = library(LIBRARY) else {
        return INTERNAL_ERROR;
    };
    // SAFETY: the program gives as many options.
    let mut given = unsafe { items(options, count as usize) }.to_vec();
    // SAFETY: each option ends in a NUL.
    let has = |option: &CStr| unsafe {
        given
            .iter()
            .any(|given| !given.is_null() && CStr::from_ptr(*given) == option)
    };
    let (optimises, wants_ptx) = (has(c"-lto"), has(c"-ptx"));
    if optimises && !wants_ptx {
        given.push(c"-ptx".as_ptr());
    }
    // SAFETY: the program's own arguments, and one option more at most.
    let code = unsafe { (real.create)(to, given.len() as u32, given.as_ptr()) };
    if code == 0
        && !wants_ptx
        && let Ok(mut links) = LINKS.lock()
    {
        let link = Link {
            optimises,
            ..Link::default()
        };
        // SAFETY: it is written where the real one has succeeded.
        links.insert(unsafe { *to } as usize, link);
    }
    code
}

/// # Safety
///
/// As of the real one.
unsafe extern "C" fn destroy<const LIBRARY: usize>(linker: *mut Linker) -> c_int {
    let Some(real) = library(LIBRARY) else {
        return INTERNAL_ERROR;
    };
    // Before the real one, which may give the handle to another thread.
    if !linker.is_null()
        && let Ok(mut links) = LINKS.lock()
    {
        // SAFETY: the program's own argument.
        links.remove(&(unsafe { *linker } as usize));
    }
    // SAFETY: the program's own argument.
    unsafe { (real.destroy)(linker) }
}

/// # Safety
///
/// As of the real one.
unsafe extern "C" fn add_data<const LIBRARY: usize>(
    linker: Linker,
    kind: c_int,
    data: *const c_void,
    bytes: usize,
    name: *const c_char,
) -> c_int {
    let Some(real) = library(LIBRARY) else {
        return INTERNAL_ERROR;
    };
    // SAFETY: the program gives as many bytes.
    let content = unsafe { items(data.cast::<u8>(), bytes) };
    let kind = keep(linker, kind, content);
    // SAFETY: the program's own arguments.
    unsafe { (real.add_data)(linker, kind, data, bytes, name) }
}

/// # Safety
///
/// As of the real one.
unsafe extern "C" fn add_file<const LIBRARY: usize>(
    linker: Linker,
    kind: c_int,
    path: *const c_char,
) -> c_int {
    let Some(real) = library(LIBRARY) else {
        return INTERNAL_ERROR;
    };
    // SAFETY: a path ends in a NUL.
    let file = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) }.to_bytes());
    let content = file.and_then(|file| std::fs::read(OsStr::from_bytes(file)).ok());
    // A file that cannot be read is left to the real one.
    let kind = content.map_or(kind, |content| keep(linker, kind, &content));
    // SAFETY: the program's own arguments.
    unsafe { (real.add_file)(linker, kind, path) }
}

/// Keeps a text of PTX; the kind that the real linker is told. What NVRTC has handed out as machine
/// code is PTX.
fn keep(linker: Linker, kind: c_int, content: &[u8]) -> c_int {
    let may_be = matches!(kind, KIND_CUBIN | KIND_PTX | KIND_ANY);
    if !may_be || !text::is_ptx(content) {
        return kind;
    }
    with_link(linker, |link| {
        if !link.optimises {
            link.texts.push(content.to_vec());
        }
    });
    KIND_PTX
}

/// The items at an address; none at null.
///
/// # Safety
///
/// As of `slice::from_raw_parts`, except for null.
unsafe fn items<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// The PTX of what was linked, with a NUL; `None` where there is none.
///
/// # Safety
///
/// The linker is one of the library's, and has linked.
unsafe fn ptx_instead(real: &Real, linker: Linker) -> Option<Vec<u8>> {
    let linked = with_link(linker, |link| {
        (!link.optimises).then(|| text::joined(&link.texts))
    })?;
    if let Some(joined) = linked {
        return joined;
    }
    let mut bytes = 0;
    // SAFETY: the caller's promise.
    if unsafe { (real.ptx_size)(linker, &mut bytes) } != 0 {
        return None;
    }
    let mut content = vec![0; bytes + 1];
    // SAFETY: there is room for as many bytes.
    let code = unsafe { (real.ptx)(linker, content.as_mut_ptr().cast()) };
    (code == 0).then(|| text::ended(&content))
}

/// # Safety
///
/// As of the real one.
unsafe extern "C" fn size<const LIBRARY: usize>(linker: Linker, to: *mut usize) -> c_int {
    let Some(real) = library(LIBRARY) else {
        return INTERNAL_ERROR;
    };
    // SAFETY: the program's own arguments.
    unsafe {
        match ptx_instead(&real, linker) {
            Some(ptx) if !to.is_null() => {
                *to = ptx.len();
                0
            }
            _ => (real.cubin_size)(linker, to),
        }
    }
}

/// # Safety
///
/// As of the real one.
unsafe extern "C" fn get<const LIBRARY: usize>(linker: Linker, to: *mut c_char) -> c_int {
    let Some(real) = library(LIBRARY) else {
        return INTERNAL_ERROR;
    };
    // SAFETY: the program's own arguments, with room for the size that it was told.
    unsafe {
        match ptx_instead(&real, linker) {
            Some(ptx) if !to.is_null() => {
                std::ptr::copy_nonoverlapping(ptx.as_ptr(), to.cast(), ptx.len());
                0
            }
            _ => (real.cubin)(linker, to),
        }
    }
}
