//! One thread a point of the layers that a device computes.

use cuda_std::UVec3;
use cuda_std::prelude::*;
use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// Computes one iteration in `layers` layers of the cube from layer `first_z` on: u to u_next. `u`
/// begins one layer before, `u_next` with the first computed one.
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
    if grid.is_wall(x, y, first_z + z) {
        return;
    }
    let (row, layer) = (n as usize, n as usize * n as usize);
    let at = z as usize * layer + y as usize * row + x as usize;
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
    // SAFETY: the point is in the computed layers, and no other thread has this element.
    unsafe { *u_next.add(at) = jacobi(around, h2_f) }
}

/// Copies `count` elements.
///
/// # Safety
/// `to` has `count` elements, which nothing else accesses during the launch.
#[kernel]
pub unsafe fn hand_on(from: &[f64], to: *mut f64, count: u32) {
    let i = thread::index_1d();
    if i < count {
        // SAFETY: no other thread has this element.
        unsafe { *to.add(i as usize) = from[i as usize] }
    }
}
