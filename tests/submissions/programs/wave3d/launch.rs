//! One launch a timestep.

use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

/// What the harness grades.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers {
            mut u_prev,
            mut u,
            c2,
            d,
        } = buffers;
        let (n_x, n_y, n_z) = (problem.n_x, problem.n_y, problem.n_z);
        let config = LaunchConfig::covering((n_z, n_y, n_x), (32, 4, 2))?;
        for &value in &problem.source_values {
            plan.launch(
                "wave3d_step",
                config,
                args![
                    u_prev,
                    u.slice(),
                    c2.slice(),
                    d.slice(),
                    n_x,
                    n_y,
                    n_z,
                    problem.dt,
                    problem.ratio,
                    problem.source,
                    value,
                ],
            )?;
            (u_prev, u) = (u, u_prev);
        }
        Ok(Outputs { u_prev, u })
    }
}
