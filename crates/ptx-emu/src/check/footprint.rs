//! Which bytes of a buffer launches accessed, and how, for those who ask.
//!
//! A bit for each byte and manner, by pages that are made where they are accessed. Taking the bits
//! costs as many steps as there are such pages, not as the buffer has bytes: those who compare
//! commands ask after every launch.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
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

/// The accesses of launches to a page, of one manner, since accesses were taken last. An atomic
/// reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageAccess {
    /// The address of the page's first byte.
    pub address: u64,
    /// They write.
    pub writes: bool,
    /// They are strong: atomics, volatile accesses, relaxed and stronger ones.
    pub is_strong: bool,
    /// The bytes.
    pub bytes: PageBits,
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
    /// The manners that have bits. With one of them, the page is in the list of those that were
    /// touched.
    touched: AtomicU8,
    sets: [[AtomicU64; WORDS]; MANNERS],
}

impl Default for Marks {
    fn default() -> Marks {
        Marks {
            touched: AtomicU8::new(0),
            sets: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
        }
    }
}

/// The bits of a set, which is empty from then on.
fn take(set: &mut [AtomicU64; WORDS]) -> PageBits {
    std::array::from_fn(|word| std::mem::take(set[word].get_mut()))
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
            let marks = self.marks(at / PAGE_BYTES, 1 << manner);
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

    /// The marks of a page, which count as touched in a manner.
    fn marks(&self, page: u64, manner: u8) -> &Marks {
        let index = (page - self.first_page) as usize;
        let chunk = self.chunks[index / CHUNK].get_or_init(Box::default);
        let marks = &chunk[index % CHUNK];
        if marks.touched.load(Relaxed) & manner == 0 && marks.touched.fetch_or(manner, Relaxed) == 0
        {
            let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
            touched.push(index as u32);
        }
        marks
    }

    /// Gives the accesses to each page, and forgets them.
    pub(crate) fn take(&mut self, mut each: impl FnMut(&PageAccess)) {
        let touched = self
            .touched
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        touched.sort_unstable();
        for index in touched.drain(..) {
            let chunk = self.chunks[index as usize / CHUNK].get_mut();
            let Some(chunk) = chunk else { continue };
            let marks = &mut chunk[index as usize % CHUNK];
            let manners = std::mem::take(marks.touched.get_mut());
            for manner in (0..MANNERS).filter(|manner| manners >> manner & 1 == 1) {
                each(&PageAccess {
                    address: (self.first_page + u64::from(index)) * PAGE_BYTES,
                    writes: manner % STRONG == WRITTEN,
                    is_strong: manner >= STRONG,
                    bytes: take(&mut marks.sets[manner]),
                });
            }
        }
    }

    /// The accesses to the buffer at this address, which are forgotten.
    pub(crate) fn accessed(&mut self, address: u64) -> Accessed {
        // Weak and strong accesses to a page come one after the other.
        let mut latest: [Option<(u64, PageBits)>; 2] = [None, None];
        let mut ranges = [Vec::new(), Vec::new()];
        self.take(|page| {
            let kind = usize::from(page.writes);
            match &mut latest[kind] {
                Some((known, bytes)) if *known == page.address => {
                    for (word, more) in bytes.iter_mut().zip(page.bytes) {
                        *word |= more;
                    }
                }
                other => {
                    if let Some((known, bytes)) = other.replace((page.address, page.bytes)) {
                        append(&mut ranges[kind], known, address, &bytes);
                    }
                }
            }
        });
        for (kind, last) in latest.into_iter().enumerate() {
            if let Some((known, bytes)) = last {
                append(&mut ranges[kind], known, address, &bytes);
            }
        }
        let [read, written] = ranges;
        Accessed { read, written }
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
        let ranges = [0..1, 30..74, 96..4096, 4097..9000, 80_000..163_840];
        for range in [0..1, 30..70, 96..4096, 4097..9000, 80_000..163_840] {
            footprint.mark(READ, base + range.start, range.end - range.start);
        }
        footprint.mark(STRONG + WRITTEN, base + 8, 4);
        footprint.mark(STRONG + READ, base + 70, 4);
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
        footprint.take(|page| pages.push(page.clone()));
        let mut bytes = [0; WORDS];
        bytes[0] = u64::MAX;
        let expected = PageAccess {
            address: 0x10_0000 + (1 << 29),
            writes: true,
            is_strong: false,
            bytes,
        };
        assert_eq!(pages, [expected]);
    }
}
