//! Errors of the process protocol.

use std::io;

use thiserror::Error;

/// A worker that cannot be used, through no fault of its job's.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// No worker can be started.
    #[error("cannot start a worker process: {0}")]
    NoProcess(#[source] io::Error),
    /// The worker cannot use its standard input or output.
    #[error("cannot use standard {stream}: {source}")]
    Stream {
        /// `input` or `output`.
        stream: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Standard input of `harness grade-worker` holds no job, as when someone calls it by hand.
    #[error("standard input holds no job of `harness grade`: {0}")]
    NoJob(#[source] serde_json::Error),
    /// Arguments of `harness grade-worker` that are not a job's.
    #[error("job `{name}` does not have {paths} paths: `harness grade` calls this command")]
    NotOurs {
        /// The job's name.
        name: String,
        /// The number of paths.
        paths: usize,
    },
    /// The job's answer is not wanted any more.
    #[error("the job was stopped")]
    Stopped,
    /// A bug: the worker says what it should not.
    #[error("a worker process said: {0}")]
    Protocol(String),
}
