//! Several devices and contexts: copies between them, peer access, faults of one of them.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint};
use std::sync::Once;

use common::{Handle, KERNELS, allocate, arg, function, launch, module, read, write};

/// A new context on each of three devices; that of the first is current.
fn contexts() -> [Handle; 3] {
    static START: Once = Once::new();
    // SAFETY: each test of this program begins here and waits for the end of it, and nothing has
    // called the driver before, which alone reads the variable.
    START.call_once(|| unsafe { std::env::set_var("EMULATED_DRIVER_DEVICES", "3") });
    assert_eq!(cu!(cuInit(0 => u32)), 0);
    let contexts = [0, 1, 2].map(|device| {
        let mut context = 0;
        assert_eq!(
            cu!(cuCtxCreate_v2(&mut context => *mut Handle, 0 => u32, device => c_int)),
            0
        );
        context
    });
    enter(contexts[0]);
    contexts
}

fn enter(context: Handle) {
    assert_eq!(cu!(cuCtxSetCurrent(context => Handle)), 0);
}

/// 32 words on the device of a context, from `first` on.
fn numbers(context: Handle, first: u32) -> u64 {
    enter(context);
    let buffer = allocate(128);
    write(buffer, &(first..first + 32).collect::<Vec<_>>());
    buffer
}

/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
fn device_of(buffer: u64) -> c_int {
    let mut device = -1;
    let asked = cu!(cuPointerGetAttribute(&mut device => *mut c_int, 9 => c_int, buffer => u64));
    assert_eq!(asked, 0);
    device
}

#[test]
fn copies_between_devices() {
    let [first, second, third] = contexts();
    let (from, to) = (numbers(first, 7), numbers(second, 100));
    assert_eq!((device_of(from), device_of(to)), (0, 1));
    // From a context that has neither buffer.
    enter(third);
    assert_eq!(
        cu!(cuMemcpyPeer(to => u64, second => Handle, from => u64, first => Handle, 64 => usize)),
        0
    );
    let mut stream = 0;
    assert_eq!(
        cu!(cuStreamCreate(&mut stream => *mut Handle, 0 => c_uint)),
        0
    );
    assert_eq!(
        cu!(cuMemcpyPeerAsync(to + 64 => u64, second => Handle, from => u64, first => Handle, 4 => usize, stream => Handle)),
        0
    );
    assert_eq!(cu!(cuStreamSynchronize(stream => Handle)), 0);
    enter(second);
    let expected: Vec<u32> = (7..23).chain([7]).chain(117..132).collect();
    assert_eq!(read(to, 32), expected);
}

#[test]
fn peer_access_is_given_and_taken() {
    let [first, second, _] = contexts();
    let can = |device, peer| {
        let mut can = -1;
        let asked =
            cu!(cuDeviceCanAccessPeer(&mut can => *mut c_int, device => c_int, peer => c_int));
        (asked, can)
    };
    assert_eq!((can(0, 1), can(1, 1), can(0, 3).0), ((0, 1), (0, 0), 101));
    let enable = |peer| cu!(cuCtxEnablePeerAccess(peer => Handle, 0 => c_uint));
    let disable = |peer| cu!(cuCtxDisablePeerAccess(peer => Handle));
    assert_eq!(enable(first), 101, "a device cannot be its own peer");
    assert_eq!((enable(second), enable(second)), (0, 704));
    // The first device adds to what the second has.
    let theirs = numbers(second, 0);
    enter(first);
    let add = function(module(KERNELS), "add");
    assert_eq!(launch(add, 32, 0, &[arg(&theirs), arg(&5u32)]), 0);
    assert_eq!((disable(second), disable(second)), (0, 705));
    enter(second);
    assert_eq!(read(theirs, 32), (5..37).collect::<Vec<_>>());
}

#[test]
fn a_fault_on_one_device_leaves_the_others() {
    let [first, second, _] = contexts();
    let (ours, theirs) = (numbers(first, 0), numbers(second, 0));
    enter(first);
    let far = function(module(KERNELS), "far");
    assert_eq!(launch(far, 1, 0, &[arg(&ours)]), 700);
    assert_eq!(cu!(cuCtxSynchronize()), 700);
    enter(second);
    let add = function(module(KERNELS), "add");
    assert_eq!(launch(add, 32, 0, &[arg(&theirs), arg(&1u32)]), 0);
    assert_eq!(read(theirs, 2), [1, 2]);
}

#[test]
fn contexts_of_a_thread_are_a_stack() {
    let [first, second, third] = contexts();
    let current = || {
        let mut context = 0;
        assert_eq!(cu!(cuCtxGetCurrent(&mut context => *mut Handle)), 0);
        (context, current_device())
    };
    assert_eq!(current(), (first, 0));
    assert_eq!(cu!(cuCtxPushCurrent_v2(third => Handle)), 0);
    assert_eq!(current(), (third, 2));
    let mut popped = 0;
    assert_eq!(cu!(cuCtxPopCurrent_v2(&mut popped => *mut Handle)), 0);
    assert_eq!((popped, current()), (third, (first, 0)));
    assert_eq!(cu!(cuCtxDestroy_v2(second => Handle)), 0);
    assert_eq!(cu!(cuCtxSetCurrent(second => Handle)), 201);
    // Another thread has none until it takes one.
    let other = std::thread::spawn(move || {
        let mut context = 1;
        assert_eq!(cu!(cuCtxGetCurrent(&mut context => *mut Handle)), 0);
        let without = cu!(cuMemAlloc_v2(&mut 0u64 => *mut u64, 4 => usize));
        enter(third);
        (context, without, current_device())
    });
    assert_eq!(other.join().unwrap(), (0, 201, 2));
}

fn current_device() -> c_int {
    let mut device = -1;
    assert_eq!(cu!(cuCtxGetDevice(&mut device => *mut c_int)), 0);
    device
}
