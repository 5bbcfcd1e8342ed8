//! The sum over a grid.

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

/// The largest number of warps of a block.
const WARPS: usize = 32;

/// Adds every thread's `part` to `sum`, modulo 2^32: the order does not change the result.
///
/// # Safety
/// - All threads of the block are here; their number is a multiple of 32, along x.
/// - `sum` points to a number that nothing else accesses during the launch.
#[inline(always)]
pub unsafe fn add_to(sum: *mut u32, part: u32) {
    let warps: *mut u32 = shared_array![u32; WARPS];
    let lane = warp::lane_id();
    let warp_of_block = thread::thread_idx_x() / WARP_SIZE;
    // SAFETY: whole warps are here, and each writes its own element before the barrier.
    unsafe {
        let of_warp = warp::warp_reduce_add(FULL_MASK, part);
        if lane == 0 {
            *warps.add(warp_of_block as usize) = of_warp;
        }
        thread::sync_threads();
        if warp_of_block == 0 {
            let count = thread::block_dim_x() / WARP_SIZE;
            let of_warp = if lane < count {
                *warps.add(lane as usize)
            } else {
                0
            };
            let of_block = warp::warp_reduce_add(FULL_MASK, of_warp);
            if lane == 0 {
                AtomicU32::from_ptr(sum).fetch_add(of_block, Ordering::Relaxed);
            }
        }
    }
}
