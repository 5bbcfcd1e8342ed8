//! Missing barriers between accesses to shared memory.

use cuda_std::prelude::*;

/// No barrier between the stores and the loads.
#[kernel]
pub unsafe fn reverse(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = *x.add(t); //~ fault
    *out.add(t) = *tile.add(127 - t); //~ fault
}

/// With the barrier.
#[kernel]
pub unsafe fn reverse_fixed(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 128];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = *x.add(t);
    thread::sync_threads();
    *out.add(t) = *tile.add(127 - t);
}

/// The tile is overwritten while other warps still read it.
#[kernel]
pub unsafe fn sum_of_tiles(x: *const f32, out: *mut f32, tiles: u32) {
    let tile = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    let mut sum = 0.0;
    for k in 0..tiles as usize {
        *tile.add(t) = *x.add(64 * k + t); //~ fault
        thread::sync_threads();
        sum += *tile.add((t + 32) % 64); //~ fault
    }
    *out.add(t) = sum;
}

/// With a second barrier, after the loads.
#[kernel]
pub unsafe fn sum_of_tiles_fixed(x: *const f32, out: *mut f32, tiles: u32) {
    let tile = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    let mut sum = 0.0;
    for k in 0..tiles as usize {
        *tile.add(t) = *x.add(64 * k + t);
        thread::sync_threads();
        sum += *tile.add((t + 32) % 64);
        thread::sync_threads();
    }
    *out.add(t) = sum;
}

/// Relies on the lanes of a warp running in step, as they did before Volta.
#[kernel]
pub unsafe fn warp_sum(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = *x.add(t); //~ fault
    *tile.add(t + 32) = 0.0; //~ fault
    let mut step = 16;
    while step > 0 {
        let sum = *tile.add(t) + *tile.add(t + step); //~ fault
        *tile.add(t) = sum; //~ fault
        step /= 2;
    }
    *out.add(t) = *tile.add(t);
}

/// `sync_warp` before each load and each store of what another lane reads.
#[kernel]
pub unsafe fn warp_sum_fixed(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 64];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = *x.add(t);
    *tile.add(t + 32) = 0.0;
    let mut step = 16;
    while step > 0 {
        warp::sync_warp(warp::FULL_MASK);
        let sum = *tile.add(t) + *tile.add(t + step);
        warp::sync_warp(warp::FULL_MASK);
        *tile.add(t) = sum;
        step /= 2;
    }
    *out.add(t) = *tile.add(t);
}

/// Counts values below 8 with `+= 1` on a shared counter.
#[kernel]
pub unsafe fn histogram(values: &[u32], bins: *mut u32) {
    let counts = shared_array![u32; 8];
    let t = thread::thread_idx_x() as usize;
    if t < 8 {
        *counts.add(t) = 0;
    }
    thread::sync_threads();
    *counts.add(values[t] as usize) += 1; //~ fault
    thread::sync_threads();
    if t < 8 {
        *bins.add(t) = *counts.add(t);
    }
}

/// An atomic addition.
#[kernel]
pub unsafe fn histogram_fixed(values: &[u32], bins: *mut u32) {
    let counts = shared_array![u32; 8];
    let t = thread::thread_idx_x() as usize;
    if t < 8 {
        *counts.add(t) = 0;
    }
    thread::sync_threads();
    atomic::AtomicU32::from_ptr(counts.add(values[t] as usize))
        .fetch_add(1, atomic::Ordering::Relaxed);
    thread::sync_threads();
    if t < 8 {
        *bins.add(t) = *counts.add(t);
    }
}
