//! A thread takes one site in each of two planes, everything from global memory. The kernels differ
//! in their planes and rows.
//!
//! 24 bytes per site and step must move: u is read, u_prev is read and written. The neighbours'
//! loads hit L1 or L2: within a warp along k, within a block along j and i, and between blocks in
//! the two planes of sites before and after, which L2 holds. All sites of a warp have one (i, j): a
//! branch on the damping does not diverge.
//!
//! Rows begin anywhere in a cache line. The threads of each row begin at the start of that line: a
//! warp's sites fill whole lines.
//!
//! A timestep ends with its last planes in L2. Every other timestep therefore takes the planes from
//! the last to the first.
//!
//! [`wave3d_single`] takes all sites in one launch. The others compute the damped layers
//! separately, so that no thread branches on the damping:
//!
//! | launches of a timestep | the layers in x | the layers in y | the rest |
//! |---|---|---|---|
//! | `split2` | [`wave3d_x_layers`] | [`wave3d_middle`] | [`wave3d_middle`] |
//! | `split3` | [`wave3d_x_layers`] | [`wave3d_y_layers`] | [`wave3d_interior`] |
//!
//! One launch writes each site, and no launch reads values that another of the same timestep
//! writes: their order is free. "Layers" here include the border beside them.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use kernels_gpu::cache_line;
use kernels_gpu::wave3d::domain::{Domain, EDGE, edge_len, edge_position, middle_len};
use kernels_gpu::wave3d::source::Source;
use kernels_gpu::wave3d::update::{self, Neighbours, Scheme};

/// Threads of a block along k, j and i: a warp is 32 neighbouring sites along k. A block takes
/// [`PLANES`] planes.
pub const BLOCK: [u32; 3] = [64, 4, 1];

/// Threads of a block of [`wave3d_y_layers`]: its ten rows are a multiple of the block's.
pub const Y_LAYERS_BLOCK: [u32; 3] = [64, 2, 1];

/// The number of planes that a thread takes, one after another. A part of its loads for the second
/// is in L1 from the first.
pub const PLANES: u32 = 2;

/// Calls `advance` for each plane of this thread's block. A launch takes `count` planes, in
/// ascending order, or in descending order if `descends` is not 0.
#[inline(always)]
fn for_planes(count: u32, descends: u32, mut advance: impl FnMut(u32)) {
    for plane in 0..PLANES {
        let plane = PLANES * thread::block_idx_z() + plane;
        if plane >= count {
            return;
        }
        advance(if descends != 0 {
            count - 1 - plane
        } else {
            plane
        });
    }
}

/// A kernel's knowledge of the damping of its sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damping {
    /// The table says whether a site is damped.
    Unknown,
    /// No site is damped.
    Absent,
    /// All sites are damped.
    Present,
}

/// Fields, tables and constants of one timestep.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// Extents.
    pub domain: Domain,
    /// Constants.
    pub scheme: Scheme,
    /// The second-last field, which the next one replaces. This pointer and the next ones point to
    /// the place of the domain's first value, even if memory begins with a later plane.
    pub u_prev: *mut f64,
    /// The last field.
    pub u: *const f64,
    /// d in 1/s by column; not read where damping is absent.
    pub d: *const f64,
    /// c^2 in m^2/s^2 by k.
    pub c2: &'a [f64],
    /// The source.
    pub source: Source,
}

impl Step<'_> {
    /// Writes the next value of a site in column (i, j), if it exists. `x` counts from the start of
    /// the cache line in which the row begins.
    ///
    /// # Safety
    /// The column is in the domain, and the fields and tables are the domain's. They have the
    /// column's plane; `u` also has the planes beside it. Nothing else accesses the site's element
    /// of `u_prev` meanwhile. The number of sites fits in 31 bits.
    #[inline(always)]
    pub unsafe fn advance(self, i: u32, j: u32, x: u32, damping: Damping) {
        let Domain { n_y, n_z, .. } = self.domain;
        let row = self.domain.index(i, j, 0);
        let place = self.u_prev.wrapping_add(row as usize).addr() / size_of::<f64>();
        // Before the row, this wraps to a number beyond it.
        let k = x.wrapping_sub(place as u32 % cache_line::len::<f64>());
        if k >= n_z {
            return;
        }
        let index = row + k;
        // SAFETY: the index is in the field, and a site inside the border has all six neighbours.
        unsafe {
            let site = self.u_prev.wrapping_add(index as usize);
            if self.domain.is_border(i, j, k) {
                *site = 0.0;
                return;
            }
            // All loads come first, so that they are in flight together.
            let u = self.u.wrapping_add(index as usize);
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
                    *self.d.wrapping_add(self.domain.column(i, j) as usize)
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

/// Computes the next value of every site in the planes from `first` on: the new field replaces
/// `u_prev`.
///
/// The domain's values begin with those of plane `first` in `u_prev` and `d`, and in `u` with the
/// plane before, if there is one. `ratio` is dt^2/dx^2, `source` the position of the source's site,
/// `value` its value at this timestep. `descends` is 1 to take the planes from the last to the
/// first, or 0.
///
/// Block: [`BLOCK`], k along x, j along y, i along z. Grid: at least
/// [`cache_line::row_threads`]`(n_z)` and n_y threads, and one for each [`PLANES`] of the planes.
///
/// # Safety
/// - first + planes is at most n_x. `u_prev` points to the initialised values of `planes` planes,
///   which nothing else accesses during the launch.
/// - `u` has those planes and the ones beside them, as far as they are in the domain; `c2` has n_z
///   elements, `d` n_y for each of the planes.
/// - The number of sites fits in 31 bits; n_x, n_y and n_z are at least 3.
#[kernel(max_threads = 256)]
pub unsafe fn wave3d_single(
    u_prev: *mut f64,
    u: &[f64],
    c2: &[f64],
    d: &[f64],
    first: u32,
    planes: u32,
    n_x: u32,
    n_y: u32,
    n_z: u32,
    dt: f64,
    ratio: f64,
    source: u32,
    value: f64,
    descends: u32,
) {
    let UVec3 { x, y: j, .. } = thread::index_3d();
    if j >= n_y {
        return;
    }
    let domain = Domain { n_x, n_y, n_z };
    let before = |plane: u32| domain.index(plane, 0, 0) as usize;
    let step = Step {
        domain,
        scheme: Scheme { dt, ratio },
        u_prev: u_prev.wrapping_sub(before(first)),
        u: u.as_ptr().wrapping_sub(before(first.saturating_sub(1))),
        c2,
        d: d.as_ptr().wrapping_sub(domain.column(first, 0) as usize),
        source: Source::new(source, value),
    };
    for_planes(planes, descends, |plane| {
        // SAFETY: the column is in the domain and its site this thread's alone; the rest is the
        // caller's.
        unsafe { step.advance(first + plane, j, x, Damping::Unknown) }
    });
}

/// Computes the layers in x, all j and k; every site is damped.
///
/// Parameters, block, grid and safety: as [`wave3d_single`] for the whole domain, with
/// [`edge_len`]`(n_x)` planes.
///
/// # Safety
/// As `wave3d_single` for the whole domain.
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
    descends: u32,
) {
    let UVec3 { x, y: j, .. } = thread::index_3d();
    if j >= n_y {
        return;
    }
    let step = Step {
        domain: Domain { n_x, n_y, n_z },
        scheme: Scheme { dt, ratio },
        u_prev,
        u: u.as_ptr(),
        c2,
        d: d.as_ptr(),
        source: Source::new(source, value),
    };
    for_planes(edge_len(n_x), descends, |t| {
        // SAFETY: different t give different i in the domain; the rest is the caller's.
        unsafe { step.advance(edge_position(n_x, t), j, x, Damping::Present) }
    });
}

/// Computes the layers in y, between those in x, all k; every site is damped.
///
/// Block: [`Y_LAYERS_BLOCK`]. Grid: as [`wave3d_single`], with [`edge_len`]`(n_y)` rows in
/// [`middle_len`]`(n_x)` planes.
///
/// # Safety
/// As [`wave3d_single`] for the whole domain.
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
    descends: u32,
) {
    let UVec3 { x, y, .. } = thread::index_3d();
    if y >= edge_len(n_y) {
        return;
    }
    let step = Step {
        domain: Domain { n_x, n_y, n_z },
        scheme: Scheme { dt, ratio },
        u_prev,
        u: u.as_ptr(),
        c2,
        d: d.as_ptr(),
        source: Source::new(source, value),
    };
    for_planes(middle_len(n_x), descends, |t| {
        // SAFETY: different y give different j in the domain; the rest is the caller's.
        unsafe { step.advance(EDGE + t, edge_position(n_y, y), x, Damping::Present) }
    });
}

/// Computes the sites between the layers in x, all j and k: damped or not, as the table says.
///
/// Block: [`BLOCK`]. Grid: as [`wave3d_single`], with [`middle_len`]`(n_x)` planes.
///
/// # Safety
/// As [`wave3d_single`] for the whole domain.
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
    descends: u32,
) {
    let UVec3 { x, y: j, .. } = thread::index_3d();
    if j >= n_y {
        return;
    }
    let step = Step {
        domain: Domain { n_x, n_y, n_z },
        scheme: Scheme { dt, ratio },
        u_prev,
        u: u.as_ptr(),
        c2,
        d: d.as_ptr(),
        source: Source::new(source, value),
    };
    for_planes(middle_len(n_x), descends, |t| {
        // SAFETY: the column is in the domain and its site this thread's alone; the rest is the
        // caller's.
        unsafe { step.advance(EDGE + t, j, x, Damping::Unknown) }
    });
}

/// Computes the sites between the layers in x and y, all k: no site is damped.
///
/// Block: [`BLOCK`]. Grid: as [`wave3d_single`], with [`middle_len`]`(n_y)` rows in
/// [`middle_len`]`(n_x)` planes.
///
/// # Safety
/// As [`wave3d_single`] for the whole domain. The parameters are the same except `d` and `dt`,
/// which are absent.
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
    descends: u32,
) {
    let UVec3 { x, y, .. } = thread::index_3d();
    if y >= middle_len(n_y) {
        return;
    }
    let step = Step {
        domain: Domain { n_x, n_y, n_z },
        // Without damping, only `ratio` depends on dt.
        scheme: Scheme { dt: 0.0, ratio },
        u_prev,
        u: u.as_ptr(),
        c2,
        d: core::ptr::null(),
        source: Source::new(source, value),
    };
    for_planes(middle_len(n_x), descends, |t| {
        // SAFETY: the column is in the domain, only this thread writes its site, and `d` is not
        // read; the rest is the caller's.
        unsafe { step.advance(EDGE + t, EDGE + y, x, Damping::Absent) }
    });
}
