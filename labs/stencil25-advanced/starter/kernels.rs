//! Your kernels: the code that runs on the GPU.
//!
//! `stencil25_semi` streams along x, and computes each sum in another order than `update` states: a
//! *semi-stencil*. It compiles and runs, but three things are missing: TODO 1 to 3. `launch.rs` is
//! complete, until you want other blocks, clusters or streams.
//!
//! The kernel is the plainest of its kind: one thread for each column, and neighbours along y and z
//! from global memory. Once it is right, bring what you have learned in lab stencil25.

use cuda_std::UVec2;
use cuda_std::prelude::*;
use kernels_gpu::stencil25::{Region, Task};
use kernels_gpu::stencil25::update;

/// Advances the points of `task.region`, all of them inside the shell: the new value of each
/// replaces the one in `v`.
///
/// Launched with at least one thread for each column of points along x: z along x (the threads of a
/// warp are neighbours along z), y along y.
///
/// - `u`: the current field, which this launch only reads.
/// - `v`: the previous field on entry, the next one on return.
/// - `vp`: velocity^2 dt^2.
/// - `task`: the arrays' layout, the box of points, the coefficients, and the element of the
///   source's point.
/// - `value`: the source's value at this timestep.
///
/// # Safety
/// The arrays have the values of `task.grid`; nothing else accesses the region's elements of `v`
/// during the launch.
#[kernel]
pub unsafe fn stencil25_semi(u: &[f32], v: *mut f32, vp: &[f32], task: Task, value: f32) {
    let Region { low, high } = task.region;
    let UVec2 { x: z, y } = thread::index_2d();
    let (y, z) = (low[1] + y, low[2] + z);
    if y >= high[1] || z >= high[2] {
        return;
    }
    let c = task.coefficients;
    let plane = task.grid.stride_x() as usize;
    let planes = high[0] - low[0];
    // The element of this column in the plane that arrives: first that of the region's first plane.
    let mut index = task.grid.index(low[0], y, z) as usize;
    // u of the four planes before it, the nearest first, and the sums of their points so far. The
    // first four planes lie before the region: they are known, and nobody wants their sums.
    let mut before = [1, 2, 3, 4].map(|r| u[index - r * plane]);
    let mut sums = [0.0; 4];
    // Four more planes arrive than the region has: the last points' sums wait for them.
    for arriving in 0..planes + 4 {
        let own = u[index];

        // TODO 2, backward: the plane that arrives lies at distance 1 after the point of `sums[0]`,
        // at distance 2 after that of `sums[1]`, and so on. `c.x[r - 1]` is the coefficient of
        // distance r along x. Add to each of the four sums what it has been waiting for.

        // Now the sum of the point four planes back is complete, if the region has that point.
        if arriving >= 4 {
            let done = index - 4 * plane;
            // SAFETY: the point is in the region, and no other thread has this column.
            unsafe {
                let v = v.add(done);
                let next = update::inner(before[3], *v, vp[done], sums[3]);
                *v = task.with_source(done as u32, next, value);
            }
        }

        // TODO 3, forward: the sum of the arriving point begins with all that is known by now: the
        // point itself (`c.centre`), the four planes before it (`before`, along x), and its
        // neighbours along y and z, on both sides, from u. After the region's last plane no sum
        // begins.
        let sum = 0.0;

        before = [own, before[0], before[1], before[2]];
        sums = [sum, sums[0], sums[1], sums[2]];
        index += plane;
    }
}

/// Advances the points of `task.region`, all of them in the shell: new values replace those in `v`
/// and in `phi`.
///
/// Launched with at least one thread for each point: z along x, y along y, x along z.
///
/// # Safety
/// As `stencil25_semi`, for `phi` as for `v`.
#[kernel]
pub unsafe fn stencil25_shell_step(
    u: &[f32],
    v: *mut f32,
    vp: &[f32],
    eta: &[f32],
    phi: *mut f32,
    task: Task,
    value: f32,
) {
    // TODO 1: your kernel of the same name from lab stencil25, and the `use` lines that it needs.
    let _ = (u, v, vp, eta, phi, task, value);
}
