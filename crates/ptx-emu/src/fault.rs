//! Why a launch fails.
//!
//! Three kinds are kept apart: [`Fault::Program`], the kernel does something wrong; [`Fault::Unsupported`], the
//! kernel does something that is not modelled; [`Fault::Launch`], the launch was asked for wrongly.

use std::fmt;

use crate::place::Place;

/// Why a launch fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The program is wrong.
    #[error(transparent)]
    Program(Box<ProgramFault>),
    /// The program needs something that is not modelled.
    #[error(transparent)]
    Unsupported(Box<UnsupportedFault>),
    /// The launch is not possible.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadId {
    /// Block index in x, y, z.
    pub block: [u32; 3],
    /// Thread index in the block in x, y, z.
    pub thread: [u32; 3],
}

/// x, y, z in parentheses.
struct Index([u32; 3]);

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x}, {y}, {z})")
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "block {}, thread {}",
            Index(self.block),
            Index(self.thread)
        )
    }
}

/// What a program did wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {kind}\n  in kernel `{kernel}` at {place}, {thread}{}", kind.name(), Others(kind))]
pub struct ProgramFault {
    /// The kernel launched.
    pub kernel: String,
    /// The thread, the first of those that did it together.
    pub thread: ThreadId,
    /// The instruction.
    pub place: Place,
    /// What is wrong.
    pub kind: FaultKind,
}

/// An instruction that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not supported by the emulated device: {reason}\n  in kernel `{kernel}` at {place}, {thread}"
)]
pub struct UnsupportedFault {
    /// The kernel launched.
    pub kernel: String,
    /// The first thread that reached it.
    pub thread: ThreadId,
    /// The instruction.
    pub place: Place,
    /// What is not supported.
    pub reason: String,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Both, atomically.
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic operation",
        })
    }
}

/// One thread's access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub kind: AccessKind,
    /// How many bytes.
    pub bytes: u32,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.kind, Bytes(self.bytes.into()))
    }
}

/// A number of bytes in words.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// A place in memory, as a user knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a buffer of global memory.
    Buffer {
        /// The buffer's name.
        name: String,
        /// Bytes from its start.
        offset: u64,
    },
    /// In the block's shared memory.
    Shared {
        /// The variable, where one has a name.
        variable: Option<String>,
        /// Bytes from the start of the variable, or of shared memory.
        offset: u64,
    },
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer { name, offset } => write!(f, "byte {offset} of buffer `{name}`"),
            Self::Shared {
                variable: Some(name),
                offset,
            } => {
                write!(f, "byte {offset} of {}", SharedArray(name))
            }
            Self::Shared {
                variable: None,
                offset,
            } => write!(f, "byte {offset} of shared memory"),
        }
    }
}

/// A variable in shared memory, by the name that its author knows.
///
/// `cuda_std::shared_array!` makes statics whose mangled names end in the line where the macro stands.
struct SharedArray<'a>(&'a str);

impl fmt::Display for SharedArray<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{:#}", rustc_demangle::demangle(self.0));
        match name.rsplit_once("::__CUDA_STD_SHARED_") {
            Some((function, line)) => {
                write!(f, "the shared array of `{function}`, line {line}")
            }
            None => write!(f, "shared array `{name}`"),
        }
    }
}

/// Where an access that is out of bounds goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stray {
    /// Near a buffer of global memory.
    Buffer {
        /// The nearest buffer.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// Bytes from its start; negative if before it.
        offset: i64,
    },
    /// Inside a buffer that was freed.
    Freed {
        /// The buffer's name.
        name: String,
        /// Bytes from its start.
        offset: u64,
    },
    /// In the block's shared memory window.
    Shared {
        /// Shared memory of the block in bytes.
        size: u64,
        /// The offset.
        offset: u64,
    },
    /// In the thread's local memory window.
    Local {
        /// Local memory in use in bytes.
        size: u64,
        /// The offset.
        offset: u64,
    },
    /// In the kernel's parameters.
    Param {
        /// Bytes of parameters.
        size: u64,
        /// The offset.
        offset: u64,
    },
    /// Near address 0.
    Null {
        /// The address.
        address: u64,
    },
    /// 2^32 elements beyond a place near a buffer.
    Wrapped {
        /// The buffer's name.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// Bytes from its start to that place; negative if before it.
        offset: i64,
    },
    /// Near nothing.
    Nowhere {
        /// The address.
        address: u64,
    },
}

/// "reaches 4 bytes past its end (index 5, length 5)" and the like. Index and length are in elements of the access's
/// size, where these are whole numbers.
fn overrun(f: &mut fmt::Formatter<'_>, offset: i64, bytes: u32, size: u64) -> fmt::Result {
    if offset < 0 {
        let before = Bytes(offset.unsigned_abs());
        write!(f, "starts {before} before its start")?;
    } else {
        let end = offset.unsigned_abs() + u64::from(bytes);
        let past = Bytes(end.saturating_sub(size));
        write!(f, "reaches {past} past its end")?;
    }
    let element = i64::from(bytes);
    if offset % element == 0 && size.is_multiple_of(bytes.into()) {
        let (index, length) = (offset / element, size / u64::from(bytes));
        write!(f, " (index {index}, length {length})")?;
    }
    Ok(())
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaceAccess {
    /// What it did.
    pub kind: AccessKind,
    /// Who.
    pub thread: ThreadId,
    /// Where.
    pub place: Place,
}

impl fmt::Display for RaceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}, {}", self.kind, self.place, self.thread)
    }
}

/// Threads that wait, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// How many threads.
    pub threads: u32,
    /// The first of them.
    pub first: ThreadId,
    /// Where they wait.
    pub place: Place,
    /// What for ("barrier 0", "shfl.sync").
    pub what: String,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Index(first) = Index(self.first.thread);
        write!(
            f,
            "{} wait{} for {} at {} (first: thread {})",
            Threads(self.threads),
            if self.threads == 1 { "s" } else { "" },
            self.what,
            self.place,
            Index(first)
        )
    }
}

/// A number of threads in words.
struct Threads(u32);

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} thread{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// How the threads of a race stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceBetween {
    /// Lanes of one warp that executed one instruction.
    OneInstruction,
    /// Lanes of one warp.
    Lanes,
    /// Warps of one block.
    Warps,
    /// Blocks.
    Blocks,
}

impl fmt::Display for RaceBetween {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneInstruction => "by the same instruction, with another value: which one stays is not defined",
            Self::Lanes => {
                "by another lane of the warp, with neither a barrier nor a warp barrier between them"
            }
            Self::Warps => "by another warp, with no barrier between them",
            Self::Blocks => "by another block: nothing orders the blocks of one launch",
        })
    }
}

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
        /// The place in a buffer, if it is in one.
        location: Option<Location>,
    },
    /// A store to constant memory or parameters.
    ReadOnly {
        /// The access.
        access: Access,
        /// What it would change.
        what: String,
    },
    /// A load of memory that nobody wrote.
    Uninitialized {
        /// The access.
        access: Access,
        /// What it reads.
        location: Location,
    },
    /// Two accesses to the same bytes that nothing orders.
    Race {
        /// What both access.
        location: Location,
        /// The later access in this run: the fault's thread and place are its.
        kind: AccessKind,
        /// The earlier access in this run.
        earlier: RaceAccess,
        /// How the two threads stand to each other.
        between: RaceBetween,
    },
    /// A load through the read-only path of data that was stored during the launch.
    StaleReadOnlyLoad {
        /// What is read.
        location: Location,
        /// The store.
        earlier: RaceAccess,
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
        other: Place,
        /// That lane's thread.
        other_thread: ThreadId,
    },
    /// A barrier with a wrong number, or thread count.
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
            Self::Race {
                location: Location::Shared { .. },
                ..
            } => "race in shared memory",
            Self::Race { .. } => "race in global memory",
            Self::StaleReadOnlyLoad { .. } => "read-only load of changing data",
            Self::PartialBarrier { .. } => "barrier reached by a part of the block",
            Self::DivergentBarrier { .. } => "barrier in divergent code",
            Self::InvalidBarrier { .. } => "invalid barrier",
            Self::Deadlock { .. } => "deadlock",
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

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { access, stray } => write_stray(f, access, stray),
            Self::Misaligned {
                access,
                address,
                location,
            } => {
                write!(f, "{access} at ")?;
                if let Some(location) = location {
                    write!(f, "{location}, ")?;
                }
                let past = Bytes(address % u64::from(access.bytes));
                let multiple = access.bytes;
                write!(
                    f,
                    "address {address:#x}, which is {past} past a multiple of {multiple}"
                )
            }
            Self::ReadOnly { access, what } => write!(f, "{access} to {what}"),
            Self::Uninitialized { access, location } => {
                write!(
                    f,
                    "{access} from {location}, which nothing has written before"
                )
            }
            Self::Race {
                location,
                kind,
                earlier,
                between,
            } => {
                write!(
                    f,
                    "{kind} of {location} and an earlier {} {between}",
                    earlier.kind
                )
            }
            Self::StaleReadOnlyLoad { location, .. } => {
                write!(f, "ld.global.nc of {location}, which this launch changes")
            }
            Self::PartialBarrier {
                barrier,
                arrived,
                threads,
                missing,
            } => write!(
                f,
                "{} of {threads} reached barrier {barrier}; the others ended without it (first: thread {}). Does it stand in a branch, or after a `return`?",
                Threads(*arrived),
                Index(missing.thread)
            ),
            Self::DivergentBarrier { barrier, .. } => {
                write!(
                    f,
                    "threads of one warp reached barrier {barrier} at different places"
                )
            }
            Self::InvalidBarrier { reason } => f.write_str(reason),
            Self::Deadlock { .. } => f.write_str("no thread of the block can go on"),
            Self::InactiveLanes {
                instruction,
                mask,
                missing,
                ..
            } => write!(
                f,
                "{instruction} with mask {mask:#010x} waits for lanes {missing:#010x}, which do not reach it"
            ),
            Self::LaneNotInMask {
                instruction,
                mask,
                lane,
            } => {
                write!(
                    f,
                    "lane {lane} executes {instruction} with mask {mask:#010x}, which does not name it"
                )
            }
            Self::ShuffleFromInactive {
                source,
                participants,
            } => write!(
                f,
                "reads lane {source}, which does not take part (lanes {participants:#010x} do)"
            ),
            Self::StackOverflow {
                needed,
                limit,
                depth,
            } => write!(
                f,
                "{needed} bytes of local memory in {depth} nested calls; the limit is {limit} bytes"
            ),
            Self::CallDepth { limit } => {
                write!(
                    f,
                    "more than {limit} nested calls; is there an endless recursion?"
                )
            }
            Self::BadCall { address } => write!(f, "call of {address:#x}, which is no function"),
            Self::BadBranchTable { index, entries } => {
                write!(f, "branch to entry {index} of a table of {entries}")
            }
            Self::FuelExhausted { fuel } => write!(
                f,
                "the block has executed {fuel} warp instructions and has not ended; is there an endless loop, or a wait for another block?"
            ),
            Self::Trap => write!(
                f,
                "the kernel executed `trap`: a panic in Rust, as of an index out of range, a division by zero, an `unwrap` of nothing"
            ),
            Self::Breakpoint => write!(f, "the kernel executed `brkpt`"),
        }
    }
}

/// The other threads of a fault, a line each.
struct Others<'a>(&'a FaultKind);

impl fmt::Display for Others<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            FaultKind::Race { earlier, .. } | FaultKind::StaleReadOnlyLoad { earlier, .. } => {
                write!(f, "\n  earlier {earlier}")
            }
            FaultKind::DivergentBarrier {
                other,
                other_thread,
                ..
            } => {
                write!(f, "\n  other barrier at {other}, {other_thread}")
            }
            FaultKind::InactiveLanes {
                elsewhere: Some(elsewhere),
                ..
            } => write!(f, "\n  {elsewhere}"),
            FaultKind::Deadlock { waiting, exited } => {
                for waiting in waiting {
                    write!(f, "\n  {waiting}")?;
                }
                match exited {
                    0 => Ok(()),
                    _ => write!(f, "\n  {} exited", Threads(*exited)),
                }
            }
            _ => Ok(()),
        }
    }
}

fn write_stray(f: &mut fmt::Formatter<'_>, access: &Access, stray: &Stray) -> fmt::Result {
    match stray {
        Stray::Buffer { name, size, offset } => {
            write!(
                f,
                "{access} at offset {offset} of buffer `{name}` ({}) ",
                Bytes(*size)
            )?;
            overrun(f, *offset, access.bytes, *size)
        }
        Stray::Freed { name, offset } => {
            write!(
                f,
                "{access} at offset {offset} of buffer `{name}`, which has been freed"
            )
        }
        Stray::Shared { size, offset } => {
            write!(
                f,
                "{access} at offset {offset} of shared memory ({}) ",
                Bytes(*size)
            )?;
            overrun(f, *offset as i64, access.bytes, *size)
        }
        Stray::Local { size, offset } => {
            write!(
                f,
                "{access} at offset {offset} of local memory ({}) ",
                Bytes(*size)
            )?;
            overrun(f, *offset as i64, access.bytes, *size)
        }
        Stray::Param { size, offset } => {
            write!(
                f,
                "{access} at offset {offset} of the parameters ({}) ",
                Bytes(*size)
            )?;
            overrun(f, *offset as i64, access.bytes, *size)
        }
        Stray::Null { address } => {
            write!(f, "{access} at address {address:#x}: a null pointer")
        }
        Stray::Wrapped { name, size, offset } => {
            write!(
                f,
                "{access} at offset {} of buffer `{name}` ({}): 2^32 elements too far, as when an index of type u32 goes below 0",
                offset + (i64::from(access.bytes) << 32),
                Bytes(*size)
            )?;
            match offset % i64::from(access.bytes) {
                0 => write!(f, " (index {})", offset / i64::from(access.bytes)),
                _ => Ok(()),
            }
        }
        Stray::Nowhere { address } => {
            write!(f, "{access} at address {address:#x}, where no buffer is")
        }
    }
}

/// Why a launch is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// No such kernel.
    #[error("the module has no kernel `{name}`; it has {}", names(available))]
    NoSuchKernel {
        /// The name asked for.
        name: String,
        /// The kernels of the module.
        available: Vec<String>,
    },
    /// Wrong size of the parameter block.
    #[error("kernel `{kernel}` takes {expected} bytes of parameters, {given} were given")]
    Parameters {
        /// The kernel.
        kernel: String,
        /// Bytes that its signature has.
        expected: u32,
        /// Bytes given.
        given: usize,
    },
    /// An empty grid or block.
    #[error("the {what} is ({}, {}, {}): no dimension may be 0", shape[0], shape[1], shape[2])]
    Empty {
        /// "grid" or "block".
        what: &'static str,
        /// Its shape.
        shape: [u32; 3],
    },
    /// A dimension of grid or block beyond the device's limit.
    #[error("the {what} has {given} in {axis}; the device allows {limit}")]
    Dimension {
        /// "grid" or "block".
        what: &'static str,
        /// "x", "y" or "z".
        axis: &'static str,
        /// The size asked for.
        given: u32,
        /// The largest size.
        limit: u32,
    },
    /// Too many threads in a block.
    #[error("a block of {given} threads; {who} allows {limit}")]
    Threads {
        /// Threads asked for.
        given: u64,
        /// Threads allowed.
        limit: u64,
        /// "the device", or the kernel by name.
        who: String,
    },
    /// Too many blocks.
    #[error("a grid of ({}, {}, {}) blocks; at most {limit} can be run", shape[0], shape[1], shape[2])]
    Blocks {
        /// The grid asked for.
        shape: [u32; 3],
        /// The most blocks.
        limit: u64,
    },
    /// Another block shape than the kernel was compiled for.
    #[error("kernel `{kernel}` must be launched with blocks of ({}, {}, {})", required[0], required[1], required[2])]
    RequiredBlock {
        /// The kernel.
        kernel: String,
        /// The shape of `.reqntid`.
        required: [u32; 3],
    },
    /// Too much shared memory.
    #[error("{given} bytes of {what} shared memory a block; the device allows {limit}")]
    SharedMemory {
        /// "static", or "static and dynamic".
        what: &'static str,
        /// Bytes asked for.
        given: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// Too much local memory.
    #[error(
        "kernel `{kernel}` needs {given} bytes of local memory a thread, for arrays and variables that do not fit in registers; the device allows {limit}"
    )]
    LocalMemory {
        /// The kernel.
        kernel: String,
        /// Bytes that its frame takes.
        given: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The module belongs to another machine, or was unloaded.
    #[error("the module was not loaded by this machine")]
    ForeignModule,
}

fn names(all: &[String]) -> String {
    match all {
        [] => "none".into(),
        _ => all
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}
