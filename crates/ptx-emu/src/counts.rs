//! Exact counts of what a launch did, in total, by instruction and by source line.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::AddAssign;

use crate::fault::{EarlyExit, WidenedLoad};
use crate::position::{CodePosition, SourcePosition};

/// The class that an instruction is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstructionClass {
    /// Integer arithmetic, logic, integer comparisons.
    Integer,
    /// f32 arithmetic and comparisons.
    Float32,
    /// f64 arithmetic and comparisons.
    Float64,
    /// `cvt`.
    Conversion,
    /// Moves, selections, packing, address conversions.
    Move,
    /// Loads from any space, and asynchronous copies.
    Load,
    /// Stores to any space.
    Store,
    /// `atom` and `red`.
    Atomic,
    /// Branches, calls, returns, exits.
    Control,
    /// Barriers of the block.
    Barrier,
    /// Shuffles, votes and other operations among the lanes of a warp.
    Warp,
    /// Fences, prefetches, waits.
    Other,
}

impl InstructionClass {
    /// Every class, in the order of [`Counts::classes`].
    pub const ALL: [Self; 12] = [
        Self::Integer,
        Self::Float32,
        Self::Float64,
        Self::Conversion,
        Self::Move,
        Self::Load,
        Self::Store,
        Self::Atomic,
        Self::Control,
        Self::Barrier,
        Self::Warp,
        Self::Other,
    ];

    /// A short name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Float32 => "f32",
            Self::Float64 => "f64",
            Self::Conversion => "conversion",
            Self::Move => "move",
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
            Self::Control => "control",
            Self::Barrier => "barrier",
            Self::Warp => "warp",
            Self::Other => "other",
        }
    }
}

/// Executed instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Times a warp executed an instruction, also with no lane's guard true (Nsight Compute:
    /// `inst_executed`).
    pub warp: u64,
    /// Times a thread executed an instruction with a true guard (`thread_inst_executed_pred_on`).
    pub thread: u64,
}

/// Traffic to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalTraffic {
    /// Warp-wide accesses.
    pub requests: u64,
    /// 32-byte sectors that the requests touch, each counted once a request.
    pub sectors: u64,
    /// Sectors that the same bytes would take if they were contiguous and aligned (never more than
    /// `sectors`: lanes that share bytes are not worse than ideal).
    pub ideal_sectors: u64,
    /// Sectors that pass between L1 and L2, if a block's L1 keeps all that the block has loaded: of
    /// loads, those that the block has not loaded before; of stores and atomics, which go on to L2,
    /// all `sectors`. Only where [`Options::count_l2`](crate::Options::count_l2) asks for it,
    /// otherwise 0. Which of several loads of a sector is the first depends on the schedule, the
    /// sum over a launch does not.
    pub l2_sectors: u64,
    /// Bytes that threads moved.
    pub bytes: u64,
}

impl GlobalTraffic {
    /// Coalescing efficiency: `ideal_sectors / sectors`, 1 without traffic.
    pub fn efficiency(&self) -> f64 {
        if self.sectors == 0 {
            1.0
        } else {
            self.ideal_sectors as f64 / self.sectors as f64
        }
    }
}

/// Traffic to shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedTraffic {
    /// Warp-wide accesses.
    pub requests: u64,
    /// Passes over the 32 banks that the requests take.
    pub wavefronts: u64,
    /// Passes that they would take without bank conflicts.
    pub ideal_wavefronts: u64,
    /// Bytes that threads moved.
    pub bytes: u64,
}

impl SharedTraffic {
    /// Passes that bank conflicts add.
    pub fn bank_conflicts(&self) -> u64 {
        self.wavefronts - self.ideal_wavefronts
    }
}

/// Traffic to the shared memory of other blocks of the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DistributedTraffic {
    /// Warp-wide accesses, one for each block that they reach.
    pub requests: u64,
    /// Bytes that threads moved.
    pub bytes: u64,
}

impl AddAssign for DistributedTraffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
    }
}

impl AddAssign for Executed {
    fn add_assign(&mut self, other: Self) {
        self.warp += other.warp;
        self.thread += other.thread;
    }
}

impl AddAssign for GlobalTraffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.ideal_sectors += other.ideal_sectors;
        self.l2_sectors += other.l2_sectors;
        self.bytes += other.bytes;
    }
}

impl AddAssign for SharedTraffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
        self.bytes += other.bytes;
    }
}

/// Everything counted of a set of instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All instructions.
    pub instructions: Executed,
    /// Instructions by class, in the order of [`InstructionClass::ALL`].
    pub classes: [Executed; 12],
    /// Branch instructions that a warp executed.
    pub branches: u64,
    /// Branches that some of the lanes executing took and others did not.
    pub divergent_branches: u64,
    /// Barrier instructions that a warp executed.
    pub barriers: u64,
    /// Loads from global (and constant) memory.
    pub global_loads: GlobalTraffic,
    /// Stores to global memory.
    pub global_stores: GlobalTraffic,
    /// Atomics on global memory.
    pub global_atomics: GlobalTraffic,
    /// Loads from shared memory.
    pub shared_loads: SharedTraffic,
    /// Stores to shared memory.
    pub shared_stores: SharedTraffic,
    /// Atomics on shared memory. Lanes that update the same address take a pass each.
    pub shared_atomics: SharedTraffic,
    /// Loads from the shared memory of other blocks of the cluster.
    pub distributed_loads: DistributedTraffic,
    /// Stores to it.
    pub distributed_stores: DistributedTraffic,
    /// Atomics on it.
    pub distributed_atomics: DistributedTraffic,
    /// Bytes that threads moved from or to local memory.
    pub local_bytes: u64,
    /// Bytes that threads loaded from parameters.
    pub param_bytes: u64,
}

impl Counts {
    /// Instructions of one class.
    pub fn class(&self, class: InstructionClass) -> Executed {
        self.classes[class as usize]
    }

    /// Passes over the banks of shared memory that conflicts added, over loads, stores and atomics.
    pub fn bank_conflicts(&self) -> u64 {
        self.shared_loads.bank_conflicts()
            + self.shared_stores.bank_conflicts()
            + self.shared_atomics.bank_conflicts()
    }
}

/// `count * to / of`, rounded.
fn share(count: u64, to: u64, of: u64) -> u64 {
    let (count, to, of) = (u128::from(count), u128::from(to), u128::from(of));
    ((count * to + of / 2) / of) as u64
}

impl Counts {
    /// As many as `to` blocks have, if `of` have these.
    fn extrapolate(&mut self, to: u64, of: u64) {
        let executed = |all: &mut Executed| {
            [&mut all.warp, &mut all.thread].map(|count| *count = share(*count, to, of))
        };
        let Counts {
            instructions,
            classes,
            branches,
            divergent_branches,
            barriers,
            global_loads,
            global_stores,
            global_atomics,
            shared_loads,
            shared_stores,
            shared_atomics,
            distributed_loads,
            distributed_stores,
            distributed_atomics,
            local_bytes,
            param_bytes,
        } = self;
        executed(instructions);
        for class in classes {
            executed(class);
        }
        let mut all = vec![
            branches,
            divergent_branches,
            barriers,
            local_bytes,
            param_bytes,
        ];
        for traffic in [global_loads, global_stores, global_atomics] {
            let GlobalTraffic {
                requests,
                sectors,
                ideal_sectors,
                l2_sectors,
                bytes,
            } = traffic;
            all.extend([requests, sectors, ideal_sectors, l2_sectors, bytes]);
        }
        for traffic in [shared_loads, shared_stores, shared_atomics] {
            let SharedTraffic {
                requests,
                wavefronts,
                ideal_wavefronts,
                bytes,
            } = traffic;
            all.extend([requests, wavefronts, ideal_wavefronts, bytes]);
        }
        for traffic in [distributed_loads, distributed_stores, distributed_atomics] {
            let DistributedTraffic { requests, bytes } = traffic;
            all.extend([requests, bytes]);
        }
        for count in all {
            *count = share(*count, to, of);
        }
    }
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Counts) {
        self.instructions += other.instructions;
        for (ours, theirs) in self.classes.iter_mut().zip(other.classes) {
            *ours += theirs;
        }
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.barriers += other.barriers;
        self.global_loads += other.global_loads;
        self.global_stores += other.global_stores;
        self.global_atomics += other.global_atomics;
        self.shared_loads += other.shared_loads;
        self.shared_stores += other.shared_stores;
        self.shared_atomics += other.shared_atomics;
        self.distributed_loads += other.distributed_loads;
        self.distributed_stores += other.distributed_stores;
        self.distributed_atomics += other.distributed_atomics;
        self.local_bytes += other.local_bytes;
        self.param_bytes += other.param_bytes;
    }
}

impl<'a> Sum<&'a Counts> for Counts {
    fn sum<I: Iterator<Item = &'a Counts>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, counts| {
            sum += counts;
            sum
        })
    }
}

/// The counts of one instruction of the PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionCounts {
    /// Where it stands.
    pub place: CodePosition,
    /// The class that it is counted in.
    pub class: InstructionClass,
    /// The counts of its executions.
    pub counts: Counts,
}

/// The counts of one source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCounts {
    /// The line, with the column of its first instruction; `None` for instructions that no line
    /// answers for ([`CodePosition::line`]).
    pub source: Option<SourcePosition>,
    /// PTX lines of its instructions, ascending.
    pub ptx_lines: Vec<u32>,
    /// The counts of its instructions.
    pub counts: Counts,
}

/// The report of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchReport {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks executed.
    pub blocks: u64,
    /// Threads executed.
    pub threads: u64,
    /// Totals.
    pub counts: Counts,
    /// Each instruction that was executed, in the order of the text.
    pub instructions: Vec<InstructionCounts>,
    /// Threads that exited before a barrier at which others of their block waited, if barriers are
    /// checked: of several blocks, those of the one with the lowest number.
    pub early_exit: Option<EarlyExit>,
    /// A load past the end of shared memory that a compiler may have made: the same.
    pub widened_load: Option<WidenedLoad>,
}

impl LaunchReport {
    /// Adds another launch, usually of the same kernel of the same module: instructions at the same
    /// position are one.
    pub fn add(&mut self, other: &Self) {
        let mut all: BTreeMap<_, Counts> = BTreeMap::new();
        for instruction in self
            .instructions
            .drain(..)
            .chain(other.instructions.iter().cloned())
        {
            *all.entry((instruction.place, instruction.class))
                .or_default() += &instruction.counts;
        }
        self.instructions = all
            .into_iter()
            .map(|((place, class), counts)| InstructionCounts {
                place,
                class,
                counts,
            })
            .collect();
        self.blocks += other.blocks;
        self.threads += other.threads;
        self.counts += &other.counts;
        if self.early_exit.is_none() {
            self.early_exit.clone_from(&other.early_exit);
        }
        if self.widened_load.is_none() {
            self.widened_load.clone_from(&other.widened_load);
        }
    }

    /// Takes the blocks that were executed for a sample of this many: counts grow in proportion.
    pub fn extrapolate(&mut self, blocks: u64) {
        let of = self.blocks.max(1);
        self.threads = share(self.threads, blocks, of);
        self.counts.extrapolate(blocks, of);
        for instruction in &mut self.instructions {
            instruction.counts.extrapolate(blocks, of);
        }
        self.blocks = blocks;
    }

    /// The notes on the launch, beside faults: of each a short name, and the text.
    pub fn notes(&self) -> Vec<(&'static str, String)> {
        let exit = self.early_exit.as_ref();
        let exit = exit.map(|exit| ("early exit", exit.to_string()));
        let load = self.widened_load.as_ref();
        let load = load.map(|load| ("load past the end", load.to_string()));
        exit.into_iter().chain(load).collect()
    }

    /// The counts by source line, in the order of file and line.
    pub fn lines(&self) -> Vec<LineCounts> {
        let mut lines: BTreeMap<_, LineCounts> = BTreeMap::new();
        for instruction in &self.instructions {
            let source = instruction.place.line();
            let key = source.map(|source| (source.file.clone(), source.line));
            let line = lines.entry(key).or_insert_with(|| LineCounts {
                source: source.cloned(),
                ptx_lines: Vec::new(),
                counts: Counts::default(),
            });
            line.ptx_lines.push(instruction.place.ptx_line);
            line.counts += &instruction.counts;
        }
        let mut lines: Vec<_> = lines.into_values().collect();
        for line in &mut lines {
            line.ptx_lines.sort_unstable();
            line.ptx_lines.dedup();
        }
        lines
    }
}
