//! Figure 3: the threads of a block share an array, and wait for each other.

use cuda_std::prelude::*;

/// The elements of `x`, backwards.
///
/// # Safety
///
/// The launch is one block, of up to 128 threads, and both buffers have an
/// element for each. `waits` is 1.
#[kernel]
pub unsafe fn mirror(x: *const f32, y: *mut f32, waits: u32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    unsafe { *tile.add(t) = *x.add(t) };
    if waits == 1 {
        thread::sync_threads();
    }
    let last = thread::block_dim_x() as usize - 1;
    let mirrored = unsafe { *tile.add(last - t) };
    unsafe { *y.add(t) = mirrored }
}
