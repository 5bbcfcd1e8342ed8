//! Memory without end.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{Plan, PlanError};

/// What the harness grades.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        _problem: &Problem,
        _buffers: Buffers,
        _plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let mut all = Vec::new();
        loop {
            all.push(vec![1_u8; 1 << 28]);
            assert!(!all.is_empty());
        }
    }
}
