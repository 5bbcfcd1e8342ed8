//! Figure 6: loads that wait for each other, and loads that do not.

use cuda_std::prelude::*;

/// Follows an index through `next`, eight times. With `chains` 4, each
/// thread follows four indices twice: as many loads, four of them in flight
/// at once.
///
/// # Safety
///
/// The launch is one block. `next` has 256 elements more than it has
/// threads, and none is greater than its own index; `end` has an element
/// per thread.
#[kernel]
pub unsafe fn chase(next: *const u32, end: *mut u32, chains: u32) {
    let t = thread::thread_idx_x();
    let mut last = t;
    if chains == 4 {
        let mut at = [t, t + 64, t + 128, t + 192];
        for _ in 0..2 {
            for one in &mut at {
                *one = unsafe { *next.add(*one as usize + 32) };
            }
        }
        last = at[0] + at[1] + at[2] + at[3];
    } else {
        for _ in 0..8 {
            last = unsafe { *next.add(last as usize + 32) };
        }
    }
    unsafe { *end.add(t as usize) = last }
}
