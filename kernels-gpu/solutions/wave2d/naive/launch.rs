//! One launch per timestep: the new field replaces the second-last, and the two swap names.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

/// See the module.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { mut u0, mut u1 } = buffers;
        let (n_x, n_y) = (problem.n_x, problem.n_y);
        // One row per block is fastest, but a grid has at most 65535 blocks along y.
        let rows = n_y.div_ceil(65_535);
        let config = LaunchConfig::covering((n_x, n_y), (128, rows))?;
        for step in 0..problem.steps {
            let t = problem.first_step.wrapping_add(step);
            plan.launch(
                "wave2d_naive",
                config,
                args![u0, u1.slice(), n_x, n_y, problem.scene, problem.k, t],
            )?;
            (u0, u1) = (u1, u0);
        }
        Ok(Outputs { u0, u1 })
    }
}
