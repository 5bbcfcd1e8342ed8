//! Where the engine's jobs run: each in a worker process, or, in tests, in this process.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::GradeError;
use super::job::{Answer, CaseJob};
use super::open::{OpenJob, Opened};
use crate::worker::{self, Deadlines, WorkerEnd};

/// How the worker of a case ended.
pub type CaseEnd = WorkerEnd<Answer>;

/// Runs the engine's jobs.
pub trait CaseRunner {
    /// Runs a case.
    ///
    /// # Errors
    ///
    /// An error that keeps every case from being run.
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError>;

    /// Compiles the submission's kernels once more, so that a panic says which it is, and writes
    /// the PTX to this file.
    ///
    /// # Errors
    ///
    /// Why that cannot be done.
    fn compile_with_messages(&self, _to: &Path) -> Result<(), String> {
        Err("a bundle has no source; grade the folder".to_owned())
    }

    /// The submission's files, by the names that its kernels have of them; none of a bundle.
    fn sources(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Whether the results are not wanted any more.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Opens a bundle. Unless it is overridden, in this process: for tests, which know what is in
    /// their bundles.
    ///
    /// # Errors
    ///
    /// An error that keeps every bundle from being opened.
    fn open(
        &self,
        job: &OpenJob,
        _deadlines: &Deadlines<'_>,
    ) -> Result<WorkerEnd<Opened>, GradeError> {
        Ok(match job.open() {
            Ok(opened) => WorkerEnd::Answer(Box::new(opened)),
            Err(why) => WorkerEnd::NoAnswer(why),
        })
    }
}

/// As another runner, for a submission whose source is at hand.
pub struct WithSource<'s> {
    /// The other runner.
    pub runner: &'s dyn CaseRunner,
    /// See [`CaseRunner::compile_with_messages`].
    pub compile_with_messages: &'s dyn Fn(&Path) -> Result<(), String>,
    /// See [`CaseRunner::sources`].
    pub sources: &'s dyn Fn() -> BTreeMap<String, String>,
}

impl CaseRunner for WithSource<'_> {
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        self.runner.run(job, deadlines)
    }

    fn compile_with_messages(&self, to: &Path) -> Result<(), String> {
        (self.compile_with_messages)(to)
    }

    fn sources(&self) -> BTreeMap<String, String> {
        (self.sources)()
    }

    fn is_stopped(&self) -> bool {
        self.runner.is_stopped()
    }

    fn open(
        &self,
        job: &OpenJob,
        deadlines: &Deadlines<'_>,
    ) -> Result<WorkerEnd<Opened>, GradeError> {
        self.runner.open(job, deadlines)
    }
}

/// Runs each job in a worker process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Workers;

impl CaseRunner for Workers {
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<CaseEnd, GradeError> {
        Ok(worker::run(job, deadlines)?)
    }

    fn open(
        &self,
        job: &OpenJob,
        deadlines: &Deadlines<'_>,
    ) -> Result<WorkerEnd<Opened>, GradeError> {
        Ok(worker::run(job, deadlines)?)
    }
}
