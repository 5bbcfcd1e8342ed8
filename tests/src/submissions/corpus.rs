//! Which submissions there are.

use std::fs;
use std::path::{Path, PathBuf};

use super::expect::Expectation;

/// The two files of a submission.
pub const FILES: [&str; 2] = ["kernels.rs", "launch.rs"];
/// The name of a packed one, in place of the two.
pub const BUNDLE: &str = "submission.bundle";

/// The folder of a corpus.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// As laid out in `tests/submissions`.
    pub root: PathBuf,
}

/// Which side of the corpus a submission is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Must get nothing for what it tries.
    Hostile,
    /// Must get everything.
    Honest,
}

impl Side {
    /// The name of its folder.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Hostile => "hostile",
            Side::Honest => "honest",
        }
    }
}

/// A submission with what is expected of it.
#[derive(Debug, Clone)]
pub struct Submission {
    /// The name of its folder.
    pub name: String,
    /// Which side it is on.
    pub side: Side,
    /// Its folder.
    pub dir: PathBuf,
    /// What is expected.
    pub expectation: Expectation,
}

impl Corpus {
    /// The project's own.
    pub fn of_the_project() -> Corpus {
        Corpus {
            root: Path::new(env!("CARGO_MANIFEST_DIR")).join("submissions"),
        }
    }

    /// The submissions, hostile ones first, each side by name.
    ///
    /// # Errors
    ///
    /// What cannot be read or makes no sense.
    pub fn submissions(&self) -> Result<Vec<Submission>, String> {
        let mut all = Vec::new();
        for side in [Side::Hostile, Side::Honest] {
            let folder = self.root.join(side.name());
            let entries = fs::read_dir(&folder).map_err(|error| at(&folder, error))?;
            let mut dirs = entries
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| at(&folder, error))?;
            dirs.sort();
            for dir in dirs {
                all.push(submission(side, dir)?);
            }
        }
        Ok(all)
    }

    /// The lab file that a submission is graded by.
    pub fn lab_file(&self, submission: &Submission) -> PathBuf {
        let course = submission.expectation.course();
        self.root.join("labs").join(course).with_extension("toml")
    }

    /// Puts a submission's folder together in `target`: its own files, and for those of the two that it does not have, the
    /// lab's right ones.
    ///
    /// # Errors
    ///
    /// What cannot be copied.
    pub fn assemble(&self, submission: &Submission, target: &Path) -> Result<(), String> {
        fs::create_dir_all(target).map_err(|error| at(target, error))?;
        let common = self.root.join("common").join(&submission.expectation.lab);
        for file in FILES {
            copy(&common.join(file), &target.join(file))?;
        }
        let entries = fs::read_dir(&submission.dir).map_err(|error| at(&submission.dir, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| at(&submission.dir, error))?;
            if entry.file_name() != "expect.toml" {
                copy(&entry.path(), &target.join(entry.file_name()))?;
            }
        }
        Ok(())
    }
}

fn submission(side: Side, dir: PathBuf) -> Result<Submission, String> {
    let file = dir.join("expect.toml");
    let text = fs::read_to_string(&file).map_err(|error| at(&file, error))?;
    let expectation = Expectation::parse(&text).map_err(|error| at(&file, error))?;
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    Ok(Submission {
        name: name.into_owned(),
        side,
        dir,
        expectation,
    })
}

/// Copies a file.
///
/// # Errors
///
/// Why it cannot be copied.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to)
        .map(drop)
        .map_err(|error| at(from, error))
}

fn at(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
