//! What is wrong with a program, in words.

use std::fmt;

use super::access::{Access, AccessKind, Bytes, Lifetime, Location, Stray};
use super::kind::FaultKind;
use super::threads::{Index, Threads};

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
            Self::UnsetValue { used, .. } => {
                write!(
                    f,
                    "{used} a value that nothing has set: a variable or an array element, read before it is written"
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
            Self::CopyUnderWay {
                access,
                location,
                overwritten: Some(_),
                ..
            } => write!(
                f,
                "an asynchronous copy's {access} from {location}, which a thread has overwritten before the copy had arrived: wait for the copy before anything stores there"
            ),
            Self::CopyUnderWay {
                access,
                location,
                copy,
                ..
            } => {
                let direction = match copy {
                    Some(copy) if copy.kind == AccessKind::Load => "from",
                    _ => "to",
                };
                write!(
                    f,
                    "{access} at {location}, {direction} which a copy is under way: nothing has waited for it"
                )
            }
            Self::CopyNotAwaited { copy, location } => match copy.kind {
                AccessKind::Load => write!(
                    f,
                    "a bulk copy from {location} may not have read it when the thread ends that started it: wait for it before (`bulk_copy::wait_read`, in PTX `cp.async.bulk.wait_group.read`)"
                ),
                _ => write!(
                    f,
                    "a bulk copy to {location} is under way when the block ends: wait for it before (`mbarrier::wait`)"
                ),
            },
            Self::MissingProxyFence { copy, location } => {
                let fence = match location {
                    Location::Shared { .. } => "fence_shared",
                    Location::Buffer { .. } => "fence_global",
                };
                write!(
                    f,
                    "a bulk copy's {copy}: an ordinary instruction has stored to {location}, and no `bulk_copy::{fence}` stands between (in PTX `fence.proxy.async`)"
                )
            }
            Self::InvalidCopy { reason } => f.write_str(reason),
            Self::StaleReadOnlyLoad { location, .. } => {
                write!(f, "ld.global.nc of {location}, which this launch changes")
            }
            Self::BlockNotAlive {
                access,
                block,
                lifetime,
            } => {
                write!(
                    f,
                    "{access} in shared memory of block {}, which ",
                    Index(*block)
                )?;
                f.write_str(match lifetime {
                    Lifetime::MayNotHaveStarted => {
                        "may not have started: the accessing block has not passed a barrier of the cluster; put a `cluster::sync()` before the first access to another block's memory"
                    }
                    Lifetime::HasEnded => {
                        "has ended: a barrier of the cluster must keep it until all have made their accesses; put a `cluster::sync()` after the last access to another block's memory"
                    }
                    Lifetime::MayHaveEnded => {
                        "may end before: no barrier of the cluster stands between the access and the end of that block; put a `cluster::sync()` after the last access to another block's memory"
                    }
                })
            }
            Self::NotShared {
                instruction,
                address,
            } => write!(f, "{instruction} of address {address:#x}"),
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
            Self::Deadlock { blocks: 1, .. } => f.write_str("no thread of the block can go on"),
            Self::Deadlock { blocks, .. } => {
                write!(f, "no thread of the cluster of {blocks} blocks can go on")
            }
            Self::BlocksWait {
                running,
                waiting: 0,
                instructions,
                ..
            } => write!(
                f,
                "the {running} blocks that run wait for something that none of them does: they have polled memory for {instructions} warp instructions, and nothing in it has changed"
            ),
            Self::BlocksWait {
                running,
                waiting,
                resident,
                instructions,
            } => write!(
                f,
                "the {running} blocks that run wait for blocks that cannot start (not started: {waiting}): the device holds {resident} of this launch's blocks at once. They have polled memory for {instructions} warp instructions, and nothing in it has changed. A block may wait only for blocks that run at the same time: launch at most {resident} and give each more to do, or end the launch where blocks wait for each other"
            ),
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
                "the kernel executed `trap`: a panic, for example from an index out of range, a division by zero or an `unwrap` of `None`"
            ),
            Self::Breakpoint => write!(f, "the kernel executed `brkpt`"),
        }
    }
}

/// The other threads of a fault, a line each.
pub(super) struct Others<'a>(pub(super) &'a FaultKind);

impl fmt::Display for Others<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            FaultKind::Race { earlier: store, .. }
            | FaultKind::StaleReadOnlyLoad {
                store,
                is_later: false,
                ..
            } => write!(f, "\n  earlier {store}"),
            FaultKind::StaleReadOnlyLoad { store, .. } => write!(f, "\n  later {store}"),
            FaultKind::CopyUnderWay {
                overwritten: Some(store),
                ..
            } => write!(f, "\n  overwritten by {store}"),
            FaultKind::CopyUnderWay {
                copy: Some(copy), ..
            } => write!(f, "\n  copy started at {}, {}", copy.place, copy.thread),
            FaultKind::UnsetValue {
                loaded: Some(loaded),
                ..
            } => write!(f, "\n  last read of unwritten local memory at {loaded}"),
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
            FaultKind::Deadlock {
                waiting,
                exited,
                blocks,
            } => {
                for waiting in waiting {
                    write!(f, "\n  {waiting}")?;
                    if *blocks > 1 {
                        write!(f, " in block {}", Index(waiting.first.block))?;
                    }
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
        Stray::Cluster { rank, blocks } => write!(
            f,
            "{access} in shared memory of the block of rank {rank} of the cluster, which has {blocks} blocks"
        ),
        Stray::OtherBlock { rank } => write!(
            f,
            "{access} in shared memory of the block of rank {rank} of the cluster, by an instruction for the own block's (`.shared::cta`)"
        ),
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
