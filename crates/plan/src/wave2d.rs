//! The 2D wave lab: two fields, advanced by some timesteps.

use serde::{Deserialize, Serialize};

use crate::{BufferId, Element, interface::interface};

/// The problem. A field has n_x * n_y values of `f32`, x contiguous.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Cells along x, at least 2.
    pub n_x: u32,
    /// Cells along y, at least 2; n_x * n_y is at most 2^31.
    pub n_y: u32,
    /// The number of timesteps; may be 0.
    pub steps: u32,
    /// The number of the first timestep, which is what the scene's source sees. Numbers wrap
    /// around.
    pub first_step: u32,
    /// The scene's number, for `kernels_gpu::wave2d::AnyScene::new`.
    pub scene: u32,
    /// k = (c dt/dx)^2.
    #[serde(with = "crate::serial::f32_bits")]
    pub k: f32,
}

/// The buffers that hold the last two fields before the first timestep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// The second-last field: n_x * n_y values of `f32`.
    pub u0: BufferId,
    /// The last field: as many.
    pub u1: BufferId,
}

/// The buffers that hold the last two fields after the last timestep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outputs {
    /// The second-last field.
    pub u0: BufferId,
    /// The last field.
    pub u1: BufferId,
}

interface! {
    /// The lab `wave2d`.
    Wave2d = "wave2d";
    declare(problem, plan) {
        let cells = problem.n_x as usize * problem.n_y as usize;
        Buffers {
            u0: plan.buffer("u0", Element::F32, cells),
            u1: plan.buffer("u1", Element::F32, cells),
        }
    }
    outputs { u0, u1 }
}
