//! The built-in solutions: how each records its launches.

use kernels_gpu::wave2d::shmem;

use super::problem::Wave2d;
use crate::Error;
use crate::args;
use crate::buffer::Element;
use crate::lab::{CaseError, Variant};
use crate::plan::{BufferId, LaunchConfig, Plan, PlanError};
use crate::registry::find_variant;

/// Timesteps of one launch of the `shmem` variant. More of them save memory traffic and waste more of each tile:
/// docs/performance.md has the figures.
pub const STEPS_PER_LAUNCH: u32 = 10;

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "naive",
        summary: "one launch a timestep, one thread a cell, all from global memory",
        exact: true,
    },
    Variant {
        name: "shmem",
        summary: "10 timesteps a launch on tiles in registers, with shared memory between warps",
        exact: true,
    },
];

/// A variant by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Solution {
    Naive,
    Shmem,
}

impl Solution {
    fn find(name: &str) -> Result<Solution, CaseError> {
        Ok(match find_variant(VARIANTS, name)?.name {
            "naive" => Solution::Naive,
            _ => Solution::Shmem,
        })
    }
}

/// Where a plan's fields are at some moment: the current ones, and scratch of the same size for variants that need it.
struct State {
    u0: BufferId,
    u1: BufferId,
    scratch: Option<(BufferId, BufferId)>,
}

impl State {
    fn declare(plan: &mut Plan, problem: &Wave2d, solution: Solution) -> State {
        let cells = problem.cells();
        let u0 = plan.buffer("u0", Element::F32, cells);
        let u1 = plan.buffer("u1", Element::F32, cells);
        let scratch = (solution == Solution::Shmem).then(|| {
            (
                plan.scratch("scratch0", Element::F32, cells),
                plan.scratch("scratch1", Element::F32, cells),
            )
        });
        State { u0, u1, scratch }
    }

    /// Records timesteps `t` to `t + steps - 1`.
    fn advance(
        &mut self,
        plan: &mut Plan,
        problem: &Wave2d,
        t: u32,
        steps: u32,
    ) -> Result<(), PlanError> {
        match self.scratch {
            None => self.advance_naive(plan, problem, t, steps),
            Some(_) => self.advance_shmem(plan, problem, t, steps),
        }
    }

    fn advance_naive(
        &mut self,
        plan: &mut Plan,
        problem: &Wave2d,
        t: u32,
        steps: u32,
    ) -> Result<(), PlanError> {
        let domain = problem.domain();
        let (n_x, n_y) = (domain.n_x, domain.n_y);
        let config = LaunchConfig::covering((n_x, n_y), (128, 1))?;
        for step in 0..steps {
            plan.launch(
                "wave2d_naive",
                config,
                args![
                    self.u0,
                    self.u1.slice(),
                    n_x,
                    n_y,
                    problem.scene_number(),
                    problem.k(),
                    t.wrapping_add(step),
                ],
            )?;
            std::mem::swap(&mut self.u0, &mut self.u1);
        }
        Ok(())
    }

    fn advance_shmem(
        &mut self,
        plan: &mut Plan,
        problem: &Wave2d,
        t: u32,
        steps: u32,
    ) -> Result<(), PlanError> {
        let domain = problem.domain();
        let (n_x, n_y) = (domain.n_x, domain.n_y);
        let mut done = 0;
        while let Some((out0, out1)) = self.scratch.filter(|_| done < steps) {
            let in_launch = (steps - done).min(STEPS_PER_LAUNCH);
            let [written_x, written_y] = shmem::written(in_launch);
            let grid = (n_x.div_ceil(written_x), n_y.div_ceil(written_y));
            let [block_x, block_y] = shmem::BLOCK;
            plan.launch(
                "wave2d_shmem",
                LaunchConfig::new(grid, (block_x, block_y))
                    .with_shared_mem_bytes(shmem::SHARED_MEM_BYTES),
                args![
                    self.u0.slice(),
                    self.u1.slice(),
                    out0,
                    out1,
                    n_x,
                    n_y,
                    problem.scene_number(),
                    problem.k(),
                    t.wrapping_add(done),
                    in_launch,
                ],
            )?;
            self.scratch = Some((self.u0, self.u1));
            (self.u0, self.u1) = (out0, out1);
            done += in_launch;
        }
        Ok(())
    }
}

/// The variant's plan: inputs and outputs `u0` and `u1`.
pub(super) fn record(problem: &Wave2d, variant: &str) -> Result<Plan, Error> {
    let solution = Solution::find(variant)?;
    let mut plan = Plan::new(format!("wave2d {variant}, {problem}"));
    let mut state = State::declare(&mut plan, problem, solution);
    state.advance(&mut plan, problem, problem.first_step(), problem.steps())?;
    plan.output("u0", state.u0);
    plan.output("u1", state.u1);
    Ok(plan)
}

/// A plan for `frames` pictures: the last field after each `problem.steps()` timesteps, as outputs `frame 0`, `frame 1`
/// and so on. Inputs are `u0` and `u1`.
///
/// # Errors
///
/// [`CaseError::Unknown`] for an unknown variant; [`PlanError`].
pub fn record_frames(problem: &Wave2d, variant: &str, frames: u32) -> Result<Plan, Error> {
    let solution = Solution::find(variant)?;
    let mut plan = Plan::new(format!("wave2d {variant}, {frames} frames of {problem}"));
    let mut state = State::declare(&mut plan, problem, solution);
    let mut t = problem.first_step();
    for frame in 0..frames {
        state.advance(&mut plan, problem, t, problem.steps())?;
        t = t.wrapping_add(problem.steps());
        let name = format!("frame {frame}");
        let picture = plan.scratch(&name, Element::F32, problem.cells());
        plan.copy(state.u1, picture)?;
        plan.output(&name, picture);
    }
    Ok(plan)
}

/// Fewest bytes that the variant moves for the problem: each field is read and written once a launch, but for `naive`'s
/// u1, which it only reads.
pub(super) fn bytes(problem: &Wave2d, variant: &str) -> u64 {
    let cells = problem.cells() as u64;
    let steps = u64::from(problem.steps());
    match Solution::find(variant) {
        Ok(Solution::Shmem) => 16 * cells * steps.div_ceil(u64::from(STEPS_PER_LAUNCH)),
        _ => 12 * cells * steps,
    }
}
