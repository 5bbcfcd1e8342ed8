//! As [`reads_source`](super::reads_source), but without a branch: one thread for each point inside the walls, no more.
//!
//! The launch must fit exactly, so the block's extents divide N - 2, and both fields must have the walls' values before.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use super::Grid;
use super::update::{Neighbours, jacobi};

/// The most threads that [`block`] gives, but for a single row.
const THREADS: u32 = 512;
/// The most threads of a block on any GPU.
const MAX_THREADS: u32 = 1024;

/// A block whose extents divide N - 2: as long along x as can be, then along y.
///
/// If N - 2 has only large prime factors, blocks are small, and slow: with 1621, a single thread.
pub fn block(n: u32) -> [u32; 3] {
    let inner = n - 2;
    let divisor = |most: u32| {
        (1..=most.clamp(1, inner))
            .rev()
            .find(|d| inner.is_multiple_of(*d))
            .unwrap_or(1)
    };
    let x = divisor(MAX_THREADS);
    [x, divisor(THREADS / x), 1]
}

/// One iteration: u to the points of u_next inside the walls.
///
/// Block: extents that divide n - 2, as [`block`]'s do. Grid: exactly one thread for each point inside.
///
/// # Safety
/// - `u` and `f` have n^3 elements; n is 3 to [`Grid::MAX_N`]; `h2` is the grid's.
/// - `u_next` points to as many, which nothing else accesses during the launch.
/// - The launch has (n - 2)^3 threads.
#[kernel]
pub unsafe fn poisson_no_branches(u: &[f64], f: &[f64], u_next: *mut f64, n: u32, h2: f64) {
    let UVec3 { x, y, z } = thread::index_3d();
    let i = Grid { n }.index(x + 1, y + 1, z + 1);
    // SAFETY: each thread has a point inside the walls, and its own element of u_next.
    unsafe {
        let around = Neighbours::load(u, i, n as usize);
        *u_next.add(i) = jacobi(around, h2 * *f.get_unchecked(i));
    }
}
