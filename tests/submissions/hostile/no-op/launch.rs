//! Nothing at all.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{Plan, PlanError};

/// What the harness grades.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        _problem: &Problem,
        buffers: Buffers,
        _plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        Ok(Outputs {
            u0: buffers.u0,
            u1: buffers.u1,
        })
    }
}
