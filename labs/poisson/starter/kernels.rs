//! Your kernels: the code that runs on the GPU.
//!
//! It already compiles and runs, but two things are missing: TODO 1 here, TODO 2 in `launch.rs`.
//!
//! - Each `pub unsafe fn` marked `#[kernel]` is a kernel; `launch.rs` launches it by its name. Add
//!   kernels, parameters and constants as you like; names and signatures are yours.
//! - Kernels have no standard library. `cuda_std` has the functions of a GPU: threads, warps,
//!   shared memory, barriers, atomics.
//! - `kernels_gpu::poisson` has the cube (`Grid`: numbering, walls, source) and the iteration for
//!   one point (`update`). The CPU reference computes with the same functions, in the same order of
//!   operations: your result can equal the reference's bit for bit.

use cuda_std::UVec3;
use cuda_std::prelude::*;
use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{self, Neighbours};

/// Computes one iteration: u to u_next, walls included.
///
/// Launched with at least one thread for each point: x, y and z along x, y and z.
///
/// - `u`: the current field, which this launch only reads.
/// - `u_next`: the field to compute. It is a raw pointer, because the kernel writes it.
/// - `n`: points along each axis, walls included; `grid.index` gives a point's element.
///
/// # Safety
/// `u` and `u_next` have n^3 elements, and nothing else accesses `u_next` during the launch.
#[kernel]
pub unsafe fn poisson_iteration(u: &[f64], u_next: *mut f64, n: u32) {
    // Which point is this thread's? A grid is made of whole blocks, so some threads are past the
    // last point.
    let UVec3 { x, y, z } = thread::index_3d();
    if x >= n || y >= n || z >= n {
        return;
    }
    let grid = Grid { n };
    let i = grid.index(x, y, z);
    let next = if grid.is_wall(x, y, z) {
        grid.wall_value(y)
    } else {
        // TODO 1: these are the point's own last value; take those of its six neighbours. A point
        // inside the walls has all six: west and east along x, south and north along y, below and
        // above along z. West is element i - 1; how far is the neighbour along y, and along z?
        let around = Neighbours {
            west: u[i],
            east: u[i],
            south: u[i],
            north: u[i],
            below: u[i],
            above: u[i],
        };
        // The last argument is h^2 f.
        update::jacobi(around, grid.h2() * grid.source(x, y, z))
    };
    // SAFETY: the point is in the cube, so i is below n^3, and no other thread has this element of
    // u_next.
    unsafe { *u_next.add(i) = next }
}
