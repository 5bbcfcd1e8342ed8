//! Files that a command reads: one way to open them, why one cannot be read, and that no output
//! replaces it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use thiserror::Error;

use crate::{claims, native};

/// More than any text that a command reads: an input that is larger is not what it should be.
pub const MAX_TEXT_BYTES: u64 = 256 << 20;

/// Why a file that the system would let one read is not read.
#[derive(Debug, Error)]
enum Refused {
    #[error("is not a plain file; name a file, or copy what it holds into one")]
    NotPlain,
    #[error("has more than {0} bytes, which is more than any that this command reads")]
    TooLarge(u64),
    #[error("{0} writes there; name another")]
    Written(String),
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> io::Error {
        io::Error::other(refused)
    }
}

/// Why a file that a user named cannot be read, in words that follow its name and a colon.
pub fn unreadable(error: &io::Error) -> String {
    let refused = error.get_ref();
    if let Some(refused) = refused.and_then(|inner| inner.downcast_ref::<Refused>()) {
        return refused.to_string();
    }
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::IsADirectory => "is a folder; name a file in it".to_owned(),
        io::ErrorKind::PermissionDenied => "cannot be read: permission denied".to_owned(),
        // Said of bytes where text is read.
        io::ErrorKind::InvalidData => "is not text in UTF-8".to_owned(),
        _ => {
            let said = error.to_string();
            let said = said.split(" (os error").next().unwrap_or_default();
            format!("cannot be read: {said}")
        }
    }
}

/// Keeps a file that this command reads from being replaced by one that it writes: for the rest of
/// the process, [`OutputFile::create`](crate::OutputFile::create) refuses its path, and every other
/// name of the file.
pub fn spare(path: &Path) {
    claims::spare(path);
}

/// Opens a file that this command reads, and [spares](spare) it.
///
/// # Errors
///
/// The system's error; a folder, a device or a pipe, which may have no end; a file that one of this
/// command's outputs is going to replace. [`unreadable`] has words for all.
pub fn open(path: &Path) -> io::Result<File> {
    match claims::spare(path) {
        Some(flag) => Err(Refused::Written(flag).into()),
        None => open_own(path),
    }
}

/// As [`open`] for a file that the command may write again: its own table, its kept reports.
///
/// # Errors
///
/// The system's error; a folder, a device or a pipe.
pub fn open_own(path: &Path) -> io::Result<File> {
    // Before it is opened: opening some devices does something.
    is_plain(&fs::metadata(path)?)?;
    let mut options = fs::OpenOptions::new();
    options.read(true);
    native::never_wait(&mut options);
    let file = options.open(path)?;
    is_plain(&file.metadata()?)?;
    Ok(file)
}

fn is_plain(metadata: &fs::Metadata) -> io::Result<()> {
    match metadata.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false if metadata.is_file() => Ok(()),
        false => Err(Refused::NotPlain.into()),
    }
}

/// All bytes of a file that this command reads, at most `max_bytes`.
///
/// # Errors
///
/// As [`open`]; a larger file.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    whole(open(path)?, max_bytes)
}

/// The text of a file that this command reads.
///
/// # Errors
///
/// As [`open`]; more than [`MAX_TEXT_BYTES`]; what is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    text_of(open(path)?)
}

/// The text of a file that the command may write again.
///
/// # Errors
///
/// As [`open_own`] and [`text`].
pub fn own_text(path: &Path) -> io::Result<String> {
    text_of(open_own(path)?)
}

fn text_of(file: File) -> io::Result<String> {
    let bytes = whole(file, MAX_TEXT_BYTES)?;
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn whole(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > max_bytes {
        return Err(Refused::TooLarge(max_bytes).into());
    }
    let mut bytes = Vec::new();
    // A machine that has less memory than the file's length says so.
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX))?;
    // It may grow meanwhile.
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        Err(Refused::TooLarge(max_bytes).into())
    } else {
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OutputDocument, OutputFile};

    #[test]
    fn reasons_are_in_words_for_users() {
        let folder = tempfile::tempdir().unwrap();
        let why = |name: &str| unreadable(&text(&folder.path().join(name)).unwrap_err());
        fs::write(folder.path().join("bytes"), [0xff]).unwrap();
        assert_eq!(why("none"), "there is no such file");
        assert_eq!(why("."), "is a folder; name a file in it");
        assert_eq!(why("bytes"), "is not text in UTF-8");
    }

    #[test]
    fn what_is_read_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("old.json");
        fs::write(&file, "old").unwrap();
        assert_eq!(text(&file).unwrap(), "old");
        let said = OutputFile::create("-o", &file).unwrap_err().to_string();
        let expected = ": this command reads it; name another";
        assert!(said.ends_with(expected), "{said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    }

    /// The output may be prepared before the input is read.
    #[test]
    fn what_is_going_to_be_replaced_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("old.json");
        fs::write(&file, "old").unwrap();
        let document = OutputDocument::create("--json", &file).unwrap();
        let said = unreadable(&text(&file).unwrap_err());
        assert_eq!(said, "--json writes there; name another");
        own_text(&file).unwrap();
        drop(document);
    }

    #[cfg(unix)]
    #[test]
    fn what_may_have_no_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for path in [&pipe, Path::new("/dev/zero")] {
            let said = unreadable(&text(path).unwrap_err());
            assert!(said.starts_with("is not a plain file"), "{said}");
        }
    }

    #[test]
    fn a_file_beyond_the_limit_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sparse");
        let bytes = MAX_TEXT_BYTES + 1;
        File::create(&file).unwrap().set_len(bytes).unwrap();
        let said = unreadable(&text(&file).unwrap_err());
        assert!(said.starts_with("has more than 268435456 bytes"), "{said}");
        assert_eq!(
            unreadable(&read(&file, 7).unwrap_err()),
            "has more than 7 bytes, which is more than any that this command reads"
        );
    }
}
