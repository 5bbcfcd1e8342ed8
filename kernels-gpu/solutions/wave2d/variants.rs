//! What users see of the solutions.

use super::fast::launch::Shape;
use super::shmem::launch::STEPS_PER_LAUNCH;
use super::{naive, shmem, single};
use crate::lab::BuiltIn;
use crate::wave2d::Wave2d;

pub const VARIANTS: &[BuiltIn<Wave2d>] = &[
    BuiltIn::new(
        "naive",
        "one launch a timestep, one thread a cell, all from global memory",
        |_| Box::new(naive::launch::Submission),
    ),
    BuiltIn::new(
        "single",
        "one launch a timestep, eight rows of a column a thread, to and fro through the domain",
        |_| Box::new(single::launch::Submission),
    ),
    BuiltIn::new(
        "shmem",
        "10 timesteps a launch on tiles in registers, with shared memory between warps",
        |_| Box::new(shmem::launch::Submission),
    )
    // Each field is read and written once a launch.
    .moving(|case| {
        let launches = case.steps().div_ceil(STEPS_PER_LAUNCH);
        16 * case.cells() as u64 * u64::from(launches)
    }),
    BuiltIn::new(
        "fast",
        "16 timesteps a launch in a pipeline of each warp, fused multiply-add",
        |_| Box::new(Shape::DEFAULT),
    )
    .fused()
    .moving(|case| moved(Shape::DEFAULT, case)),
    BuiltIn::new(
        "fast_exact",
        "`fast` with the reference's order of operations, 12 timesteps a launch",
        |_| Box::new(Shape::EXACT),
    )
    .moving(|case| moved(Shape::EXACT, case)),
];

/// Each field is read and written once a launch.
fn moved(shape: Shape, case: &Wave2d) -> u64 {
    let launches = shape.launches(case.steps()).count();
    16 * case.cells() as u64 * launches as u64
}
