//! One launch, in which each thread loads x elements.

use plan::membench::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

/// A kernel and its blocks.
#[derive(Debug, Clone, Copy)]
pub struct Loads {
    /// A kernel that gives each thread of a block x elements.
    pub kernel: &'static str,
    /// Threads of a block.
    pub block: u32,
}

impl Loads {
    /// The best shape of those tried; docs/log/membench.md has the reasons.
    pub const DEFAULT: Loads = Loads {
        kernel: "membench_vector_load",
        block: 256,
    };
}

/// The default shape.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        Loads::DEFAULT.record(problem, buffers, plan)
    }
}

impl Solution for Loads {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { src, sum } = buffers;
        let tile = self.block * problem.x;
        let config = LaunchConfig::new(problem.n.div_ceil(tile), self.block);
        plan.launch(self.kernel, config, args![src.slice(), sum, problem.x])?;
        Ok(Outputs { sum })
    }
}
