//! Which bytes of a buffer launches accessed, and how, for those who ask.
//!
//! A bit for each byte and manner, by pages that are made where they are accessed. Taking the bits
//! costs as many steps as there are such pages, not as the buffer has bytes: those who compare
//! commands ask after every launch.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::fault::AccessKind;
use crate::request::{Request, Span};

/// What launches read and wrote of a buffer since
/// [`Machine::watch_accesses`](crate::Machine::watch_accesses): ranges of bytes from its start, in
/// order and apart. An atomic reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accessed {
    /// Bytes read.
    pub read: Vec<Range<u64>>,
    /// Bytes written.
    pub written: Vec<Range<u64>>,
}

/// Bytes of a page of addresses: a bit each.
pub type PageBits = [u64; PAGE_BYTES as usize / 64];

/// Bytes of memory that [`PageAccess`] is about. Its address is a multiple of this.
pub const PAGE_BYTES: u64 = 4096;

/// The accesses of launches to a page, since accesses were taken last. Strong ones (atomics,
/// volatile ones, relaxed and stronger ones) are apart from the others, and an atomic reads and
/// writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageAccess {
    /// The address of the page's first byte.
    pub address: u64,
    /// Bytes that weak accesses read.
    pub read: PageBits,
    /// Bytes that weak accesses wrote.
    pub written: PageBits,
    /// Bytes that strong accesses read.
    pub strongly_read: PageBits,
    /// Bytes that strong accesses wrote.
    pub strongly_written: PageBits,
}

/// The manners of an access: indices of [`Marks::sets`].
const READ: usize = 0;
const WRITTEN: usize = 1;
const STRONG: usize = 2;
const MANNERS: usize = 4;

/// Pages that are made together.
const CHUNK: usize = 16;
const WORDS: usize = PAGE_BYTES as usize / 64;

/// The bytes of a page that were accessed.
#[derive(Debug)]
struct Marks {
    /// The page is in the list of those that were touched.
    is_touched: AtomicBool,
    sets: [[AtomicU64; WORDS]; MANNERS],
}

impl Default for Marks {
    fn default() -> Marks {
        Marks {
            is_touched: AtomicBool::new(false),
            sets: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
        }
    }
}

/// The bits of a set, which is empty from then on.
fn take(set: &[AtomicU64; WORDS]) -> PageBits {
    std::array::from_fn(|word| match set[word].load(Relaxed) {
        0 => 0,
        _ => set[word].swap(0, Relaxed),
    })
}

/// The bytes of a buffer that were accessed, marked by blocks that run in parallel.
#[derive(Debug)]
pub(crate) struct Footprint {
    /// The number of the page that its first byte lies in.
    first_page: u64,
    chunks: Box<[OnceLock<Box<[Marks; CHUNK]>>]>,
    /// The numbers of the pages that were touched, counted from the first.
    touched: Mutex<Vec<u32>>,
}

impl Footprint {
    /// That of a buffer of `bytes` bytes at an address.
    pub(crate) fn new(address: u64, bytes: u64) -> Footprint {
        let first_page = address / PAGE_BYTES;
        let pages = (address + bytes).div_ceil(PAGE_BYTES) - first_page;
        Footprint {
            first_page,
            chunks: (0..pages.div_ceil(CHUNK as u64))
                .map(|_| OnceLock::new())
                .collect(),
            touched: Mutex::default(),
        }
    }

    /// Notes an access to the buffer; `span` is that of its addresses.
    pub(crate) fn note(&self, request: &Request, span: &Span) {
        let strength = if request.strong || request.kind == AccessKind::Atomic {
            STRONG
        } else {
            0
        };
        let mark = |manner: usize| {
            request.all_ranges(span, |address, bytes| {
                self.mark(strength + manner, address, bytes);
                true
            });
        };
        if request.kind != AccessKind::Store {
            mark(READ);
        }
        if request.kind != AccessKind::Load {
            mark(WRITTEN);
        }
    }

    fn mark(&self, manner: usize, address: u64, bytes: u64) {
        let (mut at, end) = (address, address + bytes);
        while at < end {
            let marks = self.marks(at / PAGE_BYTES);
            let page_end = (at / PAGE_BYTES + 1) * PAGE_BYTES;
            let last = end.min(page_end);
            while at < last {
                let count = (64 - at % 64).min(last - at);
                let mask = (u64::MAX >> (64 - count)) << (at % 64);
                let word = &marks.sets[manner][(at % PAGE_BYTES / 64) as usize];
                if word.load(Relaxed) & mask != mask {
                    word.fetch_or(mask, Relaxed);
                }
                at += count;
            }
        }
    }

    /// The marks of a page, which count as touched.
    fn marks(&self, page: u64) -> &Marks {
        let index = (page - self.first_page) as usize;
        let chunk = self.chunks[index / CHUNK].get_or_init(Box::default);
        let marks = &chunk[index % CHUNK];
        if !marks.is_touched.load(Relaxed) && !marks.is_touched.swap(true, Relaxed) {
            let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
            touched.push(index as u32);
        }
        marks
    }

    /// Gives the accesses to each page, and forgets them.
    pub(crate) fn take(&mut self, mut each: impl FnMut(PageAccess)) {
        let touched = self
            .touched
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        touched.sort_unstable();
        for index in touched.drain(..) {
            let chunk = self.chunks[index as usize / CHUNK].get_mut();
            let Some(chunk) = chunk else { continue };
            let marks = &mut chunk[index as usize % CHUNK];
            *marks.is_touched.get_mut() = false;
            let [read, written, strongly_read, strongly_written] = &marks.sets;
            each(PageAccess {
                address: (self.first_page + u64::from(index)) * PAGE_BYTES,
                read: take(read),
                written: take(written),
                strongly_read: take(strongly_read),
                strongly_written: take(strongly_written),
            });
        }
    }

    /// The accesses to the buffer at this address, which are forgotten.
    pub(crate) fn accessed(&mut self, address: u64) -> Accessed {
        let mut accessed = Accessed::default();
        self.take(|page| {
            let both = |weak: &PageBits, strong: &PageBits| -> PageBits {
                std::array::from_fn(|word| weak[word] | strong[word])
            };
            let sets = [
                (&mut accessed.read, both(&page.read, &page.strongly_read)),
                (
                    &mut accessed.written,
                    both(&page.written, &page.strongly_written),
                ),
            ];
            for (ranges, bits) in sets {
                append(ranges, page.address, address, &bits);
            }
        });
        accessed
    }
}

/// Appends the ranges of a page's bytes, counted from the buffer's address.
fn append(ranges: &mut Vec<Range<u64>>, page: u64, address: u64, bits: &PageBits) {
    for (start, &word) in (page..).step_by(64).zip(bits) {
        let (mut rest, mut at) = (word, start);
        while rest != 0 {
            let zeros = rest.trailing_zeros();
            rest >>= zeros;
            let ones = rest.trailing_ones();
            rest = rest.checked_shr(ones).unwrap_or(0);
            let begin = at + u64::from(zeros) - address;
            at += u64::from(zeros + ones);
            match ranges.last_mut() {
                Some(last) if last.end == begin => last.end = at - address,
                _ => ranges.push(begin..at - address),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges that cross words, pages and chunks are the same ranges again.
    #[test]
    fn ranges_come_back() {
        let base = 3 * PAGE_BYTES + 256;
        let mut footprint = Footprint::new(base, 40 * PAGE_BYTES);
        let ranges = [0..1, 30..70, 96..4096, 4097..9000, 80_000..163_840];
        for range in &ranges {
            footprint.mark(READ, base + range.start, range.end - range.start);
        }
        footprint.mark(STRONG + WRITTEN, base + 8, 4);
        let expected = Accessed {
            read: ranges.to_vec(),
            written: vec![8..12; 1],
        };
        assert_eq!(footprint.accessed(base), expected);
        assert_eq!(footprint.accessed(base), Accessed::default());
    }

    #[test]
    fn pages_that_nothing_touched_are_not_visited() {
        let mut footprint = Footprint::new(0x10_0000, 1 << 30);
        footprint.mark(WRITTEN, 0x10_0000 + (1 << 29), 64);
        let mut pages = Vec::new();
        footprint.take(|page| pages.push(page));
        assert_eq!(pages.len(), 1);
        assert_eq!(pages[0].address, 0x10_0000 + (1 << 29));
        assert_eq!(pages[0].written[0], u64::MAX);
        assert_eq!(pages[0].written[1..], [0; WORDS - 1]);
        assert_eq!(pages[0].strongly_written, [0; WORDS]);
    }
}
