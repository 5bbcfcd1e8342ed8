//! Your host code: which kernels run, in which order, on which buffers.
//!
//! It does not touch a GPU. It records a *plan*: a list of launches and copies. The harness checks
//! the plan against your kernels' signatures, and then runs it any number of times, on a GPU or on
//! the emulated device. Nothing here can therefore depend on the contents of the buffers.

use plan::heat1d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

/// The solution that the harness grades.
pub struct Submission;

impl Solution for Submission {
    /// Records the whole computation: `problem.steps` timesteps.
    ///
    /// Before the plan runs, `buffers.u` holds the temperatures. The returned `Outputs` name the
    /// buffer that holds them afterwards, which may be any buffer of the plan.
    // TODO(lab): the launches, with a gap for students.
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let (n, k) = (problem.n, problem.k);
        let u = buffers.u;

        // A scratch buffer of this plan. Its contents are unknown until a launch or copy writes to
        // it.
        let u_next = plan.scratch("u_next", Element::F32, n as usize);

        // As many blocks of 256 threads as cover the rod.
        let config = LaunchConfig::covering(n, 256)?;

        // TODO 2: this is one timestep. Record all of them; after each, the two buffers have to
        // change names.
        plan.launch("heat1d_step", config, args![u.slice(), u_next, n, k])?;

        Ok(Outputs { u: u_next })
    }
}
