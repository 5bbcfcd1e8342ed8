//! Recordings: what the warps of some blocks did, step by step, for a page that replays them.
//!
//! [`Machine::record`](crate::Machine::record) says what the next launches keep. A launch that is
//! recorded runs its blocks on one host thread, one after the other where its order is so.

mod recorder;
mod steps;

use crate::fault::{AccessKind, FaultKind, ProgramFault, ThreadId};
use crate::position::CodePosition;
use crate::registers::{LANES, lanes_where};
pub(crate) use recorder::Recorder;

/// The extent of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingPlan {
    /// The blocks.
    pub blocks: RecordedBlocks,
    /// The most steps that are kept.
    pub most_steps: usize,
    /// The last steps are kept, where there are more; else the first.
    pub keeps_last: bool,
}

/// The blocks of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedBlocks {
    /// Those of these numbers in the grid: x fastest.
    Numbered(Vec<u64>),
    /// Those that store to the byte at this address of global memory.
    Storing(u64),
}

/// The steps of the warps of some blocks.
///
/// ```
/// use ptx_emu::{
///     DeviceLimits, Executable, LaunchConfig, Machine, Options, RecordedBlocks, RecordingPlan,
/// };
///
/// let mut machine = Machine::new(DeviceLimits::default(), Options::default());
/// let program = Executable::parse(
///     ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry three() {
///          .reg .b32 %r<2>;
///          mov.u32 %r1, %tid.x;
///          ret;
///      }",
/// )?;
/// let module = machine.load(program)?;
/// machine.record(Some(RecordingPlan {
///     blocks: RecordedBlocks::Numbered(vec![1]),
///     most_steps: 100,
///     keeps_last: false,
/// }));
/// let config = LaunchConfig {
///     grid: [2, 1, 1],
///     block: [32, 1, 1],
///     shared_mem_bytes: 0,
///     cluster: [1; 3],
/// };
/// machine.launch(&module, "three", &config, Vec::<u8>::new())?;
/// let recording = machine.take_recording().expect("it was asked for");
/// assert_eq!(recording.steps.len(), 2);
/// assert_eq!(recording.registers[recording.steps[0].writes[0].register].name, "%r1");
/// assert_eq!(recording.steps[0].writes[0].values[7], 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks of the grid, and threads of a block, in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block, in x, y, z.
    pub block: [u32; 3],
    /// The numbers of the recorded blocks.
    pub blocks: Vec<u64>,
    /// Bytes of a block's shared memory.
    pub shared_bytes: u64,
    /// The positions that steps name, each once.
    pub places: Vec<CodePosition>,
    /// The registers that steps name, each once.
    pub registers: Vec<RecordedRegister>,
    /// The buffers that accesses name, each once.
    pub buffers: Vec<RecordedBuffer>,
    /// In the order in which they ran.
    pub steps: Vec<Step>,
    /// There were more steps than are kept.
    pub is_cut: bool,
}

/// A register of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordedRegister {
    /// As it is declared: `%rd4`.
    pub name: String,
    /// 1 for a predicate.
    pub bits: u32,
}

/// A buffer of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordedBuffer {
    /// As messages name it.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// One instruction, by lanes of a warp that ran together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Index into [`Recording::blocks`].
    pub block: usize,
    /// The warp of the block.
    pub warp: usize,
    /// Index into [`Recording::places`].
    pub place: usize,
    /// The lanes at this position, as a mask.
    pub lanes: u32,
    /// Those of them whose guard is true.
    pub active: u32,
    /// Lanes of the warp that have exited, after the step.
    pub exited: u32,
    /// Lanes of the warp that wait for others, after the step.
    pub waiting: u32,
    /// It is a barrier of the block.
    pub is_barrier: bool,
    /// The registers that it wrote.
    pub writes: Vec<RecordedWrite>,
    /// Its accesses to memory, by the memory that they are to.
    pub accesses: Vec<RecordedAccess>,
}

/// The values of a register after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedWrite {
    /// Index into [`Recording::registers`].
    pub register: usize,
    /// By lane, those of lanes that did not write among them.
    pub values: [u64; LANES],
}

/// Memory that an access is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedSpace {
    /// A buffer of global memory: index into [`Recording::buffers`].
    Global(usize),
    /// Shared memory of the block.
    Shared,
    /// A thread's own: local memory or parameters.
    Own,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic.
    Atomic,
    /// An asynchronous copy begins, and stores there later.
    Copy,
    /// An asynchronous copy arrives.
    Arrival,
}

impl RecordedKind {
    /// Whether memory is another after it.
    pub fn stores(self) -> bool {
        !matches!(self, RecordedKind::Load | RecordedKind::Copy)
    }
}

impl From<AccessKind> for RecordedKind {
    fn from(kind: AccessKind) -> RecordedKind {
        match kind {
            AccessKind::Load => RecordedKind::Load,
            AccessKind::Store => RecordedKind::Store,
            AccessKind::Atomic => RecordedKind::Atomic,
        }
    }
}

/// An access of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedAccess {
    /// Its kind.
    pub kind: RecordedKind,
    /// The memory.
    pub space: RecordedSpace,
    /// The lanes that make it, as a mask.
    pub lanes: u32,
    /// Bytes of each lane.
    pub width: u32,
    /// By lane, the offset in the memory, in bytes; of lanes that make no access, anything.
    pub offsets: [u64; LANES],
    /// Sectors of 32 bytes in global memory, passes over the banks of shared memory, else 0.
    pub cost: u64,
}

/// The number of a block in a grid of these extents, or of a thread in a block: x fastest.
///
/// ```
/// assert_eq!(ptx_emu::number_in([4, 2, 1], [3, 1, 0]), 7);
/// ```
pub fn number_in(extents: [u32; 3], at: [u32; 3]) -> u64 {
    let [x, y, z] = at.map(u64::from);
    let [width, height, _] = extents.map(u64::from);
    (z * height + y) * width + x
}

impl Recording {
    /// The step that ended with a fault of the launch that was recorded: the last of the thread's
    /// warp.
    pub fn fault_step(&self, fault: &ProgramFault) -> Option<usize> {
        self.last_of(self.steps.len(), &fault.thread, &fault.place)
    }

    /// The step of the earlier access of a race, if it was recorded.
    pub fn earlier_step(&self, fault: &ProgramFault) -> Option<usize> {
        let FaultKind::Race { earlier, .. } = &fault.kind else {
            return None;
        };
        let end = self.fault_step(fault).unwrap_or(self.steps.len());
        self.last_of(end, &earlier.thread, &earlier.place)
    }

    /// The last step that stored to a byte of a buffer: a plain store, or an atomic.
    pub fn last_store(&self, buffer: &str, byte: u64) -> Option<usize> {
        let number = self.buffers.iter().position(|one| one.name == buffer)?;
        let space = RecordedSpace::Global(number);
        (0..self.steps.len()).rev().find(|step| {
            let mut accesses = self.steps[*step].accesses.iter();
            accesses.any(|access| {
                access.space == space && access.kind.stores() && access.lanes_at(byte) != 0
            })
        })
    }

    /// The last step before `end` that a thread made at a position.
    fn last_of(&self, end: usize, thread: &ThreadId, place: &CodePosition) -> Option<usize> {
        let block = number_in(self.grid, thread.block);
        let thread = number_in(self.block, thread.thread) as usize;
        let (warp, lane) = (thread / LANES, thread % LANES);
        self.steps[..end].iter().rposition(|step| {
            self.blocks[step.block] == block
                && step.warp == warp
                && step.active >> lane & 1 == 1
                && self.places[step.place] == *place
        })
    }
}

impl RecordedAccess {
    /// The lanes that access this byte of the memory.
    pub fn lanes_at(&self, byte: u64) -> u32 {
        let width = u64::from(self.width);
        lanes_where(self.lanes, |lane| {
            (self.offsets[lane]..self.offsets[lane] + width).contains(&byte)
        })
    }
}
