//! The kinds of this crate's errors, for commands.

use exit::CommandError;

use crate::engine::GradeError;
use crate::pack::PackError;

impl From<GradeError> for CommandError {
    fn from(error: GradeError) -> CommandError {
        let text = error.to_string();
        match error {
            GradeError::Lab(_) | GradeError::NoJob(_) => CommandError::Input(text),
            GradeError::NoRandomNumbers(_)
            | GradeError::NoProcess(_)
            | GradeError::NoScratch(_)
            | GradeError::Stream { .. } => CommandError::Environment(text),
            GradeError::Part { .. } | GradeError::Protocol(_) => CommandError::Bug(text),
        }
    }
}

impl From<PackError> for CommandError {
    fn from(error: PackError) -> CommandError {
        match error {
            PackError::Refused(failing) => CommandError::Wrong(failing.message),
            other => CommandError::Environment(other.to_string()),
        }
    }
}
