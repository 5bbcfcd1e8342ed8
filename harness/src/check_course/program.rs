//! This program, run as its users run it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::course_root::COURSE_VARIABLE;
use crate::exit;
use crate::failure::Failure;
use grading::report::GradeReport;

/// This program, the course that it works on, and a folder for what it leaves.
pub struct Program {
    file: PathBuf,
    root: PathBuf,
    scratch: TempDir,
}

/// How a run ended.
struct Ended {
    code: Option<i32>,
    errors: String,
}

impl Program {
    /// For the course in `root`.
    pub fn new(root: &Path) -> Result<Program, Failure> {
        let file = std::env::current_exe().map_err(|error| {
            Failure::Environment(format!("cannot find this program's own file: {error}"))
        })?;
        let scratch = tempfile::tempdir()
            .map_err(|error| Failure::not_written(&std::env::temp_dir(), &error))?;
        Ok(Program {
            file,
            root: root.to_owned(),
            scratch,
        })
    }

    /// A new folder of this name.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.scratch.path().join(name);
        fs::create_dir_all(&folder).map_err(|error| Failure::not_written(&folder, &error))?;
        Ok(folder)
    }

    fn run(&self, arguments: &[&str], folder: &Path) -> Result<Ended, Failure> {
        let output = Command::new(&self.file)
            .args(arguments)
            .current_dir(folder)
            .env(COURSE_VARIABLE, &self.root)
            .output()
            .map_err(|error| {
                Failure::Environment(format!("cannot run {}: {error}", self.file.display()))
            })?;
        Ok(Ended {
            code: output.status.code(),
            errors: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// Grades a submission on the emulated device.
    pub fn grade(&self, submission: &Path, lab: &str) -> Result<GradeReport, Failure> {
        let file = self.scratch.path().join("report.json");
        let [shown, json] = [submission, &file].map(|path| path.to_string_lossy().into_owned());
        let arguments = [
            "grade", &shown, "--lab", lab, "--device", "emulated", "-o", &json,
        ];
        let ended = self.run(&arguments, &self.root)?;
        let code = ended.code.and_then(|code| u8::try_from(code).ok());
        if !matches!(code, Some(exit::OK | exit::WRONG_RESULT | exit::NOT_GRADED)) {
            return Err(Failure::Environment(format!("{shown}: {}", ended.errors)));
        }
        let unreadable = |error: &dyn std::fmt::Display| {
            Failure::Bug(format!("{}: no report: {error}", file.display()))
        };
        let text = fs::read_to_string(&file).map_err(|error| unreadable(&error))?;
        // The next one is written anew.
        fs::remove_file(&file).map_err(|error| Failure::not_written(&file, &error))?;
        serde_json::from_str(&text).map_err(|error| unreadable(&error))
    }

    /// Runs a handout's command. A grade may tell of wrong results, since starters have them; a command that wants a GPU
    /// may find that there is none.
    pub fn command(&self, arguments: &[String], folder: &Path) -> Result<String, Failure> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ended = self.run(&arguments, folder)?;
        let is_grade = arguments.first() == Some(&"grade");
        match ended.code.and_then(|code| u8::try_from(code).ok()) {
            Some(exit::OK | exit::NOT_GRADED) => Ok("runs".to_owned()),
            Some(exit::WRONG_RESULT) if is_grade => Ok("runs, and tells what is wrong".to_owned()),
            Some(exit::ENVIRONMENT) if ended.errors.contains("no CUDA device") => {
                Ok("not run: needs a GPU".to_owned())
            }
            Some(code) => Err(Failure::Wrong(format!(
                "ends with {code}: {}",
                ended.errors
            ))),
            None => Err(Failure::Wrong(format!("was killed: {}", ended.errors))),
        }
    }
}
