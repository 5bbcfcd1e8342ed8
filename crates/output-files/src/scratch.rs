//! A folder for temporary files.

use std::fs::File;
use std::path::Path;
use std::time::Duration;
use std::{env, io};

use tempfile::{Builder, TempDir};

use crate::interrupt::Unfinished;
use crate::stale;

/// Ends the name of every scratch folder, so that nothing else is taken for one.
const SUFFIX: &str = ".scratch";

/// A folder where the system keeps temporary files. It is removed with its contents when it is
/// dropped, or when the program is interrupted. If the program is killed, the next one that makes a
/// scratch folder in the same place removes it.
#[derive(Debug)]
pub struct ScratchFolder {
    folder: TempDir,
    _unfinished: Unfinished,
    /// Locked as long as this process lives. None where the file system has no locks.
    _lock: Option<File>,
}

impl ScratchFolder {
    /// Makes a folder. Its name begins with `harness-` and then `purpose`.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new(purpose: &str) -> io::Result<ScratchFolder> {
        let above = env::temp_dir();
        stale::sweep(&above, is_scratch);
        ScratchFolder::new_in(&above, purpose)
    }

    /// As [`new`](ScratchFolder::new), in the folder `above`.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new_in(above: &Path, purpose: &str) -> io::Result<ScratchFolder> {
        let prefix = format!("harness-{purpose}-");
        let mut builder = Builder::new();
        let make = || builder.prefix(&prefix).suffix(SUFFIX).tempdir_in(above);
        let (folder, lock, unfinished) = Unfinished::make(make)?;
        Ok(ScratchFolder {
            folder,
            _unfinished: unfinished,
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Scratch folders are on disks of one machine.
pub(crate) fn is_scratch(name: &str, _age: Duration) -> bool {
    name.starts_with("harness-") && name.ends_with(SUFFIX)
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
