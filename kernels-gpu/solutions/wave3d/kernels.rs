//! One thread a site, everything from global memory; the kernels differ in which sites they give to threads.
//!
//! 24 bytes a site and step must move: u read, u_prev read and written. The neighbours' loads hit L1 or L2: within a
//! warp along k, within a block along j and i, and between blocks in the two planes of sites before and after, which
//! L2 holds. All sites of a warp have one (i, j), so a branch on the damping does not diverge.
//!
//! [`wave3d_single`] takes all sites in one launch. The others take the damped layers apart, so that no thread branches on
//! the damping:
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

use kernels_gpu::wave3d::domain::{Domain, EDGE, edge_len, edge_position, middle_len};
use kernels_gpu::wave3d::source::Source;
use kernels_gpu::wave3d::update::{self, Neighbours, Scheme};

/// Threads of a block along k, j and i: a warp is 32 neighbouring sites along k.
pub const BLOCK: [u32; 3] = [32, 4, 2];

/// Threads of a block of [`wave3d_y_layers`]: its ten rows are a whole number of blocks.
pub const Y_LAYERS_BLOCK: [u32; 3] = [32, 2, 4];

/// What a kernel knows of the damping of its sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damping {
    /// Nothing: the table says.
    Unknown,
    /// There is none.
    Absent,
    /// There is some.
    Present,
}

/// Fields, tables and constants of one timestep.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// Extents.
    pub domain: Domain,
    /// Constants.
    pub scheme: Scheme,
    /// The second-last field, which the next one replaces.
    pub u_prev: *mut f64,
    /// The last field.
    pub u: &'a [f64],
    /// c^2 in m^2/s^2 by k.
    pub c2: &'a [f64],
    /// d in 1/s by column; not read where damping is absent.
    pub d: &'a [f64],
    /// The source.
    pub source: Source,
}

impl Step<'_> {
    /// Writes the next value of site (i, j, k).
    ///
    /// # Safety
    /// The site is in the domain, whose fields and tables these are, and nothing else accesses its element of `u_prev`
    /// meanwhile. The number of sites fits in 31 bits.
    #[inline(always)]
    pub unsafe fn advance(self, i: u32, j: u32, k: u32, damping: Damping) {
        let Domain { n_y, n_z, .. } = self.domain;
        let index = self.domain.index(i, j, k);
        // SAFETY: the index is in the field, and a site inside the border has all six neighbours.
        unsafe {
            let site = self.u_prev.add(index as usize);
            if self.domain.is_border(i, j, k) {
                *site = 0.0;
                return;
            }
            // All loads come first, so that they are under way together.
            let u = self.u.as_ptr().add(index as usize);
            let pair = |stride: u32| [*u.sub(stride as usize), *u.add(stride as usize)];
            let around = Neighbours {
                along_x: pair(n_y * n_z),
                along_y: pair(n_z),
                along_z: pair(1),
            };
            let (u_prev, u) = (*site, *u);
            let c2 = *self.c2.get_unchecked(k as usize);
            let d = match damping {
                Damping::Absent => 0.0,
                Damping::Unknown | Damping::Present => {
                    *self.d.get_unchecked(self.domain.column(i, j) as usize)
                }
            };
            let mut laplacian = update::laplacian(u, around);
            if index == self.source.index {
                laplacian += self.source.value;
            }
            let scheme = self.scheme;
            *site = match damping {
                Damping::Unknown => scheme.next(u_prev, u, laplacian, c2, d),
                Damping::Absent => scheme.undamped(u_prev, u, laplacian, c2),
                Damping::Present => scheme.damped(u_prev, u, laplacian, c2, d),
            };
        }
    }
}

/// Computes the next value of every site: the new field replaces `u_prev`.
///
/// `ratio` is dt^2/dx^2; `source` the position of the source's site, `value` its value at this timestep.
///
/// Block: [`BLOCK`], k along x, j along y, i along z. Grid: at least one thread for each site.
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

/// The layers in x, all j and k; every site is damped.
///
/// Parameters, block and safety: as [`wave3d_single`]. Grid: n_z, n_y and
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
/// As [`wave3d_single`].
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
/// Block: [`BLOCK`]. Grid: n_z, n_y and [`middle_len`]`(n_x)` threads.
///
/// # Safety
/// As [`wave3d_single`].
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
/// Block: [`BLOCK`]. Grid: n_z, [`middle_len`]`(n_y)` and [`middle_len`]`(n_x)` threads.
///
/// # Safety
/// As [`wave3d_single`], which has the same parameters but for `d` and `dt`.
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
