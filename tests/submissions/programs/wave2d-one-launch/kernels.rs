//! All timesteps in one launch of one block.

use cuda_std::prelude::*;
use kernels_gpu::wave2d::update::{self, Kind, Neighbours};
use kernels_gpu::wave2d::{AnyScene, Domain, Scene};

/// Computes `steps` timesteps from `first_step` on, each field in turn replacing the other. Grid: one block.
///
/// # Safety
/// `u0` and `u1` have n_x * n_y elements, which nothing else accesses during the launch.
#[kernel(max_threads = 512)]
pub unsafe fn wave2d_all_steps(
    u0: *mut f32,
    u1: *mut f32,
    n_x: u32,
    n_y: u32,
    scene: u32,
    k: f32,
    first_step: u32,
    steps: u32,
) {
    let domain = Domain { n_x, n_y };
    let scene = AnyScene::new(scene, domain);
    let stride = n_x as usize;
    let (mut previous, mut last) = (u0, u1);
    let mut step = 0;
    while step < steps {
        let mut cell = thread::thread_idx_x();
        while cell < n_x * n_y {
            let i = cell as usize;
            // SAFETY: the cell is in the domain; within a timestep each is written by one thread, and `last` by none.
            unsafe {
                *previous.add(i) = match update::kind(&scene, domain, cell % n_x, cell / n_x) {
                    Kind::Zero => 0.0,
                    Kind::Source => scene.source_value(first_step.wrapping_add(step)),
                    Kind::Free { damping } => {
                        let around = Neighbours {
                            west: *last.add(i - 1),
                            east: *last.add(i + 1),
                            north: *last.add(i - stride),
                            south: *last.add(i + stride),
                        };
                        update::free_cell(*previous.add(i), *last.add(i), around, k, damping)
                    }
                };
            }
            cell += thread::block_dim_x();
        }
        thread::sync_threads();
        (previous, last) = (last, previous);
        step += 1;
    }
}
