//! Figure 4: memory moves in sectors of 32 bytes.

use cuda_std::prelude::*;

/// Each thread copies an element; neighbours load elements that are
/// `stride` apart.
///
/// # Safety
///
/// `y` has an element per thread, and `x` has `stride` for each.
#[kernel]
pub unsafe fn strided(x: *const f32, y: *mut f32, stride: u32) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    unsafe { *y.add(i as usize) = *x.add((i * stride) as usize) }
}
