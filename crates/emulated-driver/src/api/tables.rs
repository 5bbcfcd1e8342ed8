//! Tables of functions beyond the API, which the CUDA runtime asks for by number.
//!
//! NVIDIA does not document them. The numbers, places and arguments here are those that ZLUDA's
//! `dark_api` crate, and for version 13 others after it, have found. A function that is not known
//! says so when it is called.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::OnceLock;

use crate::api::context;
use crate::api::handshake::{self, Asked};
use crate::api::module::load_image;
use crate::call::{answer, get, put};
use crate::code::{Code, Outcome};
use crate::driver::context::current;
use crate::driver::with;
use crate::objects::Handle;
use crate::objects::context::Stored;
use crate::report;
use crate::settings::Settings;

/// A table: its number, its name here, and its entries.
struct Table {
    number: [u8; 16],
    name: &'static str,
    entries: Vec<usize>,
}

const RUNTIME: [u8; 16] = *b"\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9";
const TOOLS_STORAGE: [u8; 16] =
    *b"\x42\xd8\x5a\x81\x23\xf6\xcb\x47\x82\x98\xf6\xe7\x8a\x3a\xec\xdc";
const TOOLS_HOOKS: [u8; 16] = *b"\xa0\x94\x79\x8c\x2e\x74\x2e\x74\x93\xf2\x08\x00\x20\x0c\x0a\x66";
const CONTEXT_STORAGE: [u8; 16] =
    *b"\xc6\x93\x33\x6e\x11\x21\xdf\x11\xa8\xc3\x68\xf3\x55\xd8\x95\x93";
const CONTEXTS: [u8; 16] = *b"\x21\x31\x8c\x60\x97\x14\x32\x48\x8c\xa6\x41\xff\x73\x24\xc8\xf2";
const HANDSHAKE: [u8; 16] = *b"\xd4\x08\x20\x55\xbd\xe6\x70\x4b\x8d\x34\xba\x12\x3c\x66\xe1\xf2";
const CONTEXT_CHECKS: [u8; 16] =
    *b"\x26\x3e\x88\x60\x7c\xd2\x61\x43\x92\xf6\xbb\xd5\x00\x6d\xfa\x7e";

/// All tables. They stay where they are.
fn tables() -> &'static [Table] {
    static TABLES: OnceLock<Vec<Table>> = OnceLock::new();
    TABLES.get_or_init(|| {
        vec![
            sized(
                RUNTIME,
                "runtime interface",
                14,
                unknown::<0> as *const c_void,
                &[
                    (1, load_module as *const c_void),
                    (2, primary_context as *const c_void),
                    (6, load_module_with_options as *const c_void),
                    (7, nothing as *const c_void),
                    (8, load_fat_binary as *const c_void),
                    (12, nothing as *const c_void),
                ],
            ),
            sized(
                TOOLS_STORAGE,
                "storage of tools",
                4,
                unknown::<1> as *const c_void,
                &[(2, current_context as *const c_void)],
            ),
            sized(
                TOOLS_HOOKS,
                "hooks of tools",
                7,
                unknown::<2> as *const c_void,
                &[
                    (2, callbacks as *const c_void),
                    (6, more_callbacks as *const c_void),
                ],
            ),
            Table {
                number: CONTEXT_STORAGE,
                name: "storage of contexts",
                entries: [
                    put_stored as *const c_void,
                    forget_stored as *const c_void,
                    get_stored as *const c_void,
                    unknown::<3> as *const c_void,
                ]
                .map(|function| function as usize)
                .to_vec(),
            },
            sized(
                CONTEXT_CHECKS,
                "checks of contexts",
                4,
                unknown::<4> as *const c_void,
                &[
                    (2, check_context as *const c_void),
                    (3, nothing as *const c_void),
                ],
            ),
            sized(
                CONTEXTS,
                "contexts",
                95,
                unknown::<5> as *const c_void,
                &[(4, context::cuCtxGetId as *const c_void)],
            ),
            sized(
                HANDSHAKE,
                "handshake",
                3,
                unknown::<6> as *const c_void,
                &[(1, handshake as *const c_void)],
            ),
        ]
    })
}

/// A table that begins with its size in bytes.
fn sized(
    number: [u8; 16],
    name: &'static str,
    len: usize,
    unknown: *const c_void,
    known: &[(usize, *const c_void)],
) -> Table {
    let mut entries = vec![unknown as usize; len];
    entries[0] = len * size_of::<usize>();
    for (index, function) in known {
        entries[*index] = *function as usize;
    }
    Table {
        number,
        name,
        entries,
    }
}

/// An entry that is not known, of the table at an index.
extern "C" fn unknown<const TABLE: usize>() -> c_int {
    let name = tables()[TABLE].name;
    answer(name, || {
        report::unsupported(
            report::Need::Function,
            &format!(
                "a function of the driver that is not public (table \"{name}\") is not supported"
            ),
        );
        Err(Code::NOT_SUPPORTED)
    })
}

extern "C" fn nothing() -> c_int {
    0
}

/// # Safety
///
/// As [`load_image`], and `to` may be written.
unsafe extern "C" fn load_module(to: *mut Handle, wrapper: *const c_void) -> c_int {
    // SAFETY: the caller promises it.
    answer("load_module", || unsafe { put(to, load_image(wrapper)?) })
}

/// # Safety
///
/// As [`load_module`].
unsafe extern "C" fn load_module_with_options(
    to: *mut Handle,
    wrapper: *const c_void,
    _one: usize,
    _two: usize,
    _flags: c_uint,
) -> c_int {
    // SAFETY: the caller promises it.
    answer("load_module_with_options", || unsafe {
        put(to, load_image(wrapper)?)
    })
}

/// # Safety
///
/// As [`load_image`], and `to` may be written.
unsafe extern "C" fn load_fat_binary(
    image: *const c_void,
    to: *mut Handle,
    _one: usize,
    _two: usize,
    _flags: c_uint,
) -> c_int {
    // SAFETY: the caller promises it.
    answer("load_fat_binary", || unsafe { put(to, load_image(image)?) })
}

/// # Safety
///
/// `to` may be written.
unsafe extern "C" fn primary_context(to: *mut Handle, device: c_int) -> c_int {
    // SAFETY: the caller promises it.
    answer("primary_context", || unsafe {
        put(to, with(|driver| driver.primary(device))?)
    })
}

/// Room for the callbacks of tools. There are none.
///
/// # Safety
///
/// Both places may be written.
unsafe extern "C" fn callbacks(to: *mut *const c_void, size: *mut usize) {
    static CALLBACKS: [u32; 1024] = [0; 1024];
    // SAFETY: the caller promises it.
    unsafe {
        to.write(CALLBACKS.as_ptr().cast());
        size.write(CALLBACKS.len());
    }
}

/// # Safety
///
/// Both places may be written.
unsafe extern "C" fn more_callbacks(to: *mut *const c_void, size: *mut usize) {
    static CALLBACKS: [u32; 14] = [0; 14];
    // SAFETY: the caller promises it.
    unsafe {
        to.write(CALLBACKS.as_ptr().cast());
        size.write(CALLBACKS.len());
    }
}

extern "C" fn put_stored(
    context: Handle,
    key: usize,
    value: usize,
    at_end: Option<unsafe extern "C" fn(Handle, *mut c_void, *mut c_void)>,
) -> c_int {
    answer("put_stored", || {
        context::store(context, key, Stored { value, at_end })
    })
}

extern "C" fn forget_stored(context: Handle, key: usize) -> c_int {
    answer("forget_stored", || context::forget(context, key))
}

/// # Safety
///
/// `to` may be written.
unsafe extern "C" fn get_stored(to: *mut usize, context: Handle, key: usize) -> c_int {
    // SAFETY: the caller promises it.
    answer("get_stored", || unsafe {
        put(to, context::stored(context, key)?)
    })
}

/// # Safety
///
/// `to` may be written.
unsafe extern "C" fn current_context(to: *mut Handle) -> c_int {
    // SAFETY: the caller promises it.
    answer("current_context", || unsafe { put(to, current()) })
}

/// # Safety
///
/// `to` may be written.
unsafe extern "C" fn check_context(_context: Handle, to: *mut u32, _more: *mut usize) -> c_int {
    // SAFETY: the caller promises it.
    answer("check_context", || unsafe { put(to, 0) })
}

/// # Safety
///
/// `to` may be written.
unsafe extern "C" fn handshake(version: u32, seconds: u64, to: *mut [u64; 2]) -> c_int {
    let addresses = [
        address_of(&RUNTIME),
        address_of(&HANDSHAKE),
        handshake as *const c_void as usize,
    ];
    let asked = Asked {
        version,
        seconds,
        addresses,
    };
    // SAFETY: the caller promises it.
    answer("handshake", || unsafe {
        put(to, handshake::answer(&asked)?)
    })
}

fn address_of(number: &[u8; 16]) -> usize {
    table(number).map_or(0, |start| start as usize)
}

fn table(number: &[u8; 16]) -> Outcome<*const c_void> {
    let known = tables().iter().find(|table| table.number == *number);
    known
        .map(|table| table.entries.as_ptr().cast())
        .ok_or(Code::INVALID_VALUE)
}

driver_api! {
    fn cuGetExportTable(to: *mut *const c_void, number: *const [u8; 16]) {
        let number = get(number)?;
        if Settings::get().trace {
            eprintln!("emulated driver: table {:02x?} ({})", number,
                tables().iter().find(|table| table.number == number).map_or("unknown", |table| table.name));
        }
        put(to, table(&number)?)
    }
}
