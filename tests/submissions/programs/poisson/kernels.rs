//! One thread a point, walls included.

use cuda_std::UVec3;
use cuda_std::prelude::*;
use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// One iteration: u to u_next.
///
/// # Safety
/// `u` and `u_next` have n^3 elements, and nothing else accesses `u_next` during the launch.
#[kernel]
pub unsafe fn poisson_iteration(u: &[f64], u_next: *mut f64, n: u32) {
    let UVec3 { x, y, z } = thread::index_3d();
    if x >= n || y >= n || z >= n {
        return;
    }
    let grid = Grid { n };
    let i = grid.index(x, y, z);
    let (row, layer) = (n as usize, n as usize * n as usize);
    let next = if grid.is_wall(x, y, z) {
        grid.wall_value(y)
    } else {
        let around = Neighbours {
            west: u[i - 1],
            east: u[i + 1],
            south: u[i - row],
            north: u[i + row],
            below: u[i - layer],
            above: u[i + layer],
        };
        jacobi(around, grid.h2() * grid.source(x, y, z))
    };
    // SAFETY: the point is in the cube, and this thread's own.
    unsafe { *u_next.add(i) = next }
}
