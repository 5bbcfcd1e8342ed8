//! Why nothing is graded.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::worker::WorkerError;

/// An error that keeps a submission from being graded at all, through no fault of its own.
#[derive(Debug, Error)]
pub enum GradeError {
    /// The operating system has no random numbers.
    #[error("the operating system gives no random numbers for the inputs: {0}")]
    NoRandomNumbers(#[source] getrandom::Error),
    /// The folder for a submission's parts cannot be made.
    #[error("cannot make a folder for the submission's parts: {0}; TMPDIR names where")]
    NoScratch(#[source] io::Error),
    /// A part of the submission that was opened is not there.
    #[error("{}: {source}", .file.display())]
    Part {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A worker process cannot be used.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}
