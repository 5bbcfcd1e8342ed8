//! The kinds of faults: what can be wrong with a program, and the message of each.

use std::ops::Range;

use super::access::{Access, AccessKind, Lifetime, Location, UnsetUse};
use super::image::{ImageAccess, ImageProblem};
use super::quantity::{Bytes, Index, Threads};
use super::stray::Stray;
use super::threads::{RaceAccess, RaceBetween, ThreadId, Waiting};
use crate::conditions::HandleProblem;
use crate::position::CodePosition;

/// The kinds of faults of a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access to memory that is not the program's.
    #[error("{access} {}", stray.as_target(access.bytes))]
    OutOfBounds {
        /// The access.
        access: Access,
        /// Where it goes.
        stray: Stray,
    },
    /// An access at an address that is not a multiple of its size.
    #[error(
        "{access} at {}address {address:#x}, which is {} past a multiple of {}",
        place(location.as_ref()), Bytes(address % u64::from(access.bytes)), access.bytes
    )]
    Misaligned {
        /// The access.
        access: Access,
        /// The address in its space.
        address: u64,
        /// The position in a buffer, if it is in one.
        location: Option<Location>,
    },
    /// A store to constant memory or parameters.
    #[error("{access} to {what}")]
    ReadOnly {
        /// The access.
        access: Access,
        /// The memory that it would change.
        what: String,
    },
    /// A load of memory that nothing has written.
    #[error("{access} from {location}, {}", unwritten(unset))]
    Uninitialized {
        /// The access.
        access: Access,
        /// The memory that it reads.
        location: Location,
        /// The bytes that nothing has written, counted as those of the location, as far as they are
        /// known; none if it is all of them.
        unset: Vec<Range<u64>>,
        /// How the value is used, and where, if it takes that to be a fault.
        used: Option<(UnsetUse, CodePosition)>,
    },
    /// Use of a value that nothing has set: of local memory that was not written, or of a variable.
    #[error(
        "{used} a value that nothing has set: a variable or an array element, read before it is written"
    )]
    UnsetValue {
        /// The use of the value.
        used: UnsetUse,
        /// The latest load from local memory that nothing has written, in the block.
        loaded: Option<CodePosition>,
    },
    /// Two accesses to the same bytes that nothing orders.
    #[error("{kind} of {location} and an earlier {} {between}", earlier.kind)]
    Race {
        /// The bytes that both access.
        location: Location,
        /// The later access in this run: the fault's thread and position are that access's.
        kind: AccessKind,
        /// The earlier access in this run.
        earlier: RaceAccess,
        /// How the two threads stand to each other.
        between: RaceBetween,
        /// Threads that wait at a barrier that the later access's thread has gone past.
        skipped: Option<Waiting>,
    },
    /// An access to what an asynchronous copy has under way.
    #[error("{}", copy_under_way(access, location, copy.as_ref(), overwritten.is_some()))]
    CopyUnderWay {
        /// The access.
        access: Access,
        /// The bytes that it accesses.
        location: Location,
        /// The copy, where it is known: what it does to these bytes, and where it was started.
        copy: Option<RaceAccess>,
        /// If the access is a copy's own: the store that has changed what it reads before it had
        /// arrived.
        overwritten: Option<RaceAccess>,
    },
    /// A bulk copy that is under way when its thread ends, or the block whose memory it goes to.
    /// The fault's position is where it was started.
    #[error("a bulk copy {}", not_awaited(copy.kind, location))]
    CopyNotAwaited {
        /// The copy.
        copy: Access,
        /// The bytes that it copies, in shared memory.
        location: Location,
    },
    /// An access by the asynchronous proxy to what ordinary instructions have stored, with no fence
    /// between the two.
    #[error(
        "{by}'s {copy}: an ordinary instruction has stored to {location}, and no `bulk_copy::{}` stands between (in PTX `fence.proxy.async`)",
        proxy_fence(location)
    )]
    MissingProxyFence {
        /// The accessor: a bulk copy, or an instruction.
        by: &'static str,
        /// Its access.
        copy: Access,
        /// The bytes that it may not see.
        location: Location,
    },
    /// A copy of a size that there is not, or that reports wrongly.
    #[error("{reason}")]
    InvalidCopy {
        /// The rule that it breaks.
        reason: String,
    },
    /// A product of a warpgroup (`wgmma`) that breaks a rule.
    #[error("{reason}")]
    Product {
        /// The kind of the rule.
        problem: ProductProblem,
        /// The rule that it breaks.
        reason: String,
    },
    /// A load through the read-only path of data that is stored during the launch.
    #[error("ld.global.nc of {location}, which this launch changes")]
    StaleReadOnlyLoad {
        /// The bytes that are read.
        location: Location,
        /// The store.
        store: RaceAccess,
        /// The store follows the load.
        is_later: bool,
    },
    /// An access by a texture or surface object that it does not allow.
    #[error("{access}: {problem}")]
    Image {
        /// The access.
        access: ImageAccess,
        /// The rule that it breaks.
        problem: ImageProblem,
    },
    /// An access to the shared memory of a block of the cluster that may not be alive.
    #[error("{access} in shared memory of block {}, which {lifetime}", Index(*block))]
    BlockNotAlive {
        /// The access.
        access: Access,
        /// The block.
        block: [u32; 3],
        /// Why it may not be.
        lifetime: Lifetime,
    },
    /// `mapa` or `getctarank` of an address that is not in shared memory.
    #[error("{instruction} of address {address:#x}")]
    NotShared {
        /// The instruction's name.
        instruction: &'static str,
        /// The generic address.
        address: u64,
    },
    /// A barrier that a part of the block reaches, while others go past it. Threads that return
    /// before count as arrived.
    #[error(
        "{} of {threads} reached barrier {barrier}; others went past it and ended (thread {}). Is it in a branch, or in a loop that some threads leave earlier?",
        Threads(*arrived), Index(missing.thread)
    )]
    PartialBarrier {
        /// The barrier's number.
        barrier: u32,
        /// Threads that reached it.
        arrived: u32,
        /// Threads of the block.
        threads: u32,
        /// A thread that has gone past it and ended.
        missing: ThreadId,
    },
    /// Lanes of one warp at different barrier instructions at once.
    #[error("threads of one warp reached barrier {barrier} at different places")]
    DivergentBarrier {
        /// The barrier's number.
        barrier: u32,
        /// Where another lane of the warp waits.
        other: CodePosition,
        /// That lane's thread.
        other_thread: ThreadId,
    },
    /// A barrier with a wrong number, or thread count; an object of `mbarrier` that is used
    /// wrongly.
    #[error("{reason}")]
    InvalidBarrier {
        /// The rule that it breaks.
        reason: String,
    },
    /// No thread can go on.
    #[error("no thread of the {} can go on", together(*blocks))]
    Deadlock {
        /// The threads that wait, and their places.
        waiting: Vec<Waiting>,
        /// Threads that have exited.
        exited: u32,
        /// Blocks that run together.
        blocks: u32,
    },
    /// Blocks wait for something that no block does that runs.
    #[error("{}", in_vain(*running, *waiting, *resident))]
    BlocksWait {
        /// Blocks that run.
        running: u64,
        /// Blocks that have not started.
        waiting: u64,
        /// Blocks of the launch that the device holds at once.
        resident: u64,
    },
    /// A warp-wide instruction whose mask names lanes that do not reach it.
    #[error(
        "{instruction} with mask {mask:#010x} waits for lanes {missing:#010x}, which do not reach it"
    )]
    InactiveLanes {
        /// The instruction's name, with its qualifiers.
        instruction: String,
        /// Its mask.
        mask: u32,
        /// Lanes of the mask that are elsewhere.
        missing: u32,
        /// Where one of them is, if it waits.
        elsewhere: Option<Waiting>,
    },
    /// A lane executes a warp-wide instruction whose mask does not name it.
    #[error("lane {lane} executes {instruction} with mask {mask:#010x}, which does not name it")]
    LaneNotInMask {
        /// The instruction's name, with its qualifiers.
        instruction: String,
        /// Its mask.
        mask: u32,
        /// The lane.
        lane: u32,
    },
    /// A shuffle that reads from a lane that does not take part.
    #[error("reads lane {lane}, which does not take part (lanes {participants:#010x} do)")]
    ShuffleFromInactive {
        /// The lane read from.
        lane: u32,
        /// Lanes that take part.
        participants: u32,
    },
    /// Too many nested calls.
    #[error("more than {limit} nested calls; is there an endless recursion?")]
    CallDepth {
        /// Nested calls allowed.
        limit: u32,
    },
    /// Too much local memory.
    #[error("{needed} bytes of local memory in {depth} nested calls; the limit is {limit} bytes")]
    StackOverflow {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// Nested calls.
        depth: u32,
    },
    /// A recursion that takes more stack than a thread has.
    #[error(
        "a recursion, {depth} calls deep, takes {needed} bytes of stack or more, and a thread has {limit} (`cudaLimitStackSize`)"
    )]
    Recursion {
        /// Bytes needed.
        needed: u64,
        /// Bytes that a thread has.
        limit: u64,
        /// Nested calls.
        depth: u32,
    },
    /// A `free` of what `malloc` has not given.
    #[error(
        "`free` of address {address:#x}, which is not the start of memory that `malloc` gave, or is freed already"
    )]
    BadFree {
        /// The address.
        address: u64,
    },
    /// A value for a conditional node of a graph that the kernel cannot set.
    #[error("`cudaGraphSetConditional` of {handle:#x}, {problem}")]
    BadCondition {
        /// The handle.
        handle: u64,
        /// What is wrong with it.
        problem: HandleProblem,
    },
    /// A call to what is not a function.
    #[error("call of {address:#x}, which is not a function")]
    BadCall {
        /// The address called.
        address: u64,
    },
    /// A branch beyond the end of its table.
    #[error("branch to entry {index} of a table of {entries}")]
    BadBranchTable {
        /// The index.
        index: u32,
        /// Entries of the table.
        entries: u32,
    },
    /// The block executed more instructions than it may.
    #[error(
        "the block has executed {fuel} warp instructions and has not ended; is there an endless loop, or a wait for another block?"
    )]
    FuelExhausted {
        /// Warp instructions allowed.
        fuel: u64,
    },
    /// `trap`.
    #[error(
        "the kernel executed `trap`: a panic, for example from an index out of range, a division by zero or an `unwrap` of `None`"
    )]
    Trap,
    /// A failed assertion, by the driver's `__assertfail`: a panic of a kernel in Rust that was
    /// compiled to say so, or `assert` in CUDA C++.
    #[error("{message}")]
    Assertion {
        /// Its message, or the condition that does not hold.
        message: String,
        /// The function that states it; `panic` for a panic in Rust.
        function: String,
    },
    /// `brkpt`.
    #[error("the kernel executed `brkpt`")]
    Breakpoint,
    /// An instruction that this launch may not execute.
    #[error("{reason}")]
    IllegalInstruction {
        /// The instruction, and its condition.
        reason: String,
    },
}

impl FaultKind {
    /// The name of the buffer of global memory that it is about, or is nearest to.
    pub fn buffer(&self) -> Option<&str> {
        match self {
            Self::OutOfBounds { stray, .. } => stray.buffer(),
            Self::Misaligned { location, .. } => location.as_ref()?.buffer(),
            Self::Uninitialized { location, .. }
            | Self::Race { location, .. }
            | Self::CopyUnderWay { location, .. }
            | Self::CopyNotAwaited { location, .. }
            | Self::MissingProxyFence { location, .. }
            | Self::StaleReadOnlyLoad { location, .. } => location.buffer(),
            _ => None,
        }
    }

    /// True for what a GPU does not notice: it goes on, with a result that may be wrong. What it
    /// notices are the exceptions of its hardware and of the driver's own code (CUDA-GDB, "GPU
    /// error reporting"), and a wait that has no end.
    pub fn is_unnoticed_by_a_gpu(&self) -> bool {
        match self {
            // Bytes, order and rules that no hardware keeps account of.
            Self::Uninitialized { .. }
            | Self::UnsetValue { .. }
            | Self::Race { .. }
            | Self::StaleReadOnlyLoad { .. }
            | Self::CopyUnderWay { .. }
            | Self::CopyNotAwaited { .. }
            | Self::MissingProxyFence { .. }
            | Self::Product { .. }
            | Self::PartialBarrier { .. }
            | Self::DivergentBarrier { .. }
            | Self::InvalidBarrier { .. }
            | Self::ShuffleFromInactive { .. } => true,
            Self::OutOfBounds { access, stray } => stray.is_reached_by_a_gpu(access.bytes),
            Self::Image { problem, .. } => problem.is_unnoticed_by_a_gpu(),
            // Seen on an H200 (driver 580): the others are illegal addresses.
            Self::BadCondition { problem, .. } => *problem == HandleProblem::OfOtherGraph,
            // Its blocks are resident; what has ended is another exception.
            Self::BlockNotAlive { lifetime, .. } => *lifetime != Lifetime::HasEnded,
            // Lanes that end leave the others alone, and these go on.
            Self::InactiveLanes { elsewhere, .. } => elsewhere.is_none(),
            Self::Misaligned { .. }
            | Self::ReadOnly { .. }
            | Self::InvalidCopy { .. }
            | Self::NotShared { .. }
            | Self::LaneNotInMask { .. }
            | Self::CallDepth { .. }
            | Self::StackOverflow { .. }
            | Self::Recursion { .. }
            | Self::BadFree { .. }
            | Self::BadCall { .. }
            | Self::BadBranchTable { .. }
            | Self::Trap
            | Self::Assertion { .. }
            | Self::Breakpoint
            | Self::IllegalInstruction { .. } => false,
            // It would wait for ever.
            Self::Deadlock { .. } | Self::BlocksWait { .. } | Self::FuelExhausted { .. } => false,
        }
    }

    /// A short name of the kind of fault.
    pub fn name(&self) -> &'static str {
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
            Self::Product { problem, .. } => problem.name(),
            Self::Image { problem, .. } => problem.name(),
            Self::BlockNotAlive { .. } => "shared memory of a block that may not be alive",
            Self::NotShared { .. } => "not an address in shared memory",
            Self::StaleReadOnlyLoad { .. } => "read-only load of changing data",
            Self::PartialBarrier { .. } => "barrier reached by a part of the block",
            Self::DivergentBarrier { .. } => "barrier in divergent code",
            Self::InvalidBarrier { .. } => "invalid barrier",
            Self::Deadlock { .. } | Self::BlocksWait { .. } => "deadlock",
            Self::InactiveLanes { .. } | Self::LaneNotInMask { .. } => "lanes missing",
            Self::ShuffleFromInactive { .. } => "shuffle from an inactive lane",
            Self::StackOverflow { .. } | Self::Recursion { .. } | Self::CallDepth { .. } => {
                "stack overflow"
            }
            Self::BadFree { .. } => "invalid free",
            Self::BadCondition { .. } => "invalid conditional handle",
            Self::BadCall { .. } => "invalid call",
            Self::BadBranchTable { .. } => "invalid branch",
            Self::FuelExhausted { .. } => "out of fuel",
            Self::Trap => "trap",
            Self::Assertion { function, .. } if function == "panic" => "panic",
            Self::Assertion { .. } => "failed assertion",
            Self::Breakpoint => "breakpoint",
            Self::IllegalInstruction { .. } => "illegal instruction",
        }
    }
}

/// The rules that a product of a warpgroup may break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProductProblem {
    /// Its registers or its shared memory are accessed before the wait for it.
    UnderWay,
    /// No `wgmma.fence` orders its registers behind other accesses to them.
    NotFenced,
    /// Not a whole warpgroup executes it, or not with the same operands.
    Invalid,
}

impl ProductProblem {
    fn name(self) -> &'static str {
        match self {
            Self::UnderWay => "product under way",
            Self::NotFenced => "missing wgmma fence",
            Self::Invalid => "invalid product",
        }
    }
}

/// The part that nothing has written of the memory that an access reads.
fn unwritten(unset: &[Range<u64>]) -> String {
    let bytes = |part: &Range<u64>| match part.end - part.start {
        1 => part.start.to_string(),
        _ => format!("{} to {}", part.start, part.end - 1),
    };
    let bytes = match unset {
        [] => return "which nothing has written before".to_owned(),
        [only] if only.end - only.start == 1 => format!("byte {}", bytes(only)),
        [only] => format!("bytes {}", bytes(only)),
        [first, second] => format!("bytes {} and {}", bytes(first), bytes(second)),
        [first, second, ..] => format!("bytes {}, {} and others", bytes(first), bytes(second)),
    };
    format!("whose {bytes} nothing has written before")
}

/// A position, before the address in it.
fn place(location: Option<&Location>) -> String {
    location.map_or_else(String::new, |location| format!("{location}, "))
}

fn copy_under_way(
    access: &Access,
    location: &Location,
    copy: Option<&RaceAccess>,
    is_overwritten: bool,
) -> String {
    if is_overwritten {
        return format!(
            "an asynchronous copy's {access} from {location}, which a thread has overwritten before the copy had arrived: wait for the copy before anything stores there"
        );
    }
    let direction = match copy {
        Some(copy) if copy.kind == AccessKind::Load => "from",
        _ => "to",
    };
    format!(
        "{access} at {location}, {direction} which a copy is under way: nothing has waited for it"
    )
}

fn not_awaited(copy: AccessKind, location: &Location) -> String {
    match copy {
        AccessKind::Load => format!(
            "from {location} may not have read it when the thread ends that started it: wait for it before (`bulk_copy::wait_read`, in PTX `cp.async.bulk.wait_group.read`)"
        ),
        _ => format!(
            "to {location} is under way when the block ends: wait for it before (`mbarrier::wait`)"
        ),
    }
}

fn proxy_fence(location: &Location) -> &'static str {
    match location {
        Location::Shared { .. } => "fence_shared",
        Location::Buffer { .. } => "fence_global",
    }
}

/// Blocks that run together.
fn together(blocks: u32) -> String {
    match blocks {
        1 => "block".to_owned(),
        _ => format!("cluster of {blocks} blocks"),
    }
}

/// Blocks that poll in vain, and why.
fn in_vain(running: u64, waiting: u64, resident: u64) -> String {
    let (blocks, they) = match running {
        1 => ("the block waits".to_owned(), "its threads poll"),
        _ => (format!("the {running} blocks that run wait"), "they poll"),
    };
    let polls = format!("{they} memory in which nothing changes any more");
    match (waiting, running) {
        (0, 1) => format!("{blocks} for something that none of its threads does: {polls}"),
        (0, _) => format!("{blocks} for something that none of them does: {polls}"),
        _ => format!(
            "{blocks} for blocks that cannot start (not started: {waiting}): the device holds {resident} of this launch's blocks at once, and {polls}. A block may wait only for blocks that run at the same time: launch at most {resident} and give each more to do, or end the launch where blocks wait for each other"
        ),
    }
}
