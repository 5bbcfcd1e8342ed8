//! Your host code: which kernels run, in which order, on which buffers.
//!
//! It does not touch a GPU. It records a *plan*: a list of launches and copies. The harness checks
//! the plan against your kernels' signatures, and then runs it any number of times, on a GPU or on
//! the emulated device. Nothing here can therefore depend on the contents of the buffers.

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
        let Buffers { u, v, vp, eta, phi } = buffers;
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
        // As many blocks of 32 x 4 x 2 threads as cover the box, z first: it is the contiguous
        // axis.
        let config = |region: Region| {
            let [n_x, n_y, n_z] = region.shape();
            LaunchConfig::covering((n_z, n_y, n_x), (32, 4, 2))
        };

        // TODO 4: this is the first timestep, the inside and the six boxes around it. Record all
        // timesteps, each with its own value of the source: `problem.source_values` has one for
        // each. After each timestep u and v change names.
        if let Some(&value) = problem.source_values.first() {
            let inner = grid.inner(problem.shell);
            plan.launch(
                "stencil25_inside_step",
                config(inner)?,
                args![u.slice(), v, vp.slice(), task(inner), value],
            )?;
            for region in grid.shell(problem.shell) {
                let (vp, eta) = (vp.slice(), eta.slice());
                plan.launch(
                    "stencil25_shell_step",
                    config(region)?,
                    args![u.slice(), v, vp, eta, phi, task(region), value],
                )?;
            }
        }

        // This is right after one timestep. After several it depends on their number, unless your
        // loop exchanges the names itself.
        Ok(Outputs { u: v, v: u, phi })
    }
}
