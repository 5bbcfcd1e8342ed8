//! A results folder holds more than reports: the number that a class's hidden cases follow from,
//! and a lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use exit::CommandError;
use grading::engine::Seeds;
use output_files::input::{own_text, unreadable};
use output_files::native;

/// The file of the class's draw.
const DRAW: &str = "draw";
/// The file that is locked.
const LOCK: &str = "lock";

/// The number that all hidden cases of a class follow from, if one was drawn for this results
/// folder.
///
/// # Errors
///
/// [`CommandError::Input`] if its file cannot be read, or holds no number.
pub fn kept_draw(results: &Path) -> Result<Option<u64>, CommandError> {
    let file = results.join(DRAW);
    is_plain(&file)?;
    let text = match own_text(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(&file, &unreadable(&error))),
    };
    match text.trim().parse() {
        Ok(draw) => Ok(Some(draw)),
        Err(_) => Err(unusable(
            &file,
            &"it does not hold the number of a draw; remove it to draw again, which grades all again",
        )),
    }
}

/// The number that all hidden cases of a class follow from. Drawn, where the results folder has
/// none: secretly, once, in a file that its owner alone can read.
///
/// # Errors
///
/// [`CommandError`] if its file cannot be written or read.
pub fn class_draw(results: &Path) -> Result<u64, CommandError> {
    if let Some(draw) = kept_draw(results)? {
        return Ok(draw);
    }
    let draw = Seeds::secret()?.0;
    let file = results.join(DRAW);
    // Written under another name: of several shards that begin at once, one's number is taken, and
    // no other reads half of it.
    let own = results.join(format!("{DRAW}-{draw:016x}"));
    let written = write_private(&own, &format!("{draw}\n"));
    let linked = written.and_then(|()| fs::hard_link(&own, &file));
    let removed = fs::remove_file(&own);
    match linked {
        Ok(()) => removed.map_err(|error| unusable(&own, &error)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(unusable(&file, &error)),
    }?;
    kept_draw(results)?.ok_or_else(|| unusable(&file, &"it is gone"))
}

fn write_private(file: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    native::private(&mut options);
    options.open(file)?.write_all(text.as_bytes())
}

/// Holds a results folder until it is dropped, or the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock is the open file's")] Option<File>);

impl Lock {
    /// Takes the results folder, alone, or, as a shard, with other shards. Where the file system
    /// has no locks, nothing is locked.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if another process has it.
    pub fn take(results: &Path, is_shard: bool) -> Result<Lock, CommandError> {
        let path = results.join(LOCK);
        is_plain(&path)?;
        let file = File::create(&path).map_err(|error| unusable(&path, &error))?;
        let locked = if is_shard {
            file.try_lock_shared()
        } else {
            file.try_lock()
        };
        match locked {
            Ok(()) => Ok(Lock(Some(file))),
            Err(TryLockError::Error(_)) => Ok(Lock(None)),
            Err(TryLockError::WouldBlock) => Err(CommandError::Input(format!(
                "-o {}: another `harness grade --all` works with this folder; wait until it has ended",
                results.display()
            ))),
        }
    }
}

/// Refuses what would be waited for, or is a folder.
fn is_plain(file: &Path) -> Result<(), CommandError> {
    match file.metadata() {
        Ok(found) if !found.is_file() => Err(unusable(
            file,
            &"is not a file of this program's; remove it, or name another folder for the results",
        )),
        _ => Ok(()),
    }
}

fn unusable(file: &Path, why: &dyn std::fmt::Display) -> CommandError {
    let file: PathBuf = file.to_owned();
    CommandError::Input(format!("{}: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_one_draw() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(kept_draw(folder.path()), Ok(None));
        let draw = class_draw(folder.path()).unwrap();
        assert_eq!(class_draw(folder.path()), Ok(draw));
        assert_eq!(kept_draw(folder.path()), Ok(Some(draw)));
        let other = tempfile::tempdir().unwrap();
        assert_ne!(class_draw(other.path()).unwrap(), draw);
        // Nothing else is left, and others cannot read it.
        let names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, [DRAW]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let metadata = fs::metadata(folder.path().join(DRAW)).unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        }
        fs::write(folder.path().join(DRAW), "x").unwrap();
        let message = class_draw(folder.path()).unwrap_err().to_string();
        assert!(message.ends_with("draw: it does not hold the number of a draw; remove it to draw again, which grades all again"), "{message}");
    }

    /// Several shards that begin at once have the same.
    #[test]
    fn shards_share_the_draw() {
        let folder = tempfile::tempdir().unwrap();
        let drawn = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| class_draw(folder.path()).unwrap()))
                .collect();
            let drawn = threads.into_iter().map(|thread| thread.join().unwrap());
            drawn.collect::<Vec<_>>()
        });
        assert!(drawn.iter().all(|draw| *draw == drawn[0]), "{drawn:?}");
    }

    #[test]
    fn one_at_a_time_and_shards_together() {
        let folder = tempfile::tempdir().unwrap();
        let take = |is_shard| Lock::take(folder.path(), is_shard);
        let alone = take(false).unwrap();
        let message = take(false).unwrap_err().to_string();
        assert!(
            message.contains("another `harness grade --all` works with this folder"),
            "{message}"
        );
        assert!(take(true).is_err());
        drop(alone);
        let shards = (take(true).unwrap(), take(true).unwrap());
        assert!(take(false).is_err());
        drop(shards);
        take(false).unwrap();
    }
}
