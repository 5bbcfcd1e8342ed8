//! A submission, built in isolation: what `harness pack` does.
//!
//! A submission is a folder with two files that count: `kernels.rs`, device code, and `launch.rs`, host code that records
//! a plan for each problem. Its author may have written anything, and the text decides how much of the compiler
//! runs; so
//!
//! 1. `screen` refuses what no submission needs: reading files while compiling, assembly, other crates;
//! 2. the compilers run in a [`sandbox`], with nothing of the submission but the two files;
//! 3. the recorder, which is the submission's `launch.rs` linked to a `main` of ours, runs in a tighter sandbox: it is
//!    given the lab's problems, and knows neither inputs nor seeds; hidden cases are recorded by a process of their own, so
//!    that nothing that students are shown can tell of them;
//! 4. what it wrote is read as untrusted input: each case once, each a plan that fits the lab's buffers and the kernels.

mod compile;
mod dependencies;
mod record;
mod screen;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use host::device::LaunchLimits;
use host::lab::CaseError;
use host::{Module, find_lab};
use output_files::ScratchFolder;
use plan::{AnyLab, Task};
use sandbox::{InForce, Layer, ResourceLimits};
use thiserror::Error;

pub use dependencies::Dependencies;
pub use screen::Sources;

use crate::bundle::{BuiltWith, Bundle, BundledCase};
use crate::course::{CaseSpec, Course, Group};
use crate::outcome::{Failing, Kind, Outcome};
use crate::plan_check;
use crate::report::Protection;

/// Why a submission was not packed.
#[derive(Debug, Error)]
pub enum PackError {
    /// The submission is at fault.
    #[error("{}", .0.message)]
    Refused(Box<Failing>),
    /// The course is for a lab that this program does not have, or that takes no submissions.
    #[error("{file}: {source}")]
    Lab {
        /// The lab file.
        file: String,
        /// What is wrong.
        source: CaseError,
    },
    /// A case of the course cannot be made.
    #[error("case `{case}`: {source}")]
    Case {
        /// Its name.
        case: String,
        /// Why not.
        source: Box<host::Error>,
    },
    /// The compiler of kernels is missing, or fails through no fault of the submission's.
    #[error(transparent)]
    Kernels(Box<cuda_builder::Error>),
    /// The compiler of host code is missing or fails.
    #[error("{program}: {said}; submissions need a stable Rust compiler, as in the README")]
    HostCompiler {
        /// What was run.
        program: String,
        /// What went wrong.
        said: String,
    },
    /// There is no linker for host code.
    #[error("the recorder cannot be linked; install a C compiler:\n{said}")]
    NoLinker {
        /// What the compiler says.
        said: String,
    },
    /// The folder for compiled crates cannot be written.
    #[error("cannot write {}: {source}; name a folder for compiled crates with --cache DIR", .path.display())]
    Cache {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another file, folder or program cannot be used.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl From<Failing> for PackError {
    fn from(failing: Failing) -> PackError {
        PackError::Refused(Box::new(failing))
    }
}

impl From<cuda_builder::Error> for PackError {
    fn from(error: cuda_builder::Error) -> PackError {
        PackError::Kernels(Box::new(error))
    }
}

impl PackError {
    /// The submission is at fault.
    fn refused(kind: Kind, message: impl Into<String>) -> PackError {
        Failing::new(kind, message).into()
    }

    /// A file, folder or program cannot be used.
    fn io(path: &Path) -> impl FnOnce(io::Error) -> PackError {
        let path = path.to_owned();
        move |source| PackError::Io { path, source }
    }

    /// The same, from code that knew hidden cases.
    fn with_hidden_cases_known(self) -> PackError {
        match self {
            PackError::Refused(failing) => failing.with_hidden_cases_known().into(),
            other => other,
        }
    }
}

/// How to pack.
#[derive(Debug, Clone)]
pub struct Options {
    /// The course's root. Never a submission's folder: its crates would be built, and trusted.
    pub course_root: PathBuf,
    /// Where to keep what submissions are compiled against. By default cargo's target folder.
    pub cache: Option<PathBuf>,
    /// What each compiler may use. For what is honest, rustc takes a second or two and half a gigabyte of address space.
    pub compile: ResourceLimits,
    /// What recording may use. It takes milliseconds.
    pub record: ResourceLimits,
    /// Protections to do without, as on a machine that lacks them.
    pub without: Vec<Layer>,
}

impl Options {
    /// The usual limits, for the course in this folder.
    pub fn new(course_root: PathBuf) -> Options {
        Options {
            course_root,
            cache: None,
            compile: ResourceLimits {
                wall: Duration::from_secs(120),
                cpu_s: 60,
                memory_bytes: 8 << 30,
                file_bytes: 256 << 20,
                open_files: 1024,
                output_bytes: 256 << 10,
            },
            record: ResourceLimits {
                wall: Duration::from_secs(20),
                cpu_s: 10,
                memory_bytes: 2 << 30,
                file_bytes: 256 << 20,
                open_files: 16,
                output_bytes: 64 << 10,
            },
            without: Vec::new(),
        }
    }
}

/// Packs any number of submissions: what they are compiled against is built once.
#[derive(Debug)]
pub struct Packer {
    dependencies: OnceLock<Dependencies>,
    /// Locked while they are compiled.
    building: Mutex<()>,
    options: Options,
}

impl Packer {
    /// Nothing is built before the first submission needs it.
    pub fn new(options: Options) -> Packer {
        Packer {
            dependencies: OnceLock::new(),
            building: Mutex::new(()),
            options,
        }
    }

    fn building(&self) -> MutexGuard<'_, ()> {
        self.building.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What submissions are compiled against; compiled here and now, where that is not done yet.
    fn dependencies(&self) -> Result<&Dependencies, PackError> {
        // One thread compiles them; others wait here and find them.
        let _guard = self.building();
        if let Some(built) = self.dependencies.get() {
            return Ok(built);
        }
        let root = &self.options.course_root;
        let cache = match &self.options.cache {
            Some(folder) => folder.clone(),
            None => std::env::var_os("CARGO_TARGET_DIR")
                .map_or_else(|| root.join("target"), PathBuf::from),
        };
        let cache = std::path::absolute(&cache).unwrap_or(cache);
        let built = Dependencies::build(root, &cache)?;
        Ok(self.dependencies.get_or_init(|| built))
    }

    /// Builds a submission for the lab of `course`, and records a plan for each of its cases.
    ///
    /// # Errors
    ///
    /// [`PackError::Refused`] if the submission is at fault; else what the machine lacks.
    pub fn pack(&self, sources: &Sources, course: &Course) -> Result<Bundle, PackError> {
        let dependencies = self.dependencies()?;
        let (known, hidden) = (tasks(course, false)?, tasks(course, true)?);
        let folder = ScratchFolder::new("pack").map_err(PackError::io(&std::env::temp_dir()))?;
        let (ptx, plans, in_force) = self.compile_and_record(
            sources,
            course,
            dependencies,
            folder.path(),
            [&known, &hidden],
        )?;
        let module = Module::new("kernels.rs", ptx);
        module
            .program()
            .map_err(|error| PackError::refused(Kind::PtxInvalid, error.to_string()))?;
        let mut cases = Vec::new();
        for (i, (task, plan)) in known.iter().chain(&hidden).zip(plans).enumerate() {
            let Task { name, problem } = task.clone();
            let fits =
                plan_check::fits(&course.lab, &problem, &plan, &module, &LaunchLimits::COMMON);
            if let Err(Outcome::Failed(failing)) = fits {
                let message = format!("case `{name}`: {}", failing.message);
                let mut failing = Failing::new(failing.kind, message);
                failing.knew_hidden = i >= known.len();
                return Err(failing.into());
            }
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
            draw: course.draw,
            ptx: module.ptx().to_owned(),
            cases,
            built_with: BuiltWith {
                harness: env!("CARGO_PKG_VERSION").to_owned(),
                kernels: tools.rustc_version.clone(),
                llvm: tools.llvm_major,
                host: dependencies.host.rustc_version.clone(),
            },
            protections: protections(in_force),
        })
    }

    /// The kernels as PTX, a plan for each of the known and then of the hidden tasks, and what all of it ran under.
    fn compile_and_record(
        &self,
        sources: &Sources,
        course: &Course,
        dependencies: &Dependencies,
        folder: &Path,
        [known, hidden]: [&[Task]; 2],
    ) -> Result<(String, Vec<plan::Plan>, InForce), PackError> {
        // The sandbox gets paths as the kernel sees them.
        let root = folder.canonicalize().map_err(PackError::io(folder))?;
        let subfolder = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir(&path).map_err(PackError::io(&path))?;
            Ok::<_, PackError>(path)
        };
        let [device, host, recording] = ["device", "host", "record"].map(subfolder);
        let (device, host, recording) = (device?, host?, recording?);
        let lab_type = AnyLab::find(&course.lab)
            .expect("the lab was found")
            .type_path;
        let options = &self.options;
        // PTX is for one architecture and all newer ones: kernels that need a newer one are compiled for that.
        let of_kernels = match sources.names_capability() {
            true => {
                let _guard = self.building();
                dependencies.newer()?
            }
            false => &dependencies.device,
        };
        // Kernels and recorder are independent of one another.
        let (kernels, plans) = std::thread::scope(|scope| {
            let kernels = scope.spawn(|| compile::ptx(sources, of_kernels, &device, options));
            let recorder = compile::recorder(sources, &dependencies.host, lab_type, &host, options);
            let plans = recorder.and_then(|(program, mut in_force)| {
                let record = |tasks: &[Task]| record::plans(&program, tasks, &recording, options);
                let (mut plans, recorded) = record(known)?;
                in_force = in_force.and(recorded);
                // By a process of their own, and last: nothing about another case can tell of them.
                if !hidden.is_empty() {
                    let recorded = record(hidden).map_err(PackError::with_hidden_cases_known);
                    let (others, recorded) = recorded?;
                    plans.extend(others);
                    in_force = in_force.and(recorded);
                }
                Ok((plans, in_force))
            });
            (kernels.join().expect("no panic"), plans)
        });
        // A mistake in the kernels is one of the recorder too, which says it with less.
        let (ptx, kernels_in_force) = kernels?;
        let (plans, plans_in_force) = plans?;
        Ok((ptx, plans, kernels_in_force.and(plans_in_force)))
    }
}

/// What the recorder is asked for the hidden cases of a course, or for the others.
fn tasks(course: &Course, hidden: bool) -> Result<Vec<Task>, PackError> {
    let lab = find_lab(&course.lab).map_err(|source| PackError::Lab {
        file: course.file.clone(),
        source,
    })?;
    let task = |case: &CaseSpec| {
        // The plan does not depend on the seed.
        let made = case.with_seed(lab, 1).map_err(|source| PackError::Case {
            case: case.name.clone(),
            source: Box::new(source),
        })?;
        Ok(Task {
            name: case.name.clone(),
            problem: made.problem_json(),
        })
    };
    let cases = course.cases.iter();
    let cases = cases.filter(|case| (case.group == Group::Hidden) == hidden);
    cases.map(task).collect()
}

/// The sandbox's protections, for reports.
fn protections(in_force: InForce) -> Vec<Protection> {
    let protection = |layer: Layer| Protection {
        name: format!("sandbox: {}", layer.name()),
        in_force: in_force.has(layer),
        detail: match in_force.has(layer) {
            true => layer.effect().to_owned(),
            false => layer.absence().to_owned(),
        },
    };
    Layer::ALL.map(protection).to_vec()
}
