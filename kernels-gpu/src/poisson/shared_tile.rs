//! Each block loads its 8^3 points and a halo of one to shared memory, so that neighbours come from there.
//!
//! What it shows: the caches do this already. Of a tile's rows of 8 points (64 bytes), each halo point along x costs a
//! sector of 32 bytes, and all wait at the barrier for the slowest load.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use super::Grid;
use super::update::{Neighbours, jacobi};

/// Points of a tile along each axis, and threads of a block.
pub const TILE: u32 = 8;
/// Points along each axis with the halo.
const SIDE: usize = TILE as usize + 2;

/// One iteration: u to the points of u_next inside the walls.
///
/// Block: [`TILE`] along each axis. Grid: n over [`TILE`], rounded up.
///
/// # Safety
/// - `u` and `f` have n^3 elements; n is 3 to [`Grid::MAX_N`]; `h2` is the grid's.
/// - `u_next` points to as many, which nothing else accesses during the launch.
#[kernel(max_threads = 512)]
pub unsafe fn poisson_shared_tile(u: &[f64], f: &[f64], u_next: *mut f64, n: u32, h2: f64) {
    // Tiles start on a wall, so that their rows start where sectors do.
    let UVec3 { x, y, z } = thread::index_3d();
    let local = thread::thread_idx();
    let grid = Grid { n };
    let inside = !grid.is_wall(x, y, z);
    let i = grid.index(x, y, z);
    let tile = shared_array![f64; 1000];
    const { assert!(SIDE * SIDE * SIDE == 1000) };
    // This thread's element of the tile.
    let t = ((local.z as usize + 1) * SIDE + local.y as usize + 1) * SIDE + local.x as usize + 1;

    // Each thread loads its own point, and those at a face of the tile the halo point beyond it. The halo has no edges or
    // corners: no point inside needs them.
    if x < n && y < n && z < n {
        let n = n as usize;
        // SAFETY: (x, y, z) is in the cube, and each halo point on that side of a point that is not on that wall.
        // t is at least 1 and at most SIDE - 2 along each axis, and each element of the tile has one writer.
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
        // SAFETY: a point inside has all six neighbours in the tile or its halo, written before the barrier. Each
        // thread touches one element of u_next, its own.
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
