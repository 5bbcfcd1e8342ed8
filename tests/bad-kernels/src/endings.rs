//! Panics, endless loops, too much stack, too large blocks, unknown instructions.

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

/// The last element has no right neighbour: the slice's bounds check panics.
#[kernel]
pub unsafe fn slope(x: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *out.add(i) = x[i + 1] - x[i]; //~ fault
    }
}

/// The last thread does nothing.
#[kernel]
pub unsafe fn slope_fixed(x: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i + 1 < x.len() {
        *out.add(i) = x[i + 1] - x[i];
    }
}

/// A group of no elements: a division by zero panics.
#[kernel]
pub unsafe fn means(sums: &[u32], counts: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < sums.len() {
        *out.add(i) = sums[i] / counts[i]; //~ fault
    }
}

/// Checks first.
#[kernel]
pub unsafe fn means_fixed(sums: &[u32], counts: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < sums.len() {
        *out.add(i) = sums[i].checked_div(counts[i]).unwrap_or(0);
    }
}

/// Binary search; the lower half ends, the upper half never does, since `low` stays.
#[kernel]
pub unsafe fn search(sorted: &[u32], wanted: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let (mut low, mut high) = (0, sorted.len());
    while low < high {
        //~^ fault
        let middle = (low + high) / 2; //~ fault
        if sorted[middle] < wanted[i] {
            //~^ fault
            low = middle; //~ fault
        } else {
            high = middle; //~ fault
        }
    }
    *out.add(i) = low as u32;
}

/// `middle + 1`.
#[kernel]
pub unsafe fn search_fixed(sorted: &[u32], wanted: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let (mut low, mut high) = (0, sorted.len());
    while low < high {
        let middle = (low + high) / 2;
        if sorted[middle] < wanted[i] {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *out.add(i) = low as u32;
}

/// Waits for all blocks. In a grid larger than the device holds, some start only when others end.
#[kernel]
pub unsafe fn wait_for_all_blocks(x: *const u32, sums: *mut u32, done: *mut u32, out: *mut u32) {
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x());
    *sums.add(block) = *x.add(2 * block) + *x.add(2 * block + 1);
    thread::device_fence();
    AtomicU32::from_ptr(done).fetch_add(1, Ordering::Relaxed);
    while AtomicU32::from_ptr(done).load(Ordering::Relaxed) < blocks {} //~ fault
    thread::device_fence();
    *out.add(block) = *sums.add(block) + *sums.add((block + 1) % blocks as usize);
}

/// The first half of it; the second is another launch.
#[kernel]
pub unsafe fn wait_for_all_blocks_fixed(x: *const u32, sums: *mut u32) {
    let block = thread::block_idx_x() as usize;
    *sums.add(block) = *x.add(2 * block) + *x.add(2 * block + 1);
}

/// The second half.
#[kernel]
pub unsafe fn after_all_blocks(sums: *const u32, out: *mut u32) {
    let (block, blocks) = (
        thread::block_idx_x() as usize,
        thread::grid_dim_x() as usize,
    );
    *out.add(block) = *sums.add(block) + *sums.add((block + 1) % blocks);
}

/// A whole histogram for each thread: 800 000 bytes of local memory.
#[kernel]
pub unsafe fn most_frequent(values: &[u32], out: *mut u32) {
    let mut counts = [0u32; 200_000];
    for &value in values {
        counts[value as usize % 200_000] += 1;
    }
    let t = thread::thread_idx_x() as usize;
    *out.add(t) = counts[t];
}

/// One counter for each value.
#[kernel]
pub unsafe fn most_frequent_fixed(values: &[u32], out: *mut u32) {
    let mut counts = [0u32; 64];
    for &value in values {
        counts[value as usize % 64] += 1;
    }
    let t = thread::thread_idx_x() as usize;
    *out.add(t) = counts[t];
}

/// Recursion without an end.
#[kernel]
pub unsafe fn tree_depth(tree: &[u32], out: *mut u32) {
    *out = depth(tree, 0);
}

/// Depth of a tree in an array. Node i has children 2 i + 1 and 2 i + 2, and value 0 means no node.
/// The function tests for another value, which no node has.
fn depth(tree: &[u32], node: usize) -> u32 {
    if tree[node % tree.len()] == u32::MAX {
        return 0;
    }
    1 + depth(tree, 2 * node + 1).max(depth(tree, 2 * node + 2)) //~ fault
}

/// Recursion that ends.
#[kernel]
pub unsafe fn tree_depth_fixed(tree: &[u32], out: *mut u32) {
    *out = depth_fixed(tree, 0);
}

/// Ends at a missing node.
fn depth_fixed(tree: &[u32], node: usize) -> u32 {
    if node >= tree.len() || tree[node] == 0 {
        return 0;
    }
    1 + depth_fixed(tree, 2 * node + 1).max(depth_fixed(tree, 2 * node + 2))
}

/// Promises blocks of at most 64 threads.
#[kernel(max_threads = 64)]
pub unsafe fn bounded(out: *mut u32) {
    let i = thread::index_1d();
    *out.add(i as usize) = i;
}

/// A product with a sparse matrix, by inline assembly: the emulated device has none.
#[kernel]
pub unsafe fn tensor_product(out: *mut f32) {
    let (mut c0, mut c1, mut c2, mut c3) = (0.0f32, 0.0f32, 0.0f32, 0.0f32);
    #[cfg(target_arch = "nvptx64")]
    core::arch::asm!( //~ fault
        "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{{c0}, {c1}, {c2}, {c3}}}, {{{a}, {a}}}, {{{a}, {a}}}, {{{c0}, {c1}, {c2}, {c3}}}, {places}, 0;",
        a = in(reg32) 1.0f32,
        places = in(reg32) 0x4444_4444,
        c0 = inout(reg32) c0,
        c1 = inout(reg32) c1,
        c2 = inout(reg32) c2,
        c3 = inout(reg32) c3,
    );
    let lane = warp::lane_id() as usize;
    for (k, c) in [&mut c0, &mut c1, &mut c2, &mut c3].into_iter().enumerate() {
        *out.add(4 * lane + k) = *c;
    }
}

/// Every element is a sum of four products of ones.
#[kernel]
pub unsafe fn tensor_product_fixed(out: *mut f32) {
    let lane = warp::lane_id() as usize;
    for k in 0..4 {
        *out.add(4 * lane + k) = 4.0;
    }
}

/// Says which value it does not take.
#[kernel]
pub unsafe fn roots(x: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if x[i] < 0.0 {
        panic!("x[{i}] is {}", x[i]); //~ fault
    }
    *out.add(i) = x[i].sqrt();
}

/// Takes 0 for what is negative.
#[kernel]
pub unsafe fn roots_fixed(x: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    *out.add(i) = x[i].max(0.0).sqrt();
}

/// Assumes that each value is there.
#[kernel]
pub unsafe fn places(sorted: &[u32], wanted: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let place = sorted.iter().position(|&value| value == wanted[i]);
    *out.add(i) = place.unwrap() as u32; //~ fault
}

/// Prints what it computes.
#[kernel]
pub unsafe fn double(x: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let (is_large, n) = (x[i] > 1.0, -(i as i32));
        cuda_std::print!("thread {i}: ");
        cuda_std::println!(
            "{} {:?} {:7.3}|{:e}, {n:4} {n:x} {is_large} %",
            x[i],
            x[i],
            x[i],
            x[i]
        );
        *out.add(i) = 2.0 * x[i];
    }
}
