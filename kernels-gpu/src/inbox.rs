//! What the blocks of a cluster send each other in turns.
//!
//! A block has two inboxes, for even and odd turns, each an [`mbarrier`] that expects the bytes of
//! a turn. A block sends with [`mbarrier::store_async`], which reports to the receiver's barrier:
//! no thread waits for what it has sent, and a block only for its neighbours.
//!
//! Two inboxes are enough where a block sends in a turn what it has computed from all that it got
//! in the turn before from the same neighbour: that neighbour's next but one turn then comes after
//! this turn's wait.

use cuda_std::hint;
use cuda_std::prelude::*;

/// The inboxes of a block, or of another of the cluster, as this block sees them.
#[derive(Clone, Copy, Debug)]
pub struct Inboxes {
    barriers: *mut u64,
    bytes: u32,
}

impl Inboxes {
    /// Bytes of shared memory that they take.
    pub const BYTES: usize = 16;

    /// Makes inboxes that expect so many bytes a turn. They may be used after the next
    /// [`cluster::sync`].
    ///
    /// # Safety
    /// All threads of the block call. `memory` has room for two `u64` in its shared memory, which
    /// nothing else uses; `bytes` is less than 2^20.
    #[inline(always)]
    pub unsafe fn new(memory: *mut u64, bytes: u32) -> Self {
        if thread::thread_idx_x() == 0 {
            // SAFETY: the caller's; each phase waits for this one arrival.
            unsafe {
                mbarrier::init(memory, 1);
                mbarrier::init(memory.add(1), 1);
                mbarrier::fence_init();
                mbarrier::arrive_expect_tx(memory, bytes);
                mbarrier::arrive_expect_tx(memory.add(1), bytes);
            }
        }
        Self {
            barriers: memory,
            bytes,
        }
    }

    /// Sends a value to another block, in an even turn or an odd one: to the place there that
    /// `place` is here.
    ///
    /// # Safety
    /// As [`mbarrier::store_async`]'s; the block expects the value in this turn.
    #[inline(always)]
    pub unsafe fn send<T: Copy>(self, rank: u32, is_odd: bool, place: *mut T, value: T) {
        // SAFETY: the caller's; the inboxes are at the same place in all blocks.
        unsafe {
            let to = cluster::map_shared(place, rank);
            let inbox = cluster::map_shared(self.barriers, rank).wrapping_add(is_odd as usize);
            mbarrier::store_async(to, value, inbox);
        }
    }

    /// Waits for what is sent to the block in an even turn, or an odd one: that which is number
    /// `phase` of its kind.
    ///
    /// # Safety
    /// The block's first thread waits for each turn; others, for those of which they read what has
    /// come.
    #[inline(always)]
    pub unsafe fn wait(self, is_odd: bool, phase: u32) {
        // SAFETY: this turn's phase, or the one after: that completes only when the neighbours have
        // got what this thread sends after this wait. The first thread's arrival is the one that
        // the next phase waits for.
        unsafe {
            let barrier = self.barriers.add(is_odd as usize);
            mbarrier::wait(barrier, phase);
            if thread::thread_idx_x() == 0 {
                mbarrier::arrive_expect_tx(barrier, self.bytes);
            }
        }
    }
}

/// Another block of the cluster that needs values of a thread, if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Beside<T> {
    /// Its rank; `u32::MAX` if there is none.
    pub rank: u32,
    /// Where it has the first of them: the place in this block's memory.
    pub place: *mut T,
}

impl<T> Beside<T> {
    /// None.
    pub const NOBODY: Self = Self {
        rank: u32::MAX,
        place: core::ptr::null_mut(),
    };

    /// Whether there is one.
    #[inline(always)]
    pub fn is_there(&self) -> bool {
        self.rank != u32::MAX
    }

    /// The same with a rank of which the compiler knows nothing, so that it keeps no addresses of
    /// the block.
    #[inline(always)]
    pub fn opaque(self) -> Self {
        Self {
            rank: hint::opaque(self.rank),
            ..self
        }
    }
}
