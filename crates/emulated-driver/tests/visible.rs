//! `CUDA_VISIBLE_DEVICES`: a program finds the devices of the list, in its order.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{CStr, c_char, c_int};

use common::{KERNELS, allocate, arg, context, function, launch, module, read, write};

/// The number of a device's bus, by three functions that must agree.
fn bus(device: c_int) -> c_int {
    let (mut id, mut found, mut attribute) = ([0 as c_char; 16], -1, -1);
    let asked =
        cu!(cuDeviceGetPCIBusId(id.as_mut_ptr() => *mut c_char, 16 => c_int, device => c_int));
    assert_eq!(asked, 0);
    let by_id = cu!(cuDeviceGetByPCIBusId(&mut found => *mut c_int, id.as_ptr() => *const c_char));
    assert_eq!((by_id, found), (0, device));
    let bus = cu!(cuDeviceGetAttribute(&mut attribute => *mut c_int, 33 => c_int, device => c_int));
    assert_eq!(bus, 0);
    // SAFETY: the driver has written a text into the array.
    let id = unsafe { CStr::from_ptr(id.as_ptr()) }.to_str().unwrap();
    assert_eq!(id, format!("0000:{attribute:02X}:00.0"));
    attribute
}

#[test]
fn a_program_finds_the_devices_of_the_list_in_its_order() {
    // SAFETY: this is the only test of the program, and nothing has called the driver before, which
    // alone reads the variables.
    unsafe {
        std::env::set_var("EMULATED_DRIVER_DEVICES", "4");
        // The list ends before 9. A UUID may be cut.
        std::env::set_var("CUDA_VISIBLE_DEVICES", "2,GPU-30,9,1");
    }
    assert_eq!(cu!(cuInit(0 => u32)), 0);
    let mut count = -1;
    assert_eq!(cu!(cuDeviceGetCount(&mut count => *mut c_int)), 0);
    assert_eq!((count, bus(0), bus(1)), (2, 3, 1));
    let mut device = -1;
    assert_eq!(cu!(cuDeviceGet(&mut device => *mut c_int, 2 => c_int)), 101);
    let hidden = c"0000:02:00.0";
    assert_eq!(
        cu!(cuDeviceGetByPCIBusId(&mut device => *mut c_int, hidden.as_ptr() => *const c_char)),
        101
    );
    let uuid = |number| {
        let mut uuid = [0u8; 16];
        assert_eq!(
            cu!(cuDeviceGetUuid_v2(&mut uuid => *mut [u8; 16], number => c_int)),
            0
        );
        uuid[0]
    };
    assert_eq!((uuid(0), uuid(1)), (0x32, 0x30));
    // They are devices like others.
    context();
    let add = function(module(KERNELS), "add");
    let data = allocate(128);
    write(data, &[1; 32]);
    assert_eq!(launch(add, 32, 0, &[arg(&data), arg(&5u32)]), 0);
    assert_eq!(read(data, 32), [6; 32]);
}
