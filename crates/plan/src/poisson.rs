//! The Poisson lab: a field, after some iterations of Jacobi's method.

use serde::{Deserialize, Serialize};

use crate::{BufferId, Element, PlanError, interface::interface};

/// The problem. A field has n^3 values of `f64`, x contiguous, then y.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Points along each axis, walls included: 3 to 32768.
    pub n: u32,
    /// The number of iterations; may be 0.
    pub iterations: u32,
}

impl Problem {
    /// Refuses a cube of more points along each axis than a solution's kernels can number.
    ///
    /// # Errors
    ///
    /// [`PlanError::Unsupported`].
    pub fn at_most(&self, n: u32) -> Result<(), PlanError> {
        if self.n > n {
            return Err(PlanError::unsupported(format!(
                "its kernels number points with 32 bits, and so at most {n} along each axis; this cube has {}",
                self.n
            )));
        }
        Ok(())
    }
}

/// The buffer that holds the field before the first iteration, the walls' values on the walls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// n^3 values of `f64`.
    pub u: BufferId,
}

/// The buffer that holds the field after the last iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outputs {
    /// n^3 values of `f64`, walls included.
    pub u: BufferId,
}

interface! {
    /// The lab `poisson`.
    Poisson = "poisson";
    declare(problem, plan) {
        let n = problem.n as usize;
        Buffers {
            u: plan.buffer("u", Element::F64, (n * n).saturating_mul(n)),
        }
    }
    outputs { u }
}
