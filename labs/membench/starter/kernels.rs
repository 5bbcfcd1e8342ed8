//! Your kernels: the code that runs on the GPU.
//!
//! It already compiles and runs, but two things are missing: TODO 1 here, TODO 2 in `launch.rs`.
//!
//! - Each `pub unsafe fn` marked `#[kernel]` is a kernel; `launch.rs` launches it by its name. Add
//!   kernels, parameters and constants as you like; names and signatures are yours.
//! - Kernels have no standard library. `cuda_std` has the functions of a GPU: threads, warps,
//!   shared memory, barriers, atomics.

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

/// Adds all elements of `src` to `sum`, modulo 2^32. Each thread takes `x` of them.
///
/// - `src`: the elements, which this launch only reads; `src.len()` is their number.
/// - `sum`: one number, 0 before. All threads add to it, so only atomics access it.
///
/// # Safety
/// `sum` points to a number that nothing else accesses during the launch.
#[kernel]
pub unsafe fn membench_sum(src: &[u32], sum: *mut u32, x: u32) {
    // TODO 1: this takes one element per thread and leaves out the rest. Take x of them. Which x
    // belong to a thread is the question of this lab: neighbours in memory, or elements that are a
    // whole block's threads apart? Threads past the last element have nothing to load.
    let _ = x;
    let i = thread::index_1d() as usize;
    let part = if i < src.len() { src[i] } else { 0 };

    // SAFETY: `sum` is a valid number, and all accesses to it are atomic.
    unsafe { AtomicU32::from_ptr(sum) }.fetch_add(part, Ordering::Relaxed);
}
