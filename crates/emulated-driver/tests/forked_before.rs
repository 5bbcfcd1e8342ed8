//! A process that was forked before CUDA was used: it has CUDA for itself.
#![cfg(target_os = "linux")]

mod common;

use common::{KERNELS, allocate, arg, context, function, launch, module, read, write};

#[test]
fn parent_and_child_both_have_cuda() {
    // The library is there before the fork; the driver is not started.
    common::address("cuInit");
    // SAFETY: this is the only test of the program, and its threads hold no lock that the child
    // needs.
    let child = unsafe { libc::fork() };
    context();
    let add = function(module(KERNELS), "add");
    let data = allocate(128);
    write(data, &[0; 32]);
    assert_eq!(launch(add, 32, 0, &[arg(&data), arg(&1u32)]), 0);
    assert_eq!(read(data, 32), [1; 32]);
    if child == 0 {
        // SAFETY: the child ends here, without the rest of the test program.
        unsafe { libc::_exit(7) };
    }
    assert_eq!(common::wait_for(child), 7);
}
