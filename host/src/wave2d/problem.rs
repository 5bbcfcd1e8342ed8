//! The problem to compute: size, scene, number of steps, initial fields.

use kernels_gpu::wave2d::{AnyScene, Domain};

use crate::arrays::named_arrays;
use crate::fill::zeros;
use crate::random::{Scale, Stream, uniform_f32};
use device::buffer::BufferError;
use lab::{CaseError, Seed};

/// The initial fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// All values are zero: only the scene's source makes waves.
    Rest,
    /// Uniform in [-1, 1), independent in every cell, borders and walls included: a wrong result
    /// cannot be right by chance.
    Random {
        /// Equal seeds give equal fields.
        seed: Seed,
    },
}

/// Two neighbouring timesteps of a wave, n_x * n_y values each, x contiguous.
#[derive(Debug, Clone, PartialEq)]
pub struct Fields<T> {
    /// The second-last field.
    pub u0: Vec<T>,
    /// The last field.
    pub u1: Vec<T>,
}

named_arrays!(Fields<T> of T { u0, u1 });

/// One problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Wave2d {
    n_x: u32,
    n_y: u32,
    steps: u32,
    first_step: u32,
    scene: u32,
    k: f32,
    start: Start,
    scale: Scale,
}

const MAX_CELLS_ALONG_AN_AXIS: u32 = 500_000;

impl Wave2d {
    /// A problem at k = 1/4 from rest, on `n_x` by `n_y` cells.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for fewer than 2 or more than 500000 cells along an axis, or more
    /// than 2^31 in all; [`CaseError::Unknown`] for a scene that does not exist.
    pub fn new(n_x: u32, n_y: u32, steps: u32, scene: &str) -> Result<Wave2d, CaseError> {
        for (name, cells) in [("n_x", n_x), ("n_y", n_y)] {
            if cells < 2 {
                return Err(CaseError::invalid(
                    name,
                    cells,
                    "a domain has at least 2 cells along each axis, its two borders",
                ));
            }
            // The rows that a grid of 65535 blocks along y covers, with eight rows per block.
            if cells > MAX_CELLS_ALONG_AN_AXIS {
                return Err(CaseError::invalid(
                    name,
                    cells,
                    "a domain has at most 500000 cells along an axis",
                ));
            }
        }
        // Kernels index cells with 32 bits, and tiles reach past the last row.
        if u64::from(n_x) * u64::from(n_y) > 1 << 31 {
            return Err(CaseError::invalid(
                "n_x * n_y",
                format!("{n_x} * {n_y}"),
                "a domain has at most 2147483648 cells",
            ));
        }
        let number = AnyScene::NAMES
            .iter()
            .position(|name| *name == scene)
            .ok_or_else(|| CaseError::unknown("scene", scene, AnyScene::NAMES))?;
        Ok(Wave2d {
            n_x,
            n_y,
            steps,
            first_step: 0,
            scene: number as u32,
            k: 0.25,
            start: Start::Rest,
            scale: Scale::default(),
        })
    }

    /// Sets k = (c dt/dx)^2.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] unless 0 < k <= 1/2: beyond, the scheme is unstable (the CFL
    /// condition in two dimensions).
    pub fn with_k(self, k: f32) -> Result<Wave2d, CaseError> {
        if k > 0.5 || k.is_nan() {
            return Err(CaseError::invalid(
                "k",
                k,
                "unstable: the CFL condition is k = (c dt/dx)^2 <= 0.5",
            ));
        }
        if k <= 0.0 {
            return Err(CaseError::invalid("k", k, "k = (c dt/dx)^2 is above 0"));
        }
        Ok(Wave2d { k, ..self })
    }

    /// Starts from these fields.
    pub fn with_start(self, start: Start) -> Wave2d {
        Wave2d { start, ..self }
    }

    /// Scales random initial values.
    pub(crate) fn with_scale(self, scale: Scale) -> Wave2d {
        Wave2d { scale, ..self }
    }

    /// Starts from random fields of this seed.
    pub(crate) fn random(self, seed: Seed) -> Wave2d {
        self.with_start(Start::Random { seed })
    }

    /// Numbers timesteps from `first_step`. The scene's source depends on the number.
    pub fn with_first_step(self, first_step: u32) -> Wave2d {
        Wave2d { first_step, ..self }
    }

    /// Sets the number of timesteps.
    pub fn with_steps(self, steps: u32) -> Wave2d {
        Wave2d { steps, ..self }
    }

    /// Cells along x and y.
    pub fn domain(&self) -> Domain {
        Domain {
            n_x: self.n_x,
            n_y: self.n_y,
        }
    }

    /// Cells in all.
    pub fn cells(&self) -> usize {
        self.n_x as usize * self.n_y as usize
    }

    /// The number of timesteps.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// The number of the first timestep.
    pub fn first_step(&self) -> u32 {
        self.first_step
    }

    /// k = (c dt/dx)^2.
    pub fn k(&self) -> f32 {
        self.k
    }

    /// The scene.
    pub fn scene(&self) -> AnyScene {
        AnyScene::new(self.scene, self.domain())
    }

    /// The scene's number, as kernels take it.
    pub fn scene_number(&self) -> u32 {
        self.scene
    }

    /// The scene's name.
    pub fn scene_name(&self) -> &'static str {
        AnyScene::NAMES[self.scene as usize]
    }

    /// The initial fields.
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    pub fn initial(&self) -> Result<Fields<f32>, BufferError> {
        let mut fields = Fields {
            u0: zeros(self.cells())?,
            u1: zeros(self.cells())?,
        };
        let scaled = self.scale.among(self.cells());
        match self.start {
            Start::Rest => {}
            Start::Random {
                seed: Seed::Number(seed),
            } => {
                let mut random = fastrand::Rng::with_seed(seed);
                for value in fields.u0.iter_mut().chain(&mut fields.u1) {
                    *value = scaled(2.0 * random.f32() - 1.0);
                }
            }
            Start::Random {
                seed: Seed::Key(key),
            } => {
                for (array, field) in (0..).zip([&mut fields.u0, &mut fields.u1]) {
                    let element = |bits| scaled(uniform_f32(bits));
                    Stream::new(key, array, self.cells()).fill(field, element);
                }
            }
        }
        Ok(fields)
    }
}

impl std::fmt::Display for Wave2d {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Wave2d {
            n_x, n_y, steps, ..
        } = self;
        let plural = if *steps == 1 { "" } else { "s" };
        write!(
            f,
            "{n_x}x{n_y}, {steps} step{plural}, {}",
            self.scene_name()
        )?;
        if self.k != 0.25 {
            write!(f, ", k = {}", self.k)?;
        }
        self.scale.fmt(f)
    }
}
