//! One launch per timestep: the new field replaces u_prev, and the two swap names. Every other
//! timestep descends. It thus begins with the planes with which the last one ended, which are in
//! L2.

use kernels_gpu::cache_line;
use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

use super::kernels::{BLOCK, PLANES};

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
        let threads = (
            cache_line::row_threads::<f64>(n_z),
            n_y,
            n_x.div_ceil(PLANES),
        );
        let config = LaunchConfig::covering(threads, BLOCK)?;
        for (step, &value) in (0_u32..).zip(&problem.source_values) {
            let args = args![
                u_prev,
                u.slice(),
                c2.slice(),
                d.slice(),
                0u32,
                n_x,
                n_x,
                n_y,
                n_z,
                problem.dt,
                problem.ratio,
                problem.source,
                value,
                step % 2,
            ];
            plan.launch("wave3d_single", config, args)?;
            (u_prev, u) = (u, u_prev);
        }
        Ok(Outputs { u_prev, u })
    }
}
