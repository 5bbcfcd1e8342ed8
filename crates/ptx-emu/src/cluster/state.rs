//! The state that the blocks of a cluster share.

use crate::check::race::Record;
use crate::conditions::ClusterConditions;
use crate::fault::Access;
use crate::memory::shared::SharedMemory;
use crate::printed::ClusterText;

/// The state that the blocks of a cluster share.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    /// The blocks, by rank.
    pub(crate) blocks: Vec<u64>,
    /// Their numbers in race records, by rank.
    pub(crate) numbers: Vec<u32>,
    /// Their shared memory, but the running one's, by rank.
    pub(crate) memories: Vec<SharedMemory>,
    /// Those whose threads have all exited, by rank.
    pub(crate) ended: Vec<bool>,
    /// For each block by rank, the latest accesses to its shared memory by warps of others.
    pub(super) visits: Vec<Vec<Visit>>,
    /// What the arrivals at the barrier release, as a row of
    /// [`Clocks`](crate::check::race::Clocks).
    pub(crate) arriving: Vec<u32>,
    /// The release by the arrivals at the barrier that completed last, as such a row.
    pub(crate) released: Vec<u32>,
    /// Some thread has arrived since the barrier completed last.
    pub(crate) has_arrivals: bool,
    /// The barrier may have become complete.
    pub(crate) recheck: bool,
    /// The text that the blocks have printed.
    pub(crate) printed: ClusterText,
    /// The values of conditional nodes that they have set.
    pub(crate) conditions: ClusterConditions,
}

/// An access to the shared memory of another block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    /// The warp, by its number in the cluster.
    pub(crate) warp: usize,
    pub(crate) record: Record,
    pub(crate) access: Access,
}

impl ClusterState {
    /// Notes an access of `visit.warp` to the memory of the block of that rank. A warp's latest
    /// access represents all.
    pub(crate) fn note_visit(&mut self, rank: usize, visit: Visit) {
        let visits = &mut self.visits[rank];
        match visits.iter_mut().find(|old| old.warp == visit.warp) {
            Some(old) => *old = visit,
            None => visits.push(visit),
        }
    }
}
