//! The places that this process is going to write, and those that it reads: no output takes
//! another's.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::OutputError;

/// Places, each with the flag that is going to write there; none for a file that is read.
static CLAIMED: Mutex<Vec<(PathBuf, Option<String>)>> = Mutex::new(Vec::new());

/// A place that is this output's until it is dropped.
#[derive(Debug)]
pub(crate) struct Claimed(PathBuf);

impl Claimed {
    /// Claims `target`, which `flag` named.
    ///
    /// # Errors
    ///
    /// [`OutputError::Path`] if it is another output's, or an input.
    pub(crate) fn new(flag: &str, target: &Path) -> Result<Claimed, OutputError> {
        let place = place(target);
        let mut claimed = lock();
        let Some((_, owner)) = claimed.iter().find(|(path, _)| *path == place) else {
            claimed.push((place.clone(), Some(flag.to_owned())));
            return Ok(Claimed(place));
        };
        let reason = match owner {
            None => "this command reads it; name another".to_owned(),
            Some(other) if other == flag => "is named twice".to_owned(),
            Some(other) => format!("{other} writes there, too; name another"),
        };
        Err(OutputError::path(flag, target, reason))
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        lock().retain(|(path, owner)| *path != self.0 || owner.is_none());
    }
}

/// Claims a file that is read, and that to which it links, for as long as the process runs.
pub(crate) fn spare(path: &Path) {
    let mut claimed = lock();
    let linked = path.canonicalize().ok();
    for place in linked.into_iter().chain([place(path)]) {
        if claimed.iter().all(|(other, _)| *other != place) {
            claimed.push((place, None));
        }
    }
}

/// One name for a file, which need not be there: without links among its folders.
fn place(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

fn lock() -> MutexGuard<'static, Vec<(PathBuf, Option<String>)>> {
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use crate::{OutputDocument, OutputFile, OutputFolder};

    #[test]
    fn two_outputs_do_not_share_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x");
        let document = OutputDocument::create("--json", &target).unwrap();
        let said = OutputFile::create("--html", &target).unwrap_err();
        let expected = format!(
            "--html {}: --json writes there, too; name another",
            target.display()
        );
        assert_eq!(said.to_string(), expected);
        // By another name of the folder.
        let roundabout = folder.path().join(".").join("x");
        assert!(OutputFolder::create("--out", &roundabout).is_err());
        assert!(!target.exists());
        drop(document);
        let first = OutputFile::create("--gif", &target).unwrap();
        let said = OutputFile::create("--gif", &target).unwrap_err();
        assert!(said.to_string().ends_with(": is named twice"), "{said}");
        first.finish().unwrap();
        OutputFile::create("--gif", &target).unwrap();
    }
}
