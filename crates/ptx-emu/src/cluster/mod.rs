//! A cluster: blocks that run together, meet at a barrier, and reach each other's shared memory.
//!
//! The blocks of a cluster run on one host thread, in turns. What they share,
//! [`ClusterState`](state::ClusterState), moves with the turn from block to block, and with it the
//! clocks and the counts; so a block alone, which is a cluster of one, runs as if there were no
//! clusters.
//!
//! # The barrier (PTX ISA, "barrier.cluster")
//!
//! A thread arrives, later it waits. The barrier completes when every thread of the cluster that
//! has not exited has arrived; threads that have exited are not waited for. A thread that arrives
//! twice without a wait between, or waits without having arrived, is at fault. What a thread did
//! before an arrival (`.release`, the default) is ordered before what others do after their wait.
//! `.relaxed` orders nothing.
//!
//! # Shared memory of other blocks
//!
//! An access needs its target to be alive: its block must have started, which only a cluster
//! barrier assures, and must not end before the access is made. The latter is checked when the
//! block ends, against the clocks (`check::race`): the access must be ordered before what some
//! thread of that block has seen. So a missing barrier at the end is found whatever the order of
//! turns.

pub(crate) mod state;

use crate::chance;
use crate::config::Schedule;
use crate::fault::{FaultKind, Lifetime, Stop};
use crate::runner::{BlockRunner, LaunchContext};
use crate::tally::Tallies;
use crate::warp::State;

/// Blocks that wait for what no block does: how many run, have not started, and may run at once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    pub(crate) running: u64,
    pub(crate) waiting: u64,
    pub(crate) resident: u64,
}

/// How far a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It has ended.
    Ended,
    /// Some thread has run.
    GoesOn,
    /// No thread can run before another cluster changes what it polls.
    Waits,
}

impl BlockRunner<'_> {
    /// Counts the cluster's barrier as passed for what arrived of a warp, and lets the lanes that
    /// wait for it go on; true if there are any.
    fn wake(&mut self, warp: usize) -> bool {
        let warp = &mut self.block.warps[warp];
        warp.passed = warp.arrived;
        let mut woken = 0;
        for group in &mut warp.groups {
            if group.state == State::ClusterBarrier {
                group.state = State::Ready;
                group.pc += 1;
                woken |= group.mask;
            }
        }
        warp.leave_cluster_barrier(woken);
        self.block.has_met_cluster |= woken != 0;
        woken != 0
    }
}

/// Runs clusters, one after the other, on one host thread.
#[derive(Debug)]
pub(crate) struct ClusterRunner<'a> {
    launch: &'a LaunchContext<'a>,
    /// The blocks, by rank.
    blocks: Vec<BlockRunner<'a>>,
    /// The rank of the block whose turn it is.
    current: usize,
    /// The order of the blocks' turns, if random.
    random: Option<fastrand::Rng>,
    /// Other clusters run at the same time, and may change what this one polls.
    pub(crate) has_company: bool,
}

impl<'a> ClusterRunner<'a> {
    pub(crate) fn new(launch: &'a LaunchContext<'a>) -> Self {
        let mut blocks: Vec<_> = (0..launch.cluster_blocks())
            .map(|rank| BlockRunner::new(launch, rank as usize))
            .collect();
        let memories = &mut blocks[0].cluster.memories;
        memories.resize_with(launch.cluster_blocks() as usize, Default::default);
        Self {
            launch,
            blocks,
            current: 0,
            random: None,
            has_company: false,
        }
    }

    /// Hands what the cluster at that place leaves behind, beside memory, to its launch.
    pub(crate) fn leave(&mut self, place: u64) {
        let launch = self.launch;
        let state = &mut self.blocks[self.current].cluster;
        launch.printed.take(place, &mut state.printed);
        launch.conditions.take(place, &mut state.conditions);
    }

    /// The blocks, by rank.
    pub(crate) fn blocks(&self) -> &[BlockRunner<'a>] {
        &self.blocks
    }

    /// Lets threads that have polled so often give way to other clusters.
    pub(crate) fn give_way(&mut self, patience: u32) {
        for block in &mut self.blocks {
            block.turn.patience = patience;
        }
    }

    /// Runs one cluster to its end, or to where it waits for another, and adds to `tallies` what it
    /// executes.
    pub(crate) fn run(&mut self, cluster: u64, tallies: &mut Tallies) -> Result<Progress, Stop> {
        self.start(cluster);
        loop {
            let progress = self.sweep(tallies)?;
            if progress != Progress::GoesOn {
                return Ok(progress);
            }
        }
    }

    /// Puts the blocks of a cluster at the start of the kernel.
    pub(crate) fn start(&mut self, cluster: u64) {
        let launch = self.launch;
        let count = self.blocks.len();
        self.switch_to(0);
        let first = &mut self.blocks[0];
        let clocks = &mut first.sanitizer.clocks;
        clocks.reset(count, launch.block_clocks(), launch.fences.are_kept());
        let state = &mut first.cluster;
        state.blocks.clear();
        state.blocks.extend(launch.blocks_of_cluster(cluster));
        state.numbers.clear();
        state.numbers.extend(
            state
                .blocks
                .iter()
                .map(|&block| launch.first_block + block as u32),
        );
        state.ended.clear();
        state.ended.resize(count, false);
        state.visits.resize_with(count, Vec::new);
        state.visits.iter_mut().for_each(Vec::clear);
        (state.arriving, state.released) = (clocks.nothing(), clocks.nothing());
        (state.has_arrivals, state.recheck) = (false, false);
        for rank in 0..count {
            self.switch_to(rank);
            let block = self.blocks[rank].cluster.blocks[rank];
            self.blocks[rank].start(block);
        }
        self.random = match launch.schedule {
            Schedule::Random { seed } if count > 1 => {
                Some(fastrand::Rng::with_seed(seed ^ !cluster))
            }
            _ => None,
        };
    }

    /// Gives each block a turn, and adds to `tallies` what they execute.
    pub(crate) fn sweep(&mut self, tallies: &mut Tallies) -> Result<Progress, Stop> {
        std::mem::swap(&mut self.blocks[self.current].tallies, tallies);
        let result = self.turns();
        std::mem::swap(&mut self.blocks[self.current].tallies, tallies);
        if matches!(result, Ok(Progress::GoesOn | Progress::Waits)) {
            return result;
        }
        let unwritten = self
            .blocks
            .iter_mut()
            .find_map(|block| block.sanitizer.unwritten.take());
        match unwritten {
            // A fault that follows from a read of nothing is not the cause.
            Some(unwritten) if !result.as_ref().is_err_and(|stop| stop.is_race()) => Err(unwritten),
            _ => result,
        }
    }

    fn turns(&mut self) -> Result<Progress, Stop> {
        let count = self.blocks.len();
        let (mut is_over, mut progress) = (true, false);
        let start = match &mut self.random {
            Some(random) => chance::below(random, count),
            None => 0,
        };
        for turn in 0..count {
            let rank = (start + turn) % count;
            if self.blocks[rank].block.live_threads > 0 {
                is_over = false;
                self.switch_to(rank);
                progress |= self.blocks[rank].round()?;
                self.end_block(rank)?;
            }
        }
        progress |= self.complete_barrier()?;
        let waits_for_others = || self.blocks.iter().any(BlockRunner::waits_for_others);
        match (is_over, progress) {
            (true, _) => Ok(Progress::Ended),
            (false, true) => Ok(Progress::GoesOn),
            _ if self.has_company && waits_for_others() => Ok(Progress::Waits),
            _ => Err(self.diagnose()),
        }
    }

    /// Gives the turn, and all that goes with it, to another block.
    fn switch_to(&mut self, rank: usize) {
        if rank == self.current {
            return;
        }
        let [from, to] = self
            .blocks
            .get_disjoint_mut([self.current, rank])
            .expect("two blocks of the cluster");
        std::mem::swap(&mut from.tallies, &mut to.tallies);
        std::mem::swap(&mut from.sanitizer.clocks, &mut to.sanitizer.clocks);
        std::mem::swap(&mut from.cluster, &mut to.cluster);
        to.cluster.memories[from.block.rank] = std::mem::take(&mut from.block.shared);
        to.block.shared = std::mem::take(&mut to.cluster.memories[rank]);
        self.current = rank;
    }

    /// Checks, when the running block has just ended, that no other block may access its memory any
    /// more.
    fn end_block(&mut self, rank: usize) -> Result<(), Stop> {
        let launch = self.launch;
        let block = &mut self.blocks[rank];
        if block.block.live_threads > 0 {
            return Ok(());
        }
        block.cluster.ended[rank] = true;
        block.cluster.recheck = true;
        let target = block.block.index;
        for visit in &block.cluster.visits[rank] {
            if !block
                .sanitizer
                .clocks
                .has_seen(rank, visit.warp, visit.record.clock)
            {
                let kind = FaultKind::BlockNotAlive {
                    access: visit.access,
                    block: launch.view(target).block,
                    lifetime: Lifetime::MayHaveEnded,
                };
                let record = visit.record;
                let index = u64::from(record.block - launch.first_block);
                return Err(launch.fault(index, launch.thread_of(&record), record.pc, kind));
            }
        }
        Ok(())
    }

    /// Completes the cluster's barrier if every thread that lives has arrived; true if it has.
    fn complete_barrier(&mut self) -> Result<bool, Stop> {
        let state = &mut self.blocks[self.current].cluster;
        if !std::mem::take(&mut state.recheck) || !state.has_arrivals {
            return Ok(false);
        }
        let mut warps = self.blocks.iter().flat_map(|block| &block.block.warps);
        if !warps.all(|warp| warp.live & !(warp.arrived & !warp.passed) == 0) {
            return Ok(false);
        }
        let current = &mut self.blocks[self.current];
        let waiting = &mut current.cluster;
        std::mem::swap(&mut waiting.arriving, &mut waiting.released);
        waiting.arriving.fill(0);
        waiting.has_arrivals = false;
        let released = std::mem::take(&mut waiting.released);
        let mut clocks = std::mem::take(&mut current.sanitizer.clocks);
        for block in &mut self.blocks {
            if let Some(unwritten) = block.sanitizer.unwritten.take() {
                return Err(unwritten);
            }
            for index in 0..block.block.warps.len() {
                if block.wake(index) && self.launch.sanitize.races {
                    block.see_all(index);
                    clocks.pass(block.warp_number(index), &released);
                }
            }
        }
        let arrived = &mut self.blocks[self.current];
        (arrived.sanitizer.clocks, arrived.cluster.released) = (clocks, released);
        Ok(true)
    }

    /// The fault of blocks that poll what no block changes: of a thread of this cluster that does.
    pub(crate) fn waits_in_vain(&self, waits: Waits) -> Stop {
        let groups = self.blocks.iter().flat_map(|block| {
            let groups = block.block.warps.iter().flat_map(|warp| {
                let groups = warp.groups.iter();
                groups.map(move |group| (warp, group))
            });
            groups.map(move |(warp, group)| (block, warp, group))
        });
        let mut polling =
            groups.filter(|(_, _, group)| matches!(group.state, State::Ready | State::Polling));
        let (block, thread, pc) = polling.next().map_or((&self.blocks[0], 0, 0), |found| {
            let (block, warp, group) = found;
            (block, warp.first_thread(group.mask), group.pc)
        });
        let kind = FaultKind::BlocksWait {
            running: waits.running,
            waiting: waits.waiting,
            resident: waits.resident,
        };
        block.fault(thread, pc, kind)
    }

    /// Why no thread of the cluster can go on.
    fn diagnose(&self) -> Stop {
        if self.blocks.iter().any(BlockRunner::has_parked) {
            return self.waits_in_vain(Waits {
                running: self.blocks.len() as u64,
                ..Waits::default()
            });
        }
        let missing = self.blocks.iter().find_map(BlockRunner::missing_lanes);
        missing.unwrap_or_else(|| BlockRunner::deadlock(&self.blocks))
    }
}
