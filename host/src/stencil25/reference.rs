//! The CPU references: the scheme of `kernels_gpu`, serial or on all cores, and in `f64`.
//!
//! Fused products and sums are one instruction if the CPU has it, which the program tests when it
//! runs. Otherwise they are a function of the C library with the same result.

use std::ops::Range;

use kernels_gpu::real::Fused;
use kernels_gpu::stencil25::update::{self, Pairs};
use kernels_gpu::stencil25::{Coefficients, Grid};
use rayon::prelude::*;

use super::model::Medium;
use super::problem::{Fields, Stencil25};
use lab::Cpu;
use terminal::progress::Progress;

/// Values of one parallel task, in whole rows: enough that the cost of handing out tasks is small.
const TASK_VALUES: usize = 1 << 14;

/// Advances `fields` by the problem's steps in this medium, usually [`Stencil25::vp`] and
/// [`Stencil25::eta`], in the precision of `T`.
///
/// # Panics
///
/// If the fields or the medium are not of the problem's size.
pub fn advance<T: Fused + Send + Sync>(
    problem: &Stencil25,
    medium: Medium<'_>,
    fields: &mut Fields<T>,
    cpu: Cpu,
    progress: &dyn Progress,
) {
    advance_by(has_fma(), problem, medium, fields, cpu, progress);
}

/// As [`advance`], with the CPU's fused instruction if `has_fma`, or else with the C library's
/// function.
pub(super) fn advance_by<T: Fused + Send + Sync>(
    has_fma: bool,
    problem: &Stencil25,
    medium: Medium<'_>,
    fields: &mut Fields<T>,
    cpu: Cpu,
    progress: &dyn Progress,
) {
    let grid = problem.grid();
    let Fields { u, v, phi } = fields;
    let sizes = [
        u.len(),
        v.len(),
        phi.len(),
        medium.vp.len(),
        medium.eta.len(),
    ];
    assert_eq!(
        sizes,
        [grid.len() as usize; 5],
        "an array is not of the problem's size"
    );
    for step in 0..problem.steps() {
        let stepper = Stepper {
            grid,
            coefficients: problem.coefficients(),
            medium,
            shell: problem.shell(),
            u,
            has_fma,
        };
        let pitch = grid.pitch as usize;
        match cpu {
            Cpu::Serial => {
                let rows = v.chunks_mut(pitch).zip(phi.chunks_mut(pitch)).enumerate();
                rows.for_each(|(row, (v_row, phi_row))| stepper.row(row, v_row, phi_row));
            }
            Cpu::Parallel => {
                let rows = TASK_VALUES.div_ceil(pitch);
                let tasks = v
                    .par_chunks_mut(rows * pitch)
                    .zip(phi.par_chunks_mut(rows * pitch))
                    .enumerate();
                tasks.for_each(|(task, (v_rows, phi_rows))| {
                    let all = v_rows.chunks_mut(pitch).zip(phi_rows.chunks_mut(pitch));
                    for (row, (v_row, phi_row)) in all.enumerate() {
                        stepper.row(task * rows + row, v_row, phi_row);
                    }
                });
            }
        }
        if let Some(value) = v.get_mut(problem.source_index() as usize) {
            *value = *value + T::from_f32(problem.source_value(step));
        }
        std::mem::swap(u, v);
        progress.update(u64::from(step) + 1, u64::from(problem.steps()));
    }
}

/// Whether the CPU has an instruction that fuses a product and a sum, for eight `f32` at a time.
fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// One timestep.
struct Stepper<'a, T> {
    grid: Grid,
    coefficients: Coefficients,
    medium: Medium<'a>,
    shell: u32,
    u: &'a [T],
    has_fma: bool,
}

/// The values around the points of a part of a row, and the constant arrays.
struct Around<'a, T> {
    coefficients: &'a Coefficients,
    /// The points' values of u.
    own: &'a [T],
    /// The values of u along x, y and z, at distance 1 to 4, before and after the points.
    neighbours: [[[&'a [T]; 2]; 4]; 3],
    vp: &'a [f32],
    eta: &'a [f32],
    /// The values of eta along x, y and z, at distance 1, before and after the points.
    eta_neighbours: [[&'a [f32]; 2]; 3],
}

impl<T: Fused> Stepper<'_, T> {
    /// Advances the row with this number. `v`, the second-last values, becomes the next ones, and
    /// `phi` advances too.
    fn row(&self, row: usize, v: &mut [T], phi: &mut [T]) {
        let Some([x, y]) = self.grid.column(row) else {
            return;
        };
        let n_z = self.grid.n_z as usize;
        let inner = self.grid.inner(self.shell);
        let [_, _, low] = inner.low.map(|z| z as usize);
        let [_, _, high] = inner.high.map(|z| z as usize);
        let mut part = |zs: Range<usize>, is_shell: bool| {
            let around = self.around(row, zs.clone());
            let (v, phi) = (&mut v[zs.clone()], &mut phi[zs]);
            match (is_shell, self.has_fma) {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the CPU has these features.
                (true, true) => unsafe { shell_fma(&around, v, phi) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the CPU has these features.
                (false, true) => unsafe { inner_fma(&around, v) },
                (true, _) => shell(&around, v, phi),
                (false, _) => self::inner(&around, v),
            }
        };
        if inner.contains(x, y, inner.low[2]) {
            part(0..low, true);
            part(low..high, false);
            part(high..n_z, true);
        } else {
            part(0..n_z, true);
        }
    }

    fn around(&self, row: usize, zs: Range<usize>) -> Around<'_, T> {
        let start = row * self.grid.pitch as usize + zs.start;
        let len = zs.len();
        let strides = [self.grid.stride_x(), self.grid.stride_y(), 1].map(|n| n as usize);
        let distances = [1, 2, 3, 4];
        // The slices have one length, so that the loops have no bounds checks and vectorise.
        let u = |at: usize| &self.u[at..][..len];
        let eta = |at: usize| &self.medium.eta[at..][..len];
        Around {
            coefficients: &self.coefficients,
            own: u(start),
            neighbours: strides
                .map(|stride| distances.map(|r| [u(start - r * stride), u(start + r * stride)])),
            vp: &self.medium.vp[start..][..len],
            eta: eta(start),
            eta_neighbours: strides.map(|stride| [eta(start - stride), eta(start + stride)]),
        }
    }
}

impl<T: Fused> Around<'_, T> {
    #[inline(always)]
    fn laplacian(&self, at: usize) -> T {
        let pair = |[before, after]: [&[T]; 2]| after[at] + before[at];
        let [x, y, z] = &self.neighbours;
        let pairs = Pairs {
            x: [pair(x[0]), pair(x[1]), pair(x[2]), pair(x[3])],
            y: [pair(y[0]), pair(y[1]), pair(y[2]), pair(y[3])],
            z: [pair(z[0]), pair(z[1]), pair(z[2]), pair(z[3])],
        };
        update::laplacian(self.coefficients, self.own[at], pairs)
    }
}

/// Advances points inside the shell.
#[inline(always)]
fn inner<T: Fused>(around: &Around<'_, T>, v: &mut [T]) {
    for (at, value) in v.iter_mut().enumerate() {
        let vp = T::from_f32(around.vp[at]);
        *value = update::inner(around.own[at], *value, vp, around.laplacian(at));
    }
}

/// Advances points in the shell.
#[inline(always)]
fn shell<T: Fused>(around: &Around<'_, T>, v: &mut [T], phi: &mut [T]) {
    for (at, (value, of_phi)) in v.iter_mut().zip(phi).enumerate() {
        let (u, vp, eta) = (around.own[at], around.vp[at], around.eta[at]);
        let (vp, eta) = (T::from_f32(vp), T::from_f32(eta));
        *value = update::shell(u, *value, vp, around.laplacian(at), eta, *of_phi);
        let [x, y, z] = &around.eta_neighbours;
        // The values are converted to `T` first: their difference is part of the scheme.
        let change =
            |[before, after]: [&[f32]; 2]| T::from_f32(after[at]) - T::from_f32(before[at]);
        let eta_change = [change(*x), change(*y), change(*z)];
        let of_u = |[before, after]: [&[T]; 2]| after[at] - before[at];
        let [u_x, u_y, u_z] = &around.neighbours;
        let u_change = [of_u(u_x[0]), of_u(u_y[0]), of_u(u_z[0])];
        *of_phi = update::phi(around.coefficients, *of_phi, eta, eta_change, u_change);
    }
}

/// As [`inner`], with fused instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn inner_fma<T: Fused>(around: &Around<'_, T>, v: &mut [T]) {
    inner(around, v);
}

/// As [`shell`], with fused instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn shell_fma<T: Fused>(around: &Around<'_, T>, v: &mut [T], phi: &mut [T]) {
    shell(around, v, phi);
}
