//! This program, run as its users run it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use device::DeviceError;
use output_files::ScratchFolder;

use exit::CommandError;
use grading::report::GradeReport;
use select::course_root::COURSE_VARIABLE;
use select::devices::too_old;

/// The course's own submissions may be compiled where nothing keeps them from files.
const OWN: &str = "--without-isolation";

/// This program, the course that it works on, and a folder for what it leaves.
pub struct Program {
    file: PathBuf,
    root: PathBuf,
    scratch: ScratchFolder,
    /// Whether this machine has no GPU that the program could use.
    lacks_gpu: bool,
}

impl Program {
    /// For the course in `root`.
    pub fn new(root: &Path) -> Result<Program, CommandError> {
        let file = std::env::current_exe().map_err(|error| {
            CommandError::Environment(format!("cannot find this program's own file: {error}"))
        })?;
        let scratch = ScratchFolder::new("course")
            .map_err(|error| CommandError::not_written(&std::env::temp_dir(), &error))?;
        Ok(Program {
            file,
            root: root.to_owned(),
            scratch,
            lacks_gpu: match cuda::discover() {
                Ok(gpus) => gpus.iter().all(|gpu| too_old(gpu.info()).is_some()),
                Err(error) => matches!(error, DeviceError::NoDevice { .. }),
            },
        })
    }

    /// A new folder of this name.
    pub fn folder(&self, name: &str) -> Result<PathBuf, CommandError> {
        let folder = self.scratch.path().join(name);
        fs::create_dir_all(&folder).map_err(|error| CommandError::not_written(&folder, &error))?;
        Ok(folder)
    }

    /// The exit code, if it ended with one, and what it wrote to standard error.
    fn run(&self, arguments: &[&str], folder: &Path) -> Result<(Option<u8>, String), CommandError> {
        let output = Command::new(&self.file)
            .args(arguments)
            .current_dir(folder)
            .env(COURSE_VARIABLE, &self.root)
            .output()
            .map_err(|error| {
                CommandError::Environment(format!("cannot run {}: {error}", self.file.display()))
            })?;
        let code = output.status.code().and_then(|code| code.try_into().ok());
        let errors = String::from_utf8_lossy(&output.stderr);
        Ok((code, errors.trim().to_owned()))
    }

    /// Grades a submission on the emulated device.
    pub fn grade(&self, submission: &Path, lab: &str) -> Result<GradeReport, CommandError> {
        let file = self.scratch.path().join("report.json");
        let [shown, json] = [submission, &file].map(|path| path.to_string_lossy().into_owned());
        let arguments = [
            "grade", &shown, "--lab", lab, "--device", "emulated", "-o", &json, OWN,
        ];
        let (code, errors) = self.run(&arguments, &self.root)?;
        if !matches!(
            code,
            Some(exit::codes::OK | exit::codes::WRONG_RESULT | exit::codes::NOT_GRADED)
        ) {
            return Err(CommandError::Environment(format!("{shown}: {errors}")));
        }
        let unreadable = |error: &dyn std::fmt::Display| {
            CommandError::Bug(format!("{}: no report: {error}", file.display()))
        };
        let text = fs::read_to_string(&file).map_err(|error| unreadable(&error))?;
        // The next command writes the file again.
        fs::remove_file(&file).map_err(|error| CommandError::not_written(&file, &error))?;
        serde_json::from_str(&text).map_err(|error| unreadable(&error))
    }

    /// Runs a handout's command. A grade may tell of wrong results, since starters have them.
    /// Without a GPU, a command may end with [`exit::codes::ENVIRONMENT`]: it may need one.
    pub fn command(&self, arguments: &[String], folder: &Path) -> Result<String, CommandError> {
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let is_grade = arguments.first() == Some(&"grade");
        arguments.extend(is_grade.then_some(OWN));
        let (code, errors) = self.run(&arguments, folder)?;
        match code {
            Some(exit::codes::OK | exit::codes::NOT_GRADED) => Ok("runs".to_owned()),
            Some(exit::codes::WRONG_RESULT) if is_grade => {
                Ok("runs, and tells what is wrong".to_owned())
            }
            Some(exit::codes::ENVIRONMENT) if self.lacks_gpu => {
                Ok(format!("not run without a GPU: {errors}"))
            }
            Some(code) => Err(CommandError::Wrong(format!("ends with {code}: {errors}"))),
            None => Err(CommandError::Wrong(format!("was killed: {errors}"))),
        }
    }
}
