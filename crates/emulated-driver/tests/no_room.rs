//! A process that has no memory at the addresses of buffers, as where Linux gives it 39 bits of
//! address: managed and page-locked memory lies where the system has room.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint, c_void};

use common::{KERNELS, arg, context, function, launch, module};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

const ILLEGAL_ADDRESS: c_int = 700;

/// Takes the addresses that the first buffers may have.
fn take_addresses_of_buffers() {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
    let (first, bytes) = (0x2000_0000_0000usize, 16 << 30);
    // SAFETY: the flag keeps every mapping that there is.
    let taken = unsafe { mmap_anonymous(first as *mut c_void, bytes, ProtFlags::empty(), flags) };
    assert_eq!(taken.unwrap() as usize, first);
}

fn managed(bytes: usize) -> u64 {
    let mut address = 0;
    let allocated = cu!(cuMemAllocManaged(&mut address => *mut u64, bytes => usize, 1 => c_uint));
    assert_eq!(allocated, 0);
    address
}

fn page_locked(bytes: usize) -> u64 {
    let mut address = 0;
    assert_eq!(
        cu!(cuMemHostAlloc(&mut address => *mut u64, bytes => usize, 0 => c_uint)),
        0
    );
    address
}

#[test]
fn memory_of_host_and_kernels_lies_where_there_is_room() {
    take_addresses_of_buffers();
    context();
    let add = function(module(KERNELS), "add");
    let launch_add = |address: u64| launch(add, 32, 0, &[arg(&address), arg(&1u32)]);
    let buffers = [managed(128), page_locked(128), managed(3 << 20)];
    for address in buffers {
        assert_eq!(address % (64 << 10), 0, "{address:#x}");
        let first = address as *mut u32;
        // SAFETY: the memory is the program's, and no kernel runs.
        unsafe { first.write(5) };
        assert_eq!(launch_add(address), 0);
        assert_eq!(cu!(cuCtxSynchronize()), 0);
        // SAFETY: as above.
        assert_eq!(unsafe { first.read() }, 6);
        let mut word = 0u32;
        let copied = cu!(cuMemcpyDtoH_v2(&mut word => *mut u32, address => u64, 4 => usize));
        assert_eq!((copied, word), (0, 6));
    }
    for address in [buffers[0], buffers[2]] {
        assert_eq!(cu!(cuMemFree_v2(address => u64)), 0);
    }
    assert_eq!(cu!(cuMemFreeHost(buffers[1] => u64)), 0);
    // There is room again, and what a kernel does behind the end is noticed.
    let again = managed(64);
    assert_eq!(launch_add(again), ILLEGAL_ADDRESS);
}
