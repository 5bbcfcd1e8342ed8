//! Why nothing is graded.

use std::io;
use std::path::PathBuf;

use host::lab::CaseError;
use thiserror::Error;

/// What keeps a submission from being graded at all, through no fault of its own.
#[derive(Debug, Error)]
pub enum GradeError {
    /// The course is for a lab that this program does not have.
    #[error(transparent)]
    Lab(#[from] CaseError),
    /// The operating system has no random numbers.
    #[error("the operating system gives no random numbers for the inputs: {0}")]
    NoRandomNumbers(#[source] getrandom::Error),
    /// There is no folder for a submission's parts.
    #[error("cannot make a folder for the submission's parts: {0}; TMPDIR names where")]
    NoScratch(#[source] io::Error),
    /// No process can be started for a case.
    #[error("cannot start a process for a case: {0}")]
    NoProcess(#[source] io::Error),
    /// The process of a case cannot use its standard input or output.
    #[error("cannot use standard {stream}: {source}")]
    Stream {
        /// `input` or `output`.
        stream: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Standard input of `harness grade-case` holds no job, as when someone calls it by hand.
    #[error("standard input holds no job of `harness grade`: {0}")]
    NoJob(#[source] serde_json::Error),
    /// A part of the submission that was opened is not there.
    #[error("{}: {source}", .file.display())]
    Part {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A bug: the process of a case says what it should not.
    #[error("the process of a case said: {0}")]
    Protocol(String),
}
