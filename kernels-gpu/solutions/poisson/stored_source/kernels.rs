//! These kernels read f from memory: one launch writes f, and then four kernels compute the
//! iteration in different ways.
//!
//! - [`poisson_reads_source`]: walls by branches, one thread for each point of the cube. 24 bytes
//!   per point must move: u and f are read, u_next is written. Other loads of the neighbours hit a
//!   cache.
//! - [`poisson_no_branches`]: exactly one thread for each point inside the walls. The launch must
//!   fit exactly: the block's extents divide N - 2 ([`no_branches_block`]). Both fields must have
//!   the walls' values before.
//! - [`poisson_layer_by_layer`]: one launch for each layer of points with the same z. It shows the
//!   cost of small launches.
//! - [`poisson_shared_tile`]: each block loads its 8^3 points and a halo of one to shared memory,
//!   and neighbours come from there. It shows that the caches already do this. A tile's rows have 8
//!   points (64 bytes). Each halo point along x costs a sector of 32 bytes, and all threads wait at
//!   the barrier for the slowest load.

use cuda_std::prelude::*;
use cuda_std::{UVec2, UVec3};

use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// The values of `u` around element `i`, with `n` points along an axis.
///
/// # Safety
/// `u` has the n^3 points of a cube, and element `i` is inside its walls.
#[inline(always)]
unsafe fn neighbours(u: &[f64], i: usize, n: usize) -> Neighbours {
    // SAFETY: a point inside the walls has all six neighbours.
    unsafe {
        Neighbours {
            west: *u.get_unchecked(i - 1),
            east: *u.get_unchecked(i + 1),
            south: *u.get_unchecked(i - n),
            north: *u.get_unchecked(i + n),
            below: *u.get_unchecked(i - n * n),
            above: *u.get_unchecked(i + n * n),
        }
    }
}

/// Writes f.
///
/// Block: any shape, x along a warp. Grid: at least one thread for each point.
///
/// # Safety
/// `f` points to n^3 elements, which nothing else accesses during the launch; n is 3 to
/// [`Grid::MAX_N`].
#[kernel]
pub unsafe fn poisson_source(f: *mut f64, n: u32) {
    let UVec3 { x, y, z } = thread::index_3d();
    if x >= n || y >= n || z >= n {
        return;
    }
    let grid = Grid { n };
    // SAFETY: the point is in the cube; the element is this thread's own.
    unsafe { *f.add(grid.index(x, y, z)) = grid.source(x, y, z) }
}

/// Computes one iteration: u to u_next, walls included.
///
/// Block: any shape, x along a warp. Grid: at least one thread for each point.
///
/// # Safety
/// - `u` and `f` have n^3 elements; n is 3 to [`Grid::MAX_N`]; `h2` is the grid's.
/// - `u_next` points to as many, which nothing else accesses during the launch.
#[kernel]
pub unsafe fn poisson_reads_source(u: &[f64], f: &[f64], u_next: *mut f64, n: u32, h2: f64) {
    let UVec3 { x, y, z } = thread::index_3d();
    if x >= n || y >= n || z >= n {
        return;
    }
    let grid = Grid { n };
    let i = grid.index(x, y, z);
    // SAFETY: the point is in the cube, so i < n^3. Each thread touches one element of u_next, its
    // own.
    unsafe {
        if grid.is_wall(x, y, z) {
            *u_next.add(i) = grid.wall_value(y);
        } else {
            let around = neighbours(u, i, n as usize);
            *u_next.add(i) = jacobi(around, h2 * *f.get_unchecked(i));
        }
    }
}

/// The largest number of threads that [`no_branches_block`] gives, except for a single row.
const THREADS: u32 = 512;
/// The largest number of threads of a block on any GPU.
const MAX_THREADS: u32 = 1024;

/// A block whose extents divide N - 2: as long as possible along x, then along y.
///
/// If N - 2 has only large prime factors, blocks are small, and slow: with 1621, a single thread.
pub fn no_branches_block(n: u32) -> [u32; 3] {
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
/// Block: extents that divide n - 2, like those of [`no_branches_block`]. Grid: exactly one thread
/// for each point inside.
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
        let around = neighbours(u, i, n as usize);
        *u_next.add(i) = jacobi(around, h2 * *f.get_unchecked(i));
    }
}

/// Computes one iteration of layer `z`: u to the points of u_next inside the walls.
///
/// Block: any 2D shape, x along a warp. Grid: at least one thread for each point of a layer.
///
/// # Safety
/// - `u` and `f` have n^3 elements; n is 3 to [`Grid::MAX_N`]; `h2` is the grid's; 1 <= z <= n - 2.
/// - `u_next` points to as many, which nothing else accesses during the launch.
#[kernel]
pub unsafe fn poisson_layer_by_layer(
    u: &[f64],
    f: &[f64],
    u_next: *mut f64,
    n: u32,
    z: u32,
    h2: f64,
) {
    // x and y start on a wall: a warp's elements start at the start of a row.
    let UVec2 { x, y } = thread::index_2d();
    let grid = Grid { n };
    if grid.is_wall(x, y, z) {
        return;
    }
    let i = grid.index(x, y, z);
    // SAFETY: the point is inside the walls. Each thread touches one element of u_next, its own.
    unsafe {
        let around = neighbours(u, i, n as usize);
        *u_next.add(i) = jacobi(around, h2 * *f.get_unchecked(i));
    }
}

/// Points of a tile along each axis, and threads of a block.
pub const TILE: u32 = 8;
/// Points along each axis with the halo.
const SIDE: usize = TILE as usize + 2;

/// One iteration: u to the points of u_next inside the walls.
///
/// Block: [`TILE`] along each axis. Grid: n / [`TILE`], rounded up, along each axis.
///
/// # Safety
/// - `u` and `f` have n^3 elements; n is 3 to [`Grid::MAX_N`]; `h2` is the grid's.
/// - `u_next` points to as many, which nothing else accesses during the launch.
#[kernel(max_threads = 512)]
pub unsafe fn poisson_shared_tile(u: &[f64], f: &[f64], u_next: *mut f64, n: u32, h2: f64) {
    // Tiles start on a wall: their rows start at the start of a sector.
    let UVec3 { x, y, z } = thread::index_3d();
    let local = thread::thread_idx();
    let grid = Grid { n };
    let inside = !grid.is_wall(x, y, z);
    let i = grid.index(x, y, z);
    let tile = shared_array![f64; 1000];
    const { assert!(SIDE * SIDE * SIDE == 1000) };
    // This thread's element of the tile.
    let t = ((local.z as usize + 1) * SIDE + local.y as usize + 1) * SIDE + local.x as usize + 1;

    // Each thread loads its own point. Threads at a face of the tile also load the halo point
    // beyond it. The halo has no edges or corners, because no point inside needs them.
    if x < n && y < n && z < n {
        let n = n as usize;
        // SAFETY: (x, y, z) is in the cube. A halo point is loaded only if the thread's point is
        // not on the wall on that side. t is at least 1 and at most SIDE - 2 along each axis, and
        // each element of the tile has one writer.
        unsafe {
            *tile.add(t) = *u.get_unchecked(i);
            if local.x == 0 && x > 0 {
                *tile.add(t - 1) = *u.get_unchecked(i - 1);
            }
            if local.x == TILE - 1 && x < grid.n - 1 {
                *tile.add(t + 1) = *u.get_unchecked(i + 1);
            }
            if local.y == 0 && y > 0 {
                *tile.add(t - SIDE) = *u.get_unchecked(i - n);
            }
            if local.y == TILE - 1 && y < grid.n - 1 {
                *tile.add(t + SIDE) = *u.get_unchecked(i + n);
            }
            if local.z == 0 && z > 0 {
                *tile.add(t - SIDE * SIDE) = *u.get_unchecked(i - n * n);
            }
            if local.z == TILE - 1 && z < grid.n - 1 {
                *tile.add(t + SIDE * SIDE) = *u.get_unchecked(i + n * n);
            }
        }
    }
    thread::sync_threads();
    if inside {
        // SAFETY: a point inside has all six neighbours in the tile or its halo, written before the
        // barrier. Each thread touches one element of u_next, its own.
        unsafe {
            let around = Neighbours {
                west: *tile.add(t - 1),
                east: *tile.add(t + 1),
                south: *tile.add(t - SIDE),
                north: *tile.add(t + SIDE),
                below: *tile.add(t - SIDE * SIDE),
                above: *tile.add(t + SIDE * SIDE),
            };
            *u_next.add(i) = jacobi(around, h2 * *f.get_unchecked(i));
        }
    }
}
