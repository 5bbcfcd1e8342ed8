//! The 3D wave lab: two fields, advanced by some timesteps over a layered, damped medium with a
//! point source.

use serde::{Deserialize, Serialize};

use crate::{BufferId, Element, interface::interface};

/// The problem. A field has n_x * n_y * n_z values of `f64`, z contiguous, then y.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Sites along x, at least 3.
    pub n_x: u32,
    /// Sites along y, at least 3.
    pub n_y: u32,
    /// Sites along z, at least 3; n_x * n_y * n_z is at most 2^31.
    pub n_z: u32,
    /// The number of timesteps; may be 0.
    pub steps: u32,
    /// The timestep in seconds.
    #[serde(with = "crate::serial::f64_bits")]
    pub dt: f64,
    /// dt^2/dx^2.
    #[serde(with = "crate::serial::f64_bits")]
    pub ratio: f64,
    /// The position of the source's site in a field; `u32::MAX`, which is not a site, if the
    /// problem has none.
    pub source: u32,
    /// The source's value at each timestep: `steps` of them.
    #[serde(with = "crate::serial::f64_bits_list")]
    pub source_values: Vec<f64>,
}

/// The buffers that hold fields and tables before the first timestep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// The second-last field: n_x * n_y * n_z values of `f64`.
    pub u_prev: BufferId,
    /// The last field: as many.
    pub u: BufferId,
    /// c^2 by k: n_z values of `f64`. Must be left as it is.
    pub c2: BufferId,
    /// d by i * n_y + j: n_x * n_y values of `f64`. Must be left as it is.
    pub d: BufferId,
}

/// The buffers that hold the last two fields after the last timestep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outputs {
    /// The second-last field.
    pub u_prev: BufferId,
    /// The last field.
    pub u: BufferId,
}

interface! {
    /// The lab `wave3d`.
    Wave3d = "wave3d";
    declare(problem, plan) {
        let [n_x, n_y, n_z] = [problem.n_x, problem.n_y, problem.n_z].map(|n| n as usize);
        let sites = (n_x * n_y).saturating_mul(n_z);
        Buffers {
            u_prev: plan.buffer("u_prev", Element::F64, sites),
            u: plan.buffer("u", Element::F64, sites),
            c2: plan.buffer("c2", Element::F64, n_z),
            d: plan.buffer("d", Element::F64, n_x * n_y),
        }
    }
    outputs { u_prev, u }
}
