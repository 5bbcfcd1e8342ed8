//! A barrier of the whole grid: all blocks of a launch wait for each other, any number of times.
//! One launch can thus compute several timesteps of a simulation, with a barrier between two. CUDA
//! C++'s `cooperative_groups::this_grid().sync()`.
//!
//! ```
//! # use cuda_std::prelude::*;
//! # unsafe fn update(from: *const f32, i: u32, n: u32) -> f32 {
//! #     unsafe { *from.add(i as usize) + *from.add(((i + 1) % n) as usize) }
//! # }
//! #[kernel]
//! pub unsafe fn steps(
//!     mut from: *mut f32,
//!     mut to: *mut f32,
//!     n: u32,
//!     steps: u32,
//!     counter: *mut u32,
//! ) {
//!     for _ in 0..steps {
//!         let mut i = thread::index_1d();
//!         while i < n {
//!             unsafe { *to.add(i as usize) = update(from, i, n) };
//!             i += thread::block_dim_x() * thread::grid_dim_x();
//!         }
//!         unsafe { grid::sync(counter) };
//!         core::mem::swap(&mut from, &mut to);
//!     }
//! }
//! ```
//!
//! # All blocks must run at once
//!
//! A block that waits keeps its place on the multiprocessor. If the grid has more blocks than the
//! device holds, the others therefore never start. Launch as many blocks as the device holds, and
//! give each more to do. The emulated device reports a grid that is too large; a GPU waits without
//! end. The number that it holds follows from the kernel's registers, threads and shared memory.
//!
//! # The counter
//!
//! A `u32` in global memory, which the host sets to 0 once. Blocks count their arrivals in its
//! lower 31 bits; the last one to arrive makes them 0 again and flips the highest bit, which the
//! others wait for. One counter therefore serves any number of barriers and launches, with grids of
//! any size, one launch after the other.
//!
//! # Cost
//!
//! A barrier costs a fence and an atomic addition per block at one address, and the way to L2 and
//! back: predicted 1 to 2 µs on a large GPU. An arrival waits until the block's stores are visible
//! on the device (`MEMBAR.ALL.GPU`). A waiting block empties the multiprocessor's L1 cache each
//! time it looks at the counter (`CCTL.IVALL`). Between [`arrive`] and [`Arrival::wait`] a block
//! can do work that does not depend on other blocks.

use crate::{atomic, thread};

/// The bit of the counter that every barrier flips.
const PHASE: u32 = 1 << 31;
/// Time between two looks at the counter. Many blocks that look at it without a pause delay those
/// that arrive.
const NANOS: u32 = 32;

/// The arrival of a thread's block at the grid's barrier. The thread then waits for the barrier.
#[derive(Debug)]
#[must_use = "a block that has arrived must wait before it arrives again"]
pub struct Arrival {
    counter: *mut u32,
    /// The counter before the arrival, in the block's first thread.
    before: u32,
}

/// Waits until every thread of the grid is here. Writes to global memory before it are visible to
/// the grid's threads after it.
///
/// # Safety
/// As [`arrive`].
#[inline(always)]
pub unsafe fn sync(counter: *mut u32) {
    // SAFETY: the caller's.
    unsafe { arrive(counter) }.wait();
}

/// Arrives at the grid's barrier and goes on, up to [`Arrival::wait`]. Between the two, this block
/// must not read what others write meanwhile, and must not write what they read.
///
/// # Safety
/// - `counter` is an aligned `u32` in global memory, which the host has set to 0 before its first
///   use. Only barriers of one launch at a time access it. After a failed launch the host sets it
///   to 0 again.
/// - Every thread of every block of the grid reaches the same calls in the same order, and none
///   returns before the last.
/// - All blocks of the grid run at the same time. The grid has less than 2^31 blocks.
#[inline(always)]
pub unsafe fn arrive(counter: *mut u32) -> Arrival {
    thread::sync_threads();
    let mut before = 0;
    if thread::linear_thread_idx() == 0 {
        let blocks = thread::grid_dim_x() * thread::grid_dim_y() * thread::grid_dim_z();
        let is_first = thread::block_idx_x() | thread::block_idx_y() | thread::block_idx_z() == 0;
        // Together, all blocks add 2^31.
        let add = if is_first { PHASE - (blocks - 1) } else { 1 };
        // SAFETY: the caller's.
        before = unsafe { add_release(counter, add) };
    }
    Arrival { counter, before }
}

impl Arrival {
    /// Waits until every block of the grid has arrived.
    #[inline(always)]
    pub fn wait(self) {
        if thread::linear_thread_idx() == 0 {
            // SAFETY: `arrive`'s.
            while (unsafe { atomic::load_acquire(self.counter) } ^ self.before) & PHASE == 0 {
                thread::nanosleep(NANOS);
            }
        }
        thread::sync_threads();
    }
}

/// Adds to the counter and returns its value before. A thread that sees the sum sees what this
/// block has stored. (`AtomicU32::fetch_add` would also empty L1.)
///
/// # Safety
/// `counter` is an aligned `u32` in global memory.
#[inline(always)]
unsafe fn add_release(counter: *mut u32, value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let before: u32;
        // SAFETY: the caller's.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b64 address; cvta.to.global.u64 address, {counter};",
                "atom.release.gpu.global.add.u32 {before}, [address], {value}; }}",
                counter = in(reg64) counter,
                value = in(reg32) value,
                before = out(reg32) before,
                options(nostack, preserves_flags)
            );
        }
        before
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (counter, value);
        crate::gpu_only("atom.release.gpu.add")
    }
}
