//! Why a command ends early, and with which exit code.

use std::fmt::Display;
use std::path::Path;

use host::{Error, ErrorKind};
use output_files::OutputError;
use thiserror::Error;

use crate::exit;

/// Why a command could not do what was asked, in one line that names a remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Failure {
    /// A result is wrong, or a kernel failed.
    #[error("{0}")]
    Wrong(String),
    /// A flag, name, value or path makes no sense.
    #[error("{0}")]
    Input(String),
    /// The machine lacks something.
    #[error("{0}")]
    Environment(String),
    /// A bug in this program.
    #[error("bug in harness: {0}")]
    Bug(String),
    /// A process of `harness launch` failed.
    #[error("{text}")]
    Rank {
        /// Its exit code.
        code: u8,
        /// Which, and how.
        text: String,
    },
}

impl Failure {
    /// The process's exit code: one of [`exit`]'s, or that of another process.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Failure::Wrong(_) => exit::WRONG_RESULT,
            Failure::Input(_) => exit::BAD_INPUT,
            Failure::Environment(_) => exit::ENVIRONMENT,
            Failure::Bug(_) => exit::BUG,
            Failure::Rank { code, .. } => *code,
        }
    }

    /// Writing that failed half-way.
    pub fn not_written(target: &Path, error: &dyn Display) -> Failure {
        Failure::Environment(format!("cannot write {}: {error}", target.display()))
    }

    /// The same with `context: ` in front: a flag, a device, a case.
    pub fn context(mut self, context: impl Display) -> Failure {
        let (Failure::Wrong(text)
        | Failure::Input(text)
        | Failure::Environment(text)
        | Failure::Bug(text)
        | Failure::Rank { text, .. }) = &mut self;
        *text = format!("{context}: {text}");
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let text = error.to_string();
        match error.kind() {
            ErrorKind::Input => Failure::Input(text),
            ErrorKind::Submission => Failure::Wrong(text),
            ErrorKind::Environment | ErrorKind::Needs => Failure::Environment(text),
            ErrorKind::Bug => Failure::Bug(text),
        }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Failure {
        let text = error.to_string();
        match error {
            OutputError::Path { .. } => Failure::Input(text),
            OutputError::NotWritten { .. } => Failure::Environment(text),
        }
    }
}

impl From<host::lab::CaseError> for Failure {
    fn from(error: host::lab::CaseError) -> Failure {
        Failure::Input(error.to_string())
    }
}

/// How a command ended that wrote its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// [`exit::OK`].
    Fine,
    /// [`exit::WRONG_RESULT`]: the report says what.
    Wrong,
    /// [`exit::ENVIRONMENT`]: the report says what.
    Lacking,
    /// [`exit::NOT_GRADED`]: the report says what.
    NotGraded,
}

impl Ending {
    /// The process's exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Ending::Fine => exit::OK,
            Ending::Wrong => exit::WRONG_RESULT,
            Ending::Lacking => exit::ENVIRONMENT,
            Ending::NotGraded => exit::NOT_GRADED,
        }
    }
}
