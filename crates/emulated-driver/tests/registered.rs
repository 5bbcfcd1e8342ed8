//! Memory of the program's own that it has registered: kernels use it at its own address.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint};

use common::{Handle, KERNELS, allocate, arg, context, function, launch, module};

const INVALID_VALUE: c_int = 1;
const ILLEGAL_ADDRESS: c_int = 700;
const ALREADY_REGISTERED: c_int = 712;
const NOT_REGISTERED: c_int = 713;

fn register(address: u64, bytes: usize) -> c_int {
    cu!(cuMemHostRegister_v2(address => u64, bytes => usize, 0 => c_uint))
}

fn unregister(address: u64) -> c_int {
    cu!(cuMemHostUnregister(address => u64))
}

/// A new context, and the kernel that adds a number to each of as many words as there are threads.
fn add() -> Handle {
    context();
    function(module(KERNELS), "add")
}

fn launch_add(add: Handle, address: u64, threads: u32) -> c_int {
    launch(add, threads, 0, &[arg(&address), arg(&1u32)])
}

/// Words of the heap, the index of one that lies at a multiple of 512, and its address.
fn words() -> (Vec<u32>, usize, u64) {
    let mut words = vec![7u32; 512];
    let start = words.as_mut_ptr() as u64;
    let aligned = start.next_multiple_of(512);
    (words, ((aligned - start) / 4) as usize, aligned)
}

#[test]
fn kernels_use_it_at_its_own_address_wherever_it_lies() {
    let add = add();
    let (heap, first, aligned) = words();
    // The beginnings of a page, of no line of any check, and of no word.
    for (offset, bytes) in [(0u64, 128), (12, 128), (260, 128), (3, 133)] {
        let address = aligned + offset;
        assert_eq!(register(address, bytes), 0);
        assert_eq!(launch_add(add, address.next_multiple_of(4), 32), 0);
        assert_eq!(unregister(address), 0);
    }
    let all =
        |of: std::ops::Range<usize>, value| heap[first..][of].iter().all(|word| *word == value);
    assert!(all(0..1, 8) && all(1..3, 9) && all(3..32, 10) && all(32..33, 9) && all(33..35, 8));
    assert!(
        all(35..65, 7) && all(65..97, 8) && all(97..128, 7),
        "{heap:?}"
    );
    let mut stack = [3u32; 32];
    let address = stack.as_mut_ptr() as u64;
    assert_eq!(
        (register(address, 128), launch_add(add, address, 32)),
        (0, 0)
    );
    assert_eq!(unregister(address), 0);
    assert_eq!(stack, [4; 32]);
}

#[test]
fn it_begins_and_ends_where_the_registration_does() {
    let (heap, first, aligned) = words();
    let start = aligned + 64;
    for wrong in [start - 4, start + 4] {
        let add = add();
        assert_eq!(register(start, 128), 0);
        assert_eq!(launch_add(add, start, 32), 0);
        assert_eq!(launch_add(add, wrong, 32), ILLEGAL_ADDRESS);
        assert_eq!(unregister(start), 0);
    }
    let add = add();
    assert_eq!(
        launch_add(add, start, 32),
        ILLEGAL_ADDRESS,
        "it is registered no more"
    );
    let mut expected = [7; 128];
    expected[16..48].fill(9);
    assert_eq!(heap[first..][..128], expected);
}

#[test]
fn neighbours_are_registered_each_for_itself() {
    let add = add();
    let (mut heap, first, aligned) = words();
    // They have words of one line of the checks, and one of them, which no kernel touches.
    let (one, other) = (aligned + 8, aligned + 8 + 130);
    assert_eq!((register(one, 130), register(other, 134)), (0, 0));
    assert_eq!(
        (launch_add(add, one, 32), launch_add(add, other + 2, 32)),
        (0, 0)
    );
    assert_eq!(unregister(one), 0);
    assert_eq!(launch_add(add, other + 2, 32), 0);
    assert_eq!(unregister(one), NOT_REGISTERED);
    assert_eq!(unregister(other), 0);
    heap.drain(..first);
    let expected = [[7; 2].as_slice(), &[8; 32], &[7], &[9; 32], &[7; 2]].concat();
    assert_eq!(heap[..69], expected);
}

#[test]
fn a_launch_that_is_repeated_leaves_what_is_beside_it() {
    let add = add();
    let (heap, first, aligned) = words();
    assert_eq!(register(aligned + 6, 10), 0);
    let race = function(module(KERNELS), "race");
    // A race: told, undone, and done again.
    let word = aligned + 8;
    assert_eq!(launch(race, 32, 0, &[arg(&word)]), 0);
    assert_eq!(heap[first..][..4], [7, 7, 31, 7]);
    assert_eq!(launch_add(add, word, 2), 0);
    assert_eq!(heap[first..][..4], [7, 7, 32, 8]);
    assert_eq!(unregister(aligned + 6), 0);
}

#[test]
fn memory_is_registered_once() {
    context();
    let (_heap, _, start) = words();
    assert_eq!(register(start, 0), INVALID_VALUE);
    assert_eq!(register(start + 64, 64), 0);
    for (offset, bytes) in [(64, 64), (64, 4), (0, 65), (127, 8), (0, 256), (80, 8)] {
        assert_eq!(
            register(start + offset, bytes),
            ALREADY_REGISTERED,
            "{offset} {bytes}"
        );
    }
    assert_eq!((register(start, 64), register(start + 128, 64)), (0, 0));
    assert_eq!(unregister(start + 65), NOT_REGISTERED);
    for offset in [0, 64, 128] {
        assert_eq!(unregister(start + offset), 0);
    }
    // Page-locked and managed memory are registered from the start.
    let mut locked = 0u64;
    assert_eq!(
        cu!(cuMemHostAlloc(&mut locked => *mut u64, 256 => usize, 0 => c_uint)),
        0
    );
    assert_eq!(register(locked + 4, 8), ALREADY_REGISTERED);
    assert_eq!(unregister(locked), NOT_REGISTERED);
}

#[test]
fn what_is_asked_about_it_agrees() {
    context();
    let (_heap, _, start) = words();
    let start = start + 20;
    let mut can = 0;
    let asked = cu!(cuDeviceGetAttribute(&mut can => *mut c_int, 91 => c_int, 0 => c_int));
    assert_eq!(
        (asked, can),
        (0, 1),
        "can use the host's pointer for registered memory"
    );
    let device_pointer = |address: u64| {
        let mut device = 0u64;
        let answer =
            cu!(cuMemHostGetDevicePointer_v2(&mut device => *mut u64, address => u64, 0 => c_uint));
        (answer, device)
    };
    let attribute = |attribute: c_int| {
        let mut value = 0u64;
        let answer = cu!(cuPointerGetAttribute(&mut value => *mut u64, attribute => c_int, start + 8 => u64));
        (answer, value)
    };
    assert_eq!(device_pointer(start).0, INVALID_VALUE);
    assert_eq!(register(start, 100), 0);
    assert_eq!(device_pointer(start + 8), (0, start + 8));
    // Kind of memory, pointers of device and host, start and bytes of the range, mapped.
    let expected = [
        (2, 1),
        (3, start + 8),
        (4, start + 8),
        (11, start),
        (12, 100),
        (13, 1),
    ];
    for (number, value) in expected {
        assert_eq!(attribute(number), (0, value), "{number}");
    }
    assert_eq!(unregister(start), 0);
    assert_eq!(
        (device_pointer(start).0, attribute(2).0),
        (INVALID_VALUE, INVALID_VALUE)
    );
}

/// Drivers give small allocations at multiples of 512 and those of 1 MiB or more at multiples of
/// 2 MiB: programs place things in large ones as if these began with a page.
#[test]
fn allocations_are_aligned_as_a_driver_aligns_them() {
    context();
    let mut large = 0u64;
    for (bytes, alignment) in [
        (1, 512),
        (1000, 512),
        ((1 << 20) - 1, 512),
        (1 << 20, 2 << 20),
        (5 << 20, 2 << 20),
    ] {
        let mut pooled = [0u64; 3];
        let [stream_ordered, managed, locked] = &mut pooled;
        assert_eq!(
            cu!(cuMemAllocAsync(stream_ordered => *mut u64, bytes => usize, 0 => Handle)),
            0
        );
        assert_eq!(
            cu!(cuMemAllocManaged(managed => *mut u64, bytes => usize, 1 => c_uint)),
            0
        );
        assert_eq!(
            cu!(cuMemHostAlloc(locked => *mut u64, bytes => usize, 0 => c_uint)),
            0
        );
        for address in [allocate(bytes), pooled[0], pooled[1], pooled[2]] {
            assert_eq!(address % alignment, 0, "{bytes} bytes at {address:#x}");
        }
        large = pooled[0];
    }
    // Behind its end there is a gap, as there was: an index too far is a fault.
    assert_eq!(
        cu!(cuMemsetD8_v2(large => u64, 0 => u8, 5 << 20 => usize)),
        0
    );
    assert_eq!(
        cu!(cuMemsetD8_v2(large => u64, 0 => u8, (5 << 20) + 1 => usize)),
        INVALID_VALUE
    );
    let add = add();
    assert_eq!(launch_add(add, large + (5 << 20) - 4, 2), ILLEGAL_ADDRESS);
}
