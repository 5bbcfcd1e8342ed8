//! Files that a command reads: why one cannot be read, and that no output replaces it.

use std::io;
use std::path::Path;

use crate::claims;

/// Why a file that a user named cannot be read, in words that follow its name and a colon.
pub fn unreadable(error: &io::Error) -> String {
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
/// the process, [`OutputFile::create`](crate::OutputFile::create) refuses its path.
pub fn spare(path: &Path) {
    claims::spare(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OutputFile;

    #[test]
    fn reasons_are_in_words_for_users() {
        let folder = tempfile::tempdir().unwrap();
        let why = |name: &str| {
            let read = std::fs::read_to_string(folder.path().join(name));
            unreadable(&read.unwrap_err())
        };
        std::fs::write(folder.path().join("bytes"), [0xff]).unwrap();
        assert_eq!(why("none"), "there is no such file");
        assert_eq!(why("."), "is a folder; name a file in it");
        assert_eq!(why("bytes"), "is not text in UTF-8");
    }

    #[test]
    fn what_is_read_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("old.json");
        std::fs::write(&file, "old").unwrap();
        spare(&file);
        let said = OutputFile::create("-o", &file).unwrap_err().to_string();
        assert!(
            said.ends_with(": this command reads it; name another"),
            "{said}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
    }
}
