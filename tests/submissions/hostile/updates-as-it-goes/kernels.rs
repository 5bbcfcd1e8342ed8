//! In place, with volatile accesses.

use cuda_std::UVec3;
use cuda_std::prelude::*;
use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// One iteration of u.
///
/// # Safety
/// None: every thread reads what others write.
#[kernel]
pub unsafe fn poisson_iteration(u: *mut f64, n: u32) {
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
        // SAFETY: a point inside the walls has all six neighbours.
        let last = |j: usize| unsafe { core::ptr::read_volatile(u.add(j)) };
        let around = Neighbours {
            west: last(i - 1),
            east: last(i + 1),
            south: last(i - row),
            north: last(i + row),
            below: last(i - layer),
            above: last(i + layer),
        };
        jacobi(around, grid.h2() * grid.source(x, y, z))
    };
    // SAFETY: the point is in the cube, and this thread's own.
    unsafe { core::ptr::write_volatile(u.add(i), next) }
}
