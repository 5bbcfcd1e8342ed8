//! Memory that every lane has its own of: local memory and the parameters of frames.
//!
//! Words of all lanes at one offset lie together, so that the usual access, every lane at the same offset, is
//! one row.

use super::Words;
use crate::registers::{LANES, Row32};

/// Per-lane memory of a warp, grown on demand, zero at first.
#[derive(Debug, Default)]
pub(crate) struct LaneMemory {
    rows: Vec<Row32>,
}

impl LaneMemory {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// Copies bytes within one lane.
    pub(crate) fn copy(&mut self, lane: usize, from: u64, to: u64, size: u32) {
        for i in 0..u64::from(size) {
            let byte = self.load(lane, from + i, 1);
            self.store(lane, to + i, 1, byte);
        }
    }
}

impl Words for LaneMemory {
    fn word(&self, lane: usize, index: usize) -> u32 {
        self.rows.get(index).map_or(0, |row| row[lane])
    }

    fn set_word(&mut self, lane: usize, index: usize, mask: u32, bits: u32) {
        if index >= self.rows.len() {
            self.rows.resize(index + 1, [0; LANES]);
        }
        let word = &mut self.rows[index][lane];
        *word = (*word & !mask) | (bits & mask);
    }
}
