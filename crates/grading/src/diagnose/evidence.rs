//! What a diagnosis starts from.

use device::NamedBuffers;
use device::check::Tolerance;

use super::finding::Axis;

/// The reference's outputs after so many steps; `None` if they cannot be had, or not cheaply.
pub type AfterSteps<'e> = dyn Fn(u64) -> Option<NamedBuffers> + 'e;

/// What the submission leaves after fewer steps or launches; or why that is not known.
pub type Rerun<'e> = dyn Fn(u64) -> Result<NamedBuffers, String> + 'e;

/// How a part of the submission's plan is run again.
#[derive(Clone, Copy)]
pub enum Again<'e> {
    /// So many steps of it.
    Steps(&'e Rerun<'e>),
    /// So many launches of it, each of which does as many steps as any other, but for the last, which may do fewer; how many
    /// is not known.
    Launches {
        /// How many there are.
        count: u64,
        /// Runs the first ones.
        run: &'e Rerun<'e>,
    },
}

/// What is known of a run whose outputs are wrong.
pub struct Evidence<'e> {
    /// The axes of an output, the fastest-varying first; none if its cells are just a line.
    pub axes: &'e dyn Fn(&str) -> Vec<Axis>,
    /// What the outputs should hold.
    pub expected: &'e NamedBuffers,
    /// What they hold, by the same names.
    pub got: &'e NamedBuffers,
    /// How far the values of an output may be from what is expected; without a tolerance they must be equal to the last bit.
    pub tolerance: &'e dyn Fn(&str) -> Option<Tolerance>,
    /// What the lab's inputs held before the run.
    pub inputs: &'e NamedBuffers,
    /// What the buffers that hold the outputs held before the run, by the outputs' names; outputs of which that is not
    /// known are left out.
    pub before: &'e NamedBuffers,
    /// How many steps the case has, where it has any.
    pub steps: Option<u64>,
    /// The reference after other numbers of steps.
    pub after_steps: Option<&'e AfterSteps<'e>>,
    /// How to run a part of it again.
    pub again: Option<Again<'e>>,
}
