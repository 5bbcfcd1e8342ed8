//! Publications of each block of a launch, and their times: accesses that a device-wide fence has
//! followed, and then a strong store or an atomic by a thread that knows of the fence.
//!
//! Time is the number of publications by any block. What another block has published may be seen by
//! an access that comes later; so a block that has gone on meanwhile, to its next fences, is not
//! taken as seen up to there.
//!
//! A grid may have 2^31 blocks, and a launch that is sampled runs a few. So there is memory
//! for those only that fence.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Blocks of a page.
const PAGE: u64 = 4096;
/// Publications of a warp's accesses that are remembered. One that is further ahead of others is
/// taken as seen up to the oldest.
const REMEMBERED: usize = 8;

/// The latest publications of a warp's accesses, the last first: the time, and in the lower half
/// the clock below which accesses of the warp are published. 0 for none.
type Published = [AtomicU64; REMEMBERED];
/// Of each warp of a block.
type Block = OnceLock<Box<[Published]>>;

/// The publications of each block.
#[derive(Debug)]
pub(crate) struct Fences {
    /// Empty if nothing is kept.
    pages: Box<[OnceLock<Box<[Block]>>]>,
    /// Warps of a block.
    warps: usize,
    time: AtomicU32,
}

impl Fences {
    /// For `blocks` blocks of `warps` warps, nothing published.
    pub(crate) fn new(blocks: u64, warps: usize) -> Self {
        let pages = (0..blocks.div_ceil(PAGE)).map(|_| OnceLock::new());
        Self {
            pages: pages.collect(),
            warps,
            time: AtomicU32::new(1),
        }
    }

    /// True if publications are kept.
    pub(crate) fn are_kept(&self) -> bool {
        !self.pages.is_empty()
    }

    /// The time of the latest publication; 1 before the first, so that 0 is before all.
    #[inline]
    pub(crate) fn now(&self) -> u32 {
        self.time.load(Relaxed)
    }

    /// The clock below which accesses of a warp of a block had been published at a time; 0 for
    /// none.
    #[inline]
    pub(crate) fn of(&self, block: u64, warp: usize, time: u32) -> u32 {
        let page = self
            .pages
            .get((block / PAGE) as usize)
            .and_then(OnceLock::get);
        let Some(warps) = page.and_then(|page| page[(block % PAGE) as usize].get()) else {
            return 0;
        };
        let mut clock = 0;
        for published in &warps[warp] {
            let published = published.load(Relaxed);
            if published == 0 {
                return 0;
            }
            clock = published as u32;
            if published >> 32 <= time.into() {
                break;
            }
        }
        clock
    }

    /// Publishes accesses, if publications are kept: for warps of blocks, the clock below which. A
    /// block is run by one host thread.
    pub(crate) fn publish(&self, clocks: impl Iterator<Item = (u64, usize, u32)>) {
        let mut time = None;
        for (block, warp, clock) in clocks {
            let Some(page) = self.pages.get((block / PAGE) as usize) else {
                return;
            };
            if clock == 0 {
                continue;
            }
            let page = page.get_or_init(|| (0..PAGE).map(|_| OnceLock::new()).collect());
            let warps = page[(block % PAGE) as usize]
                .get_or_init(|| (0..self.warps).map(|_| Published::default()).collect());
            let published = &warps[warp];
            if published[0].load(Relaxed) as u32 >= clock {
                continue;
            }
            let time = *time.get_or_insert_with(|| self.time.fetch_add(1, Relaxed) + 1);
            for index in (1..REMEMBERED).rev() {
                published[index].store(published[index - 1].load(Relaxed), Relaxed);
            }
            published[0].store(u64::from(time) << 32 | u64::from(clock), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(fences: &Fences, block: u64, warp: usize, clock: u32) {
        fences.publish([(block, warp, clock)].into_iter());
    }

    #[test]
    fn memory_is_for_blocks_that_fence() {
        let fences = Fences::new(1 << 31, 2);
        let last = (1 << 31) - 1;
        for (block, clock) in [(0, 3), (last, 7), (5 * PAGE, 0)] {
            publish(&fences, block, 1, clock);
            assert_eq!(fences.of(block, 1, fences.now()), clock);
            assert_eq!(fences.of(block, 0, fences.now()), 0);
        }
        assert_eq!(fences.of(last - 1, 1, fences.now()), 0);
        let pages = fences.pages.iter().filter_map(OnceLock::get);
        let blocks = pages.flatten().filter_map(OnceLock::get);
        assert_eq!(blocks.count(), 2);
        let none = Fences::new(0, 1);
        publish(&none, 0, 0, 1);
        assert_eq!(none.of(0, 0, none.now()), 0);
    }

    #[test]
    fn what_was_published_at_a_time() {
        let fences = Fences::new(2, 1);
        for clock in [2, 2, 5] {
            publish(&fences, 0, 0, clock);
            publish(&fences, 1, 0, 1);
        }
        // Times 2 and 4 of block 0, 3 of block 1.
        let at = |block, time| fences.of(block, 0, time);
        assert_eq!([1, 2, 3, 4].map(|time| at(0, time)), [0, 2, 2, 5]);
        assert_eq!([2, 3].map(|time| at(1, time)), [0, 1]);
        // The oldest that is remembered represents those before.
        for clock in 10..10 + REMEMBERED as u32 {
            publish(&fences, 0, 0, clock);
        }
        assert_eq!(at(0, 2), 10);
    }
}
