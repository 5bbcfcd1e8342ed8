//! Blocks that run on several host threads, taken for independent, until it shows that they are
//! not.
//!
//! Most kernels' blocks do not touch what others store, so that the same comes of any order of
//! them. Where two do, with a race or with stores of one value, the result may depend on which host
//! thread is first. So the attempt ends, memory is put back as it was, and the blocks run again,
//! one after the other: a launch gives the same result, or the same fault, on every machine.
//!
//! A launch whose fault is to leave no trace is undone in the same way.
//!
//! Before the first store to a page of a buffer (a page of the race check's shadow, whose lock it
//! holds), its content is saved.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The means to undo a launch.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    /// Blocks run on several host threads, and may have to run again.
    pub(crate) is_parallel: bool,
    /// Pages are saved before the first store to them.
    pub(crate) saves: bool,
    /// Blocks have met: one stored to what another accessed.
    has_met: AtomicBool,
    /// The pages that are saved: the address of the buffer, and the page.
    saved: Mutex<Vec<(u64, u64)>>,
}

impl Attempt {
    /// One on several host threads, or none; `undoes` says that a fault undoes it.
    pub(crate) fn new(is_parallel: bool, undoes: bool) -> Self {
        Self {
            is_parallel,
            saves: is_parallel || undoes,
            ..Self::default()
        }
    }

    /// Notes that a block stores to what another accesses, or the other way round.
    pub(crate) fn note_meeting(&self) {
        self.has_met.store(true, Relaxed);
    }

    /// True if the blocks have to run again.
    pub(crate) fn has_failed(&self) -> bool {
        self.is_parallel && self.has_met.load(Relaxed)
    }

    /// Notes a saved page.
    pub(crate) fn note_saved(&self, buffer: u64, page: u64) {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        saved.push((buffer, page));
    }

    /// The saved pages.
    pub(crate) fn into_saved(self) -> Vec<(u64, u64)> {
        let saved = self.saved.into_inner();
        saved.unwrap_or_else(PoisonError::into_inner)
    }
}
