//! The kinds of this crate's errors, for commands.

use exit::CommandError;

use crate::engine::GradeError;
use crate::pack::PackError;
use crate::worker::WorkerError;

impl From<GradeError> for CommandError {
    fn from(error: GradeError) -> CommandError {
        let text = error.to_string();
        match error {
            GradeError::NoRandomNumbers(_) | GradeError::NoScratch(_) => {
                CommandError::Environment(text)
            }
            GradeError::Part { .. } => CommandError::Bug(text),
            GradeError::Worker(error) => error.into(),
        }
    }
}

impl From<WorkerError> for CommandError {
    fn from(error: WorkerError) -> CommandError {
        let text = error.to_string();
        match error {
            WorkerError::NoJob(_) | WorkerError::NotOurs { .. } => CommandError::Input(text),
            WorkerError::NoProcess(_) | WorkerError::Stream { .. } => {
                CommandError::Environment(text)
            }
            WorkerError::Stopped | WorkerError::Protocol(_) => CommandError::Bug(text),
        }
    }
}

impl From<PackError> for CommandError {
    fn from(error: PackError) -> CommandError {
        match error {
            PackError::Failure(failure) => CommandError::Wrong(failure.message),
            other => CommandError::Environment(other.to_string()),
        }
    }
}
