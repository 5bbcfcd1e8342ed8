//! Barriers in shared memory that threads, [bulk copies](crate::bulk_copy) and [stores from other
//! blocks](store_async) arrive at (PTX ISA, `mbarrier`). CUDA C++'s `cuda::barrier`. Kernels that
//! use this module need compute capability 9.0: mark them `#[kernel(capability = "9.0")]`.
//!
//! A barrier is a `u64` in the block's shared memory, which only the functions of this module
//! access. It counts arrivals and bytes. A phase completes when the threads that [`init`] counts
//! and the bytes that they expect have arrived. The next phase then begins by itself. Phases have
//! numbers from 0; a thread waits for one by its parity.
//!
//! ```
//! # use cuda_std::prelude::*;
//! # #[kernel(capability = "9.0")]
//! # pub unsafe fn tiles(field: *const f32, steps: usize, sums: *mut f32) {
//! # let (i, mut sum) = (thread::thread_idx_x() as usize, 0.0);
//! # let mut compute = |tile: *mut f32| sum += unsafe { *tile.add(i) };
//! // In each step, one thread fetches a tile, into two buffers in turn. All threads compute on the
//! // tile that the step before has fetched.
//! let tiles = shared_array![f32; 2048];
//! let full = shared_array![u64; 2];
//! let is_first = thread::thread_idx_x() == 0;
//! if is_first {
//!     unsafe {
//!         mbarrier::init(full, 1);
//!         mbarrier::init(full.add(1), 1);
//!     }
//!     mbarrier::fence_init();
//! }
//! thread::sync_threads();
//! let fetch = |step: usize| unsafe {
//!     mbarrier::arrive_expect_tx(full.add(step % 2), 4096);
//!     let tile = tiles.add(step % 2 * 1024);
//!     bulk_copy::to_shared(tile, field.add(step * 1024), 4096, full.add(step % 2));
//! };
//! if is_first {
//!     fetch(0);
//! }
//! for step in 0..steps {
//!     if is_first && step + 1 < steps {
//!         fetch(step + 1);
//!     }
//!     unsafe { mbarrier::wait(full.add(step % 2), step as u32 / 2) };
//!     compute(unsafe { tiles.add(step % 2 * 1024) });
//!     // The next step overwrites the tile that all threads have read.
//!     thread::sync_threads();
//! }
//! # unsafe { *sums.add(i) = sum };
//! # }
//! ```

macro_rules! barrier {
    (
        $(#[$doc:meta])*
        pub unsafe fn $name:ident($($argument:ident: u32),*) = $instruction:literal, $operands:literal
    ) => {
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name(barrier: *mut u64 $(, $argument: u32)*) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller's. Shared memory has addresses of 32 bits.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .b64 wide; .reg .b32 at; cvta.to.shared.u64 wide, {barrier}; cvt.u32.u64 at, wide;",
                    concat!($instruction, " ", $operands, "; }}"),
                    barrier = in(reg64) barrier,
                    $($argument = in(reg32) $argument,)*
                    options(nostack, preserves_flags)
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = (barrier, $($argument),*);
                crate::gpu_only($instruction)
            }
        }
    };
}

barrier! {
    /// Makes a barrier whose phases wait for `arrivals` arrivals. Other threads may use it after
    /// the next [`sync_threads`](crate::thread::sync_threads). Bulk copies also need a
    /// [`fence_init`] by this thread.
    ///
    /// # Safety
    /// `barrier` is an aligned `u64` in the block's shared memory, where no barrier is. `arrivals`
    /// is from 1 to 2^20 - 1.
    pub unsafe fn init(arrivals: u32) = "mbarrier.init.shared::cta.b64", "[at], {arrivals}"
}

barrier! {
    /// Ends a barrier; its memory is then free for other data.
    ///
    /// # Safety
    /// `barrier` is a barrier that no thread uses any more: a
    /// [`sync_threads`](crate::thread::sync_threads) orders all uses before this call.
    pub unsafe fn invalidate() = "mbarrier.inval.shared::cta.b64", "[at]"
}

barrier! {
    /// Arrives. Threads that have waited for the phase see what this thread wrote before.
    ///
    /// # Safety
    /// `barrier` is one of this block. Its current phase waits for at least one more arrival.
    pub unsafe fn arrive() = "mbarrier.arrive.release.cta.shared::cta.b64", "_, [at]"
}

barrier! {
    /// Makes the current phase wait for `bytes` more bytes, and arrives.
    ///
    /// # Safety
    /// As [`arrive`]. Bulk copies of `bytes` bytes in all report to the phase. The phase waits for
    /// less than 2^20 bytes at any time.
    pub unsafe fn arrive_expect_tx(bytes: u32) =
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64", "_, [at], {bytes}"
}

barrier! {
    /// Makes the current phase wait for `bytes` more bytes, without arriving.
    ///
    /// # Safety
    /// As [`arrive_expect_tx`]. This thread or another arrives at the phase later.
    pub unsafe fn expect_tx(bytes: u32) =
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64", "[at], {bytes}"
}

/// Waits until a phase has completed. It is the current phase or the one before: the one whose
/// number has the lowest bit of `phase`. This thread then sees what threads wrote before they
/// arrived, and what copies brought.
///
/// # Safety
/// `barrier` is one of this block. Its phase is the awaited one or the one after.
#[inline(always)]
#[allow(
    named_asm_labels,
    reason = "each copy of the block in braces has a label of its own"
)]
pub unsafe fn wait(barrier: *mut u64, phase: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's. Shared memory has addresses of 32 bits.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 wide; .reg .b32 at, parity; .reg .pred done;",
            "cvta.to.shared.u64 wide, {barrier}; cvt.u32.u64 at, wide; and.b32 parity, {phase}, 1;",
            "again: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [at], parity;",
            "@!done bra again; }}",
            barrier = in(reg64) barrier,
            phase = in(reg32) phase,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (barrier, phase);
        crate::gpu_only("mbarrier.try_wait")
    }
}

/// Whether the phase that [`wait`] would wait for has completed (`mbarrier.test_wait`).
///
/// # Safety
/// As [`wait`].
#[inline(always)]
pub unsafe fn test(barrier: *mut u64, phase: u32) -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        let done: u32;
        // SAFETY: the caller's. Shared memory has addresses of 32 bits.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b64 wide; .reg .b32 at; cvta.to.shared.u64 wide, {barrier}; cvt.u32.u64 at, wide;",
                ".reg .pred is_done; .reg .b32 parity; and.b32 parity, {phase}, 1;",
                "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 is_done, [at], parity; selp.u32 {done}, 1, 0, is_done; }}",
                barrier = in(reg64) barrier,
                phase = in(reg32) phase,
                done = out(reg32) done,
                options(nostack, preserves_flags)
            );
        }
        done != 0
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (barrier, phase);
        crate::gpu_only("mbarrier.test_wait")
    }
}

/// Starts a store to a block of the cluster, which reports its bytes to a barrier there
/// (`st.async`).
///
/// It needs no barrier of the cluster, whose arrival waits for all stores of the thread
/// ([`cluster`](crate::cluster), "Cost"). A thread that waits for the bytes sees them, and no other
/// thread waits. Blocks that trade values in turns need nothing more: a block that sends a result
/// has read the value from which it computed that.
///
/// ```
/// # use cuda_std::prelude::*;
/// # #[kernel(capability = "9.0")]
/// # pub unsafe fn ring(values: &[u64], received: *mut u64) {
/// # let (block, is_first) = (thread::block_idx_x() as usize, thread::thread_idx_x() == 0);
/// # let (arrived, inbox) = (shared_array![u64; 1], shared_array![u64; 1]);
/// # let value = values[block];
/// # let use_value = |value: u64| unsafe {
/// #     *received.add(thread::index_1d() as usize) = value + u64::from(thread::thread_idx_x());
/// # };
/// // Each block gets a value of the one before. All blocks have made their barriers, and expect
/// // the bytes.
/// if is_first {
///     unsafe {
///         mbarrier::init(arrived, 1);
///         mbarrier::fence_init();
///         mbarrier::arrive_expect_tx(arrived, 8);
///     }
/// }
/// cluster::sync();
/// let next = (cluster::block_rank() + 1) % cluster::blocks();
/// unsafe {
///     if is_first {
///         let to = cluster::map_shared(inbox, next);
///         mbarrier::store_async(to, value, cluster::map_shared(arrived, next));
///     }
///     mbarrier::wait(arrived, 0);
///     use_value(*inbox);
/// }
/// # }
/// ```
///
/// # Safety
/// - `T` is a plain value of 4 or 8 bytes. `to` is aligned.
/// - Clusters have several blocks. `to`, `barrier` are [mapped](crate::cluster::map_shared) to one
///   of them, which has started, and ends only after it has waited for the bytes.
/// - `barrier` is a barrier of that block ([`init`], [`fence_init`]), whose current phase expects
///   these bytes, before or after they arrive, and cannot complete without them.
/// - From this call on, no thread accesses `to` before it has waited for the phase.
#[inline(always)]
pub unsafe fn store_async<T: Copy>(to: *mut T, value: T, barrier: *mut u64) {
    const { assert!(size_of::<T>() == 4 || size_of::<T>() == 8) };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's. Shared memory has addresses of 32 bits; the value has as many bytes as
    // it is copied as.
    unsafe {
        macro_rules! store {
            ($bits:ty, $class:ident, $instruction:literal) => {
                core::arch::asm!(
                    "{{ .reg .b64 wide; .reg .b32 to, at; cvta.to.shared::cluster.u64 wide, {to}; cvt.u32.u64 to, wide;",
                    "cvta.to.shared::cluster.u64 wide, {barrier}; cvt.u32.u64 at, wide;",
                    concat!($instruction, " [to], {value}, [at]; }}"),
                    to = in(reg64) to,
                    barrier = in(reg64) barrier,
                    value = in($class) core::mem::transmute_copy::<T, $bits>(&value),
                    options(nostack, preserves_flags)
                )
            };
        }
        if size_of::<T>() == 4 {
            store!(
                u32,
                reg32,
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32"
            );
        } else {
            store!(
                u64,
                reg64,
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64"
            );
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (to, value, barrier);
        crate::gpu_only("st.async")
    }
}

/// Makes the barriers that this thread has initialised visible to bulk copies and, after the
/// cluster's next barrier, to its other blocks.
#[inline(always)]
pub fn fence_init() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a fence has no preconditions.
    unsafe {
        core::arch::asm!(
            "fence.mbarrier_init.release.cluster;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::gpu_only("fence.mbarrier_init")
}
