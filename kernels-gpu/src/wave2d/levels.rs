//! A warp's pipeline of timesteps: the rows that are in shared memory, the levels in registers, and
//! how a level advances.
//!
//! A warp owns a strip of [`STRIP`] columns, four neighbouring cells per lane, and streams
//! downwards over rows. Level s is the field after s of T timesteps. When row r of the inputs,
//! which are levels 0 and -1, has arrived, level 1 advances to row r - 1, level 2 to row r - 2, and
//! so on: level s needs rows r - s - 1 to r - s + 1 of level s - 1 and row r - s of level s - 2.
//!
//! For each level a lane keeps its cells of the last row, and the partial values of the row after.
//! These lack the neighbours to the south (and to the west, in fused arithmetic).
//! [`update::begin_fused_cell`] computes these when a row of the level below arrives, and
//! [`update::end_fused_cell`] completes them when the next one does. Neighbours along x are the
//! lane's own, except two shuffles for four cells.

use cuda_std::mem;
use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use super::padded::STRIP;
use super::scene::Scene;
use super::update;
use crate::real::Fused;

/// Floats of shared memory of each warp.
pub const WARP_FLOATS: u32 = (RING * 2 * ROW + CODE_RING * ROW + SOURCES) as u32;
/// The largest number of timesteps of a launch.
pub const MAX_STEPS: u32 = 16;

/// Floats of a strip's row.
pub const ROW: usize = STRIP as usize;
/// Bytes of a strip's row.
pub const ROW_BYTES: u32 = 4 * STRIP;
/// Steps of the loop: it takes rows in groups of this size.
pub const GROUP: usize = 2;
/// Rows of both inputs in the ring: a power of two of groups.
pub const RING: usize = 8;
/// Rows in flight when a step begins. The ring also has the step's row and the one before.
pub const AHEAD: usize = RING - 2;
/// Rows of the table in their ring: those in the pipeline and those in flight; a power of two of
/// groups.
pub const CODE_RING: usize = 32;
/// Room for the source's values, and behind them for a kernel's own values.
pub const SOURCES: usize = 32;
const _: () = assert!(
    MAX_STEPS as usize + AHEAD + GROUP <= CODE_RING && MAX_STEPS as usize <= SOURCES,
    "a table's row stays in the ring until the last level has passed"
);

/// The division of `steps` timesteps among kernels of `most`, four and one timestep: the timesteps
/// of each kernel, and its number of uses.
pub fn divide(steps: u32, most: u32) -> [(u32, u32); 3] {
    let mut left = steps;
    [most, 4, 1].map(|of_kernel| {
        let count = left / of_kernel;
        left %= of_kernel;
        (of_kernel, count)
    })
}

/// A path: all cells in the pipeline are plain, that is inside, free and undamped.
pub const PLAIN: u32 = 0;
/// A path: cells are anything, but each row in the pipeline has the same codes.
pub const UNIFORM: u32 = 1;
/// A path: cells are anything.
pub const ROUGH: u32 = 2;
/// A path: cells are plain or zero.
pub const WALLS: u32 = 3;

/// A lane's cells of a row of its strip.
pub type Cells = [f32; 4];

/// The values of the levels that a lane keeps from a step to the next; levels up to T are in use.
pub struct Levels {
    /// The last row of each level except level 0, whose last row is in the ring.
    pub last: [Cells; MAX_STEPS as usize + 1],
    /// The partial values of the row after it, without the neighbours to the south. Fused
    /// arithmetic needs the first of each two.
    pub begun: [[[f32; 2]; 4]; MAX_STEPS as usize + 1],
}

impl Levels {
    /// The levels before the first row.
    pub const NONE: Levels = Levels {
        last: [[0.0; 4]; MAX_STEPS as usize + 1],
        begun: [[[0.0; 2]; 4]; MAX_STEPS as usize + 1],
    };
}

/// The row that goes from a level to the next in a step: the level has just reached it.
#[derive(Clone, Copy)]
pub struct Arrived {
    /// The lane's cells of the row.
    pub newest: Cells,
    /// The lane's cells of that row on the level below.
    pub older: Cells,
    /// The table's codes, if the path is [`ROUGH`] or [`UNIFORM`]; those of plain cells otherwise.
    pub codes: Cells,
}

/// A lane's view of its warp's shared memory: [`RING`] rows of u1 and u0, then [`CODE_RING`] rows
/// of the table, then the source's values.
#[derive(Clone, Copy)]
pub struct Rows {
    /// The lane's cells of the first row.
    pub cells: *mut f32,
}

impl Rows {
    /// Floats from the beginning of shared memory to row `row`, counted from the group's first, in
    /// the ring.
    #[inline(always)]
    pub fn ring(group: u32, row: i32) -> u32 {
        Self::in_groups(group, row, RING) * 2 * ROW as u32
    }

    /// Floats before row `row` of the table's ring. A row of a group before has a negative `row`.
    #[inline(always)]
    pub fn codes(group: u32, row: i32) -> u32 {
        (RING as u32 * 2 + Self::in_groups(group, row, CODE_RING)) * ROW as u32
    }

    /// The place of a row in a ring of `ring` rows. Only the group is variable: a group takes few
    /// additions, and a row takes none.
    #[inline(always)]
    fn in_groups(group: u32, row: i32, ring: usize) -> u32 {
        let size = GROUP as i32;
        let of_group = group.wrapping_add(row.div_euclid(size) as u32) % (ring / GROUP) as u32;
        of_group * size as u32 + row.rem_euclid(size) as u32
    }

    /// The source's values, from the launch's first timestep on.
    #[inline(always)]
    pub fn sources(&self) -> *mut f32 {
        let column = 4 * thread::thread_idx_x() as usize;
        self.cells
            .wrapping_add((RING * 2 + CODE_RING) * ROW)
            .wrapping_sub(column)
    }

    /// Writes the values with which a launch or pass of `T` timesteps from `t` on begins: the
    /// source's values, and codes of rows before the first. Levels take these codes, although no
    /// stored cell depends on them.
    ///
    /// # Safety
    /// The warp's shared memory is there, all lanes call, and the lanes synchronise before one
    /// reads values that another wrote.
    #[inline(always)]
    pub unsafe fn prepare<const T: usize>(&self, scene: &impl Scene, t: u32) {
        // SAFETY: the caller's; the memory has room for the values of `T` timesteps, at most
        // MAX_STEPS.
        unsafe {
            for row in 0..CODE_RING as i32 {
                let at = Self::codes(0, row) as usize;
                mem::store_vector(self.cells.add(at), [0.0; 4]);
            }
            let lane = thread::thread_idx_x();
            if lane < T as u32 {
                let value = scene.source_value(t.wrapping_add(lane));
                *self.sources().add(lane as usize) = value;
            }
        }
    }

    /// The inputs' row in step `step` of the group, with the codes of plain cells, for all paths
    /// except [`ROUGH`] and [`UNIFORM`].
    ///
    /// # Safety
    /// The row is in the ring.
    #[inline(always)]
    pub unsafe fn arrived<const EXACT: bool>(&self, group: u32, step: usize) -> Arrived {
        // SAFETY: the caller's.
        unsafe {
            Arrived {
                newest: self.load_row(group, step as i32, 0),
                older: self.load_row(group, step as i32, ROW),
                codes: [if EXACT { -0.0 } else { -1.0 }; 4],
            }
        }
    }

    /// The lane's cells of row `row`, counted from the group's first: of u1, or of u0 if `behind`
    /// is a row's length.
    ///
    /// # Safety
    /// They are in the ring.
    #[inline(always)]
    pub unsafe fn load_row(&self, group: u32, row: i32, behind: usize) -> Cells {
        let at = Self::ring(group, row) as usize + behind;
        // SAFETY: the caller's; four floats from a multiple of four are aligned.
        unsafe { mem::load_vector(self.cells.add(at)) }
    }

    /// The codes of the lane's cells of row `row`, counted from the group's first.
    ///
    /// # Safety
    /// They are in the ring.
    #[inline(always)]
    pub unsafe fn load_codes(&self, group: u32, row: i32) -> Cells {
        let at = Self::codes(group, row) as usize;
        // SAFETY: the caller's; four floats from a multiple of four are aligned.
        unsafe { mem::load_vector(self.cells.add(at)) }
    }

    /// In step `Q` of the group, takes the row that level `S` - 1 has reached. It ends the row
    /// before that of level `S`, which replaces it in `arrived`, and begins the row of level `S`.
    /// `PATH` is the kind of the cells.
    ///
    /// # Safety
    /// All lanes of the warp call together. If `PATH` is [`ROUGH`] or [`WALLS`], the table's rows
    /// are in their ring.
    #[inline(always)]
    pub unsafe fn level<
        const T: usize,
        const EXACT: bool,
        const PATH: u32,
        const Q: usize,
        const S: usize,
    >(
        &self,
        k: f32,
        levels: &mut Levels,
        arrived: &mut Arrived,
        group: u32,
    ) {
        if S > T {
            return;
        }
        let Arrived {
            newest,
            older,
            codes,
        } = *arrived;
        let own = if S == 1 {
            // SAFETY: the row before is still in the ring. If no row is before, the values have no
            // effect.
            unsafe { self.load_row(group, Q as i32 - 1, 0) }
        } else {
            levels.last[S - 1]
        };
        let begun = levels.begun[S];
        // SAFETY: the caller's.
        let (own_codes, source) = unsafe {
            match PATH {
                ROUGH => (
                    self.load_codes(group, Q as i32 - S as i32),
                    *self.sources().add(S - 1),
                ),
                UNIFORM => (codes, *self.sources().add(S - 1)),
                WALLS => (self.load_codes(group, Q as i32 - S as i32), 0.0),
                _ => (codes, 0.0),
            }
        };
        // Fused arithmetic adds the western neighbours of the row that ends; exact arithmetic those
        // of the row that begins.
        let row = if EXACT { newest } else { own };
        // At the strip's edge a lane gets its own value back, which is wrong, like every neighbour
        // beyond the edge. SAFETY: all lanes of the warp are here.
        let west = unsafe { warp::warp_shuffle_up(FULL_MASK, row[3], 1, 32).0 };
        let wests = [west, row[0], row[1], row[2]];
        // In exact arithmetic this is the row that begins. In fused arithmetic it is west + south
        // of the row that ends, which is north + east of the cell to the west in the row that
        // begins.
        let mut sums = newest;
        if !EXACT {
            for i in 0..4 {
                sums[i] = wests[i] + newest[i];
            }
        }
        // SAFETY: all lanes of the warp are here.
        let east = unsafe { warp::warp_shuffle_down(FULL_MASK, sums[0], 1, 32).0 };
        let easts = [sums[1], sums[2], sums[3], east];
        for i in 0..4 {
            let free = if EXACT {
                update::end_free_cell(begun[i], newest[i], k)
            } else {
                update::end_fused_cell(begun[i][0], sums[i], k)
            };
            // The value is never -0 for a cell that is zero.
            let fixed = match PATH {
                UNIFORM | ROUGH => own_codes[i].fused(source, 0.0),
                _ => 0.0,
            };
            // This selects between computed values, without a branch. If codes are those of plain
            // cells, it needs no selection.
            let is_free = (own_codes[i].to_bits() as i32) < 0;
            arrived.newest[i] = if is_free { free } else { fixed };
            let (old, new, code) = (older[i], newest[i], -codes[i]);
            levels.begun[S][i] = if EXACT {
                let around = [wests[i], easts[i], own[i]];
                update::begin_free_cell(old, new, around, k, code)
            } else {
                [update::begin_fused_cell(old, new, easts[i], k, code), 0.0]
            };
        }
        levels.last[S - 1] = newest;
        arrived.older = own;
        // A zero cell that begins as plain ends as zero.
        arrived.codes = if PATH == WALLS { codes } else { own_codes };
    }
}
