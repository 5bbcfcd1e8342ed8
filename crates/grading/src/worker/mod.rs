//! Worker processes: this program again, once for each job, with limits on time and memory.
//!
//! A job packs a submission, opens a bundle, or runs a case. The worker is trusted, but the job's
//! input is not: compilers' output or a bundle may fill the memory, and a kernel may hang the
//! worker or take the driver down. All of that costs one job. The next job has a process of its
//! own.
//!
//! | direction        | what goes there                                                     |
//! |------------------|---------------------------------------------------------------------|
//! | arguments        | `harness grade-worker NAME PATH...`: the job's name and its paths   |
//! | standard input   | the rest of the job, as JSON                                        |
//! | a private pipe   | a line of JSON for each [`Message`]; the last one is the answer     |
//!
//! The pipe is the worker's standard output under another number, which only [`child`] knows. A
//! kernel's `printf` writes to standard output, which leads to `/dev/null`. The parent waits for
//! each message no longer than a deadline, and reads at most [`parent::MAX_ANSWER_BYTES`].
//!
//! This module knows no job. Each module that has one implements [`Job`] for it, and the command
//! line maps names to jobs.

mod child;
mod error;
mod parent;
mod stopwatch;
#[cfg(all(test, unix))]
mod tests;

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use child::serve;
pub use error::WorkerError;
pub use parent::{Deadlines, Exit, WorkerEnd, describe_exit, run, run_until};
pub use stopwatch::Clock;

use crate::outcome::{Failure, NoResult};

/// The hidden subcommand of this program that does a [`Job`].
pub const SUBCOMMAND: &str = "grade-worker";

/// The exit code of a worker that found a bug in itself.
pub const BUG_EXIT_CODE: u8 = 4;

/// A job for a worker.
pub trait Job: Clone + Serialize + DeserializeOwned {
    /// The job's name: the worker's first argument.
    const NAME: &'static str;

    /// The answer to the job.
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    /// Every path of the job: the worker's other arguments. A path may be any bytes and JSON holds
    /// text, so that these fields are not serialized.
    fn paths(&mut self) -> Vec<&mut PathBuf>;

    /// The most memory that the worker may take, in bytes; none where a GPU's driver decides.
    fn max_memory_bytes(&self) -> Option<u64>;

    /// Does the job, in this process.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    fn work(&self, watch: &mut dyn Watch) -> Result<Self::Answer, NoResult>;
}

/// Whose code is running: runs of the submission have another deadline than ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The harness itself.
    Ours,
    /// A run of the submission.
    Submission,
}

/// Receives what the worker is doing.
pub trait Watch {
    /// Work of this phase begins.
    fn enter(&mut self, phase: Phase);

    /// The submission has failed like this, whatever else is found out about it.
    fn failed(&mut self, failure: &Failure);
}

/// A message from the worker; `A` is the job's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message<A> {
    /// See [`Watch::enter`].
    Enter(Phase),
    /// See [`Watch::failed`].
    Failed(Box<Failure>),
    /// The last message: the answer.
    Answer(Box<A>),
    /// The last message: why there is no answer.
    NoAnswer(NoResult),
}
