//! `std::fs` under another name.

use std::fs as quiet;

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
        let text = quiet::read_to_string("/etc/passwd").expect("a file to read");
        assert!(!text.is_empty());
        Ok(Outputs { u0, u1 })
    }
}
