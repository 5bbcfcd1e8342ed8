//! The medium of the wave: its speed by depth, and the damped layers.

use kernels_gpu::wave3d::{Domain, LAYER};
use lab::Seed;

use crate::arrays::named_arrays;
use crate::random::Uniform;

/// A model of the wave's speed by depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Four layers of equal thickness, faster with depth: 1500 (water), 1800, 2100 and 2400 m/s.
    Layers,
    /// 2000 m/s everywhere.
    Uniform,
}

const LAYERS_M_PER_S: [f64; 4] = [1500.0, 1800.0, 2100.0, 2400.0];
const UNIFORM_M_PER_S: f64 = 2000.0;

impl Model {
    /// The models' names, as users type them.
    pub const NAMES: [&'static str; 2] = ["layers", "uniform"];

    /// The model of this name.
    pub fn from_name(name: &str) -> Option<Model> {
        match name {
            "layers" => Some(Model::Layers),
            "uniform" => Some(Model::Uniform),
            _ => None,
        }
    }

    /// As users type it.
    pub const fn name(self) -> &'static str {
        match self {
            Model::Layers => "layers",
            Model::Uniform => "uniform",
        }
    }

    /// The wave's speed in m/s at depth `k` of `n_z`.
    pub fn speed(self, k: u32, n_z: u32) -> f64 {
        match self {
            Model::Layers => {
                let layer = u64::from(k) * LAYERS_M_PER_S.len() as u64 / u64::from(n_z);
                LAYERS_M_PER_S[layer as usize]
            }
            Model::Uniform => UNIFORM_M_PER_S,
        }
    }

    /// The highest speed at any of `n_z` depths.
    pub fn highest_speed(self, n_z: u32) -> f64 {
        // In every model, speed does not fall with depth.
        self.speed(n_z - 1, n_z)
    }
}

/// The scheme's coefficients, in tables by the coordinates that they depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficients {
    /// c^2 in m^2/s^2, by k.
    pub c2: Vec<f64>,
    /// d in 1/s, by i n_y + j.
    pub d: Vec<f64>,
}

named_arrays!(Coefficients of f64 { c2, d });

impl Coefficients {
    /// The coefficients of `model` with layers whose damping rises quadratically to `peak` (in 1/s)
    /// beside the border.
    pub fn new(domain: Domain, model: Model, peak: f64) -> Coefficients {
        let Domain { n_x, n_y, n_z } = domain;
        let c2 = (0..n_z).map(|k| model.speed(k, n_z)).map(|c| c * c);
        let damping = |i, j| {
            // The field on the border is 0 with any damping.
            let depth = domain.depth_in_layer(i, j).min(LAYER);
            let into = f64::from(depth) / f64::from(LAYER);
            peak * (into * into)
        };
        Coefficients {
            c2: c2.collect(),
            d: (0..n_x)
                .flat_map(|i| (0..n_y).map(move |j| damping(i, j)))
                .collect(),
        }
    }

    /// Makes each value up to an eighth less, at random: so they cannot be computed from the
    /// parameters. A value of 0 stays.
    pub fn lessened(mut self, seed: Seed) -> Coefficients {
        // Arrays 0 and 1 are the fields.
        for (array, table) in (2..).zip([&mut self.c2, &mut self.d]) {
            let factors = Uniform::new(seed, array, table.len()).factors(0, table.len());
            for (value, factor) in table.iter_mut().zip(factors) {
                *value *= factor;
            }
        }
        self
    }
}
