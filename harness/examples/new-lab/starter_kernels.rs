//! Your kernels: the code that runs on the GPU.
//!
//! It already compiles and runs, but two things are missing: TODO 1 here, TODO 2 in `launch.rs`.
//!
//! - Each `pub unsafe fn` marked `#[kernel]` is a kernel; `launch.rs` launches it by its name. Add
//!   kernels, parameters and constants as you like; names and signatures are yours.
//! - Kernels have no standard library. `cuda_std` has the functions of a GPU: threads, warps,
//!   shared memory, barriers, atomics.
//! - `kernels_gpu::heat1d` has the update of one cell. The CPU reference computes with the same
//!   function: your result can equal the reference's bit for bit.
// TODO(lab): take away from the solution what students are to find out, and mark it as TODO 1, 2.

use cuda_std::prelude::*;

/// Computes one timestep: u to u_next.
///
/// - `u`: the last field, which this launch only reads.
/// - `u_next`: the field to compute. It is a raw pointer, because the kernel writes it.
/// - `n`: cells, both ends included.
/// - `k`: conductivity * dt / dx^2.
///
/// # Safety
/// `u` and `u_next` have n elements, and nothing else accesses `u_next` during the launch.
#[kernel]
pub unsafe fn heat1d_step(u: &[f32], u_next: *mut f32, n: u32, _k: f32) {
    let x = thread::index_1d();
    if x >= n {
        return;
    }
    let i = x as usize;
    // TODO 1: this keeps the old temperature, which is right at both ends. A cell between has the
    // new one `kernels_gpu::heat1d::step(west, here, east, k)`.
    let next = u[i];
    // SAFETY: x is below n, and no other thread has it.
    unsafe { *u_next.add(i) = next }
}
