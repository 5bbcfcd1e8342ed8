//! One iteration per launch, at the speed of a copy of memory: 16 bytes per point, u read and
//! u_next written.
//!
//! As in `computes_source`, a thread owns a column of points, and f comes from the point's
//! position. The kernels differ in their demand on L2:
//!
//! - Columns are short, and blocks take all rows of some layers before the next layers. The layer
//!   above a column is read twice, but the second time soon after the first, from L2. With 32
//!   layers per thread it would no longer be in L2, and memory would move 34 layers for 32.
//! - A multiprocessor holds up to 64 warps, with 32 registers per thread. Only the layer above
//!   comes from device memory, and each warp has one of its rows in flight.
//!   `poisson_fast_single_ahead` asks L2 for all of a column at its start, which needs no register.
//! - Rows begin anywhere in a cache line. The threads of each row begin at the start of that line:
//!   a warp's points fill whole lines.
//! - Launches take the layers upwards and downwards in turns. Each begins with the layers that the
//!   one before wrote last, which are in L2.

use cuda_std::mem;
use cuda_std::prelude::*;

use kernels_gpu::cache_line;
use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// Points in a sector, the smallest part of a line that L2 fetches.
const SECTOR: u32 = 4;

/// Defines a kernel whose registers allow 2048 threads per multiprocessor.
macro_rules! fast_single {
    ($name:ident, $ahead:literal) => {
        /// Computes one iteration: u to the points of u_next inside the walls (and on the walls at
        /// either end of x, so that whole rows are written).
        ///
        /// Each thread computes `column` points along z. `descends` is 1 to take the layers from
        /// the last to the first, or 0; `h2_f` is the grid's h^2 f in the source. Block: x and y of
        /// any shape, 1 along z. Grid: at least [`cache_line::row_threads`]`(n)` threads along x,
        /// `n - 2` along y, and `(n - 2) / column` blocks, rounded up, along z.
        ///
        /// # Safety
        /// - n is 3 to [`Grid::MAX_N`]; column is at least 1, and column times the blocks along z
        ///   fits in 32 bits.
        /// - `u` has n^3 elements. `u_next` points to n^3 elements, which nothing else accesses
        ///   during the launch.
        #[kernel(max_registers = 32)]
        pub unsafe fn $name(
            u: &[f64],
            u_next: *mut f64,
            n: u32,
            column: u32,
            descends: u32,
            h2_f: f64,
        ) {
            // SAFETY: the caller's.
            unsafe { advance::<$ahead>(u, u_next, n, column, descends != 0, h2_f) }
        }
    };
}

fast_single!(poisson_fast_single, false);
fast_single!(poisson_fast_single_ahead, true);

/// If `AHEAD`, the thread asks L2 for all layers of the column at its start.
///
/// # Safety
/// As the kernels'.
#[inline(always)]
unsafe fn advance<const AHEAD: bool>(
    u: &[f64],
    u_next: *mut f64,
    n: u32,
    column: u32,
    descends: bool,
    h2_f: f64,
) {
    let grid = Grid { n };
    let thread = thread::index_3d();
    // Layers count from 0 in the direction of the launch.
    let mut p = thread::block_idx_z() * column + 1;
    let end = (p + column).min(n - 1);
    let z = |p: u32| if descends { n - 1 - p } else { p };
    let y = thread.y + 1;
    if y >= n - 1 || p >= end {
        return;
    }
    let row = (z(p) * n + y) * n;
    let place = u_next.wrapping_add(row as usize).addr() / size_of::<f64>();
    // Before the row, this wraps to a number beyond it.
    let x = thread
        .x
        .wrapping_sub(place as u32 % cache_line::len::<f64>());
    if x >= n {
        return;
    }
    let is_wall = x == 0 || x == n - 1;
    let is_source = grid.is_source_column(x, y);
    let layer = if descends {
        (n * n).wrapping_neg()
    } else {
        n * n
    };
    // SAFETY: y is inside the walls, so that y - 1 and y + 1 are in the layer. A point at x = 0 has
    // the last point of the row before as its west; one at x = n - 1 has the first point of the row
    // after as its east. Both are in the layer too. Layers p - 1 to `end` are in u. Each thread
    // touches its own elements of u_next.
    unsafe {
        let in_u = |i: u32| *u.get_unchecked(i as usize);
        let mut i = row + x;
        let mut below = in_u(i.wrapping_sub(layer));
        let mut here = in_u(i);
        if AHEAD && thread.x.is_multiple_of(SECTOR) {
            for beyond in 1..end - p {
                let i = i.wrapping_add((beyond + 1).wrapping_mul(layer));
                mem::prefetch_l2(u.as_ptr().wrapping_add(i as usize));
            }
        }
        while p < end {
            let i_above = i.wrapping_add(layer);
            let above = in_u(i_above);
            let around = Neighbours {
                west: in_u(i - 1),
                east: in_u(i + 1),
                south: in_u(i - n),
                north: in_u(i + n),
                below,
                above,
            };
            let is_source = is_source && grid.is_source_layer(z(p));
            let next = jacobi(around, if is_source { h2_f } else { 0.0 });
            // These columns have y > 0.
            let next = if is_wall { grid.wall_value(1) } else { next };
            *u_next.wrapping_add(i as usize) = next;
            (below, here, i) = (here, above, i_above);
            p += 1;
        }
    }
}
