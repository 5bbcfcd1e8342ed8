//! One launch, two levels: the block that finishes last adds up what the others left.

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

/// The sum of `src`. Each block leaves its part in `parts` and takes a number from `ticket`, which is 0 before; who has the
/// last number adds up. Block: 256 threads.
///
/// # Safety
/// `parts` has an element for each block; nothing else accesses `parts`, `ticket` and `sum` during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn membench_sum(src: &[u32], sum: *mut u32, x: u32, parts: *mut u32, ticket: *mut u32) {
    let shared = shared_array![u32; 256];
    let thread = thread::thread_idx_x();
    let mut part = 0_u32;
    let mut j = 0;
    while j < x {
        let i = ((thread::block_idx_x() * x + j) * 256 + thread) as usize;
        if i < src.len() {
            part = part.wrapping_add(src[i]);
        }
        j += 1;
    }
    // SAFETY: each thread writes its own element of the shared array, and reads others after a barrier.
    unsafe {
        *shared.add(thread as usize) = part;
        let mut half = 128;
        while half > 0 {
            thread::sync_threads();
            if thread < half {
                let other = *shared.add((thread + half) as usize);
                *shared.add(thread as usize) = (*shared.add(thread as usize)).wrapping_add(other);
            }
            half /= 2;
        }
        if thread == 0 {
            let blocks = thread::grid_dim_x();
            *parts.add(thread::block_idx_x() as usize) = *shared;
            thread::device_fence();
            let number = AtomicU32::from_ptr(ticket).fetch_add(1, Ordering::Relaxed);
            if number + 1 == blocks {
                thread::device_fence();
                let mut total = 0_u32;
                let mut block = 0;
                while block < blocks {
                    let part = core::ptr::read_volatile(parts.add(block as usize));
                    total = total.wrapping_add(part);
                    block += 1;
                }
                *sum = total;
            }
        }
    }
}
