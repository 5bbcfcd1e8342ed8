//! Scratch for the partial sums.

use plan::membench::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

/// Threads of a block.
const BLOCK: u32 = 256;

/// What the harness grades.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { src, sum } = buffers;
        let blocks = problem.n.div_ceil(BLOCK * problem.x);
        let config = LaunchConfig::new(blocks, BLOCK);
        let parts = plan.scratch("parts", Element::U32, blocks as usize);
        let ticket = plan.scratch("ticket", Element::U32, 1);
        plan.fill(ticket, 0)?;
        plan.launch(
            "membench_sum",
            config,
            args![src.slice(), sum, problem.x, parts, ticket],
        )?;
        Ok(Outputs { sum })
    }
}
