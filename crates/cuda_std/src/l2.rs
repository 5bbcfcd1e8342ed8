//! Accesses that say how long L2 should keep what they touch (PTX ISA, "cache eviction priority
//! hints"; compute capability 8.0).
//!
//! They are worth a try where data goes from block to block through L2 and exceeds its size. Stored
//! data should stay until it is read; data that has been read may go. The hints change times, never
//! values.
//!
//! ```
//! # use cuda_std::{l2, prelude::*};
//! # #[kernel]
//! # pub unsafe fn handed_on(row: *mut f32, out: *mut f32, counter: *mut u32) {
//! # let (block, lane) = (thread::block_idx_x(), thread::thread_idx_x() as usize);
//! # let cells = [lane as f32, 1.0, 2.0, 3.0];
//! # if block == 0 {
//! // One warp's row, which another block reads once, soon.
//! unsafe { l2::store_4_evict_last(row.add(4 * lane), cells) };
//! # }
//! # unsafe { grid::sync(counter) };
//! # if block == 1 {
//! # let place = unsafe { shared_array![f32; 128].add(4 * lane) };
//! // There, after a barrier of the grid. The function says why there is a minimum.
//! let to = unsafe { shared::address(place) }.min(u32::MAX - 1);
//! unsafe { l2::copy_16_evict_first_to(to, row.add(4 * lane)) };
//! async_copy::commit();
//! # async_copy::wait::<0>();
//! # unsafe { mem::store_vector(out.add(4 * lane), mem::load_vector::<f32, 4>(place)) };
//! # }
//! # }
//! ```

/// The policy that `createpolicy.fractional.L2::evict_first` makes of the fraction 1, according to
/// ptxas' machine code. The constant costs two moves to uniform registers; the instruction would
/// cost five.
#[cfg(target_arch = "nvptx64")]
const EVICT_FIRST: u64 = 0x12f0_0000_0000_0000;

/// The policy for `L2::evict_last`.
#[cfg(target_arch = "nvptx64")]
const EVICT_LAST: u64 = 0x14f0_0000_0000_0000;

/// Starts a copy as [`copy_16_to`](crate::async_copy::copy_16_to) does, of data that no thread
/// reads again soon. L2 gives up its cache line first.
///
/// `ptxas` (13.0 and 13.5, for compute capability 9.0) may put the constant part of the shared
/// address into the register of the policy: the copy is then an illegal instruction, as an H200
/// says. It does so for a shared array's address plus a thread's offset, and not for an address
/// that a loop moves, or that has gone through a minimum which changes nothing:
/// `unsafe { shared::address(place) }.min(u32::MAX - 1)`.
///
/// # Safety
/// As [`copy_16_to`](crate::async_copy::copy_16_to).
#[inline(always)]
pub unsafe fn copy_16_evict_first_to<T>(shared: u32, global: *const T) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 from, policy; cvta.to.global.u64 from, {global}; mov.b64 policy, {policy};",
            "cp.async.cg.shared.global.L2::cache_hint [{shared}], [from], 16, policy; }}",
            shared = in(reg32) shared,
            global = in(reg64) global,
            policy = const EVICT_FIRST,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (shared, global);
        crate::gpu_only("cp.async.cg with L2::cache_hint")
    }
}

/// Stores four floats to global memory, as [`store_vector`](crate::mem::store_vector) does. L2
/// keeps them as long as it can, for example until a copy by [`copy_16_evict_first_to`] has read
/// them. Until then all other data, also that of later launches, has less room.
///
/// # Safety
/// `pointer` is aligned to 16 bytes, and points to four elements in global memory that no other
/// thread accesses meanwhile.
#[inline(always)]
pub unsafe fn store_4_evict_last(pointer: *mut f32, value: [f32; 4]) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 to, policy; cvta.to.global.u64 to, {pointer}; mov.b64 policy, {policy};",
            "st.global.L2::cache_hint.v4.f32 [to], {{{a}, {b}, {c}, {d}}}, policy; }}",
            pointer = in(reg64) pointer,
            policy = const EVICT_LAST,
            a = in(reg32) value[0],
            b = in(reg32) value[1],
            c = in(reg32) value[2],
            d = in(reg32) value[3],
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (pointer, value);
        crate::gpu_only("st.global with L2::cache_hint")
    }
}
