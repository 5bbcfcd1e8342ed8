//! Data races: two accesses to the same bytes, at least one a store, that nothing orders.
//!
//! # Model
//!
//! Every granule of memory (the narrowest access of the running kernel) remembers two stores and two loads, of
//! the latest that nothing orders. An access is compared with them: it is a race if the earlier access is by another thread, is not ordered
//! before this one, and at least one of the two is a store.
//!
//! Order within a block follows barriers, as vector clocks: each warp has a clock that advances at every
//! barrier it takes part in, and knows for every warp (itself included) up to which of its clocks accesses are
//! ordered before its own. `bar.sync` orders all threads that take part (PTX ISA, "barrier"), `bar.warp.sync` the
//! lanes of its mask ("bar.warp.sync"). Lanes of one warp that execute together are **not** ordered by that: since
//! Volta nothing keeps a warp in step (CUDA programming guide, "Independent thread scheduling"), so two lanes that
//! exchange data need `bar.warp.sync` or a barrier. Shuffles and votes order no memory accesses ("shfl.sync").
//!
//! Between blocks of one launch nothing is ordered, except through device-wide fences: a store is taken as ordered
//! before another block's access if its block has executed such a fence (or a releasing access) since, and the
//! accessing block has executed a strong access or an atomic (how else would it know?). Launches are ordered.
//!
//! Rules:
//! - strong accesses (atomics, `.volatile`, `.relaxed` and stronger) do not race with each other ("Data-races":
//!   morally strong), scopes being taken as wide enough;
//! - a store of the value that is there already, by another store, is not reported: several lanes or warps
//!   that set the same flag are a common and harmless idiom (compute-sanitizer's racecheck gives it as a
//!   note too). Lanes of one instruction that store different values to one address are a race: which one
//!   stays is not defined ("st");
//! - `ld.global.nc` of data that any thread stored during the launch is a fault, ordered or not ("ld.global.nc").
//!
//! # Blind spots
//!
//! - A race shows only if both accesses happen in this run. Their order does not matter, except between stores: the
//!   values that are compared are those of this run.
//! - Of many loads (or equal stores) two are remembered; with barriers among parts of a block one of several
//!   races may be missed.
//! - Inter-block order through fences is approximate in the direction of missing races.
//! - Granules are as wide as the narrowest access of the kernel: bytes stored by different threads are
//!   told apart in kernels that store bytes.

use std::sync::{Mutex, MutexGuard, OnceLock};

use crate::registers::LANES;

/// One access, as the shadow remembers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Number of the block among all that the machine ever ran, from 1; 0 means no access.
    pub(crate) block: u32,
    /// Clock of the thread's warp at the time.
    pub(crate) clock: u32,
    /// Position of the instruction.
    pub(crate) pc: u32,
    /// Thread of the block.
    pub(crate) thread: u16,
    /// Strong accesses do not race with each other.
    pub(crate) strong: bool,
    /// Device-wide fences that the block had executed; [`u8::MAX`] stands for any more.
    pub(crate) fences: u8,
}

/// What orders the accesses of a block's threads.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// The clock of each warp.
    now: Vec<u32>,
    /// `seen[w * warps + v]`: accesses of warp `v` below this clock are ordered before those of warp `w`.
    seen: Vec<u32>,
    /// The same among lanes of one warp, for warps that synchronised part of their lanes.
    lanes: Vec<Option<Box<[[u32; LANES]; LANES]>>>,
    warps: usize,
}

impl Clocks {
    pub(crate) fn reset(&mut self, warps: usize) {
        self.warps = warps;
        self.now.clear();
        self.now.resize(warps, 1);
        self.seen.clear();
        self.seen.resize(warps * warps, 0);
        self.lanes.clear();
        self.lanes.resize(warps, None);
    }

    /// The clock of a warp's accesses.
    pub(crate) fn now(&self, warp: usize) -> u32 {
        self.now[warp]
    }

    /// A barrier of all lanes of some warps.
    pub(crate) fn barrier(&mut self, warps: &[usize]) {
        let mut joined = vec![0; self.warps];
        for &warp in warps {
            let row = &self.seen[warp * self.warps..][..self.warps];
            for (joined, &seen) in joined.iter_mut().zip(row) {
                *joined = (*joined).max(seen);
            }
        }
        for &warp in warps {
            self.now[warp] += 1;
            joined[warp] = self.now[warp];
        }
        for &warp in warps {
            self.seen[warp * self.warps..][..self.warps].copy_from_slice(&joined);
        }
    }

    /// A barrier of some lanes of a warp, of which `live` have not exited.
    pub(crate) fn warp_barrier(&mut self, warp: usize, mask: u32, live: u32) {
        let clock = self.now[warp] + 1;
        self.now[warp] = clock;
        if mask & live == live {
            self.seen[warp * self.warps + warp] = clock;
            return;
        }
        let table = self.lanes[warp].get_or_insert_with(|| Box::new([[0; LANES]; LANES]));
        let mut joined = [0; LANES];
        let members = || (0..LANES).filter(|lane| mask >> lane & 1 == 1);
        for lane in members() {
            for (joined, &seen) in joined.iter_mut().zip(&table[lane]) {
                *joined = (*joined).max(seen);
            }
        }
        for lane in members() {
            joined[lane] = clock;
        }
        for lane in members() {
            table[lane] = joined;
        }
    }

    /// True if an access of the block by `thread` at `clock` is ordered before an access by `now`.
    #[inline]
    fn is_before(&self, thread: u16, clock: u32, now: u16) -> bool {
        let (thread, now) = (usize::from(thread), usize::from(now));
        let (warp, ours) = (thread / LANES, now / LANES);
        if self.seen[ours * self.warps + warp] > clock {
            return true;
        }
        warp == ours
            && self.lanes[warp]
                .as_ref()
                .is_some_and(|table| table[now % LANES][thread % LANES] > clock)
    }
}

/// Whether an access of another block may be taken as ordered before this block's.
pub(crate) trait BlockOrder {
    /// `block` has the numbering of [`Record::block`].
    fn is_before(&self, earlier: &Record) -> bool;
}

/// Blocks that share nothing: of shared memory, cells of other blocks are leftovers.
pub(crate) struct Leftovers;

impl BlockOrder for Leftovers {
    #[inline(always)]
    fn is_before(&self, _: &Record) -> bool {
        true
    }
}

/// The access being made.
pub(crate) struct Now<'a, B> {
    pub(crate) record: Record,
    pub(crate) clocks: &'a Clocks,
    pub(crate) blocks: &'a B,
}

impl<B: BlockOrder> Now<'_, B> {
    /// True if nothing can be wrong between `earlier` and this access.
    #[inline]
    fn is_after(&self, earlier: &Record) -> bool {
        if earlier.block != self.record.block {
            return earlier.block == 0 || self.blocks.is_before(earlier);
        }
        earlier.thread == self.record.thread
            || self
                .clocks
                .is_before(earlier.thread, earlier.clock, self.record.thread)
    }

    #[inline]
    fn races_with(&self, earlier: &Record) -> bool {
        !(earlier.strong && self.record.strong || self.is_after(earlier))
    }
}

/// Up to two accesses, of the latest that nothing orders, by threads as far apart as can be: an access that races
/// with any of those left out then races with one of the two as well, but for barriers among parts of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Latest([Record; 2]);

impl Latest {
    #[inline]
    fn note<B: BlockOrder>(&mut self, now: &Now<B>) {
        let [first, second] = &mut self.0;
        let mut record = now.record;
        if now.is_after(first) {
            // An atomic does not make up for the same thread's plain access just before.
            let again = (first.block, first.thread, first.clock)
                == (record.block, record.thread, record.clock);
            record.strong &= !again || first.strong;
            *first = record;
        } else if now.is_after(second) || distance(first, second) < distance(first, &record) {
            *second = record;
        }
    }

    #[inline]
    fn racing<B: BlockOrder>(&self, now: &Now<B>) -> Option<Record> {
        self.0.into_iter().find(|record| now.races_with(record))
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

/// What a granule remembers.
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
    #[inline]
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

    /// Notes a store; `changes` says whether it stores another value than is there.
    #[inline]
    pub(crate) fn store<B: BlockOrder>(
        &mut self,
        now: &Now<B>,
        changes: impl FnOnce() -> bool,
    ) -> Option<Conflict> {
        if let Some(earlier) = self.loads.racing(now) {
            return Some(Conflict {
                earlier,
                earlier_is_store: false,
            });
        }
        if let Some(earlier) = self.stores.racing(now)
            && changes()
        {
            return Some(Conflict {
                earlier,
                earlier_is_store: true,
            });
        }
        self.stores.note(now);
        None
    }

    /// A store by a block with at least this number.
    pub(crate) fn store_since(&self, block: u32) -> Option<Record> {
        self.stores
            .0
            .into_iter()
            .find(|record| record.block >= block)
    }
}

/// Cells of a page.
pub(crate) const PAGE: u64 = 1024;

type Page = Option<Box<[Cell]>>;

/// The cells of a buffer, made where it is accessed. Cells stay from launch to launch: records of earlier
/// launches are told apart by their block numbers.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn record(thread: u16, clocks: &Clocks) -> Record {
        Record {
            block: 1,
            clock: clocks.now(usize::from(thread) / LANES),
            pc: thread.into(),
            thread,
            strong: false,
            fences: 0,
        }
    }

    fn load(cell: &mut Cell, thread: u16, clocks: &Clocks) -> bool {
        let record = record(thread, clocks);
        cell.load(&Now {
            record,
            clocks,
            blocks: &Leftovers,
        })
        .is_some()
    }

    fn store(cell: &mut Cell, thread: u16, clocks: &Clocks) -> bool {
        let record = record(thread, clocks);
        cell.store(
            &Now {
                record,
                clocks,
                blocks: &Leftovers,
            },
            || true,
        )
        .is_some()
    }

    fn clocks() -> Clocks {
        let mut clocks = Clocks::default();
        clocks.reset(3);
        clocks
    }

    #[test]
    fn a_barrier_of_all_orders() {
        let (mut clocks, mut cell) = (clocks(), Cell::default());
        assert!(!store(&mut cell, 0, &clocks));
        clocks.barrier(&[0, 1, 2]);
        assert!(!load(&mut cell, 40, &clocks));
        assert!(!load(&mut cell, 70, &clocks));
        clocks.barrier(&[0, 1, 2]);
        assert!(!store(&mut cell, 1, &clocks));
        assert!(load(&mut cell, 40, &clocks));
    }

    #[test]
    fn a_plain_store_races_even_if_an_atomic_follows() {
        let (clocks, mut cell) = (clocks(), Cell::default());
        let strong = |thread| Record {
            strong: true,
            ..record(thread, &clocks)
        };
        let update = |cell: &mut Cell, thread| {
            let now = Now {
                record: strong(thread),
                clocks: &clocks,
                blocks: &Leftovers,
            };
            cell.store(&now, || true).is_some()
        };
        assert!(!store(&mut cell, 0, &clocks));
        assert!(!update(&mut cell, 0));
        assert!(update(&mut cell, 40));
    }

    #[test]
    fn an_equal_store_does_not_hide_another() {
        let (mut clocks, mut cell) = (clocks(), Cell::default());
        assert!(!store(&mut cell, 0, &clocks));
        for thread in 32..40 {
            let now = Now {
                record: record(thread, &clocks),
                clocks: &clocks,
                blocks: &Leftovers,
            };
            assert!(cell.store(&now, || false).is_none());
        }
        clocks.warp_barrier(1, u32::MAX, u32::MAX);
        // Ordered after its own warp's stores, not after warp 0's.
        assert!(store(&mut cell, 33, &clocks));
    }

    #[test]
    fn either_of_two_readers_races() {
        let (clocks, mut cell) = (clocks(), Cell::default());
        assert!(!load(&mut cell, 0, &clocks));
        assert!(!load(&mut cell, 40, &clocks));
        assert!(store(&mut cell, 0, &clocks));
        let mut cell = Cell::default();
        assert!(!load(&mut cell, 0, &clocks));
        assert!(!store(&mut cell, 0, &clocks));
    }

    #[test]
    fn a_barrier_of_some_orders_those_and_what_they_know() {
        let (mut clocks, mut cell) = (clocks(), Cell::default());
        assert!(!store(&mut cell, 0, &clocks));
        clocks.barrier(&[0, 1]);
        assert!(!load(&mut cell, 40, &clocks));
        clocks.barrier(&[1, 2]);
        // Ordered through warp 1.
        assert!(!load(&mut cell, 70, &clocks));
        let (mut clocks, mut cell) = (self::clocks(), Cell::default());
        assert!(!store(&mut cell, 0, &clocks));
        clocks.barrier(&[0, 1]);
        assert!(load(&mut cell, 70, &clocks));
    }

    #[test]
    fn lanes_are_ordered_by_warp_barriers_alone() {
        let (mut clocks, mut cell) = (clocks(), Cell::default());
        assert!(!store(&mut cell, 0, &clocks));
        assert!(load(&mut cell, 1, &clocks));
        clocks.warp_barrier(0, u32::MAX, u32::MAX);
        assert!(!load(&mut cell, 1, &clocks));
        assert!(!store(&mut cell, 1, &clocks));
        clocks.warp_barrier(0, 0b110, u32::MAX);
        assert!(!load(&mut cell, 2, &clocks));
        assert!(load(&mut cell, 3, &clocks));
        clocks.warp_barrier(0, 0b1100, u32::MAX);
        // Ordered through lane 2.
        assert!(!load(&mut cell, 3, &clocks));
    }

    #[test]
    fn equal_values_and_strong_accesses_do_not_race() {
        let (clocks, mut cell) = (clocks(), Cell::default());
        assert!(!store(&mut cell, 0, &clocks));
        let other = record(1, &clocks);
        let now = Now {
            record: other,
            clocks: &clocks,
            blocks: &Leftovers,
        };
        assert!(cell.store(&now, || false).is_none());
        let strong = |thread| Record {
            strong: true,
            ..record(thread, &clocks)
        };
        let mut cell = Cell::default();
        for thread in [3, 4] {
            let now = Now {
                record: strong(thread),
                clocks: &clocks,
                blocks: &Leftovers,
            };
            assert!(cell.store(&now, || true).is_none());
        }
        assert!(load(&mut cell, 5, &clocks));
    }
}
