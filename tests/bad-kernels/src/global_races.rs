//! Threads, warps and blocks that share global memory without order.

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

/// Each cell becomes the mean of its neighbours, and some neighbours are already new.
#[kernel]
pub unsafe fn jacobi(u: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i > 0 && i < n - 1 {
        let i = i as usize;
        let mean = 0.5 * (*u.add(i - 1) + *u.add(i + 1)); //~ fault
        *u.add(i) = mean; //~ fault
    }
}

/// From one buffer into another.
#[kernel]
pub unsafe fn jacobi_fixed(u: *const f32, new: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i > 0 && i < n - 1 {
        let i = i as usize;
        let mean = 0.5 * (*u.add(i - 1) + *u.add(i + 1));
        *new.add(i) = mean;
    }
}

/// Two steps in one launch. The barrier between them does not stop the neighbouring block.
#[kernel]
pub unsafe fn two_steps(u: *const f32, middle: *mut f32, out: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    *middle.add(i) = step(u, i, n); //~ fault
    thread::sync_threads();
    *out.add(i) = step(middle, i, n); //~ fault
}

/// The mean of the neighbours; at the border, the old value.
#[inline(always)]
unsafe fn step(u: *const f32, i: usize, n: usize) -> f32 {
    if i == 0 || i == n - 1 {
        return *u.add(i);
    }
    0.5 * (*u.add(i - 1) + *u.add(i + 1)) //~ fault
}

/// One step, for two launches.
#[kernel]
pub unsafe fn two_steps_fixed(u: *const f32, out: *mut f32, n: usize) {
    let i = thread::index_1d() as usize;
    *out.add(i) = step(u, i, n);
}

/// A prefix sum over one block that forgets the barrier between the loads and the stores of a step.
#[kernel]
pub unsafe fn prefix_sum(x: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let n = thread::block_dim_x() as usize;
    let mut distance = 1;
    while distance < n {
        let mut left = 0;
        if t >= distance {
            left = *x.add(t - distance); //~ fault
        }
        *x.add(t) += left; //~ fault
        thread::sync_threads();
        distance *= 2;
    }
}

/// With that barrier.
#[kernel]
pub unsafe fn prefix_sum_fixed(x: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let n = thread::block_dim_x() as usize;
    let mut distance = 1;
    while distance < n {
        let mut left = 0;
        if t >= distance {
            left = *x.add(t - distance);
        }
        thread::sync_threads();
        *x.add(t) += left;
        thread::sync_threads();
        distance *= 2;
    }
}

/// Adds to each element that of the other warp, without a barrier between.
#[kernel]
pub unsafe fn add_other_warp(x: *const f32, y: *mut f32, out: *mut f32) {
    let t = thread::thread_idx_x() as usize;
    *y.add(t) = 2.0 * *x.add(t); //~ fault
    *out.add(t) = *y.add(t) + *y.add(t ^ 32); //~ fault
}

/// With a barrier.
#[kernel]
pub unsafe fn add_other_warp_fixed(x: *const f32, y: *mut f32, out: *mut f32) {
    let t = thread::thread_idx_x() as usize;
    *y.add(t) = 2.0 * *x.add(t);
    thread::sync_threads();
    *out.add(t) = *y.add(t) + *y.add(t ^ 32);
}

/// Counts with `+= 1`.
#[kernel]
pub unsafe fn count_positive(x: &[f32], count: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < x.len() && x[i] > 0.0 {
        *count += 1; //~ fault
    }
}

/// An atomic addition.
#[kernel]
pub unsafe fn count_positive_fixed(x: &[f32], count: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < x.len() && x[i] > 0.0 {
        AtomicU32::from_ptr(count).fetch_add(1, Ordering::Relaxed);
    }
}

/// The last block adds the others' sums. No fence is between a block's store and its count.
#[kernel]
pub unsafe fn last_block_adds(x: *const u32, sums: *mut u32, done: *mut u32, out: *mut u32) {
    let block = thread::block_idx_x() as usize;
    *sums.add(block) = *x.add(2 * block) + *x.add(2 * block + 1); //~ fault
    let before = AtomicU32::from_ptr(done).fetch_add(1, Ordering::Relaxed);
    if before == thread::grid_dim_x() - 1 {
        let mut sum = 0;
        for other in 0..thread::grid_dim_x() as usize {
            sum += *sums.add(other); //~ fault
        }
        *out = sum;
    }
}

/// With fences.
#[kernel]
pub unsafe fn last_block_adds_fixed(x: *const u32, sums: *mut u32, done: *mut u32, out: *mut u32) {
    let block = thread::block_idx_x() as usize;
    *sums.add(block) = *x.add(2 * block) + *x.add(2 * block + 1);
    thread::device_fence();
    let before = AtomicU32::from_ptr(done).fetch_add(1, Ordering::Relaxed);
    if before == thread::grid_dim_x() - 1 {
        thread::device_fence();
        let mut sum = 0;
        for other in 0..thread::grid_dim_x() as usize {
            sum += *sums.add(other);
        }
        *out = sum;
    }
}

/// Every thread appends its value at the end, and two may see the same end.
#[kernel]
pub unsafe fn append(x: &[u32], out: *mut u32, end: *mut u32) {
    let i = thread::index_1d() as usize;
    if x[i] % 2 == 0 {
        let at = AtomicU32::from_ptr(end).load(Ordering::Relaxed);
        *out.add(at as usize) = x[i]; //~ fault
        AtomicU32::from_ptr(end).fetch_add(1, Ordering::Relaxed);
    }
}

/// One atomic operation reads the end and moves it.
#[kernel]
pub unsafe fn append_fixed(x: &[u32], out: *mut u32, end: *mut u32) {
    let i = thread::index_1d() as usize;
    if x[i] % 2 == 0 {
        let at = AtomicU32::from_ptr(end).fetch_add(1, Ordering::Relaxed);
        *out.add(at as usize) = x[i];
    }
}
