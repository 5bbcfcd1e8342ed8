//! The submission that is watched, and its files.

use super::counts::Yardstick;
use grading::lab_spec::Hints;

/// The contents of kernels.rs and launch.rs; none of a file that cannot be read.
pub type Files = [Option<Vec<u8>>; 2];

/// The watched submission.
pub struct Subject {
    /// The lab, or the sequel.
    pub lab: String,
    /// The lab whose problem it has: the same, unless it is a sequel.
    pub problem: &'static str,
    /// The submission's folder, as the user names it.
    pub folder: String,
    /// Whether commands with that folder need `--lab`.
    pub needs_lab_flag: bool,
    /// The device that grades, as `--device` has it.
    pub device: String,
    /// The lab's hints.
    pub hints: &'static Hints,
    /// The comparison for the counts of its cases.
    pub yardstick: Yardstick,
    /// Whether the handout counts a case that no grade has.
    pub has_counted: bool,
}
