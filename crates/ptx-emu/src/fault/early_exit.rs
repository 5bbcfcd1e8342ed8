//! Threads that exit before a barrier at which others of their block wait. That is allowed, but the
//! author may not know it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::quantity::{Index, Threads};
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
            self.kernel,
            Threads(self.exited),
            self.threads,
            Index(self.block),
            self.barrier
        )
    }
}

/// The first early exit of a launch: that of the block with the lowest number, so that it does not
/// depend on the order in which blocks run.
#[derive(Debug)]
pub(crate) struct FirstEarlyExit {
    /// The block's number; the highest if there is none.
    block: AtomicU64,
    exit: Mutex<Option<EarlyExit>>,
}

impl FirstEarlyExit {
    pub(crate) fn none() -> Self {
        Self {
            block: AtomicU64::new(u64::MAX),
            exit: Mutex::default(),
        }
    }

    /// Notes one of a block, if it is the first until now.
    pub(crate) fn note(&self, block: u64, exit: impl FnOnce() -> EarlyExit) {
        if block >= self.block.load(Relaxed) {
            return;
        }
        let mut first = self.exit.lock().unwrap_or_else(PoisonError::into_inner);
        if self.block.fetch_min(block, Relaxed) > block {
            *first = Some(exit());
        }
    }

    pub(crate) fn into_inner(self) -> Option<EarlyExit> {
        let exit = self.exit.into_inner();
        exit.unwrap_or_else(PoisonError::into_inner)
    }
}
