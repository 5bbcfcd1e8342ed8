//! A timestep in one launch: a block's points and their halo come to shared memory first. What other blocks of its cluster have of that
//! halo comes from their shared memory (distributed shared memory), the rest from global memory.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use kernels_gpu::stencil25::update::{self, Pairs};
use kernels_gpu::stencil25::{RADIUS, Task};

/// Threads of a block along z, y and x, which are the points of its tile.
pub const BLOCK: [u32; 3] = [32, 8, 4];

const HALO: usize = RADIUS as usize;

/// The extents of a tile with its halo, along z, y and x.
const TILE: [usize; 3] = [
    BLOCK[0] as usize + 2 * HALO,
    BLOCK[1] as usize + 2 * HALO,
    BLOCK[2] as usize + 2 * HALO,
];

/// From a value of a tile to the next along x, y and z.
const IN_TILE: [usize; 3] = [TILE[0] * TILE[1], TILE[0], 1];

/// A thread along an axis. A halo is as wide as the stencil's radius, and has no edges or corners: the threads at a block's face, as
/// many as are in the halo, fetch a value before the tile and one after it.
struct Axis {
    /// Its number in the block, and how many there are.
    local: u32,
    width: u32,
    position: u32,
    /// Where the grid's halo ends. A value is needed before that, and not beyond, where there may be none.
    end: u32,
    /// From a value to the next, in an array and in the tile.
    stride: u32,
    in_tile: usize,
    /// Ranks of the blocks before and after this one, where its cluster has them.
    before: Option<u32>,
    after: Option<u32>,
}

impl Axis {
    /// x, y and z of this thread.
    #[inline(always)]
    fn all(task: &Task) -> [Axis; 3] {
        let from_slowest = |UVec3 { x, y, z }| [z, y, x];
        let local = from_slowest(thread::thread_idx());
        let position = from_slowest(thread::index_3d());
        let (block, blocks) = (cluster::block_idx(), cluster::dim());
        let steps = [blocks.x * blocks.y, blocks.x, 1];
        let (block, blocks) = (from_slowest(block), from_slowest(blocks));
        let rank = cluster::block_rank();
        let grid = task.grid;
        let strides = [grid.stride_x(), grid.stride_y(), 1];
        [0, 1, 2].map(|axis| Axis {
            local: local[axis],
            width: BLOCK[2 - axis],
            position: position[axis],
            end: grid.shape()[axis] + RADIUS,
            stride: strides[axis],
            in_tile: IN_TILE[axis],
            before: (block[axis] > 0).then(|| rank - steps[axis]),
            after: (block[axis] + 1 < blocks[axis]).then(|| rank + steps[axis]),
        })
    }

    /// Whether this thread fetches a value before the tile, and one after it, if its own is needed.
    #[inline(always)]
    fn fetches(&self) -> [bool; 2] {
        let is_at_face = self.local < RADIUS;
        [
            is_at_face,
            is_at_face && self.position + self.width < self.end,
        ]
    }
}

/// All points, one a thread.
///
/// v of each point becomes its next value, and phi of each of the shell; at the source, `value` is added to v. The points inside the shell
/// are `task.region`.
///
/// Block: [`BLOCK`]. Grid: at least a thread for each point. Clusters of any shape: the grid's x, y and z, and so the cluster's, are the
/// points' z, y and x.
///
/// # Safety
/// - `u`, `vp` and `eta` have the values of `task.grid`.
/// - `v` and `phi` point to as many, which nothing else accesses during the launch.
#[kernel(max_threads = 1024, capability = "9.0")]
pub unsafe fn stencil25_smem_dsm(
    u: &[f32],
    v: *mut f32,
    vp: &[f32],
    eta: &[f32],
    phi: *mut f32,
    task: Task,
    value: f32,
) {
    const { assert!(TILE[0] * TILE[1] * TILE[2] == 7680) };
    let tile = shared_array![f32; 7680];
    let axes = Axis::all(&task);
    let [x, y, z] = [0, 1, 2].map(|axis: usize| axes[axis].position);
    let index = task.grid.index(x, y, z);
    let is_point = task.grid.all().contains(x, y, z);
    let is_needed = axes.iter().all(|axis| axis.position < axis.end);
    let mut t = 0;
    for axis in &axes {
        t += (axis.local as usize + HALO) * axis.in_tile;
    }

    // SAFETY: for all that follows: the values are in the arrays, and this thread's elements of v and phi its own. Each element of the
    // tile has one writer. Of other blocks' tiles, their own points are read, between a barrier of the cluster after which they are there,
    // and one that those blocks pass before they end.
    unsafe {
        let load = |from: u32, to: usize| *tile.add(to) = *u.get_unchecked(from as usize);
        if is_needed {
            load(index, t);
            for axis in &axes {
                let [before, after] = axis.fetches();
                if before && axis.before.is_none() {
                    load(index - RADIUS * axis.stride, t - HALO * axis.in_tile);
                }
                if after && axis.after.is_none() {
                    let to = t + axis.width as usize * axis.in_tile;
                    load(index + axis.width * axis.stride, to);
                }
            }
        }
        let arrival = cluster::arrive();
        let at = index as usize;
        let [before, vp] = match is_point {
            true => [*v.add(at), *vp.get_unchecked(at)],
            false => [0.0; 2],
        };
        arrival.wait();
        if is_needed {
            for axis in &axes {
                let width = axis.width as usize;
                let [before, after] = axis.fetches();
                if let (true, Some(rank)) = (before, axis.before) {
                    let theirs = tile.add(t + (width - HALO) * axis.in_tile);
                    *tile.add(t - HALO * axis.in_tile) = *cluster::map_shared(theirs, rank);
                }
                if let (true, Some(rank)) = (after, axis.after) {
                    let theirs = cluster::map_shared(tile.add(t), rank);
                    *tile.add(t + width * axis.in_tile) = *theirs;
                }
            }
        }
        // This block has what it needs of others. An arrival waits for stores, so it comes before those of the results.
        let done = cluster::arrive();
        thread::sync_threads();
        if is_point {
            let here = tile.add(t);
            let pairs =
                |stride: usize| [1, 2, 3, 4].map(|r| *here.add(r * stride) + *here.sub(r * stride));
            let [x_pairs, y_pairs, z_pairs] = IN_TILE.map(pairs);
            let pairs = Pairs {
                x: x_pairs,
                y: y_pairs,
                z: z_pairs,
            };
            let c = &task.coefficients;
            let laplacian = update::laplacian(c, *here, pairs);
            let next = if task.region.contains(x, y, z) {
                update::inner(*here, before, vp, laplacian)
            } else {
                let (eta, phi) = (eta.as_ptr().add(at), phi.add(at));
                let next = update::shell(*here, before, vp, laplacian, *eta, *phi);
                let change =
                    |from: *const f32, stride: usize| *from.add(stride) - *from.sub(stride);
                let u_change = IN_TILE.map(|stride| change(here, stride));
                let eta_change = axes.map(|axis| change(eta, axis.stride as usize));
                *phi = update::phi(c, *phi, *eta, eta_change, u_change);
                next
            };
            *v.add(at) = task.with_source(index, next, value);
        }
        // The tile stays until the others have what they need of it.
        done.wait();
    }
}
