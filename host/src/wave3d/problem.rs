//! The problem to compute: size, medium, source, number of steps, initial fields.

use kernels_gpu::wave3d::Domain;
use kernels_gpu::wave3d::source::Source;
use kernels_gpu::wave3d::update::Scheme;

use super::medium::{Coefficients, Model};
use crate::arrays::named_arrays;
use crate::fill::zeros;
use crate::random::{Scale, Stream, unit_f64};
use crate::seismic::{Ricker, Start, rounded_down};
use device::buffer::BufferError;
use lab::{CaseError, Seed};

/// Two neighbouring timesteps of a wave, n_x * n_y * n_z values each, z contiguous.
#[derive(Debug, Clone, PartialEq)]
pub struct Fields {
    /// The second-last field.
    pub u_prev: Vec<f64>,
    /// The last field.
    pub u: Vec<f64>,
}

named_arrays!(Fields of f64 { u_prev, u });

/// One problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Wave3d {
    domain: Domain,
    steps: u32,
    first_step: u32,
    dx_m: f64,
    dt_s: f64,
    model: Model,
    damping: f64,
    source: Option<Ricker>,
    start: Start,
    scale: Scale,
}

/// The default grid spacing, in metres.
pub const DEFAULT_DX_M: f64 = 10.0;
/// The default timestep, in seconds.
pub const DEFAULT_DT_S: f64 = 0.002;
/// The default damping beside the border, in 1/s: of the values from 25 to 500, the one that leaves
/// least of a pulse.
pub const DEFAULT_DAMPING: f64 = 150.0;
/// The default source: ten sites per wavelength in water.
pub const DEFAULT_SOURCE: Ricker = Ricker { frequency_hz: 15.0 };

/// The sites that a grid of 65535 blocks along y and z covers with blocks of 32 x 4 x 2 threads,
/// rounded down.
pub const MAX_SITES: [u32; 3] = [130_000, 260_000, 1 << 30];

impl Wave3d {
    /// A problem from rest in the layered model, with a 15 Hz source, dx = 10 m, dt = 2 ms, damping
    /// up to 150/s.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for fewer than 3 sites along an axis, more than 130000 along x or
    /// 260000 along y, or more than 2^31 in all.
    pub fn new([n_x, n_y, n_z]: [u32; 3], steps: u32) -> Result<Wave3d, CaseError> {
        for ((name, sites), most) in [("n_x", n_x), ("n_y", n_y), ("n_z", n_z)]
            .into_iter()
            .zip(MAX_SITES)
        {
            if sites < 3 {
                return Err(CaseError::invalid(
                    name,
                    sites,
                    "a domain has at least 3 sites along each axis: two borders and one between",
                ));
            }
            if sites > most {
                return Err(CaseError::invalid(
                    name,
                    sites,
                    format!("a domain has at most {most} sites along this axis"),
                ));
            }
        }
        // Kernels index sites with 32 bits, and blocks reach past the last one.
        if u128::from(n_x) * u128::from(n_y) * u128::from(n_z) > 1 << 31 {
            return Err(CaseError::invalid(
                "n_x * n_y * n_z",
                format!("{n_x} * {n_y} * {n_z}"),
                "a domain has at most 2147483648 sites",
            ));
        }
        Ok(Wave3d {
            domain: Domain { n_x, n_y, n_z },
            steps,
            first_step: 0,
            dx_m: DEFAULT_DX_M,
            dt_s: DEFAULT_DT_S,
            model: Model::Layers,
            damping: DEFAULT_DAMPING,
            source: Some(DEFAULT_SOURCE),
            start: Start::Rest,
            scale: Scale::default(),
        })
    }

    /// Sets the model, the grid spacing (in metres) and the timestep (in seconds).
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for a spacing or timestep that is not above 0, and for a timestep
    /// beyond the CFL condition c dt/dx <= 1/sqrt(3), where c is the model's highest speed. The
    /// message states the largest timestep.
    pub fn with_medium(self, model: Model, dx_m: f64, dt_s: f64) -> Result<Wave3d, CaseError> {
        for (name, value, unit) in [("dx", dx_m, "metres"), ("dt", dt_s, "seconds")] {
            // The squares and their quotient must be normal numbers too.
            if !(1e-60..=1e60).contains(&value) {
                let reason = format!("a number of {unit} from 1e-60 to 1e60");
                return Err(CaseError::invalid(name, value, reason));
            }
        }
        let c = model.highest_speed(self.domain.n_z);
        let largest = largest_timestep(dx_m, c);
        if dt_s > largest {
            return Err(CaseError::invalid(
                "dt",
                dt_s,
                format!(
                    "unstable: the CFL condition is dt <= dx / (c sqrt(3)); with dx = {dx_m} m and c up to {c} m/s, dt \
                     is at most {} s",
                    rounded_down(largest)
                ),
            ));
        }
        Ok(Wave3d {
            model,
            dx_m,
            dt_s,
            ..self
        })
    }

    /// Sets the damping: up to `peak`, in 1/s, beside the border.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] if it is negative, infinite or not a number.
    pub fn with_damping(self, peak: f64) -> Result<Wave3d, CaseError> {
        if !(0.0..=1e60).contains(&peak) {
            let reason = "a rate in 1/s, 0 (no damping) to 1e60";
            return Err(CaseError::invalid("damping", peak, reason));
        }
        Ok(Wave3d {
            damping: peak,
            ..self
        })
    }

    /// Sets the source, or removes it.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] if its frequency is not above 0.
    pub fn with_source(self, source: Option<Ricker>) -> Result<Wave3d, CaseError> {
        source.map_or(Ok(()), Ricker::check)?;
        Ok(Wave3d { source, ..self })
    }

    /// Starts from these fields.
    pub fn with_start(self, start: Start) -> Wave3d {
        Wave3d { start, ..self }
    }

    /// Scales random initial values.
    pub(crate) fn with_scale(self, scale: Scale) -> Wave3d {
        Wave3d { scale, ..self }
    }

    /// Starts from random fields of this seed.
    pub(crate) fn random(self, seed: Seed) -> Wave3d {
        self.with_start(Start::Random { seed })
    }

    /// Numbers timesteps from `first_step`. The source depends on the number.
    pub fn with_first_step(self, first_step: u32) -> Wave3d {
        Wave3d { first_step, ..self }
    }

    /// Sets the number of timesteps.
    pub fn with_steps(self, steps: u32) -> Wave3d {
        Wave3d { steps, ..self }
    }

    /// Sites along x, y and z.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Sites in all.
    pub fn sites(&self) -> usize {
        let Domain { n_x, n_y, n_z } = self.domain;
        n_x as usize * n_y as usize * n_z as usize
    }

    /// The number of timesteps.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// The number of the first timestep.
    pub fn first_step(&self) -> u32 {
        self.first_step
    }

    /// The grid spacing in metres.
    pub fn dx_m(&self) -> f64 {
        self.dx_m
    }

    /// The timestep in seconds.
    pub fn dt_s(&self) -> f64 {
        self.dt_s
    }

    /// The velocity model.
    pub fn model(&self) -> Model {
        self.model
    }

    /// The damping beside the border, in 1/s.
    pub fn damping(&self) -> f64 {
        self.damping
    }

    /// The point source's wavelet, if there is one.
    pub fn source(&self) -> Option<Ricker> {
        self.source
    }

    /// The constants of the scheme.
    pub fn scheme(&self) -> Scheme {
        Scheme::new(self.dt_s, self.dx_m)
    }

    /// The tables of the scheme: with a random start, each value is up to an eighth less.
    pub fn coefficients(&self) -> Coefficients {
        let coefficients = Coefficients::new(self.domain, self.model, self.damping);
        match self.start.seed() {
            Some(seed) => coefficients.lessened(seed),
            None => coefficients,
        }
    }

    /// The site of the point source: in the middle of x and y, at a quarter of the depth.
    pub fn source_site(&self) -> [u32; 3] {
        let Domain { n_x, n_y, n_z } = self.domain;
        [n_x / 2, n_y / 2, (n_z / 4).max(1)]
    }

    /// The source at timestep `step` of this problem, as the update sees it.
    pub fn source_at(&self, step: u32) -> Source {
        match self.source {
            Some(ricker) => {
                let [i, j, k] = self.source_site();
                let number = u64::from(self.first_step) + u64::from(step);
                let value = ricker.value(number as f64 * self.dt_s);
                Source::new(self.domain.index(i, j, k), value)
            }
            None => Source::new(Source::NOWHERE, 0.0),
        }
    }

    /// The initial fields.
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    pub fn initial(&self) -> Result<Fields, BufferError> {
        let mut fields = Fields {
            u_prev: zeros(self.sites())?,
            u: zeros(self.sites())?,
        };
        let scaled = self.scale.among(self.sites());
        match self.start {
            Start::Rest => {}
            Start::Pulse => {
                self.pulse(&mut fields.u);
                fields.u_prev.copy_from_slice(&fields.u);
            }
            Start::Random {
                seed: Seed::Number(seed),
            } => {
                let mut random = fastrand::Rng::with_seed(seed);
                for value in fields.u_prev.iter_mut().chain(&mut fields.u) {
                    *value = scaled(2.0 * random.f64() - 1.0);
                }
            }
            Start::Random {
                seed: Seed::Key(key),
            } => {
                for (array, field) in (0..).zip([&mut fields.u_prev, &mut fields.u]) {
                    let uniform = |bits| scaled(2.0 * unit_f64(bits) - 1.0);
                    Stream::new(key, array, self.sites()).fill(field, uniform);
                }
            }
        }
        Ok(fields)
    }

    fn pulse(&self, field: &mut [f64]) {
        let Domain { n_x, n_y, n_z } = self.domain;
        // The pulse is separable: one table per axis.
        let along = |n: u32| -> Vec<f64> {
            let height = |position: u32| {
                let from_middle = f64::from(position) - f64::from(n / 2);
                libm::exp(-from_middle * from_middle / 18.0)
            };
            (0..n).map(height).collect()
        };
        let (along_x, along_y, along_z) = (along(n_x), along(n_y), along(n_z));
        let columns = along_x
            .iter()
            .flat_map(|x| along_y.iter().map(move |y| x * y));
        for (column, height) in field.chunks_mut(n_z as usize).zip(columns) {
            for (value, z) in column.iter_mut().zip(&along_z) {
                *value = height * z;
            }
        }
    }
}

/// The largest stable timestep in seconds: dx / (c sqrt(3)).
pub fn largest_timestep(dx_m: f64, c_m_per_s: f64) -> f64 {
    dx_m / (c_m_per_s * 3.0_f64.sqrt())
}

impl std::fmt::Display for Wave3d {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Domain { n_x, n_y, n_z } = self.domain;
        let plural = if self.steps == 1 { "" } else { "s" };
        write!(f, "{n_x}x{n_y}x{n_z}, {} step{plural}", self.steps)?;
        if self.dx_m != DEFAULT_DX_M {
            write!(f, ", dx = {}", self.dx_m)?;
        }
        if self.dt_s != DEFAULT_DT_S {
            write!(f, ", dt = {}", self.dt_s)?;
        }
        if self.model != Model::Layers {
            write!(f, ", {}", self.model.name())?;
        }
        if self.damping != DEFAULT_DAMPING {
            write!(f, ", damping = {}", self.damping)?;
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
