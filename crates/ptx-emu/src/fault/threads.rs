//! Threads, and how they stand to each other.

use std::fmt;

use super::access::AccessKind;
use super::quantity::{Index, Threads};
use crate::position::CodePosition;

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadId {
    /// Block index in x, y, z.
    pub block: [u32; 3],
    /// Thread index in the block in x, y, z.
    pub thread: [u32; 3],
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

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaceAccess {
    /// Its kind.
    pub kind: AccessKind,
    /// Who.
    pub thread: ThreadId,
    /// Where.
    pub place: CodePosition,
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
    pub place: CodePosition,
    /// The thing that they wait for ("barrier 0", "shfl.sync").
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

/// How the threads of a race stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceBetween {
    /// Lanes of one warp that executed one instruction.
    OneInstruction,
    /// Lanes of one warp.
    Lanes,
    /// Warps of one block.
    Warps,
    /// Any two threads, or one: the earlier access is an asynchronous store.
    AsyncStore,
    /// Blocks of one cluster.
    Cluster,
    /// Blocks.
    Blocks,
    /// Blocks that communicate by atomics or strong accesses.
    BlocksWithFlags,
    /// Threads whose accesses are both strong, one of them for other threads only.
    Scopes,
    /// Threads whose accesses are both strong, and of different widths.
    Widths,
    /// Blocks that communicate, where the later one has its fence, and the earlier one lacks its
    /// own.
    BlocksWithoutRelease,
    /// Blocks that communicate, where the earlier one has its fence, and the later one lacks its
    /// own.
    BlocksWithoutAcquire,
    /// Blocks that communicate, and have both fences, where the later one has not read what the
    /// earlier one has released.
    BlocksWithOtherFlags,
}

impl fmt::Display for RaceBetween {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneInstruction => "by the same instruction, with another value: which one stays is not defined",
            Self::Lanes => {
                "by another lane of the warp, with no barrier or warp barrier between them"
            }
            Self::Warps => {
                "by another warp, with no barrier between them (or, in a loop, between one iteration and the next)"
            }
            Self::AsyncStore => {
                "that is asynchronous, without a wait for its `mbarrier` object between them: also the thread that stores has to wait (`mbarrier::wait`)"
            }
            Self::Cluster => {
                "by another block of the cluster, with no barrier of the cluster between them (or, in a loop, between one iteration and the next)"
            }
            Self::Blocks => "by another block: nothing orders the blocks of one launch",
            Self::Scopes => {
                "by another block, beyond the scope of one of the two: `.cta` (or `_block`) is for the threads of one block, `.cluster` for those of one cluster, `.gpu` for those of one device"
            }
            Self::Widths => {
                "by another thread, of another width: atomic operations of different widths are not atomic for each other"
            }
            Self::BlocksWithoutRelease => {
                "by another block, which lacks a fence: put a device-wide fence (or a release) there, behind that access and before the atomic or flag that tells this block"
            }
            Self::BlocksWithoutAcquire => {
                "by another block, and a fence is missing on this side: put a device-wide fence (or an acquire) here, between the atomic or flag that tells of the other block and this access"
            }
            Self::BlocksWithOtherFlags => {
                "by another block, and the fences on both sides do not meet: this block has not read the atomic or flag that the other stored behind its fence, or a third block's plain store to that flag came in between (atomics would pass the order on)"
            }
            Self::BlocksWithFlags => {
                "by another block, and nothing orders the two: that takes a device-wide fence (or a release) behind the first, an atomic or a flag that the other block reads, and a fence (or an acquire) there before the second"
            }
        })
    }
}
