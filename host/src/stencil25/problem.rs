//! The problem to compute: size, spacing, model, shell, source, number of steps, initial fields.

use kernels_gpu::stencil25::{Coefficients, Grid};

use super::model::{self, Absorption, Array, Model, first_point, for_rows};
use crate::arrays::named_arrays;
use crate::fill::zeros;
use crate::random::Scale;
use crate::seismic::{Ricker, Start, rounded_down};
use device::buffer::BufferError;
use lab::{CaseError, Seed};

/// The fields that change, in the layout of [`Grid`].
#[derive(Debug, Clone, PartialEq)]
pub struct Fields<T> {
    /// The last field.
    pub u: Vec<T>,
    /// The second-last.
    pub v: Vec<T>,
    /// The shell's auxiliary field.
    pub phi: Vec<T>,
}

named_arrays!(Fields<T> of T { u, v, phi });

/// One problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Stencil25 {
    grid: Grid,
    steps: u32,
    first_step: u32,
    spacing_m: [f64; 3],
    dt_s: f64,
    shell: u32,
    model: Model,
    source: Option<Ricker>,
    source_point: [u32; 3],
    start: Start,
    scale: Scale,
}

/// The default grid spacing, in metres.
pub const DEFAULT_SPACING_M: f64 = 10.0;
/// The default width of the shell, in points.
pub const DEFAULT_SHELL: u32 = 16;
/// The default source.
pub const DEFAULT_SOURCE: Ricker = Ricker { frequency_hz: 15.0 };
/// The default timestep, as a share of the largest.
pub const DEFAULT_DT: f64 = 0.9;

/// The largest number of values of an array: kernels number them with 32 bits, and blocks reach
/// past the last one.
const MAX_VALUES: u64 = 1 << 31;

/// The points that a grid of 65535 blocks covers along its y and z axes, with blocks of 4 x 2
/// threads, rounded down.
pub const MAX_POINTS: [u32; 3] = [130_000, 260_000, 1 << 30];

impl Stencil25 {
    /// A problem from rest in the layered model, with a spacing of 10 m, a shell of 16 points, and
    /// 0.9 of the largest timestep. The 15 Hz source is in the middle of x and y and at a quarter
    /// of z.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for a shape smaller than the shell, or of more than 2^31 values.
    pub fn new(shape: [u32; 3], steps: u32) -> Result<Stencil25, CaseError> {
        Stencil25::with_shell(shape, steps, DEFAULT_SHELL)
    }

    /// A problem as of [`Stencil25::new`], with a shell of `shell` points.
    ///
    /// # Errors
    ///
    /// As [`Stencil25::new`], and for a shell of no points.
    pub fn with_shell(shape: [u32; 3], steps: u32, shell: u32) -> Result<Stencil25, CaseError> {
        let least = 2 * u64::from(shell) + 1;
        if shell == 0 {
            let reason = "the absorbing shell has at least 1 point";
            return Err(CaseError::invalid("shell", shell, reason));
        }
        for ((name, points), most) in ["n_x", "n_y", "n_z"].into_iter().zip(shape).zip(MAX_POINTS) {
            if u64::from(points) < least {
                let reason = format!(
                    "with an absorbing shell of {shell} point{} at both ends and one between, at least {least}; or a \
                     smaller shell",
                    if shell == 1 { "" } else { "s" },
                );
                return Err(CaseError::invalid(name, points, reason));
            }
            if points > most {
                let reason = format!("at most {most} points along this axis");
                return Err(CaseError::invalid(name, points, reason));
            }
        }
        let grid = Grid::new(shape);
        if grid.len() > MAX_VALUES {
            let [n_x, n_y, n_z] = shape;
            let reason = format!(
                "with the halo, an array would have {} values, and kernels number at most {MAX_VALUES}",
                grid.len()
            );
            return Err(CaseError::invalid(
                "n_x * n_y * n_z",
                format!("{n_x} * {n_y} * {n_z}"),
                reason,
            ));
        }
        let [n_x, n_y, n_z] = shape;
        let problem = Stencil25 {
            grid,
            steps,
            first_step: 0,
            spacing_m: [DEFAULT_SPACING_M; 3],
            dt_s: 0.0,
            shell,
            model: Model::LAYERS,
            source: Some(DEFAULT_SOURCE),
            source_point: [n_x / 2, n_y / 2, (n_z / 4).max(shell)],
            start: Start::Rest,
            scale: Scale::default(),
        };
        problem.with_medium(Model::LAYERS, [DEFAULT_SPACING_M; 3], None)
    }

    /// Sets the model, the grid spacing (in metres, along x, y and z) and the timestep (in seconds;
    /// if none, 0.9 of the largest).
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for numbers that are not above 0, a given model of another number of
    /// points, and a timestep beyond the CFL condition. The message states the largest timestep.
    pub fn with_medium(
        self,
        model: Model,
        spacing_m: [f64; 3],
        dt_s: Option<f64>,
    ) -> Result<Stencil25, CaseError> {
        for (name, spacing) in ["dx", "dy", "dz"].into_iter().zip(spacing_m) {
            // The coefficients must be normal numbers of `f32`.
            if !(1e-12..=1e12).contains(&spacing) {
                let reason = "a number of metres from 1e-12 to 1e12";
                return Err(CaseError::invalid(name, spacing, reason));
            }
        }
        if let Model::Given(speeds) = &model {
            let (points, needed) = (speeds.len() as u64, self.grid.points());
            if points != needed {
                let reason = format!("its file has {points} speeds, and the grid {needed} points");
                return Err(CaseError::invalid("model", model.name(), reason));
            }
            if let Some(bad) = speeds.iter().position(|c| !(1e-6..=1e6).contains(c)) {
                let reason = format!(
                    "the speed at point {bad} is {}; a number of m/s from 1e-6 to 1e6",
                    speeds[bad]
                );
                return Err(CaseError::invalid("model", model.name(), reason));
            }
        }
        let c = model.highest_speed(self.grid.n_z);
        let largest = largest_timestep(spacing_m, c);
        let dt_s = dt_s.unwrap_or(DEFAULT_DT * largest);
        if !(1e-30..=1e30).contains(&dt_s) {
            let reason = "a number of seconds from 1e-30 to 1e30";
            return Err(CaseError::invalid("dt", dt_s, reason));
        }
        if dt_s > largest {
            let [dx, dy, dz] = spacing_m;
            let reason = format!(
                "unstable: with spacings of {dx}, {dy} and {dz} m and speeds up to {c} m/s, the CFL condition is dt <= {} s",
                rounded_down(largest)
            );
            return Err(CaseError::invalid("dt", dt_s, reason));
        }
        Ok(Stencil25 {
            model,
            spacing_m,
            dt_s,
            ..self
        })
    }

    /// Sets the source, or removes it.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] if its frequency is not above 0.
    pub fn with_source(self, source: Option<Ricker>) -> Result<Stencil25, CaseError> {
        source.map_or(Ok(()), Ricker::check)?;
        Ok(Stencil25 { source, ..self })
    }

    /// Puts the source at this point, which may be in the shell.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] if the point is not in the grid.
    pub fn with_source_point(self, source_point: [u32; 3]) -> Result<Stencil25, CaseError> {
        let [x, y, z] = source_point;
        if !self.grid.all().contains(x, y, z) {
            let reason = format!("no point of {:?}", self.grid.shape());
            return Err(CaseError::invalid("source", format!("{x},{y},{z}"), reason));
        }
        Ok(Stencil25 {
            source_point,
            ..self
        })
    }

    /// Starts from these fields.
    pub fn with_start(self, start: Start) -> Stencil25 {
        Stencil25 { start, ..self }
    }

    /// Scales random initial values.
    pub(crate) fn with_scale(self, scale: Scale) -> Stencil25 {
        Stencil25 { scale, ..self }
    }

    /// Starts from random fields of this seed.
    pub(crate) fn random(self, seed: Seed) -> Stencil25 {
        self.with_start(Start::Random { seed })
    }

    /// Numbers timesteps from `first_step`. The source depends on the number.
    pub fn with_first_step(self, first_step: u32) -> Stencil25 {
        Stencil25 { first_step, ..self }
    }

    /// Sets the number of timesteps.
    pub fn with_steps(self, steps: u32) -> Stencil25 {
        Stencil25 { steps, ..self }
    }

    /// The points and their layout in the arrays.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// The number of timesteps.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// The number of the first timestep.
    pub fn first_step(&self) -> u32 {
        self.first_step
    }

    /// The grid spacing in metres, along x, y and z.
    pub fn spacing_m(&self) -> [f64; 3] {
        self.spacing_m
    }

    /// The timestep in seconds.
    pub fn dt_s(&self) -> f64 {
        self.dt_s
    }

    /// The shell's width in points.
    pub fn shell(&self) -> u32 {
        self.shell
    }

    /// Points inside, and in the shell.
    pub fn parts(&self) -> [u64; 2] {
        let [x, y, z] = self.grid.inner(self.shell).shape().map(u64::from);
        let inner = x * y * z;
        [inner, self.grid.points() - inner]
    }

    /// The shell's share of the points.
    pub fn shell_share(&self) -> f64 {
        let [_, shell] = self.parts();
        shell as f64 / self.grid.points() as f64
    }

    /// The velocity model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The source's wavelet, if there is one.
    pub fn source(&self) -> Option<Ricker> {
        self.source
    }

    /// The source's point.
    pub fn source_point(&self) -> [u32; 3] {
        self.source_point
    }

    /// The element of the source's point, or `u32::MAX` without a source.
    pub fn source_index(&self) -> u32 {
        let [x, y, z] = self.source_point;
        match self.source {
            Some(_) => self.grid.index(x, y, z),
            None => u32::MAX,
        }
    }

    /// The source's value at timestep `step` of this problem; 0 without a source.
    pub fn source_value(&self, step: u32) -> f32 {
        let number = u64::from(self.first_step) + u64::from(step);
        let value = |ricker: Ricker| ricker.value(number as f64 * self.dt_s) as f32;
        self.source.map_or(0.0, value)
    }

    /// The coefficients of the scheme.
    pub fn coefficients(&self) -> Coefficients {
        Coefficients::new(self.spacing_m)
    }

    /// The absorption of the shell.
    pub fn absorption(&self) -> Absorption {
        let c = self.model.highest_speed(self.grid.n_z);
        Absorption::new(self.grid, self.shell, self.spacing_m, self.dt_s, c)
    }

    /// vp, in the layout of [`Grid`].
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    pub fn vp(&self) -> Result<Vec<f32>, BufferError> {
        model::vp(self.grid, &self.model, self.dt_s, self.start.seed())
    }

    /// eta, in the layout of [`Grid`].
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    pub fn eta(&self) -> Result<Vec<f32>, BufferError> {
        self.absorption().eta(self.start.seed())
    }

    /// The initial fields.
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    pub fn initial(&self) -> Result<Fields<f32>, BufferError> {
        let grid = self.grid;
        let len = grid.len() as usize;
        let mut fields = Fields {
            u: zeros(len)?,
            v: zeros(len)?,
            phi: zeros(len)?,
        };
        match self.start {
            Start::Rest => {}
            Start::Pulse => {
                for field in [&mut fields.u, &mut fields.v] {
                    for_rows(grid, field, |[x, y], row| {
                        let height = |position: u32, n: u32| {
                            let from_middle = f64::from(position) - f64::from(n / 2);
                            libm::exp(-from_middle * from_middle / 18.0)
                        };
                        let column = height(x, grid.n_x) * height(y, grid.n_y);
                        for (z, value) in (0..).zip(row) {
                            *value = (column * height(z, grid.n_z)) as f32;
                        }
                    });
                }
            }
            Start::Random { seed } => {
                let points = grid.points() as usize;
                let scaled = self.scale.among(points);
                for (array, field) in [(Array::U, &mut fields.u), (Array::V, &mut fields.v)] {
                    let uniform = array.of(seed, points);
                    for_rows(grid, field, |at, row| {
                        let numbers = uniform.from(first_point(grid, at), row.len());
                        for (value, number) in row.iter_mut().zip(numbers) {
                            *value = scaled(number);
                        }
                    });
                }
                let inner = grid.inner(self.shell);
                let size = self.coefficients().centre.abs();
                let uniform = Array::Phi.of(seed, points);
                for_rows(grid, &mut fields.phi, |[x, y], row| {
                    let numbers = uniform.from(first_point(grid, [x, y]), row.len());
                    for ((z, value), number) in (0..).zip(row).zip(numbers) {
                        if !inner.contains(x, y, z) {
                            *value = scaled(size * number);
                        }
                    }
                });
            }
        }
        Ok(fields)
    }
}

/// The largest stable timestep in seconds, for these spacings in metres and a speed in m/s: c dt
/// sqrt(K) <= 2, where K is the largest eigenvalue of the negative Laplacian. The result is a
/// millionth less, because coefficients and vp are rounded to `f32`.
pub fn largest_timestep(spacing_m: [f64; 3], c_m_per_s: f64) -> f64 {
    let eigenvalue = Coefficients::largest_eigenvalue(spacing_m);
    (1.0 - 1e-6) * 2.0 / (c_m_per_s * eigenvalue.sqrt())
}

impl std::fmt::Display for Stencil25 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [n_x, n_y, n_z] = self.grid.shape();
        let plural = if self.steps == 1 { "" } else { "s" };
        write!(f, "{n_x}x{n_y}x{n_z}, {} step{plural}", self.steps)?;
        if self.shell != DEFAULT_SHELL {
            write!(f, ", shell {}", self.shell)?;
        }
        if self.spacing_m != [DEFAULT_SPACING_M; 3] {
            let [dx, dy, dz] = self.spacing_m;
            write!(f, ", spacing {dx} x {dy} x {dz}")?;
        }
        let largest = largest_timestep(self.spacing_m, self.model.highest_speed(n_z));
        if self.dt_s != DEFAULT_DT * largest {
            write!(f, ", dt = {}", self.dt_s)?;
        }
        if self.model != Model::LAYERS {
            write!(f, ", {}", self.model.name())?;
        }
        match self.source {
            None => write!(f, ", no source")?,
            Some(source) if source != DEFAULT_SOURCE => {
                write!(f, ", {} Hz", source.frequency_hz)?;
            }
            Some(_) => {}
        }
        self.scale.fmt(f)
    }
}
