//! Your kernels: the code that runs on the GPU.
//!
//! It already compiles and runs, but four things are missing: TODO 1 to 3 here, TODO 4 in
//! `launch.rs`.
//!
//! - Each `pub unsafe fn` marked `#[kernel]` is a kernel; `launch.rs` launches it by its name. Add
//!   kernels, parameters and constants as you like; names and signatures are yours.
//! - Kernels have no standard library. `cuda_std` has the functions of a GPU: threads, warps,
//!   shared memory, barriers, atomics.
//! - `kernels_gpu::stencil25` has the arrays' layout (`Grid`), boxes of points (`Region`), the
//!   coefficients and the scheme for one point (`update`). The CPU reference computes with the same
//!   functions, in the same order of operations: your result can equal the reference's bit for bit.

use cuda_std::UVec3;
use cuda_std::prelude::*;
use kernels_gpu::stencil25::Task;
use kernels_gpu::stencil25::update::{self, Pairs};

/// Advances the points of `task.region`, all of them inside the shell: the new value of each
/// replaces the one in `v`.
///
/// Launched with at least one thread for each point: z along x (the threads of a warp are
/// neighbours along z), y along y, x along z.
///
/// - `u`: the current field, which this launch only reads.
/// - `v`: the previous field on entry, the next one on return. It is a raw pointer, because the
///   kernel writes it.
/// - `vp`: velocity^2 dt^2.
/// - `task`: the arrays' layout, the box of points, the coefficients, and the element of the
///   source's point.
/// - `value`: the source's value at this timestep.
///
/// # Safety
/// The arrays have the values of `task.grid`; nothing else accesses the region's elements of `v`
/// during the launch.
#[kernel]
pub unsafe fn stencil25_inside_step(u: &[f32], v: *mut f32, vp: &[f32], task: Task, value: f32) {
    // Which point is this thread's? A grid is made of whole blocks, so some threads are past the
    // last point.
    let UVec3 { x: z, y, z: x } = thread::index_3d();
    let low = task.region.low;
    let (x, y, z) = (low[0] + x, low[1] + y, low[2] + z);
    if !task.region.contains(x, y, z) {
        return;
    }
    let index = task.grid.index(x, y, z) as usize;
    // TODO 1: the sums of the two values of u at distance 1, 2, 3 and 4, along each axis. Along z
    // they are given: these are elements index - r and index + r. How far are the neighbours along
    // y, and along x?
    let pairs = Pairs {
        x: [0.0; 4],
        y: [0.0; 4],
        z: [1, 2, 3, 4].map(|r| u[index + r] + u[index - r]),
    };
    let laplacian = update::laplacian(&task.coefficients, u[index], pairs);

    // TODO 2: at the source's point, element `task.source`, `value` is added to the next value.
    let _ = value;

    // SAFETY: the point is in the region, and no other thread has this element of v.
    unsafe {
        let v = v.add(index);
        *v = update::inner(u[index], *v, vp[index], laplacian);
    }
}

/// Advances the points of `task.region`, all of them in the shell: new values replace those in `v`
/// and in `phi`.
///
/// Launched as `stencil25_inside_step`, and with the same parameters; `eta` is the absorption, and
/// `phi` the shell's own field.
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
    // TODO 3: as above, with `update::shell` and then `update::phi`, from the old phi.
    // `update::phi` takes differences of eta and of u along x, y and z: the value after the point
    // less the one before it.
    let _ = (u, v, vp, eta, phi, task, value);
}
