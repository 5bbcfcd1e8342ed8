//! A folder for temporary files.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Once;
use std::time::Duration;
use std::{env, io};

use tempfile::{Builder, TempDir};

use crate::interrupt::Unfinished;

/// Ends the name of every scratch folder, so that nothing else is taken for one.
const SUFFIX: &str = ".scratch";

/// A folder that is younger may not be locked yet.
const YOUNGEST: Duration = Duration::from_secs(60);

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
        static SWEEP: Once = Once::new();
        let above = env::temp_dir();
        SWEEP.call_once(|| remove_stale(&above, YOUNGEST));
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
        let (folder, unfinished) = Unfinished::make(make)?;
        let lock = File::open(folder.path()).ok();
        let lock = lock.filter(|lock| lock.try_lock().is_ok());
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

/// Removes the scratch folders in `above` whose processes have ended without removing them. Only
/// folders of this user are locked and removed, and none that is younger than `youngest`.
fn remove_stale(above: &Path, youngest: Duration) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !(name.starts_with("harness-") && name.ends_with(SUFFIX)) {
            continue;
        }
        // Of a link, this is the link's own.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let age = metadata
            .modified()
            .ok()
            .and_then(|time| time.elapsed().ok());
        if !metadata.is_dir() || !is_own(&metadata) || age.is_none_or(|age| age < youngest) {
            continue;
        }
        let lock = File::open(entry.path());
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            // A folder that stays costs its space alone.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a file is this user's.
#[cfg(unix)]
fn is_own(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: the function has no preconditions.
    metadata.uid() == unsafe { libc::geteuid() }
}

/// Where files have no owner, a folder that can be locked is taken for this user's.
#[cfg(not(unix))]
fn is_own(_: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder of a live process stays, and so does what looks like one.
    #[test]
    fn folders_of_dead_processes_are_removed() {
        let above = tempfile::tempdir().unwrap();
        let alive = ScratchFolder::new_in(above.path(), "grade").unwrap();
        let dead = above.path().join("harness-grade-x1y2z3.scratch");
        fs::create_dir_all(dead.join("cases")).unwrap();
        fs::write(dead.join("cases/plan"), "text").unwrap();
        let others = ["harness-old", "a.scratch"].map(|name| above.path().join(name));
        for other in &others {
            fs::create_dir(other).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(&others[0], above.path().join("harness-link.scratch")).unwrap();
        remove_stale(above.path(), YOUNGEST);
        assert!(dead.exists(), "it may be another's that is not locked yet");
        remove_stale(above.path(), Duration::ZERO);
        assert!(!dead.exists());
        assert!(alive.path().exists() && others.iter().all(|other| other.exists()));
    }

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
