//! Your kernels: the code that runs on each GPU. This one is right; your work is in `launch.rs`.

use cuda_std::UVec3;
use cuda_std::prelude::*;
use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// Computes one iteration in some layers of the cube: u to u_next.
///
/// Launched with at least one thread for each point of these layers: x, y and z along x, y and z.
///
/// - `u`: the last field, from the layer below the first computed one to the layer above the last.
/// - `u_next`: the computed layers. It is a raw pointer, because the kernel writes it.
/// - `n`: points along each axis of the cube, walls included.
/// - `first_z`: the first computed layer, and `layers` how many there are. None is a wall.
///
/// # Safety
/// `u` has layers + 2 layers of n^2 elements and `u_next` has `layers`, which nothing else accesses
/// during the launch. `first_z` is at least 1, and first_z + layers at most n - 1.
#[kernel]
pub unsafe fn poisson_layers(u: &[f64], u_next: *mut f64, n: u32, first_z: u32, layers: u32) {
    let UVec3 { x, y, z } = thread::index_3d();
    if x >= n || y >= n || z >= layers {
        return;
    }
    let grid = Grid { n };
    // Walls keep what they have.
    if grid.is_wall(x, y, first_z + z) {
        return;
    }
    let (row, layer) = (n as usize, n as usize * n as usize);
    let at = z as usize * layer + y as usize * row + x as usize;
    // The same point in u, which begins one layer below.
    let i = at + layer;
    let around = Neighbours {
        west: u[i - 1],
        east: u[i + 1],
        south: u[i - row],
        north: u[i + row],
        below: u[i - layer],
        above: u[i + layer],
    };
    let h2_f = grid.h2() * grid.source(x, y, first_z + z);
    // SAFETY: the point is in the computed layers, so `at` is in u_next, and no other thread has
    // this element.
    unsafe { *u_next.add(at) = jacobi(around, h2_f) }
}
