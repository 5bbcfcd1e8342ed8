//! Memory that every lane has its own of: local memory and the parameters of frames.
//!
//! Words of all lanes at one offset lie together, so that the usual access, every lane at the same
//! offset, is one row.

use super::Words;
use crate::registers::{LANES, Row32, lanes};
use crate::unset_origin::Origin;

/// The content of memory that nothing has written: a NaN, an index out of bounds.
const UNSET: u32 = 0xffa5_a5a5;

/// Per-lane memory of a warp, grown on demand, and which bits of it are set.
#[derive(Debug, Default)]
pub(crate) struct LaneMemory {
    rows: Vec<Row32>,
    /// As long as `rows`.
    set: Vec<Row32>,
    /// Where unset bits come from, by word, if they were stored so; as long as need be.
    origins: Vec<[Origin; LANES]>,
}

impl LaneMemory {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.set.clear();
        self.origins.clear();
    }

    /// Copies bytes within one lane.
    pub(crate) fn copy(&mut self, lane: usize, from: u64, to: u64, size: u32) {
        for i in 0..u64::from(size) {
            let byte = self.load(lane, from + i, 1);
            let unset = self.unset(lane, from + i, 1);
            self.store(lane, to + i, 1, byte);
            let origin = self.origin(lane, from + i);
            self.mark_unset(lane, to + i, 1, unset, origin);
        }
    }

    /// Loads a word to each lane from `lane` on.
    pub(crate) fn load_lanes(&self, lane: usize, index: usize, row: &mut [u32]) {
        match self.rows.get(index) {
            Some(words) => row.copy_from_slice(&words[lane..][..row.len()]),
            None => row.fill(UNSET),
        }
    }

    /// Stores a word of each lane from `lane` on.
    pub(crate) fn store_lanes(&mut self, lane: usize, index: usize, row: &[u32]) {
        self.grow(index);
        self.rows[index][lane..][..row.len()].copy_from_slice(row);
        self.set[index][lane..][..row.len()].fill(u32::MAX);
    }

    /// Makes room for a word.
    fn grow(&mut self, index: usize) {
        if index >= self.rows.len() {
            self.rows.resize(index + 1, [UNSET; LANES]);
            self.set.resize(index + 1, [0; LANES]);
        }
    }

    /// Counts whole words from `start` to `end` as never written, in the lanes of a mask.
    pub(crate) fn forget(&mut self, mask: u32, (start, end): (u64, u64)) {
        let (start, end) = ((start / 4) as usize, end.div_ceil(4) as usize);
        for row in self.set.iter_mut().take(end).skip(start) {
            lanes(mask).for_each(|lane| row[lane] = 0);
        }
        for row in self.origins.iter_mut().take(end).skip(start) {
            lanes(mask).for_each(|lane| row[lane] = Origin::UNKNOWN);
        }
    }

    /// The bits of a value in memory that are not set: see [`Words::load`].
    pub(crate) fn unset(&self, lane: usize, offset: u64, bytes: u32) -> u64 {
        SetBits(&self.set).load(lane, offset, bytes)
    }

    /// Where an unset byte comes from.
    pub(crate) fn origin(&self, lane: usize, offset: u64) -> Origin {
        let row = self.origins.get((offset / 4) as usize);
        row.map_or(Origin::UNKNOWN, |row| row[lane])
    }

    /// Counts bits of a value in memory as never written.
    pub(crate) fn mark_unset(
        &mut self,
        lane: usize,
        offset: u64,
        bytes: u32,
        bits: u64,
        origin: Origin,
    ) {
        for byte in (0..u64::from(bytes)).filter(|byte| bits >> (8 * byte) & 0xff != 0) {
            let (index, shift) = (((offset + byte) / 4) as usize, 8 * ((offset + byte) % 4));
            let bits = (bits >> (8 * byte) & 0xff) << shift;
            if let Some(row) = self.set.get_mut(index) {
                row[lane] &= !(bits as u32);
            }
            if index >= self.origins.len() && origin != Origin::UNKNOWN {
                self.origins.resize(index + 1, [Origin::UNKNOWN; LANES]);
            }
            if let Some(row) = self.origins.get_mut(index) {
                row[lane] = origin;
            }
        }
    }
}

/// The bits that are not set, as memory.
struct SetBits<'a>(&'a [Row32]);

impl Words for SetBits<'_> {
    fn word(&self, lane: usize, index: usize) -> u32 {
        self.0.get(index).map_or(u32::MAX, |row| !row[lane])
    }

    fn set_word(&mut self, _: usize, _: usize, _: u32, _: u32) {}
}

impl Words for LaneMemory {
    fn word(&self, lane: usize, index: usize) -> u32 {
        self.rows.get(index).map_or(UNSET, |row| row[lane])
    }

    fn set_word(&mut self, lane: usize, index: usize, mask: u32, bits: u32) {
        self.grow(index);
        self.set[index][lane] |= mask;
        let word = &mut self.rows[index][lane];
        *word = (*word & !mask) | (bits & mask);
    }
}
