//! A timestep in seven launches: one for the points inside, one for each of the shell's six boxes.
//!
//! Each point is written by one launch, and none reads what another of the same timestep writes: their order is free. Threads
//! are laid along z, y and x, of which z is contiguous. Rows of points begin with a cache line, and so do the threads of a row: a warp's loads
//! of one array are whole lines, and those of the neighbours along z are at most two.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use kernels_gpu::stencil25::update::{self, Pairs};
use kernels_gpu::stencil25::{Coefficients, Grid, Region};

/// Threads of a block of [`stencil25_gmem`] and, where a box is wide enough along z, of [`stencil25_shell`], along z, y and x.
pub const BLOCK: [u32; 3] = [32, 4, 2];

/// The same of [`stencil25_shell`] for a box of at most so many points along z.
pub const THIN_BLOCK: [u32; 3] = [16, 4, 4];

/// An array around a point.
#[derive(Clone, Copy)]
struct Around {
    values: *const f32,
    index: u32,
}

impl Around {
    /// The value at the point.
    ///
    /// # Safety
    /// The point is in the grid.
    #[inline(always)]
    unsafe fn own(self) -> f32 {
        // SAFETY: the caller's.
        unsafe { *self.values.add(self.index as usize) }
    }

    /// The values at distance `r` before and after the point along an axis with this stride.
    ///
    /// # Safety
    /// The point is in the grid, and `r` is at most its halo's width.
    #[inline(always)]
    unsafe fn both(self, r: u32, stride: u32) -> [f32; 2] {
        let before = self.index - r * stride;
        let after = self.index + r * stride;
        // SAFETY: the array has a halo around all points.
        unsafe {
            [
                *self.values.add(before as usize),
                *self.values.add(after as usize),
            ]
        }
    }

    /// Sums of the values at distance 1 to 4.
    ///
    /// # Safety
    /// The point is in `grid`.
    #[inline(always)]
    unsafe fn pairs(self, grid: Grid) -> Pairs<f32> {
        let along = |stride: u32| {
            [1, 2, 3, 4].map(|r| {
                // SAFETY: the caller's.
                let [before, after] = unsafe { self.both(r, stride) };
                after + before
            })
        };
        Pairs {
            x: along(grid.stride_x()),
            y: along(grid.stride_y()),
            z: along(1),
        }
    }
}

/// This thread's point: positions along x, y and z, the first thread of a row where the cache line begins.
#[inline(always)]
fn point_of_thread(region: Region) -> [u32; 3] {
    let UVec3 { x: z, y, z: x } = thread::index_3d();
    [region.low[0] + x, region.low[1] + y, region.line_z() + z]
}

/// Points inside the shell, all from global memory, one a thread.
///
/// v of each point of `region` becomes its next value; to element `source` of it, `value` is added.
///
/// Block: [`BLOCK`], z along x, y along y, x along z. Grid: at least one thread for each point of `region`, from
/// [`Region::line_z`] on along z.
///
/// # Safety
/// - `u` and `vp` have the grid's number of values.
/// - `v` points to as many, of which nothing else accesses those of `region` during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn stencil25_gmem(
    u: &[f32],
    v: *mut f32,
    vp: &[f32],
    grid: Grid,
    region: Region,
    coefficients: Coefficients,
    source: u32,
    value: f32,
) {
    let [x, y, z] = point_of_thread(region);
    if !region.contains(x, y, z) {
        return;
    }
    let index = grid.index(x, y, z);
    let u = Around {
        values: u.as_ptr(),
        index,
    };
    // SAFETY: the point is in the grid, and its element of v this thread's alone.
    unsafe {
        let v = v.add(index as usize);
        let vp = *vp.get_unchecked(index as usize);
        let before = *v;
        let own = u.own();
        let laplacian = update::laplacian(&coefficients, own, u.pairs(grid));
        let mut next = update::inner(own, before, vp, laplacian);
        if index == source {
            next += value;
        }
        *v = next;
    }
}

/// Points of a box of the shell, all from global memory, one a thread.
///
/// v and phi of each point of `region` become their next values; to element `source` of v, `value` is added.
///
/// Block: [`BLOCK`] or [`THIN_BLOCK`]. Grid: as [`stencil25_gmem`].
///
/// # Safety
/// As [`stencil25_gmem`]; `eta` is as `vp`, and `phi` as `v`.
#[kernel(max_threads = 256)]
pub unsafe fn stencil25_shell(
    u: &[f32],
    v: *mut f32,
    vp: &[f32],
    eta: &[f32],
    phi: *mut f32,
    grid: Grid,
    region: Region,
    coefficients: Coefficients,
    source: u32,
    value: f32,
) {
    let [x, y, z] = point_of_thread(region);
    if !region.contains(x, y, z) {
        return;
    }
    let index = grid.index(x, y, z);
    let around = |values: &[f32]| Around {
        values: values.as_ptr(),
        index,
    };
    let (u, eta) = (around(u), around(eta));
    // SAFETY: the point is in the grid, and its elements of v and phi this thread's alone.
    unsafe {
        let (v, phi) = (v.add(index as usize), phi.add(index as usize));
        let vp = *vp.get_unchecked(index as usize);
        let (before, phi_before) = (*v, *phi);
        let (own, eta_own) = (u.own(), eta.own());
        let laplacian = update::laplacian(&coefficients, own, u.pairs(grid));
        let mut next = update::shell(own, before, vp, laplacian, eta_own, phi_before);
        if index == source {
            next += value;
        }
        *v = next;
        let changes = |array: Around| {
            [grid.stride_x(), grid.stride_y(), 1].map(|stride| {
                let [before, after] = array.both(1, stride);
                after - before
            })
        };
        let (eta_change, u_change) = (changes(eta), changes(u));
        *phi = update::phi(&coefficients, phi_before, eta_own, eta_change, u_change);
    }
}
