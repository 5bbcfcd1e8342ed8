//! `harness check-course`: the course, tested as its students will.
//!
//! For each lab:
//!
//! 1. no place of `harness new-lab`'s template is left to fill; `lab.toml` and `hints.toml` are
//!    valid, and are what this program grades by and shows;
//! 2. the starter compiles and runs, is not right, and what is said of it helps: where the first
//!    wrong value is, what the emulated device found, or what the plan lacks;
//! 3. every reference is right in every case: `solution/` if it has a `kernels.rs`, else the
//!    built-in solutions, each as the submission that it is. A sequel has none of its own;
//! 4. the handout's commands run ([`handout`] says what counts as one); those that grade the
//!    starter as 2. does are not repeated.
//!
//! All on the emulated device, so that a GPU is not needed; what a command needs one for is not run
//! without.

pub mod handout;
mod program;
mod todos;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::arguments::read_lab_file;
use exit::{CommandError, Ending};
use grading::lab_spec::{self, Hints};
use grading::outcome::Category;
use grading::report::GradeReport;
use output_files::input::{text, unreadable};
use output_files::native;
use program::Program;
use select::catalogue;
use select::course_root;
use terminal::progress::{Bar, Progress};
use terminal::stdout::Out;

pub use todos::TODO;

/// A check: its name, and what finds its outcome.
type Check<'c> = (String, Box<dyn Fn() -> Result<String, CommandError> + 'c>);

/// Arguments of `harness check-course`.
#[derive(Debug, Clone, Args)]
pub struct CheckCourseArgs {
    /// Only this lab
    lab: Option<String>,
    /// Only one reference of each lab
    #[arg(long)]
    quick: bool,
    /// The course's folder [default: the working folder, or the nearest above it that is a course]
    #[arg(long, value_name = "DIR")]
    course: Option<PathBuf>,
}

/// Checks the course.
///
/// # Errors
///
/// No course, or a machine that cannot build submissions. What is wrong with the course is
/// reported, not an error.
pub fn run(args: &CheckCourseArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    catalogue::needs_solutions(
        host::labs(),
        "check-course needs the solutions",
        "`cargo test` grades your starters",
    )?;
    let root = course_root::find(args.course.as_deref(), Path::new("."))?;
    has_solutions(&root)?;
    if let Some(name) = &args.lab {
        knows(&root, name)?;
    }
    if let Some(name) = &args.lab {
        lab_spec::embedded(name)?;
    }
    let is_asked_for = |lab: &&str| args.lab.as_deref().is_none_or(|name| name == *lab);
    let program = Program::new(&root)?;
    let checkers: Vec<Checker> = lab_spec::names()
        .filter(is_asked_for)
        .map(|lab| Checker {
            lab,
            folder: root.join("labs").join(lab),
            root: &root,
            program: &program,
            most_references: if args.quick { 1 } else { usize::MAX },
        })
        .collect();
    let mut checks = Vec::new();
    for checker in &checkers {
        checks.extend(
            checker
                .checks()?
                .into_iter()
                .map(|check| (checker.lab, check)),
        );
    }
    let (bar, all) = (Bar::at_once("checking"), checks.len() as u64);
    let mut wrong = 0;
    for (done, (lab, (name, check))) in checks.iter().enumerate() {
        bar.label(&format!("checking {lab}"));
        bar.update(done as u64, all);
        let look = out.look();
        let said = match check() {
            Ok(text) => text,
            Err(failure @ (CommandError::Environment(_) | CommandError::Bug(_))) => {
                return Err(failure);
            }
            Err(failure) => {
                wrong += 1;
                format!("{} {failure}", look.bad("WRONG"))
            }
        };
        out.line(look.wrapped(&format!("{lab:9} {name}: {said}"), 0))?;
    }
    drop(bar);
    Ok(if wrong == 0 {
        Ending::Fine
    } else {
        Ending::Wrong
    })
}

/// Refuses a students' copy.
fn has_solutions(root: &Path) -> Result<(), CommandError> {
    if root.join("kernels-gpu/solutions").is_dir() {
        Ok(())
    } else {
        Err(CommandError::Input(format!(
            "{}: is a students' copy, without solutions to check; go to the course's folder, or name it with --course DIR",
            root.display()
        )))
    }
}

/// Refuses a lab that the course has and this program has not, and says what is left to fill.
fn knows(root: &Path, name: &str) -> Result<(), CommandError> {
    let is_here = lab_spec::embedded(name).is_ok();
    if is_here || !root.join("labs").join(name).join("lab.toml").is_file() {
        return Ok(());
    }
    let left = match todos::none_left(root, name) {
        Ok(_) => String::new(),
        Err(left) => format!("; {left}"),
    };
    Err(CommandError::Input(format!(
        "{name}: the course has this lab, and this program has not: build harness again{left}"
    )))
}

/// The checks of one lab.
struct Checker<'a> {
    lab: &'static str,
    folder: PathBuf,
    root: &'a Path,
    program: &'a Program,
    most_references: usize,
}

impl Checker<'_> {
    fn checks(&self) -> Result<Vec<Check<'_>>, CommandError> {
        let check = |name: &str, check: fn(&Self) -> Result<String, CommandError>| -> Check<'_> {
            (name.to_owned(), Box::new(move || check(self)))
        };
        let mut checks = vec![
            check("to fill", |this| todos::none_left(this.root, this.lab)),
            check("lab.toml", Self::lab_file),
            check("hints.toml", Self::hints),
            check("starter", Self::starter),
        ];
        checks.extend(self.references()?);
        checks.extend(self.handout()?);
        Ok(checks)
    }

    fn lab_file(&self) -> Result<String, CommandError> {
        let lab_file = read_lab_file("lab.toml", &self.folder.join("lab.toml"))?;
        let points: f64 = lab_file.cases.iter().map(|case| case.points).sum();
        // A program that is carried to another machine has its own.
        let older = match lab_spec::edited(self.root, self.lab) {
            Ok(Some(_)) => "; this program has another inside, which counts outside of the course",
            _ => "",
        };
        Ok(format!(
            "{} cases, {points} points for being right{older}",
            lab_file.cases.len()
        ))
    }

    fn hints(&self) -> Result<String, CommandError> {
        let name = self.folder.join("hints.toml");
        let lab_spec = read_lab_file("lab.toml", &self.folder.join("lab.toml"))?;
        let hints = Hints::parse(&read(&name)?, &name.display().to_string(), &lab_spec)
            .map_err(|error| CommandError::Wrong(error.to_string()))?;
        if hints != *lab_spec::embedded_hints(self.lab)? {
            return Err(CommandError::Wrong(
                "are not those that this program has inside; build harness again".to_owned(),
            ));
        }
        Ok(format!("{} hints", hints.all().len()))
    }

    fn starter(&self) -> Result<String, CommandError> {
        let folder = self.folder.join("starter");
        for name in ["kernels.rs", "launch.rs"] {
            read(&folder.join(name))?;
        }
        let report = self.graded(&folder)?;
        if let Some(refused) = &report.refused {
            return Err(CommandError::Wrong(format!(
                "does not run: {}",
                refused.message
            )));
        }
        let failing: Vec<_> = report
            .cases
            .iter()
            .filter_map(|case| case.status.failure())
            .collect();
        if failing.is_empty() {
            return Err(CommandError::Wrong(
                "is right already: nothing is left to do".to_owned(),
            ));
        }
        // What is said of a plan names the launch, or the device that has none.
        let helps = failing.iter().any(|failing| {
            let is_of_plan = failing.category == Category::Refused;
            is_of_plan || failing.diagnosis.is_some() || failing.sanitizer.is_some()
        });
        if !helps || failing.iter().any(|failing| failing.message.is_empty()) {
            return Err(CommandError::Wrong(
                "fails, and nothing says where: neither a first wrong value nor a fault".to_owned(),
            ));
        }
        let cases = report.cases.len();
        Ok(format!(
            "fails {} of {cases} cases, and it is said where",
            failing.len()
        ))
    }

    /// A check of each reference.
    fn references(&self) -> Result<Vec<Check<'_>>, CommandError> {
        let own = self.folder.join("solution");
        if own.join("kernels.rs").is_file() {
            let name = "solution".to_owned();
            return Ok(vec![(name, Box::new(move || self.reference(&own)))]);
        }
        let mut built_in = Vec::new();
        let solutions = self.root.join("kernels-gpu/solutions").join(self.lab);
        if !solutions.is_dir() {
            return Ok(Vec::new());
        }
        find_solutions(&solutions, None, &mut built_in)?;
        let built_in = built_in.into_iter().take(self.most_references);
        let checks = built_in.map(|(name, files)| -> Check<'_> {
            let shown = format!("built-in {name}");
            let check = move || {
                let folder = self.program.folder(&format!("{}/{name}", self.lab))?;
                for (from, to) in files.iter().zip(["kernels.rs", "launch.rs"]) {
                    let to = folder.join(to);
                    fs::write(&to, read(from)?)
                        .map_err(|error| CommandError::not_written(&to, &error))?;
                }
                self.reference(&folder)
            };
            (shown, Box::new(check))
        });
        Ok(checks.collect())
    }

    fn reference(&self, folder: &Path) -> Result<String, CommandError> {
        let report = self.graded(folder)?;
        if let Some(refused) = &report.refused {
            return Err(CommandError::Wrong(format!(
                "is refused: {}",
                refused.message
            )));
        }
        let failing = report.cases.iter().find(|case| case.earned < case.points);
        if let Some(case) = failing {
            let why = case
                .status
                .failure()
                .map_or("no reason", |failure| &failure.message);
            return Err(CommandError::Wrong(format!("case {}: {why}", case.name)));
        }
        let earned: f64 = report.cases.iter().map(|case| case.earned).sum();
        Ok(format!("right, {earned} points"))
    }

    fn graded(&self, folder: &Path) -> Result<GradeReport, CommandError> {
        self.program.grade(folder, self.lab)
    }

    /// A check of each command of the handout.
    fn handout(&self) -> Result<Vec<Check<'_>>, CommandError> {
        let text = read(&self.folder.join("README.md"))?;
        let commands = handout::commands(&text);
        if commands.is_empty() {
            let none = || Err(CommandError::Wrong("has no command to run".to_owned()));
            return Ok(vec![("README.md".to_owned(), Box::new(none))]);
        }
        let folder = self.program.folder(&format!("{}/handout", self.lab))?;
        link(&self.root.join("labs"), &folder.join("labs"))?;
        let check = |command: Vec<String>| -> Check<'_> {
            let shown = format!("harness {}", command.join(" "));
            let folder = folder.clone();
            let run = move || {
                if handout::is_grade_of_starter(&command, self.lab) {
                    Ok("as above".to_owned())
                } else {
                    self.program.command(&command, &folder)
                }
            };
            (shown, Box::new(run))
        };
        Ok(commands.into_iter().map(check).collect())
    }
}

/// Adds the solutions below a folder by name, each with its kernels, or those that it shares in a
/// folder above, and its launches.
fn find_solutions(
    folder: &Path,
    shared: Option<&Path>,
    found: &mut Vec<(String, [PathBuf; 2])>,
) -> Result<(), CommandError> {
    let own = folder.join("kernels.rs");
    let kernels = if own.is_file() { Some(&*own) } else { shared };
    let launch = folder.join("launch.rs");
    if let (Some(kernels), true) = (kernels, launch.is_file()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        found.push((name.into_owned(), [kernels.to_owned(), launch]));
    }
    let unreadable =
        |error| CommandError::Wrong(format!("cannot read {}: {error}", folder.display()));
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut below: Vec<PathBuf> = entries
        .map_err(unreadable)?
        .iter()
        .map(|entry| entry.path())
        .collect();
    below.sort();
    for subfolder in below.iter().filter(|path| path.is_dir()) {
        find_solutions(subfolder, kernels, found)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, CommandError> {
    text(path).map_err(|error| {
        let why = unreadable(&error);
        CommandError::Wrong(format!("{}: {why}", path.display()))
    })
}

fn link(to: &Path, name: &Path) -> Result<(), CommandError> {
    native::link(to, name).map_err(|error| CommandError::not_written(name, &error))
}
