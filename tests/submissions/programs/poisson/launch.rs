//! One launch an iteration.

use plan::poisson::{Buffers, Outputs, Problem, Solution};
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
        let n = problem.n;
        let mut u = buffers.u;
        let mut u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        let config = LaunchConfig::covering((n, n, n), (32, 4, 4))?;
        for _ in 0..problem.iterations {
            plan.launch("poisson_iteration", config, args![u.slice(), u_next, n])?;
            (u, u_next) = (u_next, u);
        }
        Ok(Outputs { u })
    }
}
