//! These kernels compute f from the point's position, and several layers per thread. 16 bytes per
//! point must move: u is read and u_next written.
//!
//! A thread owns a column of points along z. The value above a point is the next point's own value,
//! and then the value below the one after it: these stay in registers. A point thus costs one load
//! of the column and four of its neighbours in the layer. The column is loaded one layer ahead. The
//! neighbours' columns belong to other threads of the block, except at its faces: their loads hit
//! L1. While a thread waits for them, the next load from memory is in flight.
//!
//! A launch computes a part of the cube, and gets only that part and its neighbouring points. One
//! device computes the whole cube; each of several devices computes a part.
//!
//! - [`poisson_computes_source`]: some layers; the memory also holds the layers beside them.
//! - [`poisson_dual`]: some layers; the layers beside them may be in the memory of another device.

use cuda_std::prelude::*;

use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// Threads of a block. This and [`LAYERS`] are the best of those tried; docs/log/poisson.md has the
/// reasons.
pub const BLOCK: [u32; 3] = [32, 8, 1];
/// Layers of points that a thread computes, one above the other.
pub const LAYERS: u32 = 32;

/// The largest number of layers, of `points` points each in memory, that a launch computes. 32 bits
/// number the points of these layers, the two beside them, and one more.
pub fn most_layers(points: u64) -> u64 {
    ((1 << 32) / points).saturating_sub(3)
}

/// One iteration in the layers from `first_z` on: u to the points of u_next inside the walls (and
/// on the walls at either end of x, so that whole rows are written).
///
/// Each thread computes `column` points along z. Block: any shape, x along a warp. Grid: at least n
/// threads along x, n - 2 along y, and layers / column, rounded up, along z.
///
/// # Safety
/// - n is at least 3, first_z at least 1, first_z + layers at most n - 1, and layers 1 to
///   [`most_layers`]; `h2` is the grid's.
/// - `u` has layers + 2 layers of n^2 elements. The first is the layer below first_z.
/// - `u_next` points to the layer of first_z and those above it, which nothing else accesses during
///   the launch.
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
    // Along x, threads start on the wall: a warp's elements start at the start of a row.
    let (x, y) = (thread.x, thread.y + 1);
    // Numbers of layers in u; its first layer is below the computed ones.
    let first = thread.z * column + 1;
    let end = (first + column).min(layers + 1);
    if x >= n || y >= n - 1 || first >= end {
        return;
    }
    let layer = n * n;
    let at = |z: u32| z * layer + y * n + x;
    let last = at(end);
    // SAFETY: y is inside the walls, so that y - 1 and y + 1 are in the layer. A point at x = 0 has
    // the last point of the row before as its west; one at x = n - 1 has the first point of the row
    // after as its east. Both are in the layer too. Layers first - 1 to end are in u. Each thread
    // touches its own elements of u_next, which has no layer for u's first.
    unsafe {
        let in_u = |i: u32| *u.get_unchecked(i.min(last) as usize);
        let points = Column {
            z: [first_z + first - 1, first_z + end - 1],
            i: at(first),
            below: in_u(at(first - 1)),
            row: n,
            layer,
        };
        let site = Site::new(n, [x, y], h2);
        site.advance(points, u, in_u, u_next.wrapping_sub(layer as usize));
    }
}

/// As [`poisson_computes_source`], but `u` has only the computed layers. `below` is the layer
/// before them, and `above` the one after.
///
/// # Safety
/// As [`poisson_computes_source`], except the layers of `u`. `below` and `above` have n^2 elements
/// each.
#[kernel(max_threads = 512, min_blocks = 3)]
pub unsafe fn poisson_dual(
    below: &[f64],
    u: &[f64],
    above: &[f64],
    u_next: *mut f64,
    n: u32,
    first_z: u32,
    layers: u32,
    column: u32,
    h2: f64,
) {
    let thread = thread::index_3d();
    let (x, y) = (thread.x, thread.y + 1);
    let first = thread.z * column;
    let end = (first + column).min(layers);
    if x >= n || y >= n - 1 || first >= end {
        return;
    }
    let layer = n * n;
    let at = |z: u32| z * layer + y * n + x;
    let (last, all) = (at(end), layers * layer);
    // SAFETY: all points are in the cube. An index beyond u is in `below` or `above`.
    unsafe {
        let in_column = |i: u32| match i.min(last) {
            i if i < all => *u.get_unchecked(i as usize),
            i => *above.get_unchecked((i - all) as usize),
        };
        let points = Column {
            z: [first_z + first, first_z + end],
            i: at(first),
            below: match first {
                0 => *below.get_unchecked(at(0) as usize),
                _ => *u.get_unchecked(at(first - 1) as usize),
            },
            row: n,
            layer,
        };
        Site::new(n, [x, y], h2).advance(points, u, in_column, u_next);
    }
}

/// The points of one thread, and their places in memory.
struct Column {
    /// The first point's z, and one past the last one's.
    z: [u32; 2],
    /// The first point's element. It has 32 bits: LLVM would turn wider numbers into a pointer for
    /// each load of the loop, and run out of registers.
    i: u32,
    /// The value below the first point.
    below: f64,
    /// Elements from a row to the next.
    row: u32,
    /// Elements from a layer to the next.
    layer: u32,
}

/// Properties that all points of one thread share.
struct Site {
    grid: Grid,
    /// Whether x is on one of the walls at its ends.
    is_wall: bool,
    /// Whether x and y are the source's.
    is_source: bool,
    /// h^2 f in the source.
    h2_source: f64,
}

impl Site {
    #[inline(always)]
    fn new(n: u32, [x, y]: [u32; 2], h2: f64) -> Site {
        let grid = Grid { n };
        Site {
            grid,
            is_wall: x == 0 || x == n - 1,
            is_source: grid.is_source_column(x, y),
            h2_source: h2 * Grid::SOURCE,
        }
    }

    /// Advances the column's points. `in_column` gives an element of the column: of a point, of the
    /// one above the last, or of one beyond, which is not used.
    ///
    /// # Safety
    /// - The points' neighbours west, east, south and north are in `u`.
    /// - The points are in `u_next`, and nothing else accesses them.
    #[inline(always)]
    unsafe fn advance(
        &self,
        points: Column,
        u: &[f64],
        in_column: impl Fn(u32) -> f64,
        u_next: *mut f64,
    ) {
        let Column {
            mut i,
            row,
            layer,
            mut below,
            z: [mut z, end],
        } = points;
        let (mut here, mut above) = (in_column(i), in_column(i + layer));
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
