//! Shared memory of one block.
//!
//! A block runs on one host thread, so this is plain memory. Its shadow says which bytes have been written
//! and who accessed them last.

use super::byte_mask;
use crate::check::race::Cell;
use crate::check::written::Bits;

/// Shared memory and its shadow, reused from block to block.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    words: Vec<u32>,
    /// Bytes of the window that exist.
    pub(crate) bytes: u64,
    /// Which bytes have been written; empty when not checked.
    pub(crate) written: Bits,
    /// One cell for each granule; empty when not checked.
    pub(crate) races: Vec<Cell>,
}

impl SharedMemory {
    /// Prepares for a new block. `granule` is the unit of race checking in bytes.
    pub(crate) fn reset(&mut self, bytes: u64, track_written: bool, granule: Option<u32>) {
        self.bytes = bytes;
        self.words.clear();
        self.words.resize(bytes.div_ceil(4) as usize, 0);
        self.written.reset(if track_written { bytes } else { 0 });
        // Cells of earlier blocks are told apart by their block.
        let cells = granule.map_or(0, |granule| bytes.div_ceil(granule.into()) as usize);
        if self.races.len() < cells {
            self.races.resize(cells, Cell::default());
        }
    }

    /// True if `bytes` bytes at `offset` exist.
    #[inline]
    pub(crate) fn contains(&self, offset: u64, bytes: u64) -> bool {
        offset <= self.bytes && bytes <= self.bytes - offset
    }

    /// The value of `bytes` (1, 2, 4, 8) at `offset`, a multiple of `bytes` inside the memory.
    #[inline(always)]
    pub(crate) fn load(&self, offset: u64, bytes: u32) -> u64 {
        let word = (offset >> 2) as usize;
        let low = u64::from(self.words[word]);
        match bytes {
            4 => low,
            8 => low | u64::from(self.words[word + 1]) << 32,
            _ => low >> (8 * (offset & 3)) & byte_mask(bytes),
        }
    }

    /// Stores the low `bytes` (1, 2, 4, 8) of `value` at `offset`, a multiple of `bytes` inside the memory.
    #[inline(always)]
    pub(crate) fn store(&mut self, offset: u64, bytes: u32, value: u64) {
        let word = (offset >> 2) as usize;
        match bytes {
            4 => self.words[word] = value as u32,
            8 => {
                self.words[word] = value as u32;
                self.words[word + 1] = (value >> 32) as u32;
            }
            _ => {
                let shift = 8 * (offset & 3);
                let mask = (byte_mask(bytes) << shift) as u32;
                let word = &mut self.words[word];
                *word = (*word & !mask) | ((value << shift) as u32 & mask);
            }
        }
    }

    /// Every word.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u32] {
        &self.words
    }

    /// Every word.
    #[inline(always)]
    pub(crate) fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }
}
