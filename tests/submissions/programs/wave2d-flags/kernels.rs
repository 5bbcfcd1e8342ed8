//! All timesteps in one launch of many blocks, each of which waits for the flags of its neighbours.

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;
use kernels_gpu::wave2d::update::{self, Kind, Neighbours};
use kernels_gpu::wave2d::{AnyScene, Domain, Scene};

/// Computes `steps` timesteps from `first_step` on, each field in turn replacing the other. A block has `rows` rows, and its flag says
/// how many timesteps it has done.
///
/// # Safety
/// `u0` and `u1` have n_x * n_y elements, and `flags` has one for each block, which are 0; nothing else accesses them during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn wave2d_strips(
    u0: *mut f32,
    u1: *mut f32,
    n_x: u32,
    n_y: u32,
    scene: u32,
    k: f32,
    first_step: u32,
    steps: u32,
    rows: u32,
    flags: *mut u32,
) {
    let domain = Domain { n_x, n_y };
    let scene = AnyScene::new(scene, domain);
    let stride = n_x as usize;
    let (own, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let end = ((own + 1) * rows).min(n_y) * n_x;
    let (mut previous, mut last) = (u0, u1);
    let mut step = 0;
    while step < steps {
        // SAFETY: a thread of its own waits for each neighbour, whose flag says that it has done the timestep before.
        unsafe {
            let lane = thread::thread_idx_x();
            if lane == 0 && own > 0 {
                while AtomicU32::from_ptr(flags.add(own as usize - 1)).load(Ordering::Relaxed) < step {}
                thread::device_fence();
            }
            if lane == 32 && own + 1 < blocks {
                while AtomicU32::from_ptr(flags.add(own as usize + 1)).load(Ordering::Relaxed) < step {}
                thread::device_fence();
            }
        }
        thread::sync_threads();
        let mut cell = own * rows * n_x + thread::thread_idx_x();
        while cell < end {
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
        step += 1;
        if thread::thread_idx_x() == 0 {
            thread::device_fence();
            // SAFETY: the flag is this block's.
            unsafe { AtomicU32::from_ptr(flags.add(own as usize)).store(step, Ordering::Relaxed) }
        }
        (previous, last) = (last, previous);
    }
}
