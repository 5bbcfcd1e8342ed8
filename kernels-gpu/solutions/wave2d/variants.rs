//! What users see of the solutions.

use super::shmem::launch::Shape;
use super::{naive, shmem};
use crate::lab::{BuiltIn, shapes};
use crate::wave2d::Wave2d;

pub const VARIANTS: &[BuiltIn<Wave2d>] = &[
    BuiltIn::new(
        "naive",
        "one launch a timestep, one thread a cell, all from global memory",
        |_| Box::new(naive::launch::Submission),
    ),
    BuiltIn::new(
        "shmem",
        "10 timesteps a launch on tiles in registers, with shared memory between warps",
        |_| Box::new(shmem::launch::Submission),
    )
    .moving(|case| shmem_bytes(case, &Shape::DEFAULT))
    .tuned(|| shapes(Shape::DEFAULT, Shape::SPACE, Shape::label, Some(shmem_bytes))),
];

/// Each field is read and written once a launch.
fn shmem_bytes(case: &Wave2d, shape: &Shape) -> u64 {
    let launches = case.steps().div_ceil(shape.steps);
    16 * case.cells() as u64 * u64::from(launches)
}
