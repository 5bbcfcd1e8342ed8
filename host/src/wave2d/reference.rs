//! The CPU references: the scheme of `kernels_gpu`, serial or on all cores, in `f32` or `f64`.

use kernels_gpu::real::Real;
use kernels_gpu::wave2d::update::{self, Kind, Neighbours, kind};
use kernels_gpu::wave2d::{Domain, Scene};
use rayon::prelude::*;

use super::problem::{Fields, Wave2d};
use device::buffer::BufferError;
use lab::Cpu;
use terminal::progress::{NoProgress, Progress};

/// Cells of one parallel task, in whole rows: enough that the cost of handing out tasks is small.
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
    advance_by(problem, fields, cpu, progress, plain_inner);
}

/// Advances as [`advance`] does, on all cores, with the scheme's fused order of operations,
/// [`update::fused_cell`].
///
/// # Panics
///
/// As [`advance`].
pub fn advance_fused(problem: &Wave2d, fields: &mut Fields<f32>) {
    advance_by(problem, fields, Cpu::Parallel, &NoProgress, fused_inner());
}

/// Advances as [`advance`] does; `inner` advances a row.
fn advance_by<T: Real + Send + Sync>(
    problem: &Wave2d,
    fields: &mut Fields<T>,
    cpu: Cpu,
    progress: &dyn Progress,
    inner: Inner<T>,
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
            inner,
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
                        for (row, of_row) in cells.chunks_mut(n_x).enumerate() {
                            stepper.row(chunk * rows + row, of_row);
                        }
                    });
            }
        }
        std::mem::swap(&mut fields.u0, &mut fields.u1);
        progress.update(u64::from(step) + 1, u64::from(problem.steps()));
    }
}

/// The problem's result in `f64`: the same discrete scheme from the same initial fields, with
/// almost no rounding.
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

/// The kind of every cell, computed once.
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
    inner: Inner<T>,
}

/// The values around the cells of a row, without its first and last cell: slices of one length.
struct Around<'a, T> {
    west: &'a [T],
    east: &'a [T],
    north: &'a [T],
    south: &'a [T],
    own: &'a [T],
    kinds: &'a [f32],
}

/// Advances a row's cells, with the source's value and k.
type Inner<T> = fn(&Around<'_, T>, T, T, &mut [T]);

impl<T: Real> Stepper<'_, T> {
    /// Advances row `y`: `cells`, the second-last values, become the next ones.
    fn row(&self, y: usize, cells: &mut [T]) {
        let Domain { n_x, n_y } = self.table.domain;
        let n_x = n_x as usize;
        if y == 0 || y == n_y as usize - 1 {
            cells.fill(T::ZERO);
            return;
        }
        let row = |at: usize| &self.last[at * n_x..][..n_x];
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
        let (last, within) = rest.split_last_mut().expect("a row has at least 2 cells");
        (*first, *last) = (T::ZERO, T::ZERO);
        let around = Around {
            west,
            east,
            north,
            south,
            own,
            kinds,
        };
        (self.inner)(&around, self.source, self.k, &mut within[..inner]);
    }
}

/// Advances cells; `free` advances the free ones.
#[inline(always)]
fn inner<T: Real>(
    around: &Around<'_, T>,
    (source, k): (T, T),
    cells: &mut [T],
    free: impl Fn(T, T, Neighbours<T>, T, T) -> T,
) {
    // The slices have one length, so that the loop has no bounds checks and vectorises.
    let len = cells.len();
    let [west, east, north, south, own] = [
        around.west,
        around.east,
        around.north,
        around.south,
        around.own,
    ]
    .map(|row| &row[..len]);
    let kinds = &around.kinds[..len];
    for x in 0..len {
        let neighbours = Neighbours {
            west: west[x],
            east: east[x],
            north: north[x],
            south: south[x],
        };
        let damping = T::from_f32(kinds[x]);
        let free = free(cells[x], own[x], neighbours, k, damping);
        cells[x] = Kind::choose(kinds[x], free, source);
    }
}

fn plain_inner<T: Real>(around: &Around<'_, T>, source: T, k: T, cells: &mut [T]) {
    inner(around, (source, k), cells, update::free_cell);
}

/// The function that fuses fastest on this CPU. All give the same bits.
fn fused_inner() -> Inner<f32> {
    #[inline(always)]
    fn any(around: &Around<'_, f32>, source: f32, k: f32, cells: &mut [f32]) {
        inner(around, (source, k), cells, update::fused_cell);
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2,fma")]
        fn fma(around: &Around<'_, f32>, source: f32, k: f32, cells: &mut [f32]) {
            any(around, source, k, cells);
        }
        // SAFETY: the CPU has the instructions.
        return |around, source, k, cells| unsafe { fma(around, source, k, cells) };
    }
    any
}
