//! Temporary files and folders of programs that were killed: the next program that makes one in the
//! same place removes them.
//!
//! Each is locked as long as its program lives. It may be found before it is locked: then it is
//! removed, and its program, which looks afterwards, makes another. Thus neither an age nor the
//! number of a process decides.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::native::is_own;

/// Makes something temporary, and locks it until the returned file is closed; none where the file
/// system has no locks.
pub(crate) fn locked<T: AsRef<Path>>(
    mut make: impl FnMut() -> io::Result<T>,
) -> io::Result<(T, Option<File>)> {
    loop {
        let made = make()?;
        let Ok(lock) = File::open(made.as_ref()) else {
            // On some systems, a folder cannot be opened. If it is gone, it is made again.
            if made.as_ref().exists() {
                return Ok((made, None));
            } else {
                continue;
            }
        };
        match lock.try_lock() {
            Ok(()) if made.as_ref().exists() => return Ok((made, Some(lock))),
            // Somebody removes it.
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => return Ok((made, None)),
        }
    }
}

/// Removes stale files and folders from `folder`, once in a process: those with a name that
/// `is_temporary`, of this user, and without a lock.
pub(crate) fn sweep(folder: &Path, is_temporary: fn(&str, Duration) -> bool) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if swept.insert(folder.to_owned()) {
        sweep_again(folder, is_temporary);
    }
}

fn sweep_again(folder: &Path, is_temporary: fn(&str, Duration) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Of a link, this is the link's own.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let age = metadata
            .modified()
            .map(|time| time.elapsed())
            .ok()
            .and_then(Result::ok)
            .unwrap_or_default();
        if !is_temporary(&entry.file_name().to_string_lossy(), age) {
            continue;
        }
        if !(metadata.is_dir() || metadata.is_file()) || !is_own(&metadata) {
            continue;
        }
        let lock = File::open(entry.path());
        if lock.as_ref().is_ok_and(|lock| lock.try_lock().is_ok()) {
            // If one stays, it costs its space alone.
            let _ = if metadata.is_dir() {
                fs::remove_dir_all(entry.path())
            } else {
                fs::remove_file(entry.path())
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OutputFile, OutputFolder, ScratchFolder};

    /// Those of live processes stay, and so do others with similar names.
    #[test]
    fn what_dead_processes_left_is_removed() {
        let above = tempfile::tempdir().unwrap();
        let at = |name: &str| above.path().join(name);
        let names = || {
            let entries = fs::read_dir(above.path()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect::<BTreeSet<_>>()
        };
        let _alive = (
            ScratchFolder::new_in(above.path(), "grade").unwrap(),
            OutputFile::create("--json", &at("out.json")).unwrap(),
            OutputFolder::create("--out", &at("frames")).unwrap(),
        );
        // The last is of another machine, which may have locked it.
        let foreign = ".harness-0000-x1y2z3.tmp";
        for other in ["harness-old", "a.scratch", ".harness-a", "a.tmp", foreign] {
            fs::create_dir(at(other)).unwrap();
        }
        #[cfg(unix)]
        for link in ["harness-link.scratch", ".harness-link.tmp"] {
            std::os::unix::fs::symlink(at("harness-old"), at(link)).unwrap();
        }
        let stay = names();
        let own = |end: &str| format!("{}{}-{end}.tmp", crate::PREFIX, crate::machine());
        for folder in ["harness-grade-x1y2z3.scratch", &own("x1y2z3")] {
            fs::create_dir_all(at(folder).join("cases")).unwrap();
            fs::write(at(folder).join("cases/plan"), "text").unwrap();
        }
        fs::write(at(&own("a1b2c3")), "half").unwrap();
        for is_temporary in [crate::is_temporary, crate::scratch::is_scratch] {
            sweep_again(above.path(), is_temporary);
        }
        assert_eq!(names(), stay);
        let day = crate::FOREIGN;
        assert!(crate::is_temporary(foreign, day * 2) && !crate::is_temporary(foreign, day / 2));
    }

    #[test]
    fn what_is_removed_before_it_is_locked_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut made = 0;
        let (path, lock) = locked(|| {
            made += 1;
            let path = folder.path().join(made.to_string());
            if made == 3 {
                File::create(&path)?;
            }
            Ok(path)
        })
        .unwrap();
        assert!(lock.is_some() && path.ends_with("3"));
    }
}
