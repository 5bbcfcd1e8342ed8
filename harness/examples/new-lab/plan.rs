//! The lab `heat1d`: heat in a rod, after some timesteps.
// TODO(lab): say in the line above, and in `Problem`, what your lab computes.

use serde::{Deserialize, Serialize};

use crate::{BufferId, Element, interface::interface};

/// The problem. A field has n values of `f32`, one for each cell of the rod.
// TODO(lab): what a solution must know of a case. Each field is plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Cells, both ends included: at least 3, below 2^31.
    pub n: u32,
    /// Timesteps; may be 0.
    pub steps: u32,
    /// Conductivity * dt / dx^2, above 0 and at most 0.5.
    pub k: f32,
}

/// The buffer that holds the temperatures before the first timestep.
// TODO(lab): the buffers that hold the inputs, with their sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// n values of `f32`.
    pub u: BufferId,
}

/// The buffer that holds the temperatures after the last timestep.
// TODO(lab): the buffers that hold the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outputs {
    /// n values of `f32`.
    pub u: BufferId,
}

interface! {
    /// The lab `heat1d`.
    Heat1d = "heat1d";
    declare(problem, plan) {
        Buffers {
            u: plan.buffer("u", Element::F32, problem.n as usize),
        }
    }
    outputs { u }
}
