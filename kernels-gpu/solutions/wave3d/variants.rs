//! The variants of the solutions.

use super::fast::launch::Shape as Fast;
use super::kernels::{BLOCK, PLANES};
use super::resident::launch::Shape as Resident;
use super::{fast, resident, single, split2, split3};
use crate::kernels::variant;
use crate::wave3d::{MOST_SITES, Wave3d};
use lab::Variant;

// A grid has at most 65535 blocks along y and z.
const _: () =
    assert!(MOST_SITES[0] < 65_535 * PLANES * BLOCK[2] && MOST_SITES[1] < 65_535 * BLOCK[1]);

pub fn variants() -> Vec<Variant> {
    vec![
        variant::<Wave3d>(
            "single",
            "one launch per timestep, a thread for two sites, a branch for the damping",
            |_| Box::new(single::launch::Submission),
        ),
        variant::<Wave3d>(
            "split2",
            "two launches per timestep: the damped layers in x apart",
            |_| Box::new(split2::launch::Submission),
        ),
        variant::<Wave3d>(
            "split3",
            "three launches per timestep: the damped layers in x and in y apart, no branch",
            |_| Box::new(split3::launch::Submission),
        ),
        variant::<Wave3d>(
            "fast",
            "several timesteps per launch: tiles stream along x, all timesteps' planes in registers and shared memory",
            |_| Box::new(fast::launch::Submission),
        )
        .for_several()
        .tuned(Fast::DEFAULT, Fast::SPACE, Fast::label, Some(of_fast)),
        variant::<Wave3d>(
            "resident",
            "many timesteps in each launch of one cluster, fields in its shared memory and registers; one launch per timestep where the domain does not fit",
            |_| Box::new(resident::launch::Submission),
        )
        .on_request()
        .tuned::<Wave3d, _>(Resident::DEFAULT, Resident::SPACE, Resident::label, None),
    ]
}

/// Each launch reads two fields and writes two.
fn of_fast(case: &Wave3d, shape: &Fast) -> u64 {
    let launches = case.steps().div_ceil(shape.depth);
    32 * case.sites() as u64 * u64::from(launches)
}
