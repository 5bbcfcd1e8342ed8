//! Why a file or folder is not written.

use std::io;
use std::path::{Path, PathBuf};

use exit::CommandError;
use thiserror::Error;

/// Said of a folder that holds other files.
pub(crate) const NOT_EMPTY: &str = "the folder is not empty; remove it, or name another";

/// Why a file or folder is not written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The path that a flag names cannot be written. This is known before any work starts.
    #[error("{flag} {}: {reason}", .path.display())]
    Path {
        /// The flag.
        flag: String,
        /// The path.
        path: PathBuf,
        /// The problem and its remedy.
        reason: String,
    },
    /// Writing failed half-way, typically because the disk is full.
    #[error("cannot write {}: {source}", .path.display())]
    NotWritten {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl OutputError {
    pub(crate) fn path(flag: &str, path: &Path, reason: impl Into<String>) -> OutputError {
        OutputError::Path {
            flag: flag.to_owned(),
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

impl From<OutputError> for CommandError {
    fn from(error: OutputError) -> CommandError {
        let text = error.to_string();
        match error {
            OutputError::Path { .. } => CommandError::Input(text),
            OutputError::NotWritten { .. } => CommandError::Environment(text),
        }
    }
}

/// The error of writing that failed half-way.
pub fn not_written(target: &Path, source: io::Error) -> OutputError {
    OutputError::NotWritten {
        path: target.to_owned(),
        source,
    }
}

/// The folder that `target` is to be made in, which must exist.
pub(crate) fn parent<'t>(flag: &str, target: &'t Path) -> Result<&'t Path, OutputError> {
    let folder = match target.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return Err(OutputError::path(flag, target, "names no file")),
    };
    if folder.is_dir() {
        return Ok(folder);
    }
    let shown = folder.display();
    let reason = match folder.symlink_metadata() {
        Ok(_) => format!("{shown} is not a folder; name another"),
        Err(_) => format!("there is no folder {shown}; create it first"),
    };
    Err(OutputError::path(flag, target, reason))
}

/// Refuses a place where there is something else than a folder.
pub(crate) fn no_folder(flag: &str, target: &Path) -> Result<(), OutputError> {
    let what = match target.symlink_metadata() {
        Ok(_) if target.is_dir() => return Ok(()),
        Err(_) => return Ok(()),
        Ok(found) if found.is_symlink() && !target.exists() => "is a link that leads nowhere",
        Ok(_) if target.is_file() => "is a file",
        Ok(_) => "is neither file nor folder",
    };
    Err(OutputError::path(
        flag,
        target,
        format!("{what}; name a folder"),
    ))
}

/// The error of a place where the system lets nothing be made.
pub(crate) fn refused(flag: &str, target: &Path, error: &io::Error) -> OutputError {
    let reason = unwritable(error);
    let reason = format!("cannot be written: {reason}; name a place that can");
    OutputError::path(flag, target, reason)
}

/// Why a file or folder cannot be made, in words for users.
pub fn unwritable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::NotFound => "nothing can be made there".to_owned(),
        kind => kind.to_string(),
    }
}
