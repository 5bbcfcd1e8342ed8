//! What users see of the solutions.

use super::shmem::launch::STEPS_PER_LAUNCH;
use super::{naive, resident, shmem};
use crate::lab::BuiltIn;
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
    // Each field is read and written once a launch.
    .moving(|case| {
        let launches = case.steps().div_ceil(STEPS_PER_LAUNCH);
        16 * case.cells() as u64 * u64::from(launches)
    }),
    BuiltIn::new(
        "resident",
        "all timesteps in one launch of one cluster, fields in its shared memory and registers; naive for domains that do not fit",
        |_| Box::new(resident::launch::Submission),
    )
    .on_request(),
];
