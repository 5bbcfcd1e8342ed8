//! Seven launches a timestep, one thread a point.

use cuda_std::UVec3;
use cuda_std::prelude::*;
use kernels_gpu::stencil25::update::{self, Pairs};
use kernels_gpu::stencil25::{Coefficients, Task};

/// This thread's point, if it has one: its element.
fn element(task: &Task) -> Option<usize> {
    let UVec3 { x: z, y, z: x } = thread::index_3d();
    let low = task.region.low;
    let (x, y, z) = (low[0] + x, low[1] + y, low[2] + z);
    let is_inside = task.region.contains(x, y, z);
    is_inside.then(|| task.grid.index(x, y, z) as usize)
}

/// Values from a point to the next, along x, y and z.
fn strides(task: &Task) -> [usize; 3] {
    [
        task.grid.stride_x() as usize,
        task.grid.stride_y() as usize,
        1,
    ]
}

fn laplacian(u: &[f32], index: usize, task: &Task) -> f32 {
    let c: &Coefficients = &task.coefficients;
    let along = |stride: usize| [1, 2, 3, 4].map(|r| u[index + r * stride] + u[index - r * stride]);
    let [x, y, z] = strides(task).map(along);
    update::laplacian(c, u[index], Pairs { x, y, z })
}

/// Advances the points of `task.region`, all of them inside the shell.
///
/// # Safety
/// The arrays have the values of `task.grid`; nothing else accesses the region's elements of `v` during the launch.
#[kernel]
pub unsafe fn stencil25_inside_step(u: &[f32], v: *mut f32, vp: &[f32], task: Task, value: f32) {
    let Some(index) = element(&task) else {
        return;
    };
    // SAFETY: the point is in the region, and this thread's own.
    unsafe {
        let v = v.add(index);
        let next = update::inner(u[index], *v, vp[index], laplacian(u, index, &task));
        *v = task.with_source(index as u32, next, value);
    }
}

/// Advances the points of `task.region`, all of them in the shell.
///
/// # Safety
/// As `stencil25_inside_step`, for `phi` as for `v`.
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
    let Some(index) = element(&task) else {
        return;
    };
    let change =
        |array: &[f32]| strides(&task).map(|stride| array[index + stride] - array[index - stride]);
    // SAFETY: the point is in the region, and this thread's own.
    unsafe {
        let (v, phi) = (v.add(index), phi.add(index));
        let laplacian = laplacian(u, index, &task);
        let next = update::shell(u[index], *v, vp[index], laplacian, eta[index], *phi);
        *v = task.with_source(index as u32, next, value);
        *phi = update::phi(&task.coefficients, *phi, eta[index], change(eta), change(u));
    }
}
