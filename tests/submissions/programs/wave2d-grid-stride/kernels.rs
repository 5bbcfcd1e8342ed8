//! One timestep a launch, many cells a thread.

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
    let domain = Domain { n_x, n_y };
    let scene = AnyScene::new(scene, domain);
    let stride = n_x as usize;
    let mut cell = thread::index_1d();
    while cell < n_x * n_y {
        let (x, y) = (cell % n_x, cell / n_x);
        let i = cell as usize;
        // SAFETY: the cell is in the domain, and this thread's own.
        unsafe {
            let own = u0.add(i);
            *own = match update::kind(&scene, domain, x, y) {
                Kind::Zero => 0.0,
                Kind::Source => scene.source_value(t),
                Kind::Free { damping } => {
                    let around = Neighbours {
                        west: u1[i - 1],
                        east: u1[i + 1],
                        north: u1[i - stride],
                        south: u1[i + stride],
                    };
                    update::free_cell(*own, u1[i], around, k, damping)
                }
            };
        }
        cell += thread::grid_dim_x() * thread::block_dim_x();
    }
}
