//! The evidence of a diagnosis.

use device::NamedBuffers;
use device::check::Tolerance;

use super::finding::Axis;

/// The reference's outputs after this number of steps; `None` if they cannot be had, or not
/// cheaply.
pub type AfterSteps<'e> = dyn Fn(u64) -> Option<NamedBuffers> + 'e;

/// The submission's outputs after fewer steps or launches; or why they are not known.
pub type Rerun<'e> = dyn Fn(u64) -> Result<NamedBuffers, String> + 'e;

/// The thread that stored each cell of an output last; `None` where that is not known.
pub type Stored<'e> = dyn Fn(&str) -> Option<Vec<Option<device::Stored>>> + 'e;

/// How a part of the submission's plan is run again.
#[derive(Clone, Copy)]
pub enum Again<'e> {
    /// Its first steps.
    Steps(&'e Rerun<'e>),
    /// Its first launches. Each does the same unknown number of steps, except the last one, which
    /// may do fewer.
    Launches {
        /// How many there are.
        count: u64,
        /// Runs the first ones.
        run: &'e Rerun<'e>,
    },
}

/// A run whose outputs are wrong.
pub struct Evidence<'e> {
    /// The axes of an output, the fastest-varying first; none if its cells are just a line.
    pub axes: &'e dyn Fn(&str) -> Vec<Axis>,
    /// The right outputs.
    pub expected: &'e NamedBuffers,
    /// The outputs of the run, by the same names.
    pub got: &'e NamedBuffers,
    /// How far the values of an output may be from what is expected; without a tolerance they must
    /// be equal to the last bit.
    pub tolerance: &'e dyn Fn(&str) -> Option<Tolerance>,
    /// The lab's inputs before the run.
    pub inputs: &'e NamedBuffers,
    /// The content of the output buffers before the run, by the outputs' names; an output is left
    /// out where that is not known.
    pub before: &'e NamedBuffers,
    /// How many steps the case has, where it has any.
    pub steps: Option<u64>,
    /// The reference after other numbers of steps.
    pub after_steps: Option<&'e AfterSteps<'e>>,
    /// How to run a part of it again.
    pub again: Option<Again<'e>>,
    /// The threads that stored the cells of an output, where a device can tell.
    pub stores: Option<&'e Stored<'e>>,
}
