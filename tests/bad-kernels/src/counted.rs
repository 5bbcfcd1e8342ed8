//! Kernels with known traffic: `tests/kernels/counts.rs` has the numbers, computed by hand.

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

/// One element per thread.
#[kernel]
pub unsafe fn copy(x: *const f32, y: *mut f32) {
    let i = thread::index_1d() as usize;
    let value = *x.add(i); //~ load
    *y.add(i) = value; //~ store
}

/// Every `stride`th element.
#[kernel]
pub unsafe fn gather(x: *const f32, y: *mut f32, stride: u32) {
    let i = thread::index_1d() as usize;
    *y.add(i) = *x.add(i * stride as usize);
}

/// Four elements per thread, in one access.
#[kernel]
pub unsafe fn copy_by_four(x: *const f32, y: *mut f32) {
    let i = 4 * thread::index_1d() as usize;
    mem::store_vector(y.add(i), mem::load_vector::<f32, 4>(x.add(i)));
}

/// Transposes an n by n matrix: rows are read along a warp, columns written.
#[kernel]
pub unsafe fn transpose_naive(x: *const f32, y: *mut f32, n: u32) {
    let at = thread::index_2d();
    *y.add((at.x * n + at.y) as usize) = *x.add((at.y * n + at.x) as usize);
}

/// Through a tile of 32 rows of `PITCH` elements, by blocks of 32 by 8 threads.
#[inline(always)]
unsafe fn transpose_by_tiles<const PITCH: usize>(
    tile: *mut f32,
    x: *const f32,
    y: *mut f32,
    n: u32,
) {
    let (t, n) = (thread::thread_idx(), n as usize);
    let (t_x, t_y) = (t.x as usize, t.y as usize);
    let [left, top] = [thread::block_idx_x(), thread::block_idx_y()].map(|b| 32 * b as usize);
    for row in [t_y, t_y + 8, t_y + 16, t_y + 24] {
        *tile.add(row * PITCH + t_x) = *x.add((top + row) * n + left + t_x);
    }
    thread::sync_threads();
    for row in [t_y, t_y + 8, t_y + 16, t_y + 24] {
        *y.add((left + row) * n + top + t_x) = *tile.add(t_x * PITCH + row);
    }
}

/// The columns of the tile lie in one bank each.
#[kernel]
pub unsafe fn transpose_tiled(x: *const f32, y: *mut f32, n: u32) {
    transpose_by_tiles::<32>(shared_array![f32; 1024], x, y, n);
}

/// One element of padding per row puts them in all banks.
#[kernel]
pub unsafe fn transpose_padded(x: *const f32, y: *mut f32, n: u32) {
    transpose_by_tiles::<33>(shared_array![f32; 1056], x, y, n);
}

/// Lane i stores word `stride` * i, and loads it again. One block of 32 threads; stride at most 33.
#[kernel]
pub unsafe fn shared_stride(x: *const u32, y: *mut u32, stride: u32) {
    let tile = shared_array![u32; 1056];
    let t = thread::thread_idx_x() as usize;
    let cell = tile.add(t * stride as usize);
    *cell = *x.add(t);
    thread::sync_threads();
    *y.add(t) = *cell;
}

/// Lanes 0 to 15 load word 0, the others word 32, which is in the same bank; then all load word 1.
#[kernel]
pub unsafe fn shared_broadcast(x: *const u32, y: *mut u32) {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = *x.add(t);
    *tile.add(t + 32) = *x.add(t + 32);
    thread::sync_threads();
    let half = *tile.add(t / 16 * 32); //~ half
    let one = *tile.add(1); //~ one
    *y.add(t) = half + one;
}

/// Lane i stores and loads the 8 bytes at 8 * `stride` * i.
#[kernel]
pub unsafe fn shared_wide_8(x: *const f64, y: *mut f64, stride: u32) {
    let tile = shared_array![f64; 512];
    let t = thread::thread_idx_x() as usize;
    let cell = tile.add(t * stride as usize);
    *cell = *x.add(t);
    thread::sync_threads();
    *y.add(t) = *cell;
}

/// Lane i stores and loads the 16 bytes at 16 * `stride` * i.
#[kernel]
pub unsafe fn shared_wide_16(x: *const f32, y: *mut f32, stride: u32) {
    let tile = shared_array![f32; 1024];
    let t = thread::thread_idx_x() as usize;
    let cell = tile.add(4 * t * stride as usize);
    mem::store_vector(cell, mem::load_vector::<f32, 4>(x.add(4 * t)));
    thread::sync_threads();
    mem::store_vector(y.add(4 * t), mem::load_vector::<f32, 4>(cell));
}

/// Threads whose `period`th bit is set add, the others store.
#[inline(always)]
unsafe fn either(bit: u32, y: *mut u32) {
    let i = thread::index_1d();
    let cell = y.add(i as usize);
    // The two arms have no common instructions: the compiler cannot merge them.
    if i & bit == 0 {
        //~^ branch
        *cell = i;
    } else {
        AtomicU32::from_ptr(cell).fetch_add(i, Ordering::Relaxed);
    }
}

/// Even and odd lanes take different branches.
#[kernel]
pub unsafe fn branch_by_lane(y: *mut u32) {
    either(1, y);
}

/// Even and odd warps take different branches.
#[kernel]
pub unsafe fn branch_by_warp(y: *mut u32) {
    either(32, y);
}

/// `rounds` barriers.
#[kernel]
pub unsafe fn barriers(rounds: u32) {
    for _ in 0..rounds {
        thread::sync_threads();
    }
}

/// Each thread adds 1 to one counter in global memory, then to one in shared memory.
#[kernel]
pub unsafe fn count(total: *mut u32, each: *mut u32, blocks: *mut u32) {
    let counter = shared_array![u32; 1];
    let t = thread::thread_idx_x();
    if t == 0 {
        *counter = 0;
    }
    thread::sync_threads();
    AtomicU32::from_ptr(total).fetch_add(1, Ordering::Relaxed); //~ total
    AtomicU32::from_ptr(each.add(thread::index_1d() as usize)).fetch_add(1, Ordering::Relaxed); //~ each
    AtomicU32::from_ptr(counter).fetch_add(1, Ordering::Relaxed); //~ shared
    thread::sync_threads();
    if t == 0 {
        *blocks.add(thread::block_idx_x() as usize) = *counter;
    }
}
