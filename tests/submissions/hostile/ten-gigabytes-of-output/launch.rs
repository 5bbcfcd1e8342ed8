//! Ten gigabytes on standard output.

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
        let Buffers { u0, u1 } = buffers;
        let megabyte = "x".repeat(1 << 20);
        for _ in 0..10_240 {
            print!("{megabyte}");
        }
        Ok(Outputs { u0, u1 })
    }
}
