//! The code that blocks run, [`Code`], and the runner of a block, [`BlockRunner`]: the launch, the
//! block, its turn, and the memory of the checks. Blocks run as members of a cluster, be it of one:
//! `cluster`.
//!
//! # Execution model
//!
//! A thread's position is its call stack and program counter. The threads of a warp that are at the
//! same position form a group and step as one; of several groups that can run, the one at the
//! lowest position runs, until it reaches another's position and joins it. Code is laid out so that
//! paths join at higher addresses, so this is how groups reconverge on hardware, and branches,
//! memory requests and bank conflicts are counted per group.
//!
//! A warp runs until it waits or its turn ends. A group that polls memory gives way to others of
//! its warp after a while, so that it cannot starve the one that it waits for (independent thread
//! scheduling).
//!
//! `schedule` says whose turn it is, `step` executes instructions, `instructions` says what they
//! do.

use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::attempt::Attempt;
use crate::block::Block;
use crate::check::fences::Fences;
use crate::check::race::{DeviceOrder, Record};
use crate::check::sanitizer::Sanitizer;
use crate::cluster::state::ClusterState;
use crate::coalesce::SectorSet;
use crate::conditions::{ConditionHandles, LaunchConditions};
use crate::config::{DeviceLimits, LaunchConfig, Sanitize, Schedule};
use crate::fault::{
    EarlyExit, Fault, FaultKind, FirstOf, Location, ProgramFault, Stop, ThreadId, UnsetUse,
    UnsupportedFault, WidenedLoad,
};
use crate::frame::{Constant, Exchange, FunctionCode};
use crate::hold::Hold;
use crate::image::Images;
use crate::instructions::party::Together;
use crate::memory::global::GlobalMemory;
use crate::memory::heap::Heap;
use crate::placement::Placement;
use crate::printed::LaunchText;
use crate::recording::Recorder;
use crate::registers::{Apply, Combination, LANES, Operands, Slot, Test};
use crate::special::{BlockView, RESERVED_SHARED_BYTES, Special};
use crate::tally::{InstructionInfo, Tallies};
use crate::turn::{Turn, Turns};
use crate::unset_origin::Origin;
use crate::unset_values::propagation::Propagation;
use crate::unset_values::shadows::Shadow;
use crate::views::Views;
use crate::warp::{Frame, Warp};

/// One instruction.
#[derive(Debug)]
pub(crate) struct Inst {
    /// Predicate slot of the guard; every frame has a slot that is always true.
    pub(crate) guard: u32,
    /// All ones if the guard is negated.
    pub(crate) flip: u32,
    pub(crate) op: Op,
    /// How it passes unset bits on, if it names a register that may be unset.
    pub(crate) unset: Option<Box<Propagation>>,
    /// How it passes unset bits on where values that were loaded from shared or global memory may
    /// be unset, if that differs.
    pub(crate) late: Option<Box<Propagation>>,
}

/// The operation of an instruction.
pub(crate) enum Op {
    /// Arithmetic on rows.
    Apply { apply: Apply, o: Operands },
    /// A comparison of rows, to predicates.
    Compare {
        test: Test,
        o: Operands,
        then: Combination,
    },
    /// `bra`.
    Branch { target: u32 },
    /// Anything else.
    Other(Box<dyn Execute>),
}

impl fmt::Debug for Op {
    /// Without the function pointers, which differ from run to run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Apply { o, .. } => write!(f, "Apply {o:?}"),
            Op::Compare { o, then, .. } => write!(f, "Compare {o:?}, {then:?}"),
            Op::Branch { target } => write!(f, "Branch {{ target: {target} }}"),
            Op::Other(op) => op.fmt(f),
        }
    }
}

/// An instruction other than arithmetic, a comparison or a branch.
pub(crate) trait Execute: fmt::Debug + Send + Sync {
    /// Executes it.
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop>;

    /// Told, if the instruction names a register that may be unset, where the unset bits of
    /// registers are; once more if it names one that may be so by what is loaded from shared
    /// memory.
    fn track(&mut self, _shadow: &dyn Fn(Slot) -> Option<Shadow>, _is_late: bool) {}

    /// True if a thread that executes it again and again may be waiting for others, and changes
    /// nothing: see `spin`.
    fn is_quiet(&self) -> bool {
        false
    }

    /// Its name and what it does, if lanes of a warp execute it together.
    fn together(&self) -> Option<(&str, &dyn Together)> {
        None
    }

    /// Bytes of an element, if it loads a vector of them.
    fn element_bytes(&self) -> Option<u32> {
        None
    }

    /// Makes a weak load a strong one. `is_compared`: an atomic compares what it loads with the
    /// word.
    fn strengthen(&mut self, _is_compared: bool) {}

    /// True if what it stores is stored by the asynchronous proxy.
    fn is_asynchronous(&self) -> bool {
        false
    }

    /// Ends a `call` when the callee returns for the lanes of `active`.
    fn after_return(&self, _warp: &mut Warp, _caller: Frame, _callee: Frame, _active: u32) {}
}

/// The group that executes an instruction, and the lanes whose guard is true. There is at
/// least one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    /// Index into [`Warp::groups`].
    pub(crate) group: usize,
    /// Position of the instruction, which is the group's.
    pub(crate) pc: u32,
    pub(crate) active: u32,
}

/// The step after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next instruction, for the same lanes.
    Step,
    /// The group has changed: choose again.
    Choose,
}

/// The code of a module.
///
/// All functions lie in one sequence, so that a position is one number. Operands are rows of the
/// warp's register files; arithmetic is a pointer to a function on rows.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) insts: Vec<Inst>,
    /// Of each instruction.
    pub(crate) infos: Vec<InstructionInfo>,
    pub(crate) functions: Vec<Arc<FunctionCode>>,
    /// The registers that each instruction writes.
    pub(crate) writes: Writes,
    /// Position of the instruction of each memory count.
    pub(crate) tally_owners: Vec<u32>,
    /// Some instruction orders the accesses of blocks.
    pub(crate) orders_blocks: bool,
    /// The first function in which an assembler may make one operation of a product and a sum.
    pub(crate) contracts: Option<Arc<str>>,
}

/// The registers that each instruction of some code writes.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// Where those of each instruction end.
    ends: Vec<u32>,
    slots: Vec<Slot>,
}

impl Writes {
    /// Adds an instruction.
    pub(crate) fn push(&mut self, slots: impl IntoIterator<Item = Slot>) {
        self.slots.extend(slots);
        self.ends.push(self.slots.len() as u32);
    }

    /// Those of the instruction at a position.
    pub(crate) fn of(&self, pc: u32) -> &[Slot] {
        let pc = pc as usize;
        let start = pc.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.slots[start as usize..self.ends[pc] as usize]
    }
}

impl Code {
    /// The name of a register that is in a slot, where the instruction at a position is.
    pub(crate) fn register_name<'p>(
        &self,
        pc: u32,
        slot: Slot,
        program: &'p ptx::Program,
    ) -> Option<&'p str> {
        let of = |function: &Arc<FunctionCode>| (function.entry..function.end).contains(&pc);
        let index = self.functions.iter().position(of)?;
        let registers = &self.functions[index].registers;
        let found = registers
            .binary_search_by_key(&(slot.class, slot.row), |(slot, _)| (slot.class, slot.row));
        let (_, register) = registers[found.ok()?];
        Some(program.functions[index].register_name(register))
    }

    /// Zero counts of all that a function may reach: what is between the first and the last
    /// function, if it calls any.
    pub(crate) fn tallies(&self, function: u32) -> Tallies {
        let reached = self.reach(function);
        let first = reached.iter().map(|one| one.entry).min();
        let end = reached.iter().map(|one| one.end).max();
        let positions = first.unwrap_or_default()..end.unwrap_or_default();
        Tallies::new(positions, &self.tally_owners)
    }

    /// A function and all that it may call.
    pub(crate) fn reach(&self, function: u32) -> Vec<&FunctionCode> {
        let mut seen = HashSet::new();
        let mut open = vec![function];
        let mut reached = Vec::new();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                let code = &self.functions[next as usize];
                reached.push(&**code);
                open.extend(&code.callees);
            }
        }
        reached
    }

    /// Whether some function may call itself, also by way of others. One that calls by an address
    /// may call any.
    pub(crate) fn is_recursive(&self) -> bool {
        #[derive(Clone, Copy, PartialEq)]
        enum Visit {
            Not,
            Begun,
            Done,
        }
        let mut visits = vec![Visit::Not; self.functions.len()];
        for first in 0..self.functions.len() {
            // The functions on the way here, each with the number of its callees that are done.
            let mut way = vec![(first, 0)];
            while let Some((function, next)) = way.last_mut() {
                let callee = self.functions[*function].callees.get(*next);
                let is_new = visits[*function] != Visit::Done;
                match callee.filter(|_| is_new) {
                    Some(&callee) => {
                        visits[*function] = Visit::Begun;
                        *next += 1;
                        match visits[callee as usize] {
                            Visit::Begun => return true,
                            Visit::Not => way.push((callee as usize, 0)),
                            Visit::Done => {}
                        }
                    }
                    None => {
                        visits[*function] = Visit::Done;
                        way.pop();
                    }
                }
            }
        }
        false
    }

    /// The narrowest access to global or shared memory, in bytes, of a function and all that it may
    /// call.
    pub(crate) fn narrowest(&self, function: u32) -> u32 {
        let reached = self.reach(function);
        reached.iter().fold(8, |least, f| least.min(f.narrowest))
    }

    /// Whether a function, or one that it may call, calls `malloc` or `free`.
    pub(crate) fn allocates(&self, function: u32) -> bool {
        self.reach(function).iter().any(|f| f.allocates)
    }

    /// Whether a function, or one that it may call, reads a special register that `is` says.
    pub(crate) fn reads(&self, function: u32, is: impl Fn(Special) -> bool) -> bool {
        let reached = self.reach(function);
        let mut constants = reached.iter().flat_map(|f| &f.constants);
        constants.any(|(_, constant)| matches!(constant, Constant::Special(s) if is(*s)))
    }

    /// How threads may communicate in a function and all that it may call.
    pub(crate) fn exchange(&self, function: u32) -> Exchange {
        let reached = self.reach(function);
        let all = reached.iter().map(|one| one.exchange);
        all.fold(Exchange::default(), Exchange::and).settled()
    }
}

/// A launch: what is run, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) code: &'a Code,
    pub(crate) program: &'a ptx::Program,
    /// Addresses of the module's variables, of each device.
    pub(crate) globals: &'a [&'a [u64]],
    /// The kernel's index.
    pub(crate) kernel: u32,
    /// The parameter block of each device. Blocks of the second device have the numbers after those
    /// of the first one, and so on.
    pub(crate) params: &'a [&'a [u8]],
    /// That of each device.
    pub(crate) config: LaunchConfig,
    /// Blocks of a cluster in x, y, z.
    pub(crate) cluster: [u32; 3],
    pub(crate) limits: &'a DeviceLimits,
    pub(crate) sanitize: Sanitize,
    /// Volatile accesses race as plain ones do.
    pub(crate) volatile_is_plain: bool,
    pub(crate) schedule: Schedule,
    /// The values of clocks follow from it, and the errors of approximations.
    pub(crate) seed: u64,
    pub(crate) fuel: u64,
    /// Whether traffic between L1 and L2 is counted.
    pub(crate) count_l2: bool,
    /// Whether approximations have errors.
    pub(crate) inexact: bool,
    /// Shared memory of a block in bytes, static and dynamic.
    pub(crate) shared_bytes: u64,
    /// Blocks that a device holds at once.
    pub(crate) resident: u64,
    /// Where shared memory starts that the system reserves, if the kernel asks.
    pub(crate) reserved_shared: Option<u32>,
    /// Where blocks run.
    pub(crate) placement: Placement,
    /// The memory in which the blocks of a cooperative launch meet, if the kernel asks.
    pub(crate) workspace: u64,
    /// The textures and surfaces that there are.
    pub(crate) images: &'a Images,
    /// The memory for `malloc`, if the kernel calls it.
    pub(crate) heap: Option<&'a Heap>,
    /// The conditional handles that it may set.
    pub(crate) condition_handles: &'a ConditionHandles,
    /// How the kernel's threads may communicate.
    pub(crate) exchange: Exchange,
    /// Where dynamic shared memory starts.
    pub(crate) dynamic_shared_offset: u32,
    /// Unit of race checking in bytes.
    pub(crate) granule: u32,
}

/// The state that all blocks of a launch share, in one attempt to run them. What does not change
/// from attempt to attempt, the [`Launch`], is read as if it were its own.
#[derive(Debug)]
pub(crate) struct LaunchContext<'a> {
    launch: Launch<'a>,
    pub(crate) memory: &'a GlobalMemory,
    /// Number of the launch's first block among all that the machine ever ran.
    pub(crate) first_block: u32,
    /// Stores to global memory that fences have shown to the asynchronous proxy: those that their
    /// warps know of. Kept if the kernel copies in bulk.
    pub(crate) proxies: Fences,
    /// The time up to which fences have shown the asynchronous proxy what blocks had published.
    pub(crate) proxied_until: AtomicU32,
    /// The publications of each block by device-wide fences; none are kept if the code has no such
    /// fence.
    pub(crate) fences: Fences,
    /// The values that strong loads may read, if these are not always the latest.
    pub(crate) views: Option<Views>,
    /// The warp that is held before a compare-and-swap, in orders that hold one.
    pub(crate) hold: Option<Hold>,
    /// The text that clusters have printed.
    pub(crate) printed: LaunchText,
    /// The values of conditional nodes that they have set.
    pub(crate) conditions: LaunchConditions,
    pub(crate) attempt: Attempt,
    /// Keeps what some blocks do, if that is wanted.
    pub(crate) recorder: Option<Recorder>,
    /// Threads that exit before a barrier of others.
    pub(crate) early_exit: FirstOf<EarlyExit>,
    /// Loads past the end of shared memory.
    pub(crate) widened_load: FirstOf<WidenedLoad>,
}

impl<'a> Deref for LaunchContext<'a> {
    type Target = Launch<'a>;

    fn deref(&self) -> &Launch<'a> {
        &self.launch
    }
}

impl<'a> LaunchContext<'a> {
    /// An attempt in which no block has run yet.
    pub(crate) fn new(
        launch: Launch<'a>,
        memory: &'a GlobalMemory,
        first_block: u32,
        printed: LaunchText,
        attempt: Attempt,
        recorder: Option<Recorder>,
    ) -> Self {
        let blocks = launch.device_blocks() * launch.devices();
        let fences = |are_kept: bool| {
            let blocks = if are_kept { blocks } else { 0 };
            Fences::new(blocks, launch.block_warps())
        };
        let races = launch.sanitize.races;
        // One thread runs all of its blocks.
        let is_exchange = races && launch.exchange.threads;
        let schedule = launch.schedule;
        Self {
            launch,
            memory,
            first_block,
            proxies: fences(races && launch.exchange.bulk),
            proxied_until: AtomicU32::new(0),
            fences: fences(races && launch.code.orders_blocks),
            views: Views::of(schedule).filter(|_| is_exchange),
            hold: Hold::of(schedule).filter(|_| is_exchange),
            printed,
            conditions: LaunchConditions::default(),
            attempt,
            recorder,
            early_exit: FirstOf::none(),
            widened_load: FirstOf::none(),
        }
    }

    /// True if one thread runs all blocks.
    pub(crate) fn is_sequential(&self) -> bool {
        self.sanitize.races && !self.attempt.is_parallel || self.recorder.is_some()
    }
}

impl Launch<'_> {
    /// Bytes of a block's shared memory that accesses reach.
    pub(crate) fn shared_window_bytes(&self) -> u64 {
        match self.reserved_shared {
            Some(start) => u64::from(start) + u64::from(RESERVED_SHARED_BYTES),
            None => self.shared_bytes,
        }
    }

    /// The devices that the kernel runs on at once.
    pub(crate) fn devices(&self) -> u64 {
        self.params.len() as u64
    }

    /// Blocks of each device.
    fn device_blocks(&self) -> u64 {
        self.config.blocks()
    }

    fn device_of(&self, block: u64) -> usize {
        match self.params.len() {
            1 => 0,
            _ => (block / self.device_blocks()) as usize,
        }
    }

    /// The addresses of the module's variables on a block's device.
    pub(crate) fn globals(&self, block: u64) -> &[u64] {
        self.globals[self.device_of(block)]
    }

    /// True if two strong accesses may not suit each other.
    pub(crate) fn mixes_strengths(&self) -> bool {
        self.exchange.mixes_strengths() || self.devices() > 1
    }

    pub(crate) fn kernel_name(&self) -> &str {
        &self.code.functions[self.kernel as usize].name
    }

    /// Threads of a block.
    pub(crate) fn block_threads(&self) -> u32 {
        self.config.block.iter().product()
    }

    /// Warps of a block.
    pub(crate) fn block_warps(&self) -> usize {
        (self.block_threads() as usize).div_ceil(LANES)
    }

    /// Clocks of a block: one per warp, and if there are asynchronous stores one more for those of
    /// each warp.
    pub(crate) fn block_clocks(&self) -> usize {
        self.block_warps() << u32::from(self.exchange.stores_async)
    }

    /// Whether an access was an asynchronous store.
    pub(crate) fn is_async(&self, record: &Record) -> bool {
        usize::from(record.warp) >= self.block_warps()
    }

    /// The thread of the block that made an access: of several, the first.
    pub(crate) fn thread_of(&self, record: &Record) -> u32 {
        record.thread() % (self.block_warps() * LANES) as u32
    }

    /// The seed of a random schedule whose lanes run apart.
    pub(crate) fn apart(&self) -> Option<u64> {
        match self.schedule {
            Schedule::Random { seed } if self.exchange.threads => Some(seed),
            _ => None,
        }
    }

    /// Blocks of a cluster.
    pub(crate) fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// The blocks of a cluster, in the order of their ranks: x fastest.
    pub(crate) fn blocks_of_cluster(&self, cluster: u64) -> impl Iterator<Item = u64> {
        let grid = self.config.grid.map(u64::from);
        let [x, y, z] = self.cluster.map(u64::from);
        let [clusters_x, clusters_y] = [grid[0] / x, grid[1] / y];
        let first_x = cluster % clusters_x * x;
        let first_y = cluster / clusters_x % clusters_y * y;
        let first_z = cluster / clusters_x / clusters_y * z;
        (0..x * y * z).map(move |rank| {
            let (block_x, block_y) = (first_x + rank % x, first_y + rank / x % y);
            let block_z = first_z + rank / x / y;
            (block_z * grid[1] + block_y) * grid[0] + block_x
        })
    }

    /// A fault of a thread of a block at a position.
    pub(crate) fn fault(&self, block: u64, thread: u32, pc: u32, kind: FaultKind) -> Stop {
        Box::new(Fault::Program(Box::new(ProgramFault {
            kernel: self.kernel_name().to_owned(),
            thread: self.thread_id(block, thread),
            place: self.code.infos[pc as usize].position.clone(),
            kind,
        })))
    }

    /// x, y, z of a block.
    fn block_index(&self, block: u64) -> [u32; 3] {
        let [x, y, z] = self.config.grid.map(u64::from);
        [
            (block % x) as u32,
            (block / x % y) as u32,
            (block / x / y % z) as u32,
        ]
    }

    /// The values of a block's special registers.
    pub(crate) fn view(&self, block: u64) -> BlockView {
        BlockView {
            threads: self.config.block,
            block: self.block_index(block),
            blocks: self.config.grid,
            cluster: self.cluster,
            number: block,
            placement: self.placement,
            moment: 0,
            dynamic_shared_bytes: self.config.shared_mem_bytes,
            total_shared_bytes: self.shared_bytes as u32,
            reserved_shared: self.reserved_shared.unwrap_or(0),
            workspace: self.workspace,
        }
    }

    /// A thread of a block.
    pub(crate) fn thread_id(&self, block: u64, thread: u32) -> ThreadId {
        let view = self.view(block);
        ThreadId {
            block: view.block,
            thread: view.thread_index(thread),
        }
    }
}

/// Runs blocks of one rank, one after the other, on one host thread.
#[derive(Debug)]
pub(crate) struct BlockRunner<'a> {
    pub(crate) launch: &'a LaunchContext<'a>,
    /// The running block.
    pub(crate) block: Block,
    pub(crate) turn: Turn,
    pub(crate) sanitizer: Sanitizer,
    /// Those that the cluster is to add to, while it is this block's turn.
    pub(crate) tallies: Tallies,
    /// The state that the blocks of the cluster share, while it is this block's turn.
    pub(crate) cluster: ClusterState,
    /// The running block is recorded.
    pub(crate) records: bool,
    /// The position of the latest step that is kept, until it has ended.
    pub(crate) recorded: Option<u32>,
    /// The sectors that the block has loaded from global memory, if traffic to L2 is counted.
    pub(crate) loaded: Option<SectorSet>,
}

impl<'a> BlockRunner<'a> {
    pub(crate) fn new(launch: &'a LaunchContext<'a>, rank: usize) -> Self {
        Self {
            launch,
            block: Block {
                rank,
                ..Block::default()
            },
            turn: Turn::new(match Turns::of(launch.schedule) {
                Turns::Stepwise if launch.exchange.threads => 1,
                _ => u32::MAX,
            }),
            sanitizer: Sanitizer::default(),
            tallies: Tallies::default(),
            cluster: ClusterState::default(),
            records: false,
            recorded: None,
            loaded: launch.count_l2.then(SectorSet::default),
        }
    }

    /// The parameter block of the running block.
    pub(crate) fn params(&self) -> &'a [u8] {
        self.launch.params[self.launch.device_of(self.block.index)]
    }

    /// The number of the running block in race records.
    pub(crate) fn block_number(&self) -> u32 {
        self.launch.first_block + self.block.index as u32
    }

    /// The number of a warp in the cluster, which is that of its clock.
    pub(crate) fn warp_number(&self, warp: usize) -> usize {
        self.block.rank * self.launch.block_clocks() + warp
    }

    /// The warp that an access of `warp` is recorded for: its asynchronous stores count as those of
    /// a warp of their own.
    pub(crate) fn recorded_warp(&self, warp: usize) -> usize {
        if self.sanitizer.stores_async {
            self.launch.block_warps() + warp
        } else {
            warp
        }
    }

    /// The order among the blocks of the launch, as a warp of the running block sees it.
    pub(crate) fn device_order(&self, warp: usize) -> DeviceOrder<'a> {
        // Blocks of a cluster also learn of each other by their shared memory, which has no views.
        let views = { self.launch.views.as_ref() }.filter(|_| self.launch.cluster_blocks() == 1);
        DeviceOrder {
            views: views.map(|views| (views, self.reader(warp))),
            first_block: self.launch.first_block,
            device_blocks: self.launch.device_blocks() as u32,
            fences: &self.launch.fences,
            synchronized: self.sanitizer.clocks.synchronized(self.warp_number(warp)),
        }
    }

    /// Ends a group's threads of `active`; the rest of the group goes on.
    pub(crate) fn exit(&mut self, warp: &mut Warp, group: usize, active: u32) -> Result<(), Stop> {
        if self.launch.sanitize.barriers && warp.awaited & warp.acted & active != 0 {
            self.check_not_awaited(warp, active)?;
        }
        if warp.copies.is_some() || self.block.shared.claims.is_some() {
            self.end_copies(warp, active)?;
        }
        if self.launch.exchange.bulk && warp.live == active {
            self.end_products(warp, warp.groups[group].pc)?;
        }
        let group_state = &mut warp.groups[group];
        let furthest = match group_state.frame {
            0 => group_state.way.end(group_state.pc),
            _ => 0,
        };
        if furthest >= warp.ended.furthest {
            (warp.ended.furthest, warp.ended.lane) = (furthest, active.trailing_zeros());
        }
        warp.ended.are_there = true;
        group_state.mask &= !active;
        group_state.pc += 1;
        if group_state.mask == 0 {
            warp.groups.swap_remove(group);
        }
        warp.exit(active);
        self.block.live_threads -= active.count_ones();
        self.block.recheck_barriers = true;
        self.cluster.recheck = true;
        Ok(())
    }

    /// A fault of a thread of the running block at a position.
    pub(crate) fn fault(&self, thread: u32, pc: u32, kind: FaultKind) -> Stop {
        self.launch.fault(self.block.index, thread, pc, kind)
    }

    /// A thread uses a value which is not set. If that comes from shared memory, the fault is kept
    /// until the next barrier: see `unset_values`.
    pub(crate) fn use_unset(
        &mut self,
        (thread, pc): (u32, u32),
        used: UnsetUse,
        origin: Origin,
    ) -> Result<(), Stop> {
        let sanitizer = &mut self.sanitizer;
        let read = origin.read();
        let Some(read) = read.and_then(|number| sanitizer.unset_reads.take(number)) else {
            return Err(self.unset(thread, pc, used));
        };
        let is_kept = matches!(read.location, Location::Shared { .. });
        if is_kept && sanitizer.unwritten.is_some() {
            return Ok(());
        }
        let place = self.launch.code.infos[pc as usize].position.clone();
        let (reader, read_pc) = (read.thread, read.pc);
        let fault = self.fault(reader, read_pc, read.into_fault(Some((used, place))));
        if !is_kept || !self.launch.sanitize.races {
            return Err(fault);
        }
        self.sanitizer.unwritten = Some(fault);
        Ok(())
    }

    /// The fault of a thread that uses a value which is not set.
    fn unset(&self, thread: u32, pc: u32, used: UnsetUse) -> Stop {
        let infos = &self.launch.code.infos;
        let loaded = self
            .sanitizer
            .unset_load
            .map(|load| infos[load as usize].position.clone());
        self.fault(thread, pc, FaultKind::UnsetValue { used, loaded })
    }

    /// An instruction that is not modelled.
    pub(crate) fn unsupported(&self, thread: u32, pc: u32, reason: &str) -> Stop {
        Box::new(Fault::Unsupported(Box::new(UnsupportedFault {
            kernel: self.launch.kernel_name().to_owned(),
            thread: self.launch.thread_id(self.block.index, thread),
            place: self.launch.code.infos[pc as usize].position.clone(),
            reason: reason.to_owned(),
        })))
    }
}
