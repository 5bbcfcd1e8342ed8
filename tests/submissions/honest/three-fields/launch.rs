//! Three fields in rotation.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

/// What the harness grades.
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
        let mut next = plan.scratch("next", Element::F32, n_x as usize * n_y as usize);
        let config = LaunchConfig::covering((n_x, n_y), (32, 8))?;
        for step in 0..problem.steps {
            let t = problem.first_step.wrapping_add(step);
            plan.launch(
                "wave2d_step",
                config,
                args![
                    u0.slice(),
                    u1.slice(),
                    next,
                    n_x,
                    n_y,
                    problem.scene,
                    problem.k,
                    t
                ],
            )?;
            (u0, u1, next) = (u1, next, u0);
        }
        Ok(Outputs { u0, u1 })
    }
}
