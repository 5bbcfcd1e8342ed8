//! One launch per timestep, a few rows of a column per thread, everything from global memory.
//!
//! Rows begin anywhere in a cache line. The threads of each row begin at the start of that line: a
//! warp's cells fill a whole line, of u0 and of u1. A row's threads are thus shifted against those
//! of the row before, and a cell's neighbours come from L1 and not from registers.
//!
//! A block first asks the scene whether all of its cells are free and undamped. If they are not, it
//! reads their kinds from a table, which is written once for all launches. A thread starts all of
//! its loads before it waits for the first.
//!
//! Blocks go through the domain in one direction in even launches and in the other in odd ones. A
//! launch thus begins with the cells that the last one has left in L2.

use cuda_std::prelude::*;

use kernels_gpu::cache_line;
use kernels_gpu::wave2d::update::{self, Kind, Neighbours, SOURCE};
use kernels_gpu::wave2d::{AnyScene, Domain, Region, Scene};

/// Cells in a cache line.
const LINE: u32 = cache_line::len::<f32>();

/// Rows of a thread.
pub const ROWS: u32 = 4;

/// Writes the code of every cell's kind: see [`Kind::encode`].
///
/// Block: any. Grid: a thread for each of n_x * n_y cells.
///
/// # Safety
/// `codes` points to n_x * n_y elements that nothing else accesses during the launch; that is at
/// most 2^31. n_x and n_y are at least 2.
#[kernel]
pub unsafe fn wave2d_single_codes(codes: *mut f32, n_x: u32, n_y: u32, scene: u32) {
    let domain = Domain { n_x, n_y };
    let i = thread::index_1d();
    if i < n_x * n_y {
        let kind = update::kind(&AnyScene::new(scene, domain), domain, i % n_x, i / n_x);
        // SAFETY: the caller's.
        unsafe { *codes.add(i as usize) = kind.encode() }
    }
}

/// Computes timestep `t` of every cell: the new field replaces `u0`. If `backwards` is not 0, the
/// last blocks have the first cells.
///
/// Block: at most 256 threads, x a multiple of a warp. Grid: at least
/// [`cache_line::row_threads`]`(n_x)` threads along x, and n_y / [`ROWS`], rounded up, along y.
///
/// # Safety
/// - `u0` points to n_x * n_y initialised values that nothing else accesses during the launch.
/// - `u1` and `codes` have n_x * n_y elements; n_x * n_y is at most 2^31; n_x and n_y are at least
///   2. [`wave2d_single_codes`] wrote `codes`.
#[kernel(max_threads = 256, min_blocks = 6)]
pub unsafe fn wave2d_single(
    u0: *mut f32,
    u1: &[f32],
    codes: &[f32],
    n_x: u32,
    n_y: u32,
    scene: u32,
    k: f32,
    t: u32,
    backwards: u32,
) {
    let domain = Domain { n_x, n_y };
    let (block_x, block_y) = if backwards != 0 {
        (
            thread::grid_dim_x() - 1 - thread::block_idx_x(),
            thread::grid_dim_y() - 1 - thread::block_idx_y(),
        )
    } else {
        (thread::block_idx_x(), thread::block_idx_y())
    };
    let (columns, rows) = (thread::block_dim_x(), thread::block_dim_y() * ROWS);
    let (x_first, y_first) = (block_x * columns, block_y * rows);
    // The region contains the cells of the block. A row's threads begin up to a line before the
    // row.
    let region = Region {
        x_first: x_first.saturating_sub(LINE - 1),
        x_end: x_first + columns,
        y_first,
        y_end: y_first + rows,
    };
    let column = Column {
        u0,
        n_x: domain.n_x,
        x: x_first + thread::thread_idx_x(),
        y_first: y_first + thread::thread_idx_y() * ROWS,
    };
    if !AnyScene::new(scene, domain).is_plain(region) {
        // SAFETY: the caller's.
        unsafe { advance_any(column, u1, codes, domain, scene, k, t) }
        return;
    }
    // SAFETY: all cells of the block are inside the border and have four neighbours. Each thread
    // touches its own elements of u0.
    unsafe {
        let u1 = |i: u32| *u1.get_unchecked(i as usize);
        let values = Values::load(|row| *column.cell(row), u1, column);
        for row in 0..ROWS as usize {
            *column.cell(row) = values.advance(row, k, 0.0);
        }
    }
}

/// Computes the cells of a column, of any kind. Some or all of them may be outside the domain.
///
/// # Safety
/// As the kernel's.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "arrays stay in registers")]
unsafe fn advance_any(
    column: Column,
    u1: &[f32],
    table: &[f32],
    domain: Domain,
    scene: u32,
    k: f32,
    t: u32,
) {
    // All cells load, without a branch: all loads are in flight together here too.
    let end = domain.n_x * domain.n_y - 1;
    let is_in = |row: usize| column.x_in(row) < domain.n_x && column.y(row) < domain.n_y;
    // SAFETY: indices are in the domain; each thread touches its own elements of u0.
    unsafe {
        let mut codes = [0.0; ROWS as usize];
        for row in 0..ROWS as usize {
            codes[row] = *table.get_unchecked(column.index(row).min(end) as usize);
        }
        let u0 = |row: usize| if is_in(row) { *column.cell(row) } else { 0.0 };
        let u1 = |i: u32| *u1.get_unchecked(i.min(end) as usize);
        let values = Values::load(u0, u1, column);
        let has_source = codes.contains(&SOURCE);
        let source = if has_source {
            AnyScene::new(scene, domain).source_value(t)
        } else {
            0.0
        };
        for row in 0..ROWS as usize {
            if is_in(row) {
                let free = values.advance(row, k, codes[row]);
                *column.cell(row) = Kind::choose(codes[row], free, source);
            }
        }
    }
}

/// A thread's cells: one in each row from `y_first` on. `x` counts from the start of the cache line
/// in which the row begins.
#[derive(Clone, Copy)]
struct Column {
    u0: *mut f32,
    n_x: u32,
    x: u32,
    y_first: u32,
}

impl Column {
    #[inline(always)]
    fn y(self, row: usize) -> u32 {
        self.y_first + row as u32
    }

    /// The cell's x. Before the row, this wraps to a number beyond it.
    #[inline(always)]
    fn x_in(self, row: usize) -> u32 {
        let row_start = self.u0.wrapping_add((self.y(row) * self.n_x) as usize);
        let place = row_start.addr() / size_of::<f32>();
        self.x.wrapping_sub(place as u32 % LINE)
    }

    /// The cell's element.
    #[inline(always)]
    fn index(self, row: usize) -> u32 {
        (self.y(row) * self.n_x).wrapping_add(self.x_in(row))
    }

    /// The cell's place in u0.
    #[inline(always)]
    fn cell(self, row: usize) -> *mut f32 {
        self.u0.wrapping_add(self.index(row) as usize)
    }
}

/// The values that a thread loads.
struct Values {
    u0: [f32; ROWS as usize],
    u1: [f32; ROWS as usize],
    around: [Neighbours<f32>; ROWS as usize],
}

impl Values {
    /// Loads cells of u1 by index, and those of u0 by row.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "arrays stay in registers")]
    fn load(u0: impl Fn(usize) -> f32, u1: impl Fn(u32) -> f32, column: Column) -> Self {
        let zero = Neighbours {
            west: 0.0,
            east: 0.0,
            north: 0.0,
            south: 0.0,
        };
        let mut values = Self {
            u0: [0.0; ROWS as usize],
            u1: [0.0; ROWS as usize],
            around: [zero; ROWS as usize],
        };
        for row in 0..ROWS as usize {
            values.u1[row] = u1(column.index(row));
        }
        for row in 0..ROWS as usize {
            let i = column.index(row);
            values.around[row] = Neighbours {
                west: u1(i.wrapping_sub(1)),
                east: u1(i.wrapping_add(1)),
                north: u1(i.wrapping_sub(column.n_x)),
                south: u1(i.wrapping_add(column.n_x)),
            };
        }
        for row in 0..ROWS as usize {
            values.u0[row] = u0(row);
        }
        values
    }

    /// The next value of the cell in `row`, if it is free, with damping `d`.
    #[inline(always)]
    fn advance(&self, row: usize, k: f32, d: f32) -> f32 {
        update::free_cell(self.u0[row], self.u1[row], self.around[row], k, d)
    }
}
