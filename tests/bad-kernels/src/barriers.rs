//! Barriers that only a part of the block reaches.

use cuda_std::prelude::*;

/// The barrier of each step is in a branch that half of the threads take.
#[kernel]
pub unsafe fn reduce_in_branch(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = *x.add(t);
    thread::sync_threads();
    let mut half = 64;
    while half > 0 {
        if t < half {
            *tile.add(t) += *tile.add(t + half);
            thread::sync_threads(); //~ fault
        }
        half /= 2;
    }
    if t == 0 {
        *out = *tile;
    }
}

/// The barrier is after the branch.
#[kernel]
pub unsafe fn reduce_in_branch_fixed(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = *x.add(t);
    thread::sync_threads();
    let mut half = 64;
    while half > 0 {
        if t < half {
            *tile.add(t) += *tile.add(t + half);
        }
        thread::sync_threads();
        half /= 2;
    }
    if t == 0 {
        *out = *tile;
    }
}

/// Threads without an element return before the barrier: they count as arrived.
#[kernel]
pub unsafe fn reverse_early_return(x: &[f32], out: *mut f32) {
    let tile = shared_array![f32; 64];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    if i >= x.len() {
        return;
    }
    *tile.add(t) = x[i];
    thread::sync_threads();
    let first = i - t;
    let last = (x.len() - first).min(64) - 1;
    *out.add(i) = *tile.add(last - t);
}

/// All threads reach the barrier.
#[kernel]
pub unsafe fn reverse_early_return_fixed(x: &[f32], out: *mut f32) {
    let tile = shared_array![f32; 64];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    if i < x.len() {
        *tile.add(t) = x[i];
    }
    thread::sync_threads();
    if i < x.len() {
        let first = i - t;
        let last = (x.len() - first).min(64) - 1;
        *out.add(i) = *tile.add(last - t);
    }
}

/// Even and odd threads each have their own barrier.
#[kernel]
pub unsafe fn swap_pairs(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 32];
    let t = thread::thread_idx_x() as usize;
    if t % 2 == 0 {
        *tile.add(t) = 2.0 * *x.add(t);
        thread::sync_threads(); //~ fault
        *out.add(t) = *tile.add(t + 1);
    } else {
        *tile.add(t) = 3.0 * *x.add(t);
        thread::sync_threads(); //~ fault
        *out.add(t) = *tile.add(t - 1);
    }
}

/// One barrier for all.
#[kernel]
pub unsafe fn swap_pairs_fixed(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 32];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = if t % 2 == 0 { 2.0 } else { 3.0 } * *x.add(t);
    thread::sync_threads();
    *out.add(t) = *tile.add(t ^ 1);
}

/// A loop with a barrier that runs as often as the thread's row is long.
#[kernel]
pub unsafe fn row_sums(x: &[f32], lengths: &[u32], out: *mut f32) {
    let tile = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    let mut sum = 0.0;
    for k in 0..lengths[t] as usize {
        *tile.add(t) = x[64 * k + t];
        thread::sync_threads(); //~ fault
        sum += *tile.add(63 - t);
        thread::sync_threads();
    }
    *out.add(t) = sum;
}

/// The loop runs as often as the longest row needs, for all threads.
#[kernel]
pub unsafe fn row_sums_fixed(x: &[f32], lengths: &[u32], out: *mut f32) {
    let tile = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    let mut sum = 0.0;
    let mut k = 0;
    while thread::sync_threads_or(k < lengths[t] as usize) {
        *tile.add(t) = x[64 * k + t];
        thread::sync_threads();
        if k < lengths[t] as usize {
            sum += *tile.add(63 - t);
        }
        k += 1;
    }
    *out.add(t) = sum;
}

/// Warp 0 waits for the other to say "empty", warp 1 for the other to say "full".
#[kernel]
pub unsafe fn hand_over(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 32];
    let t = thread::thread_idx_x() as usize;
    if t < 32 {
        named_barrier::<1>(); //~ fault
        *tile.add(t) = *x.add(t);
        named_barrier::<2>();
    } else {
        named_barrier::<2>(); //~ fault
        *out.add(t - 32) = *tile.add(63 - t);
        named_barrier::<1>();
    }
}

/// Barrier `ID` of the block, for 64 threads of it.
#[inline(always)]
unsafe fn named_barrier<const ID: u32>() {
    #[cfg(target_arch = "nvptx64")]
    core::arch::asm!("bar.sync {id}, 64;", id = const ID); //~ fault
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_std::gpu_only("bar.sync")
}

/// The tile is empty at first: threads wait only for "full".
#[kernel]
pub unsafe fn hand_over_fixed(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 32];
    let t = thread::thread_idx_x() as usize;
    if t < 32 {
        *tile.add(t) = *x.add(t);
        named_barrier::<2>();
    } else {
        named_barrier::<2>();
        *out.add(t - 32) = *tile.add(63 - t);
    }
}
