//! Your kernels: the code that runs on the GPU.
//!
//! It already compiles and runs, but two things are missing: TODO 1 here, TODO 2 in `launch.rs`.
//!
//! - Each `pub unsafe fn` marked `#[kernel]` is a kernel; `launch.rs` launches it by its name. Add
//!   kernels, parameters and constants as you like; names and signatures are yours.
//! - Kernels have no standard library. `cuda_std` has the functions of a GPU: threads, warps,
//!   shared memory, barriers, atomics.

use cuda_std::prelude::*;

/// C = A + B.
///
/// - `a`, `b`: two matrices of n_y rows of n_x elements, which this launch only reads.
/// - `c`: the matrix to compute. It is a raw pointer, because the kernel writes it.
///
/// # Safety
/// All three have n_x * n_y elements, and nothing else accesses `c` during the launch.
#[kernel]
pub unsafe fn matadd(a: &[f32], b: &[f32], c: *mut f32, n_x: u32, n_y: u32) {
    // TODO 1: this is the thread's place in its own block, so every block adds the same few
    // elements. Its place in the whole grid takes the block's place and extent too:
    // `thread::block_idx_x()`, `thread::block_dim_x()`, the same with y.
    let x = thread::thread_idx_x();
    let y = thread::thread_idx_y();

    // A grid is made of whole blocks: some threads are past the last element.
    if x >= n_x || y >= n_y {
        return;
    }
    let i = (y * n_x + x) as usize;
    // SAFETY: the element is in the matrix, and no other thread has it.
    unsafe { *c.add(i) = a[i] + b[i] }
}
