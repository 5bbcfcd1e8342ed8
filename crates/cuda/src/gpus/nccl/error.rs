//! Errors of NCCL.

use std::time::Duration;

use thiserror::Error;

/// Why GPUs of several processes cannot exchange bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NcclError {
    /// The library is missing or cannot be used.
    #[error(
        "no NCCL: {reason}; install the package libnccl2, or set HARNESS_NCCL to the file libnccl.so.2 (the pip package \
         nvidia-nccl-cu13 has one)"
    )]
    Missing {
        /// The files that were tried, and why each failed.
        reason: String,
    },
    /// The library is older than what is needed of it.
    #[error(
        "NCCL {version} ({path}) is too old: 2.14 or newer is needed; install a newer package libnccl2, or set HARNESS_NCCL \
         to a newer file"
    )]
    TooOld {
        /// Its version.
        version: String,
        /// Its file or name.
        path: String,
    },
    /// A function failed.
    #[error("NCCL: {function}: {text}{detail}; NCCL_DEBUG=WARN shows more")]
    Call {
        /// The function.
        function: &'static str,
        /// The meaning of its result.
        text: String,
        /// NCCL's own words, after a separator.
        detail: String,
    },
    /// Other ranks did not take part in time. The communicator is aborted.
    #[error("NCCL: {what} did not end within {} s: another rank does not take part", after.as_secs_f64())]
    Late {
        /// The operation.
        what: &'static str,
        /// For how long it was waited for.
        after: Duration,
    },
    /// The communicator was aborted.
    #[error("NCCL: the communicator was aborted: {why}")]
    Aborted {
        /// Why.
        why: String,
    },
}

impl From<NcclError> for device::Error {
    fn from(error: NcclError) -> device::Error {
        device::Error::Exchange(Box::new(error))
    }
}
