//! A class whose members hand in submissions of the corpus, all to one lab.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Corpus, Row, Side, Submission, check};
use crate::grade::GradeReport;

/// The lab that most of the corpus is for.
const LAB: &str = "wave2d";
/// Members of each side.
const MEMBERS: usize = 20;

/// A class's folder, with a folder for each member.
#[derive(Debug)]
pub struct Class {
    folder: PathBuf,
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
    pub fn write(corpus: &Corpus, folder: &Path) -> Result<Class, String> {
        let mut of_lab = corpus.submissions()?;
        of_lab.retain(|it| it.lab == LAB && corpus.lab_file(it).ends_with(format!("{LAB}.toml")));
        let first = of_lab.first().ok_or("the corpus has nothing for the lab")?;
        let lab_file = corpus.lab_file(first);
        let mut members = Vec::new();
        for side in [Side::Hostile, Side::Honest] {
            let all: Vec<&Submission> = of_lab.iter().filter(|it| it.side == side).collect();
            for member in 0..MEMBERS {
                // Evenly, or one after the other and again.
                let index = match all.len() < MEMBERS {
                    true => member % all.len(),
                    false => member * all.len() / MEMBERS,
                };
                let name = format!("{}-{member:02}", side.name());
                let path = folder.join("class").join(&name);
                corpus.write(all[index], &path)?;
                // No two have the same content.
                let launch = path.join("launch.rs");
                let mut text = fs::read_to_string(&launch).map_err(|error| at(&launch, error))?;
                text += &format!("// {name}\n");
                fs::write(&launch, text).map_err(|error| at(&launch, error))?;
                members.push((name, all[index].clone()));
            }
        }
        Ok(Class {
            folder: folder.to_owned(),
            lab_file,
            members,
        })
    }

    /// Grades all by one call of the program, on the emulated device.
    ///
    /// # Errors
    ///
    /// If the program cannot be started, or does not end with grades.
    pub fn grade(&self, program: &Path) -> Result<(), String> {
        let mut command = Command::new(program);
        command.args([
            "grade",
            "--lab",
            LAB,
            "--device",
            "emulated",
            "--deadline",
            "10",
        ]);
        command.arg("--without-landlock");
        command.arg("--lab-file").arg(&self.lab_file);
        command.arg("--all").arg(self.folder.join("class"));
        command.arg("-o").arg(self.results());
        let status = command.stdin(Stdio::null()).status();
        let status = status.map_err(|error| format!("{}: {error}", program.display()))?;
        match status.code() {
            // All are graded; some are wrong, or undecided.
            Some(0 | 1 | 5) => Ok(()),
            _ => Err(format!("`grade --all` ended by {status}")),
        }
    }

    fn results(&self) -> PathBuf {
        self.folder.join("results")
    }

    /// Each member's grade, compared with what is expected of the submission.
    ///
    /// # Errors
    ///
    /// A member without a report.
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
            let report = reports.get(name).ok_or(format!("{name} has no report"))?;
            Ok(Row {
                submission: submission.clone(),
                result: check(submission, report, "emulated"),
                times: String::new(),
                seconds: seconds / self.members.len() as f64,
            })
        };
        self.members.iter().map(row).collect()
    }
}

fn at(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
