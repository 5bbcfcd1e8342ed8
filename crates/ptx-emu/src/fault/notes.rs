//! Notes on things that are allowed, but that their author may not know: threads that exit before a
//! barrier at which others of their block wait, and loads past the end of shared memory that
//! compilers make.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::quantity::{Bytes, Index, Threads};
use crate::memory::SHARED_UNIT;
use crate::names::short_name;
use crate::position::CodePosition;

/// Threads of a block that had exited when the others waited at a barrier of the whole block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlyExit {
    /// The kernel launched.
    pub kernel: String,
    /// Block index in x, y, z.
    pub block: [u32; 3],
    /// How many threads had exited.
    pub exited: u32,
    /// Threads of the block.
    pub threads: u32,
    /// The barrier.
    pub barrier: CodePosition,
}

impl fmt::Display for EarlyExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel `{}`: {} of {} had exited in block {} when the others waited at the barrier at {}. \
             Exited threads count as arrived. Where that is not meant, put their work under a condition, \
             and let all threads reach the barrier.",
            short_name(&self.kernel),
            Threads(self.exited),
            self.threads,
            Index(self.block),
            self.barrier
        )
    }
}

/// A load of several elements, the first in the block's shared memory, another past its end, where
/// the block has memory all the same: hardware gives it out in units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WidenedLoad {
    /// The kernel launched.
    pub kernel: String,
    /// Bytes that a thread loads.
    pub bytes: u32,
    /// Where, in bytes from the start of the block's shared memory.
    pub offset: u64,
    /// Shared memory of the block in bytes.
    pub size: u64,
    /// The load.
    pub place: CodePosition,
}

impl fmt::Display for WidenedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel `{}`: a load of {} at byte {} of shared memory ({}) goes past its end, at {}. \
             A compiler may have made it of smaller loads: the block has the rest of the last {SHARED_UNIT} \
             bytes too, where nothing has set a value. Where the program itself asks for them, launch \
             it with more dynamic shared memory.",
            short_name(&self.kernel),
            Bytes(self.bytes.into()),
            self.offset,
            Bytes(self.size),
            self.place
        )
    }
}

/// The first note of its kind in a launch: that of the block with the lowest number, so that it
/// does not depend on the order in which blocks run.
#[derive(Debug)]
pub(crate) struct FirstOf<T> {
    /// The block's number; the highest if there is none.
    block: AtomicU64,
    note: Mutex<Option<T>>,
}

impl<T> FirstOf<T> {
    pub(crate) fn none() -> Self {
        Self {
            block: AtomicU64::new(u64::MAX),
            note: Mutex::default(),
        }
    }

    /// Notes one of a block, if it is the first until now.
    pub(crate) fn note(&self, block: u64, note: impl FnOnce() -> T) {
        if block >= self.block.load(Relaxed) {
            return;
        }
        let mut first = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        if self.block.fetch_min(block, Relaxed) > block {
            *first = Some(note());
        }
    }

    pub(crate) fn into_inner(self) -> Option<T> {
        let note = self.note.into_inner();
        note.unwrap_or_else(PoisonError::into_inner)
    }
}
