//! The built-in solutions. Each is a submission: its kernels in `kernels-gpu`, its launches here.

mod naive {
    pub mod launch;
}
mod shmem {
    use kernels_gpu::wave2d::shmem as kernels;
    pub mod launch;
}

use super::problem::Wave2d;
use crate::lab::{BuiltIn, Variant};

pub use shmem::launch::STEPS_PER_LAUNCH;

const NAIVE: &str = "naive";
const SHMEM: &str = "shmem";

pub const BUILT_IN: BuiltIn<Wave2d, plan::wave2d::Wave2d> = BuiltIn {
    variants: &[
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
    ],
    solution: |_, variant| match variant {
        NAIVE => Box::new(naive::launch::Submission),
        _ => Box::new(shmem::launch::Submission),
    },
    bytes,
};

fn bytes(problem: &Wave2d, variant: &str) -> u64 {
    match variant {
        // Each field is read and written once a launch.
        SHMEM => {
            let launches = problem.steps().div_ceil(STEPS_PER_LAUNCH);
            16 * problem.cells() as u64 * u64::from(launches)
        }
        _ => problem.bytes(),
    }
}
