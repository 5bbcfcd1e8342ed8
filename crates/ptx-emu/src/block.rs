//! One block: its warps, its shared memory, its barriers.

use crate::memory::shared::SharedMemory;
use crate::warp::Warp;

/// One of the 16 barriers of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct BarrierState {
    /// Threads that wait.
    pub(crate) waiting: u32,
    /// Threads that arrived and went on: a warp, and lanes of it.
    pub(crate) arrived: Vec<(usize, u32)>,
    /// What these did until then, and knew of others, by their clocks; empty if none arrived.
    pub(crate) released: Vec<u32>,
}

/// The running block.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// Its number in the grid.
    pub(crate) index: u64,
    /// Its number in its cluster.
    pub(crate) rank: usize,
    pub(crate) shared: SharedMemory,
    #[expect(
        clippy::vec_box,
        reason = "a warp is taken out and put back every turn"
    )]
    pub(crate) warps: Vec<Box<Warp>>,
    /// Put where a warp is taken from to run.
    pub(crate) aside: Option<Box<Warp>>,
    pub(crate) barriers: [BarrierState; 16],
    /// Threads that have not exited.
    pub(crate) live_threads: u32,
    /// A barrier may have become complete.
    pub(crate) recheck_barriers: bool,
    /// It has passed the cluster's barrier, so all blocks of the cluster have started.
    pub(crate) has_met_cluster: bool,
}

impl Block {
    /// Begins the block of an index; its shared memory and its warps are still those of the one
    /// before.
    pub(crate) fn start(&mut self, index: u64, threads: u32) {
        self.index = index;
        self.live_threads = threads;
        self.recheck_barriers = false;
        self.has_met_cluster = false;
        self.barriers = Default::default();
    }

    /// Takes a warp, so that it can change while it looks at the others. Where it was, there is one
    /// without threads.
    pub(crate) fn take_warp(&mut self, index: usize) -> Box<Warp> {
        let none = self.aside.take().unwrap_or_default();
        std::mem::replace(&mut self.warps[index], none)
    }

    /// Puts back a warp that was taken.
    pub(crate) fn put_back(&mut self, index: usize, warp: Box<Warp>) {
        self.aside = Some(std::mem::replace(&mut self.warps[index], warp));
    }
}
