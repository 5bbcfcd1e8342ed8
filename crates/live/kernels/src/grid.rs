//! Figure 1: a grid of blocks covers a matrix.

use cuda_std::prelude::*;

/// Writes the number of the block that has each element of a matrix, row by
/// row.
///
/// # Safety
///
/// `owner` has `n_x * n_y` elements. Unless `tests` is 1, the blocks cover
/// no more.
#[kernel]
pub unsafe fn grid(owner: *mut u32, n_x: u32, n_y: u32, tests: u32) {
    let x = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let y = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    if tests == 1 && (x >= n_x || y >= n_y) {
        return;
    }
    let block = thread::block_idx_y() * thread::grid_dim_x() + thread::block_idx_x();
    unsafe { *owner.add((y * n_x + x) as usize) = block }
}
