//! The memory of a granule, and the cells of a buffer.

use std::sync::{Mutex, MutexGuard, OnceLock};

use super::order::{BlockOrder, Now, Record};
use crate::registers::LANES;

/// Up to two accesses, of the latest that nothing orders, by threads as far apart as can be: an
/// access that races with any of those left out then races with one of the two as well, except for
/// barriers among parts of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Latest([Record; 2]);

impl Latest {
    #[inline(always)]
    fn note<B: BlockOrder>(&mut self, now: &Now<B>) {
        let [first, second] = &mut self.0;
        let mut record = now.record;
        if now.is_after(first) {
            // An atomic does not make up for the same thread's plain access just before.
            let again = (first.block, first.thread, first.clock)
                == (record.block, record.thread, record.clock);
            record.strong &= !again || first.strong;
            record.non_coherent |= again && first.non_coherent;
            *first = record;
        } else if now.is_after(second) || distance(first, second) < distance(first, &record) {
            *second = record;
        }
    }

    #[inline(always)]
    fn racing<B: BlockOrder>(&self, now: &Now<B>) -> Option<Record> {
        let [first, second] = &self.0;
        if now.races_with(first) {
            Some(*first)
        } else if now.races_with(second) {
            Some(*second)
        } else {
            None
        }
    }
}

/// 0 for lanes of one warp, 1 for warps of one block, 2 for blocks.
fn distance(a: &Record, b: &Record) -> u32 {
    let warp = |record: &Record| record.thread / LANES as u16;
    match a.block == b.block {
        true => u32::from(warp(a) != warp(b)),
        false => 2,
    }
}

/// The accesses that a granule remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell {
    stores: Latest,
    loads: Latest,
}

/// The access that a race is with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) earlier: Record,
    pub(crate) earlier_is_store: bool,
}

impl Cell {
    /// Notes a load.
    #[inline(always)]
    pub(crate) fn load<B: BlockOrder>(&mut self, now: &Now<B>) -> Option<Conflict> {
        if let Some(earlier) = self.stores.racing(now) {
            return Some(Conflict {
                earlier,
                earlier_is_store: true,
            });
        }
        self.loads.note(now);
        None
    }

    /// The access that a store races with, if any. If that is a store too, it is a race only if
    /// this one stores another value.
    #[inline(always)]
    pub(crate) fn store_conflict<B: BlockOrder>(&self, now: &Now<B>) -> Option<Conflict> {
        let (earlier, earlier_is_store) = match self.loads.racing(now) {
            Some(load) => (load, false),
            None => (self.stores.racing(now)?, true),
        };
        Some(Conflict {
            earlier,
            earlier_is_store,
        })
    }

    /// Notes a store.
    #[inline(always)]
    pub(crate) fn note_store<B: BlockOrder>(&mut self, now: &Now<B>) {
        self.stores.note(now);
    }

    /// A load through the read-only path by a block with at least this number.
    #[inline(always)]
    pub(crate) fn read_only_load_since(&self, block: u32) -> Option<Record> {
        let mut loads = self.loads.0.into_iter();
        loads.find(|record| record.non_coherent && record.block >= block)
    }

    /// The stores by blocks with at least this number.
    pub(crate) fn stores_since(&self, block: u32) -> impl Iterator<Item = Record> + use<> {
        let stores = self.stores.0.into_iter();
        stores.filter(move |record| record.block >= block)
    }
}

/// Cells of a page.
pub(crate) const PAGE: u64 = 1024;

type Page = Option<Box<[Cell]>>;

/// The cells of a buffer, made where it is accessed. Cells stay from launch to launch: records of
/// earlier launches are told apart by their block numbers.
#[derive(Debug)]
pub(crate) struct RaceShadow {
    bytes: u64,
    pages: OnceLock<Box<[Mutex<Page>]>>,
}

impl RaceShadow {
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            bytes,
            pages: OnceLock::new(),
        }
    }

    /// Locks the page of a cell.
    pub(crate) fn lock(&self, page: u64) -> PageGuard<'_> {
        // Room for granules of one byte.
        let pages = self.pages.get_or_init(|| {
            (0..self.bytes / PAGE + 1)
                .map(|_| Mutex::default())
                .collect()
        });
        let mut guard = pages[page as usize]
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        guard.get_or_insert_with(|| vec![Cell::default(); PAGE as usize].into_boxed_slice());
        PageGuard(guard)
    }
}

/// A locked page.
pub(crate) struct PageGuard<'a>(MutexGuard<'a, Page>);

impl PageGuard<'_> {
    /// Cell `index` of the page.
    #[inline]
    pub(crate) fn cell(&mut self, index: u64) -> &mut Cell {
        let cells = self.0.as_mut().expect("made when the page was locked");
        &mut cells[index as usize]
    }
}
