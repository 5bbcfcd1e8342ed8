//! One launch per timestep: the new field replaces the second-last, and the two swap names.

use kernels_gpu::cache_line;
use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::ROWS;

/// See the module.
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
}

/// Parameters that do not change the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a block along x and y.
    pub block: [u32; 2],
    /// Whether every other launch goes through the domain from its end.
    pub turns: bool,
}

impl Shape {
    /// The fastest shape on an H100.
    pub const DEFAULT: Shape = Shape::new([64, 4]);

    /// Shapes that are worth a try.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape {
            turns: false,
            ..Shape::DEFAULT
        },
        Shape::new([128, 1]),
        Shape::new([256, 1]),
        Shape::new([128, 2]),
        Shape::new([64, 2]),
    ];

    const fn new(block: [u32; 2]) -> Shape {
        Shape { block, turns: true }
    }

    /// The shape in a few letters.
    pub fn label(&self) -> String {
        let [x, y] = self.block;
        let turns = if self.turns { "_turns" } else { "" };
        format!("{x}x{y}{turns}")
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
        if problem.steps == 0 {
            return Ok(Outputs { u0, u1 });
        }
        let codes = plan.scratch("codes", Element::F32, n_x as usize * n_y as usize);
        let all = LaunchConfig::covering(n_x * n_y, 256)?;
        let args = args![codes, n_x, n_y, problem.scene];
        plan.launch("wave2d_single_codes", all, args)?;
        let [x, y] = self.block;
        let threads = (cache_line::row_threads::<f32>(n_x), n_y.div_ceil(ROWS));
        let config = LaunchConfig::covering(threads, (x, y))?;
        for step in 0..problem.steps {
            let t = problem.first_step.wrapping_add(step);
            let backwards = u32::from(self.turns) & step;
            let args = args![
                u0,
                u1.slice(),
                codes.slice(),
                n_x,
                n_y,
                problem.scene,
                problem.k,
                t,
                backwards
            ];
            plan.launch("wave2d_single", config, args)?;
            (u0, u1) = (u1, u0);
        }
        Ok(Outputs { u0, u1 })
    }
}
