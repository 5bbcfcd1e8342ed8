//! Reads of memory that was not written.

use core::mem::MaybeUninit;

use cuda_std::prelude::*;

/// The sum of the block's elements, which thread 0 gets.
unsafe fn block_sum(value: f32) -> f32 {
    let tile = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = value;
    thread::sync_threads();
    let mut half = 32;
    while half > 0 {
        if t < half {
            *tile.add(t) += *tile.add(t + half);
        }
        thread::sync_threads();
        half /= 2;
    }
    *tile
}

/// A block without a full share of the elements leaves its sum unwritten.
#[kernel]
pub unsafe fn block_sums(x: &[f32], sums: *mut f32) {
    let i = thread::index_1d() as usize;
    let value = if i < x.len() { x[i] } else { 0.0 };
    let sum = block_sum(value);
    let end = (thread::block_idx_x() + 1) * thread::block_dim_x();
    if thread::thread_idx_x() == 0 && end as usize <= x.len() {
        *sums.add(thread::block_idx_x() as usize) = sum;
    }
}

/// Every block writes.
#[kernel]
pub unsafe fn block_sums_fixed(x: &[f32], sums: *mut f32) {
    let i = thread::index_1d() as usize;
    let value = if i < x.len() { x[i] } else { 0.0 };
    let sum = block_sum(value);
    if thread::thread_idx_x() == 0 {
        *sums.add(thread::block_idx_x() as usize) = sum;
    }
}

/// The sum of the blocks' sums: right, but `block_sums` did not write them all.
#[kernel]
pub unsafe fn total(sums: *const f32, blocks: u32, out: *mut f32) {
    let mut sum = 0.0;
    for block in 0..blocks as usize {
        sum += *sums.add(block); //~ fault
    }
    *out = sum; //~ fault
}

/// Adds to a buffer that was not set to zero.
#[kernel]
pub unsafe fn accumulate(x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *y.add(i) += x[i]; //~ fault
    }
}

/// Stores instead.
#[kernel]
pub unsafe fn accumulate_fixed(x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *y.add(i) = x[i];
    }
}

/// No thread loads the halo of the tile.
#[kernel]
pub unsafe fn blur_tile(u: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 66];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    *tile.add(t + 1) = *u.add(i + 1);
    thread::sync_threads();
    *out.add(i) = *tile.add(t) + *tile.add(t + 2); //~ fault
}

/// Threads 0 and 1 load it.
#[kernel]
pub unsafe fn blur_tile_fixed(u: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 66];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    *tile.add(t + 1) = *u.add(i + 1);
    if t < 2 {
        *tile.add(t * 65) = *u.add(i + t * 64);
    }
    thread::sync_threads();
    *out.add(i) = *tile.add(t) + *tile.add(t + 2);
}

/// Counts the bits of each thread's element, in its own counters, which nothing sets to zero.
#[kernel]
pub unsafe fn own_counters(x: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let mut counters = MaybeUninit::<[u32; 16]>::uninit();
    let counters = counters.as_mut_ptr().cast::<u32>();
    for shift in (0..32).step_by(4) {
        *counters.add((x[i] >> shift & 15) as usize) += 1;
    }
    *out.add(i) = *counters.add(3); //~ fault
}

/// Sets them.
#[kernel]
pub unsafe fn own_counters_fixed(x: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let mut counters = [0; 16];
    for shift in (0..32).step_by(4) {
        counters[(x[i] >> shift & 15) as usize] += 1;
    }
    *out.add(i) = counters[3];
}
