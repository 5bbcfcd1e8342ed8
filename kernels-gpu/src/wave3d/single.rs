//! One launch a timestep, one thread a site, one branch for the damping.
//!
//! 24 bytes a site and step must move: u read, u_prev read and written. The neighbours' loads hit L1 or L2: within a
//! warp along k, within a block along j and i, and between blocks in the two planes of sites before and after, which
//! L2 holds. All sites of a warp have one (i, j), so the branch does not diverge.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use super::Domain;
use super::fields::{Damping, Source, Step};
use super::update::Scheme;

/// Computes the next value of every site: the new field replaces `u_prev`.
///
/// `ratio` is dt^2/dx^2; `source` the position of the source's site, `value` its value at this timestep.
///
/// Block: [`BLOCK`](super::BLOCK), k along x, j along y, i along z. Grid: at least one thread for each site.
///
/// # Safety
/// - `u_prev` points to n_x * n_y * n_z initialised values that nothing else accesses during the launch.
/// - `u` has as many elements, `c2` n_z, `d` n_x * n_y.
/// - The number of sites fits in 31 bits; n_x, n_y and n_z are at least 3.
#[kernel(max_threads = 256)]
pub unsafe fn wave3d_single(
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
    let step = Step {
        domain: Domain { n_x, n_y, n_z },
        scheme: Scheme { dt, ratio },
        u_prev,
        u,
        c2,
        d,
        source: Source::new(source, value),
    };
    // SAFETY: the site is in the domain and this thread's alone; the rest is the caller's.
    unsafe { step.advance(i, j, k, Damping::Unknown) }
}
