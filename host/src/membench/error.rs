//! Errors of a sweep.

use thiserror::Error;

use device::buffer::BufferError;
use device::error::Error as HostError;
use exit::ErrorKind;
use plan::PlanError;

/// A sweep that gave no figures.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MembenchError {
    /// An error of recording, preparing or running.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The kernel's result is wrong.
    #[error("{kernel} gave {got}, expected {expected}: what was timed is not what was asked")]
    Wrong {
        /// The kernel.
        kernel: String,
        /// The CPU's result.
        expected: String,
        /// The device's result.
        got: String,
    },
    /// An option that makes no sense.
    #[error("{option} = {value}: {reason}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// The value given.
        value: u64,
        /// The allowed values.
        reason: String,
    },
}

impl MembenchError {
    /// The kind, which says who can correct it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            MembenchError::Host(error) => error.kind(),
            MembenchError::Wrong { .. } => ErrorKind::Submission,
            MembenchError::Option { .. } => ErrorKind::Input,
        }
    }
}

impl From<PlanError> for MembenchError {
    fn from(error: PlanError) -> MembenchError {
        MembenchError::Host(error.into())
    }
}

impl From<BufferError> for MembenchError {
    fn from(error: BufferError) -> MembenchError {
        MembenchError::Host(error.into())
    }
}
