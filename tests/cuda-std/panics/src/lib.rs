//! Kernels that panic, and one that does not. The build script compiles them with messages and
//! without.

#![no_std]

use cuda_std::prelude::*;

/// Takes element `at[i]` of `x`, whether or not there is one.
///
/// # Safety
/// `out` has as many elements as the launch has threads.
#[kernel]
pub unsafe fn picks(x: &[u32], at: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let picked = x[at[i] as usize];
    // SAFETY: the caller's.
    unsafe { *out.add(i) = picked }
}

/// Asserts that the threads of a block are few.
///
/// # Safety
/// None.
#[kernel]
pub unsafe fn asserts(most: u32) {
    let threads = thread::block_dim_x();
    assert!(threads <= most, "{threads} threads, at most {most}");
}

/// Doubles.
///
/// # Safety
/// `out` has as many elements as the launch has threads.
#[kernel]
pub unsafe fn doubles(out: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's.
    unsafe { *out.add(i) *= 2 }
}
