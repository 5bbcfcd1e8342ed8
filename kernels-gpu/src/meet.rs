//! Waits of all blocks of launches on several devices for each other, between passes over fields
//! that neighbouring devices exchange.

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::{async_copy, thread};

/// Waits until all blocks of this device, and of the neighbours below and above, have ended this
/// number of passes, 1 or more. Their stores until then can be read afterwards.
///
/// `own` has three numbers, 0 before the launch: a count of blocks, and the passes that the
/// neighbours below and above have told. `tell` is where this device tells them. `is_beside` is
/// whether there is a neighbour below, and above.
///
/// # Safety
/// - All threads of all blocks call with the same arguments, and the blocks run at once. Blocks
///   have no extent along z.
/// - The numbers may be accessed, and nothing else accesses them but such calls.
#[inline(always)]
pub unsafe fn meet(own: *mut u32, tell: [*mut u32; 2], is_beside: [bool; 2], passes: u32) {
    // Copies that are under way could come to places that are used afterwards.
    async_copy::wait::<0>();
    thread::sync_threads();
    if thread::thread_idx_x() == 0 && thread::thread_idx_y() == 0 {
        let blocks = thread::grid_dim_x() * thread::grid_dim_y() * thread::grid_dim_z();
        // SAFETY: the caller promises that only such calls access the numbers.
        let number = |at: *mut u32| unsafe { AtomicU32::from_ptr(at) };
        let ended = number(own);
        if ended.fetch_add(1, Ordering::AcqRel) + 1 == blocks * passes {
            for (tell, is_beside) in tell.into_iter().zip(is_beside) {
                if is_beside {
                    number(tell).store(passes, Ordering::Release);
                }
            }
        }
        while ended.load(Ordering::Acquire) < blocks * passes {}
        for (i, is_beside) in is_beside.into_iter().enumerate() {
            if is_beside {
                let told = number(own.wrapping_add(1 + i));
                while told.load(Ordering::Acquire) < passes {}
            }
        }
    }
    thread::sync_threads();
}
