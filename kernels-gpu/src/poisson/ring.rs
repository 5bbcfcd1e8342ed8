//! Shared memory of kernels that stream a [tile](super::tile) along z: a ring of planes of u, then
//! the edges of each warp's rows.
//!
//! Asynchronous copies of 16 bytes fill a slot of the ring ahead of its use. If n is odd, every
//! other row begins at an odd element of memory: its copies begin one point early, and the row is
//! one place later in shared memory.

use cuda_std::warp::FULL_MASK;
use cuda_std::{mem, shared, thread, warp};

use super::tile::{COLUMNS, Pair, Points, ROW};

/// Bytes of shared memory of a block: `slots` planes of u, and the [edges](edge) of each
/// iteration between the first and the last, for kernels of `levels` iterations.
pub const fn shared_mem_bytes(levels: u32, rows: u32, warps: u32, slots: u32) -> u32 {
    8 * COLUMNS * warps * (slots * rows + 6 * (levels - 1))
}

/// This lane's place in an edge of a tile, in shared memory after a ring of S planes: warp w's
/// first row is edge 2 w, its last one 2 w + 1. Each of the W warps has both in a set, and each
/// iteration has a set for each of three planes, the first iteration's first.
#[inline(always)]
pub fn edge<const R: usize, const W: usize, const S: usize>(
    iteration: usize,
    q: usize,
    edge: usize,
) -> *mut f64 {
    let lane = 2 * thread::thread_idx_x() as usize;
    let set = 3 * (iteration - 1) + q;
    let place = S * const { W * R * ROW } + (set * 2 * W + edge) * ROW + lane;
    shared::dynamic_shared_mem::<f64>().wrapping_add(place)
}

impl<const R: usize> Points<'_, R> {
    /// This lane's points of a row in shared memory of a plane of u. `row` counts from the warp's
    /// first one.
    ///
    /// # Safety
    /// The row has arrived. All lanes of the warp call together.
    #[inline(always)]
    pub unsafe fn load<const ODD: bool>(&self, from: *const f64, plane: u32, row: usize) -> Pair {
        // SAFETY: the caller promises that the row has arrived.
        let pair: Pair = unsafe { mem::load_vector(from) };
        if !ODD {
            return pair;
        }
        // SAFETY: the caller promises that all lanes are here.
        let after = unsafe { warp::warp_shuffle_down(FULL_MASK, pair[0], 1, 32).0 };
        match self
            .shift
            .wrapping_add(self.z(plane))
            .wrapping_add(row as u32)
            & 1
        {
            0 => pair,
            _ => [pair[1], after],
        }
    }
}
