//! The memory of the checks for a running block.

use crate::check::race::Clocks;
use crate::fault::Stop;
use crate::memory::claims::BulkCopy;

/// The memory of the checks for a running block. Its claims on shared memory are with that.
#[derive(Debug, Default)]
pub(crate) struct Sanitizer {
    /// Those of the cluster, while it is this block's turn.
    pub(crate) clocks: Clocks,
    /// Bulk copies to global memory that are under way.
    pub(crate) leaving: Vec<BulkCopy>,
    /// The first read of shared memory that nothing has written, kept until the next barrier: see
    /// `check_written`.
    pub(crate) unwritten: Option<Stop>,
    /// Position of the latest load of values that are not set.
    pub(crate) unset_load: Option<u32>,
}

impl Sanitizer {
    /// Begins a block. The clocks go on.
    pub(crate) fn start(&mut self) {
        self.leaving.clear();
        self.unwritten = None;
        self.unset_load = None;
    }
}
