//! A submission's files, read with care: they may be anything.

use std::fs;
use std::io::Read;
use std::path::Path;

use super::File;
use crate::grade::kind::Kind;
use crate::pack::PackError;

/// The largest file: the longest built-in one has a tenth of it.
const MAX_BYTES: u64 = 256 << 10;

/// The text of both files.
#[derive(Debug, Clone)]
pub struct Sources {
    /// Of `kernels.rs`.
    pub kernels: String,
    /// Of `launch.rs`.
    pub launch: String,
}

/// Reads the submission in folder `dir`; anything else in it is passed over.
///
/// # Errors
///
/// What is missing, or is no plain file of text.
pub fn read(dir: &Path) -> Result<Sources, PackError> {
    if !dir.is_dir() {
        let what = if dir.exists() {
            "is no folder"
        } else {
            "is not there"
        };
        let message = format!(
            "{}: {what}; a submission is a folder with kernels.rs (device code) and launch.rs (host code)",
            dir.display()
        );
        return Err(PackError::refused(Kind::MissingFile, message));
    }
    Ok(Sources {
        kernels: text(dir, File::Kernels)?,
        launch: text(dir, File::Launch)?,
    })
}

fn text(dir: &Path, file: File) -> Result<String, PackError> {
    let path = dir.join(file.name());
    let refused = |message: String| {
        PackError::refused(Kind::MissingFile, format!("{}: {message}", path.display()))
    };
    // Of the link itself, not of what it points to.
    let metadata = fs::symlink_metadata(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => refused(
            "is missing; a submission is a folder with kernels.rs (device code) and launch.rs (host code)"
                .to_owned(),
        ),
        _ => refused(format!("cannot be read: {error}")),
    })?;
    if !metadata.is_file() {
        let what = if metadata.is_symlink() {
            "is a symbolic link"
        } else {
            "is no plain file"
        };
        return Err(refused(format!("{what}; submit the file itself")));
    }
    let mut bytes = Vec::new();
    open(&path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| refused(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refused(format!(
            "is larger than {} KiB; no solution needs so much text",
            MAX_BYTES >> 10
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        refused(format!(
            "is no text: byte {} is not UTF-8",
            error.utf8_error().valid_up_to()
        ))
    })
}

/// Follows no link, and waits for no pipe, that was put there since.
fn open(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    options.open(path)
}
