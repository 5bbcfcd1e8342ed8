//! f from the point's position, and several layers a thread: 16 bytes a point must move, u read and u_next written.
//!
//! A thread owns a column of points along z. What is above a point is the next point itself and then below the one after
//! it, so these values stay in registers, and a point costs one load of the column and four of its neighbours in the layer.
//! The column is loaded one layer ahead. Its neighbours' columns belong to other threads of the block, but for those at
//! its faces, so that their loads hit L1; and while these are waited for, the next load from memory is on its way.
//!
//! A launch computes some layers of the cube, and gets only these and the ones beside them: one device computes all, several
//! a part each.

use cuda_std::prelude::*;

use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// Threads of a block; the best of those tried, as [`LAYERS`] is: docs/performance-poisson.md has the reasons.
pub const BLOCK: [u32; 3] = [32, 8, 1];
/// Layers of points that a thread computes, one above the other.
pub const LAYERS: u32 = 32;

/// The most layers of n^2 points that a launch of [`poisson_computes_source`] computes: its 32 bits number the points that it reads, and
/// those of one more layer.
pub fn most_layers(n: u32) -> u64 {
    ((1 << 32) / u64::from(n).pow(2)).saturating_sub(3)
}

/// One iteration in the layers from `first_z` on: u to the points of u_next inside the walls (and on the walls at either end of x, so that
/// whole rows are written).
///
/// Each thread computes `column` points along z. Block: any shape, x along a warp. Grid: at least n threads along x, n - 2
/// along y, and layers / column, rounded up, along z.
///
/// # Safety
/// - n is at least 3, first_z at least 1, first_z + layers at most n - 1, and layers 1 to [`most_layers`]; `h2` is the grid's.
/// - `u` has layers + 2 layers of n^2 elements: the first lies below that of first_z.
/// - `u_next` points to the layer of first_z and those above it, which nothing else accesses during the launch.
/// - 1 <= column, and column times the threads along z fits in 32 bits.
#[kernel(max_threads = 512, min_blocks = 3)]
pub unsafe fn poisson_computes_source(
    u: &[f64],
    u_next: *mut f64,
    n: u32,
    first_z: u32,
    layers: u32,
    column: u32,
    h2: f64,
) {
    let thread = thread::index_3d();
    // Along x threads start on the wall, so that a warp's elements start where a row does.
    let (x, y) = (thread.x, thread.y + 1);
    // Layers of u; its first is below those computed.
    let first = thread.z * column + 1;
    let end = (first + column).min(layers + 1);
    if x >= n || y >= n - 1 || first >= end {
        return;
    }
    let column = Column::new(n, [x, y], h2);
    let (row, layer) = (n, n * n);
    let at_layer = |z: u32| z * layer + y * n + x;
    let last = at_layer(end);
    // SAFETY: y is inside the walls, so that y - 1 and y + 1 are in the layer. A point at x = 0 has the last of the row before as its west,
    // one at x = n - 1 the first of the row after as its east: in the layer too. Layers first - 1 to end are in u.
    // Each thread touches its own elements of u_next, which has no layer for u's first.
    unsafe {
        let in_column = |i: u32| *u.get_unchecked(i.min(last) as usize);
        let u_next = u_next.wrapping_sub(layer as usize);
        let zs = [first_z + first - 1, first_z + end - 1];
        column.advance(zs, at_layer(first), [row, layer], u, in_column, u_next);
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
    #[inline(always)]
    fn new(n: u32, [x, y]: [u32; 2], h2: f64) -> Column {
        let grid = Grid { n };
        Column {
            grid,
            is_wall: x == 0 || x == n - 1,
            is_source: grid.is_source_column(x, y),
            h2_source: h2 * Grid::SOURCE,
        }
    }

    /// Advances the points from `z` to `end`, the first of which is element `i` of `u` and `u_next`. A row and a layer have so many elements
    /// in both. `in_column` is an element of the column: of the points, the two beside them, or, unused, two layers after a point.
    ///
    /// # Safety
    /// - The points' neighbours west, east, south and north are in `u`.
    /// - The points are in `u_next`, and nothing else accesses them.
    #[inline(always)]
    unsafe fn advance(
        &self,
        [mut z, end]: [u32; 2],
        // Numbers of 32 bits: LLVM would turn wider ones into a pointer for each load of the loop, out of registers.
        mut i: u32,
        [row, layer]: [u32; 2],
        u: &[f64],
        in_column: impl Fn(u32) -> f64,
        u_next: *mut f64,
    ) {
        let (mut below, mut here) = (in_column(i.wrapping_sub(layer)), in_column(i));
        let mut above = in_column(i + layer);
        while z < end {
            let ahead = in_column(i + 2 * layer);
            // SAFETY: the caller's.
            unsafe {
                let around = around_in_layer(u, i, row);
                *u_next.wrapping_add(i as usize) = self.next(z, below, above, &around);
            }
            (below, here, above) = (here, above, ahead);
            z += 1;
            i += layer;
        }
    }

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

/// West, east, south and north of element `i`.
///
/// # Safety
/// All four are elements of `u`.
#[inline(always)]
unsafe fn around_in_layer(u: &[f64], i: u32, row: u32) -> [f64; 4] {
    // SAFETY: the caller's.
    unsafe {
        [
            *u.get_unchecked(i as usize - 1),
            *u.get_unchecked(i as usize + 1),
            *u.get_unchecked((i - row) as usize),
            *u.get_unchecked((i + row) as usize),
        ]
    }
}
