//! The damped layers in launches of their own, so that no thread branches on the damping.
//!
//! | launches of a timestep | the layers in x | the layers in y | the rest |
//! |---|---|---|---|
//! | `split2` | [`wave3d_x_layers`] | [`wave3d_middle`] | [`wave3d_middle`] |
//! | `split3` | [`wave3d_x_layers`] | [`wave3d_y_layers`] | [`wave3d_interior`] |
//!
//! Each site is written by one launch, and none reads what another of the same timestep writes: their order is free.
//! "Layers" here include the border beside them.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use super::domain::{EDGE, edge_len, edge_position, middle_len};
use super::fields::{Damping, Source, Step};
use super::{Domain, update::Scheme};

/// Threads of a block of [`wave3d_y_layers`]: its ten rows are a whole number of blocks.
pub const Y_LAYERS_BLOCK: [u32; 3] = [32, 2, 4];

/// The layers in x, all j and k; every site is damped.
///
/// Parameters, block and safety: as [`wave3d_single`](super::single::wave3d_single). Grid: n_z, n_y and
/// [`edge_len`]`(n_x)` threads.
///
/// # Safety
/// As `wave3d_single`.
#[kernel(max_threads = 256)]
pub unsafe fn wave3d_x_layers(
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
    let UVec3 { x: k, y: j, z } = thread::index_3d();
    if z >= edge_len(n_x) || j >= n_y || k >= n_z {
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
    // SAFETY: different z give different i in the domain; the rest is the caller's.
    unsafe { step.advance(edge_position(n_x, z), j, k, Damping::Present) }
}

/// The layers in y, between those in x, all k; every site is damped.
///
/// Block: [`Y_LAYERS_BLOCK`]. Grid: n_z, [`edge_len`]`(n_y)` and [`middle_len`]`(n_x)` threads.
///
/// # Safety
/// As [`wave3d_single`](super::single::wave3d_single).
#[kernel(max_threads = 256)]
pub unsafe fn wave3d_y_layers(
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
    let UVec3 { x: k, y, z } = thread::index_3d();
    if z >= middle_len(n_x) || y >= edge_len(n_y) || k >= n_z {
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
    // SAFETY: different y give different j in the domain; the rest is the caller's.
    unsafe { step.advance(EDGE + z, edge_position(n_y, y), k, Damping::Present) }
}

/// What is between the layers in x, all j and k: damped or not, as the table says.
///
/// Block: [`BLOCK`](super::BLOCK). Grid: n_z, n_y and [`middle_len`]`(n_x)` threads.
///
/// # Safety
/// As [`wave3d_single`](super::single::wave3d_single).
#[kernel(max_threads = 256)]
pub unsafe fn wave3d_middle(
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
    let UVec3 { x: k, y: j, z } = thread::index_3d();
    if z >= middle_len(n_x) || j >= n_y || k >= n_z {
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
    unsafe { step.advance(EDGE + z, j, k, Damping::Unknown) }
}

/// What is between the layers in x and y, all k: no site is damped.
///
/// Block: [`BLOCK`](super::BLOCK). Grid: n_z, [`middle_len`]`(n_y)` and [`middle_len`]`(n_x)` threads.
///
/// # Safety
/// As [`wave3d_single`](super::single::wave3d_single), which has the same parameters but for `d` and `dt`.
#[kernel(max_threads = 256)]
pub unsafe fn wave3d_interior(
    u_prev: *mut f64,
    u: &[f64],
    c2: &[f64],
    n_x: u32,
    n_y: u32,
    n_z: u32,
    ratio: f64,
    source: u32,
    value: f64,
) {
    let UVec3 { x: k, y, z } = thread::index_3d();
    if z >= middle_len(n_x) || y >= middle_len(n_y) || k >= n_z {
        return;
    }
    let step = Step {
        domain: Domain { n_x, n_y, n_z },
        // Without damping, dt is in `ratio` alone.
        scheme: Scheme { dt: 0.0, ratio },
        u_prev,
        u,
        c2,
        d: &[],
        source: Source::new(source, value),
    };
    // SAFETY: the site is in the domain and this thread's alone, and `d` is not read; the rest is the caller's.
    unsafe { step.advance(EDGE + z, EDGE + y, k, Damping::Absent) }
}
