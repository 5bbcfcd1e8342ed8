//! Figure 2: a warp whose lanes disagree executes both sides of a branch.

use cuda_std::prelude::*;

/// Brings each element down to 1 or less: by halves on one side of a
/// branch, by steps of 2 on the other. `by` says who takes the first side:
/// 0 for block 0, 1 for lanes 0 to 15, 2 for even threads.
///
/// # Safety
///
/// `x` has an element per thread.
#[kernel]
pub unsafe fn diverge(x: *mut f32, by: u32) {
    let t = thread::thread_idx_x();
    let i = (thread::block_idx_x() * thread::block_dim_x() + t) as usize;
    let is_first = match by {
        0 => thread::block_idx_x() == 0,
        1 => t % 32 < 16,
        _ => t.is_multiple_of(2),
    };
    let mut value = unsafe { *x.add(i) };
    if is_first {
        while value > 1.0 {
            value *= 0.5;
        }
    } else {
        while value > 1.0 {
            value -= 2.0;
        }
    }
    unsafe { *x.add(i) = value }
}
