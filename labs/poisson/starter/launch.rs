//! Your host code: which kernels run, in which order, on which buffers.
//!
//! It does not touch a GPU. It records a *plan*: a list of launches and copies. The harness checks
//! the plan against your kernels' signatures, and then runs it any number of times, on a GPU or on
//! the emulated device. Nothing here can therefore depend on the contents of the buffers.

use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

/// The solution that the harness grades.
pub struct Submission;

impl Solution for Submission {
    /// Records the whole computation: `problem.iterations` iterations.
    ///
    /// Before the plan runs, `buffers.u` holds the start values, walls included. The returned
    /// `Outputs` name the buffer that holds u afterwards, which may be any buffer of the plan.
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let n = problem.n;
        let points = n as usize * n as usize * n as usize;
        let u = buffers.u;

        // A scratch buffer of this plan. Its contents are unknown until a launch or copy writes to
        // it.
        let u_next = plan.scratch("u_next", Element::F64, points);

        // As many blocks of 32 x 4 x 4 threads as cover the cube.
        let config = LaunchConfig::covering((n, n, n), (32, 4, 4))?;

        // TODO 2: this is one iteration. Record all of them; after each, the two fields have to
        // change names.
        plan.launch("poisson_iteration", config, args![u.slice(), u_next, n])?;

        Ok(Outputs { u: u_next })
    }
}
