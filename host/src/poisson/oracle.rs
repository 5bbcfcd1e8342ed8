//! The iteration with next to no rounding.

use rayon::prelude::*;

use super::problem::Poisson;
use crate::double::Double;
use crate::lab::Progress;

/// u after the problem's iterations from `u`, each value the mean of its neighbours and of h^2 f, computed with about
/// twice the digits of `f64`. h^2 f is rounded to `f64`, as it is part of the problem.
pub fn oracle(problem: &Poisson, u: &[f64], progress: &dyn Progress) -> Vec<f64> {
    let grid = problem.grid();
    let n = grid.n as usize;
    let sixth = Double::from(1.0) / Double::from(6.0);
    let mut last: Vec<Double> = u.iter().map(|&value| value.into()).collect();
    let mut next = last.clone();
    for iteration in 1..=problem.iterations() {
        next.par_chunks_exact_mut(n)
            .enumerate()
            .for_each(|(row, values)| {
                let (y, z) = ((row % n) as u32, (row / n) as u32);
                for (x, value) in values.iter_mut().enumerate() {
                    if grid.is_wall(x as u32, y, z) {
                        continue;
                    }
                    let i = row * n + x;
                    let around = [i - 1, i + 1, i - n, i + n, i - n * n, i + n * n];
                    let h2_f = Double::from(grid.h2() * grid.source(x as u32, y, z));
                    let sum = around.iter().fold(h2_f, |sum, &i| sum + last[i]);
                    *value = sum * sixth;
                }
            });
        std::mem::swap(&mut last, &mut next);
        progress.update(iteration.into(), problem.iterations().into());
    }
    last.into_iter().map(Double::rounded).collect()
}
