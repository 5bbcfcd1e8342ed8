//! How many fences each block of a launch has published.
//!
//! A grid may have 2^31 blocks, of which a launch that is sampled runs a few. So there is memory for those only that fence.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Blocks of a page.
const PAGE: u64 = 4096;

type Page = Box<[AtomicU32]>;

/// The device-wide fences of each block that stores or atomics of it have followed.
#[derive(Debug, Default)]
pub(crate) struct Fences {
    /// Empty if nothing is counted.
    pages: Box<[OnceLock<Page>]>,
}

impl Fences {
    /// Counts for so many blocks, all 0.
    pub(crate) fn new(blocks: u64) -> Self {
        let pages = (0..blocks.div_ceil(PAGE)).map(|_| OnceLock::new());
        Self {
            pages: pages.collect(),
        }
    }

    /// The count of a block.
    #[inline]
    pub(crate) fn of(&self, block: u64) -> u32 {
        let page = self.pages.get((block / PAGE) as usize);
        let page = page.and_then(OnceLock::get);
        page.map_or(0, |page| page[(block % PAGE) as usize].load(Relaxed))
    }

    /// Sets the count of a block, if they are counted.
    pub(crate) fn publish(&self, block: u64, count: u32) {
        let Some(page) = self.pages.get((block / PAGE) as usize) else {
            return;
        };
        if count > 0 {
            let page = page.get_or_init(|| (0..PAGE).map(|_| AtomicU32::new(0)).collect());
            page[(block % PAGE) as usize].store(count, Relaxed);
        }
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
            assert_eq!(fences.of(block), count);
        }
        assert_eq!(fences.of(last - 1), 0);
        let pages = fences.pages.iter().filter_map(OnceLock::get).count();
        assert_eq!(pages, 2);
        let none = Fences::default();
        none.publish(0, 1);
        assert_eq!(none.of(0), 0);
    }
}
