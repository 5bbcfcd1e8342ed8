//! The seismic stencil lab: an acoustic wave in `f32`, 8th order in space, with an absorbing shell
//! around.

use serde::{Deserialize, Serialize};

use crate::{BufferId, Element, interface::interface};

/// The problem. All five arrays have one layout: (n_x + 8) (n_y + 8) rows of `pitch` values, the
/// rows contiguous; point (x, y, z) is element ((x + 4) (n_y + 8) + y + 4) pitch + z. The other
/// values are halo: what lies beyond a row's n_z points is the halo after it and, its last four
/// values, the halo before the next row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Points along x, the slowest axis; at least 2 shell + 1, as along the others.
    pub n_x: u32,
    /// Points along y.
    pub n_y: u32,
    /// Points along z, the contiguous axis.
    pub n_z: u32,
    /// Values from a row's start to the next: n_z + 4, rounded up to a multiple of 32. There are at
    /// most 2^31 in all rows.
    pub pitch: u32,
    /// The absorbing shell's width in points, at least 1.
    pub shell: u32,
    /// The number of timesteps; may be 0.
    pub steps: u32,
    /// The grid spacing along x in metres.
    #[serde(with = "crate::serial::f64_bits")]
    pub dx: f64,
    /// The grid spacing along y in metres.
    #[serde(with = "crate::serial::f64_bits")]
    pub dy: f64,
    /// The grid spacing along z in metres.
    #[serde(with = "crate::serial::f64_bits")]
    pub dz: f64,
    /// The element of the source's point; `u32::MAX`, which is not an element, if the problem has
    /// none.
    pub source: u32,
    /// The source's value at each timestep: `steps` of them.
    #[serde(with = "crate::serial::f32_bits_list")]
    pub source_values: Vec<f32>,
}

impl Problem {
    /// Values of an array.
    pub fn len(&self) -> u64 {
        (u64::from(self.n_x) + 8) * (u64::from(self.n_y) + 8) * u64::from(self.pitch)
    }

    /// Whether there are none, which is never so.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The buffers that hold the arrays before the first timestep: [`Problem::len`] values of `f32`
/// each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// The last field; 0 in the halo.
    pub u: BufferId,
    /// The second-last field; 0 in the halo.
    pub v: BufferId,
    /// Velocity^2 dt^2. Must be left as it is.
    pub vp: BufferId,
    /// The absorption eta: 0 outside the shell; its largest value in the halo. Must be left as it
    /// is.
    pub eta: BufferId,
    /// The shell's auxiliary field phi; 0 outside the shell.
    pub phi: BufferId,
}

/// The buffers that hold the fields after the last timestep, halos included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outputs {
    /// The last field.
    pub u: BufferId,
    /// The second-last field.
    pub v: BufferId,
    /// The shell's auxiliary field.
    pub phi: BufferId,
}

interface! {
    /// The lab `stencil25`.
    Stencil25 = "stencil25";
    declare(problem, plan) {
        let len = problem.len() as usize;
        Buffers {
            u: plan.buffer("u", Element::F32, len),
            v: plan.buffer("v", Element::F32, len),
            vp: plan.buffer("vp", Element::F32, len),
            eta: plan.buffer("eta", Element::F32, len),
            phi: plan.buffer("phi", Element::F32, len),
        }
    }
    outputs { u, v, phi }
}
