//! `harness export`: the student's copy of the course.
//!
//! It has everything that building and grading a submission takes, and nothing of what is to be
//! found out. The folder of built-in solutions, hidden cases, and the course's tests, which know
//! the answers, are missing. Folders are left out; sources are not edited. Without the folder, the
//! same sources make a program without variants.
//!
//! Its `bin/harness` is that program where one is at hand (`--program`): then a student builds
//! kernels alone. Else it is a script that builds the program when it is first used.

mod edits;
mod program;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use exit::{CommandError, Ending};
use grading::lab_spec::names;
use output_files::input::{self, read, text};
use output_files::native::make_executable;
use output_files::{OutputFolder, OutputPath};
use select::catalogue::needs_solutions;
use select::{course_root, tuned};
use terminal::stdout::Out;

use crate::new_project;

/// Arguments of `harness export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// Where the copy goes: a folder that is empty or not there yet
    #[arg(long, value_name = "DIR")]
    out: OutputPath,
    /// The course's folder [default: the working folder, or the nearest above it that is a course]
    #[arg(long, value_name = "DIR")]
    course: Option<PathBuf>,
    /// Put this program into the copy, so that students build only their kernels: one that was
    /// built in an exported copy, without solutions [default: a script that builds it there]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Copied as they are, if they are there.
const PLAIN: [&str; 10] = [
    ".devcontainer/devcontainer.json",
    ".dockerignore",
    ".gitignore",
    "Cargo.lock",
    "Dockerfile",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "setup",
    "setup.ps1",
    "labs/README.md",
];

/// The book's pages for students, which are copied too. They link to each other alone.
const PAGES: [&str; 18] = [
    "docs/setup.md",
    "docs/first-kernel.md",
    "docs/six-figures.md",
    "docs/races.md",
    "docs/kernel-api.md",
    "docs/cuda-to-rust.md",
    "docs/reading-a-grade.md",
    "docs/write-up.md",
    "docs/glossary.md",
    "docs/troubleshooting.md",
    "docs/measure/method.md",
    "docs/reference/failures.md",
    "docs/reference/ordering.md",
    "docs/reference/registers.md",
    "docs/reference/perf-json.md",
    "docs/reference/report-json.md",
    "docs/reference/sandbox.md",
    "docs/reference/submissions.md",
];

/// Figures of the handouts and of these pages.
const FIGURES: &str = "docs/figures";

/// Packages of the workspace that the copy has, beside those in `crates`.
const PACKAGES: [&str; 3] = ["kernels-gpu", "host", "harness"];

/// Folders of a package that stay behind: solutions, and what tests or shows them.
const LEFT_OUT: [&str; 5] = ["solutions", "tests", "benches", "examples", "snapshots"];

/// Files of tests, in whose place the copy has a comment: modules name them.
const TESTS: &str = "tests.rs";

/// The files that the copy has and the course does not.
const NEW: [(&str, &str); 4] = [
    (".vscode/tasks.json", include_str!("student/tasks.json")),
    ("README.md", include_str!("student/README.md")),
    ("tests/Cargo.toml", include_str!("student/tests.toml")),
    ("tests/src/main.rs", include_str!("student/main.rs")),
];

/// The command that students call.
const PROGRAM: &str = "bin/harness";

/// Writes the copy.
///
/// # Errors
///
/// A folder that is not empty, or no course; a file that cannot be read or written; a copy instead
/// of the course; a program with solutions.
pub fn run(args: &ExportArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    needs_solutions(
        host::labs(),
        "export makes the students' copy of the course",
        "this is one",
    )?;
    let root = course_root::find(args.course.as_deref(), Path::new("."))?;
    let program = match &args.program {
        Some(file) => program::for_students(file, &root)?,
        None => include_bytes!("student/harness.sh").to_vec(),
    };
    let folder = OutputFolder::create("--out", &args.out)?;
    let above = folder.path().parent().unwrap_or(folder.path());
    if let (Ok(above), Ok(root)) = (above.canonicalize(), root.canonicalize())
        && above.starts_with(root)
    {
        return Err(CommandError::Input(format!(
            "--out {}: is in the course itself, which would have the copy too; name a folder outside, as in ../students",
            args.out.display()
        )));
    }
    let mut copy = Copy {
        root: &root,
        target: folder.path(),
        files: 0,
    };
    copy.course()?;
    copy.write(Path::new(PROGRAM), &program)?;
    copy.executable(Path::new(PROGRAM))?;
    let files = copy.files;
    let target = folder.finish()?;
    out.line(format!(
        "{files} files in {}; students begin at its README.md",
        target.display()
    ))?;
    Ok(Ending::Fine)
}

struct Copy<'a> {
    root: &'a Path,
    target: &'a Path,
    files: usize,
}

impl Copy<'_> {
    fn course(&mut self) -> Result<(), CommandError> {
        for name in PLAIN.into_iter().chain(PAGES) {
            if self.root.join(name).is_file() {
                self.plain(Path::new(name))?;
            }
        }
        let mut members = PACKAGES.map(PathBuf::from).to_vec();
        members.extend(self.entries(Path::new("crates"))?);
        for package in &members {
            self.folder(package)?;
        }
        let template = Path::new(new_project::TEMPLATE);
        for (name, _) in new_project::FILES {
            self.plain(&template.join(name))?;
        }
        members.extend([template.to_owned(), template.join("kernels")]);
        members.push("tests".into());
        if self.root.join(FIGURES).is_dir() {
            self.folder(Path::new(FIGURES))?;
        }
        let workspace = self.read(Path::new("Cargo.toml"))?;
        let workspace = edits::with_members(&workspace, &members)?;
        self.write(Path::new("Cargo.toml"), workspace.as_bytes())?;
        for (name, text) in NEW {
            self.write(Path::new(name), text.as_bytes())?;
        }
        // The program takes the file in. Its shapes are those of solutions.
        let tuned = tuned::Table::default().to_toml();
        self.write(Path::new(tuned::NAME), tuned.as_bytes())?;
        let tests = names().map(|name| format!("    {}: \"{name}\"\n", name.replace('-', "_")));
        let tests =
            include_str!("student/labs.rs").replace("LABS", tests.collect::<String>().trim());
        self.write(Path::new("tests/tests/labs.rs"), tests.as_bytes())?;
        for folder in self.entries(Path::new("labs"))? {
            if self.root.join(&folder).join("lab.toml").is_file() {
                self.lab(&folder)?;
            }
        }
        Ok(())
    }

    /// A folder of a package, and those below it.
    fn folder(&mut self, folder: &Path) -> Result<(), CommandError> {
        for name in self.entries(folder)? {
            if self.root.join(&name).is_dir() {
                if !LEFT_OUT.iter().any(|left_out| name.ends_with(left_out)) {
                    self.folder(&name)?;
                }
            } else if name.ends_with(TESTS) {
                self.write(&name, b"// Tests of the course are not in this copy.\n")?;
            } else if name.ends_with("Cargo.toml") {
                let text = edits::without_tests(&self.read(&name)?)?;
                self.write(&name, text.as_bytes())?;
            } else {
                self.plain(&name)?;
            }
        }
        Ok(())
    }

    /// A lab: its handout, its starter, and what is graded except hidden cases.
    fn lab(&mut self, lab: &Path) -> Result<(), CommandError> {
        for name in ["README.md", "hints.toml"] {
            if self.root.join(lab).join(name).is_file() {
                self.plain(&lab.join(name))?;
            }
        }
        for name in ["kernels.rs", "launch.rs"] {
            self.plain(&lab.join("starter").join(name))?;
        }
        let name = lab.join("lab.toml");
        let text = edits::without_hidden_cases(&self.read(&name)?)?;
        self.write(&name, text.as_bytes())?;
        let note = b"The instructor's solution, which is not in this copy of the course.\n";
        self.write(&lab.join("solution/README.md"), note)
    }

    fn plain(&mut self, name: &Path) -> Result<(), CommandError> {
        let from = self.root.join(name);
        if name.extension().is_some_and(|it| it == "md") {
            self.write(name, edits::without_sources(&self.read(name)?).as_bytes())?;
        } else {
            let bytes = read(&from, u64::MAX).map_err(|error| unreadable(&from, &error))?;
            self.write(name, &bytes)?;
        }
        // Scripts stay executable.
        let to = self.target.join(name);
        let permissions = fs::metadata(&from).map_err(|error| unreadable(&from, &error))?;
        fs::set_permissions(&to, permissions.permissions())
            .map_err(|error| CommandError::not_written(&to, &error))
    }

    fn executable(&self, name: &Path) -> Result<(), CommandError> {
        let to = self.target.join(name);
        make_executable(&to).map_err(|error| CommandError::not_written(&to, &error))
    }

    fn read(&self, name: &Path) -> Result<String, CommandError> {
        let from = self.root.join(name);
        text(&from).map_err(|error| unreadable(&from, &error))
    }

    fn write(&mut self, name: &Path, bytes: &[u8]) -> Result<(), CommandError> {
        let to = self.target.join(name);
        let folder = to.parent().unwrap_or(self.target);
        fs::create_dir_all(folder).map_err(|error| CommandError::not_written(folder, &error))?;
        fs::write(&to, bytes).map_err(|error| CommandError::not_written(&to, &error))?;
        self.files += 1;
        Ok(())
    }

    /// The entries of a folder of the course, sorted, without hidden files and build folders.
    fn entries(&self, folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
        let from = self.root.join(folder);
        let entries = fs::read_dir(&from)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unreadable(&from, &error))?;
        let names = entries.into_iter().map(|entry| entry.file_name());
        let is_of_course = |name: &std::ffi::OsString| {
            let name = name.to_string_lossy();
            !name.starts_with('.') && name != "target"
        };
        let mut names: Vec<PathBuf> = names
            .filter(is_of_course)
            .map(|name| folder.join(name))
            .collect();
        names.sort();
        Ok(names)
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    let why = input::unreadable(error);
    CommandError::Environment(format!("{}: {why}", path.display()))
}
