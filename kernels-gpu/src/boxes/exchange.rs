//! The rows that warps of different blocks send each other through global memory.
//!
//! A value travels in two words of 64 bits, each of them atomic. A word has half of the value, and
//! the number of the timestep. The receiver reads both until they have the number that it waits
//! for. A flag behind the values would take a fence of the sender, and an access to memory more.
//!
//! Each row has two places, for even and odd timesteps. A warp sends timestep t + 2 after it has
//! received t + 1 from the warp beside it. That warp sent t + 1 after it had read t. So the new
//! values may replace those of t.

use cuda_std::warp::FULL_MASK;
use cuda_std::{atomic, hint, thread, warp};

use super::Row;
use crate::unrolled;

/// The sides of a warp's rows: before and after them along y, before and after along z.
pub const SIDES: usize = 4;

/// The words of one value of each lane.
const NEXT: usize = 64;

/// The warps of other blocks beside a warp's rows.
#[derive(Clone, Copy)]
pub struct Exchange {
    /// Where rows arrive: two words for each value.
    inbox: *mut u64,
    /// The sides on which a warp of another block has the rows beyond, as bits.
    sides: u32,
    /// All rows of a timestep.
    rows: u32,
    /// The first of the rows that this warp receives from before along y, and along z. Those from
    /// after are `across` later. The boxes beside have theirs at multiples of that distance.
    from: [u32; 2],
    across: [u32; 2],
}

/// The first row and the first layer of this warp, which has `rows` rows in each of `layers`
/// layers.
#[inline(always)]
pub fn first(rows: u32, layers: u32) -> [u32; 2] {
    let warp = [thread::thread_idx_y(), thread::thread_idx_z()];
    let warps = [thread::block_dim_y(), thread::block_dim_z()];
    let number = [thread::block_idx_x(), thread::block_idx_y()];
    let extent = [rows, layers];
    [0, 1].map(|axis| (number[axis] * warps[axis] + warp[axis]) * extent[axis])
}

impl Exchange {
    /// This warp, of `rows` rows in each of `layers` layers.
    ///
    /// Grid: boxes along y and z. Block: 32 threads along x, warps along y and z. `inbox` has
    /// [`inbox_words`](super::Division::inbox_words).
    #[inline(always)]
    pub fn new(inbox: *mut u64, rows: u32, layers: u32) -> Exchange {
        let warp = [thread::thread_idx_y(), thread::thread_idx_z()];
        let warps = [thread::block_dim_y(), thread::block_dim_z()];
        let boxes = [thread::grid_dim_x(), thread::grid_dim_y()];
        let number = [thread::block_idx_x(), thread::block_idx_y()];
        let (extent, first) = ([rows, layers], first(rows, layers));
        let is_beside = |side: usize| {
            let axis = side / 2;
            match side % 2 {
                0 => warp[axis] == 0 && number[axis] > 0,
                _ => warp[axis] + 1 == warps[axis] && number[axis] + 1 < boxes[axis],
            }
        };
        let mut sides = 0;
        for side in 0..SIDES {
            sides |= u32::from(is_beside(side)) << side;
        }
        // Between boxes along y there is a row for each layer of the grid, and along z one for each
        // of its rows.
        let face = [0, 1].map(|axis| boxes[axis] * warps[axis] * extent[axis]);
        let along_z = 2 * boxes[0] * face[1];
        Exchange {
            inbox,
            sides,
            rows: along_z + 2 * boxes[1] * face[0],
            from: [
                2 * number[0] * face[1] + first[1],
                along_z + 2 * number[1] * face[0] + first[0],
            ],
            across: [face[1], face[0]],
        }
    }

    /// Hides the exchange from the compiler, which would compute once what each timestep needs, and
    /// keep it in registers.
    #[inline(always)]
    pub fn opaque(self) -> Self {
        Self {
            inbox: self.inbox,
            sides: hint::opaque(self.sides),
            rows: hint::opaque(self.rows),
            from: self.from.map(hint::opaque),
            across: self.across.map(hint::opaque),
        }
    }

    /// Whether a warp of another block has the rows beyond this side.
    #[inline(always)]
    pub fn is_beside(&self, side: usize) -> bool {
        self.sides >> side & 1 != 0
    }

    /// The words of this lane's first value of a row, of P pairs; its other values are at distances
    /// of [`NEXT`].
    #[inline(always)]
    fn words<const P: usize>(&self, row: u32, timestep: u32) -> *mut u64 {
        let row = row + timestep % 2 * self.rows;
        let word = row as usize * (2 * P * NEXT) + 2 * thread::thread_idx_x() as usize;
        self.inbox.wrapping_add(word)
    }

    /// Sends this lane's values of a row to the warp beyond a side, where it is row `number` of the
    /// side's.
    ///
    /// # Safety
    /// A warp is beside, and receives the row. The inbox has rows of P pairs per lane.
    #[inline(always)]
    pub unsafe fn send<const P: usize>(
        &self,
        side: usize,
        number: usize,
        values: &Row<P>,
        timestep: u32,
    ) {
        let (from, across) = (self.from[side / 2], self.across[side / 2]);
        // The box before receives it from after, and the box after receives it from before.
        let to = match side % 2 {
            0 => from.wrapping_sub(across),
            _ => from + 2 * across,
        };
        let words = self.words::<P>(to.wrapping_add(number as u32), timestep);
        let stamp = u64::from(timestep) << 32;
        unrolled!(j in P => {
            unrolled!(e in 2 => {
                let bits = values[j][e].to_bits();
                let halves = [bits & 0xffff_ffff | stamp, bits >> 32 | stamp];
                // SAFETY: the caller's; only such accesses are made to the inbox.
                unsafe { atomic::store_two(words.wrapping_add(NEXT * (2 * j + e)), halves) };
            });
        });
    }

    /// Waits for this lane's values of ROWS rows from a side, and returns them; `number` is that of
    /// the first one.
    ///
    /// # Safety
    /// All lanes of the warp call together. A warp is beside, and sends the rows; all blocks of the
    /// launch run at once. The inbox has rows of P pairs per lane.
    #[inline(always)]
    pub unsafe fn receive<const P: usize, const ROWS: usize>(
        &self,
        side: usize,
        number: usize,
        timestep: u32,
    ) -> [Row<P>; ROWS] {
        let from = self.from[side / 2] + (side % 2) as u32 * self.across[side / 2];
        let words = self.words::<P>(from + number as u32, timestep);
        loop {
            let mut has_arrived = true;
            let values = core::array::from_fn(|row| {
                core::array::from_fn(|j| {
                    core::array::from_fn(|e| {
                        let value = (row * P + j) * 2 + e;
                        // SAFETY: the caller's; only such accesses are made to the inbox.
                        let [low, high] =
                            unsafe { atomic::load_two(words.wrapping_add(NEXT * value)) };
                        has_arrived &= (low >> 32) as u32 == timestep;
                        has_arrived &= (high >> 32) as u32 == timestep;
                        f64::from_bits(low & 0xffff_ffff | high << 32)
                    })
                })
            });
            // SAFETY: all lanes are here.
            if unsafe { warp::warp_vote_all(FULL_MASK, has_arrived) } {
                return values;
            }
        }
    }
}
