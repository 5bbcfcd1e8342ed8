//! One launch per timestep, one thread per cell, everything from global memory.
//!
//! 12 bytes per cell and step must move: u1 is read, u0 is read and written. The neighbours' loads
//! hit L1.

use cuda_std::UVec2;
use cuda_std::prelude::*;

use kernels_gpu::wave2d::update::{self, Kind, Neighbours};
use kernels_gpu::wave2d::{AnyScene, Domain, Scene};

/// Computes timestep `t` of every cell: the new field replaces `u0`.
///
/// Block: any 2D shape, x along a warp. Grid: at least one thread for each cell.
///
/// # Safety
/// - `u0` points to n_x * n_y initialised values that nothing else accesses during the launch.
/// - `u1` has n_x * n_y elements; n_x * n_y fits in 32 bits; n_x and n_y are at least 2.
#[kernel]
pub unsafe fn wave2d_naive(
    u0: *mut f32,
    u1: &[f32],
    n_x: u32,
    n_y: u32,
    scene: u32,
    k: f32,
    t: u32,
) {
    let UVec2 { x, y } = thread::index_2d();
    if x >= n_x || y >= n_y {
        return;
    }
    let domain = Domain { n_x, n_y };
    let scene = AnyScene::new(scene, domain);
    let i = (y * n_x + x) as usize;
    let stride = n_x as usize;
    // SAFETY: (x, y) is in the domain, so i < n_x * n_y; a free cell is inside the border, so it
    // has all four neighbours. Each thread touches one element of u0, its own.
    unsafe {
        let last = |i: usize| *u1.get_unchecked(i);
        let cell = u0.add(i);
        *cell = match update::kind(&scene, domain, x, y) {
            Kind::Zero => 0.0,
            Kind::Source => scene.source_value(t),
            Kind::Free { damping } => {
                let around = Neighbours {
                    west: last(i - 1),
                    east: last(i + 1),
                    north: last(i - stride),
                    south: last(i + stride),
                };
                update::free_cell(*cell, last(i), around, k, damping)
            }
        };
    }
}
