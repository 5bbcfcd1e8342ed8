//! A folder for temporary files.

use std::path::Path;
use std::{env, io};

use tempfile::{Builder, TempDir};

use crate::interrupt::Unfinished;

/// A folder where the system keeps temporary files. It is removed with its contents when it is
/// dropped, or when the program is interrupted.
#[derive(Debug)]
pub struct ScratchFolder {
    folder: TempDir,
    _unfinished: Unfinished,
}

impl ScratchFolder {
    /// Makes a folder. Its name begins with `harness-` and then `purpose`.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new(purpose: &str) -> io::Result<ScratchFolder> {
        ScratchFolder::new_in(&env::temp_dir(), purpose)
    }

    /// As [`new`](ScratchFolder::new), in the folder `above`.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new_in(above: &Path, purpose: &str) -> io::Result<ScratchFolder> {
        let prefix = format!("harness-{purpose}-");
        let make = || Builder::new().prefix(&prefix).tempdir_in(above);
        let (folder, unfinished) = Unfinished::make(make)?;
        Ok(ScratchFolder {
            folder,
            _unfinished: unfinished,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_folder_is_removed_with_all_that_is_in_it() {
        let folder = ScratchFolder::new("test").unwrap();
        let path = folder.path().to_owned();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("harness-test-"), "{name}");
        std::fs::write(path.join("file"), "text").unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
