//! f from memory, walls by branches: one thread for each point of the cube.
//!
//! 24 bytes a point must move: u and f read, u_next written. The neighbours' other loads hit a cache.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use super::Grid;
use super::update::{Neighbours, jacobi};

/// One iteration: u to u_next, walls included.
///
/// Block: any shape, x along a warp. Grid: at least one thread for each point.
///
/// # Safety
/// - `u` and `f` have n^3 elements; n is 3 to [`Grid::MAX_N`]; `h2` is the grid's.
/// - `u_next` points to as many, which nothing else accesses during the launch.
#[kernel]
pub unsafe fn poisson_reads_source(u: &[f64], f: &[f64], u_next: *mut f64, n: u32, h2: f64) {
    let UVec3 { x, y, z } = thread::index_3d();
    if x >= n || y >= n || z >= n {
        return;
    }
    let grid = Grid { n };
    let i = grid.index(x, y, z);
    // SAFETY: the point is in the cube, so i < n^3. Each thread touches one element of u_next, its own.
    unsafe {
        if grid.is_wall(x, y, z) {
            *u_next.add(i) = grid.wall_value(y);
        } else {
            let around = Neighbours::load(u, i, n as usize);
            *u_next.add(i) = jacobi(around, h2 * *f.get_unchecked(i));
        }
    }
}
