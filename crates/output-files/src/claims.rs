//! The places that this process is going to write, and those that it reads: no output takes
//! another's, and none replaces an input.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::OutputError;
use crate::native::identity;

static CLAIMED: Mutex<Vec<Claim>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Claim {
    place: PathBuf,
    /// The flag that is going to write there; none for what is read.
    owner: Option<String>,
}

/// The value of an argument that names a file or folder to write. The command line takes every
/// other path for one that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPath(PathBuf);

impl OutputPath {
    /// Refuses a path that no output may have, before any is opened. What is wrong with a folder,
    /// who makes it tells.
    ///
    /// # Errors
    ///
    /// [`OutputError::Path`] if `flag` names what this command reads, or somebody's source.
    pub fn check(&self, flag: &str) -> Result<(), OutputError> {
        if self.is_dir() {
            Ok(())
        } else {
            Claimed::new(flag, self).map(drop)
        }
    }
}

impl From<OsString> for OutputPath {
    fn from(text: OsString) -> OutputPath {
        OutputPath(text.into())
    }
}

impl From<PathBuf> for OutputPath {
    fn from(path: PathBuf) -> OutputPath {
        OutputPath(path)
    }
}

impl Deref for OutputPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

/// A place that is this output's until it is dropped.
#[derive(Debug)]
pub(crate) struct Claimed(PathBuf);

impl Claimed {
    /// Claims `target`, which `flag` named.
    ///
    /// # Errors
    ///
    /// [`OutputError::Path`] if it is another output's, an input, or somebody's source.
    pub(crate) fn new(flag: &str, target: &Path) -> Result<Claimed, OutputError> {
        let refused = |reason: String| Err(OutputError::path(flag, target, reason));
        let (place, identity) = (place(target), identity(target));
        let mut claimed = lock();
        let is_read = |claim: &Claim| {
            // Of the file that is there now: the number of one that is gone is soon another's.
            let is_same =
                || identity.is_some() && crate::native::identity(&claim.place) == identity;
            claim.owner.is_none() && (claim.place == place || is_same())
        };
        if claimed.iter().any(is_read) {
            return refused("this command reads it; name another".to_owned());
        }
        if let Some(other) = claimed.iter().find(|claim| claim.place == place) {
            let other = other.owner.as_deref().unwrap_or_default();
            return refused(if other == flag {
                "is named twice".to_owned()
            } else {
                format!("{other} writes there, too; name another")
            });
        }
        if is_source(target) {
            return refused(
                "is source, which this command does not write; name another".to_owned(),
            );
        }
        claimed.push(Claim {
            place: place.clone(),
            owner: Some(flag.to_owned()),
        });
        Ok(Claimed(place))
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        lock().retain(|claim| claim.place != self.0 || claim.owner.is_none());
    }
}

/// Claims what is read, by whatever name, for as long as the process runs. The flag that is going
/// to write there, if there is one.
pub(crate) fn spare(path: &Path) -> Option<String> {
    let place = place(path);
    let linked = path.canonicalize().ok();
    let mut claimed = lock();
    let mut here = claimed.iter().filter(|claim| {
        claim.place == place || linked.as_ref().is_some_and(|linked| claim.place == *linked)
    });
    let writer = here.find_map(|claim| claim.owner.clone());
    let is_known = |claim: &Claim| claim.owner.is_none() && claim.place == place;
    if !claimed.iter().any(is_known) {
        let owner = None;
        claimed.push(Claim { place, owner });
    }
    writer
}

/// Whether a file is one that people write, and no command does: a command may read it without
/// being told its name, as `profile` does with kernels.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let ending = path.extension().unwrap_or_default();
    let names = ["Cargo.lock", "Cargo.toml", "hints.toml", "lab.toml"];
    path.is_file()
        && (ending == "rs" || ending == "md" || names.iter().any(|source| name == *source))
}

/// One name for a file, which need not be there: without links among its folders.
fn place(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    }
}

fn lock() -> MutexGuard<'static, Vec<Claim>> {
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        let twice = OutputFile::create("--gif", &target).unwrap_err();
        assert!(twice.to_string().ends_with(": is named twice"), "{twice}");
        first.finish().unwrap();
        OutputFile::create("--gif", &target).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn what_is_read_is_not_replaced_by_any_of_its_names() {
        use crate::input::spare;
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("read"), "old").unwrap();
        fs::hard_link(at("read"), at("hard")).unwrap();
        symlink("read", at("link")).unwrap();
        symlink(".", at("folder")).unwrap();
        // Read by the name of a link: both it and the file stay.
        spare(&at("link"));
        for name in ["link", "read", "hard", "folder/read", "folder/../read"] {
            let target = match name {
                "folder/../read" => folder.path().join("folder/./read"),
                _ => at(name),
            };
            let said = OutputFile::create("-o", &target).unwrap_err().to_string();
            let expected = ": this command reads it; name another";
            assert!(said.ends_with(expected), "{said}");
        }
        assert_eq!(fs::read_to_string(at("read")).unwrap(), "old");
        OutputFile::create("-o", &at("other")).unwrap();
    }

    #[test]
    fn source_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        for (name, is_source) in [("kernels.rs", true), ("lab.toml", true), ("a.json", false)] {
            let target = folder.path().join(name);
            drop(OutputFile::create("--json", &target).unwrap());
            fs::write(&target, "").unwrap();
            let again = OutputFile::create("--json", &target);
            assert_eq!(again.is_err(), is_source, "{name}");
        }
    }
}
