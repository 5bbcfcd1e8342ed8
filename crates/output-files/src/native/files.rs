//! Files of Unix.

use std::fs::{self, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use tempfile::Builder;

/// Device and inode: two names of one file have the same.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Whether a file is this user's.
pub(crate) fn is_own(metadata: &Metadata) -> bool {
    // SAFETY: the function has no preconditions.
    metadata.uid() == unsafe { libc::geteuid() }
}

/// Gives what is made this mode, as for any new file: the process's umask applies.
pub(crate) fn with_mode(builder: &mut Builder<'_, '_>, mode: u32) {
    builder.permissions(Permissions::from_mode(mode));
}

/// Does not wait at a pipe that was put there since it was looked at.
pub(crate) fn never_wait(options: &mut OpenOptions) {
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
}

/// Opens no file behind a link, and waits at no pipe, that was put there since it was looked at.
pub fn follow_no_link(options: &mut OpenOptions) {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
}

/// Lets no other user read the file that is made.
pub fn private(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// Lets a file be run as a program.
///
/// # Errors
///
/// The system's.
pub fn make_executable(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o755))
}

/// Makes `name` a link to the file or folder `to`.
///
/// # Errors
///
/// The system's; where there are no links for all users, that.
pub fn link(to: &Path, name: &Path) -> io::Result<()> {
    symlink(to, name)
}
