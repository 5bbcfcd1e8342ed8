//! The starter of stencil25-advanced with its three holes filled: what a student has at the
//! checkpoint.

use cuda_std::{UVec2, UVec3};
use cuda_std::prelude::*;
use kernels_gpu::stencil25::{Region, Task};
use kernels_gpu::stencil25::update::{self, Pairs};

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

        for r in 0..4 {
            sums[r] = c.x[r].mul_add(own, sums[r]);
        }

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

        let mut sum = 0.0;
        if arriving < planes {
            let pitch = task.grid.stride_y() as usize;
            sum = c.centre * own;
            for r in 0..4 {
                let (along_y, along_z) = ((r + 1) * pitch, r + 1);
                sum = c.x[r].mul_add(before[r], sum);
                sum = c.y[r].mul_add(u[index + along_y] + u[index - along_y], sum);
                sum = c.z[r].mul_add(u[index + along_z] + u[index - along_z], sum);
            }
        }

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
    let UVec3 { x: z, y, z: x } = thread::index_3d();
    let low = task.region.low;
    let (x, y, z) = (low[0] + x, low[1] + y, low[2] + z);
    if !task.region.contains(x, y, z) {
        return;
    }
    let i = task.grid.index(x, y, z) as usize;
    let strides = [task.grid.stride_x(), task.grid.stride_y(), 1].map(|s| s as usize);
    let pairs = |s: usize| [1, 2, 3, 4].map(|r| u[i + r * s] + u[i - r * s]);
    let [x, y, z] = strides.map(pairs);
    let laplacian = update::laplacian(&task.coefficients, u[i], Pairs { x, y, z });
    let changes = |of: &[f32]| strides.map(|s| of[i + s] - of[i - s]);
    // SAFETY: the point is in the region, and no other thread has these elements.
    unsafe {
        let (v, phi) = (v.add(i), phi.add(i));
        let old = *phi;
        let next = update::shell(u[i], *v, vp[i], laplacian, eta[i], old);
        *v = task.with_source(i as u32, next, value);
        *phi = update::phi(&task.coefficients, old, eta[i], changes(eta), changes(u));
    }
}
