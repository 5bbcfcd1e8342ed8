//! A tile with its halo in shared memory.

use cuda_std::UVec2;
use cuda_std::prelude::*;
use kernels_gpu::wave2d::update::{self, Kind, Neighbours};
use kernels_gpu::wave2d::{AnyScene, Domain, Scene};

/// Threads of a block along x and y.
pub const BLOCK: [usize; 2] = [32, 8];
/// Elements of a row of the tile: the block's, and one beyond it on each side.
const ROW: usize = BLOCK[0] + 2;
/// Elements of the tile.
const TILE: usize = ROW * (BLOCK[1] + 2);

/// Computes timestep `t`: the new field replaces `u0`. Block: 32 x 8.
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
    let domain = Domain { n_x, n_y };
    let scene = AnyScene::new(scene, domain);
    let tile = shared_array![f32; TILE];
    let (column, row) = (
        thread::thread_idx_x() as usize + 1,
        thread::thread_idx_y() as usize + 1,
    );
    let own = row * ROW + column;
    let i = (y * n_x + x) as usize;
    let stride = n_x as usize;
    let is_inside = x < n_x && y < n_y;
    // SAFETY: each thread writes its own element of the tile, and those at its edges the ones beyond; `i` is in the domain.
    unsafe {
        if is_inside {
            *tile.add(own) = u1[i];
            if column == 1 && x > 0 {
                *tile.add(own - 1) = u1[i - 1];
            }
            if column == BLOCK[0] && x + 1 < n_x {
                *tile.add(own + 1) = u1[i + 1];
            }
            if row == 1 && y > 0 {
                *tile.add(own - ROW) = u1[i - stride];
            }
            if row == BLOCK[1] && y + 1 < n_y {
                *tile.add(own + ROW) = u1[i + stride];
            }
        }
        thread::sync_threads();
        if is_inside {
            let cell = u0.add(i);
            *cell = match update::kind(&scene, domain, x, y) {
                Kind::Zero => 0.0,
                Kind::Source => scene.source_value(t),
                Kind::Free { damping } => {
                    let around = Neighbours {
                        west: *tile.add(own - 1),
                        east: *tile.add(own + 1),
                        north: *tile.add(own - ROW),
                        south: *tile.add(own + ROW),
                    };
                    update::free_cell(*cell, *tile.add(own), around, k, damping)
                }
            };
        }
    }
}
