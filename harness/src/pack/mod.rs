//! `harness pack`: a submission, built in isolation, as one file.
//!
//! A submission is a folder with two files that count: `kernels.rs`, device code, and `launch.rs`, host code that records
//! a plan for each problem. Whoever wrote them may have written anything, and compiling Rust runs as much of the
//! compiler as the text asks for; so
//!
//! 1. `screen` refuses what no submission needs: reading files while compiling, assembly, other crates;
//! 2. the compilers run in a [`sandbox`](crate::sandbox), with nothing of the submission's beside them but the two files;
//! 3. the recorder, which is the submission's `launch.rs` linked to a `main` of ours, runs in a tighter sandbox: it is
//!    given the lab's problems, and knows neither inputs nor seeds; hidden cases are recorded by a process of their own, so
//!    that nothing that students are shown can tell of them;
//! 4. what it wrote is read as a stranger's: each case once, each a plan that fits the lab's buffers and the kernels.

mod build;
mod cli;
mod deps;
mod error;
mod fit;
mod record;
mod screen;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use host::find_lab;
use plan::Task;

pub use cli::{PackArgs, run};
pub use deps::Dependencies;
pub use error::PackError;
pub use fit::check as check_plan;

use crate::bundle::{BuiltWith, Bundle, BundledCase};
use crate::course::{CaseSpec, Course, Group};
use crate::course_root;
use crate::failure::Failure;
use crate::grade::kind::Kind;
use crate::interrupt::Unfinished;
use crate::sandbox::Layer;

/// The course's root: `given` (by `--course`), else what is above this program's file, else what is above the working
/// folder. Never a submission's folder: its crates would be built, and trusted.
///
/// # Errors
///
/// As [`course_root::find`].
pub fn course_root(given: Option<&Path>) -> Result<PathBuf, Failure> {
    if given.is_none()
        && let Ok(program) = std::env::current_exe()
        && let Ok(root) = course_root::find(None, &program)
    {
        return Ok(root);
    }
    course_root::find(given, Path::new("."))
}

/// How to pack.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The course's root, as [`course_root`] finds it.
    pub course_root: Option<PathBuf>,
    /// Where what submissions are compiled against is kept. By default cargo's target folder.
    pub cache: Option<PathBuf>,
    /// What compiling may use.
    pub compile: CompileLimits,
    /// How long recording may take.
    pub record_limit: Option<Duration>,
    /// Protections to do without, as on a machine that lacks them.
    pub without: Vec<Layer>,
}

/// What each compiler may use. For what is honest, rustc takes a second or two and half a gigabyte of address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileLimits {
    /// Of the processors; twice as long by the clock on the wall.
    pub cpu: Duration,
    /// Address space.
    pub memory_bytes: u64,
    /// Size of each file.
    pub file_bytes: u64,
}

impl Default for CompileLimits {
    fn default() -> CompileLimits {
        CompileLimits {
            cpu: Duration::from_secs(60),
            memory_bytes: 8 << 30,
            file_bytes: 256 << 20,
        }
    }
}

/// Builds the submission in `dir` for the lab of `course`, and records a plan for each of its cases.
///
/// # Errors
///
/// [`PackError::Refused`] if the submission is at fault, [`PackError::Environment`] if the machine is.
pub fn pack(dir: &Path, course: &Course, options: &Options) -> Result<Bundle, PackError> {
    Packer::new(options).pack(dir, course)
}

/// Packs any number of submissions: what they are compiled against is built once.
#[derive(Debug)]
pub struct Packer {
    dependencies: OnceLock<Result<Dependencies, PackError>>,
    options: Options,
}

impl Packer {
    /// Nothing is built before the first submission needs it.
    pub fn new(options: &Options) -> Packer {
        Packer {
            dependencies: OnceLock::new(),
            options: options.clone(),
        }
    }

    /// What submissions are compiled against; compiled here and now, where that is not done yet.
    fn dependencies(&self) -> Result<&Dependencies, PackError> {
        let built = self.dependencies.get_or_init(|| {
            let root = course_root(self.options.course_root.as_deref())
                .map_err(|failure| PackError::Environment(failure.to_string()))?;
            let cache = match &self.options.cache {
                Some(folder) => folder.clone(),
                None => std::env::var_os("CARGO_TARGET_DIR")
                    .map_or_else(|| root.join("target"), PathBuf::from),
            };
            let cache = std::path::absolute(&cache).unwrap_or(cache);
            Dependencies::build(&root, &cache)
        });
        built.as_ref().map_err(PackError::clone)
    }

    /// As [`pack`].
    ///
    /// # Errors
    ///
    /// As [`pack`].
    pub fn pack(&self, dir: &Path, course: &Course) -> Result<Bundle, PackError> {
        // What is refused is refused at once.
        let sources = screen::read(dir)?;
        screen::screen(&sources)?;
        self.build(&sources, course)
    }

    fn build(&self, sources: &screen::Sources, course: &Course) -> Result<Bundle, PackError> {
        let dependencies = self.dependencies()?;
        let lab = find_lab(&course.lab).map_err(|error| internal(&course.file, &error))?;
        let lab_type = fit::lab_type(&course.lab)
            .ok_or_else(|| internal(&course.lab, &"submissions of this lab cannot be packed"))?;
        // Those that students know, then the others.
        let is_hidden = |case: &&CaseSpec| case.group == Group::Hidden;
        let (hidden, known): (Vec<&CaseSpec>, Vec<&CaseSpec>) =
            course.cases.iter().partition(is_hidden);
        let mut tasks = Vec::new();
        for case in known.iter().chain(&hidden) {
            // The plan does not depend on the seed.
            let problem = case
                .with_seed(lab, 1)
                .map_err(|error| internal(&case.name, &error))?
                .problem_json();
            tasks.push(Task {
                name: case.name.clone(),
                problem,
            });
        }
        let known = known.len();
        let folder = tempfile::Builder::new()
            .prefix("harness-pack-")
            .tempdir()
            .map_err(|error| internal(&std::env::temp_dir().display(), &error))?;
        let _unfinished = Unfinished::new(folder.path());
        // What the sandbox is told is what the kernel sees.
        let root = folder
            .path()
            .canonicalize()
            .map_err(|error| internal(&folder.path().display(), &error))?;
        let subfolder = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir(&path).map_err(|error| internal(&path.display(), &error))?;
            Ok(path)
        };
        let (device, host, recording) = (
            subfolder("device")?,
            subfolder("host")?,
            subfolder("record")?,
        );
        let within = build::Within {
            limits: self.options.compile,
            without: &self.options.without,
        };
        // Kernels and recorder are independent of one another.
        let (kernels, plans) = std::thread::scope(|scope| {
            let kernels =
                scope.spawn(|| build::ptx(sources, &dependencies.device, &device, within));
            let recorder = build::recorder(sources, &dependencies.host, lab_type, &host, within);
            let plans = recorder.and_then(|(program, compiled)| {
                let limit = self.options.record_limit;
                let record = |tasks: &[Task]| {
                    record::plans(&program, tasks, &recording, limit, within.without)
                };
                let (known, hidden) = tasks.split_at(known);
                let (mut plans, mut in_force) = record(known)?;
                if !hidden.is_empty() {
                    let (others, recorded) =
                        record(hidden).map_err(PackError::with_hidden_cases_known)?;
                    plans.extend(others);
                    in_force = in_force.and(recorded);
                }
                Ok((plans, compiled.and(in_force)))
            });
            (kernels.join().expect("no panic"), plans)
        });
        // A mistake in the kernels is one of the recorder too, which says it with less.
        let (ptx, kernels_in_force) = kernels?;
        let (plans, plans_in_force) = plans?;
        let module = host::Module::new("kernels.rs", ptx);
        module
            .program()
            .map_err(|error| PackError::refused(Kind::PtxInvalid, error.to_string()))?;
        let mut cases = Vec::new();
        for (i, (Task { name, problem }, plan)) in tasks.into_iter().zip(plans).enumerate() {
            fit::check(&course.lab, &problem, &plan, &module).map_err(|error| match error {
                PackError::Refused(failing) => {
                    let message = format!("case `{name}`: {}", failing.message);
                    let error = PackError::refused(failing.kind, message);
                    if i < known {
                        error
                    } else {
                        error.with_hidden_cases_known()
                    }
                }
                other => other,
            })?;
            cases.push(BundledCase {
                name,
                problem,
                plan,
            });
        }
        // As the lab has them.
        let place = |name: &str| course.cases.iter().position(|case| case.name == name);
        cases.sort_by_key(|case| place(&case.name));
        let tools = dependencies.device.tools();
        Ok(Bundle {
            lab: course.lab.clone(),
            ptx: module.ptx().to_owned(),
            cases,
            built_with: BuiltWith {
                harness: env!("CARGO_PKG_VERSION").to_owned(),
                kernels: tools.rustc_version.clone(),
                llvm: tools.llvm_major,
                host: dependencies.host.rustc_version.clone(),
            },
            protections: kernels_in_force.and(plans_in_force).protections(),
        })
    }
}

/// Something went wrong that is nobody's fault but the machine's, or ours.
fn internal(what: &dyn std::fmt::Display, error: &dyn std::fmt::Display) -> PackError {
    PackError::Environment(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests;
