//! nvJitLink: a linker hands out PTX where it is asked for the linked machine code.
//!
//! The program's own linker is the real one, and links as it is told, so that its errors and its
//! logs are there. With `-lto`, a second one links what can be optimised, and is told to make PTX
//! of it (`-ptx`, which refuses what has no intermediate code). Without, the real one assembles
//! PTX, and the text that was put in is what comes out.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem::{take, transmute};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::sync::{LazyLock, Mutex};

use crate::symbols::{base_of, sibling};
use crate::text;

type Linker = *mut c_void;
type Create = unsafe extern "C" fn(*mut Linker, u32, *const *const c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Linker) -> c_int;
type AddData = unsafe extern "C" fn(Linker, c_int, *const c_void, usize, *const c_char) -> c_int;
type AddFile = unsafe extern "C" fn(Linker, c_int, *const c_char) -> c_int;
type Complete = unsafe extern "C" fn(Linker) -> c_int;
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
    complete: Complete,
    cubin_size: GetSize,
    cubin: Get,
    ptx_size: GetSize,
    ptx: Get,
}

/// The libraries of a process. A function of ours has the number of its own.
static LIBRARIES: Mutex<Vec<Real>> = Mutex::new(Vec::new());

/// A linker of a program, as far as it is known here.
#[derive(Default)]
struct Link {
    options: Vec<CString>,
    inputs: Vec<Input>,
    /// The PTX of what was linked; `None` before it was asked for.
    made: Option<Option<Vec<u8>>>,
}

/// A part of a link.
struct Input {
    kind: c_int,
    content: Content,
    name: CString,
}

enum Content {
    Ptx(Vec<u8>),
    Data(Vec<u8>),
    /// The file that the input's name is of.
    File,
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
            complete: transmute::<*mut c_void, Complete>(function("Complete")?),
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
    // SAFETY: the program's own arguments.
    let code = unsafe { (real.create)(to, count, options) };
    if code != 0 {
        return code;
    }
    // SAFETY: the program gives as many options.
    let given = unsafe { items(options, count as usize) };
    // SAFETY: each ends in a NUL.
    let owned = |option: &*const c_char| unsafe { CStr::from_ptr(*option) }.to_owned();
    let link = Link {
        options: given.iter().map(owned).collect(),
        ..Link::default()
    };
    // A program that asks for PTX gets it without us.
    if !is_given(&link.options, c"-ptx")
        && let Ok(mut links) = LINKS.lock()
    {
        // SAFETY: it is written where the real one has succeeded.
        links.insert(unsafe { *to } as usize, link);
    }
    code
}

fn is_given(options: &[CString], option: &CStr) -> bool {
    options.iter().any(|given| given.as_c_str() == option)
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
    let is_text = is_text(kind, content);
    // NVRTC hands out PTX as machine code.
    let kind = if is_text { KIND_PTX } else { kind };
    // SAFETY: the program's own arguments.
    let code = unsafe { (real.add_data)(linker, kind, data, bytes, name) };
    if code == 0 {
        let content = content.to_vec();
        let content = if is_text {
            Content::Ptx(content)
        } else {
            Content::Data(content)
        };
        // SAFETY: the program's own argument.
        unsafe { keep(linker, kind, content, name) };
    }
    code
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
    let text = content.filter(|content| is_text(kind, content));
    let kind = if text.is_some() { KIND_PTX } else { kind };
    // SAFETY: the program's own arguments.
    let code = unsafe { (real.add_file)(linker, kind, path) };
    if code == 0 {
        // SAFETY: the program's own argument.
        unsafe { keep(linker, kind, text.map_or(Content::File, Content::Ptx), path) };
    }
    code
}

/// Whether an input is a text of PTX, also where its kind is that of machine code.
fn is_text(kind: c_int, content: &[u8]) -> bool {
    matches!(kind, KIND_CUBIN | KIND_PTX | KIND_ANY) && text::is_ptx(content)
}

/// Keeps an input.
///
/// # Safety
///
/// The name ends in a NUL, or is null.
unsafe fn keep(linker: Linker, kind: c_int, content: Content, name: *const c_char) {
    let name = if name.is_null() {
        CString::default()
    } else {
        // SAFETY: the caller's promise.
        unsafe { CStr::from_ptr(name) }.to_owned()
    };
    let input = Input {
        kind,
        content,
        name,
    };
    if let Ok(mut links) = LINKS.lock()
        && let Some(link) = links.get_mut(&(linker as usize))
    {
        link.inputs.push(input);
    }
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
fn ptx_instead(real: &Real, linker: Linker) -> Option<Vec<u8>> {
    let mut link = take(LINKS.lock().ok()?.get_mut(&(linker as usize))?);
    let made = link.made.get_or_insert_with(|| {
        let (options, mut inputs) = (&link.options, take(&mut link.inputs));
        let is_machine_code =
            |input: &Input| input.kind == KIND_CUBIN && !matches!(input.content, Content::Ptx(_));
        if inputs.iter().any(is_machine_code) {
            return None;
        }
        let mut texts: Vec<Vec<u8>> = Vec::new();
        if is_given(options, c"-lto") {
            // SAFETY: the inputs are those that the program's linker has taken.
            texts.extend(unsafe { optimised(real, options, &inputs) });
        }
        texts.extend(
            inputs
                .iter_mut()
                .filter_map(|input| match &mut input.content {
                    Content::Ptx(text) => Some(take(text)),
                    _ => None,
                }),
        );
        text::joined(&texts)
    });
    let made = made.clone();
    if let Some(known) = LINKS.lock().ok()?.get_mut(&(linker as usize)) {
        *known = link;
    }
    made
}

/// The PTX of the inputs that have intermediate code, linked and optimised.
///
/// # Safety
///
/// The inputs are of such kinds that the library takes them.
unsafe fn optimised(real: &Real, options: &[CString], inputs: &[Input]) -> Option<Vec<u8>> {
    let mut given: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
    given.push(c"-ptx".as_ptr());
    let mut linker = null_mut();
    // SAFETY: options that end in a NUL each.
    if unsafe { (real.create)(&mut linker, given.len() as u32, given.as_ptr()) } != 0 {
        return None;
    }
    for input in inputs {
        let (kind, name) = (input.kind, input.name.as_ptr());
        // SAFETY: the caller's promise. It refuses what has no intermediate code, such as the
        // device's runtime library.
        let _ = unsafe {
            match &input.content {
                Content::Ptx(_) => continue,
                Content::Data(data) => {
                    (real.add_data)(linker, kind, data.as_ptr().cast(), data.len(), name)
                }
                Content::File => (real.add_file)(linker, kind, name),
            }
        };
    }
    let mut bytes = 0;
    let mut content = Vec::new();
    // SAFETY: the linker is one of the library's, and there is room for as many bytes.
    let is_made = unsafe {
        (real.complete)(linker) == 0 && (real.ptx_size)(linker, &mut bytes) == 0 && {
            content.resize(bytes + 1, 0);
            (real.ptx)(linker, content.as_mut_ptr().cast()) == 0
        }
    };
    // SAFETY: the linker is not used after it.
    unsafe { (real.destroy)(&mut linker) };
    is_made.then_some(content)
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
