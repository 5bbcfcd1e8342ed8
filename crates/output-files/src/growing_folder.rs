//! A folder whose files are kept one by one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::OutputFile;
use crate::claims::Claimed;
use crate::error::{NOT_EMPTY, OutputError, no_folder, not_written, parent, refused};
use crate::interrupt::Unfinished;

/// The name of the file that claims a folder.
const CLAIM: &str = ".harness-running";

/// A folder that has its name from the start, and whose files appear one by one, each complete. It
/// belongs to one run at a time. If it is dropped, the files in it stay; if there are none, a
/// folder that was made for it goes.
#[derive(Debug)]
pub struct GrowingFolder {
    target: PathBuf,
    // Fields are dropped in this order: a folder can be removed when it is empty.
    _claim: Claim,
    _made: Option<MadeFolder>,
    _claimed: Claimed,
}

impl GrowingFolder {
    /// Makes the folder `target`, which `flag` named, and claims it. It may be there already if it
    /// is empty.
    ///
    /// # Errors
    ///
    /// [`OutputError::Path`] if it cannot be written, holds something, or another run or another
    /// flag of this one has it.
    pub fn create(flag: &str, target: &Path) -> Result<GrowingFolder, OutputError> {
        let cannot = |error: &io::Error| refused(flag, target, error);
        no_folder(flag, target)?;
        if !target.is_dir() {
            parent(flag, target)?;
        }
        let claimed = Claimed::new(flag, target)?;
        let made = match MadeFolder::make(target) {
            Ok(made) => Some(made),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
            Err(error) => return Err(cannot(&error)),
        };
        let claim = match Claim::make(target) {
            Ok(claim) => claim,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let reason = if is_held(&target.join(CLAIM)) {
                    "another run is writing there; name another folder"
                } else {
                    NOT_EMPTY
                };
                return Err(OutputError::path(flag, target, reason));
            }
            Err(error) => return Err(cannot(&error)),
        };
        // With the claim there is one name.
        let names = fs::read_dir(target).map_err(|error| cannot(&error))?;
        if names.count() > 1 {
            return Err(OutputError::path(flag, target, NOT_EMPTY));
        }
        Ok(GrowingFolder {
            target: target.to_owned(),
            _claim: claim,
            _made: made,
            _claimed: claimed,
        })
    }

    /// Prepares to write a file in it.
    ///
    /// # Errors
    ///
    /// [`OutputError::NotWritten`], typically because the disk is full.
    pub fn file(&self, name: &str) -> Result<OutputFile, OutputError> {
        let target = self.target.join(name);
        OutputFile::beside(&self.target, &target).map_err(|error| not_written(&target, error))
    }

    /// Its name.
    pub fn target(&self) -> &Path {
        &self.target
    }
}

/// A file in the folder that says whose it is. The lock ends with the program, also if it is
/// killed.
#[derive(Debug)]
struct Claim {
    path: PathBuf,
    _locked: File,
    _unfinished: Unfinished,
}

impl Claim {
    fn make(folder: &Path) -> io::Result<Claim> {
        let path = folder.join(CLAIM);
        let (locked, unfinished) = Unfinished::file(&path, || {
            OpenOptions::new().write(true).create_new(true).open(&path)
        })?;
        // On a file system without locks, another run takes the folder for a left one.
        let _ = locked.try_lock();
        Ok(Claim {
            path,
            _locked: locked,
            _unfinished: unfinished,
        })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // If it cannot be removed, it stays, as after a power failure.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the run that made this claim still goes on.
fn is_held(claim: &Path) -> bool {
    let opened = OpenOptions::new().write(true).open(claim);
    opened.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// A new folder, which goes if nothing is in it in the end.
#[derive(Debug)]
pub(crate) struct MadeFolder {
    path: PathBuf,
    _unfinished: Unfinished,
}

impl MadeFolder {
    pub(crate) fn make(path: &Path) -> io::Result<MadeFolder> {
        let ((), unfinished) = Unfinished::if_empty(path, || fs::create_dir(path))?;
        Ok(MadeFolder {
            path: path.to_owned(),
            _unfinished: unfinished,
        })
    }
}

impl Drop for MadeFolder {
    fn drop(&mut self) {
        // It fails for a folder that holds something.
        let _ = fs::remove_dir(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::names;

    fn refusal(target: &Path) -> String {
        let error = GrowingFolder::create("--out", target).unwrap_err();
        assert!(matches!(error, OutputError::Path { .. }));
        let text = error.to_string();
        text.rsplit_once(": ").unwrap().1.to_owned()
    }

    #[test]
    fn files_appear_one_by_one_and_stay() {
        let above = tempfile::tempdir().unwrap();
        let target = above.path().join("fields");
        let folder = GrowingFolder::create("--out", &target).unwrap();
        folder.file("1").unwrap().write_all(b"one").unwrap();
        assert_eq!(names(&target), [CLAIM, "1"]);
        let half = folder.file("2").unwrap();
        drop((half, folder));
        assert_eq!(names(&target), ["1"]);
        assert_eq!(refusal(&target), NOT_EMPTY);
    }

    #[test]
    fn an_empty_folder_stays_if_it_was_there_before() {
        let above = tempfile::tempdir().unwrap();
        drop(GrowingFolder::create("--out", &above.path().join("new")).unwrap());
        assert_eq!(names(above.path()), [""; 0]);
        let old = above.path().join("old");
        fs::create_dir(&old).unwrap();
        drop(GrowingFolder::create("--out", &old).unwrap());
        assert_eq!(names(above.path()), ["old"]);
        // A name that leads to one is as good.
        #[cfg(unix)]
        {
            let link = above.path().join("link");
            std::os::unix::fs::symlink(&old, &link).unwrap();
            let folder = GrowingFolder::create("--out", &link).unwrap();
            folder.file("1").unwrap().finish().unwrap();
            assert_eq!(names(&old), [CLAIM, "1"]);
        }
    }

    #[test]
    fn a_folder_belongs_to_one_run() {
        let above = tempfile::tempdir().unwrap();
        let target = above.path().join("fields");
        let first = GrowingFolder::create("--out", &target).unwrap();
        assert_eq!(refusal(&target), "is named twice");
        let film = GrowingFolder::create("--gif", &target).unwrap_err();
        let twice = "--out writes there, too; name another";
        assert_eq!(
            film.to_string(),
            format!("--gif {}: {twice}", target.display())
        );
        first.file("1").unwrap().finish().unwrap();
        assert_eq!(names(&target), [CLAIM, "1"]);
        drop(first);

        // The lock of another process, as this file's.
        let others = above.path().join("others");
        fs::create_dir(&others).unwrap();
        let claim = File::create(others.join(CLAIM)).unwrap();
        claim.lock().unwrap();
        let other = "another run is writing there; name another folder";
        assert_eq!(refusal(&others), other);
        fs::write(others.join("1"), "").unwrap();
        assert_eq!(refusal(&others), other);
        assert_eq!(names(&others), [CLAIM, "1"]);

        // A killed run leaves its claim, and no lock.
        let left = above.path().join("left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(CLAIM), "").unwrap();
        assert_eq!(refusal(&left), NOT_EMPTY);
        assert_eq!(names(&left), [CLAIM]);
    }

    #[test]
    fn what_is_no_folder_is_refused() {
        let above = tempfile::tempdir().unwrap();
        let file = above.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(refusal(&file), "is a file; name a folder");
        assert!(refusal(&above.path().join("a/b")).starts_with("there is no folder "));
        assert_eq!(names(above.path()), ["file"]);
    }
}
