//! What can be wrong with a program.

use super::access::{Access, AccessKind, Lifetime, Location, Stray, UnsetUse};
use super::threads::{RaceAccess, RaceBetween, ThreadId, Waiting};
use crate::position::CodePosition;

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access to memory that is not the program's.
    OutOfBounds {
        /// The access.
        access: Access,
        /// Where it goes.
        stray: Stray,
    },
    /// An access at an address that is no multiple of its size.
    Misaligned {
        /// The access.
        access: Access,
        /// The address in its space.
        address: u64,
        /// The position in a buffer, if it is in one.
        location: Option<Location>,
    },
    /// A store to constant memory or parameters.
    ReadOnly {
        /// The access.
        access: Access,
        /// What it would change.
        what: String,
    },
    /// A load of memory that nothing has written.
    Uninitialized {
        /// The access.
        access: Access,
        /// What it reads.
        location: Location,
    },
    /// Use of a value that nothing has set: of local memory that was not written, or of a variable.
    UnsetValue {
        /// What depends on it.
        used: UnsetUse,
        /// The latest load from local memory that nothing has written, in the block.
        loaded: Option<CodePosition>,
    },
    /// Two accesses to the same bytes that nothing orders.
    Race {
        /// What both access.
        location: Location,
        /// The later access in this run: the fault's thread and position are that access's.
        kind: AccessKind,
        /// The earlier access in this run.
        earlier: RaceAccess,
        /// How the two threads stand to each other.
        between: RaceBetween,
    },
    /// An access to what an asynchronous copy has under way.
    CopyUnderWay {
        /// The access.
        access: Access,
        /// What it accesses.
        location: Location,
        /// The copy, where it is known: what it does to these bytes, and where it was started.
        copy: Option<RaceAccess>,
        /// If the access is a copy's own: the store that has changed what it reads before it had arrived.
        overwritten: Option<RaceAccess>,
    },
    /// A bulk copy that is under way when its thread ends, or the block whose memory it goes to. The fault's position is where it was
    /// started.
    CopyNotAwaited {
        /// The copy.
        copy: Access,
        /// What it copies, in shared memory.
        location: Location,
    },
    /// A bulk copy of what ordinary instructions have stored, with no fence between the two.
    MissingProxyFence {
        /// The copy.
        copy: Access,
        /// What it may not see.
        location: Location,
    },
    /// A copy of a size that there is not, or that reports wrongly.
    InvalidCopy {
        /// What is wrong with it.
        reason: String,
    },
    /// A load through the read-only path of data that is stored during the launch.
    StaleReadOnlyLoad {
        /// What is read.
        location: Location,
        /// The store.
        store: RaceAccess,
        /// The store follows the load.
        is_later: bool,
    },
    /// An access to the shared memory of a block of the cluster that may not be alive.
    BlockNotAlive {
        /// The access.
        access: Access,
        /// The block.
        block: [u32; 3],
        /// Why it may not be.
        lifetime: Lifetime,
    },
    /// `mapa` or `getctarank` of an address that is not in shared memory.
    NotShared {
        /// The instruction's name.
        instruction: &'static str,
        /// The generic address.
        address: u64,
    },
    /// A barrier that only a part of the block reaches.
    PartialBarrier {
        /// The barrier's number.
        barrier: u32,
        /// Threads that reached it.
        arrived: u32,
        /// Threads of the block.
        threads: u32,
        /// A thread that exited before.
        missing: ThreadId,
    },
    /// Lanes of one warp at different barrier instructions at once.
    DivergentBarrier {
        /// The barrier's number.
        barrier: u32,
        /// Where another lane of the warp waits.
        other: CodePosition,
        /// That lane's thread.
        other_thread: ThreadId,
    },
    /// A barrier with a wrong number, or thread count; an object of `mbarrier` that is used wrongly.
    InvalidBarrier {
        /// What is wrong with it.
        reason: String,
    },
    /// No thread can go on.
    Deadlock {
        /// Who waits where.
        waiting: Vec<Waiting>,
        /// Threads that have exited.
        exited: u32,
        /// Blocks that run together.
        blocks: u32,
    },
    /// Blocks wait for something that no block does that runs.
    BlocksWait {
        /// Blocks that run.
        running: u64,
        /// Blocks that have not started.
        waiting: u64,
        /// Blocks of the launch that the device holds at once.
        resident: u64,
        /// Warp instructions that they have executed together since one of them last changed anything in memory.
        instructions: u64,
    },
    /// A warp-wide instruction whose mask names lanes that do not reach it.
    InactiveLanes {
        /// The instruction's name.
        instruction: &'static str,
        /// Its mask.
        mask: u32,
        /// Lanes of the mask that are elsewhere.
        missing: u32,
        /// Where one of them is, if it waits.
        elsewhere: Option<Waiting>,
    },
    /// A lane executes a warp-wide instruction whose mask does not name it.
    LaneNotInMask {
        /// The instruction's name.
        instruction: &'static str,
        /// Its mask.
        mask: u32,
        /// The lane.
        lane: u32,
    },
    /// A shuffle that reads from a lane that does not take part.
    ShuffleFromInactive {
        /// The lane read from.
        source: u32,
        /// Lanes that take part.
        participants: u32,
    },
    /// Too many nested calls.
    CallDepth {
        /// Nested calls allowed.
        limit: u32,
    },
    /// Too much local memory.
    StackOverflow {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// Nested calls.
        depth: u32,
    },
    /// A call to what is not a function.
    BadCall {
        /// The address called.
        address: u64,
    },
    /// A branch beyond the end of its table.
    BadBranchTable {
        /// The index.
        index: u32,
        /// Entries of the table.
        entries: u32,
    },
    /// The block executed more instructions than it may.
    FuelExhausted {
        /// Warp instructions allowed.
        fuel: u64,
    },
    /// `trap`.
    Trap,
    /// `brkpt`.
    Breakpoint,
}

impl FaultKind {
    /// A short name of the kind of fault.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::OutOfBounds { .. } => "out of bounds",
            Self::Misaligned { .. } => "misaligned access",
            Self::ReadOnly { .. } => "store to read-only memory",
            Self::Uninitialized { .. } => "uninitialized read",
            Self::UnsetValue { .. } => "uninitialized value",
            Self::Race {
                location: Location::Shared { .. },
                ..
            } => "race in shared memory",
            Self::Race { .. } => "race in global memory",
            Self::CopyUnderWay { .. } => "copy under way",
            Self::CopyNotAwaited { .. } => "copy under way at the end",
            Self::MissingProxyFence { .. } => "missing proxy fence",
            Self::InvalidCopy { .. } => "invalid copy",
            Self::BlockNotAlive { .. } => "shared memory of a block that may not be alive",
            Self::NotShared { .. } => "not an address in shared memory",
            Self::StaleReadOnlyLoad { .. } => "read-only load of changing data",
            Self::PartialBarrier { .. } => "barrier reached by a part of the block",
            Self::DivergentBarrier { .. } => "barrier in divergent code",
            Self::InvalidBarrier { .. } => "invalid barrier",
            Self::Deadlock { .. } | Self::BlocksWait { .. } => "deadlock",
            Self::InactiveLanes { .. } | Self::LaneNotInMask { .. } => "lanes missing",
            Self::ShuffleFromInactive { .. } => "shuffle from an inactive lane",
            Self::StackOverflow { .. } | Self::CallDepth { .. } => "stack overflow",
            Self::BadCall { .. } => "invalid call",
            Self::BadBranchTable { .. } => "invalid branch",
            Self::FuelExhausted { .. } => "out of fuel",
            Self::Trap => "trap",
            Self::Breakpoint => "breakpoint",
        }
    }
}
