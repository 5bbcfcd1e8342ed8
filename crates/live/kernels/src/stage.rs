//! Figure 5: threads and shared memory of a block limit how many a multiprocessor holds.

use cuda_std::prelude::*;

/// y = 2 x, by way of the block's dynamic shared memory.
///
/// # Safety
///
/// Both buffers have an element per thread, and a block has 4 bytes of
/// dynamic shared memory for each of its threads.
#[kernel]
pub unsafe fn stage(x: *const f32, y: *mut f32) {
    let room = shared::dynamic_shared_mem::<f32>();
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    unsafe {
        *room.add(t) = *x.add(i);
        *y.add(i) = 2.0 * *room.add(t);
    }
}
