//! The scheme with next to no rounding.

use kernels_gpu::wave3d::Domain;
use rayon::prelude::*;

use super::medium::Coefficients;
use super::problem::{Fields, Wave3d};
use crate::double::Double;
use crate::lab::Progress;

/// The fields after the problem's timesteps from `fields`, computed with about twice the digits of `f64`. The scheme's
/// constants and the source's values are rounded to `f64`, as they are part of the problem.
pub fn oracle(
    problem: &Wave3d,
    coefficients: &Coefficients,
    fields: &Fields,
    progress: &dyn Progress,
) -> Fields {
    let Domain { n_x, n_y, n_z } = problem.domain();
    let [n_x, n_y, n_z] = [n_x, n_y, n_z].map(|n| n as usize);
    let scheme = problem.scheme();
    let double = |value: f64| Double::from(value);
    let (one, two, six) = (double(1.0), double(2.0), double(6.0));
    let wide = |values: &[f64]| -> Vec<Double> { values.iter().map(|&v| v.into()).collect() };
    let (mut u_prev, mut u) = (wide(&fields.u_prev), wide(&fields.u));
    for step in 0..problem.steps() {
        let source = problem.source_at(step);
        let last = &u;
        let columns = u_prev.par_chunks_exact_mut(n_z).enumerate();
        columns.for_each(|(column, sites)| {
            let (i, j) = (column / n_y, column % n_y);
            if i == 0 || i == n_x - 1 || j == 0 || j == n_y - 1 {
                sites.fill(double(0.0));
                return;
            }
            let d_dt = double(coefficients.d[column]) * double(scheme.dt);
            let (grow, shrink) = (one - d_dt, one / (one + d_dt));
            for (k, site) in sites.iter_mut().enumerate() {
                if k == 0 || k == n_z - 1 {
                    *site = double(0.0);
                    continue;
                }
                let at = column * n_z + k;
                let across = n_y * n_z;
                let around = [at - across, at + across, at - n_z, at + n_z, at - 1, at + 1];
                let mut laplacian = around
                    .iter()
                    .fold(double(0.0) - six * last[at], |sum, &at| sum + last[at]);
                if source.index as usize == at {
                    laplacian = laplacian + double(source.value);
                }
                let c2 = double(scheme.ratio) * double(coefficients.c2[k]);
                *site = (two * last[at] - grow * *site + c2 * laplacian) * shrink;
            }
        });
        std::mem::swap(&mut u_prev, &mut u);
        progress.update(u64::from(step) + 1, u64::from(problem.steps()));
    }
    let narrow = |values: Vec<Double>| values.into_iter().map(Double::rounded).collect();
    Fields {
        u_prev: narrow(u_prev),
        u: narrow(u),
    }
}
