//! The variants of the solutions.

use super::naive;
use crate::heat1d::Heat1d;
use crate::kernels::variant;
use lab::Variant;

// TODO(lab): a line for each folder with a solution: its name and what is special about it.
pub fn variants() -> Vec<Variant> {
    vec![variant::<Heat1d>(
        "naive",
        "one thread for each cell, a launch for each timestep",
        |_| Box::new(naive::launch::Submission),
    )]
}
