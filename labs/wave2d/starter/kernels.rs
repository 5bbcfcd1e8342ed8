//! Your kernels: the code that runs on the GPU.
//!
//! It already compiles and runs, but two things are missing: TODO 1 here, TODO 2 in `launch.rs`.
//!
//! - Each `pub unsafe fn` marked `#[kernel]` is a kernel; `launch.rs` launches it by its name. Add
//!   kernels, parameters and constants as you like; names and signatures are yours.
//! - Kernels have no standard library. `cuda_std` has the functions of a GPU: threads, warps,
//!   shared memory, barriers, atomics.
//! - `kernels_gpu::wave2d` has the contents of the domain (`scene`) and the scheme for one cell
//!   (`update`). The CPU reference computes with the same functions, in the same order of
//!   operations: your result can equal the reference's bit for bit.

use cuda_std::UVec2;
use cuda_std::prelude::*;
use kernels_gpu::wave2d::update::{self, Kind, Neighbours};
use kernels_gpu::wave2d::{AnyScene, Domain, Scene};

/// Computes timestep `t`: the new value of every cell replaces the one in `u0`.
///
/// Launched with at least one thread for each cell: x along x, y along y.
///
/// - `u0`: the previous field on entry, the next one on return. It is a raw pointer, because the
///   kernel writes it.
/// - `u1`: the current field, which this launch only reads. It is a slice, so that the loads may go
///   through the read-only cache.
/// - `n_x`, `n_y`: cells along x and y; cell (x, y) is element y * n_x + x.
/// - `scene`, `k`, `t`: the scene's number, (c dt/dx)^2, and the number of this timestep.
///
/// # Safety
/// `u0` and `u1` have n_x * n_y elements, and nothing else accesses `u0` during the launch.
#[kernel]
pub unsafe fn wave2d_step(
    u0: *mut f32,
    u1: &[f32],
    n_x: u32,
    n_y: u32,
    scene: u32,
    k: f32,
    t: u32,
) {
    // Which cell is this thread's? A grid is made of whole blocks, so some threads are past the
    // last cell.
    let UVec2 { x, y } = thread::index_2d();
    if x >= n_x || y >= n_y {
        return;
    }
    let domain = Domain { n_x, n_y };
    let scene = AnyScene::new(scene, domain);
    let i = (y * n_x + x) as usize;
    // SAFETY: the cell is in the domain, so i is below n_x * n_y, and no other thread has this
    // element of u0.
    unsafe {
        let cell = u0.add(i);
        *cell = match update::kind(&scene, domain, x, y) {
            Kind::Zero => 0.0,
            Kind::Source => scene.source_value(t),
            Kind::Free { damping } => {
                // TODO 1: the last values of the four neighbours, out of `u1`. Only cells inside
                // the border are free, so all four exist: west is element i - 1; north, at y - 1,
                // is one whole row before i.
                let around = Neighbours {
                    west: 0.0,
                    east: 0.0,
                    north: 0.0,
                    south: 0.0,
                };
                update::free_cell(*cell, u1[i], around, k, damping)
            }
        };
    }
}
