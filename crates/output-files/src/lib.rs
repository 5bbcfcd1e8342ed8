//! Files and folders that appear complete or not at all.
//!
//! Both get a temporary name beside their target before any work starts: a path that cannot be
//! written is thus known at once. They are renamed when they are complete. Two exist before that.
//! An [`OutputDocument`] is written whole, again and again. A [`GrowingFolder`] gets files that
//! each appear complete. [`OutputFiles`] get their names together.
//!
//! Files that a command reads are opened by [`input`], and no output replaces them. Temporary files
//! of a killed program are removed by the next one that writes in the folder.

mod claims;
pub mod digest;
mod document;
mod error;
mod growing_folder;
pub mod input;
pub mod interrupt;
pub mod native;
mod scratch;
mod stale;
mod together;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use tempfile::{Builder, NamedTempFile, TempDir};

use claims::Claimed;
use error::{NOT_EMPTY, no_folder, parent, refused};
use interrupt::Unfinished;

pub use claims::OutputPath;
pub use document::OutputDocument;
pub use error::{OutputError, not_written, unwritable};
pub use growing_folder::GrowingFolder;
pub use scratch::ScratchFolder;
pub use together::OutputFiles;

/// An unfinished file. If it is dropped without [`OutputFile::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct OutputFile {
    writer: BufWriter<Named>,
    target: PathBuf,
    unfinished: Unfinished,
    _lock: Option<File>,
    /// None for a file in a place that is claimed as a whole.
    claimed: Option<Claimed>,
}

impl OutputFile {
    /// Prepares to write `target`, which `flag` named. `finish` replaces an existing file.
    ///
    /// # Errors
    ///
    /// [`OutputError::Path`] if it cannot be written.
    pub fn create(flag: &str, target: &Path) -> Result<OutputFile, OutputError> {
        if target.is_dir() {
            let reason = "is a folder; name a file in it";
            return Err(OutputError::path(flag, target, reason));
        }
        // The new file would replace a device or a pipe instead of being written into it.
        if target.exists() && !target.is_file() {
            let reason = "is not an ordinary file, and would be replaced by one; name another";
            return Err(OutputError::path(flag, target, reason));
        }
        let folder = parent(flag, target)?;
        let claimed = Claimed::new(flag, target)?;
        let file =
            OutputFile::beside(folder, target).map_err(|error| refused(flag, target, &error))?;
        Ok(OutputFile {
            claimed: Some(claimed),
            ..file
        })
    }

    fn beside(folder: &Path, target: &Path) -> io::Result<OutputFile> {
        stale::sweep(folder, is_temporary);
        let make = || builder(0o666).tempfile_in(folder).map_err(without_path);
        let (file, lock, unfinished) = Unfinished::make(make)?;
        Ok(OutputFile {
            writer: BufWriter::new(Named(file)),
            target: target.to_owned(),
            unfinished,
            _lock: lock,
            claimed: None,
        })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// [`OutputError::NotWritten`], typically because the disk is full.
    pub fn finish(self) -> Result<PathBuf, OutputError> {
        self.name().0
    }

    /// As [`finish`](OutputFile::finish), and what says that an interruption removes it.
    fn name(self) -> (Result<PathBuf, OutputError>, Unfinished) {
        let failed = |error: io::Error| not_written(&self.target, error);
        let file = self
            .writer
            .into_inner()
            .map_err(|error| failed(error.into_error()));
        let named = file.and_then(|file| {
            let named = file.0.persist(&self.target);
            named.map_err(|error| failed(error.error))
        });
        (named.map(|_| self.target), self.unfinished)
    }

    /// Writes all of it and gives the file its name.
    ///
    /// # Errors
    ///
    /// [`OutputError::NotWritten`], typically because the disk is full.
    pub fn write_all(mut self, bytes: &[u8]) -> Result<PathBuf, OutputError> {
        self.put(bytes)?;
        self.finish()
    }

    /// Writes all of it, and keeps the temporary name.
    fn put(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        self.writer
            .write_all(bytes)
            .and_then(|()| self.writer.flush())
            .map_err(|error| not_written(&self.target, error))
    }

    /// Where to write.
    pub fn writer(&mut self) -> &mut impl Write {
        &mut self.writer
    }

    /// The name that the file gets in the end.
    pub fn target(&self) -> &Path {
        &self.target
    }
}

/// A file whose errors do not name it: its name is temporary.
#[derive(Debug)]
struct Named(NamedTempFile);

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_file_mut().flush()
    }
}

/// The system's error in one that names a temporary file.
fn without_path(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|named| named.source());
    let inner = inner.and_then(|inner| inner.downcast_ref::<io::Error>());
    let code = inner.and_then(io::Error::raw_os_error);
    code.map_or(error, io::Error::from_raw_os_error)
}

/// An unfinished folder. If it is dropped without [`OutputFolder::finish`], it leaves nothing
/// behind.
#[derive(Debug)]
pub struct OutputFolder {
    folder: TempDir,
    target: PathBuf,
    _unfinished: Unfinished,
    _lock: Option<File>,
    _claimed: Claimed,
}

impl OutputFolder {
    /// Prepares to write the folder `target`, which `flag` named. It must not exist yet, or be
    /// empty.
    ///
    /// # Errors
    ///
    /// [`OutputError::Path`] if it cannot be written, or holds something.
    pub fn create(flag: &str, target: &Path) -> Result<OutputFolder, OutputError> {
        if fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(OutputError::path(flag, target, NOT_EMPTY));
        }
        no_folder(flag, target)?;
        let parent = parent(flag, target)?;
        let claimed = Claimed::new(flag, target)?;
        stale::sweep(parent, is_temporary);
        let (folder, lock, unfinished) = Unfinished::make(|| builder(0o777).tempdir_in(parent))
            .map_err(|error| refused(flag, target, &error))?;
        Ok(OutputFolder {
            folder,
            target: target.to_owned(),
            _unfinished: unfinished,
            _lock: lock,
            _claimed: claimed,
        })
    }

    /// Creates a file in it.
    ///
    /// # Errors
    ///
    /// [`OutputError::NotWritten`], typically because the disk is full.
    pub fn file(&self, name: &str) -> Result<BufWriter<File>, OutputError> {
        File::create(self.folder.path().join(name))
            .map(BufWriter::new)
            .map_err(|error| not_written(&self.target.join(name), error))
    }

    /// The folder's path before [`finish`](OutputFolder::finish).
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The name that the folder gets in the end.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    ///
    /// [`OutputError::NotWritten`] if it cannot be renamed.
    pub fn finish(self) -> Result<PathBuf, OutputError> {
        // A folder can be renamed only over an empty one.
        fs::rename(self.folder.path(), &self.target)
            .map_err(|error| not_written(&self.target, error))?;
        // The temporary name no longer exists.
        let _ = self.folder.keep();
        Ok(self.target)
    }
}

/// Temporary names are hidden and name the program.
const PREFIX: &str = ".harness-";
const SUFFIX: &str = ".tmp";

/// Whether a file of this name and age is temporary, and its lock can be judged here.
fn is_temporary(name: &str, age: Duration) -> bool {
    let is_one = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    is_one && (name[PREFIX.len()..].starts_with(machine()) || age > FOREIGN)
}

/// Some cluster file systems show locks to the machine alone that has them. There, a temporary file
/// of another machine is stale when it is older.
const FOREIGN: Duration = Duration::from_secs(24 * 3600);

/// Tells this machine from others, since it was started.
fn machine() -> &'static str {
    static MACHINE: LazyLock<String> = LazyLock::new(|| {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.chars().take_while(char::is_ascii_alphanumeric).collect()
    });
    &MACHINE
}

/// Makes files and folders of such names. `mode` is as for any new file: the process's
/// umask applies.
fn builder(mode: u32) -> Builder<'static, 'static> {
    static FULL_PREFIX: LazyLock<String> = LazyLock::new(|| format!("{PREFIX}{}-", machine()));
    let mut builder = Builder::new();
    builder.prefix(FULL_PREFIX.as_str()).suffix(SUFFIX);
    native::with_mode(&mut builder, mode);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in a folder, sorted.
    pub fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.json");
        fs::write(&target, "old").unwrap();
        let mut file = OutputFile::create("--json", &target).unwrap();
        file.writer().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(folder.path()), ["out.json"]);
    }

    #[test]
    fn an_unfinished_file_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = OutputFile::create("--json", &folder.path().join("out.json")).unwrap();
        file.writer().write_all(b"half").unwrap();
        drop(file);
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn a_folder_appears_when_it_is_complete() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("frames");
        let folder = OutputFolder::create("--out", &target).unwrap();
        folder.file("0.png").unwrap().write_all(b"png").unwrap();
        assert!(!target.exists());
        folder.finish().unwrap();
        assert_eq!(names(parent.path()), ["frames"]);
        assert_eq!(names(&target), ["0.png"]);

        let failure = OutputFolder::create("--out", &target).unwrap_err();
        assert!(
            failure
                .to_string()
                .ends_with("frames: the folder is not empty; remove it, or name another")
        );
    }

    #[test]
    fn an_unfinished_folder_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let folder = OutputFolder::create("--out", &parent.path().join("frames")).unwrap();
        folder.file("0.png").unwrap();
        drop(folder);
        assert_eq!(names(parent.path()), [""; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn new_files_are_readable_as_any_other() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "").unwrap();
        let target = folder.path().join("out");
        OutputFile::create("--out", &target)
            .unwrap()
            .finish()
            .unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&target), mode(&other));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_ordinary_file_is_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let failure = OutputFile::create("--json", &socket).unwrap_err();
        assert!(
            failure.to_string().contains("is not an ordinary file"),
            "{failure}"
        );
        assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
        assert_eq!(names(folder.path()), ["socket"]);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let failure = OutputFile::create("--out", Path::new("no/such/wave.gif")).unwrap_err();
        insta::assert_snapshot!(failure, @"--out no/such/wave.gif: there is no folder no/such; create it first");
        assert!(matches!(failure, OutputError::Path { .. }));
        let below_file = OutputFile::create("--out", Path::new("Cargo.toml/a.gif")).unwrap_err();
        insta::assert_snapshot!(below_file, @"--out Cargo.toml/a.gif: Cargo.toml is not a folder; name another");
        let folder = OutputFile::create("--out", Path::new("src")).unwrap_err();
        insta::assert_snapshot!(folder, @"--out src: is a folder; name a file in it");
    }
}
