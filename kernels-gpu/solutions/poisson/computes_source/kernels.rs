//! f from the point's position, and several layers a thread: 16 bytes a point must move, u read and u_next written.
//!
//! A thread owns a column of points along z. What is above a point is the next point itself and then below the one after
//! it, so these values stay in registers, and a point costs one load of the column and four of its neighbours in the layer.
//! The column is loaded one layer ahead. Its neighbours' columns belong to other threads of the block, but for those at
//! its faces, so that their loads hit L1; and while these are waited for, the next load from memory is on its way.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// One iteration: u to the points of u_next inside the walls (and on the walls at either end of x, so that whole rows
/// are written).
///
/// Each thread computes `layers` points along z. Block: any shape, x along a warp. Grid: at least n threads along x, n - 2
/// along y, and (n - 2) / layers, rounded up, along z.
///
/// # Safety
/// - `u` has n^3 elements; n is 3 to [`Grid::MAX_N`]; `h2` is the grid's; 1 <= layers, and layers times the threads along
///   z fits in 32 bits.
/// - `u_next` points to n^3 elements, which nothing else accesses during the launch.
#[kernel(max_threads = 512, min_blocks = 3)]
pub unsafe fn poisson_computes_source(u: &[f64], u_next: *mut f64, n: u32, layers: u32, h2: f64) {
    let thread = thread::index_3d();
    // Along x threads start on the wall, so that a warp's elements start where a row does.
    let UVec3 { x, y, z } = UVec3::new(thread.x, thread.y + 1, thread.z * layers + 1);
    let first_z = z;
    let end_z = (first_z + layers).min(n - 1);
    if x >= n || y >= n - 1 || first_z >= end_z {
        return;
    }
    let grid = Grid { n };
    let column = Column {
        grid,
        is_wall: x == 0 || x == n - 1,
        is_source: grid.is_source_column(x, y),
        h2_source: h2 * Grid::SOURCE,
    };
    // Numbers of 32 bits: LLVM would turn wider ones into a pointer for each load of the loop, out of registers.
    let layer = n * n;
    let mut z = first_z;
    let mut i = grid.index(x, y, z) as u32;
    // SAFETY: y and z are inside the walls, so that y - 1, y + 1, z - 1 and z + 1 are in the cube. A point at x = 0 has
    // the last of the row before as its west, one at x = n - 1 the first of the row after as its east: in the cube too.
    // Each thread touches its own elements of u_next.
    unsafe {
        let at = |i: u32| *u.get_unchecked(i as usize);
        let (mut below, mut here, mut above) = (at(i - layer), at(i), at(i + layer));
        let last = grid.index(x, y, end_z) as u32;
        while z < end_z {
            let ahead = at((i + 2 * layer).min(last));
            *u_next.add(i as usize) = column.next(z, below, above, &around_in_layer(u, i, n));
            (below, here, above) = (here, above, ahead);
            z += 1;
            i += layer;
        }
    }
}

/// West, east, south and north of element `i`.
///
/// # Safety
/// All four are elements of `u`.
#[inline(always)]
unsafe fn around_in_layer(u: &[f64], i: u32, n: u32) -> [f64; 4] {
    // SAFETY: the caller's.
    unsafe {
        [
            *u.get_unchecked(i as usize - 1),
            *u.get_unchecked(i as usize + 1),
            *u.get_unchecked((i - n) as usize),
            *u.get_unchecked((i + n) as usize),
        ]
    }
}

/// What all points of one thread share.
struct Column {
    grid: Grid,
    /// On the walls at either end of x.
    is_wall: bool,
    /// Whether x and y are the source's.
    is_source: bool,
    /// h^2 f in the source.
    h2_source: f64,
}

impl Column {
    /// The next value of the point at `z`.
    #[inline(always)]
    fn next(&self, z: u32, below: f64, above: f64, &[west, east, south, north]: &[f64; 4]) -> f64 {
        let around = Neighbours {
            west,
            east,
            south,
            north,
            below,
            above,
        };
        let is_source = self.is_source && self.grid.is_source_layer(z);
        let next = jacobi(around, if is_source { self.h2_source } else { 0.0 });
        // These columns have y > 0.
        if self.is_wall {
            self.grid.wall_value(1)
        } else {
            next
        }
    }
}
