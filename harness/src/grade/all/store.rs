//! Which submissions there are, and their kept reports.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use exit::CommandError;
use grading::bundle::MOST_FILE_BYTES;
use grading::report::{GradeReport, SCHEMA_VERSION};
use output_files::OutputFile;
use output_files::digest::hex;

/// A source file that is larger is refused, whatever it holds.
const MOST_SOURCE_BYTES: u64 = 1 << 20;

/// The files of a folder that count.
const FILES: [&str; 2] = ["kernels.rs", "launch.rs"];

/// Everything that a grade depends on besides the submission. Which of several GPUs of one model graded it does not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The program's version.
    pub harness: String,
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
    /// What drawn cases follow from, where that was given.
    #[serde(default)]
    pub draw: Option<u64>,
    /// How long a run may take, in seconds.
    pub deadline_s: f64,
    /// How long all runs together may take on the emulated device, in seconds.
    pub total_deadline_s: f64,
}

impl Terms {
    /// What they say, by the names that users know.
    pub fn by_name(&self) -> [(&'static str, String); 9] {
        let or_secret =
            |number: Option<u64>| number.map_or("secret".to_owned(), |number| number.to_string());
        [
            ("the harness's version", self.harness.clone()),
            ("the lab", self.lab.clone()),
            ("the lab file's SHA-256", self.lab_file.clone()),
            ("--device", self.device.clone()),
            ("the device", self.model.clone()),
            ("--seed", or_secret(self.seed)),
            ("--draw", or_secret(self.draw)),
            ("--deadline", format!("{} s", self.deadline_s)),
            ("--total-deadline", format!("{} s", self.total_deadline_s)),
        ]
    }
}

/// A submission among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The name of its folder or file, which no other in the class has.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// What is in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// By name: subfolders, and what has a name that ends in `.bundle`, whatever it is; no hidden ones.
    pub submissions: Vec<Submission>,
    /// The names of those that are links to what is elsewhere: who knows whose it is.
    pub links: Vec<String>,
    /// The names of what else there is, but for the results: nothing is passed over in silence.
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
    let results = fs::canonicalize(results).ok();
    let class = fs::canonicalize(folder).map_err(|error| refused(&error))?;
    // One that leads nowhere is no one else's.
    let leads_out = |path: &Path| {
        path.is_symlink() && fs::canonicalize(path).is_ok_and(|target| !target.starts_with(&class))
    };
    let mut found = Found {
        submissions: Vec::new(),
        links: Vec::new(),
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
        if !is_one || name.starts_with('.') {
            found.others.push(name);
        } else if leads_out(&path) {
            found.links.push(name);
        } else {
            found.submissions.push(Submission { name, path });
        }
    }
    if found.submissions.is_empty() {
        return Err(refused(&match found.links.len() {
            0 => "no submissions in it: neither folders nor .bundle files",
            _ => "no submissions in it, but links that lead out of it; copy what they lead to",
        }));
    }
    found.submissions.sort_by(|a, b| a.name.cmp(&b.name));
    found.links.sort();
    found.others.sort();
    Ok(found)
}

/// A name as it is shown and told from others. What is not UTF-8 is written as `/xff`, which no file's name has.
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

/// Kept reports.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    terms: String,
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
        Ok(Store {
            folder,
            terms: format!("{terms:?}"),
        })
    }

    /// What the submission is and how it is graded, as one hexadecimal number.
    pub fn key(&self, submission: &Submission) -> String {
        let mut hash = Sha256::new();
        // Each part with its length, so that no two sequences of parts run together the same way.
        hash.update((self.terms.len() as u64).to_le_bytes());
        hash.update(&self.terms);
        hash.update(SCHEMA_VERSION.to_le_bytes());
        if submission.path.is_dir() {
            for name in FILES {
                hash.update(name);
                let path = submission.path.join(name);
                // A link is refused, wherever it leads.
                let metadata = fs::symlink_metadata(&path);
                add_file(&mut hash, &path, metadata, MOST_SOURCE_BYTES);
            }
        } else {
            let metadata = fs::metadata(&submission.path);
            add_file(&mut hash, &submission.path, metadata, MOST_FILE_BYTES);
        }
        hex(&hash.finalize())
    }

    /// The report that is kept under this key; none if there is none that this program can read.
    pub fn load(&self, key: &str) -> Option<GradeReport> {
        let text = fs::read(self.file(key)).ok()?;
        let report: GradeReport = serde_json::from_slice(&text).ok()?;
        (report.schema_version == SCHEMA_VERSION).then_some(report)
    }

    /// Keeps a report.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if it cannot be written.
    pub fn keep(&self, key: &str, json: &str) -> Result<(), CommandError> {
        OutputFile::create("-o", &self.file(key))?.write_all(json.as_bytes())?;
        Ok(())
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}

/// Adds a file of at most so many bytes to a hash, or why it is none: what is larger, or no plain file, is not opened.
fn add_file(hash: &mut Sha256, path: &Path, metadata: io::Result<Metadata>, most_bytes: u64) {
    let mut why_not = |what: &str| hash.update(what.as_bytes());
    let length = match metadata {
        // What is said of each differs.
        Ok(metadata) if metadata.is_symlink() => return why_not("a link"),
        Ok(metadata) if metadata.is_dir() => return why_not("a folder"),
        Ok(metadata) if !metadata.is_file() => return why_not("no plain file"),
        Ok(metadata) if metadata.len() > most_bytes => return why_not("too large"),
        Ok(metadata) => metadata.len(),
        Err(error) => return why_not(&error.kind().to_string()),
    };
    hash.update(length.to_le_bytes());
    let hashed = File::open(path).and_then(|file| {
        let mut file = BufReader::new(file.take(most_bytes));
        while let piece @ [_, ..] = file.fill_buf()? {
            hash.update(piece);
            let length = piece.len();
            file.consume(length);
        }
        Ok(())
    });
    if let Err(error) = hashed {
        hash.update(error.kind().to_string());
    }
}
