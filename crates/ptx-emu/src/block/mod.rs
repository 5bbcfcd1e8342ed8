//! One block: its warps, its shared memory, its barriers.
//!
//! # Execution model
//!
//! A thread's position is its call stack and program counter. The threads of a warp that are at the same position form
//! a group and step as one; of several groups that can run, the one at the lowest position runs, until it reaches
//! another's position and joins it. Code is laid out so that paths join at higher addresses, so this is how groups
//! reconverge on hardware, and branches, memory requests and bank conflicts are counted per group.
//!
//! A warp runs until it waits or its turn ends. A group that polls memory gives way to others of its warp after a
//! while, so that it cannot starve the one that it waits for (independent thread scheduling).
//!
//! - `warp`: groups, frames, registers;
//! - `schedule`: whose turn it is;
//! - `barrier`: barriers of the block, and the diagnosis of a block that cannot go on.

mod barrier;
mod schedule;
mod warp;

pub(crate) use barrier::BarrierState;
pub(crate) use warp::{Frame, Group, State, Warp};

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::check::race::{BlockOrder, Clocks, Record};
use crate::code::Code;
use crate::config::{LaunchConfig, Limits, Sanitize, Schedule};
use crate::fault::{Fault, FaultKind, ProgramFault, ThreadId, UnsupportedFault};
use crate::memory::global::GlobalMemory;
use crate::memory::shared::SharedMemory;
use crate::registers::LANES;
use crate::tally::Tallies;

/// What all blocks of a launch share.
#[derive(Debug)]
pub(crate) struct LaunchContext<'a> {
    pub(crate) code: &'a Code,
    pub(crate) program: &'a ptx::Program,
    /// The kernel's index.
    pub(crate) kernel: u32,
    pub(crate) memory: &'a GlobalMemory,
    pub(crate) params: &'a [u8],
    pub(crate) config: LaunchConfig,
    pub(crate) limits: &'a Limits,
    pub(crate) sanitize: Sanitize,
    pub(crate) schedule: Schedule,
    pub(crate) fuel: u64,
    /// Shared memory of a block in bytes, static and dynamic.
    pub(crate) shared_bytes: u64,
    /// Where dynamic shared memory starts.
    pub(crate) dynamic_shared_offset: u32,
    /// Unit of race checking in bytes.
    pub(crate) granule: u32,
    /// Number of the launch's first block among all that the machine ever ran.
    pub(crate) first_block: u32,
    /// Device-wide fences that each block has executed; empty if the code has none.
    pub(crate) fences: Vec<AtomicU32>,
}

/// A fault, boxed to keep results small.
pub(crate) type Stop = Box<Fault>;

impl LaunchContext<'_> {
    pub(crate) fn kernel_name(&self) -> &str {
        &self.code.functions[self.kernel as usize].name
    }

    /// Threads of a block.
    pub(crate) fn block_threads(&self) -> u32 {
        self.config.block.iter().product()
    }

    /// x, y, z of a block.
    pub(crate) fn block_index(&self, block: u64) -> [u32; 3] {
        let [x, y, _] = self.config.grid.map(u64::from);
        [
            (block % x) as u32,
            (block / x % y) as u32,
            (block / x / y) as u32,
        ]
    }

    /// x, y, z of a thread of a block.
    pub(crate) fn thread_index(&self, thread: u32) -> [u32; 3] {
        let [x, y, _] = self.config.block;
        [thread % x, thread / x % y, thread / x / y]
    }

    pub(crate) fn thread_id(&self, block: u64, thread: u32) -> ThreadId {
        ThreadId {
            block: self.block_index(block),
            thread: self.thread_index(thread),
        }
    }
}

fn is_race(fault: &Fault) -> bool {
    matches!(fault, Fault::Program(fault) if matches!(fault.kind, FaultKind::Race { .. }))
}

/// Order among the blocks of a launch, as one of them sees it.
pub(crate) struct DeviceOrder<'a> {
    first_block: u32,
    fences: &'a [AtomicU32],
    /// This block has executed a strong access or an atomic.
    synchronized: bool,
}

impl BlockOrder for DeviceOrder<'_> {
    #[inline]
    fn is_before(&self, earlier: &Record) -> bool {
        if earlier.block < self.first_block {
            return true; // an earlier launch
        }
        let fences = self.fences.get((earlier.block - self.first_block) as usize);
        self.synchronized
            && fences.is_some_and(|fences| {
                earlier.fences == u8::MAX || fences.load(Relaxed) > earlier.fences.into()
            })
    }
}

/// A group that has executed so many atomics, strong accesses, fences or sleeps while others of its warp could
/// run gives way to them: it may be waiting for what they do.
pub(crate) const PATIENCE: u32 = 64;

/// Runs blocks, one after the other, on one host thread.
#[derive(Debug)]
pub(crate) struct BlockRunner<'a> {
    pub(crate) launch: &'a LaunchContext<'a>,
    pub(crate) tallies: Tallies,
    pub(crate) shared: SharedMemory,
    pub(crate) clocks: Clocks,
    pub(crate) warps: Vec<Warp>,
    pub(crate) barriers: [BarrierState; 16],
    /// The running block.
    pub(crate) block: u64,
    /// Warp instructions that it has executed.
    pub(crate) executed: u64,
    /// `executed` at which the turn ends.
    pub(crate) turn_end: u64,
    /// Threads of the block that have not exited.
    pub(crate) live_threads: u32,
    /// A barrier may have become complete.
    pub(crate) recheck_barriers: bool,
    /// Device-wide fences executed.
    pub(crate) fence_count: u32,
    /// See [`DeviceOrder`].
    pub(crate) synchronized: bool,
    /// The first read of shared memory that nobody wrote, kept until the next barrier: see
    /// `check_written_shared`.
    pub(crate) unwritten: Option<Stop>,
    random: schedule::Random,
}

impl<'a> BlockRunner<'a> {
    pub(crate) fn new(launch: &'a LaunchContext<'a>) -> Self {
        Self {
            launch,
            tallies: Tallies::new(launch.code),
            shared: SharedMemory::default(),
            clocks: Clocks::default(),
            warps: Vec::new(),
            barriers: Default::default(),
            block: 0,
            executed: 0,
            turn_end: 0,
            live_threads: 0,
            recheck_barriers: false,
            fence_count: 0,
            synchronized: false,
            unwritten: None,
            random: schedule::Random::new(launch.schedule),
        }
    }

    /// Runs one block to its end.
    pub(crate) fn run(&mut self, block: u64) -> Result<(), Stop> {
        let launch = self.launch;
        let threads = launch.block_threads();
        let sanitize = launch.sanitize;
        self.block = block;
        self.executed = 0;
        self.live_threads = threads;
        self.recheck_barriers = false;
        self.fence_count = 0;
        self.synchronized = false;
        self.barriers = Default::default();
        self.unwritten = None;
        let granule = sanitize.races.then_some(launch.granule);
        self.shared
            .reset(launch.shared_bytes, sanitize.uninitialized, granule);
        let warps = (threads as usize).div_ceil(LANES);
        self.clocks.reset(warps);
        self.warps.resize_with(warps, Warp::default);
        self.random.start_block(block);
        for index in 0..warps {
            let mut warp = std::mem::take(&mut self.warps[index]);
            let lanes = (threads - (index * LANES) as u32).min(LANES as u32);
            warp.start(index, u32::MAX >> (LANES as u32 - lanes), launch);
            self.enter_frame(&mut warp, 0, u32::MAX);
            self.warps[index] = warp;
        }
        let result = self.run_warps();
        match self.unwritten.take() {
            // What follows from a read of nothing is not the cause.
            Some(unwritten) if !result.as_ref().is_err_and(|stop| is_race(stop)) => Err(unwritten),
            _ => result,
        }
    }

    /// The number of the running block in race records.
    pub(crate) fn block_number(&self) -> u32 {
        self.launch.first_block + self.block as u32
    }

    pub(crate) fn device_order(&self) -> DeviceOrder<'a> {
        DeviceOrder {
            first_block: self.launch.first_block,
            fences: &self.launch.fences,
            synchronized: self.synchronized,
        }
    }

    /// A fault of a thread of the running block at a position.
    pub(crate) fn fault(&self, thread: u32, pc: u32, kind: FaultKind) -> Stop {
        Box::new(Fault::Program(Box::new(ProgramFault {
            kernel: self.launch.kernel_name().to_owned(),
            thread: self.launch.thread_id(self.block, thread),
            place: self.launch.code.places[pc as usize].clone(),
            kind,
        })))
    }

    /// An instruction that is not modelled.
    pub(crate) fn unsupported(&self, thread: u32, pc: u32, reason: &str) -> Stop {
        Box::new(Fault::Unsupported(Box::new(UnsupportedFault {
            kernel: self.launch.kernel_name().to_owned(),
            thread: self.launch.thread_id(self.block, thread),
            place: self.launch.code.places[pc as usize].clone(),
            reason: reason.to_owned(),
        })))
    }
}
