//! Several steps in one launch, with a barrier of all blocks between them. Blocks have 64 threads.
//! A thread's own cells are as far apart as the grid has threads.

use cuda_std::prelude::*;

/// The next value of a cell, from its old value and the sum of its neighbours'.
#[inline(always)]
fn mixed(old: u32, sum: u32) -> u32 {
    sum.wrapping_mul(5) ^ old
}

/// No block waits for another.
#[kernel]
pub unsafe fn steps_apart(
    mut a: *mut u32,
    mut b: *mut u32,
    n: u32,
    steps: u32,
    _counter: *mut u32,
) {
    for _ in 0..steps {
        let mut i = thread::index_1d();
        while i < n {
            let (left, right) = ((i + n - 1) % n, (i + 1) % n);
            let sum = (*a.add(left as usize)).wrapping_add(*a.add(right as usize)); //~ fault
            *b.add(i as usize) = mixed(*a.add(i as usize), sum); //~ fault
            i += thread::block_dim_x() * thread::grid_dim_x();
        }
        thread::sync_threads();
        core::mem::swap(&mut a, &mut b);
    }
}

/// With a barrier after each: of a grid that the device holds.
#[kernel]
pub unsafe fn steps_fixed(mut a: *mut u32, mut b: *mut u32, n: u32, steps: u32, counter: *mut u32) {
    for _ in 0..steps {
        let mut i = thread::index_1d();
        while i < n {
            let (left, right) = ((i + n - 1) % n, (i + 1) % n);
            let sum = (*a.add(left as usize)).wrapping_add(*a.add(right as usize));
            *b.add(i as usize) = mixed(*a.add(i as usize), sum);
            i += thread::block_dim_x() * thread::grid_dim_x();
        }
        grid::sync(counter); //~ fault
        core::mem::swap(&mut a, &mut b);
    }
}

/// Each block sums the next one's values once, and works between arrival and wait. A block of the
/// grid's last row returns without waiting.
#[kernel]
pub unsafe fn leave_early(x: *const u32, middle: *mut u32, out: *mut u32, counter: *mut u32) {
    let block = thread::block_idx_y() * thread::grid_dim_x() + thread::block_idx_x();
    let i = (block * 64 + thread::thread_idx_x()) as usize;
    *middle.add(i) = 3 * *x.add(i);
    if thread::block_idx_y() == thread::grid_dim_y() - 1 {
        return;
    }
    grid::sync(counter); //~ fault
    *out.add(i) = *middle.add(i + 64);
}

/// All wait.
#[kernel]
pub unsafe fn leave_early_fixed(x: *const u32, middle: *mut u32, out: *mut u32, counter: *mut u32) {
    let (blocks_x, blocks_y) = (thread::grid_dim_x(), thread::grid_dim_y());
    let block = thread::block_idx_y() * blocks_x + thread::block_idx_x();
    let i = (block * 64 + thread::thread_idx_x()) as usize;
    *middle.add(i) = 3 * *x.add(i);
    let arrival = grid::arrive(counter);
    *out.add(i) = *x.add(i);
    arrival.wait();
    let next = (block + 1) % (blocks_x * blocks_y) * 64 + thread::thread_idx_x();
    *out.add(i) += *middle.add(next as usize);
}
