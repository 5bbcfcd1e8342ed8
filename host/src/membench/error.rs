//! What can go wrong with a sweep.

use thiserror::Error;

use device::buffer::BufferError;
use device::error::Error as HostError;
use exit::ErrorKind;
use plan::PlanError;

/// A sweep that gave no figures.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MembenchError {
    /// What recording, preparing or running answers.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The kernel did not do what was timed.
    #[error("{kernel} gave {got}, expected {expected}: what was timed is not what was asked")]
    Wrong {
        /// The kernel.
        kernel: String,
        /// What the CPU computes.
        expected: String,
        /// What the device gave.
        got: String,
    },
    /// An option that makes no sense.
    #[error("{option} = {value}: {reason}")]
    Option {
        /// Which.
        option: &'static str,
        /// As given.
        value: u64,
        /// What is allowed.
        reason: String,
    },
}

impl MembenchError {
    /// Who can put it right.
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
