//! `harness pack`: a submission, built in isolation, as one file.
//!
//! A submission is a folder with two files that count: `kernels.rs`, device code, and `launch.rs`, host code that records
//! a plan for each problem. Whoever wrote them may have written anything, and compiling Rust runs as much of the
//! compiler as the text asks for; so
//!
//! 1. `screen` refuses what no submission needs: reading files while compiling, assembly, other crates;
//! 2. the compilers run in a [`sandbox`](crate::sandbox), with nothing of the submission's beside them but the two files;
//! 3. the recorder, which is the submission's `launch.rs` linked to a `main` of ours, runs in a tighter sandbox: it is
//!    given the lab's problems, which are public, and knows neither inputs nor seeds;
//! 4. what it wrote is read as a stranger's: each case once, each a plan that fits the lab's buffers and the kernels.

mod error;
mod screen;

use std::path::{Path, PathBuf};

pub use error::PackError;

use crate::bundle::Bundle;
use crate::course::Course;

/// How to pack.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The course's root, the folder with `crates/`. By default, looked for from the working folder upwards.
    pub course_root: Option<PathBuf>,
}

/// Builds the submission in `dir` for the lab of `course`, and records a plan for each of its cases.
///
/// # Errors
///
/// [`PackError::Refused`] if the submission is at fault, [`PackError::Environment`] if the machine is.
pub fn pack(dir: &Path, course: &Course, options: &Options) -> Result<Bundle, PackError> {
    let _ = (dir, course, options);
    Err(PackError::Environment(
        "submissions cannot be packed yet".to_owned(),
    ))
}
