//! Your host code: which kernels run, in which order, on which buffers.
//!
//! It does not touch a GPU. It records a *plan*: a list of launches and copies. The harness checks
//! the plan against your kernels' signatures, and then runs it any number of times, on a GPU or on
//! the emulated device. Nothing here can therefore depend on the contents of the buffers.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

/// The solution that the harness grades.
pub struct Submission;

impl Solution for Submission {
    /// Records the whole computation: `problem.steps` timesteps, numbered from
    /// `problem.first_step`.
    ///
    /// Before the plan runs, `buffers.u0` is the previous field, and `buffers.u1` the current one.
    /// The returned `Outputs` name the buffers that hold these two afterwards, which may be any two
    /// buffers of the plan.
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { u0, u1 } = buffers;
        let (n_x, n_y) = (problem.n_x, problem.n_y);

        // As many blocks of 32 x 8 threads as cover the domain.
        let config = LaunchConfig::covering((n_x, n_y), (32, 8))?;

        // TODO 2: this is the first timestep. Record all of them, each with its own number. After
        // each the two buffers swap names: the current field becomes the previous, and the buffer
        // of the old previous field holds the newest.
        plan.launch(
            "wave2d_step",
            config,
            args![
                u0,
                u1.slice(),
                n_x,
                n_y,
                problem.scene,
                problem.k,
                problem.first_step,
            ],
        )?;

        // This is right after one timestep. After several it depends on their number, unless your
        // loop exchanges the names itself.
        Ok(Outputs { u0: u1, u1: u0 })
    }
}
