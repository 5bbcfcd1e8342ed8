//! One iteration a launch, at the speed at which memory is copied: 16 bytes a point, u read and u_next written.
//!
//! As in `computes_source` a thread owns a column of points, and f comes from the point's position. What differs is what L2 is asked for:
//!
//! - Columns are short, and blocks take all rows of some layers before the next layers: the layer above a column is read twice, but the
//!   second time soon after the first, from L2. With 32 layers a thread it had long gone, and memory moved 34 layers for 32.
//! - All loads of a batch of layers are sent before the first is waited for.
//! - Rows begin anywhere in a cache line, and the threads of each row begin where that line does: a warp's points fill whole lines.
//! - Launches take the layers upwards and downwards in turns: each begins with what the one before wrote last, which is in L2.

use cuda_std::prelude::*;

use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// Points in a cache line of 128 bytes. A field begins with a whole one.
const LINE: u32 = 16;

/// How many threads a row needs, if its first is at the start of the cache line in which the row begins.
pub const fn row_threads(n: u32) -> u32 {
    // Rows begin at multiples of n; modulo a line those are the multiples of the largest power of two in both.
    let between_starts = 1 << (n | LINE).trailing_zeros();
    n + LINE - between_starts
}

/// Defines a kernel of so many layers a batch.
macro_rules! fast_single {
    ($name:ident, $batch:literal) => {
        /// One iteration: u to the points of u_next inside the walls (and on the walls at either end of x, so that whole rows are written).
        ///
        /// Each thread computes `column` points along z. `descends` is 1 to take the layers from the last to the first, or 0; `h2_f` is
        /// the grid's h^2 f in the source. Block: x and y of any shape, 1 along z. Grid: at least [`row_threads`]`(n)` threads along x,
        /// n - 2 along y, and (n - 2) / `column` blocks, rounded up, along z.
        ///
        /// # Safety
        /// - n is 3 to [`Grid::MAX_N`]; column is at least 1, and column times the blocks along z fits in 32 bits.
        /// - `u` has n^3 elements; `u_next` points to as many, which nothing else accesses during the launch.
        #[kernel(max_threads = 512)]
        pub unsafe fn $name(
            u: &[f64],
            u_next: *mut f64,
            n: u32,
            column: u32,
            descends: u32,
            h2_f: f64,
        ) {
            // SAFETY: the caller's.
            unsafe { advance::<$batch>(u, u_next, n, column, descends != 0, h2_f) }
        }
    };
}

fast_single!(poisson_fast_single_b1, 1);
fast_single!(poisson_fast_single_b2, 2);
fast_single!(poisson_fast_single_b4, 4);

/// # Safety
/// As the kernels'.
#[inline(always)]
unsafe fn advance<const BATCH: usize>(
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
    let x = thread.x.wrapping_sub(place as u32 % LINE);
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
    let mut points = Points {
        u,
        u_next,
        row: n,
        layer,
        i: row + x,
        below: 0.0,
        here: 0.0,
    };
    let next = |p: u32, around: Neighbours| {
        let is_source = is_source && grid.is_source_layer(z(p));
        let next = jacobi(around, if is_source { h2_f } else { 0.0 });
        // These columns have y > 0.
        if is_wall { grid.wall_value(1) } else { next }
    };
    // SAFETY: y is inside the walls, so that y - 1 and y + 1 are in the layer. A point at x = 0 has the last of the row before as its west,
    // one at x = n - 1 the first of the row after as its east: in the layer too. Layers p - 1 to `end` are in u. Each thread touches its own
    // elements of u_next.
    unsafe {
        points.below = *u.get_unchecked(points.i.wrapping_sub(layer) as usize);
        points.here = *u.get_unchecked(points.i as usize);
        while end - p >= BATCH as u32 {
            points.advance::<BATCH>(|b, around| next(p + b, around));
            p += BATCH as u32;
        }
        if BATCH > 1 {
            while p < end {
                points.advance::<1>(|_, around| next(p, around));
                p += 1;
            }
        }
    }
}

/// A thread's column of points.
struct Points<'a> {
    u: &'a [f64],
    u_next: *mut f64,
    /// Elements from a row to the next, and from a layer to the next, modulo 2^32.
    row: u32,
    layer: u32,
    /// The next point's element.
    i: u32,
    /// The value before it along z, and its own.
    below: f64,
    here: f64,
}

impl Points<'_> {
    /// Writes the next values of so many points. All loads come first, so that they are under way together.
    ///
    /// # Safety
    /// The points are in u_next, which nothing else accesses, and their neighbours in u.
    #[inline(always)]
    unsafe fn advance<const BATCH: usize>(&mut self, next: impl Fn(u32, Neighbours) -> f64) {
        let mut around = [Neighbours {
            west: 0.0,
            east: 0.0,
            south: 0.0,
            north: 0.0,
            below: 0.0,
            above: 0.0,
        }; BATCH];
        let first = self.i;
        for around in &mut around {
            let (i, above) = (self.i, self.i.wrapping_add(self.layer));
            // SAFETY: the caller's.
            unsafe {
                let in_u = |i: u32| *self.u.get_unchecked(i as usize);
                let above = in_u(above);
                *around = Neighbours {
                    west: in_u(i - 1),
                    east: in_u(i + 1),
                    south: in_u(i - self.row),
                    north: in_u(i + self.row),
                    below: self.below,
                    above,
                };
                (self.below, self.here) = (self.here, above);
            }
            self.i = above;
        }
        let mut i = first;
        for (b, &around) in (0..).zip(&around) {
            // SAFETY: the caller's.
            unsafe { *self.u_next.wrapping_add(i as usize) = next(b, around) }
            i = i.wrapping_add(self.layer);
        }
    }
}
