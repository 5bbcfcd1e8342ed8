//! One timestep a launch, one thread a cell.

use cuda_std::UVec2;
use cuda_std::prelude::*;
use kernels_gpu::wave2d::update::{self, Kind, Neighbours};
use kernels_gpu::wave2d::{AnyScene, Domain, Scene};

/// Computes timestep `t`: the new field replaces `u0`.
///
/// # Safety
/// `u0` and `u1` have n_x * n_y elements, and nothing else accesses `u0` during the launch.
#[kernel]
pub unsafe fn wave2d_step(
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
    // SAFETY: the cell is in the domain, and this thread's own.
    unsafe {
        let cell = u0.add(i);
        *cell = match update::kind(&scene, domain, x, y) {
            Kind::Zero => 0.0,
            Kind::Source => scene.source_value(t),
            Kind::Free { damping } => {
                let around = Neighbours {
                    west: u1[i - 1],
                    east: u1[i + 1],
                    north: u1[i - stride],
                    south: u1[i + stride],
                };
                update::free_cell(*cell, u1[i], around, k, damping)
            }
        };
    }
}
