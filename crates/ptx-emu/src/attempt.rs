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
//!
//! # Trust
//!
//! Most kernels load from some buffers and store to others. A load can race with a store alone, so
//! that loads of a page need no notes as long as nothing stores to it: an attempt trusts that
//! nothing will. A store to a page with such loads breaks the trust, and the launch starts again,
//! with notes of all loads of that buffer. Before a kernel is trusted, it is watched until its
//! first cluster has ended: a buffer that it loads from and then stores to, in one page, is doubted
//! from then on, in later launches too.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Mutex, PoisonError};

/// The buffers of a kernel that may be in doubt before it is not trusted at all.
const MAX_DOUBTS: usize = 4;

/// The addresses of the buffers that a kernel stores to and loads from.
pub(crate) type Doubts = Vec<u64>;

/// The trust of an attempt that loads need no notes.
#[derive(Debug)]
struct Trust {
    /// The kernel has been watched.
    is_given: AtomicBool,
    /// The addresses of buffers that are not part of it; 0 where there is none. Nothing is part of
    /// it once all places are taken.
    doubts: [AtomicU64; MAX_DOUBTS + 1],
    /// A store met loads without notes.
    is_broken: AtomicBool,
}

impl Trust {
    /// In a kernel, with the doubts of its earlier launches.
    fn new(known: Option<&Doubts>) -> Self {
        let trust = Self {
            is_given: AtomicBool::new(known.is_some()),
            doubts: Default::default(),
            is_broken: AtomicBool::new(false),
        };
        for buffer in known.into_iter().flatten() {
            trust.doubt(*buffer);
        }
        trust
    }

    fn doubt(&self, buffer: u64) {
        let is_put = |place: &AtomicU64| {
            let put = place.compare_exchange(0, buffer, SeqCst, SeqCst);
            put.is_ok() || put == Err(buffer)
        };
        // With all places taken, one more changes nothing.
        let _ = self.doubts.iter().any(is_put);
    }

    #[inline(always)]
    fn includes(&self, buffer: u64) -> bool {
        let mut doubts = self.doubts.iter().map(|doubt| doubt.load(SeqCst));
        !doubts.any(|doubt| doubt == buffer) && self.doubts[MAX_DOUBTS].load(SeqCst) == 0
    }
}

/// The means to undo a launch.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    /// Blocks run on several host threads, and may have to run again.
    pub(crate) is_parallel: bool,
    /// Pages are saved before the first store to them.
    pub(crate) saves: bool,
    /// Blocks have met: one stored to what another accessed.
    has_met: AtomicBool,
    trust: Option<Trust>,
    /// The pages that are saved: the address of the buffer, and the page.
    saved: Mutex<Vec<(u64, u64)>>,
}

impl Attempt {
    /// One on several host threads, or none; `undoes` says that a fault undoes it, `trusts` that
    /// loads may have no notes, with `doubts` of earlier launches.
    pub(crate) fn new(
        is_parallel: bool,
        undoes: bool,
        trusts: bool,
        doubts: Option<&Doubts>,
    ) -> Self {
        Self {
            is_parallel,
            saves: is_parallel || undoes || trusts,
            trust: trusts.then(|| Trust::new(doubts)),
            ..Self::default()
        }
    }

    /// Whether loads of the buffer at this address need notes only where something has stored to
    /// it, once the kernel has been watched.
    ///
    /// A host thread that leaves out a note asks [`Self::has_watched`] first, then this, then the
    /// page. One that stores tells the page first, then asks the same in [`Self::doubt`]: so either
    /// the load has a note, or the trust is broken.
    #[inline(always)]
    pub(crate) fn trusts(&self, buffer: u64) -> bool {
        let trust = self.trust.as_ref();
        trust.is_some_and(|trust| trust.includes(buffer))
    }

    /// Whether the kernel has been watched.
    #[inline(always)]
    pub(crate) fn has_watched(&self) -> bool {
        let trust = self.trust.as_ref();
        trust.is_some_and(|trust| trust.is_given.load(SeqCst))
    }

    /// Notes that a cluster has ended.
    pub(crate) fn note_end(&self) {
        if let Some(trust) = &self.trust
            && !trust.is_given.load(SeqCst)
        {
            trust.is_given.store(true, SeqCst);
        }
    }

    /// Notes a store to a page of the buffer at this address that trusted loads have read.
    pub(crate) fn doubt(&self, buffer: u64) {
        if let Some(trust) = &self.trust
            && trust.includes(buffer)
        {
            trust.doubt(buffer);
            if trust.is_given.load(SeqCst) {
                trust.is_broken.store(true, SeqCst);
            }
        }
    }

    /// The doubts for later launches. `None` if it has not been watched to the end.
    pub(crate) fn doubts(&self) -> Option<Doubts> {
        let trust = self.trust.as_ref()?;
        if !trust.is_given.load(SeqCst) {
            return None;
        }
        let doubts = trust.doubts.iter().map(|doubt| doubt.load(SeqCst));
        Some(doubts.filter(|doubt| *doubt != 0).collect())
    }

    /// True if a store met loads that have no notes.
    pub(crate) fn is_broken(&self) -> bool {
        let trust = self.trust.as_ref();
        trust.is_some_and(|trust| trust.is_broken.load(SeqCst))
    }

    /// Notes that a block stores to what another accesses, or the other way round.
    pub(crate) fn note_meeting(&self) {
        self.has_met.store(true, Relaxed);
    }

    /// True if the blocks have to run again.
    pub(crate) fn has_failed(&self) -> bool {
        self.is_parallel && self.has_met.load(Relaxed) || self.is_broken()
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
