//! Where the engine's jobs run: each in a worker process, or, in tests, in this process.

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
            Err(outcome) => WorkerEnd::NoAnswer(outcome),
        })
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
