//! Several timesteps a launch, from two fields to two others.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels;

/// Timesteps of one launch. More of them save memory traffic and waste more of each tile: docs/performance.md has the
/// figures.
pub const STEPS_PER_LAUNCH: u32 = 10;

/// See the module.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { mut u0, mut u1 } = buffers;
        let (n_x, n_y) = (problem.n_x, problem.n_y);
        let cells = n_x as usize * n_y as usize;
        let mut out0 = plan.scratch("scratch0", Element::F32, cells);
        let mut out1 = plan.scratch("scratch1", Element::F32, cells);
        let mut done = 0;
        while done < problem.steps {
            let steps = (problem.steps - done).min(STEPS_PER_LAUNCH);
            let [written_x, written_y] = kernels::written(steps);
            let grid = (n_x.div_ceil(written_x), n_y.div_ceil(written_y));
            let [block_x, block_y] = kernels::BLOCK;
            let config = LaunchConfig::new(grid, (block_x, block_y))
                .with_shared_mem_bytes(kernels::SHARED_MEM_BYTES);
            plan.launch(
                "wave2d_shmem",
                config,
                args![
                    u0.slice(),
                    u1.slice(),
                    out0,
                    out1,
                    n_x,
                    n_y,
                    problem.scene,
                    problem.k,
                    problem.first_step.wrapping_add(done),
                    steps,
                ],
            )?;
            (u0, u1, out0, out1) = (out0, out1, u0, u1);
            done += steps;
        }
        Ok(Outputs { u0, u1 })
    }
}
