//! Lab 0: a thread adds one element.

use cuda_std::prelude::*;

/// c = a + b, of `n` elements.
///
/// # Safety
///
/// Each buffer has `n` elements. Unless `tests` is 1, the launch has as
/// many threads.
#[kernel]
pub unsafe fn add(a: *const f32, b: *const f32, c: *mut f32, n: u32, tests: u32) {
    let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    // A grid has whole blocks: threads past the end must do nothing.
    if tests == 0 || i < n {
        let i = i as usize;
        unsafe { *c.add(i) = *a.add(i) + *b.add(i) }
    }
}
