//! Two launches per timestep, for the damped layers in x and for the rest. Together they replace
//! u_prev, and the two fields swap names. Every other timestep takes launches and planes in the
//! opposite order. It thus begins with the planes with which the last one ended, which are in L2.

use kernels_gpu::cache_line;
use kernels_gpu::wave3d::domain::{edge_len, middle_len};
use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{Arg, LaunchConfig, Plan, PlanError, args};

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
        let x_layers = [n_z, n_y, edge_len(n_x)];
        let middle = [n_z, n_y, middle_len(n_x)];
        for (step, &value) in (0_u32..).zip(&problem.source_values) {
            let descends = step % 2;
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
                descends,
            ];
            let mut parts = [("wave3d_x_layers", x_layers), ("wave3d_middle", middle)];
            if descends == 1 {
                parts.reverse();
            }
            for (kernel, sites) in parts {
                launch(plan, kernel, sites, damped.clone())?;
            }
            (u_prev, u) = (u, u_prev);
        }
        Ok(Outputs { u_prev, u })
    }
}

/// Records a launch for these numbers of sites along k, j and i. If one of them is 0, as between
/// the layers of a narrow domain, it records none.
fn launch<const N: usize>(
    plan: &mut Plan,
    kernel: &str,
    [n_z, rows, planes]: [u32; 3],
    args: [Arg; N],
) -> Result<(), PlanError> {
    if rows == 0 || planes == 0 {
        return Ok(());
    }
    let threads = [
        cache_line::row_threads::<f64>(n_z),
        rows,
        planes.div_ceil(PLANES),
    ];
    plan.launch(kernel, LaunchConfig::covering(threads, BLOCK)?, args)
}
