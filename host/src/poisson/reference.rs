//! The CPU references: the iteration of `kernels_gpu`, serial or on all cores, and an oracle with
//! almost no rounding.

use kernels_gpu::poisson::update::{Neighbours, jacobi};
use kernels_gpu::poisson::{Grid, max_change};
use rayon::prelude::*;

use super::problem::Poisson;
use crate::double::Double;
use crate::fill::copied;
use device::buffer::BufferError;
use lab::Cpu;
use terminal::progress::Progress;

/// Points of one parallel task, in whole rows: enough that the cost of handing out tasks is small.
const TASK_POINTS: usize = 1 << 14;

/// f, a row of N points at a time.
pub trait Source: Sync {
    /// f at y and z, from x = 0 on.
    fn row(&self, y: u32, z: u32) -> &[f64];
}

/// The lab's source. Its rows are either all zero or all the same, so two are enough.
#[derive(Debug, Clone)]
pub struct Box3 {
    grid: Grid,
    heated: Vec<f64>,
    zero: Vec<f64>,
}

impl Box3 {
    /// The source on this grid.
    pub fn new(grid: Grid) -> Box3 {
        // y = 0 is in the source for every n.
        let heated = |x| {
            if grid.is_source_column(x, 0) {
                Grid::SOURCE
            } else {
                0.0
            }
        };
        Box3 {
            grid,
            heated: (0..grid.n).map(heated).collect(),
            zero: vec![0.0; grid.n as usize],
        }
    }
}

impl Source for Box3 {
    fn row(&self, y: u32, z: u32) -> &[f64] {
        if self.grid.is_source_column(0, y) && self.grid.is_source_layer(z) {
            &self.heated
        } else {
            &self.zero
        }
    }
}

/// Any f: N^3 values, numbered as u's.
#[derive(Debug, Clone)]
pub struct Field {
    /// The grid.
    pub grid: Grid,
    /// f at every point.
    pub values: Vec<f64>,
}

impl Source for Field {
    fn row(&self, y: u32, z: u32) -> &[f64] {
        let n = self.grid.n as usize;
        &self.values[(z as usize * n + y as usize) * n..][..n]
    }
}

/// A field under iteration.
#[derive(Debug)]
pub struct Jacobi<'s, S> {
    grid: Grid,
    source: &'s S,
    cpu: Cpu,
    u: Vec<f64>,
    /// The field before the last iteration, overwritten by the next. Its walls are u's.
    other: Vec<f64>,
}

impl<'s, S: Source> Jacobi<'s, S> {
    /// Starts from `u`, whose walls stay as they are.
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    ///
    /// # Panics
    ///
    /// If `u` does not have the grid's number of points.
    pub fn new(
        grid: Grid,
        u: Vec<f64>,
        source: &'s S,
        cpu: Cpu,
    ) -> Result<Jacobi<'s, S>, BufferError> {
        assert_eq!(
            u.len(),
            (grid.n as usize).pow(3),
            "u is not of the grid's size"
        );
        let other = copied(&u)?;
        Ok(Jacobi {
            grid,
            source,
            cpu,
            u,
            other,
        })
    }

    /// One iteration.
    pub fn step(&mut self) {
        let n = self.grid.n as usize;
        let mut next = std::mem::take(&mut self.other);
        match self.cpu {
            Cpu::Serial => {
                for (row, values) in next.chunks_exact_mut(n).enumerate() {
                    self.row(row, values);
                }
            }
            Cpu::Parallel => {
                let rows = TASK_POINTS.div_ceil(n);
                next.par_chunks_mut(rows * n)
                    .enumerate()
                    .for_each(|(task, values)| {
                        for (row, points) in values.chunks_exact_mut(n).enumerate() {
                            self.row(task * rows + row, points);
                        }
                    });
            }
        }
        self.other = std::mem::replace(&mut self.u, next);
    }

    /// Row number `row` of the next field, counted through y, then z. Walls stay as they are.
    fn row(&self, row: usize, next: &mut [f64]) {
        let n = self.grid.n as usize;
        let (y, z) = ((row % n) as u32, (row / n) as u32);
        if self.grid.is_wall(1, y, z) {
            return;
        }
        // The slices have one length, so that the loop has no bounds checks and vectorises.
        let inner = n - 2;
        let from = |at: usize, x: usize| &self.u[at * n + x..][..inner];
        let (west, east) = (from(row, 0), from(row, 2));
        let (south, north) = (from(row - 1, 1), from(row + 1, 1));
        let (below, above) = (from(row - n, 1), from(row + n, 1));
        let f = &self.source.row(y, z)[1..][..inner];
        let next = &mut next[1..][..inner];
        let h2 = self.grid.h2();
        for x in 0..inner {
            let around = Neighbours {
                west: west[x],
                east: east[x],
                south: south[x],
                north: north[x],
                below: below[x],
                above: above[x],
            };
            next[x] = jacobi(around, h2 * f[x]);
        }
    }

    /// The largest |u_next - u| of the last iteration; 0 before the first.
    pub fn change(&self) -> f64 {
        let change = |(a, b): (&f64, &f64)| max_change::change(*a, *b);
        let largest = match self.cpu {
            Cpu::Serial => self.u.iter().zip(&self.other).map(change).max(),
            Cpu::Parallel => self
                .u
                .par_chunks(TASK_POINTS)
                .zip(self.other.par_chunks(TASK_POINTS))
                .filter_map(|(u, other)| u.iter().zip(other).map(change).max())
                .max(),
        };
        f64::from_bits(largest.expect("a cube has points"))
    }

    /// The field.
    pub fn u(&self) -> &[f64] {
        &self.u
    }

    /// The field.
    pub fn into_u(self) -> Vec<f64> {
        self.u
    }
}

/// u after the problem's iterations from `u`, computed with about twice the digits of `f64`. Each
/// value is the mean of its neighbours and of h^2 f. h^2 f is rounded to `f64`, as it is part of
/// the problem.
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
                    let sum = around.iter().fold(h2_f, |sum, &at| sum + last[at]);
                    *value = sum * sixth;
                }
            });
        std::mem::swap(&mut last, &mut next);
        progress.update(iteration.into(), problem.iterations().into());
    }
    last.into_iter().map(Double::rounded).collect()
}
