//! Everything that can go wrong, sorted by who can put it right.

use thiserror::Error;

use crate::buffer::BufferError;
use crate::device::DeviceError;
use crate::lab::CaseError;
use crate::plan::PlanError;
use crate::validate::ValidationError;

/// Who can put an error right. The kinds never mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// What was asked for does not exist or makes no sense: an unknown lab, a size of 0.
    Input,
    /// The solution is wrong: its plan, its launches, its kernels.
    Submission,
    /// The machine lacks something: a driver, memory, a newer version.
    Environment,
    /// This program is wrong.
    Bug,
}

/// Any error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A case that cannot be built.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// A plan that makes no sense on any device.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A plan that does not fit its kernels or the device.
    #[error(transparent)]
    Validation(#[from] ValidationError),
    /// A device that is missing, or that failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A host buffer used as what it is not.
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

impl Error {
    /// Who can put it right.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Case(_) => ErrorKind::Input,
            Error::Plan(_) | Error::Validation(_) => ErrorKind::Submission,
            Error::Device(error) => error.kind(),
            Error::Buffer(BufferError::OutOfMemory { .. }) => ErrorKind::Environment,
            Error::Buffer(_) => ErrorKind::Bug,
        }
    }
}
