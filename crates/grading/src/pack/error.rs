//! Why a submission was not packed.

use std::io;
use std::path::{Path, PathBuf};

use lab::CaseError;
use sandbox::Layer;
use thiserror::Error;

use crate::outcome::{Failure, Kind};

/// Why a submission was not packed.
#[derive(Debug, Error)]
pub enum PackError {
    /// The submission is at fault.
    #[error("{}", .0.message)]
    Failure(Box<Failure>),
    /// A case of the lab file cannot be made.
    #[error("case `{case}`: {source}")]
    Case {
        /// Its name.
        case: String,
        /// Why not.
        source: CaseError,
    },
    /// The compiler of kernels is missing, or fails through no fault of the submission's.
    #[error(transparent)]
    Kernels(Box<cuda_builder::Error>),
    /// The compiler of host code is missing or fails.
    #[error("{program}: {said}; submissions need a stable Rust compiler, as in the README")]
    HostCompiler {
        /// The program.
        program: String,
        /// The error.
        said: String,
    },
    /// The linker for host code is missing.
    #[error("the recorder cannot be linked; install a C compiler:\n{said}")]
    NoLinker {
        /// The compiler's message.
        said: String,
    },
    /// The disk is nearly full.
    #[error("less than 64 MiB are free in {}, where submissions are built; set TMPDIR to a folder that has more:\n{said}", .folder.display())]
    NoSpace {
        /// Where.
        folder: PathBuf,
        /// The compiler's message.
        said: String,
    },
    /// This system cannot keep compilers from files.
    #[error(
        "this system cannot keep a submission from reading files while it is compiled, those of the reference among them: {}; \
         pack on a system that can, and grade the bundle here, or accept it with \
         --without-isolation, as for a submission of one's own",
        Layer::Files.absence()
    )]
    NotConfined,
    /// A compiler of submissions could read what they must not.
    #[error(
        "{}: is in {}, which the compilers of submissions read: a submission could too; keep it elsewhere",
        .secret.display(), .folder.display()
    )]
    Readable {
        /// The file or folder that they must not read.
        secret: PathBuf,
        /// The folder that they read.
        folder: PathBuf,
    },
    /// Not even a submission that is known to be good can be built.
    #[error(
        "a submission that is known to be good cannot be built here either, see `harness doctor`:\n{said}"
    )]
    Unable {
        /// The error of its build.
        said: String,
    },
    /// The folder for compiled crates cannot be written.
    #[error("cannot write {}: {source}; name a folder for compiled crates with --cache DIR", .path.display())]
    Cache {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The message of the worker that packed, about the machine.
    #[error("{0}")]
    Elsewhere(String),
    /// Another file, folder or program cannot be used.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl From<Failure> for PackError {
    fn from(failure: Failure) -> PackError {
        PackError::Failure(Box::new(failure))
    }
}

impl From<cuda_builder::Error> for PackError {
    fn from(error: cuda_builder::Error) -> PackError {
        PackError::Kernels(Box::new(error))
    }
}

impl PackError {
    /// The submission is at fault.
    pub(super) fn failure(kind: Kind, message: impl Into<String>) -> PackError {
        Failure::new(kind, message).into()
    }

    /// A file, folder or program cannot be used.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> PackError {
        let path = path.to_owned();
        move |source| PackError::Io { path, source }
    }

    /// Replaces a failure by that of a hidden case: see [`of_hidden_case`].
    pub(super) fn of_hidden_cases(self) -> PackError {
        match self {
            PackError::Failure(failure) => of_hidden_case(*failure).into(),
            other => other,
        }
    }
}

/// The failure of a hidden case. That it failed is all that anybody but the instructor learns: the
/// kind is always the same, and the message says that it knew hidden cases.
pub(super) fn of_hidden_case(failure: Failure) -> Failure {
    let message = format!("in a hidden case: {} [{}]", failure.message, failure.kind);
    Failure::new(Kind::RecorderFailed, message).with_hidden_cases_known()
}
