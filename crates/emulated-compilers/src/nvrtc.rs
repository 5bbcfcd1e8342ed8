//! NVRTC: a program that was compiled for a GPU (`-arch=sm_90`) has PTX and machine code, and hands
//! out the PTX for both.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::sync::Mutex;

use crate::symbols::{base_of, linked, sibling};

/// A program of NVRTC.
type Program = *mut c_void;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Get = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

const CUBIN: &CStr = c"nvrtcGetCUBIN";
const CUBIN_SIZE: &CStr = c"nvrtcGetCUBINSize";

/// `NVRTC_ERROR_INTERNAL_ERROR`.
const INTERNAL_ERROR: c_int = 11;

/// The functions of a library.
#[derive(Clone, Copy)]
struct Real {
    base: usize,
    cubin_size: GetSize,
    cubin: Get,
    ptx_size: GetSize,
    ptx: Get,
}

/// The libraries of a process: NVRTC 12, 13, and as many more. A function of ours has the number of
/// its own, since a program of one means nothing to another.
static LIBRARIES: Mutex<Vec<Real>> = Mutex::new(Vec::new());

/// Ours, by the library's number.
const CUBIN_SIZES: [GetSize; 4] = [size::<0>, size::<1>, size::<2>, size::<3>];
const CUBINS: [Get; 4] = [get::<0>, get::<1>, get::<2>, get::<3>];

pub(crate) fn has(name: &[u8]) -> bool {
    name == CUBIN.to_bytes() || name == CUBIN_SIZE.to_bytes()
}

/// Our form of a function of NVRTC; `None` where the library lacks another that it needs.
pub(crate) fn instead(real: *mut c_void, name: &[u8]) -> Option<*mut c_void> {
    if !has(name) {
        return None;
    }
    let number = number(real)?;
    Some(if name == CUBIN.to_bytes() {
        *CUBINS.get(number)? as *mut c_void
    } else {
        *CUBIN_SIZES.get(number)? as *mut c_void
    })
}

/// The number of the library that has this function.
fn number(real: *mut c_void) -> Option<usize> {
    let base = base_of(real) as usize;
    let mut libraries = LIBRARIES.lock().ok()?;
    if let Some(number) = libraries.iter().position(|known| known.base == base) {
        return Some(number);
    }
    // SAFETY: functions of these names have these types, in every version.
    let library = unsafe {
        Real {
            base,
            cubin_size: transmute::<*mut c_void, GetSize>(sibling(real, "nvrtcGetCUBINSize")?),
            cubin: transmute::<*mut c_void, Get>(sibling(real, "nvrtcGetCUBIN")?),
            ptx_size: transmute::<*mut c_void, GetSize>(sibling(real, "nvrtcGetPTXSize")?),
            ptx: transmute::<*mut c_void, Get>(sibling(real, "nvrtcGetPTX")?),
        }
    };
    libraries.push(library);
    Some(libraries.len() - 1)
}

impl Real {
    fn numbered(number: usize) -> Option<Real> {
        LIBRARIES.lock().ok()?.get(number).copied()
    }

    /// The size of the PTX, if there is machine code and PTX.
    ///
    /// # Safety
    ///
    /// The program is one of the library's.
    unsafe fn ptx_instead(&self, program: Program) -> Option<usize> {
        let (mut machine_code, mut ptx) = (0, 0);
        // SAFETY: the caller's promise.
        let codes = unsafe {
            [
                (self.cubin_size)(program, &mut machine_code),
                (self.ptx_size)(program, &mut ptx),
            ]
        };
        // The size of a text counts its NUL.
        (codes == [0, 0] && machine_code > 0 && ptx > 1).then_some(ptx)
    }
}

/// # Safety
///
/// As of the real one.
unsafe extern "C" fn size<const LIBRARY: usize>(program: Program, to: *mut usize) -> c_int {
    let Some(real) = Real::numbered(LIBRARY) else {
        return INTERNAL_ERROR;
    };
    // SAFETY: the program's own arguments.
    unsafe {
        let code = (real.cubin_size)(program, to);
        if code == 0
            && let Some(bytes) = real.ptx_instead(program)
        {
            *to = bytes;
        }
        code
    }
}

/// # Safety
///
/// As of the real one.
unsafe extern "C" fn get<const LIBRARY: usize>(program: Program, to: *mut c_char) -> c_int {
    let Some(real) = Real::numbered(LIBRARY) else {
        return INTERNAL_ERROR;
    };
    // SAFETY: the program's own arguments, with room for the size that it was told.
    unsafe {
        match real.ptx_instead(program) {
            Some(_) => (real.ptx)(program, to),
            None => (real.cubin)(program, to),
        }
    }
}

/// For programs that were linked with NVRTC.
///
/// # Safety
///
/// As of the real one.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn nvrtcGetCUBINSize(program: Program, to: *mut usize) -> c_int {
    let ours = linked(CUBIN_SIZE, "libnvrtc").and_then(number);
    match ours.and_then(|number| CUBIN_SIZES.get(number)) {
        // SAFETY: the program's own arguments.
        Some(ours) => unsafe { ours(program, to) },
        None => INTERNAL_ERROR,
    }
}

/// For programs that were linked with NVRTC.
///
/// # Safety
///
/// As of the real one.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn nvrtcGetCUBIN(program: Program, to: *mut c_char) -> c_int {
    let ours = linked(CUBIN, "libnvrtc").and_then(number);
    match ours.and_then(|number| CUBINS.get(number)) {
        // SAFETY: the program's own arguments.
        Some(ours) => unsafe { ours(program, to) },
        None => INTERNAL_ERROR,
    }
}
