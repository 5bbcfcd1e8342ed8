//! Accesses that the block's barrier does not order, and missing blocks. Blocks have 64 threads.

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::prelude::*;

/// Each thread adds its right neighbour's value. Where the tile ends, that is in the cluster's next
/// block. The barrier is only the block's.
#[kernel(capability = "9.0")]
pub unsafe fn halo(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 64];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    cluster::sync();
    *tile.add(t) = *x.add(i); //~ fault
    thread::sync_threads();
    let next = cluster::block_rank() + 1;
    let right = if t < 63 {
        *tile.add(t + 1)
    } else if next < cluster::blocks() {
        *cluster::map_shared(tile, next) //~ fault
    } else {
        0.0
    };
    *out.add(i) = *tile.add(t) + right;
    cluster::sync();
}

/// With the barrier of the cluster, in two parts.
#[kernel(capability = "9.0")]
pub unsafe fn halo_fixed(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 64];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    *tile.add(t) = *x.add(i);
    let arrival = cluster::arrive();
    let next = cluster::block_rank() + 1;
    let theirs = cluster::map_shared(tile, next % cluster::blocks());
    arrival.wait();
    let right = if t < 63 {
        *tile.add(t + 1)
    } else if next < cluster::blocks() {
        *theirs
    } else {
        0.0
    };
    *out.add(i) = *tile.add(t) + right;
    cluster::sync();
}

/// The blocks end, and with them their shared memory, while others may still read it.
#[kernel(capability = "9.0")]
pub unsafe fn rotate(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 64];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    *tile.add(t) = *x.add(i);
    cluster::sync();
    let next = (cluster::block_rank() + 1) % cluster::blocks();
    *out.add(i) = *cluster::map_shared(tile, next).add(t); //~ fault
}

/// With a barrier at the end.
#[kernel(capability = "9.0")]
pub unsafe fn rotate_fixed(x: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 64];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    *tile.add(t) = *x.add(i);
    cluster::sync();
    let next = (cluster::block_rank() + 1) % cluster::blocks();
    *out.add(i) = *cluster::map_shared(tile, next).add(t);
    cluster::sync();
}

/// Every thread counts in the memory of block 0 of the cluster, which may not have started.
#[kernel(capability = "9.0")]
pub unsafe fn count_odd(x: *const u32, out: *mut u32) {
    let counter = shared_array![u32; 1];
    if thread::thread_idx_x() == 0 {
        *counter = 0;
    }
    thread::sync_threads();
    let all = AtomicU32::from_ptr(cluster::map_shared(counter, 0));
    all.fetch_add(*x.add(thread::index_1d() as usize) % 2, Ordering::Relaxed); //~ fault
    cluster::sync();
    if cluster::block_rank() == 0 && thread::thread_idx_x() == 0 {
        *out.add(cluster::cluster_idx_x() as usize) = *counter;
    }
}

/// With a barrier of the cluster between zero and sum.
#[kernel(capability = "9.0")]
pub unsafe fn count_odd_fixed(x: *const u32, out: *mut u32) {
    let counter = shared_array![u32; 1];
    if thread::thread_idx_x() == 0 {
        *counter = 0;
    }
    cluster::sync();
    let all = AtomicU32::from_ptr(cluster::map_shared(counter, 0));
    all.fetch_add(*x.add(thread::index_1d() as usize) % 2, Ordering::Relaxed);
    cluster::sync();
    if cluster::block_rank() == 0 && thread::thread_idx_x() == 0 {
        *out.add(cluster::cluster_idx_x() as usize) = *counter;
    }
}
