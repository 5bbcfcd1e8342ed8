//! The medium of the wave: its speed at every point, and the absorption of the shell.

use std::sync::Arc;

use kernels_gpu::stencil25::{Grid, RADIUS};
use rayon::prelude::*;

use crate::fill::zeros;
use crate::random::Uniform;
use crate::wave3d;
use device::buffer::BufferError;
use lab::Seed;

/// The wave's speed by place.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// A model of the lab wave3d, by depth.
    ByDepth(wave3d::Model),
    /// The speed of each point in m/s: n_x * n_y * n_z values, z contiguous, then y.
    Given(Arc<[f32]>),
}

impl Model {
    /// Four layers of equal thickness along z, faster with depth: 1500 (water), 1800, 2100 and 2400
    /// m/s.
    pub const LAYERS: Model = Model::ByDepth(wave3d::Model::Layers);
    /// 2000 m/s everywhere.
    pub const UNIFORM: Model = Model::ByDepth(wave3d::Model::Uniform);

    /// The names of the named models, as users type them.
    pub const NAMES: [&'static str; 2] = wave3d::Model::NAMES;

    /// The model of this name.
    pub fn from_name(name: &str) -> Option<Model> {
        wave3d::Model::from_name(name).map(Model::ByDepth)
    }

    /// As users type it.
    pub fn name(&self) -> &'static str {
        match self {
            Model::ByDepth(model) => model.name(),
            Model::Given(_) => "given",
        }
    }

    /// The speeds in m/s of a row of points along z. The row's first point has the number `first`
    /// among all points.
    fn row(&self, first: usize, n_z: u32) -> Vec<f32> {
        match self {
            Model::ByDepth(model) => (0..n_z).map(|z| model.speed(z, n_z) as f32).collect(),
            Model::Given(speeds) => speeds[first..][..n_z as usize].to_vec(),
        }
    }

    /// The highest speed at any point, in m/s.
    pub fn highest_speed(&self, n_z: u32) -> f64 {
        match self {
            Model::ByDepth(model) => model.highest_speed(n_z),
            Model::Given(speeds) => f64::from(speeds.par_iter().copied().reduce(|| 0.0, f32::max)),
        }
    }
}

/// The constant arrays, in the layout of [`Grid`].
#[derive(Debug, Clone, Copy)]
pub struct Medium<'a> {
    /// c^2 dt^2 in m^2; 0 in the halo.
    pub vp: &'a [f32],
    /// eta, without unit.
    pub eta: &'a [f32],
}

/// The share of a wave's amplitude that the shell would reflect without discretization.
const REFLECTION: f64 = 1e-3;

/// The largest eta of any shell. A thin shell would need more, and would reflect.
const LARGEST_ETA: f64 = 1.0;

/// The absorption of a shell: 0 inside, largest outside.
///
/// eta = eta_max (depth / width)^2, where a point's depth is its distance in points beyond the
/// inner face, the largest along the three axes. eta_max = dt 3 c ln(1/R) / (2 L), for a wave of
/// speed c, a share R = 10^-3 that is reflected, and the width L in metres: the usual profile of
/// perfectly matched layers (Collino and Tsogka, Geophysics 66(1), 2001, equation 45 and below).
/// Here c is the model's highest speed, L is along the axis with the smallest spacing, and eta_max
/// is at most 1. In the halo, eta equals that of the outermost points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Absorption {
    grid: Grid,
    shell: u32,
    largest: f64,
}

impl Absorption {
    /// The absorption of a shell of `shell` points, for spacings in metres, a timestep in seconds
    /// and a speed in m/s.
    pub fn new(grid: Grid, shell: u32, spacing: [f64; 3], dt_s: f64, c_m_per_s: f64) -> Absorption {
        let smallest = spacing.into_iter().fold(f64::INFINITY, f64::min);
        let width_m = f64::from(shell) * smallest;
        let largest = dt_s * 3.0 * c_m_per_s * -libm::log(REFLECTION) / (2.0 * width_m);
        Absorption {
            grid,
            shell,
            largest: largest.min(LARGEST_ETA),
        }
    }

    /// eta at (x, y, z), which may be in the halo.
    pub fn at(&self, x: i64, y: i64, z: i64) -> f32 {
        self.eta_at([x, y, z]) as f32
    }

    fn eta_at(&self, [x, y, z]: [i64; 3]) -> f64 {
        let depth = |position: i64, n: u32| {
            let position = position.clamp(0, i64::from(n) - 1);
            let to_face = position.min(i64::from(n) - 1 - position);
            (i64::from(self.shell) - to_face).max(0)
        };
        let Grid { n_x, n_y, n_z, .. } = self.grid;
        let depth = depth(x, n_x).max(depth(y, n_y)).max(depth(z, n_z));
        let into = depth as f64 / f64::from(self.shell);
        self.largest * into * into
    }
}

/// vp for a model and a timestep in seconds. With a seed, vp of each point is up to an eighth less,
/// at random: so it cannot be computed.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
///
/// # Panics
///
/// If the model is of another shape.
pub fn vp(
    grid: Grid,
    model: &Model,
    dt_s: f64,
    seed: Option<Seed>,
) -> Result<Vec<f32>, BufferError> {
    let uniform = seed.map(|seed| Array::Vp.of(seed, grid.points() as usize));
    let mut vp = zeros(grid.len() as usize)?;
    for_rows(grid, &mut vp, |column, row| {
        let first = first_point(grid, column);
        let speeds = model.row(first, grid.n_z);
        let factors = factors(uniform.as_ref(), first, row.len());
        for ((value, c), factor) in row.iter_mut().zip(speeds).zip(factors) {
            let distance = f64::from(c) * dt_s;
            *value = (distance * distance * factor) as f32;
        }
    });
    Ok(vp)
}

impl Absorption {
    /// eta, halo included. With a seed, each value is up to an eighth less, at random: so it cannot
    /// be computed.
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    pub fn eta(&self, seed: Option<Seed>) -> Result<Vec<f32>, BufferError> {
        let uniform = seed.map(|seed| Array::Eta.of(seed, self.grid.len() as usize));
        let pitch = self.grid.pitch as usize;
        let mut eta = zeros(self.grid.len() as usize)?;
        let rows = self.grid.rows_of_plane();
        let halo = i64::from(RADIUS);
        let all = eta.par_chunks_mut(pitch).enumerate();
        all.for_each(|(row, values)| {
            let (x, y) = ((row / rows) as i64 - halo, (row % rows) as i64 - halo);
            let factors = factors(uniform.as_ref(), row * pitch, pitch);
            for ((z, value), factor) in (0..).zip(values).zip(factors) {
                *value = (self.eta_at([x, y, z]) * factor) as f32;
            }
        });
        Ok(eta)
    }
}

/// Those of [`Uniform::factors`], or 1 without random numbers.
fn factors(uniform: Option<&Uniform>, first: usize, len: usize) -> Vec<f64> {
    uniform.map_or_else(|| vec![1.0; len], |uniform| uniform.factors(first, len))
}

/// The number of a row's first point among all points.
pub fn first_point(grid: Grid, [x, y]: [u32; 2]) -> usize {
    (x as usize * grid.n_y as usize + y as usize) * grid.n_z as usize
}

/// Calls `fill` with the position along x and y of each row of points, and its n_z values.
pub fn for_rows(grid: Grid, values: &mut [f32], fill: impl Fn([u32; 2], &mut [f32]) + Send + Sync) {
    let all = values.par_chunks_mut(grid.pitch as usize).enumerate();
    all.for_each(|(row, points)| {
        if let Some(column) = grid.column(row) {
            fill(column, &mut points[..grid.n_z as usize]);
        }
    });
}

/// The arrays with random values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Array {
    /// The last field.
    U = 1,
    /// The second-last.
    V = 2,
    /// phi.
    Phi = 3,
    /// vp.
    Vp = 4,
    /// eta, in which a point is an element.
    Eta = 5,
}

impl Array {
    /// Its random numbers, one for each of `points` points.
    pub fn of(self, seed: Seed, points: usize) -> Uniform {
        Uniform::new(seed, self as u32, points)
    }
}
