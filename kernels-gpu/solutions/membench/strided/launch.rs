//! One launch of `stride` passes. Neighbouring lanes load elements that are `stride` apart.

use plan::membench::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

/// The passes and their blocks.
#[derive(Debug, Clone, Copy)]
pub struct Strided {
    /// The distance in elements from one lane's element to the next's, and the number of passes.
    pub stride: u32,
    /// Threads of a block.
    pub block: u32,
}

/// Each lane loads its own sector.
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
