//! Two launches a timestep, for the damped layers in x and for the rest: together they replace u_prev, and the two
//! fields swap names.

use kernels_gpu::wave3d::domain::{edge_len, middle_len};
use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{Arg, LaunchConfig, Plan, PlanError, args};

use super::kernels::BLOCK;

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
        let x_layers = [n_z, n_y, edge_len(n_x)];
        let middle = [n_z, n_y, middle_len(n_x)];
        for &value in &problem.source_values {
            let damped = args![
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
            launch(plan, "wave3d_x_layers", x_layers, BLOCK, damped.clone())?;
            launch(plan, "wave3d_middle", middle, BLOCK, damped)?;
            (u_prev, u) = (u, u_prev);
        }
        Ok(Outputs { u_prev, u })
    }
}

/// Records a launch with one thread for each of `threads`; none if there are none, as between the layers of a narrow
/// domain.
fn launch<const N: usize>(
    plan: &mut Plan,
    kernel: &str,
    threads: [u32; 3],
    block: [u32; 3],
    args: [Arg; N],
) -> Result<(), PlanError> {
    if threads.contains(&0) {
        return Ok(());
    }
    plan.launch(kernel, LaunchConfig::covering(threads, block)?, args)
}
