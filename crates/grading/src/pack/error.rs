//! Why a submission was not packed.

use thiserror::Error;

use crate::failure::Failure;
use crate::grade::kind::Kind;
use crate::grade::verdict::Failing;

/// Why a submission was not packed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PackError {
    /// The submission is at fault.
    #[error("{}", .0.message)]
    Refused(Failing),
    /// The machine lacks something.
    #[error("{0}")]
    Environment(String),
}

impl PackError {
    /// The submission is at fault.
    pub fn refused(kind: Kind, message: impl Into<String>) -> PackError {
        PackError::Refused(Failing::new(kind, message))
    }

    /// The same, from code that knew hidden cases.
    pub(crate) fn with_hidden_cases_known(self) -> PackError {
        match self {
            PackError::Refused(failing) => PackError::Refused(failing.with_hidden_cases_known()),
            other @ PackError::Environment(_) => other,
        }
    }

    /// How the submission fails, if it is at fault.
    pub fn failing(&self) -> Option<&Failing> {
        match self {
            PackError::Refused(failing) => Some(failing),
            PackError::Environment(_) => None,
        }
    }
}

impl From<PackError> for Failure {
    fn from(error: PackError) -> Failure {
        match error {
            PackError::Refused(failing) => Failure::Wrong(failing.message),
            PackError::Environment(message) => Failure::Environment(message),
        }
    }
}
