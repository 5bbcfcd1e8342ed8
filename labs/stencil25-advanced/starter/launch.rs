//! Your host code: which kernels run, in which order, on which buffers.
//!
//! It is complete: seven launches per timestep, the inside as columns along x. Change it when you
//! change the blocks, and for streams and clusters.

use kernels_gpu::stencil25::{Coefficients, Grid, Region, Task};
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

/// The solution that the harness grades.
pub struct Submission;

impl Solution for Submission {
    /// Records the whole computation: `problem.steps` timesteps.
    ///
    /// Before the plan runs, `buffers.u` holds the current field, `buffers.v` the previous one, and
    /// `buffers.phi` the shell's; `vp` and `eta` stay as they are. The returned `Outputs` name the
    /// buffers that hold the three fields afterwards, which may be any buffers of the plan.
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
        // A kernel's parameters for a box of points.
        let task = |region: Region| {
            let task = Task {
                grid,
                region,
                coefficients: Coefficients::new([problem.dx, problem.dy, problem.dz]),
                source: problem.source,
            };
            task.to_bytes().to_vec()
        };
        let inner = grid.inner(problem.shell);
        for &value in &problem.source_values {
            // A thread for each column: its points lie behind each other along x.
            let [_, n_y, n_z] = inner.shape();
            plan.launch(
                "stencil25_semi",
                LaunchConfig::covering((n_z, n_y), (32, 8))?,
                args![u.slice(), v, vp.slice(), task(inner), value],
            )?;
            for region in grid.shell(problem.shell) {
                let [n_x, n_y, n_z] = region.shape();
                plan.launch(
                    "stencil25_shell_step",
                    LaunchConfig::covering((n_z, n_y, n_x), (32, 4, 2))?,
                    args![
                        u.slice(),
                        v,
                        vp.slice(),
                        eta.slice(),
                        phi,
                        task(region),
                        value
                    ],
                )?;
            }
            (u, v) = (v, u);
        }
        Ok(Outputs { u, v, phi })
    }
}
