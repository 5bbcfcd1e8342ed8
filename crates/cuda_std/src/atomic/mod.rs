//! Atomics: those of `core` on integers, and floats of three scopes.
//!
//! `core`'s atomics work in kernels, in global and shared memory alike: make one with
//! `AtomicU32::from_ptr`. Floats are here, with `atom.add`, which `core` does not have: see
//! [`floats`].
//!
//! Orderings hold. A block may store its results and then count itself with `fetch_add(1,
//! Ordering::AcqRel)`: a thread that later reads the counter the same way sees the results. With
//! `Ordering::Relaxed` it does not, and the emulated device reports a race. The table shows the
//! instructions (`N` is the width; a `fence.acq_rel` costs about as much as an access to L2):
//!
//! | operation | `Relaxed` | `Acquire`, `Release`, `AcqRel` | `SeqCst` |
//! |---|---|---|---|
//! | `load` | `ld.relaxed.sys` | `ld.acquire.sys` | `fence.sc.sys`, `ld.acquire.sys` |
//! | `store` | `st.relaxed.sys` | `st.release.sys` | `fence.sc.sys`, `st.release.sys` |
//! | `compare_exchange` | `atom.relaxed.sys.cas.bN` | `atom.acquire.sys.cas.bN` and so on | `fence.sc.sys`, `atom.acquire.sys.cas.bN` |
//! | `fetch_add`, `swap`, ... | `atom.add` and so on | with a `fence.acq_rel.gpu` before to release, behind to acquire | with a `fence.sc.gpu` before |
//! | `fence` | | `fence.acq_rel.sys` | `fence.sc.sys` |
//!
//! `fetch_add` and its like therefore order accesses of threads of one device. The other operations
//! also order accesses of other devices and the host.

pub mod floats;

pub use floats::{
    AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, SystemAtomicF32, SystemAtomicF64,
};

pub use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Loads two words at once, each of them atomically, in no order with other accesses
/// (`ld.relaxed.gpu.v2`).
///
/// Values may so travel without a fence: each word has half of a value, and a number that tells
/// whether it has arrived.
///
/// # Safety
/// `pointer` is aligned to 16 bytes, and points to two words in global memory, which only atomics,
/// this function and [`store_two`] access meanwhile.
#[inline(always)]
pub unsafe fn load_two(pointer: *const u64) -> [u64; 2] {
    #[cfg(target_arch = "nvptx64")]
    {
        let (first, second): (u64, u64);
        // SAFETY: the caller's.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b64 address; cvta.to.global.u64 address, {pointer};",
                "ld.relaxed.gpu.global.v2.b64 {{{first}, {second}}}, [address]; }}",
                pointer = in(reg64) pointer,
                first = out(reg64) first,
                second = out(reg64) second,
                options(nostack, preserves_flags)
            );
        }
        [first, second]
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = pointer;
        crate::gpu_only("ld.relaxed.gpu.v2")
    }
}

/// Stores two words at once, each of them atomically (`st.relaxed.gpu.v2`): see [`load_two`].
///
/// # Safety
/// As [`load_two`].
#[inline(always)]
pub unsafe fn store_two(pointer: *mut u64, words: [u64; 2]) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 address; cvta.to.global.u64 address, {pointer};",
            "st.relaxed.gpu.global.v2.b64 [address], {{{first}, {second}}}; }}",
            pointer = in(reg64) pointer,
            first = in(reg64) words[0],
            second = in(reg64) words[1],
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (pointer, words);
        crate::gpu_only("st.relaxed.gpu.v2")
    }
}

/// Loads a number that another block has stored by [`store_release`]. From here on this thread sees
/// the effects of what that block did before its store. (`AtomicU32::load` is at the scope of the
/// system, which costs more.)
///
/// ```
/// # use cuda_std::prelude::*;
/// # #[kernel]
/// # pub unsafe fn in_a_row(progress: *mut u32, x: *mut u32) {
/// # let work = || unsafe {
/// #     let x = x.add(thread::thread_idx_x() as usize);
/// #     *x = 2 * *x + thread::block_idx_x();
/// # };
/// // Blocks in a row: each goes on where the one before it has been. The host has set the word of
/// // block 0 to 1, and the others to 0.
/// let turn = unsafe { progress.add(thread::block_idx_x() as usize) };
/// while unsafe { atomic::load_acquire(turn) } == 0 {}
/// work();
/// thread::sync_threads();
/// if thread::thread_idx_x() == 0 {
///     unsafe { atomic::store_release(turn.add(1), 1) };
/// }
/// # }
/// ```
///
/// # Safety
/// `pointer` is an aligned `u32` in global memory, which only atomics, this function and
/// [`store_release`] access meanwhile.
#[inline(always)]
pub unsafe fn load_acquire(pointer: *const u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let value: u32;
        // SAFETY: the caller's.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b64 address; cvta.to.global.u64 address, {pointer};",
                "ld.acquire.gpu.global.u32 {value}, [address]; }}",
                pointer = in(reg64) pointer,
                value = out(reg32) value,
                options(nostack, preserves_flags)
            );
        }
        value
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = pointer;
        crate::gpu_only("ld.acquire.gpu")
    }
}

/// Stores a number for threads of the device that load it by [`load_acquire`]. They then see this
/// thread's earlier writes, and the writes that it has seen: its warp's before a `sync_warp`, its
/// block's before a barrier. The store waits until this thread's earlier stores have arrived.
///
/// # Safety
/// As [`load_acquire`].
#[inline(always)]
pub unsafe fn store_release(pointer: *mut u32, value: u32) {
    #[cfg(target_arch = "nvptx64")]
    {
        // SAFETY: the caller's.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b64 address; cvta.to.global.u64 address, {pointer};",
                "st.release.gpu.global.u32 [address], {value}; }}",
                pointer = in(reg64) pointer,
                value = in(reg32) value,
                options(nostack, preserves_flags)
            );
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (pointer, value);
        crate::gpu_only("st.release.gpu")
    }
}
