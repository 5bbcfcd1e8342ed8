//! Your host code: which kernels run, in which order, on which buffers.
//!
//! It does not touch a GPU. It records a *plan*: a list of launches and copies. The harness checks
//! the plan against your kernels' signatures, and then runs it any number of times, on a GPU or on
//! the emulated device. Nothing here can therefore depend on the contents of the buffers.

use plan::membench::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

/// Threads of a block.
const BLOCK: u32 = 256;

/// The solution that the harness grades.
pub struct Submission;

impl Solution for Submission {
    /// Records the sum. Before the plan runs, `buffers.src` holds the elements and `buffers.sum`
    /// one number, 0; the returned `Outputs` name the buffer that holds the sum afterwards.
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { src, sum } = buffers;

        // TODO 2: this is a single block. How many are needed if each thread takes x elements, also
        // if x * `BLOCK` does not divide their number? (`u32::div_ceil` rounds up.)
        let blocks = 1;
        let config = LaunchConfig::new(blocks, BLOCK);

        plan.launch("membench_sum", config, args![src.slice(), sum, problem.x])?;
        Ok(Outputs { sum })
    }
}
