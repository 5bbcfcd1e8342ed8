//! Which submissions there are, and their kept reports.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use device::DeviceKind;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::arguments::is_folder;
use crate::report::json;
use exit::CommandError;
use grading::bundle::MAX_FILE_BYTES;
use grading::pack::absent;
use grading::report::{GradeReport, SCHEMA_VERSION};
use output_files::OutputFile;
use output_files::digest::hex;
use output_files::input::own_text;

/// A source file that is larger is refused, whatever it holds.
const MAX_SOURCE_BYTES: u64 = 1 << 20;

/// The files of a folder that count.
const FILES: [&str; 2] = ["kernels.rs", "launch.rs"];

/// Everything except the submission that a grade depends on. Of several GPUs of one model, any
/// gives the same grade.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Terms {
    /// SHA-256 of the program: of the grader, and of the references and built-in solutions in it. A
    /// version stays the same while they are mended.
    pub harness: String,
    /// SHA-256 of the course's crates, which submissions are compiled against; none without a
    /// course, as on a machine that grades bundles alone.
    pub course: Option<String>,
    /// The lab's name.
    pub lab: String,
    /// SHA-256 of the lab file.
    pub lab_file: String,
    /// The kind of device: `cuda`, `emulated`.
    pub device: String,
    /// The device's name.
    pub model: String,
    /// The seed, where one was given.
    pub seed: Option<u64>,
    /// The number that drawn cases follow from, where it was given or is the class's.
    pub draw: Option<u64>,
    /// How long a run may take, in seconds.
    pub deadline_s: f64,
    /// How long all runs together may take on the emulated device, in seconds.
    pub total_deadline_s: f64,
    /// Whether cases that could not be checked pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unchecked_pass: bool,
}

/// The SHA-256 of this program, for [`Terms`]. Two builds of the same sources may differ, so the
/// shards of a class are of one program.
///
/// # Errors
///
/// [`CommandError::Environment`] if the program's own file cannot be read.
pub fn program_digest() -> Result<String, CommandError> {
    let mut hash = Sha256::new();
    let file = std::env::current_exe().and_then(File::open);
    let hashed = file.and_then(|file| add_bytes(&mut hash, file));
    hashed.map(|()| hex(&hash.finalize())).map_err(|error| {
        CommandError::Environment(format!(
            "cannot read this program's own file, which tells its kept reports from those of another: {error}"
        ))
    })
}

/// The SHA-256 of the crates of the course in `root` that submissions are compiled against, for
/// [`Terms`].
///
/// # Errors
///
/// A file or folder that cannot be read.
pub fn course_digest(root: &Path) -> io::Result<String> {
    let (mut folders, mut files) = (Vec::new(), Vec::new());
    folders.extend(["crates", "kernels-gpu"].map(|name| root.join(name)));
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let is_source = path
                .extension()
                .is_some_and(|end| end == "rs" || end == "toml");
            // Built-in solutions are part of the program.
            if path.is_dir() && !path.ends_with("solutions") && !path.ends_with("target") {
                folders.push(path);
            } else if path.is_file() && is_source {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut hash = Sha256::new();
    for path in files {
        let name = path.strip_prefix(root).unwrap_or(&path);
        hash.update(name.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(Sha256::digest(fs::read(&path)?));
    }
    Ok(hex(&hash.finalize()))
}

/// A submission among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The name of its folder or file, which no other in the class has.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// The content of a class's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// By name: subfolders, and what has a name that ends in `.bundle`, whatever it is; no hidden
    /// ones.
    pub submissions: Vec<Submission>,
    /// The names of those that are links to what is elsewhere: who knows whose it is.
    pub links: Vec<String>,
    /// The names of what a Mac adds to an archive: no student handed it in.
    pub added: Vec<String>,
    /// The names of all else except the results: nothing is passed over in silence.
    pub others: Vec<String>,
}

/// The submissions in a folder.
///
/// # Errors
///
/// [`CommandError::Input`] if the folder cannot be read, or holds none.
pub fn submissions(folder: &Path, results: &Path) -> Result<Found, CommandError> {
    let refused = |reason: &dyn std::fmt::Display| {
        CommandError::Input(format!("--all {}: {reason}", folder.display()))
    };
    is_folder("--all ", folder, "name the one with the submissions")?;
    let results = fs::canonicalize(results).ok();
    let class = fs::canonicalize(folder).map_err(|error| refused(&error))?;
    // One that leads nowhere belongs to this folder.
    let leads_out = |path: &Path| {
        path.is_symlink() && fs::canonicalize(path).is_ok_and(|target| !target.starts_with(&class))
    };
    let mut found = Found {
        submissions: Vec::new(),
        links: Vec::new(),
        added: Vec::new(),
        others: Vec::new(),
    };
    for entry in fs::read_dir(folder).map_err(|error| refused(&error))? {
        let path = entry.map_err(|error| refused(&error))?.path();
        let Some(name) = path.file_name().map(shown) else {
            continue;
        };
        if results.is_some() && fs::canonicalize(&path).ok() == results {
            continue;
        }
        let is_one = path.is_dir() || path.extension().is_some_and(|ending| ending == "bundle");
        if name == "__MACOSX" {
            found.added.push(name);
        } else if !is_one || name.starts_with('.') {
            found.others.push(name);
        } else if leads_out(&path) {
            found.links.push(name);
        } else {
            found.submissions.push(Submission { name, path });
        }
    }
    if found.submissions.is_empty() {
        return Err(refused(&match found.links.len() {
            0 => "no submissions in it: no folders and no .bundle files",
            _ => "no submissions in it, but links that lead out of it; copy what they lead to",
        }));
    }
    found.submissions.sort_by(|a, b| a.name.cmp(&b.name));
    found.links.sort();
    found.others.sort();
    Ok(found)
}

/// A name as it is shown and told from others. A byte that is not UTF-8 is written as `/xff`, which
/// no file's name has.
fn shown(name: &OsStr) -> String {
    let mut shown = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        shown += chunk.valid();
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(shown, "/x{byte:02x}");
        }
    }
    shown
}

/// The first part of every key of a store, as JSON with these names.
#[derive(Serialize)]
struct KeyTerms<'t> {
    /// Goes up when a key is made in another way.
    key_version: u32,
    report_schema: u32,
    terms: &'t Terms,
}

/// Kept reports. Several processes may use one folder: each report is written under a temporary
/// name, and the same key has the same content.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    terms: Vec<u8>,
}

impl Store {
    /// Opens the results folder, and makes it where there is none.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if it cannot be made.
    pub fn open(results: &Path, terms: &Terms) -> Result<Store, CommandError> {
        let folder = results.join("reports");
        fs::create_dir_all(&folder).map_err(|error| {
            CommandError::Input(format!(
                "cannot make the folder {}: {error}",
                folder.display()
            ))
        })?;
        let terms = KeyTerms {
            key_version: 1,
            report_schema: SCHEMA_VERSION,
            terms,
        };
        let terms = serde_json::to_vec(&terms)
            .map_err(|error| CommandError::Bug(format!("the terms have no JSON form: {error}")))?;
        Ok(Store { folder, terms })
    }

    /// The devices that the kept reports are of, by name.
    pub fn devices(results: &Path) -> BTreeMap<String, DeviceKind> {
        let entries = fs::read_dir(results.join("reports")).into_iter().flatten();
        let reports = entries.filter_map(|entry| read_report(&entry.ok()?.path()));
        let devices = reports.filter_map(|report| report.device_info);
        devices.map(|device| (device.name, device.kind)).collect()
    }

    /// The key of a submission: the SHA-256 of its files and of how it is graded.
    pub fn key(&self, submission: &Submission) -> String {
        let mut hash = Sha256::new();
        // Each part with its length, so that no two sequences of parts run together the same way.
        hash.update((self.terms.len() as u64).to_le_bytes());
        hash.update(&self.terms);
        if submission.path.is_dir() {
            for name in FILES {
                hash.update(name);
                let path = submission.path.join(name);
                // A link is refused, wherever it leads.
                let metadata = fs::symlink_metadata(&path);
                // The report of one that is missing names what is there instead.
                if metadata.is_err() {
                    hash.update(absent(&submission.path, name));
                }
                add_file(&mut hash, &path, metadata, MAX_SOURCE_BYTES);
            }
        } else {
            let metadata = fs::metadata(&submission.path);
            add_file(&mut hash, &submission.path, metadata, MAX_FILE_BYTES);
        }
        hex(&hash.finalize())
    }

    /// The report that is kept under this key, with the page that replays a case, if it has one;
    /// none if there is none that this program can read.
    pub fn load(&self, key: &str) -> Option<GradeReport> {
        let report = read_report(&self.file(key))?;
        let replayed = own_text(&self.replay(key)).ok();
        Some(GradeReport {
            replayed: replayed.and_then(|text| serde_json::from_str(&text).ok()),
            ..report
        })
    }

    /// Keeps a report.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if it cannot be written.
    pub fn keep(&self, key: &str, report: &GradeReport) -> Result<(), CommandError> {
        // The report comes last: what it belongs to is there whenever it is.
        if let Some(replayed) = &report.replayed {
            let text = serde_json::to_string(replayed).expect("it is two texts");
            OutputFile::create("-o", &self.replay(key))?.write_all(text.as_bytes())?;
        }
        OutputFile::create("-o", &self.file(key))?.write_all(json(report)?.as_bytes())?;
        Ok(())
    }

    /// Removes the report that is kept under this key, if there is one.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if it cannot be removed.
    pub fn forget(&self, key: &str) -> Result<(), CommandError> {
        [self.file(key), self.replay(key)]
            .into_iter()
            .try_for_each(|file| match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let message = format!("cannot remove {}: {error}", file.display());
                    Err(CommandError::Environment(message))
                }
                _ => Ok(()),
            })
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    /// The file of the page that replays a case.
    fn replay(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.replay"))
    }
}

/// The report in a file, if this program can read it.
fn read_report(file: &Path) -> Option<GradeReport> {
    let text = own_text(file).ok()?;
    let report: GradeReport = serde_json::from_str(&text).ok()?;
    (report.schema_version == SCHEMA_VERSION).then_some(report)
}

/// Adds a file of at most `max_bytes` to a hash, or why it cannot: a larger one, or one that is not
/// a plain file, is not opened.
fn add_file(hash: &mut Sha256, path: &Path, metadata: io::Result<Metadata>, max_bytes: u64) {
    let mut why_not = |what: &str| hash.update(what.as_bytes());
    let length = match metadata {
        // Each has words of its own.
        Ok(metadata) if metadata.is_symlink() => return why_not("a link"),
        Ok(metadata) if metadata.is_dir() => return why_not("a folder"),
        Ok(metadata) if !metadata.is_file() => return why_not("no plain file"),
        Ok(metadata) if metadata.len() > max_bytes => return why_not("too large"),
        Ok(metadata) => metadata.len(),
        Err(error) => return why_not(&error.kind().to_string()),
    };
    hash.update(length.to_le_bytes());
    let hashed = File::open(path).and_then(|file| add_bytes(hash, file.take(max_bytes)));
    if let Err(error) = hashed {
        hash.update(error.kind().to_string());
    }
}

/// Adds all that is read.
fn add_bytes(hash: &mut Sha256, bytes: impl Read) -> io::Result<()> {
    let mut bytes = BufReader::new(bytes);
    while let piece @ [_, ..] = bytes.fill_buf()? {
        hash.update(piece);
        let length = piece.len();
        bytes.consume(length);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms {
        Terms {
            harness: "01".to_owned(),
            course: None,
            lab: "wave2d".to_owned(),
            lab_file: "00".to_owned(),
            device: "cuda".to_owned(),
            model: "NVIDIA H100".to_owned(),
            seed: None,
            draw: Some(7),
            deadline_s: 60.0,
            total_deadline_s: 600.0,
            unchecked_pass: false,
        }
    }

    #[test]
    fn the_course_is_what_submissions_are_compiled_against() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("crates/plan/src/lib.rs", "a");
        put("kernels-gpu/Cargo.toml", "b");
        let digest = || course_digest(folder.path()).unwrap();
        let first = digest();
        for name in [
            "kernels-gpu/solutions/x/kernels.rs",
            "crates/plan/README.md",
            "labs/a.rs",
        ] {
            put(name, "c");
            assert_eq!(digest(), first, "{name}");
        }
        put("crates/plan/src/lib.rs", "aa");
        assert_ne!(digest(), first);
        put("crates/plan/src/lib.rs", "a");
        assert_eq!(digest(), first);
        put("crates/plan/src/new.rs", "");
        assert_ne!(digest(), first);
    }

    /// A mended program is another one, and finds no reports of the old one.
    #[test]
    fn a_program_is_known_by_its_bytes() {
        assert_eq!(program_digest().unwrap(), program_digest().unwrap());
        assert_eq!(program_digest().unwrap().len(), 64);
        let folder = tempfile::tempdir().unwrap();
        let key = |harness: &str, course: Option<&str>| {
            let terms = Terms {
                harness: harness.to_owned(),
                course: course.map(str::to_owned),
                ..terms()
            };
            let path = folder.path().join("ada");
            let name = "ada".to_owned();
            Store::open(folder.path(), &terms)
                .unwrap()
                .key(&Submission { name, path })
        };
        assert_eq!(key("01", None), key("01", None));
        assert_ne!(key("01", None), key("02", None));
        assert_ne!(key("01", None), key("01", Some("03")));
    }

    /// Submissions without a file share no report: it names what is there instead.
    #[test]
    fn what_is_there_instead_of_a_file_is_part_of_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &terms()).unwrap();
        let key = |name: &str, file: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(file), "").unwrap();
            let name = name.to_owned();
            store.key(&Submission { name, path })
        };
        assert_ne!(key("ada", "Kernels.rs"), key("bob", "kernels.rs.txt"));
        assert_eq!(key("cleo", "notes.txt"), key("dan", "todo.txt"));
    }

    /// Kept reports are found by these bytes: a change of one is a change of `key_version`.
    #[test]
    fn a_key_is_a_hash_of_named_fields() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), &terms()).unwrap();
        insta::assert_snapshot!(String::from_utf8_lossy(&store.terms), @r#"{"key_version":1,"report_schema":3,"terms":{"harness":"01","course":null,"lab":"wave2d","lab_file":"00","device":"cuda","model":"NVIDIA H100","seed":null,"draw":7,"deadline_s":60.0,"total_deadline_s":600.0}}"#);
        let path = folder.path().join("ada");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("kernels.rs"), "// kernels").unwrap();
        fs::write(path.join("launch.rs"), "// launch").unwrap();
        let name = "ada".to_owned();
        insta::assert_snapshot!(store.key(&Submission { name, path }), @"fb00a8f050fbdb488346a25830cc8afac9e083cc33089ecfe555c966316f8e20");
    }
}
