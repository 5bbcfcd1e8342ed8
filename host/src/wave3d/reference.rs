//! The CPU references: the scheme of `kernels_gpu`, serial or on all cores, and an oracle with
//! almost no rounding.

use std::ops::Range;

use kernels_gpu::wave3d::Domain;
use kernels_gpu::wave3d::source::Source;
use kernels_gpu::wave3d::update::{Neighbours, Scheme, laplacian};
use rayon::prelude::*;

use super::medium::Coefficients;
use super::problem::{Fields, Wave3d};
use crate::double::Double;
use lab::Cpu;
use terminal::progress::Progress;

/// Sites of one parallel task, in whole columns: enough that the cost of handing out tasks is
/// small.
const TASK_SITES: usize = 1 << 14;

/// Advances `fields` by the problem's steps, with these coefficients: usually
/// [`Wave3d::coefficients`].
///
/// # Panics
///
/// If the fields or coefficients are not of the problem's size.
pub fn advance(
    problem: &Wave3d,
    coefficients: &Coefficients,
    fields: &mut Fields,
    cpu: Cpu,
    progress: &dyn Progress,
) {
    let domain = problem.domain();
    let n_z = domain.n_z as usize;
    let sizes = [&fields.u_prev, &fields.u, &coefficients.c2, &coefficients.d].map(Vec::len);
    assert_eq!(
        sizes,
        [problem.sites(), problem.sites(), n_z, problem.sites() / n_z],
        "a field or table is not of the problem's size"
    );
    for step in 0..problem.steps() {
        let stepper = Stepper {
            domain,
            scheme: problem.scheme(),
            coefficients,
            u: &fields.u,
            source: problem.source_at(step),
        };
        match cpu {
            Cpu::Serial => {
                for (column, sites) in fields.u_prev.chunks_mut(n_z).enumerate() {
                    stepper.column(column, sites);
                }
            }
            Cpu::Parallel => {
                let columns = TASK_SITES.div_ceil(n_z);
                let tasks = fields.u_prev.par_chunks_mut(columns * n_z).enumerate();
                tasks.for_each(|(task, sites)| {
                    for (column, of_column) in sites.chunks_mut(n_z).enumerate() {
                        stepper.column(task * columns + column, of_column);
                    }
                });
            }
        }
        std::mem::swap(&mut fields.u_prev, &mut fields.u);
        progress.update(u64::from(step) + 1, u64::from(problem.steps()));
    }
}

/// One timestep.
struct Stepper<'a> {
    domain: Domain,
    scheme: Scheme,
    coefficients: &'a Coefficients,
    u: &'a [f64],
    source: Source,
}

impl Stepper<'_> {
    /// Advances the column of sites along z with this number: `sites`, the second-last values,
    /// become the next ones.
    fn column(&self, column: usize, sites: &mut [f64]) {
        let Domain { n_x, n_y, n_z } = self.domain;
        let [n_x, n_y, n_z] = [n_x, n_y, n_z].map(|n| n as usize);
        let (i, j) = (column / n_y, column % n_y);
        if i == 0 || i == n_x - 1 || j == 0 || j == n_y - 1 {
            sites.fill(0.0);
            return;
        }
        (sites[0], sites[n_z - 1]) = (0.0, 0.0);
        // All sites advance in one call, except where the column has the source: it advances
        // between those above and below it.
        let inside = 1..n_z - 1;
        let source = (self.source.index as usize).wrapping_sub(column * n_z);
        if inside.contains(&source) {
            self.span(column, inside.start..source, sites, None);
            self.span(column, source..source + 1, sites, Some(self.source.value));
            self.span(column, source + 1..inside.end, sites, None);
        } else {
            self.span(column, inside, sites, None);
        }
    }

    /// Advances the part of the column with these k, none of them on the border. `source` is added
    /// to their Laplacians.
    fn span(&self, column: usize, ks: Range<usize>, sites: &mut [f64], source: Option<f64>) {
        let n_y = self.domain.n_y as usize;
        let n_z = self.domain.n_z as usize;
        let len = ks.len();
        // The slices have one length, so that the loops have no bounds checks and vectorise.
        let last = |at: usize, first: usize| &self.u[at * n_z + first..][..len];
        let (west, east) = (last(column - n_y, ks.start), last(column + n_y, ks.start));
        let (south, north) = (last(column - 1, ks.start), last(column + 1, ks.start));
        let (above, below) = (last(column, ks.start - 1), last(column, ks.start + 1));
        let own = last(column, ks.start);
        let c2 = &self.coefficients.c2[ks.start..][..len];
        let sites = &mut sites[ks.start..][..len];
        let d = self.coefficients.d[column];
        let scheme = self.scheme;
        let laplacian = |at: usize| {
            let around = Neighbours {
                along_x: [west[at], east[at]],
                along_y: [south[at], north[at]],
                along_z: [above[at], below[at]],
            };
            let laplacian = laplacian(own[at], around);
            match source {
                Some(value) => laplacian + value,
                None => laplacian,
            }
        };
        // This code tests the damping once per column; `Scheme::next` tests it for each site.
        if d > 0.0 {
            for at in 0..len {
                sites[at] = scheme.damped(sites[at], own[at], laplacian(at), c2[at], d);
            }
        } else {
            for at in 0..len {
                sites[at] = scheme.undamped(sites[at], own[at], laplacian(at), c2[at]);
            }
        }
    }
}

/// The fields after the problem's timesteps from `fields`, computed with about twice the digits of
/// `f64`. The scheme's constants and the source's values are rounded to `f64`, as they are part of
/// the problem.
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
                    .fold(double(0.0) - six * last[at], |sum, &near| sum + last[near]);
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
