//! Copies of whole rows between global and shared memory: one thread starts a copy and the hardware
//! makes it (PTX ISA, `cp.async.bulk`). Kernels that use this module need compute capability 9.0:
//! mark them `#[kernel(capability = "9.0")]`.
//!
//! A copy takes no registers, and one instruction for up to all of shared memory. One thread starts
//! it: 32 lanes would start 32 copies. A copy to shared memory reports to a barrier:
//! [`mbarrier`](crate::mbarrier) has an example. For a copy to global memory, the thread closes a
//! group and waits for it:
//!
//! ```
//! # use cuda_std::prelude::*;
//! # #[kernel(capability = "9.0")]
//! # pub unsafe fn through_a_tile(x: &[f32], out: *mut f32) {
//! # let tile = shared_array![f32; 1024];
//! # let i = thread::thread_idx_x() as usize;
//! # let first = thread::block_idx_x() as usize * 1024;
//! # let value = 2.0 * x[first + i];
//! // All threads write the tile; then one stores it.
//! unsafe { *tile.add(i) = value };
//! bulk_copy::fence_shared();
//! thread::sync_threads();
//! if thread::thread_idx_x() == 0 {
//!     unsafe { bulk_copy::to_global(out.add(first), tile, 4096) };
//!     bulk_copy::commit();
//!     // The tile may be written again, or the block end.
//!     bulk_copy::wait_read::<0>();
//! }
//! # }
//! ```
//!
//! # Proxies
//!
//! These copies take another path to memory than loads and stores (PTX ISA, "Async proxy"). The
//! thread that stored calls [`fence_shared`] or [`fence_global`] before the barrier that orders the
//! copy after the store. Only then does a copy see what threads have stored, or overwrite it in
//! order. After the wait, threads see what copies have brought, without a fence.

/// Starts a copy to shared memory, which reports its bytes to `barrier`.
///
/// # Safety
/// - `shared` and `global` are aligned to 16 bytes; `bytes` is a multiple of 16.
/// - `global` points to `bytes` initialised bytes of global memory, which no thread writes until
///   the copy has arrived. `shared` points to `bytes` bytes of the block's shared memory, which no
///   thread accesses until then. The block does not end before.
/// - `barrier` is one of this block ([`init`](crate::mbarrier::init),
///   [`fence_init`](crate::mbarrier::fence_init)), whose current phase expects the bytes before it
///   completes.
#[inline(always)]
pub unsafe fn to_shared<T>(shared: *mut T, global: *const T, bytes: u32, barrier: *mut u64) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's. Shared memory has addresses of 32 bits.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 wide, from; .reg .b32 to, at; cvta.to.shared.u64 wide, {shared}; cvt.u32.u64 to, wide;",
            "cvta.to.shared.u64 wide, {barrier}; cvt.u32.u64 at, wide; cvta.to.global.u64 from, {global};",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], {bytes}, [at]; }}",
            shared = in(reg64) shared,
            global = in(reg64) global,
            bytes = in(reg32) bytes,
            barrier = in(reg64) barrier,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (shared, global, bytes, barrier);
        crate::gpu_only("cp.async.bulk")
    }
}

/// Starts a copy to global memory.
///
/// # Safety
/// - `shared` and `global` are aligned to 16 bytes; `bytes` is a multiple of 16.
/// - `shared` points to `bytes` initialised bytes of the block's shared memory, which no thread
///   writes until the copy has read them ([`wait_read`]). `global` points to `bytes` bytes of
///   global memory, which no thread accesses until the copy is made ([`wait`]). This thread does
///   not return before the copy has read.
#[inline(always)]
pub unsafe fn to_global<T>(global: *mut T, shared: *const T, bytes: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's. Shared memory has addresses of 32 bits.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 wide, to; .reg .b32 from; cvta.to.shared.u64 wide, {shared}; cvt.u32.u64 from, wide;",
            "cvta.to.global.u64 to, {global};",
            "cp.async.bulk.global.shared::cta.bulk_group [to], [from], {bytes}; }}",
            global = in(reg64) global,
            shared = in(reg64) shared,
            bytes = in(reg32) bytes,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (shared, global, bytes);
        crate::gpu_only("cp.async.bulk")
    }
}

macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident$(::<$groups:ident>)? = $instruction:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name$(<const $groups: u32>)?() {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: it has no preconditions.
            unsafe {
                core::arch::asm!(
                    concat!($instruction, $(" {", stringify!($groups), "}",)? ";"),
                    $($groups = const $groups,)?
                    options(nostack, preserves_flags)
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            crate::gpu_only($instruction)
        }
    )*};
}

plain! {
    /// Closes this thread's group of copies to global memory: those started since its previous
    /// call. The group may be empty.
    commit = "cp.async.bulk.commit_group";
    /// Waits until at most the `GROUPS` latest groups that this thread closed are still on their
    /// way. This thread then sees what the copies of the other groups stored.
    wait::<GROUPS> = "cp.async.bulk.wait_group";
    /// Waits until at most the `GROUPS` latest groups that this thread closed have still to read
    /// shared memory.
    wait_read::<GROUPS> = "cp.async.bulk.wait_group.read";
    /// Makes this thread's stores to shared memory visible to copies.
    fence_shared = "fence.proxy.async.shared::cta";
    /// Makes this thread's stores to global memory, and those of others that it has seen, visible
    /// to copies.
    fence_global = "fence.proxy.async.global";
}
