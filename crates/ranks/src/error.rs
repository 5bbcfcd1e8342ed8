//! Errors between ranks.

use thiserror::Error;

use exit::ErrorKind;

/// Why ranks cannot work together. Each message is one line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RanksError {
    /// The launcher's variables are not complete, or contradict each other.
    #[error("{0}")]
    Variables(String),
    /// Rank 0 cannot listen where the ranks are to meet.
    #[error("{0}")]
    Address(String),
    /// Some ranks did not come. Those that came have the same message, unless they found no rank 0.
    #[error("{0}")]
    NotMet(String),
    /// The ranks that came must not work together. All have the same message.
    #[error("{0}")]
    Differ(String),
    /// A rank died or failed. All others have the same message.
    #[error("{0}")]
    Lost(String),
    /// Bytes that did not arrive in time, or another number of bytes than expected.
    #[error("{0}")]
    Transfer(String),
}

impl RanksError {
    /// The kind, which tells who can fix it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            RanksError::Variables(_) | RanksError::Address(_) | RanksError::Differ(_) => {
                ErrorKind::Input
            }
            RanksError::NotMet(_) | RanksError::Lost(_) | RanksError::Transfer(_) => {
                ErrorKind::Environment
            }
        }
    }
}
