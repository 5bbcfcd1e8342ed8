//! Your host code: which kernels run, in which order, on which buffers.
//!
//! It does not touch a GPU. It records a *plan*: a list of launches and copies. The harness checks
//! the plan against your kernels' signatures, and then runs it any number of times, on a GPU or on
//! the emulated device. Nothing here can therefore depend on the contents of the buffers.

use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

/// The solution that the harness grades.
pub struct Submission;

impl Solution for Submission {
    /// Records the whole computation: `problem.steps` timesteps.
    ///
    /// Before the plan runs, `buffers.u_prev` is the previous field, `buffers.u` the current one;
    /// `c2` and `d` are tables that stay as they are. The returned `Outputs` name the buffers that
    /// hold the two fields afterwards, which may be any two buffers of the plan.
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { u_prev, u, c2, d } = buffers;
        let (n_x, n_y, n_z) = (problem.n_x, problem.n_y, problem.n_z);

        // As many blocks of 32 x 4 x 2 threads as cover the domain, k first: it is the contiguous
        // axis.
        let config = LaunchConfig::covering((n_z, n_y, n_x), (32, 4, 2))?;

        // TODO 4: this is the first timestep. Record all of them, each with its own value of the
        // source: `problem.source_values` has one for each. After each timestep the two buffers
        // change names: the current field becomes the previous one, and the buffer of the old
        // previous one holds the newest.
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
                problem.source_values[0],
            ],
        )?;

        // This is right after one timestep. After several it depends on their number, unless your
        // loop exchanges the names itself.
        Ok(Outputs {
            u_prev: u,
            u: u_prev,
        })
    }
}
