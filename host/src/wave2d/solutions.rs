//! The built-in solutions: how each records its launches.

use kernels_gpu::wave2d::shmem;

use super::problem::Wave2d;
use crate::args;
use crate::buffer::Element;
use crate::error::Error;
use crate::lab::Variant;
use crate::plan::{BufferId, LaunchConfig, Plan, PlanError};
use crate::registry::find_variant;

/// Timesteps of one launch of the `shmem` variant. More of them save memory traffic and waste more of each tile:
/// docs/performance.md has the figures.
pub const STEPS_PER_LAUNCH: u32 = 10;

const NAIVE: &str = "naive";
const SHMEM: &str = "shmem";

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: NAIVE,
        summary: "one launch a timestep, one thread a cell, all from global memory",
        exact: true,
    },
    Variant {
        name: SHMEM,
        summary: "10 timesteps a launch on tiles in registers, with shared memory between warps",
        exact: true,
    },
];

/// The second-last and the last field.
type State = (BufferId, BufferId);

/// The variant's plan: inputs and outputs `u0` and `u1`.
pub(super) fn record(problem: &Wave2d, variant: &str) -> Result<Plan, Error> {
    let variant = find_variant(VARIANTS, variant)?.name;
    let mut plan = Plan::new(format!("wave2d {variant}, {problem}"));
    let fields = (
        plan.buffer("u0", Element::F32, problem.cells()),
        plan.buffer("u1", Element::F32, problem.cells()),
    );
    let (u0, u1) = match variant {
        NAIVE => record_naive(problem, &mut plan, fields)?,
        _ => record_shmem(problem, &mut plan, fields)?,
    };
    plan.output("u0", u0);
    plan.output("u1", u1);
    Ok(plan)
}

fn record_naive(
    problem: &Wave2d,
    plan: &mut Plan,
    (mut u0, mut u1): State,
) -> Result<State, PlanError> {
    let domain = problem.domain();
    let (n_x, n_y) = (domain.n_x, domain.n_y);
    // One row a block is fastest, but a grid has no more than 65535 blocks along y.
    let rows = n_y.div_ceil(65_535);
    let config = LaunchConfig::covering((n_x, n_y), (128, rows))?;
    for step in 0..problem.steps() {
        plan.launch(
            "wave2d_naive",
            config,
            args![
                u0,
                u1.slice(),
                n_x,
                n_y,
                problem.scene_number(),
                problem.k(),
                problem.first_step().wrapping_add(step),
            ],
        )?;
        (u0, u1) = (u1, u0);
    }
    Ok((u0, u1))
}

fn record_shmem(
    problem: &Wave2d,
    plan: &mut Plan,
    (mut u0, mut u1): State,
) -> Result<State, PlanError> {
    let domain = problem.domain();
    let (n_x, n_y) = (domain.n_x, domain.n_y);
    let mut out0 = plan.scratch("scratch0", Element::F32, problem.cells());
    let mut out1 = plan.scratch("scratch1", Element::F32, problem.cells());
    let mut done = 0;
    while done < problem.steps() {
        let steps = (problem.steps() - done).min(STEPS_PER_LAUNCH);
        let [written_x, written_y] = shmem::written(steps);
        let grid = (n_x.div_ceil(written_x), n_y.div_ceil(written_y));
        let [block_x, block_y] = shmem::BLOCK;
        let config = LaunchConfig::new(grid, (block_x, block_y))
            .with_shared_mem_bytes(shmem::SHARED_MEM_BYTES);
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
                problem.scene_number(),
                problem.k(),
                problem.first_step().wrapping_add(done),
                steps,
            ],
        )?;
        (u0, u1, out0, out1) = (out0, out1, u0, u1);
        done += steps;
    }
    Ok((u0, u1))
}

/// Fewest bytes that the variant moves for the problem: each field is read and written once a launch, but for `naive`'s
/// u1, which it only reads.
pub(super) fn bytes(problem: &Wave2d, variant: &str) -> u64 {
    let cells = problem.cells() as u64;
    let steps = u64::from(problem.steps());
    match variant {
        SHMEM => 16 * cells * steps.div_ceil(u64::from(STEPS_PER_LAUNCH)),
        _ => 12 * cells * steps,
    }
}
