//! One launch a timestep: the new field replaces the second-last, and the two swap names.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

use super::kernels::BLOCK;

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

/// What can be chosen without a change of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of a thread; there are kernels for 8 and 16.
    pub rows: u32,
    /// Whether every other launch goes through the domain from its end.
    pub turns: bool,
}

impl Shape {
    /// The fastest, as far as is known.
    pub const DEFAULT: Shape = Shape {
        rows: 8,
        turns: true,
    };

    /// Those that are worth a try.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape {
            turns: false,
            ..Shape::DEFAULT
        },
        Shape {
            rows: 16,
            ..Shape::DEFAULT
        },
    ];

    /// Rows of a thread, and whether it turns.
    pub fn label(&self) -> String {
        let turns = if self.turns { "_turns" } else { "" };
        format!("r{}{turns}", self.rows)
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
        let config = LaunchConfig::new((n_x.div_ceil(BLOCK), n_y.div_ceil(self.rows)), BLOCK);
        let kernel = format!("wave2d_single_r{}", self.rows);
        for step in 0..problem.steps {
            let t = problem.first_step.wrapping_add(step);
            let backwards = u32::from(self.turns) & step;
            let args = args![
                u0,
                u1.slice(),
                n_x,
                n_y,
                problem.scene,
                problem.k,
                t,
                backwards
            ];
            plan.launch(&kernel, config, args)?;
            (u0, u1) = (u1, u0);
        }
        Ok(Outputs { u0, u1 })
    }
}
