//! One launch of as many passes as neighbouring lanes are elements apart.

use plan::membench::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

/// The passes and their blocks.
#[derive(Debug, Clone, Copy)]
pub struct Strided {
    /// Elements from one lane's to the next's, and passes.
    pub stride: u32,
    /// Threads of a block.
    pub block: u32,
}

/// A sector for each lane.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let eight = Strided {
            stride: 8,
            block: 256,
        };
        eight.record(problem, buffers, plan)
    }
}

impl Solution for Strided {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { src, sum } = buffers;
        let tile = self.block * problem.x;
        let of_a_pass = problem.n.div_ceil(self.stride);
        let config = LaunchConfig::new((of_a_pass.div_ceil(tile), self.stride), self.block);
        plan.launch(
            "membench_strided_load",
            config,
            args![src.slice(), sum, problem.x, self.stride],
        )?;
        Ok(Outputs { sum })
    }
}
