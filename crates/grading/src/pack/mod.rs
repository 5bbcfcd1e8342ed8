//! A submission, built in isolation: what `harness pack` does, and `harness grade` with a folder.
//!
//! A submission is a folder with two files that count: `kernels.rs`, device code, and `launch.rs`,
//! host code that records a plan for each problem. Its author may have written anything, and the
//! text decides how much of the compiler runs; so
//!
//! 1. `screen` refuses what no submission needs: reading files while compiling, assembly, other
//!    crates; in the files, and in what their macros become;
//! 2. the compilers run in a [`sandbox`], with nothing of the submission but the two files, and
//!    nothing of the course but the crates that they may use; host code has a `std` without what
//!    reaches outside;
//! 3. the recorder, which is the submission's `launch.rs` linked to a `main` of ours, runs in a
//!    tighter sandbox: it is given the lab's problems, without inputs and seeds; hidden cases are
//!    recorded by a process of their own, so that nothing that students are shown can tell of them;
//! 4. what it wrote is read as untrusted input: each case once, each a plan that fits the lab's
//!    buffers and the kernels. A case without such a plan fails, and the others go on; only if no
//!    case is left that the submission's author knows, the submission is refused as a whole.
//!
//! All of it is done by a process for each submission ([`job`]), so that a text that takes all
//! memory to read costs that one alone.

mod compile;
mod dependencies;
mod error;
pub mod job;
mod options;
pub mod own;
mod record;
mod rustc_diagnostics;
mod screen;
mod signature;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cuda_builder::Prebuilt;
use device::LaunchLimits;
use device::Module;
use lab::Lab;
use output_files::ScratchFolder;
use plan::{InterfaceInfo, Task};
use record::{Allowance, Recorded};
use sandbox::{InForce, Layer};

use error::of_hidden_case;
use options::HIDDEN_BEGUN;

use dependencies::for_older_devices;
pub use dependencies::{Building, Dependencies};
pub use error::PackError;
pub use options::{Authors, Options};
pub use screen::{Sources, absent};

use crate::bundle::{BuiltWith, Bundle, BundleErrorKind, BundledCase, NotRecorded, Room};
use crate::lab_spec::{CaseSpec, Group, LabSpec};
use crate::outcome::{Failure, Kind, NoResult};
use crate::plan_check::{self, Devices};
use crate::report::Protection;

/// Packs any number of submissions: what they are compiled against is built once.
#[derive(Debug)]
pub struct Packer {
    dependencies: OnceLock<Dependencies>,
    /// Locked while they are compiled.
    building: Mutex<()>,
    /// Whether a submission was built here: the machine is able to.
    able: AtomicBool,
    options: Options,
}

impl Packer {
    /// Nothing is built before the first submission needs it.
    pub fn new(options: Options) -> Packer {
        Packer {
            dependencies: OnceLock::new(),
            building: Mutex::new(()),
            able: AtomicBool::new(false),
            options,
        }
    }

    /// A packer whose dependencies another process has built.
    fn with_dependencies(options: Options, dependencies: Dependencies) -> Packer {
        Packer {
            dependencies: OnceLock::from(dependencies),
            ..Packer::new(options)
        }
    }

    /// Whether some submission was built: then an error is not the machine's.
    fn is_able(&self) -> bool {
        self.able.load(Ordering::Relaxed)
    }

    fn has_built(&self) {
        self.able.store(true, Ordering::Relaxed);
    }

    fn building(&self) -> MutexGuard<'_, ()> {
        self.building.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The crates that submissions are compiled against; compiled here and now, where that is not
    /// done yet.
    fn dependencies(&self, tell: &mut dyn FnMut(Building)) -> Result<&Dependencies, PackError> {
        // Another thread may build for the messages of panics, and this one needs none of that.
        if let Some(built) = self.dependencies.get() {
            return Ok(built);
        }
        // One thread compiles them; others wait here and find them.
        let _guard = self.building();
        if let Some(built) = self.dependencies.get() {
            return Ok(built);
        }
        let cache = self.options.cache_folder();
        let built = Dependencies::build(&self.options.course_root, &cache, tell)?;
        Ok(self.dependencies.get_or_init(|| built))
    }

    /// Builds what submissions are compiled against, where that is not done yet.
    ///
    /// # Errors
    ///
    /// [`PackError::NotConfined`]; compilers are missing, or crates that cannot be
    /// downloaded.
    pub fn prepare(&self) -> Result<&Dependencies, PackError> {
        self.prepare_telling(&mut |_| {})
    }

    /// As [`Packer::prepare`]; `tell` is told how far it is.
    fn prepare_telling(&self, tell: &mut dyn FnMut(Building)) -> Result<&Dependencies, PackError> {
        let can_confine =
            sandbox::confines_files() && !self.options.without.contains(&Layer::Files);
        if !can_confine && !self.options.without_isolation {
            return Err(PackError::NotConfined);
        }
        self.dependencies(tell)
    }

    /// Builds a submission for the lab of `lab_spec`, and records a plan for each of its cases.
    ///
    /// # Errors
    ///
    /// [`PackError::Failure`] if the submission is at fault; else what the machine lacks: then no
    /// other can be packed either.
    pub fn pack(&self, sources: &Sources, lab_spec: &LabSpec) -> Result<Bundle, PackError> {
        let dependencies = self.prepare()?;
        let tasks = Tasks {
            known: tasks(lab_spec, false)?,
            timed: if self.options.for_perf {
                timed_tasks(lab_spec.lab)
            } else {
                Vec::new()
            },
            hidden: tasks(lab_spec, true)?,
            idle: without_work(lab_spec),
        };
        let build = || self.compile_and_record(sources, lab_spec.lab.name, dependencies, &tasks);
        let mut built = build().or_else(|error| match self.blame(&error, dependencies) {
            Whose::Submission => Err(error),
            Whose::Machine(error) => Err(error),
            Whose::Unclear => build().map_err(refusal),
        })?;
        // As the lab has them.
        let place = |name: &str| lab_spec.cases.iter().position(|case| case.name == name);
        built.cases.sort_by_key(|case| place(&case.name));
        let tools = dependencies.device.tools();
        Ok(Bundle {
            lab: lab_spec.lab.name.to_owned(),
            draw: lab_spec.draw,
            ptx: built.module.ptx().to_owned(),
            cases: built.cases,
            timed: built.timed,
            built_with: BuiltWith {
                harness: env!("CARGO_PKG_VERSION").to_owned(),
                kernels: tools.rustc_version.clone(),
                llvm: tools.llvm_major,
                host: dependencies.host.rustc_version.clone(),
            },
            protections: protections(built.in_force),
        })
    }

    /// Builds what a submission's kernels are compiled against so that a panic says which it is.
    ///
    /// # Errors
    ///
    /// As [`Packer::prepare`].
    fn prepare_messages(&self, sources: &Sources) -> Result<Prebuilt, PackError> {
        let dependencies = self.prepare()?;
        let _guard = self.building();
        let built = dependencies.with_messages(sources.names_capability())?;
        Ok(for_older_devices(built, sources))
    }

    /// Whose fault an error of a submission's build is. A compiler's words do not decide that: a
    /// build of a submission that is known to be good does.
    fn blame(&self, error: &PackError, dependencies: &Dependencies) -> Whose {
        /// Of these, compilers name lines of the submission.
        const CERTAIN: [Kind; 4] = [
            Kind::CompileError,
            Kind::ForbiddenConstruct,
            Kind::PtxInvalid,
            Kind::PlanInvalid,
        ];
        let refused = match error {
            PackError::Failure(failure) => Some(failure.kind),
            _ => None,
        };
        if refused.is_some_and(|kind| CERTAIN.contains(&kind) || self.is_able()) {
            return Whose::Submission;
        }
        match (self.build_known_good(dependencies), refused) {
            (Err(why), _) => Whose::Machine(why),
            (Ok(()), Some(_)) => Whose::Submission,
            (Ok(()), None) => Whose::Unclear,
        }
    }

    /// Builds a submission that is known to be good.
    fn build_known_good(&self, dependencies: &Dependencies) -> Result<(), PackError> {
        let good = Sources {
            kernels: include_str!("known_good/kernels.rs").to_owned(),
            launch: include_str!("known_good/launch.rs").to_owned(),
        };
        let tasks = Tasks::default();
        let build = || self.compile_and_record(&good, "matadd", dependencies, &tasks);
        // Another submission may just be taking all memory, or all of the disk.
        let built = build().or_else(|_| {
            std::thread::sleep(Duration::from_secs(1));
            build()
        });
        match built {
            Ok(_) => {
                self.has_built();
                Ok(())
            }
            Err(PackError::Failure(failure)) => Err(PackError::Unable {
                said: failure.message,
            }),
            Err(other) => Err(other),
        }
    }

    /// Builds the kernels, and records plans of the known tasks and of those for `perf`, then of
    /// the hidden ones.
    fn compile_and_record(
        &self,
        sources: &Sources,
        lab: &str,
        dependencies: &Dependencies,
        Tasks {
            known,
            timed,
            hidden,
            idle,
        }: &Tasks,
    ) -> Result<Built, PackError> {
        let workshop = Workshop::new(&self.options)?;
        let options = &self.options;
        let mut allowance = Allowance::default();
        let compiled = self.compile(sources, lab, dependencies, &workshop, |program| {
            let mut record =
                |tasks| record::cases(program, tasks, &workshop.record, options, &mut allowance);
            let (plans, in_force) = record(known)?;
            let timed_plans = if timed.is_empty() {
                Vec::new()
            } else {
                record(timed)?.0
            };
            Ok(([plans, timed_plans], in_force))
        })?;
        let module = &compiled.module;
        let [plans, timed_plans] = compiled.recorded;
        let mut room = Room::half();
        let mut cases = bundled(lab, sources, module, (known, idle), plans, &mut room);
        let timed = bundled(lab, sources, module, (timed, idle), timed_plans, &mut room);
        // Where no case can be run that its author knows, that is said once, and nothing is graded.
        let faults = cases.iter().map(|case| case.plan.as_ref().err());
        if let Some(Some(first)) = faults.reduce(|first, next| first.and_then(|_| next.and(first)))
        {
            return Err(Failure::from(first.clone()).into());
        }
        if hidden.is_empty() {
            return Ok(Built {
                module: compiled.module,
                cases,
                timed,
                in_force: compiled.in_force,
            });
        }
        // By a process of their own, and last: nothing about another case can tell of them.
        if let Some(scratch) = &self.options.scratch {
            let begun = scratch.join(HIDDEN_BEGUN);
            std::fs::write(&begun, "").map_err(PackError::io(&begun))?;
        }
        let mut allowance = allowance.for_others();
        let (hidden_plans, recorded) = record::cases(
            &compiled.program,
            hidden,
            &workshop.record,
            options,
            &mut allowance,
        )
        .map_err(PackError::of_hidden_cases)?;
        let of_hidden = bundled(
            lab,
            sources,
            module,
            (hidden, idle),
            hidden_plans,
            &mut Room::half(),
        );
        cases.extend(of_hidden.into_iter().map(|case| {
            BundledCase {
                plan: case
                    .plan
                    .map_err(|fault| of_hidden_case(fault.into()).into()),
                ..case
            }
        }));
        Ok(Built {
            module: compiled.module,
            cases,
            timed,
            in_force: compiled.in_force.and(recorded),
        })
    }

    /// Compiles the kernels and the recorder, which are independent of one another, at once, and
    /// has `record` use the recorder.
    fn compile<T>(
        &self,
        sources: &Sources,
        lab: &str,
        dependencies: &Dependencies,
        workshop: &Workshop,
        record: impl FnOnce(&Path) -> Result<(T, InForce), PackError>,
    ) -> Result<Compiled<T>, PackError> {
        let lab_type = InterfaceInfo::find(lab)
            .expect("the lab was found")
            .type_path;
        let (host, options) = (&dependencies.host, &self.options);
        // PTX is for one architecture and all newer ones: kernels that need a newer one are
        // compiled for that.
        let built = if sources.names_capability() {
            let _guard = self.building();
            dependencies.newer()?
        } else {
            &dependencies.device
        };
        let of_kernels = &for_older_devices(built.clone(), sources);
        let (kernels, recorded) = std::thread::scope(|scope| {
            let kernels =
                scope.spawn(|| compile::ptx(sources, of_kernels, &workshop.device, options));
            let recorder = compile::recorder(sources, host, lab_type, &workshop.host, options);
            let recorded = recorder.and_then(|(program, in_force)| {
                let (recorded, while_recording) = record(&program)?;
                Ok((program, recorded, in_force.and(while_recording)))
            });
            (kernels.join().expect("no panic"), recorded)
        });
        // A mistake in the kernels is one of the recorder too, which says it with less.
        let (ptx, kernels_in_force) = kernels?;
        let (program, recorded, in_force) = recorded?;
        // Names of source files stay; a bundle does not name the machine's folders.
        let module = Module::new("kernels.rs", options.within_course(&ptx));
        module
            .program()
            .map_err(|error| PackError::failure(Kind::PtxInvalid, error.to_string()))?;
        Ok(Compiled {
            module,
            program,
            recorded,
            in_force: kernels_in_force.and(in_force),
        })
    }
}

/// A submission that was compiled.
struct Compiled<T> {
    /// The kernels.
    module: Module,
    /// The recorder.
    program: PathBuf,
    /// The recorder's results.
    recorded: T,
    /// The sandbox's layers while all of that ran.
    in_force: InForce,
}

/// A submission that was compiled, with plans.
struct Built {
    /// The kernels.
    module: Module,
    /// The lab's cases, those that are hidden last.
    cases: Vec<BundledCase>,
    /// The cases that `harness perf` times.
    timed: Vec<BundledCase>,
    /// The sandbox's layers while all of that ran.
    in_force: InForce,
}

/// The problems that a submission's plans are recorded for.
#[derive(Debug, Default)]
struct Tasks {
    /// Of cases that the submission's author knows.
    known: Vec<Task>,
    /// Of cases that `harness perf` times.
    timed: Vec<Task>,
    hidden: Vec<Task>,
    /// The names of the cases in which nothing is to be computed.
    idle: HashSet<String>,
}

/// The folders in which a submission is built, which are removed with this value.
#[derive(Debug)]
struct Workshop {
    /// Where kernels are compiled.
    device: PathBuf,
    /// Where host code is compiled.
    host: PathBuf,
    /// Where the recorder runs.
    record: PathBuf,
    scratch: ScratchFolder,
}

impl Workshop {
    fn new(options: &Options) -> Result<Workshop, PackError> {
        let above = options.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = ScratchFolder::new_in(&above, "pack").map_err(PackError::io(&above))?;
        let folder = scratch.path();
        // The sandbox gets paths as the kernel sees them.
        let root = dunce::canonicalize(folder).map_err(PackError::io(folder))?;
        let subfolder = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir(&path).map_err(PackError::io(&path))?;
            Ok::<_, PackError>(path)
        };
        let [device, host, record] = ["device", "host", "record"].map(subfolder);
        Ok(Workshop {
            device: device?,
            host: host?,
            record: record?,
            scratch,
        })
    }
}

/// The bundle's cases for these tasks: with the plans that fit the kernels and this room.
fn bundled(
    lab: &str,
    sources: &Sources,
    module: &Module,
    (tasks, idle): (&[Task], &HashSet<String>),
    recorded: Vec<Recorded>,
    room: &mut Room,
) -> Vec<BundledCase> {
    let case = |(task, result): (&Task, Recorded)| {
        let Task { name, problem, .. } = task.clone();
        let devices = Devices {
            number: task.devices,
            has_work: !idle.contains(&task.name),
        };
        let fitting = result.and_then(|plan| fitting(lab, sources, module, task, devices, plan));
        let plan = fitting.map_err(NotRecorded::from);
        let mut case = BundledCase {
            name,
            problem,
            plan,
        };
        if let Err(fault) = room.take(&case) {
            case.plan = Err(plans_too_large(fault).into());
        }
        case
    };
    tasks.iter().zip(recorded).map(case).collect()
}

/// The plan for this task, if it fits the lab's buffers, the kernels and these devices.
fn fitting(
    lab: &str,
    sources: &Sources,
    module: &Module,
    task: &Task,
    devices: Devices,
    plan: plan::Plan,
) -> Recorded {
    let limits = &LaunchLimits::SM_90;
    let fits = plan_check::fits(lab, &task.problem, &plan, module, limits, devices);
    let Err(NoResult::Failed(failure)) = fits else {
        return Ok(plan);
    };
    let mut message = format!("case `{}`: {}", task.name, failure.message);
    if let Some(place) = signature::of_wrong_argument(sources, module, &plan, limits) {
        message += &format!(": {place}");
    }
    Err(Failure::new(failure.kind, message))
}

/// The failure of plans that fill a bundle.
fn plans_too_large(fault: BundleErrorKind) -> Failure {
    let BundleErrorKind::TooLarge { limit, .. } = fault else {
        return Failure::new(Kind::PlanTooLarge, fault.to_string());
    };
    let message = format!(
        "launch.rs: the plans are larger than the {limit} that they may have; record fewer launches"
    );
    Failure::new(Kind::PlanTooLarge, message)
}

/// Whose fault it is that a submission was not built.
enum Whose {
    /// The submission's.
    Submission,
    /// The machine's, which builds no other submission either, for this reason.
    Machine(PackError),
    /// The machine's as it seems, and yet it builds another submission. The cause may be gone, such
    /// as a full disk: another build decides.
    Unclear,
}

/// The refusal of a submission that met this error twice, where the machine builds another.
fn refusal(error: PackError) -> PackError {
    let message = match error {
        PackError::Failure(_) => return error,
        PackError::HostCompiler { said, .. } => format!("launch.rs does not compile:\n{said}"),
        PackError::NoLinker { said } => format!("launch.rs cannot be linked:\n{said}"),
        PackError::Kernels(error) => format!("kernels.rs does not compile: {error}"),
        other => format!("this submission cannot be built, though others can: {other}"),
    };
    PackError::failure(Kind::CompileError, compile::shortened(&message))
}

/// The recorder's tasks for the hidden cases of a lab, or for the others.
fn tasks(lab_spec: &LabSpec, hidden: bool) -> Result<Vec<Task>, PackError> {
    let task = |case: &CaseSpec| {
        // The plan does not depend on the seed.
        let made = case
            .with_seed(lab_spec.lab, 1)
            .map_err(|source| PackError::Case {
                case: case.name.clone(),
                source,
            })?;
        Ok(Task {
            name: case.name.clone(),
            problem: made.problem_json(),
            devices: case.devices,
            shape: None,
        })
    };
    let cases = lab_spec
        .cases
        .iter()
        .filter(|case| (case.group == Group::Hidden) == hidden);
    cases.map(task).collect()
}

/// The names of the cases in which nothing is to be computed, as in no timesteps.
fn without_work(lab_spec: &LabSpec) -> HashSet<String> {
    let is_idle = |case: &&CaseSpec| {
        let made = case.with_seed(lab_spec.lab, 1);
        made.is_ok_and(|made| !Devices::of(&*made, case.devices).has_work)
    };
    let idle = lab_spec.cases.iter().filter(is_idle);
    idle.map(|case| case.name.clone()).collect()
}

/// The cases that `harness perf` times of this lab, and those that it counts beside them, or
/// without a GPU in their place.
fn timed_tasks(lab: &Lab) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for case in lab.laptop_cases().into_iter().chain(lab.large_cases()) {
        let counted = [case.reduced(), lab::counted_instead(lab, case.as_ref())];
        for one in counted.into_iter().chain([Some(case)]).flatten() {
            let problem = one.problem_json();
            if tasks.iter().all(|task| task.problem != problem) {
                tasks.push(Task {
                    name: one.label(),
                    problem,
                    devices: 1,
                    shape: None,
                });
            }
        }
    }
    tasks
}

/// The sandbox's protections, for reports.
fn protections(in_force: InForce) -> Vec<Protection> {
    let protection = |layer: Layer| Protection {
        name: format!("sandbox: {}", layer.name()),
        in_force: in_force.has(layer),
        detail: if in_force.has(layer) {
            layer.effect().to_owned()
        } else {
            layer.absence().to_owned()
        },
    };
    Layer::ALL.map(protection).to_vec()
}
