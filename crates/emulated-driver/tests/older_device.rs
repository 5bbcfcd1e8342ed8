//! A device of compute capability 8.6: what came with 9.0 is refused, by its rule. Alone in its
//! process, because all devices of a process are of one kind.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{CString, c_int, c_uint, c_void};

use common::{Handle, allocate, context};

const INVALID_PTX: c_int = 218;
const NOT_SUPPORTED: c_int = 801;

/// Loads a module for this device with an instruction.
fn load(line: &str) -> c_int {
    let text = format!(
        ".version 8.8\n.target sm_86\n.address_size 64\n.visible .entry k() {{\n.reg .b32 \
         %r<4>; .reg .b64 %rd<4>;\n{line}\nret;\n}}"
    );
    let text = CString::new(text).unwrap();
    let mut module = 0;
    cu!(cuModuleLoadData(&mut module => *mut Handle, text.as_ptr().cast() => *const c_void))
}

#[test]
fn what_came_with_9_0_is_refused() {
    // SAFETY: the one test of this process comes here before it calls the driver, which alone
    // reads the variable.
    unsafe { std::env::set_var("EMULATED_DRIVER_COMPUTE_CAPABILITY", "8.6") };
    context();
    assert_eq!(load("mov.u32 %r1, %ctaid.x;"), 0);
    assert_eq!(load("mapa.u64 %rd1, %rd2, %r1;"), INVALID_PTX);

    #[repr(align(64))]
    struct Map([u64; 16]);
    let (mut map, data) = (Map([0; 16]), allocate(4096));
    let (extents, strides, tile, steps) = ([32u64, 32], [128u64], [32u32, 8], [1u32, 1]);
    let encoded = cu!(cuTensorMapEncodeTiled(&mut map.0 => *mut [u64; 16], 7 => c_uint, 2 => c_uint, data => u64, extents.as_ptr() => *const u64,
        strides.as_ptr() => *const u64, tile.as_ptr() => *const u32, steps.as_ptr() => *const u32, 0 => c_uint, 0 => c_uint, 0 => c_uint, 0 => c_uint));
    assert_eq!(encoded, NOT_SUPPORTED);
    let mut supported = 7;
    let asked = cu!(cuDeviceGetAttribute(&mut supported => *mut c_int, 127 => c_int, 0 => c_int));
    assert_eq!((asked, supported), (0, 0));
}
