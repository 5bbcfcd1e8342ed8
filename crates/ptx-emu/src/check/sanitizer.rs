//! The memory of the checks for a running block.

use std::collections::HashMap;

use crate::check::race::Clocks;
use crate::fault::{Access, Location, Stop};
use crate::memory::claims::BulkCopy;

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
    /// The latest load of shared memory that nothing has written, by thread.
    pub(crate) unset_reads: HashMap<u32, UnsetRead>,
    /// The latest barrier of the block that the accessing threads have passed; 0 before the first.
    pub(crate) barrier: u32,
    /// Position of the latest load of values that are not set.
    pub(crate) unset_load: Option<u32>,
    /// Whether the accesses that are made now are asynchronous stores.
    pub(crate) stores_async: bool,
}

/// A load of shared memory that nothing has written.
#[derive(Debug)]
pub(crate) struct UnsetRead {
    pub(crate) pc: u32,
    pub(crate) access: Access,
    pub(crate) location: Location,
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
