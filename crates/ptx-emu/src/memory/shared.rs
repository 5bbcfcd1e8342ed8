//! Shared memory of one block.
//!
//! The blocks of a cluster run on one host thread, so this is plain memory. Its shadow says which
//! bytes have been written and who accessed them last.

use std::ops::{Deref, DerefMut};

use super::claims::Claims;
use super::{SHARED_UNIT, Words};
use crate::check::race::{LINE, Line};
use crate::check::writes::Bits;
use crate::unset_origin::Origin;

/// Shared memory of a block, or none: an access takes it out of its block, and puts it back.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory(Option<Box<Content>>);

/// Shared memory and its shadow, reused from block to block.
#[derive(Debug, Default)]
pub(crate) struct Content {
    words: Vec<u32>,
    /// Bytes of the window that exist.
    pub(crate) bytes: u64,
    /// Those and the rest of the last unit, which hardware reaches.
    granted: u64,
    /// Which bytes have been written; empty when not checked.
    pub(crate) written: Bits,
    /// Where bytes that are not written come from, by word, if they were stored so; empty while
    /// none was.
    pub(crate) origins: Vec<Origin>,
    /// The lines of its granules; empty when not checked.
    pub(crate) races: Vec<Line>,
    /// Advances where all accesses before are ordered before all behind: see
    /// [`Line::enter_shared`].
    pub(crate) interval: u8,
    /// The parts that ordinary accesses must leave alone; `None` while there are none.
    pub(crate) claims: Option<Box<Claims>>,
    /// The block that it belongs to, if its cluster has others.
    pub(crate) owner: Option<[u32; 3]>,
}

/// That of a block without any.
static NOTHING: Content = Content {
    words: Vec::new(),
    bytes: 0,
    granted: 0,
    written: Bits::new(),
    origins: Vec::new(),
    races: Vec::new(),
    interval: 0,
    claims: None,
    owner: None,
};

impl Deref for SharedMemory {
    type Target = Content;

    #[inline(always)]
    fn deref(&self) -> &Content {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for SharedMemory {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Content {
        self.0.get_or_insert_default()
    }
}

impl Content {
    /// Prepares for a new block. `granule` is the unit of race checking in bytes.
    pub(crate) fn reset(&mut self, bytes: u64, track_written: bool, granule: Option<u32>) {
        let granted = bytes.next_multiple_of(SHARED_UNIT);
        (self.bytes, self.granted) = (bytes, granted);
        self.claims = None;
        self.words.clear();
        self.words.resize((granted / 4) as usize, 0);
        self.written.reset(if track_written { granted } else { 0 });
        self.origins.clear();
        // A line forgets earlier blocks when this one accesses it first.
        let lines = granule.map_or(0, |granule| granted.div_ceil(LINE * u64::from(granule)));
        if self.races.len() < lines as usize {
            self.races.resize_with(lines as usize, Line::default);
        }
    }

    /// Notes where a byte comes from that is not set and was stored.
    pub(crate) fn set_origin(&mut self, offset: u64, origin: Origin) {
        if self.origins.is_empty() && origin != Origin::UNKNOWN {
            self.origins.resize(self.words.len(), Origin::UNKNOWN);
        }
        if let Some(word) = self.origins.get_mut((offset / 4) as usize) {
            *word = origin;
        }
    }

    /// True if `bytes` bytes at `offset` exist.
    #[inline]
    pub(crate) fn contains(&self, offset: u64, bytes: u64) -> bool {
        offset <= self.bytes && bytes <= self.bytes - offset
    }

    /// True if hardware reaches `bytes` bytes at `offset`, those that the block has or not.
    pub(crate) fn reaches(&self, offset: u64, bytes: u64) -> bool {
        offset <= self.granted && bytes <= self.granted - offset
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

impl Words for SharedMemory {
    #[inline(always)]
    fn word(&self, _lane: usize, index: usize) -> u32 {
        self.words[index]
    }

    #[inline(always)]
    fn set_word(&mut self, _lane: usize, index: usize, mask: u32, bits: u32) {
        let word = &mut self.words[index];
        *word = (*word & !mask) | (bits & mask);
    }
}
