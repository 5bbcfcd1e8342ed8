//! The memory of the checks for a running block.

use std::collections::HashMap;
use std::ops::Range;

use crate::check::race::Clocks;
use crate::fault::{Access, FaultKind, Location, Stop, UnsetUse};
use crate::memory::claims::BulkCopy;
use crate::position::CodePosition;

/// The memory of the checks for a running block. Its claims on shared memory are with that.
#[derive(Debug, Default)]
pub(crate) struct Sanitizer {
    /// Those of the cluster, while it is this block's turn.
    pub(crate) clocks: Clocks,
    /// Bulk copies to global memory that are under way.
    pub(crate) leaving: Vec<BulkCopy>,
    /// The first use of shared memory that nothing has written, kept until the next barrier: see
    /// `check_written`, `unset_values`.
    pub(crate) unwritten: Option<Stop>,
    /// The reads of shared or global memory that nothing has written.
    pub(crate) unset_reads: UnsetReads,
    /// The latest barrier of the block that the accessing threads have passed; 0 before the first.
    pub(crate) barrier: u32,
    /// Position of the latest load of local memory that is not set.
    pub(crate) unset_load: Option<u32>,
    /// Whether the accesses that are made now are asynchronous stores.
    pub(crate) stores_async: bool,
}

/// A read of shared or global memory that nothing has written.
#[derive(Debug)]
pub(crate) struct UnsetRead {
    pub(crate) thread: u32,
    pub(crate) pc: u32,
    pub(crate) access: Access,
    pub(crate) location: Location,
    /// The bytes that nothing has written, counted as in the location; none if all.
    pub(crate) unset: Vec<Range<u64>>,
}

impl UnsetRead {
    /// The fault of it, and of a use of its value.
    pub(crate) fn into_fault(self, used: Option<(UnsetUse, CodePosition)>) -> FaultKind {
        FaultKind::Uninitialized {
            access: self.access,
            location: self.location,
            unset: self.unset,
            used,
        }
    }
}

/// The first and the latest such read of each thread by each instruction.
#[derive(Debug, Default)]
pub(crate) struct UnsetReads {
    /// The number of the first one of thread 0, by instruction.
    first: HashMap<u32, u32>,
    reads: Vec<Option<UnsetRead>>,
}

impl UnsetReads {
    /// Notes a read of a block of this many threads. Gives its number.
    pub(crate) fn note(&mut self, read: UnsetRead, threads: u32) -> u32 {
        let end = self.reads.len() as u32;
        let first = *self.first.entry(read.pc).or_insert(end);
        if first == end {
            self.reads
                .resize_with((end + 2 * threads) as usize, || None);
        }
        let mut number = first + read.thread;
        if self.reads[number as usize].is_some() {
            number += threads;
        }
        self.reads[number as usize] = Some(read);
        number
    }

    /// Takes the read of a number, to tell it.
    pub(crate) fn take(&mut self, number: u32) -> Option<UnsetRead> {
        self.reads.get_mut(number as usize)?.take()
    }

    fn clear(&mut self) {
        self.first.clear();
        self.reads.clear();
    }
}

impl Sanitizer {
    /// Begins a block. The clocks go on.
    pub(crate) fn start(&mut self) {
        self.leaving.clear();
        self.unwritten = None;
        self.unset_reads.clear();
        self.unset_load = None;
    }
}
