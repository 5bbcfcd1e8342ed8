//! The problem to compute: size, number of iterations, start values.

use kernels_gpu::poisson::Grid;
use rayon::prelude::*;

use crate::fill::zeros;
use crate::random::{Scale, Stream, unit_f64};
use device::buffer::BufferError;
use lab::{CaseError, Seed};

/// The values inside the walls before the first iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    /// T0 everywhere.
    Uniform(f64),
    /// Uniform in [0, 20), independent in every point: a wrong result cannot be right by chance.
    Random {
        /// Equal seeds give equal fields.
        seed: Seed,
    },
}

/// One problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Poisson {
    n: u32,
    iterations: u32,
    start: Start,
    scale: Scale,
}

const LARGEST_START: f64 = 1e9;

impl Poisson {
    /// A problem that starts from 0 inside the walls, on `n` points along each axis.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for fewer than 3 points along an axis or more than
    /// [`Grid::MAX_N_IN_LAYERS`].
    pub fn new(n: u32, iterations: u32) -> Result<Poisson, CaseError> {
        if n < 3 {
            return Err(CaseError::invalid(
                "n",
                n,
                "a cube has at least 3 points along each axis: two walls and one between them",
            ));
        }
        if n > Grid::MAX_N_IN_LAYERS {
            let reason = format!(
                "a cube has at most {} points along each axis: kernels number those of a few layers with 32 bits",
                Grid::MAX_N_IN_LAYERS
            );
            return Err(CaseError::invalid("n", n, reason));
        }
        Ok(Poisson {
            n,
            iterations,
            start: Start::Uniform(0.0),
            scale: Scale::default(),
        })
    }

    /// Starts from these values.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for a T0 that is not a number, or over 1e9 in magnitude.
    pub fn with_start(self, start: Start) -> Result<Poisson, CaseError> {
        match start {
            Start::Uniform(t0) if t0.is_nan() || t0.abs() > LARGEST_START => Err(
                CaseError::invalid("t0", t0, "a number of at most 1e9 in magnitude"),
            ),
            _ => Ok(Poisson { start, ..self }),
        }
    }

    /// Scales random initial values.
    pub(crate) fn with_scale(self, scale: Scale) -> Poisson {
        Poisson { scale, ..self }
    }

    /// Sets the number of iterations.
    pub fn with_iterations(self, iterations: u32) -> Poisson {
        Poisson { iterations, ..self }
    }

    /// The cube.
    pub fn grid(&self) -> Grid {
        Grid { n: self.n }
    }

    /// N: points along each axis, walls included.
    pub fn n(&self) -> u32 {
        self.n
    }

    /// N^3: points in all.
    pub fn points(&self) -> usize {
        (self.n as usize).pow(3)
    }

    /// (N - 2)^3: points inside the walls, which an iteration updates.
    pub fn points_inside(&self) -> u64 {
        u64::from(self.n - 2).pow(3)
    }

    /// K: the number of iterations.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// 24 K N^3: the bytes that are usually quoted for this problem, as if each iteration read u
    /// and f and wrote u for every point. [`Work::bytes`](lab::Work::bytes) has the bytes that a
    /// variant must move.
    pub fn usual_bytes(&self) -> u64 {
        24 * u64::from(self.iterations) * self.points() as u64
    }

    /// u before the first iteration.
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    pub fn initial(&self) -> Result<Vec<f64>, BufferError> {
        let grid = self.grid();
        let mut u = zeros(self.points())?;
        let fill = |row: usize, values: &mut [f64], inside: &mut dyn FnMut() -> f64| {
            let (y, z) = (row as u32 % self.n, row as u32 / self.n);
            for (x, value) in values.iter_mut().enumerate() {
                *value = if grid.is_wall(x as u32, y, z) {
                    grid.wall_value(y)
                } else {
                    inside()
                };
            }
        };
        let n = self.n as usize;
        let scaled = self.scale.among(self.points());
        match self.start {
            Start::Uniform(t0) => {
                let rows = u.par_chunks_exact_mut(n).enumerate();
                rows.for_each(|(row, values)| fill(row, values, &mut || t0));
            }
            Start::Random {
                seed: Seed::Number(seed),
            } => {
                let mut random = fastrand::Rng::with_seed(seed);
                let rows = u.chunks_exact_mut(n).enumerate();
                rows.for_each(|(row, values)| {
                    fill(row, values, &mut || scaled(20.0 * random.f64()));
                });
            }
            Start::Random {
                seed: Seed::Key(key),
            } => {
                let stream = Stream::new(key, 0, u.len());
                let rows = u.par_chunks_exact_mut(n).enumerate();
                rows.for_each(|(row, values)| {
                    let mut inside = vec![0.0; n];
                    let element = |bits| scaled(20.0 * unit_f64(bits));
                    stream.fill_from(row * n, &mut inside, element);
                    let mut inside = inside.into_iter();
                    fill(row, values, &mut || inside.next().unwrap_or(0.0));
                });
            }
        }
        Ok(u)
    }
}

impl std::fmt::Display for Poisson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = if self.iterations == 1 { "" } else { "s" };
        write!(f, "{}^3, {} iteration{plural}", self.n, self.iterations)?;
        match self.start {
            Start::Uniform(0.0) => Ok(()),
            Start::Uniform(t0) => write!(f, ", t0 = {t0}"),
            Start::Random { .. } => write!(f, ", random"),
        }?;
        self.scale.fmt(f)
    }
}
