//! Memory that every lane has its own of: local memory and the parameters of frames.
//!
//! Words of all lanes at one offset lie together, so that the usual access, every lane at the same offset, is
//! one row.

use super::byte_mask;
use crate::registers::{LANES, Row32};

/// Per-lane memory of a warp, grown on demand, zero at first.
#[derive(Debug, Default)]
pub(crate) struct LaneMemory {
    rows: Vec<Row32>,
}

impl LaneMemory {
    /// Makes the bytes below `end` accessible.
    pub(crate) fn reserve(&mut self, end: u64) {
        let rows = end.div_ceil(4) as usize;
        if rows > self.rows.len() {
            self.rows.resize(rows, [0; LANES]);
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// The value of `bytes` (1, 2, 4, 8) at `offset`, a multiple of `bytes`. Bytes never reserved are zero.
    pub(crate) fn load(&self, lane: usize, offset: u64, bytes: u32) -> u64 {
        let word = |row: u64| {
            self.rows
                .get(row as usize)
                .map_or(0, |row| u64::from(row[lane]))
        };
        let row = offset >> 2;
        match bytes {
            8 => word(row) | word(row + 1) << 32,
            _ => word(row) >> (8 * (offset & 3)) & byte_mask(bytes),
        }
    }

    /// Stores the low `bytes` (1, 2, 4, 8) at `offset`, a multiple of `bytes`.
    pub(crate) fn store(&mut self, lane: usize, offset: u64, bytes: u32, value: u64) {
        self.reserve(offset + u64::from(bytes));
        let row = (offset >> 2) as usize;
        match bytes {
            8 => {
                self.rows[row][lane] = value as u32;
                self.rows[row + 1][lane] = (value >> 32) as u32;
            }
            _ => {
                let shift = 8 * (offset & 3);
                let mask = (byte_mask(bytes) << shift) as u32;
                let word = &mut self.rows[row][lane];
                *word = (*word & !mask) | ((value << shift) as u32 & mask);
            }
        }
    }

    /// Copies bytes within one lane.
    pub(crate) fn copy(&mut self, lane: usize, from: u64, to: u64, size: u32) {
        for i in 0..u64::from(size) {
            let byte = self.load(lane, from + i, 1);
            self.store(lane, to + i, 1, byte);
        }
    }
}
