//! One launch for each layer of points with the same z: small launches, and what they cost.

use cuda_std::UVec2;
use cuda_std::prelude::*;

use super::Grid;
use super::update::{Neighbours, jacobi};

/// One iteration of layer `z`: u to the points of u_next inside the walls.
///
/// Block: any 2D shape, x along a warp. Grid: at least one thread for each point of a layer.
///
/// # Safety
/// - `u` and `f` have n^3 elements; n is 3 to [`Grid::MAX_N`]; `h2` is the grid's; 1 <= z <= n - 2.
/// - `u_next` points to as many, which nothing else accesses during the launch.
#[kernel]
pub unsafe fn poisson_layer_by_layer(
    u: &[f64],
    f: &[f64],
    u_next: *mut f64,
    n: u32,
    z: u32,
    h2: f64,
) {
    // x and y start on a wall, so that a warp's elements start where a row does.
    let UVec2 { x, y } = thread::index_2d();
    let grid = Grid { n };
    if grid.is_wall(x, y, z) {
        return;
    }
    let i = grid.index(x, y, z);
    // SAFETY: the point is inside the walls. Each thread touches one element of u_next, its own.
    unsafe {
        let around = Neighbours::load(u, i, n as usize);
        *u_next.add(i) = jacobi(around, h2 * *f.get_unchecked(i));
    }
}
