//! Inboxes for values that the blocks of a cluster send each other in turns.
//!
//! A block has two inboxes, for even and odd turns, each an [`mbarrier`] that expects the bytes of
//! a turn. A block sends with [`mbarrier::store_async`], which reports to the receiver's barrier. A
//! thread does not wait for values that it has sent, and a block waits only for its neighbours.
//!
//! Two inboxes are enough if the values that a block sends to a neighbour depend on all values that
//! it got from that neighbour in the turn before. The neighbour's next turn but one then comes
//! after this turn's wait.
//!
//! A field whose blocks do so is divided among them ([`Division`]), and a thread has a part of its
//! block's [`Tiles`].

mod division;
mod tiles;

use cuda_std::hint;
use cuda_std::prelude::*;

pub use division::{Boxes, Division, Instance};
pub use tiles::Tiles;

/// The inboxes of a block. The same places of other blocks hold theirs.
#[derive(Clone, Copy, Debug)]
pub struct Inboxes {
    barriers: *mut u64,
    bytes: u32,
}

impl Inboxes {
    /// Bytes of shared memory that the inboxes take.
    pub const BYTES: usize = 16;

    /// Makes inboxes that expect `bytes` bytes per turn. Blocks may use them after the next
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

    /// Sends a value to the same `place` in another block, in an even turn or an odd one.
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

    /// Waits for the values sent to the block in an even turn or an odd one, which is number
    /// `phase` of its kind.
    ///
    /// # Safety
    /// The block's first thread waits for each turn. Other threads wait for the turns whose values
    /// they read.
    #[inline(always)]
    pub unsafe fn wait(self, is_odd: bool, phase: u32) {
        // SAFETY: the barrier is in this turn's phase, or in the one after. That one completes only
        // when the neighbours have got the values that this thread sends after this wait. The next
        // phase waits for the first thread's arrival.
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
    /// The place of the first of these values there, as a place in this block's memory.
    pub place: *mut T,
}

impl<T> Beside<T> {
    /// No block.
    pub const NOBODY: Self = Self {
        rank: u32::MAX,
        place: core::ptr::null_mut(),
    };

    /// Whether there is a block.
    #[inline(always)]
    pub fn is_there(&self) -> bool {
        self.rank != u32::MAX
    }

    /// Hides the block's rank from the compiler, which then keeps no addresses in the shared memory
    /// of that block.
    #[inline(always)]
    pub fn opaque(self) -> Self {
        Self {
            rank: hint::opaque(self.rank),
            ..self
        }
    }
}
