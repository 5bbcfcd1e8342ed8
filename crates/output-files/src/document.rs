//! A file that is complete at every moment.

use std::path::{Path, PathBuf};

use crate::OutputFile;
use crate::claims::Claimed;
use crate::error::{OutputError, not_written, parent};

/// A file that is written whole, once or again and again. A reader finds one text or the next, even
/// if the program is killed. Between two writes no temporary file exists.
#[derive(Debug)]
pub struct OutputDocument {
    folder: PathBuf,
    target: PathBuf,
    _claimed: Option<Claimed>,
}

impl OutputDocument {
    /// Prepares to write `target`, which `flag` named. The first write replaces an existing file.
    ///
    /// # Errors
    ///
    /// [`OutputError::Path`] if it cannot be written.
    pub fn create(flag: &str, target: &Path) -> Result<OutputDocument, OutputError> {
        let mut file = OutputFile::create(flag, target)?;
        Ok(OutputDocument {
            folder: parent(flag, target)?.to_owned(),
            target: target.to_owned(),
            _claimed: file.claimed.take(),
        })
    }

    /// Replaces the whole file by `bytes`. If this fails, the old text stays.
    ///
    /// # Errors
    ///
    /// [`OutputError::NotWritten`], typically because the disk is full.
    pub fn write_all(&self, bytes: &[u8]) -> Result<(), OutputError> {
        OutputFile::beside(&self.folder, &self.target)
            .map_err(|error| not_written(&self.target, error))?
            .write_all(bytes)
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_document_is_whole_at_every_moment() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.json");
        fs::write(&target, "old").unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let document = OutputDocument::create("--json", &target).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        assert_eq!(names(), 1);
        for text in ["first, and long", "second"] {
            document.write_all(text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
            assert_eq!(names(), 1);
        }
    }

    #[test]
    fn a_write_that_fails_is_told_and_the_next_may_succeed() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("results");
        fs::create_dir(&inner).unwrap();
        let document = OutputDocument::create("--json", &inner.join("out.json")).unwrap();
        fs::remove_dir(&inner).unwrap();
        let failure = document.write_all(b"text").unwrap_err();
        assert!(matches!(failure, OutputError::NotWritten { .. }));
        let said = failure.to_string();
        assert!(said.starts_with("cannot write "), "{said}");
        assert!(said.contains("No such file or directory"), "{said}");
        fs::create_dir(&inner).unwrap();
        document.write_all(b"text").unwrap();
    }
}
