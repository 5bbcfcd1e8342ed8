//! The matrix addition lab: C = A + B.

use serde::{Deserialize, Serialize};

use crate::{BufferId, Element, interface::interface};

/// The problem. A matrix has n_y rows of n_x contiguous values of `f32`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Elements of a row, at least 1.
    pub n_x: u32,
    /// Rows, 1 to 500000; n_x * n_y is below 2^31.
    pub n_y: u32,
}

/// The buffers of the matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// A: n_x * n_y values of `f32`. Must be left as it is.
    pub a: BufferId,
    /// B: as many. Must be left as it is.
    pub b: BufferId,
    /// Where C may go: as many, undefined before.
    pub c: BufferId,
}

/// The buffer that holds the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outputs {
    /// C: n_x * n_y values of `f32`.
    pub c: BufferId,
}

interface! {
    /// The lab `matadd`.
    MatAdd = "matadd";
    declare(problem, plan) {
        let elements = problem.n_x as usize * problem.n_y as usize;
        Buffers {
            a: plan.buffer("a", Element::F32, elements),
            b: plan.buffer("b", Element::F32, elements),
            c: plan.buffer("c", Element::F32, elements),
        }
    }
    outputs { c }
}
