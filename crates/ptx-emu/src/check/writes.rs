//! Which bytes have been written: one bit each.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A mask of `count` bits from bit `first`; `first + count <= 32`.
#[inline(always)]
fn mask(first: u64, count: u64) -> u32 {
    (((1u64 << count) - 1) << first) as u32
}

/// Calls `f` with each word of the bitmap and the bits in it, for bytes `offset..offset + bytes`,
/// until it gives false.
#[inline(always)]
fn for_each_word(offset: u64, bytes: u64, mut f: impl FnMut(usize, u32) -> bool) -> bool {
    if offset % 32 + bytes <= 32 {
        return f((offset / 32) as usize, mask(offset % 32, bytes));
    }
    let (mut at, end) = (offset, offset + bytes);
    while at < end {
        let count = (32 - at % 32).min(end - at);
        if !f((at / 32) as usize, mask(at % 32, count)) {
            return false;
        }
        at += count;
    }
    true
}

/// The bitmap of a buffer, written by blocks that run in parallel.
#[derive(Debug)]
pub(crate) struct WrittenShadow {
    bits: Box<[AtomicU32]>,
    bytes: u64,
    /// At least as many bytes as have not been written.
    left: AtomicU64,
    /// All of it is known to have been written.
    is_whole: AtomicBool,
}

impl WrittenShadow {
    /// Nothing written. A map that does not fit in memory counts everything as written.
    pub(crate) fn new(bytes: u64) -> Self {
        let words = usize::try_from(bytes.div_ceil(32)).unwrap_or(0);
        Self {
            bits: bytemuck::try_zeroed_slice_box(words).unwrap_or_default(),
            bytes,
            left: AtomicU64::new(bytes),
            is_whole: AtomicBool::new(false),
        }
    }

    /// Counts everything as written, from now on.
    pub(crate) fn assume_all(&mut self) {
        self.bits = Box::default();
        self.is_whole = AtomicBool::new(true);
    }

    /// Counts a range as written.
    #[inline]
    pub(crate) fn mark(&self, offset: u64, bytes: u64) {
        for_each_word(offset, bytes, |word, mask| {
            if let Some(word) = self.bits.get(word)
                && word.load(Relaxed) & mask != mask
            {
                word.fetch_or(mask, Relaxed);
            }
            true
        });
        if offset == 0 && bytes >= self.bytes {
            self.is_whole.store(true, Relaxed);
        }
    }

    /// Counts a range as written where no other thread marks anything meanwhile. Sees if that makes
    /// it whole.
    #[inline]
    pub(crate) fn mark_alone(&self, offset: u64, bytes: u64) {
        let mut added = 0;
        for_each_word(offset, bytes, |word, mask| {
            let Some(word) = self.bits.get(word) else {
                return true;
            };
            let known = word.load(Relaxed);
            if known & mask != mask {
                word.store(known | mask, Relaxed);
                added += (mask & !known).count_ones();
            }
            true
        });
        let is_all = offset == 0 && bytes >= self.bytes;
        if added != 0 || is_all {
            let left = if is_all {
                0
            } else {
                self.left.load(Relaxed) - u64::from(added)
            };
            self.left.store(left, Relaxed);
            if left == 0 {
                self.is_whole.store(true, Relaxed);
            }
        }
    }

    /// True if all is known to have been written: then no range need be looked at, or marked.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole.load(Relaxed)
    }

    /// Counts a byte as not written.
    pub(crate) fn unmark(&self, offset: u64) {
        self.is_whole.store(false, Relaxed);
        self.left.fetch_add(1, Relaxed);
        if let Some(word) = self.bits.get((offset / 32) as usize) {
            word.fetch_and(!(1 << (offset % 32)), Relaxed);
        }
    }

    /// The words of the bitmap of a range that starts and ends at multiples of 32 bytes.
    pub(crate) fn words(&self, range: Range<u64>) -> Vec<u32> {
        let words = self.word_range(range);
        words.iter().map(|word| word.load(Relaxed)).collect()
    }

    /// Sets them again.
    pub(crate) fn set_words(&self, range: Range<u64>, bits: &[u32]) {
        self.is_whole.store(false, Relaxed);
        self.left.store(self.bytes, Relaxed);
        for (word, &new) in self.word_range(range).iter().zip(bits) {
            word.store(new, Relaxed);
        }
    }

    fn word_range(&self, range: Range<u64>) -> &[AtomicU32] {
        let end = (range.end.div_ceil(32) as usize).min(self.bits.len());
        let start = ((range.start / 32) as usize).min(end);
        &self.bits[start..end]
    }

    /// True if all of a range has been written.
    #[inline]
    pub(crate) fn covers(&self, offset: u64, bytes: u64) -> bool {
        for_each_word(offset, bytes, |word, mask| {
            self.bits
                .get(word)
                .is_none_or(|word| word.load(Relaxed) & mask == mask)
        })
    }
}

/// The bitmap of a block's shared memory, or another set of its bytes.
#[derive(Debug, Default)]
pub(crate) struct Bits {
    bits: Vec<u32>,
}

impl Bits {
    /// Those of no bytes.
    pub(crate) const fn new() -> Self {
        Self { bits: Vec::new() }
    }

    /// Nothing of `bytes` bytes written.
    pub(crate) fn reset(&mut self, bytes: u64) {
        self.bits.clear();
        self.bits.resize(bytes.div_ceil(32) as usize, 0);
    }

    /// Counts a range as written.
    #[inline]
    pub(crate) fn mark(&mut self, offset: u64, bytes: u64) {
        for_each_word(offset, bytes, |word, mask| {
            self.bits[word] |= mask;
            true
        });
    }

    /// Counts a range as not written.
    pub(crate) fn clear(&mut self, offset: u64, bytes: u64) {
        for_each_word(offset, bytes, |word, mask| {
            self.bits[word] &= !mask;
            true
        });
    }

    /// Counts nothing as written.
    pub(crate) fn clear_all(&mut self) {
        self.bits.fill(0);
    }

    /// True if some of a range has been written.
    #[inline]
    pub(crate) fn touches(&self, offset: u64, bytes: u64) -> bool {
        !for_each_word(offset, bytes, |word, mask| self.bits[word] & mask == 0)
    }

    /// Counts a byte as not written.
    pub(crate) fn unmark(&mut self, offset: u64) {
        if let Some(word) = self.bits.get_mut((offset / 32) as usize) {
            *word &= !(1 << (offset % 32));
        }
    }

    /// True if all of a range has been written.
    #[inline]
    pub(crate) fn covers(&self, offset: u64, bytes: u64) -> bool {
        for_each_word(offset, bytes, |word, mask| self.bits[word] & mask == mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_across_words() {
        let shadow = WrittenShadow::new(100);
        shadow.mark(30, 40);
        assert!(shadow.covers(30, 40));
        assert!(shadow.covers(32, 32));
        assert!(!shadow.covers(29, 2));
        assert!(!shadow.covers(69, 2));
        assert!(shadow.covers(99, 0));
        shadow.mark(0, 1);
        shadow.mark(96, 4);
        assert!(shadow.covers(0, 1) && shadow.covers(30, 40) && shadow.covers(96, 4));
        assert!(!shadow.covers(70, 1) && !shadow.covers(1, 1));
        assert!(!shadow.is_whole());
        shadow.mark(0, 100);
        assert!(shadow.is_whole());
        shadow.unmark(99);
        assert!(!shadow.is_whole() && !shadow.covers(99, 1));
    }

    #[test]
    fn marks_make_it_whole() {
        let shadow = WrittenShadow::new(70);
        let mark = |range: Range<u64>| {
            shadow.mark_alone(range.start, range.end - range.start);
            shadow.is_whole()
        };
        assert_eq!([30..70, 30..70, 0..31].map(mark), [false, false, true]);
        assert!(shadow.covers(0, 70));
        // One that is set twice as not written counts twice, so it takes a mark of all.
        shadow.unmark(3);
        assert_eq!([4..70, 3..4].map(mark), [false, true]);
        shadow.unmark(3);
        shadow.unmark(3);
        assert!(!mark(3..4) && shadow.covers(0, 70));
        assert!(mark(0..70));
        // After bits are put back, the count starts again.
        shadow.set_words(32..64, &[0]);
        assert!(!mark(32..64) && shadow.covers(0, 70));
    }
}
