//! The kernels. `build.rs` of the crate above compiles them to PTX.
#![no_std]

use cuda_std::prelude::*;

/// y = a x + y.
///
/// # Safety
///
/// `y` has as many elements as `x`, and nothing else accesses it during the launch.
#[kernel]
pub unsafe fn axpy(a: f32, x: &[f32], y: *mut f32) {
    // SAFETY: the caller's. From here on nothing is unsafe: each thread has its own elements.
    let mut y = unsafe { DisjointSlice::<f32>::new(y, x.len()) };
    for (i, y) in y.elements() {
        *y += a * x[i];
    }
}

/// Threads of a block of `block_sums`.
const THREADS: usize = 256;

/// The sum of each block's elements of `x`.
///
/// # Safety
///
/// Blocks have `THREADS` threads. `sums` has as many elements as the grid has blocks, and nothing
/// else accesses it during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn block_sums(x: &[f32], sums: *mut f32) {
    let part = shared_array![f32; THREADS];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    // SAFETY: `part` has an element per thread. Two threads that access the same one have a barrier
    // between them. `sums` has one for this block.
    unsafe {
        *part.add(t) = if i < x.len() { x[i] } else { 0.0 };
        let mut half = THREADS / 2;
        while half > 0 {
            thread::sync_threads();
            if t < half {
                *part.add(t) += *part.add(t + half);
            }
            half /= 2;
        }
        if t == 0 {
            *sums.add(thread::block_idx_x() as usize) = *part;
        }
    }
}
