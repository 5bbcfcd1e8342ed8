//! One launch per timestep: a block's points and their halo come to shared memory first. The part
//! of the halo that other blocks of the cluster hold comes from their shared memory (distributed
//! shared memory), the rest from global memory.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use kernels_gpu::stencil25::update::{self, Pairs};
use kernels_gpu::stencil25::{RADIUS, Task};

/// Threads of a block along z, y and x, one for each point of its tile.
pub const BLOCK: [u32; 3] = [32, 8, 4];

const HALO: usize = RADIUS as usize;

/// The extents of a tile with its halo, along z, y and x.
const TILE: [usize; 3] = [
    BLOCK[0] as usize + 2 * HALO,
    BLOCK[1] as usize + 2 * HALO,
    BLOCK[2] as usize + 2 * HALO,
];

/// The distances from a value of a tile to the next along x, y and z.
const IN_TILE: [usize; 3] = [TILE[0] * TILE[1], TILE[0], 1];

/// The sides of a block by their numbers: before and after it along x, y and z.
const ALL_SIDES: [usize; 6] = [0, 1, 2, 3, 4, 5];

/// A side of a block, and a thread's part in fetching the halo there. The halo is as wide as the
/// stencil's radius and has no edges or corners. For both sides of an axis, the threads at the
/// first positions along it fetch a value.
#[derive(Clone, Copy)]
struct Side {
    /// Whether this thread fetches a value, if its own value is needed.
    is_fetched: bool,
    /// The rank of the block there, if the cluster has it.
    rank: Option<u32>,
    /// The distance from the thread's own value to this one, in an array (modulo 2^32) and in the
    /// tile.
    in_array: u32,
    in_tile: isize,
    /// The distance from the thread's own place in the tile to that of the value in the other
    /// block's tile.
    in_theirs: usize,
}

/// [`ALL_SIDES`] for this thread at `position`. A halo's values are needed before `end`. Beyond it,
/// the array may have none.
#[inline(always)]
fn sides(task: &Task, position: [u32; 3], end: [u32; 3]) -> [Side; 6] {
    let from_slowest = |UVec3 { x, y, z }| [z, y, x];
    let local = from_slowest(thread::thread_idx());
    let blocks = cluster::dim();
    let steps = [blocks.x * blocks.y, blocks.x, 1];
    let (block, blocks) = (from_slowest(cluster::block_idx()), from_slowest(blocks));
    let rank = cluster::block_rank();
    let strides = [task.grid.stride_x(), task.grid.stride_y(), 1];
    ALL_SIDES.map(|n| {
        let (axis, is_after) = (n / 2, n % 2 == 1);
        let (width, stride, in_tile) = (BLOCK[2 - axis], strides[axis], IN_TILE[axis]);
        let is_first = local[axis] < RADIUS;
        if is_after {
            Side {
                is_fetched: is_first && position[axis] + width < end[axis],
                rank: (block[axis] + 1 < blocks[axis]).then(|| rank + steps[axis]),
                in_array: width * stride,
                in_tile: (width as usize * in_tile) as isize,
                in_theirs: 0,
            }
        } else {
            Side {
                is_fetched: is_first,
                rank: (block[axis] > 0).then(|| rank - steps[axis]),
                in_array: (RADIUS * stride).wrapping_neg(),
                in_tile: -((HALO * in_tile) as isize),
                in_theirs: (width as usize - HALO) * in_tile,
            }
        }
    })
}

/// Advances all points, one per thread.
///
/// v of each point becomes its next value, and so does phi of each point of the shell. At the
/// source, `value` is added to v. The points inside the shell are `task.region`.
///
/// Block: [`BLOCK`]. Grid: at least a thread for each point. Clusters may have any shape. The x, y
/// and z of grid and cluster are the points' z, y and x.
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
    let UVec3 { x: z, y, z: x } = thread::index_3d();
    let end = task.grid.shape().map(|points| points + RADIUS);
    let is_needed = x < end[0] && y < end[1] && z < end[2];
    let is_inner = task.region.contains(x, y, z);
    let is_point = task.grid.all().contains(x, y, z);
    let sides = sides(&task, [x, y, z], end);
    let index = task.grid.index(x, y, z);
    let UVec3 { x, y, z } = thread::thread_idx();
    let t = (z as usize + HALO) * IN_TILE[0] + (y as usize + HALO) * IN_TILE[1] + x as usize + HALO;

    // SAFETY: this holds for the whole block: the values are in the arrays, and only this thread
    // writes its elements of v and phi. Each element of the tile has one writer. A thread reads
    // only the own points of other blocks' tiles. It does so after the cluster's barrier that
    // follows their writes, and before the barrier that those blocks pass before they end.
    unsafe {
        let here = tile.add(t);
        if is_needed {
            *here = *u.get_unchecked(index as usize);
        }
        let arrival = cluster::arrive();
        // Until the other blocks are here, load the values from global memory. All loads start
        // before the first store, which waits for its load.
        let from_global = |n: usize| {
            let Side {
                is_fetched,
                rank,
                in_array,
                ..
            } = sides[n];
            match is_needed && is_fetched && rank.is_none() {
                true => *u.get_unchecked(index.wrapping_add(in_array) as usize),
                false => 0.0,
            }
        };
        let halo = ALL_SIDES.map(from_global);
        let at = index as usize;
        let [before, vp] = match is_point {
            true => [*v.add(at), *vp.get_unchecked(at)],
            false => [0.0; 2],
        };
        arrival.wait();
        let halo = ALL_SIDES.map(|n| {
            let Side {
                is_fetched,
                rank,
                in_theirs,
                ..
            } = sides[n];
            match rank {
                Some(rank) if is_needed && is_fetched => {
                    *cluster::map_shared(here.add(in_theirs), rank)
                }
                _ => halo[n],
            }
        });
        let store = |n: usize| {
            if is_needed && sides[n].is_fetched {
                *here.offset(sides[n].in_tile) = halo[n];
            }
        };
        // The loop is not over the array itself: an array's iterator would be in local memory.
        for n in 0..ALL_SIDES.len() {
            store(n);
        }
        // This block has all values of others that it needs. An arrival waits for stores, so it
        // comes before the stores of the results.
        let done = cluster::arrive();
        thread::sync_threads();
        if is_point {
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
            let next = if is_inner {
                update::inner(*here, before, vp, laplacian)
            } else {
                let (eta, phi) = (eta.as_ptr().add(at), phi.add(at));
                let next = update::shell(*here, before, vp, laplacian, *eta, *phi);
                let change =
                    |from: *const f32, stride: usize| *from.add(stride) - *from.sub(stride);
                let u_change = IN_TILE.map(|stride| change(here, stride));
                let strides = [task.grid.stride_x(), task.grid.stride_y(), 1];
                let eta_change = strides.map(|stride| change(eta, stride as usize));
                *phi = update::phi(c, *phi, *eta, eta_change, u_change);
                next
            };
            *v.add(at) = task.with_source(index, next, value);
        }
        // The tile stays until the other blocks have read it.
        done.wait();
    }
}
