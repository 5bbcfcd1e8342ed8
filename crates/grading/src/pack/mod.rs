//! A submission, built in isolation: what `harness pack` does, and `harness grade` with a folder.
//!
//! A submission is a folder with two files that count: `kernels.rs`, device code, and `launch.rs`, host code that records
//! a plan for each problem. Its author may have written anything, and the text decides how much of the compiler
//! runs; so
//!
//! 1. `screen` refuses what no submission needs: reading files while compiling, assembly, other crates; in the files, and in what
//!    their macros become;
//! 2. the compilers run in a [`sandbox`], with nothing of the submission but the two files, and nothing of the course but the
//!    crates that they may use; host code has a `std` without what reaches outside;
//! 3. the recorder, which is the submission's `launch.rs` linked to a `main` of ours, runs in a tighter sandbox: it is
//!    given the lab's problems, and knows neither inputs nor seeds; hidden cases are recorded by a process of their own, so
//!    that nothing that students are shown can tell of them;
//! 4. what it wrote is read as untrusted input: each case once, each a plan that fits the lab's buffers and the kernels.
//!
//! All of it is done by a process for each submission ([`job`]), so that a text that takes all memory to read costs that one alone.

mod compile;
mod dependencies;
pub mod job;
mod record;
mod said;
mod screen;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use device::LaunchLimits;
use device::Module;
use host::find_lab;
use host::lab::CaseError;
use output_files::ScratchFolder;
use plan::{AnyLab, Task};
use sandbox::{InForce, Layer, ResourceLimits};
use thiserror::Error;

pub use dependencies::Dependencies;
pub use screen::Sources;

use crate::bundle::{self, BuiltWith, Bundle, BundleFault, BundledCase};
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
        source: CaseError,
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
    /// The disk is full.
    #[error("no space is left in {}, where submissions are built; set TMPDIR to a folder that has some:\n{said}", .folder.display())]
    NoSpace {
        /// Where.
        folder: PathBuf,
        /// What the compiler says.
        said: String,
    },
    /// This system cannot keep compilers from files.
    #[error(
        "this system cannot keep a submission from reading files while it is compiled, those of the reference among them: {}; \
         pack on a system that can, and grade the bundle here, or accept it with \
         --without-landlock, as for a submission of one's own",
        Layer::Files.absence()
    )]
    NotConfined,
    /// A compiler of submissions could read what they must not.
    #[error(
        "{}: is in {}, which the compilers of submissions read: a submission could too; keep it elsewhere",
        .secret.display(), .folder.display()
    )]
    Readable {
        /// What they must not read.
        secret: PathBuf,
        /// The folder that they read.
        folder: PathBuf,
    },
    /// Not even a submission that is known to be good can be built.
    #[error(
        "a submission that is known to be good cannot be built here either, see `harness doctor`:\n{said}"
    )]
    Unable {
        /// What went wrong with it.
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
    /// What the process that packed says of the machine.
    #[error("{0}")]
    Elsewhere(String),
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

    /// The same of hidden cases. That one of them failed is all that anybody but the instructor learns: the kind is always
    /// the same, and the message says that it knew hidden cases.
    fn of_hidden_cases(self) -> PackError {
        match self {
            PackError::Refused(failing) => {
                let message = format!("in a hidden case: {} [{}]", failing.message, failing.kind);
                let failing = Failing::new(Kind::RecorderFailed, message);
                failing.with_hidden_cases_known().into()
            }
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
    /// Whether to pack where nothing keeps submissions from files ([`Layer::Files`]): they can read the reference then.
    pub without_landlock: bool,
    /// A folder of the caller's, where compilers and recorder work: who made it removes it, whatever becomes of this process.
    /// By default, folders where the system keeps temporary files.
    pub scratch: Option<PathBuf>,
}

/// The file in [`Options::scratch`] that is there once hidden cases are recorded: from then on, nothing may be told of a failure.
const HIDDEN_BEGUN: &str = "hidden-cases-begun";

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
                output_bytes: 1 << 20,
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
            without_landlock: false,
            scratch: None,
        }
    }

    /// Where submissions' crates are compiled, and the built-in solutions' kernels in cargo's target folder.
    fn cache_folder(&self) -> PathBuf {
        let cache = match &self.cache {
            Some(folder) => folder.clone(),
            None => std::env::var_os("CARGO_TARGET_DIR")
                .map_or_else(|| self.course_root.join("target"), PathBuf::from),
        };
        std::path::absolute(&cache).unwrap_or(cache)
    }

    /// What a program says, with places in the course as its own: a submission's author has the course elsewhere.
    fn within_course(&self, said: &str) -> String {
        let root = std::path::absolute(&self.course_root).unwrap_or_default();
        let mut said = said.to_owned();
        for root in [root.canonicalize().ok(), Some(root)].into_iter().flatten() {
            said = said.replace(&format!("{}/", root.display()), "");
        }
        said
    }

    /// What no submission may read: the course with its solutions, what was compiled of it, and this program, which holds both.
    fn secrets(&self) -> Vec<PathBuf> {
        let mut secrets = vec![self.course_root.clone(), self.cache_folder()];
        secrets.extend(std::env::current_exe().ok());
        secrets
    }
}

/// Packs any number of submissions: what they are compiled against is built once.
#[derive(Debug)]
pub struct Packer {
    dependencies: OnceLock<Dependencies>,
    /// Locked while they are compiled.
    building: Mutex<()>,
    /// Set once a submission that is known to be good was built.
    able: OnceLock<()>,
    options: Options,
}

impl Packer {
    /// Nothing is built before the first submission needs it.
    pub fn new(options: Options) -> Packer {
        Packer {
            dependencies: OnceLock::new(),
            building: Mutex::new(()),
            able: OnceLock::new(),
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
        let cache = self.options.cache_folder();
        let built = Dependencies::build(&self.options.course_root, &cache)?;
        Ok(self.dependencies.get_or_init(|| built))
    }

    /// Builds what submissions are compiled against, where that is not done yet.
    ///
    /// # Errors
    ///
    /// [`PackError::NotConfined`]; compilers, or crates that were never downloaded, are missing.
    pub fn prepare(&self) -> Result<&Dependencies, PackError> {
        let can_confine =
            sandbox::confines_files() && !self.options.without.contains(&Layer::Files);
        if !can_confine && !self.options.without_landlock {
            return Err(PackError::NotConfined);
        }
        self.dependencies()
    }

    /// Builds a submission for the lab of `course`, and records a plan for each of its cases.
    ///
    /// # Errors
    ///
    /// [`PackError::Refused`] if the submission is at fault; else what the machine lacks: then no other can be packed either.
    pub fn pack(&self, sources: &Sources, course: &Course) -> Result<Bundle, PackError> {
        let dependencies = self.prepare()?;
        let (known, hidden) = (tasks(course, false)?, tasks(course, true)?);
        let build =
            || self.compile_and_record(sources, &course.lab, dependencies, [&known, &hidden]);
        let built = match build() {
            Err(error) if self.may_be_the_machine(&error) => {
                self.check_machine(dependencies)?;
                match error {
                    PackError::Refused(_) => Err(error),
                    // What was amiss may be over: a disk that was full.
                    _ => build().map_err(blamed_on_submission),
                }
            }
            built => built,
        };
        let (module, mut cases, in_force) = built?;
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

    /// Whether an error may as well be the machine's fault. Compilers name lines of the submission for what surely is not.
    fn may_be_the_machine(&self, error: &PackError) -> bool {
        match error {
            PackError::Refused(failing) => {
                let surely_not = [
                    Kind::CompileError,
                    Kind::ForbiddenConstruct,
                    Kind::PtxInvalid,
                    Kind::PlanInvalid,
                ];
                !surely_not.contains(&failing.kind) && self.able.get().is_none()
            }
            _ => true,
        }
    }

    /// Builds a submission that is known to be good. No words of a compiler decide whose fault something is, but this does.
    fn check_machine(&self, dependencies: &Dependencies) -> Result<(), PackError> {
        let good = Sources {
            kernels: include_str!("known_good/kernels.rs").to_owned(),
            launch: include_str!("known_good/launch.rs").to_owned(),
        };
        let build = || self.compile_and_record(&good, "matadd", dependencies, [&[], &[]]);
        // Another submission may just be taking all memory, or all of the disk.
        let built = build().or_else(|_| {
            std::thread::sleep(Duration::from_secs(1));
            build()
        });
        match built {
            Ok(_) => {
                self.able.get_or_init(|| ());
                Ok(())
            }
            Err(PackError::Refused(failing)) => Err(PackError::Unable {
                said: failing.message,
            }),
            Err(other) => Err(other),
        }
    }

    /// The kernels, a plan for each of the known and then of the hidden tasks, and what all of it ran under.
    fn compile_and_record(
        &self,
        sources: &Sources,
        lab: &str,
        dependencies: &Dependencies,
        [known, hidden]: [&[Task]; 2],
    ) -> Result<(Module, Vec<BundledCase>, InForce), PackError> {
        let above = self.options.scratch.clone();
        let above = above.unwrap_or_else(std::env::temp_dir);
        let folder = ScratchFolder::new_in(&above, "pack").map_err(PackError::io(&above))?;
        let folder = folder.path();
        // The sandbox gets paths as the kernel sees them.
        let root = folder.canonicalize().map_err(PackError::io(folder))?;
        let subfolder = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir(&path).map_err(PackError::io(&path))?;
            Ok::<_, PackError>(path)
        };
        let [device, host, recording] = ["device", "host", "record"].map(subfolder);
        let (device, host, recording) = (device?, host?, recording?);
        let lab_type = AnyLab::find(lab).expect("the lab was found").type_path;
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
        let record =
            |program: &Path, tasks: &[Task]| record::plans(program, tasks, &recording, options);
        let (kernels, recorded) = std::thread::scope(|scope| {
            let kernels = scope.spawn(|| compile::ptx(sources, of_kernels, &device, options));
            let recorder = compile::recorder(sources, &dependencies.host, lab_type, &host, options);
            let recorded = recorder.and_then(|(program, in_force)| {
                let (plans, recorded) = record(&program, known)?;
                Ok((program, plans, in_force.and(recorded)))
            });
            (kernels.join().expect("no panic"), recorded)
        });
        // A mistake in the kernels is one of the recorder too, which says it with less.
        let (ptx, kernels_in_force) = kernels?;
        let (program, plans, in_force) = recorded?;
        let in_force = kernels_in_force.and(in_force);
        let module = Module::new("kernels.rs", ptx);
        module
            .program()
            .map_err(|error| PackError::refused(Kind::PtxInvalid, error.to_string()))?;
        let mut cases = bundled(lab, &module, known, plans)?;
        // Here and now: whether all plans together are too many can tell of hidden cases.
        bundle::fits_half(&cases).map_err(plans_too_large)?;
        if hidden.is_empty() {
            return Ok((module, cases, in_force));
        }
        // By a process of their own, and last: nothing about another case can tell of them.
        if let Some(scratch) = &self.options.scratch {
            let begun = scratch.join(HIDDEN_BEGUN);
            std::fs::write(&begun, "").map_err(PackError::io(&begun))?;
        }
        let (plans, recorded) = record(&program, hidden).map_err(PackError::of_hidden_cases)?;
        let of_hidden = bundled(lab, &module, hidden, plans);
        cases.extend(of_hidden.map_err(PackError::of_hidden_cases)?);
        Ok((module, cases, in_force.and(recorded)))
    }
}

/// What a bundle holds of these tasks, if the plans for them fit.
fn bundled(
    lab: &str,
    module: &Module,
    tasks: &[Task],
    plans: Vec<plan::Plan>,
) -> Result<Vec<BundledCase>, PackError> {
    let case = |(task, plan): (&Task, plan::Plan)| {
        let Task { name, problem } = task.clone();
        let fits = plan_check::fits(lab, &problem, &plan, module, &LaunchLimits::SM_90);
        if let Err(Outcome::Failed(failing)) = fits {
            let message = format!("case `{name}`: {}", failing.message);
            return Err(PackError::refused(failing.kind, message));
        }
        Ok(BundledCase {
            name,
            problem,
            plan,
        })
    };
    tasks.iter().zip(plans).map(case).collect()
}

/// What is said of plans that fill a bundle.
fn plans_too_large(fault: BundleFault) -> PackError {
    let BundleFault::TooLarge { limit, .. } = fault else {
        return PackError::refused(Kind::PlanTooLarge, fault.to_string());
    };
    let message = format!(
        "launch.rs: the plans are larger than the {limit} that they may have; record fewer launches"
    );
    PackError::refused(Kind::PlanTooLarge, message)
}

/// The same error, where the machine can build other submissions.
fn blamed_on_submission(error: PackError) -> PackError {
    let message = match error {
        PackError::Refused(_) => return error,
        PackError::HostCompiler { said, .. } => format!("launch.rs does not compile:\n{said}"),
        PackError::NoLinker { said } => format!("launch.rs cannot be linked:\n{said}"),
        PackError::Kernels(error) => format!("kernels.rs does not compile: {error}"),
        other => format!("this submission cannot be built, though others can: {other}"),
    };
    PackError::refused(Kind::CompileError, compile::shortened(&message))
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
            source,
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
