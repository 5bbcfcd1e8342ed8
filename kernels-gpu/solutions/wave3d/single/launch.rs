//! One launch a timestep: the new field replaces u_prev, and the two swap names.

use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

use super::kernels;

/// See the module.
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
        let Problem { n_x, n_y, n_z, .. } = *problem;
        let config = LaunchConfig::covering((n_z, n_y, n_x), kernels::BLOCK)?;
        for &value in &problem.source_values {
            let args = args![
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
            ];
            plan.launch("wave3d_single", config, args)?;
            (u_prev, u) = (u, u_prev);
        }
        Ok(Outputs { u_prev, u })
    }
}
