//! The CPU references: the scheme as it stands in `kernels_gpu`, serial or on all cores, in `f32` or `f64`.

use kernels_gpu::real::Real;
use kernels_gpu::wave2d::update::{Kind, Neighbours, free_cell, kind};
use kernels_gpu::wave2d::{Domain, Scene};
use rayon::prelude::*;

use super::problem::{Fields, Wave2d};
use crate::buffer::BufferError;
use crate::lab::{Cpu, Progress};

/// Cells of one parallel task, in whole rows: enough that handing out tasks costs little beside the work.
const TASK_CELLS: usize = 1 << 14;

/// Advances `fields` by the problem's steps, in the precision of `T`.
///
/// # Panics
///
/// If the fields do not have the problem's number of cells.
pub fn advance<T: Real + Send + Sync>(
    problem: &Wave2d,
    fields: &mut Fields<T>,
    cpu: Cpu,
    progress: &dyn Progress,
) {
    assert_eq!(
        fields.u0.len(),
        problem.cells(),
        "u0 is not of the problem's size"
    );
    assert_eq!(
        fields.u1.len(),
        problem.cells(),
        "u1 is not of the problem's size"
    );
    let table = Table::new(problem);
    for step in 0..problem.steps() {
        let t = problem.first_step().wrapping_add(step);
        let stepper = Stepper {
            table: &table,
            last: &fields.u1,
            source: T::from_f32(problem.scene().source_value(t)),
            k: T::from_f32(problem.k()),
        };
        let n_x = table.domain.n_x as usize;
        match cpu {
            Cpu::Serial => {
                for (y, row) in fields.u0.chunks_mut(n_x).enumerate() {
                    stepper.row(y, row);
                }
            }
            Cpu::Parallel => {
                let rows = TASK_CELLS.div_ceil(n_x);
                fields
                    .u0
                    .par_chunks_mut(rows * n_x)
                    .enumerate()
                    .for_each(|(chunk, cells)| {
                        for (row, cells) in cells.chunks_mut(n_x).enumerate() {
                            stepper.row(chunk * rows + row, cells);
                        }
                    });
            }
        }
        std::mem::swap(&mut fields.u0, &mut fields.u1);
        progress.update(u64::from(step) + 1, u64::from(problem.steps()));
    }
}

/// The problem's result in `f64`: the same discrete scheme from the same initial fields, with next to no rounding.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
pub fn oracle(
    problem: &Wave2d,
    cpu: Cpu,
    progress: &dyn Progress,
) -> Result<Fields<f64>, BufferError> {
    let initial = problem.initial()?;
    let widen = |values: Vec<f32>| values.into_iter().map(f64::from).collect();
    let mut fields = Fields {
        u0: widen(initial.u0),
        u1: widen(initial.u1),
    };
    advance(problem, &mut fields, cpu, progress);
    Ok(fields)
}

/// What every cell is, worked out once.
struct Table {
    domain: Domain,
    kinds: Vec<f32>,
}

impl Table {
    fn new(problem: &Wave2d) -> Table {
        let domain = problem.domain();
        let scene = problem.scene();
        let n_x = domain.n_x as usize;
        let mut kinds = vec![0.0; problem.cells()];
        kinds.par_chunks_mut(n_x).enumerate().for_each(|(y, row)| {
            for (x, code) in row.iter_mut().enumerate() {
                *code = kind(&scene, domain, x as u32, y as u32).encode();
            }
        });
        Table { domain, kinds }
    }
}

/// One timestep.
struct Stepper<'a, T> {
    table: &'a Table,
    last: &'a [T],
    source: T,
    k: T,
}

impl<T: Real> Stepper<'_, T> {
    /// Row `y`: `cells`, the second-last values, become the next ones.
    fn row(&self, y: usize, cells: &mut [T]) {
        let Domain { n_x, n_y } = self.table.domain;
        let n_x = n_x as usize;
        if y == 0 || y == n_y as usize - 1 {
            cells.fill(T::ZERO);
            return;
        }
        // Slices of one length, so that the loop has no bounds checks and vectorises.
        let row = |y: usize| &self.last[y * n_x..][..n_x];
        let (north, own, south) = (row(y - 1), row(y), row(y + 1));
        let kinds = &self.table.kinds[y * n_x..][..n_x];
        let inner = n_x - 2;
        let west = &own[..inner];
        let east = &own[2..][..inner];
        let own = &own[1..][..inner];
        let north = &north[1..][..inner];
        let south = &south[1..][..inner];
        let kinds = &kinds[1..][..inner];
        let (first, rest) = cells.split_first_mut().expect("a row has at least 2 cells");
        let (last, cells) = rest.split_last_mut().expect("a row has at least 2 cells");
        (*first, *last) = (T::ZERO, T::ZERO);
        let cells = &mut cells[..inner];
        for x in 0..inner {
            let around = Neighbours {
                west: west[x],
                east: east[x],
                north: north[x],
                south: south[x],
            };
            let damping = T::from_f32(kinds[x]);
            let free = free_cell(cells[x], own[x], around, self.k, damping);
            cells[x] = Kind::choose(kinds[x], free, self.source);
        }
    }
}
