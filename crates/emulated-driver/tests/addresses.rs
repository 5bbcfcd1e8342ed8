//! Addresses and sizes that no program should give: each is an error, and the program goes on.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint};

use common::{Handle, allocate, context, read, write};
use rustix::param::page_size;

const INVALID_VALUE: c_int = 1;
const OUT_OF_MEMORY: c_int = 2;

/// `CUDA_MEMCPY2D`: of each side x, y, memory, host, device, array, pitch; then width and height.
fn rows(from: [u64; 7], to: [u64; 7], width: u64, height: u64) -> Vec<u64> {
    [from.as_slice(), to.as_slice(), &[width, height]].concat()
}

/// A page that the program may read and not write, and one behind it that it may not access.
fn half_mapped() -> u64 {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, mprotect};
    // SAFETY: the address is the system's choice.
    let start = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            2 * page_size(),
            ProtFlags::READ,
            MapFlags::PRIVATE,
        )
    };
    let start = start.unwrap();
    // SAFETY: the page was just mapped, and nothing uses it.
    unsafe {
        mprotect(
            start.byte_add(page_size()),
            page_size(),
            rustix::mm::MprotectFlags::empty(),
        )
    }
    .unwrap();
    start as u64
}

/// The null pointer, addresses of nothing, and memory of the host are not.
#[test]
fn the_device_side_of_a_copy_is_device_memory() {
    context();
    let device = allocate(64);
    write(device, &[7; 16]);
    let mut host = [3u32; 16];
    let own = host.as_mut_ptr() as u64;
    for wrong in [0, 0x10, own, u64::MAX - 2] {
        let copied = [
            cu!(cuMemcpyHtoD_v2(wrong => u64, device => u64, 8 => usize)),
            cu!(cuMemcpyHtoDAsync_v2(wrong => u64, own => u64, 8 => usize, 0 => Handle)),
            cu!(cuMemcpyDtoH_v2(own => u64, wrong => u64, 8 => usize)),
            cu!(cuMemcpyDtoD_v2(device => u64, wrong => u64, 8 => usize)),
            cu!(cuMemcpyDtoD_v2(wrong => u64, device => u64, 8 => usize)),
            cu!(cuMemcpyPeer(wrong => u64, 0 => Handle, device => u64, 0 => Handle, 8 => usize)),
            cu!(cuMemsetD8_v2(wrong => u64, 1 => u8, 8 => usize)),
            cu!(cuStreamWriteValue32_v2(0 => Handle, wrong => u64, 1 => c_uint, 0 => c_uint)),
            cu!(cuStreamWaitValue32_v2(0 => Handle, wrong => u64, 0 => c_uint, 0 => c_uint)),
        ];
        assert_eq!(copied, [INVALID_VALUE; 9], "{wrong:#x}");
        let from = [0, 0, 1, own, 0, 0, 8];
        let copy = rows(from, [0, 0, 2, 0, wrong, 0, 8], 8, 2);
        assert_eq!(
            cu!(cuMemcpy2D_v2(copy.as_ptr() => *const u64)),
            INVALID_VALUE
        );
    }
    // Nothing was touched, and the context is as good as before.
    assert_eq!((host, read(device, 16)), ([3; 16], vec![7; 16]));
}

/// Where a call leaves open which memory an address is of, it may be the program's own.
#[test]
fn the_other_side_of_a_copy_is_memory_that_the_program_has() {
    context();
    let bytes = page_size() as u64;
    let words = page_size() / 4;
    let device = allocate(2 * page_size());
    write(device, &vec![7; 2 * words]);
    let page = half_mapped();
    for wrong in [0, 0x10, page + bytes, u64::MAX - 2] {
        let copied = [
            cu!(cuMemcpy(wrong => u64, device => u64, 8 => usize)),
            cu!(cuMemcpy(device => u64, wrong => u64, 8 => usize)),
            cu!(cuMemcpyDtoH_v2(wrong => u64, device => u64, 8 => usize)),
            cu!(cuMemcpyHtoD_v2(device => u64, wrong => u64, 8 => usize)),
        ];
        assert_eq!(copied, [INVALID_VALUE; 4], "{wrong:#x}");
    }
    // The page may be read, not written; a range that leaves it, neither.
    let first = device + bytes;
    assert_eq!(
        cu!(cuMemcpyDtoH_v2(page => u64, device => u64, 8 => usize)),
        INVALID_VALUE
    );
    assert_eq!(
        cu!(cuMemcpyHtoD_v2(device => u64, page + bytes - 96 => u64, 97 => usize)),
        INVALID_VALUE
    );
    assert_eq!(read(device, 2 * words), vec![7; 2 * words]);
    assert_eq!(
        cu!(cuMemcpyHtoD_v2(first => u64, page => u64, page_size() => usize)),
        0
    );
    assert_eq!(read(first, words), vec![0; words]);
    // Of two rows the second is missing: the first is not copied either.
    let from = [0, 0, 4, 0, page, 0, bytes];
    let copy = rows(from, [0, 0, 2, 0, device, 0, bytes], 8, 2);
    assert_eq!(
        cu!(cuMemcpy2D_v2(copy.as_ptr() => *const u64)),
        INVALID_VALUE
    );
    assert_eq!(read(device, 2), [7; 2]);
    // Both sides are of the program.
    let (ours, mut to) = ([5u32; 4], [0u32; 4]);
    assert_eq!(
        cu!(cuMemcpy(to.as_mut_ptr() => *mut u32, ours.as_ptr() => *const u32, 16 => usize)),
        0
    );
    assert_eq!(to, ours);
}

/// A program's memory that it has registered is device memory under both of its addresses.
#[test]
fn registered_memory_is_device_memory() {
    context();
    let mut own = vec![4u32; 32];
    let host = own.as_mut_ptr() as u64;
    assert_eq!(
        cu!(cuMemHostRegister_v2(host => u64, 128 => usize, 0 => c_uint)),
        0
    );
    assert_eq!(
        cu!(cuMemsetD32_v2(host + 8 => u64, 6 => c_uint, 2 => usize)),
        0
    );
    write(host + 16, &[9, 10]);
    assert_eq!(
        cu!(cuStreamWriteValue32_v2(0 => Handle, host + 24 => u64, 11 => c_uint, 0 => c_uint)),
        0
    );
    assert_eq!(
        cu!(cuStreamWaitValue32_v2(0 => Handle, host + 24 => u64, 11 => c_uint, 1 => c_uint)),
        0
    );
    assert_eq!(own[1..8], [4, 6, 6, 9, 10, 11, 4]);
    // It ends where the registration does.
    assert_eq!(
        cu!(cuMemsetD8_v2(host + 124 => u64, 0 => u8, 5 => usize)),
        INVALID_VALUE
    );
    assert_eq!(cu!(cuMemHostUnregister(host => u64)), 0);
    assert_eq!(
        cu!(cuMemsetD8_v2(host => u64, 0 => u8, 4 => usize)),
        INVALID_VALUE
    );
}

#[test]
fn sizes_that_no_memory_has_are_errors() {
    context();
    let device = allocate(1 << 16);
    let mut host = [0u32; 16];
    let own = host.as_mut_ptr();
    let (all, half) = (usize::MAX, 1usize << 63);
    let wrong = [
        cu!(cuMemsetD32_v2(device => u64, 0 => c_uint, 1 << 62 => usize)),
        cu!(cuMemsetD2D8_v2(device => u64, half => usize, 0 => u8, 8 => usize, 3 => usize)),
        cu!(cuMemsetD2D8_v2(device => u64, 0 => usize, 0 => u8, 8 => usize, all => usize)),
        cu!(cuMemcpyHtoD_v2(device => u64, own => *mut u32, all => usize)),
        cu!(cuMemcpyDtoH_v2(own => *mut u32, device => u64, all => usize)),
    ];
    assert_eq!(wrong, [INVALID_VALUE; 5]);
    let no_bytes =
        cu!(cuMemsetD2D8_v2(device => u64, 0 => usize, 0 => u8, 0 => usize, all => usize));
    assert_eq!(no_bytes, 0);
    let plain = [0, 0, 2, 0, device, 0, 8];
    for side in [
        [0, 0, 2, 0, device, 0, u64::MAX],
        [0, u64::MAX, 2, 0, device, 0, 8],
        [u64::MAX, 0, 2, 0, device, 0, 8],
        [0, 0, 2, 0, device, 0, 1],
    ] {
        for (from, to) in [(side, plain), (plain, side)] {
            let copy = rows(from, to, 8, 1 << 60);
            let copied = cu!(cuMemcpy2D_v2(copy.as_ptr() => *const u64));
            assert_eq!(copied, INVALID_VALUE, "{from:?} {to:?}");
        }
    }
    let (mut address, mut pitch) = (0u64, 0usize);
    for (width, height) in [(all, all), (half, 4), (half, 1)] {
        let allocated = cu!(cuMemAllocPitch_v2(&mut address => *mut u64, &mut pitch => *mut usize, width => usize, height => usize,
            4 => c_uint));
        assert_eq!(allocated, OUT_OF_MEMORY, "{width} {height}");
    }
    for bytes in [1 << 62, all] {
        let allocated = [
            cu!(cuMemAlloc_v2(&mut address => *mut u64, bytes => usize)),
            cu!(cuMemAllocManaged(&mut address => *mut u64, bytes => usize, 1 => c_uint)),
            cu!(cuMemHostAlloc(&mut address => *mut u64, bytes => usize, 0 => c_uint)),
        ];
        assert_eq!(allocated, [OUT_OF_MEMORY; 3], "{bytes}");
    }
    for bytes in [1 << 48, 1 << 62, half, all] {
        let registered = cu!(cuMemHostRegister_v2(own => *mut u32, bytes => usize, 0 => c_uint));
        assert_eq!(registered, INVALID_VALUE, "{bytes}");
    }
    // Width and height; f32 with four channels.
    let descriptor = [1u64 << 62, 1, 0x20 | 4 << 32];
    let made = cu!(cuArrayCreate_v2(&mut address => *mut u64, descriptor.as_ptr() => *const u64));
    assert_eq!(made, INVALID_VALUE);
}
