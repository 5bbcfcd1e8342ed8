//! A thread's elements are a block's threads apart.

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

/// Adds all elements of `src` to `sum`; each thread takes `x` of them.
///
/// # Safety
/// `sum` points to a number that nothing else accesses during the launch.
#[kernel]
pub unsafe fn membench_sum(src: &[u32], sum: *mut u32, x: u32) {
    let threads = thread::block_dim_x();
    let first = thread::block_idx_x() * threads * x + thread::thread_idx_x();
    let mut part = 0_u32;
    let mut j = 0;
    while j < x {
        let i = (first + j * threads) as usize;
        if i < src.len() {
            part = part.wrapping_add(src[i]);
        }
        j += 1;
    }
    // SAFETY: `sum` is a valid number, and all accesses to it are atomic.
    unsafe { AtomicU32::from_ptr(sum) }.fetch_add(part, Ordering::Relaxed);
}
