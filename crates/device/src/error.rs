//! The errors of this crate, by who can fix them.

use ptx_emu::{Fault, ProgramFault};
use thiserror::Error;

use exit::{CommandError, ErrorKind};

use crate::buffer::BufferError;
use crate::device_error::DeviceError;
use crate::module::ModuleError;
use crate::validate::error::ValidationError;
use plan::PlanError;
use ranks::RanksError;

/// Any error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Input that a crate above this one refuses, such as a case that cannot be built.
    #[error(transparent)]
    Input(Box<dyn std::error::Error + Send + Sync>),
    /// A plan that is invalid on every device.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// PTX that does not parse, or that lacks a kernel.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// A plan that does not fit its kernels or the device.
    #[error(transparent)]
    Validation(#[from] ValidationError),
    /// A device that is missing, or that failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A kernel, or a launch, that only newer devices have.
    #[error(
        "{what} needs compute capability {}.{} or newer{}; this device has {}.{}", needed.0, needed.1, in_parentheses(forms), has.0, has.1
    )]
    Needs {
        /// The kernel, and what is new about its launch.
        what: String,
        /// Compute capability, major and minor.
        needed: (u32, u32),
        /// The instructions that need it, as in `cp.async`; empty if they are not known.
        forms: String,
        /// The device's.
        has: (u32, u32),
    },
    /// A host buffer of the wrong type or size.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// Processes that cannot work together.
    #[error(transparent)]
    Ranks(#[from] RanksError),
    /// GPUs of several processes that cannot exchange bytes.
    #[error(transparent)]
    Exchange(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// The rule that a kernel broke on the emulated device, and where, if that is what happened.
    pub fn program_fault(&self) -> Option<&ProgramFault> {
        let Error::Device(DeviceError::Emulated { fault, .. }) = self else {
            return None;
        };
        match &**fault {
            Fault::Program(fault) => Some(fault),
            Fault::Unsupported(_) | Fault::Launch(_) => None,
        }
    }

    /// The one who can fix it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Input(_) => ErrorKind::Input,
            Error::Validation(
                ValidationError::TooFewDevices { .. } | ValidationError::NoPeerAccess { .. },
            ) => ErrorKind::Environment,
            Error::Validation(error) if error.is_for_larger_devices() => ErrorKind::Needs,
            Error::Plan(_) | Error::Module(_) | Error::Validation(_) => ErrorKind::Submission,
            Error::Device(error) => device_kind(error),
            Error::Needs { .. } => ErrorKind::Needs,
            Error::Buffer(BufferError::OutOfMemory { .. }) => ErrorKind::Environment,
            Error::Buffer(_) => ErrorKind::Bug,
            Error::Ranks(error) => error.kind(),
            Error::Exchange(_) => ErrorKind::Environment,
        }
    }
}

fn in_parentheses(forms: &str) -> String {
    if forms.is_empty() {
        return String::new();
    }
    format!(" ({forms})")
}

impl From<Error> for CommandError {
    fn from(error: Error) -> CommandError {
        CommandError::of(error.kind(), error.to_string())
    }
}

fn device_kind(error: &DeviceError) -> ErrorKind {
    match error {
        DeviceError::LaunchRefused { .. }
        | DeviceError::KernelFault { .. }
        | DeviceError::Dependent(_)
        | DeviceError::Unstated { .. } => ErrorKind::Submission,
        DeviceError::Emulated { fault, .. } => match **fault {
            Fault::Unsupported(_) => ErrorKind::Environment,
            _ => ErrorKind::Submission,
        },
        DeviceError::WrongBuffer { .. } => ErrorKind::Bug,
        _ => ErrorKind::Environment,
    }
}
