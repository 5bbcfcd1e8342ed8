//! Your kernels: the code that runs on the GPU.
//!
//! It already compiles and runs, but four things are missing: TODO 1 to 3 here, TODO 4 in
//! `launch.rs`.
//!
//! - Each `pub unsafe fn` marked `#[kernel]` is a kernel; `launch.rs` launches it by its name. Add
//!   kernels, parameters and constants as you like; names and signatures are yours.
//! - Kernels have no standard library. `cuda_std` has the functions of a GPU: threads, warps,
//!   shared memory, barriers, atomics.
//! - `kernels_gpu::wave3d` has the domain and the scheme for one site (`update`). The CPU reference
//!   computes with the same functions, in the same order of operations: your result can equal the
//!   reference's bit for bit.

use cuda_std::UVec3;
use cuda_std::prelude::*;
use kernels_gpu::wave3d::Domain;
use kernels_gpu::wave3d::update::{self, Neighbours, Scheme};

/// Computes one timestep: the new value of every site replaces the one in `u_prev`.
///
/// Launched with at least one thread for each site: k along x (the threads of a warp are neighbours
/// along k), j along y, i along z.
///
/// - `u_prev`: the previous field on entry, the next one on return. It is a raw pointer, because
///   the kernel writes it.
/// - `u`: the current field, which this launch only reads.
/// - `c2`: the speed squared, by k. `d`: the damping, by column (i, j).
/// - `n_x`, `n_y`, `n_z`: sites along x, y and z; site (i, j, k) is element (i * n_y + j) * n_z +
///   k.
/// - `dt`, `ratio`: the timestep, and dt^2/dx^2.
/// - `source`, `value`: the element of the point source's site, and its value at this timestep.
///
/// # Safety
/// `u_prev` and `u` have n_x * n_y * n_z elements, `c2` n_z, `d` n_x * n_y; nothing else accesses
/// `u_prev` during the launch.
#[kernel]
pub unsafe fn wave3d_step(
    u_prev: *mut f64,
    u: &[f64],
    c2: &[f64],
    d: &[f64],
    n_x: u32,
    n_y: u32,
    n_z: u32,
    dt: f64,
    ratio: f64,
    source: u32,
    value: f64,
) {
    // Which site is this thread's? A grid is made of whole blocks, so some threads are past the
    // last site.
    let UVec3 { x: k, y: j, z: i } = thread::index_3d();
    if i >= n_x || j >= n_y || k >= n_z {
        return;
    }
    let domain = Domain { n_x, n_y, n_z };
    let scheme = Scheme { dt, ratio };
    let index = domain.index(i, j, k) as usize;
    // SAFETY: the site is in the domain, so the index is below n_x * n_y * n_z, and no other thread
    // has this element of u_prev.
    unsafe {
        let site = u_prev.add(index);
        if domain.is_border(i, j, k) {
            *site = 0.0;
            return;
        }
        // TODO 1: the last values of the six neighbours, out of `u`. A site inside the border has
        // all six. Along z they are elements index - 1 and index + 1; how far is the neighbour
        // along y, and along x?
        let around = Neighbours {
            along_x: [0.0, 0.0],
            along_y: [0.0, 0.0],
            along_z: [0.0, 0.0],
        };
        let laplacian = update::laplacian(u[index], around);

        // TODO 2: at the source's site, `value` is added to the Laplacian.
        let _ = (source, value);

        // TODO 3: this is the update without damping. Where the column's damping is above 0 it is
        // `scheme.damped`; `scheme.next` asks which. The column (i, j) is element domain.column(i,
        // j) of `d`.
        let _ = d;
        *site = scheme.undamped(*site, u[index], laplacian, c2[k as usize]);
    }
}
