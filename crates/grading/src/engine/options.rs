//! How to grade, and the one that is told how far it is.

use std::time::Duration;

use device::Wish;

use super::sampling::Stopping;
use crate::outcome::Failure;
use crate::pack::Building;

/// How to grade.
#[derive(Debug, Clone)]
pub struct Options {
    /// The number that all inputs follow from; secret and fresh if it is not given.
    pub seed: Option<u64>,
    /// The number that the parameters of drawn cases follow from, if the grader chose it. A bundle
    /// may say anything: of one with another number nothing is graded, and without this its drawn
    /// cases are not.
    pub draw: Option<u64>,
    /// How long a single run of the submission may take.
    pub deadline: Duration,
    /// How long all runs of the submission may take together, where the emulated device grades
    /// them.
    pub total_deadline: Duration,
    /// Runs with fresh inputs of a case that is not timed.
    pub samples: u32,
    /// When there are enough timed samples.
    pub stopping: Stopping,
    /// How long the emulated device may check the cases of one submission before a GPU grades them;
    /// each run of one may take as long as any.
    pub emulated_checks: Duration,
    /// The points of a case that a GPU has right and the emulated device could not check.
    pub unchecked: Unchecked,
    /// Whether a page replays a case.
    pub replay: Replays,
    /// Host threads of a worker; 0 for one on each core. No result depends on it.
    pub host_threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: None,
            draw: None,
            deadline: Duration::from_secs(60),
            total_deadline: Duration::from_secs(600),
            samples: 2,
            stopping: Stopping::default(),
            emulated_checks: Duration::from_secs(600),
            unchecked: Unchecked::Undecided,
            replay: Replays::None,
            host_threads: 0,
        }
    }
}

/// What becomes of a case that a GPU has right, and that the emulated device could not check for
/// what a GPU does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unchecked {
    /// It is undecided, and earns nothing.
    #[default]
    Undecided,
    /// It has passed.
    Passed,
}

/// The grades that have a page which replays a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replays {
    /// None.
    None,
    /// Those in which something is wrong: a page of this extent.
    Wrong(Wish),
    /// All: a page of this extent.
    All(Wish),
}

/// Is told which case is next.
pub trait Show {
    /// The submission that is packed now.
    fn packing(&mut self, _name: &str) {}

    /// The crates that submissions are compiled against are built, which is done once.
    fn building(&mut self, _how_far: Building) {}

    /// The case that is graded now, and which of how many it is.
    fn case(&mut self, _name: &str, _number: usize, _of: usize) {}

    /// A kernel panics in this case, and the failure says where; its message is not known yet.
    fn panicked(&mut self, _case: &str, _failure: &Failure) {}

    /// The kernels are compiled once more, for the messages of panics.
    fn compiling_messages(&mut self) {}

    /// The case that runs once more, for a page that replays it.
    fn replaying(&mut self, _name: &str) {}

    /// The case that the emulated device checks now.
    fn emulated_check(&mut self, _name: &str) {}
}

/// Shows nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Show for Quiet {}
