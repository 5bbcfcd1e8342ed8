//! Fields that move instead of their names.

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
        let Buffers { u0, u1 } = buffers;
        let (n_x, n_y) = (problem.n_x, problem.n_y);
        let cells = n_x as usize * n_y as usize;
        let [last, scratch0, scratch1] =
            ["last", "result0", "result1"].map(|name| plan.scratch(name, Element::F32, cells));
        let config = LaunchConfig::covering((n_x, n_y), (32, 8))?;
        for step in 0..problem.steps {
            let t = problem.first_step.wrapping_add(step);
            plan.launch(
                "wave2d_step",
                config,
                args![u0, u1.slice(), n_x, n_y, problem.scene, problem.k, t],
            )?;
            plan.copy(u0, last)?;
            plan.copy(u1, u0)?;
            plan.copy(last, u1)?;
        }
        plan.copy(u0, scratch0)?;
        plan.copy(u1, scratch1)?;
        Ok(Outputs {
            u0: scratch0,
            u1: scratch1,
        })
    }
}
