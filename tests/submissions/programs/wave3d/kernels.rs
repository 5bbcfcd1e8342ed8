//! One timestep a launch, one thread a site.

use cuda_std::UVec3;
use cuda_std::prelude::*;
use kernels_gpu::wave3d::Domain;
use kernels_gpu::wave3d::update::{self, Neighbours, Scheme};

/// Computes one timestep: the new field replaces `u_prev`.
///
/// # Safety
/// `u_prev` and `u` have n_x * n_y * n_z elements, `c2` n_z, `d` n_x * n_y; nothing else accesses `u_prev` during the launch.
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
    let UVec3 { x: k, y: j, z: i } = thread::index_3d();
    if i >= n_x || j >= n_y || k >= n_z {
        return;
    }
    let domain = Domain { n_x, n_y, n_z };
    let scheme = Scheme { dt, ratio };
    let index = domain.index(i, j, k) as usize;
    let (row, plane) = (n_z as usize, n_y as usize * n_z as usize);
    // SAFETY: the site is in the domain, and this thread's own.
    unsafe {
        let site = u_prev.add(index);
        if domain.is_border(i, j, k) {
            *site = 0.0;
            return;
        }
        let around = Neighbours {
            along_x: [u[index - plane], u[index + plane]],
            along_y: [u[index - row], u[index + row]],
            along_z: [u[index - 1], u[index + 1]],
        };
        let mut laplacian = update::laplacian(u[index], around);
        if index == source as usize {
            laplacian += value;
        }
        let d = d[domain.column(i, j) as usize];
        *site = scheme.next(*site, u[index], laplacian, c2[k as usize], d);
    }
}
