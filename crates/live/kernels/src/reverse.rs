//! Lab 0: a block reverses its sums, by way of shared memory.

use cuda_std::prelude::*;

/// c = a + b, of `n` elements, where each block writes its part backwards.
/// `barrier` is 0 for none, 1 for one that all threads reach, 2 for one in
/// the branch.
///
/// # Safety
///
/// Each buffer has `n` elements, and a block up to 256 threads. `barrier`
/// is 1.
#[kernel]
pub unsafe fn reverse(a: *const f32, b: *const f32, c: *mut f32, n: u32, barrier: u32) {
    let tile: *mut f32 = shared_array![f32; 256];
    let first = thread::block_idx_x() * thread::block_dim_x();
    let t = thread::thread_idx_x();
    if first + t < n {
        let i = (first + t) as usize;
        unsafe { *tile.add(t as usize) = *a.add(i) + *b.add(i) };
        if barrier == 2 {
            thread::sync_threads();
        }
    }
    if barrier == 1 {
        thread::sync_threads();
    }
    let t = thread::block_dim_x() - 1 - t;
    if first + t < n {
        unsafe { *c.add((first + t) as usize) = *tile.add(t as usize) }
    }
}
