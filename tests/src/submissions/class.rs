//! A class whose members hand in submissions of the corpus, all to one lab. One call grades them,
//! and asks the compilers once what they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::grading::DEADLINE_S;
use super::{Corpus, Row, Side, Submission, check};
use crate::grade::GradeReport;

/// The lab of [`Class::of_both_sides`]: that which most of the corpus is for.
const LAB: &str = "wave2d";
/// Its members of each side.
const MEMBERS: usize = 20;

/// Submissions to one lab, by one lab file: a folder, with a folder for each.
#[derive(Debug)]
pub struct Class {
    folder: PathBuf,
    lab: String,
    lab_file: PathBuf,
    /// With the names of their folders.
    members: Vec<(String, Submission)>,
}

impl Class {
    /// Writes a class into a new folder: as many hostile as honest members, from the whole corpus.
    /// Honest submissions come again if there are too few.
    ///
    /// # Errors
    ///
    /// A folder that cannot be written, or a corpus that is too small.
    pub fn of_both_sides(corpus: &Corpus, folder: &Path) -> Result<Class, String> {
        let mut of_lab = corpus.submissions()?;
        of_lab.retain(|it| it.lab == LAB && corpus.lab_file(it).ends_with(format!("{LAB}.toml")));
        let first = of_lab.first().ok_or("the corpus has nothing for the lab")?;
        let mut class = Class::empty(corpus, first, folder);
        for side in [Side::Hostile, Side::Honest] {
            let all: Vec<&Submission> = of_lab.iter().filter(|it| it.side == side).collect();
            for member in 0..MEMBERS {
                // Evenly, or one after the other and again.
                let index = if all.len() < MEMBERS {
                    member % all.len()
                } else {
                    member * all.len() / MEMBERS
                };
                let name = format!("{}-{member:02}", side.name());
                let path = class.add(corpus, all[index], name.clone())?;
                // No two have the same content.
                let launch = path.join("launch.rs");
                let mut text = fs::read_to_string(&launch).map_err(|error| at(&launch, error))?;
                text += &format!("// {name}\n");
                fs::write(&launch, text).map_err(|error| at(&launch, error))?;
            }
        }
        Ok(class)
    }

    /// Writes these submissions, which have one lab file, into a new folder.
    ///
    /// # Errors
    ///
    /// A folder that cannot be written.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn of(
        corpus: &Corpus,
        submissions: &[&Submission],
        folder: &Path,
    ) -> Result<Class, String> {
        let mut class = Class::empty(corpus, submissions[0], folder);
        for submission in submissions {
            class.add(corpus, submission, submission.name.clone())?;
        }
        Ok(class)
    }

    /// A class without members, of the same lab as this submission.
    fn empty(corpus: &Corpus, submission: &Submission, folder: &Path) -> Class {
        Class {
            folder: folder.to_owned(),
            lab: submission.lab.clone(),
            lab_file: corpus.lab_file(submission),
            members: Vec::new(),
        }
    }

    /// Writes a member's folder, and returns it.
    fn add(
        &mut self,
        corpus: &Corpus,
        submission: &Submission,
        name: String,
    ) -> Result<PathBuf, String> {
        let path = self.folder.join("class").join(&name);
        corpus.write(submission, &path)?;
        self.members.push((name, submission.clone()));
        Ok(path)
    }

    /// Grades all by one call of the program, on the emulated device.
    ///
    /// # Errors
    ///
    /// If the program cannot be started, or does not end with grades.
    pub fn grade(&self, program: &Path, seed: Option<u64>) -> Result<(), String> {
        let mut command = Command::new(program);
        command.args(["grade", "--lab", &self.lab, "--device", "emulated"]);
        command.args(["--deadline", DEADLINE_S, "--without-isolation"]);
        command.arg("--lab-file").arg(&self.lab_file);
        command.arg("--all").arg(self.folder.join("class"));
        command.arg("-o").arg(self.results());
        if let Some(seed) = seed {
            command.args(["--seed", &seed.to_string()]);
        }
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        match output.status.code() {
            // All are graded; some are wrong, or undecided.
            Some(0 | 1 | 5) => Ok(()),
            _ => Err(format!(
                "`grade --all` ended by {}, {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }

    fn results(&self) -> PathBuf {
        self.folder.join("results")
    }

    /// Each member's grade, compared with what is expected of the submission. `seconds` is the time
    /// of all grades together.
    ///
    /// # Errors
    ///
    /// A class without results. The row of a member without a report says so.
    pub fn rows(&self, seconds: f64) -> Result<Vec<Row>, String> {
        let folder = self.results().join("reports");
        let files = fs::read_dir(&folder).map_err(|error| at(&folder, error))?;
        let mut reports = BTreeMap::new();
        for file in files.filter_map(Result::ok) {
            let text = fs::read(file.path()).map_err(|error| at(&file.path(), error))?;
            if let Ok(report) = serde_json::from_slice::<GradeReport>(&text) {
                reports.insert(report.submission.name.clone(), report);
            }
        }
        let row = |(name, submission): &(String, Submission)| {
            let report = reports.get(name).ok_or(format!("{name} has no report"));
            Row {
                submission: submission.clone(),
                result: report.and_then(|report| check(submission, report, "emulated")),
                times: String::new(),
                seconds: seconds / self.members.len() as f64,
            }
        };
        Ok(self.members.iter().map(row).collect())
    }
}

fn at(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
