//! `dlsym`, in front of the system's: programs get our function where they ask for one that we
//! have.
//!
//! The system's `dlsym` looks at its caller's address, for `RTLD_NEXT` and `RTLD_DEFAULT`. So ours
//! does not call it but goes on in it, with the registers as they were.

use std::ffi::{CStr, c_char, c_void};

use crate::symbols::{base_of, real_dlsym, system_dlsym};
use crate::{jit_link, nvrtc};

/// The system's, for programs that look a function up.
///
/// # Safety
///
/// As of `dlsym`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    std::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {route}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        route = sym route,
    )
}

/// The system's, for programs that look a function up.
///
/// # Safety
///
/// As of `dlsym`.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "bl {route}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        route = sym route,
    )
}

/// Where a call of `dlsym` goes on: in the system's, or in [`answer`] for a name that we have.
///
/// # Safety
///
/// As of `dlsym`.
unsafe extern "C" fn route(_handle: *mut c_void, name: *const c_char) -> *const c_void {
    // SAFETY: a program gives a name, or null.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
    match name {
        Some(name) if is_ours(name.to_bytes()) => answer as *const c_void,
        _ => real_dlsym(),
    }
}

fn is_ours(name: &[u8]) -> bool {
    nvrtc::has(name) || jit_link::has(name)
}

/// The address of a function that we have, in our form if the real one is there.
///
/// # Safety
///
/// As of `dlsym`.
unsafe extern "C" fn answer(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: as the program has called it. `answer` is reached with a name alone.
    let (real, name) = unsafe { (look_up(handle, name), CStr::from_ptr(name)) };
    if real.is_null() {
        return real;
    }
    let name = name.to_bytes();
    nvrtc::instead(real, name)
        .or_else(|| jit_link::instead(real, name))
        .unwrap_or(real)
}

/// The real function. That of this library comes before it in the list of all libraries.
///
/// # Safety
///
/// As of `dlsym`.
unsafe fn look_up(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    let is_list = handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT;
    if !is_list {
        // SAFETY: the program's own arguments.
        let found = unsafe { system_dlsym(handle, name) };
        if found.is_null() || base_of(found) != base_of(answer as *mut c_void) {
            return found;
        }
    }
    // SAFETY: a name, and the libraries behind this one.
    unsafe { system_dlsym(libc::RTLD_NEXT, name) }
}
