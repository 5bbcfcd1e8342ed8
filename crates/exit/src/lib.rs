//! How a command ends: errors by who can fix them, and exit codes.

pub mod codes;

use std::fmt::Display;
use std::path::Path;

use thiserror::Error;

/// The person who can fix an error. The kinds never mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The input is invalid: an unknown lab, a size of 0.
    Input,
    /// The solution is wrong: its plan, its launches, its kernels.
    Submission,
    /// The machine lacks something: a driver, memory, a newer version.
    Environment,
    /// The device is too old for what the solution uses. Nothing is wrong: another device runs it.
    Needs,
    /// This program has a bug.
    Bug,
}

/// Why a command could not do what was asked, in one line that names a remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommandError {
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
    #[error("bug in this program: {0}")]
    Bug(String),
    /// A process that this program has started failed.
    #[error("{text}")]
    Process {
        /// Its exit code.
        code: u8,
        /// Which, and how.
        text: String,
    },
}

impl CommandError {
    /// The process's exit code: one of [`codes`]'s, or that of another process.
    pub const fn exit_code(&self) -> u8 {
        match self {
            CommandError::Wrong(_) => codes::WRONG_RESULT,
            CommandError::Input(_) => codes::BAD_INPUT,
            CommandError::Environment(_) => codes::ENVIRONMENT,
            CommandError::Bug(_) => codes::BUG,
            CommandError::Process { code, .. } => *code,
        }
    }

    /// The error of this kind with this text.
    pub fn of(kind: ErrorKind, text: String) -> CommandError {
        match kind {
            ErrorKind::Input => CommandError::Input(text),
            ErrorKind::Submission => CommandError::Wrong(text),
            ErrorKind::Environment | ErrorKind::Needs => CommandError::Environment(text),
            ErrorKind::Bug => CommandError::Bug(text),
        }
    }

    /// Writing that failed half-way.
    pub fn not_written(target: &Path, error: &dyn Display) -> CommandError {
        CommandError::Environment(format!("cannot write {}: {error}", target.display()))
    }

    /// A thread that cannot be started.
    pub fn no_threads(error: impl Display) -> CommandError {
        CommandError::Environment(format!(
            "this machine starts no more threads: {error}; end other programs, or raise the limits of processes \
             (`ulimit -u`) and memory (`ulimit -v`)"
        ))
    }

    /// Puts `context: ` in front of the message: a flag, a device, a case.
    pub fn context(mut self, context: impl Display) -> CommandError {
        let text = self.text_mut();
        *text = format!("{context}: {text}");
        self
    }

    /// Puts `; more` at the end of the message: what there is nevertheless.
    pub fn followed_by(mut self, more: impl Display) -> CommandError {
        let text = self.text_mut();
        *text = format!("{text}; {more}");
        self
    }

    fn text_mut(&mut self) -> &mut String {
        let (CommandError::Wrong(text)
        | CommandError::Input(text)
        | CommandError::Environment(text)
        | CommandError::Bug(text)
        | CommandError::Process { text, .. }) = self;
        text
    }
}

/// How a command ended that wrote its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// [`codes::OK`].
    Fine,
    /// [`codes::WRONG_RESULT`]: the report says what.
    Wrong,
    /// [`codes::ENVIRONMENT`]: the report says what.
    Lacking,
    /// [`codes::NOT_GRADED`]: the report says what.
    NotGraded,
}

impl Ending {
    /// The process's exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Ending::Fine => codes::OK,
            Ending::Wrong => codes::WRONG_RESULT,
            Ending::Lacking => codes::ENVIRONMENT,
            Ending::NotGraded => codes::NOT_GRADED,
        }
    }
}
