//! Seven launches a timestep.

use kernels_gpu::stencil25::{Coefficients, Grid, Region, Task};
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
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
            mut u,
            mut v,
            vp,
            eta,
            phi,
        } = buffers;
        let grid = Grid::new([problem.n_x, problem.n_y, problem.n_z]);
        let task = |region: Region| {
            let task = Task {
                grid,
                region,
                coefficients: Coefficients::new([problem.dx, problem.dy, problem.dz]),
                source: problem.source,
            };
            task.to_bytes().to_vec()
        };
        let config = |region: Region| {
            let [n_x, n_y, n_z] = region.shape();
            LaunchConfig::covering((n_z, n_y, n_x), (32, 4, 2))
        };
        for &value in &problem.source_values {
            let inner = grid.inner(problem.shell);
            let arrays = args![u.slice(), v, vp.slice(), task(inner), value];
            plan.launch("stencil25_inside_step", config(inner)?, arrays)?;
            for region in grid.shell(problem.shell) {
                let (u, vp, eta) = (u.slice(), vp.slice(), eta.slice());
                let arrays = args![u, v, vp, eta, phi, task(region), value];
                plan.launch("stencil25_shell_step", config(region)?, arrays)?;
            }
            (u, v) = (v, u);
        }
        Ok(Outputs { u, v, phi })
    }
}
