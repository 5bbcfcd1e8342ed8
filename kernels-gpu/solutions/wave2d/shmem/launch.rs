//! Several timesteps per launch, from two fields to two others.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels;

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Timesteps of one launch, 1 to [`kernels::MAX_STEPS`]. More timesteps save memory traffic and
    /// waste more of each tile.
    pub steps: u32,
}

impl Shape {
    /// The best shape of those tried on an H100; docs/log/wave2d.md has the figures.
    pub const DEFAULT: Shape = Shape { steps: 10 };

    /// The shapes that `harness tune` tries.
    pub const SPACE: &[Shape] = &{
        let mut space = [Shape { steps: 0 }; 8];
        let mut i = 0;
        while i < space.len() {
            space[i].steps = 4 + 2 * i as u32;
            i += 1;
        }
        space
    };

    /// `t10`: a launch of 10 timesteps.
    pub fn label(&self) -> String {
        format!("t{}", self.steps)
    }
}

/// The default shape.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        Shape::DEFAULT.record(problem, buffers, plan)
    }

    fn shapes(&self) -> Vec<(String, Box<dyn Solution>)> {
        let shapes = Shape::SPACE.iter();
        shapes
            .map(|&shape| (shape.label(), Box::new(shape) as Box<dyn Solution>))
            .collect()
    }
}

impl Solution for Shape {
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
            let steps = (problem.steps - done).min(self.steps);
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
