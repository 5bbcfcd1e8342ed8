//! What can be wrong with a bundle's file.

use std::path::PathBuf;

use thiserror::Error;

use crate::failure::Failure;
use crate::grade::kind::Kind;

/// Why a file is no bundle that this program can read, in one line that names file and remedy.
#[derive(Debug, Error)]
#[error("{}: {fault}", .file.display())]
pub struct BundleError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a bundle's file.
#[derive(Debug, Error)]
pub enum Fault {
    /// It cannot be read at all.
    #[error("cannot be read: {0}")]
    Unreadable(std::io::Error),
    /// It does not begin as a bundle does.
    #[error("is no bundle; make one with `harness pack`")]
    NotABundle,
    /// It is of another version.
    #[error(
        "is a bundle of version {found}, and this program reads version {expected}; pack the submission again with this \
         program"
    )]
    Version {
        /// The file's.
        found: u32,
        /// This program's.
        expected: u32,
    },
    /// It ends early, or goes on.
    #[error(
        "has {found} bytes of content in place of {expected}; copy it again, or pack the submission again"
    )]
    Length {
        /// What its first line says.
        expected: u64,
        /// What there is.
        found: u64,
    },
    /// Its content is not what was written.
    #[error(
        "does not match its checksum: it was damaged or edited; copy it again, or pack the submission again"
    )]
    Checksum,
    /// It is larger than a bundle may be.
    #[error("is larger than the {limit} that {what} may have; record fewer launches")]
    TooLarge {
        /// `a bundle`, `a bundle's content`.
        what: &'static str,
        /// With its unit.
        limit: String,
    },
    /// Its content is no submission's.
    #[error("holds no submission: {0}; pack the submission again")]
    Content(String),
}

impl BundleError {
    /// What it means for a grade.
    pub fn kind(&self) -> Kind {
        match self.fault {
            Fault::Unreadable(_) => Kind::MissingFile,
            Fault::Version { .. } => Kind::BundleVersion,
            Fault::TooLarge { .. } => Kind::PlanTooLarge,
            Fault::NotABundle | Fault::Length { .. } | Fault::Checksum | Fault::Content(_) => {
                Kind::BundleDamaged
            }
        }
    }
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Failure {
        Failure::Input(error.to_string())
    }
}
