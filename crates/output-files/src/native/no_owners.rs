//! Files of a system on which they have no owner and no mode, as far as this crate knows.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::Builder;

/// Where a file is: two names of one file lead to the same place.
pub(crate) fn identity(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// A folder that can be locked is taken for this user's.
pub(crate) fn is_own(_: &Metadata) -> bool {
    true
}

/// Files have no modes.
pub(crate) fn with_mode(_: &mut Builder<'_, '_>, _: u32) {}

/// Pipes do not have names of files.
pub(crate) fn never_wait(_: &mut OpenOptions) {}

/// Links are followed.
pub fn follow_no_link(_: &mut OpenOptions) {}

/// The folder decides who may read the file.
pub fn private(_: &mut OpenOptions) {}

/// A file's name says whether it can be run.
///
/// # Errors
///
/// None.
pub fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Refuses.
///
/// # Errors
///
/// Always: not every user may make links.
pub fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::other("needs symbolic links"))
}
