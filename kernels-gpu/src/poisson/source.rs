//! The source as a field, for the variants that read it.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use super::Grid;

/// Writes f.
///
/// Block: any shape, x along a warp. Grid: at least one thread for each point.
///
/// # Safety
/// `f` points to n^3 elements, which nothing else accesses during the launch; n is 3 to [`Grid::MAX_N`].
#[kernel]
pub unsafe fn poisson_source(f: *mut f64, n: u32) {
    let UVec3 { x, y, z } = thread::index_3d();
    if x >= n || y >= n || z >= n {
        return;
    }
    let grid = Grid { n };
    // SAFETY: the point is in the cube; the element is this thread's own.
    unsafe { *f.add(grid.index(x, y, z)) = grid.source(x, y, z) }
}
