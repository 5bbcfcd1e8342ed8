//! Which fences each block of a launch has published, and when.
//!
//! Time is the number of publications by any block. What another block has published may be seen by an access that comes later; so a
//! block that has gone on meanwhile, to its next fences, is not taken as seen up to there.
//!
//! A grid may have 2^31 blocks, of which a launch that is sampled runs a few. So there is memory for those only that fence.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Blocks of a page.
const PAGE: u64 = 4096;
/// Publications of a block that are remembered. A block that is further ahead of others is taken as seen up to the oldest.
const REMEMBERED: usize = 8;

/// The latest publications of a block, the last first: the time, and in the lower half the fences before it. 0 for none.
type Published = [AtomicU64; REMEMBERED];
type Page = Box<[Published]>;

/// The device-wide fences of each block that stores or atomics of it have followed.
#[derive(Debug, Default)]
pub(crate) struct Fences {
    /// Empty if nothing is counted.
    pages: Box<[OnceLock<Page>]>,
    time: AtomicU32,
}

impl Fences {
    /// Counts for so many blocks, all 0.
    pub(crate) fn new(blocks: u64) -> Self {
        let pages = (0..blocks.div_ceil(PAGE)).map(|_| OnceLock::new());
        Self {
            pages: pages.collect(),
            time: AtomicU32::new(0),
        }
    }

    /// The time of the latest publication; 0 before the first.
    #[inline]
    pub(crate) fn now(&self) -> u32 {
        self.time.load(Relaxed)
    }

    /// How many fences of a block had been published at a time.
    #[inline]
    pub(crate) fn of(&self, block: u64, time: u32) -> u32 {
        let page = self.pages.get((block / PAGE) as usize);
        let Some(page) = page.and_then(OnceLock::get) else {
            return 0;
        };
        let mut count = 0;
        for published in &page[(block % PAGE) as usize] {
            let published = published.load(Relaxed);
            if published == 0 {
                return 0;
            }
            count = published as u32;
            if published >> 32 <= time.into() {
                break;
            }
        }
        count
    }

    /// Publishes so many fences of a block, if they are counted. A block is run by one host thread.
    pub(crate) fn publish(&self, block: u64, count: u32) {
        let Some(page) = self.pages.get((block / PAGE) as usize) else {
            return;
        };
        if count == 0 {
            return;
        }
        let page = page.get_or_init(|| (0..PAGE).map(|_| Published::default()).collect());
        let published = &page[(block % PAGE) as usize];
        if published[0].load(Relaxed) as u32 == count {
            return;
        }
        let time = self.time.fetch_add(1, Relaxed) + 1;
        for index in (1..REMEMBERED).rev() {
            published[index].store(published[index - 1].load(Relaxed), Relaxed);
        }
        published[0].store(u64::from(time) << 32 | u64::from(count), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_for_blocks_that_fence() {
        let fences = Fences::new(1 << 31);
        let last = (1 << 31) - 1;
        for (block, count) in [(0, 3), (last, 7), (5 * PAGE, 0)] {
            fences.publish(block, count);
            assert_eq!(fences.of(block, fences.now()), count);
        }
        assert_eq!(fences.of(last - 1, fences.now()), 0);
        let pages = fences.pages.iter().filter_map(OnceLock::get).count();
        assert_eq!(pages, 2);
        let none = Fences::default();
        none.publish(0, 1);
        assert_eq!(none.of(0, none.now()), 0);
    }

    #[test]
    fn what_was_published_at_a_time() {
        let fences = Fences::new(2);
        for count in [2, 2, 5] {
            fences.publish(0, count);
            fences.publish(1, 1);
        }
        // Times 1 and 3 of block 0, 2 of block 1.
        assert_eq!([0, 1, 2, 3].map(|time| fences.of(0, time)), [0, 2, 2, 5]);
        assert_eq!([1, 2].map(|time| fences.of(1, time)), [0, 1]);
        // The oldest that is remembered stands for those before.
        for count in 10..10 + REMEMBERED as u32 {
            fences.publish(0, count);
        }
        assert_eq!(fences.of(0, 1), 10);
    }
}
