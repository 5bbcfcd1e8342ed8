//! The built-in solutions. Each is a submission: kernels in `kernels-gpu`, launches here.

mod single {
    use kernels_gpu::wave3d::kernels;
    pub mod launch;
}
mod split2 {
    use kernels_gpu::wave3d::kernels;
    pub mod launch;
}
mod split3 {
    use kernels_gpu::wave3d::kernels;
    pub mod launch;
}

use kernels_gpu::wave3d::kernels::BLOCK;

use super::problem::{MOST_SITES, Wave3d};
use crate::lab::{BuiltIn, Variant};

// A grid has 65535 blocks along y and z.
const _: () = assert!(MOST_SITES[0] < 65_535 * BLOCK[2] && MOST_SITES[1] < 65_535 * BLOCK[1]);

const SINGLE: &str = "single";
const SPLIT2: &str = "split2";
const SPLIT3: &str = "split3";

pub const BUILT_IN: BuiltIn<Wave3d, plan::wave3d::Wave3d> = BuiltIn {
    variants: &[
        Variant {
            name: SINGLE,
            summary: "one launch a timestep, one thread a site, a branch for the damping",
            exact: true,
        },
        Variant {
            name: SPLIT2,
            summary: "two launches a timestep: the damped layers in x apart",
            exact: true,
        },
        Variant {
            name: SPLIT3,
            summary: "three launches a timestep: the damped layers in x and in y apart, no branch",
            exact: true,
        },
    ],
    solution: |_, variant| match variant {
        SINGLE => Box::new(single::launch::Submission),
        SPLIT2 => Box::new(split2::launch::Submission),
        _ => Box::new(split3::launch::Submission),
    },
    bytes: |problem, _| problem.bytes(),
};
