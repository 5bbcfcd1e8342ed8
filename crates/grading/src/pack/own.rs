//! A submission beside the built-in solutions: what `--submission DIR` of other commands than
//! `grade` uses.
//!
//! It is built as for a grade: the same screen, the same compilers, the same sandbox. Its recorder
//! stays, and records the plan of any case when a command asks for it. No file is kept from it that
//! the submission's author could not read anyway, so a system without isolation will do.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use device::{Error, LaunchLimits, Module};
use exit::CommandError;
use lab::{Lab, LabCase, SHAPE, Variant};
use output_files::ScratchFolder;
use plan::{Plan, Target, Task};
use sandbox::InForce;
use thiserror::Error as ThisError;
use units::count;

use super::record::{self, Allowance};
use super::{Options, PackError, Packer, Sources, Workshop, fitting};
use crate::bundle::{Bundle, BundledCase};
use crate::outcome::Kind;
use crate::plan_check::{self, Devices};

/// A plan that a submission did not record, or that does not fit.
#[derive(Debug, ThisError)]
#[error("{submission}: {message}")]
struct NotRecorded {
    submission: String,
    message: String,
}

/// A submission's recorder.
struct Recorder {
    submission: String,
    lab: &'static str,
    sources: Sources,
    module: Arc<Module>,
    program: PathBuf,
    /// Where it runs.
    folder: PathBuf,
    options: Options,
}

impl Recorder {
    fn failed(&self, message: String) -> NotRecorded {
        NotRecorded {
            submission: self.submission.clone(),
            message,
        }
    }

    /// The plan of a case, recorded now: a process that takes milliseconds. In the launch shape of
    /// this number, or as it is graded.
    fn plan(
        &self,
        case: &dyn LabCase,
        devices: u32,
        shape: Option<usize>,
    ) -> Result<Plan, NotRecorded> {
        let failed = |message| self.failed(message);
        let tasks = [task(case, devices, shape)];
        let mut allowance = Allowance::default();
        let recorded = record::cases(
            &self.program,
            &tasks,
            &self.folder,
            &self.options,
            &mut allowance,
        );
        let (mut recorded, _) = recorded.map_err(|error| failed(error.to_string()))?;
        let plan = recorded.pop().expect("a plan or a failure for each task");
        let of = Devices::of(case, devices);
        plan.and_then(|plan| fitting(self.lab, &self.sources, &self.module, &tasks[0], of, plan))
            .map_err(|failure| failed(failure.message))
    }

    /// The labels of the launch shapes that it declares, in order.
    fn shapes(&self, case: &dyn LabCase) -> Result<Vec<String>, PackError> {
        let task = task(case, 1, Some(0));
        let labels = record::shapes(&self.program, task, &self.folder, &self.options)?;
        let is_label = |label: &str| {
            let is_part =
                |letter: char| letter.is_ascii_graphic() && ![',', SHAPE].contains(&letter);
            (1..=MAX_LABEL_BYTES).contains(&label.len()) && label.chars().all(is_part)
        };
        let mut known = HashSet::from([AS_GRADED]);
        for label in &labels {
            let wrong = match (is_label(label), known.insert(label)) {
                (true, true) => continue,
                (true, false) => "is there twice, or is the label of the plan that is graded",
                (false, _) => "1 to 40 ASCII characters, none of them a blank, a comma or an @",
            };
            return Err(PackError::failure(
                Kind::PlanMalformed,
                format!("launch.rs: `Solution::shapes`: label {label:?}: {wrong}"),
            ));
        }
        Ok(labels)
    }
}

/// The label of the shape in which a submission is graded: `tune` compares the others with it.
pub const AS_GRADED: &str = "graded";
/// Labels are shown in a column.
const MAX_LABEL_BYTES: usize = 40;

fn task(case: &dyn LabCase, devices: u32, shape: Option<usize>) -> Task {
    Task {
        name: case.label(),
        problem: case.problem_json(),
        devices,
        shape,
    }
}

impl Packer {
    /// Builds a submission, as a variant of this name. Its plans are recorded on demand, for as
    /// long as the folder is there. With [`Purpose::Shapes`] it has the launch shapes that it
    /// declares, after the one that is graded.
    ///
    /// # Errors
    ///
    /// As [`Packer::pack`].
    pub fn variant(
        &self,
        sources: &Sources,
        lab: &'static Lab,
        name: &str,
        purpose: Purpose,
    ) -> Result<(Variant, ScratchFolder), PackError> {
        let dependencies = self.prepare()?;
        let workshop = Workshop::new(&self.options)?;
        let nothing = |_: &Path| Ok(((), InForce::ALL));
        let compiled = self.compile(sources, lab.name, dependencies, &workshop, nothing)?;
        let module = Arc::new(compiled.module);
        let recorder = Arc::new(Recorder {
            submission: name.to_owned(),
            lab: lab.name,
            sources: sources.clone(),
            module: Arc::clone(&module),
            program: compiled.program,
            folder: workshop.record,
            options: self.options.clone(),
        });
        let in_shape = |label: &str, shape: Option<usize>| {
            let recorder = Arc::clone(&recorder);
            let record = move |case: &dyn LabCase, target: Target| {
                let plan = recorder.plan(case, target.devices, shape);
                plan.map_err(|error| Error::Input(Box::new(error)))
            };
            Variant::recorded(label, "a submission", Arc::clone(&module), record)
        };
        let mut variant = in_shape(name, None);
        let first = lab.small_cases().into_iter().next();
        if let (Purpose::Shapes, Some(case)) = (purpose, first) {
            let labels = recorder.shapes(case.as_ref())?;
            let named = |label: &str, shape| in_shape(&format!("{name}{SHAPE}{label}"), shape);
            let others = labels
                .iter()
                .enumerate()
                .map(|(number, label)| named(label, Some(number)));
            variant.shapes.push(named(AS_GRADED, None));
            variant.shapes.extend(others);
        }
        Ok((variant, workshop.scratch))
    }
}

/// The use that a command has for submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It needs plans of any cases.
    Plans,
    /// It needs no plans but those of [`Bundle::timed`], so it takes bundles, too.
    TimedPlans,
    /// It needs plans in all launch shapes that a submission declares.
    Shapes,
}

/// A packed submission as a variant of this name. It has the plans that are in the bundle.
///
/// # Errors
///
/// [`CommandError::Input`] for a file that is not a bundle, or is of another lab.
fn of_bundle(lab: &'static Lab, file: &Path, name: &str) -> Result<Variant, CommandError> {
    let refused = |why: String| CommandError::Input(format!("--submission {why}"));
    let bundle = Bundle::read(file).map_err(|error| refused(error.to_string()))?;
    if bundle.lab != lab.name {
        return Err(refused(format!(
            "{}: is of lab `{}`, and not of `{}`",
            file.display(),
            bundle.lab,
            lab.name
        )));
    }
    let module = Arc::new(Module::new("kernels.rs", bundle.ptx));
    module
        .program()
        .map_err(|error| refused(format!("{}: {error}; pack it again", file.display())))?;
    let own = Arc::clone(&module);
    let submission = name.to_owned();
    let record = move |case: &dyn LabCase, target: Target| {
        let cases = bundle.timed.iter().chain(&bundle.cases);
        let plan = in_bundle(lab.name, cases, &own, case, target.devices);
        plan.map_err(|message| {
            Error::Input(Box::new(NotRecorded {
                submission: submission.clone(),
                message,
            }))
        })
    };
    let variant = Variant::recorded(name, "a submission", module, record);
    Ok(variant.without_parts())
}

/// The plan of a case, from those of a bundle, which anybody may have edited.
fn in_bundle<'b>(
    lab: &'static str,
    mut cases: impl Iterator<Item = &'b BundledCase>,
    module: &Module,
    case: &dyn LabCase,
    devices: u32,
) -> Result<Plan, String> {
    let problem = case.problem_json();
    let is_it = |of: &&BundledCase| {
        let plan_devices = of.plan.as_ref().map_or(devices, Plan::devices);
        of.problem == problem && plan_devices == devices
    };
    let Some(found) = cases.find(is_it) else {
        return Err(format!(
            "the bundle has no plan of {} on {}; it has those of the cases that `perf` times, with and \
             without --large; where Rust is, name the submission's folder",
            case.label(),
            count(devices as usize, "device")
        ));
    };
    let plan = found.plan.clone().map_err(|fault| fault.message)?;
    let limits = &LaunchLimits::SM_90;
    let devices = Devices::of(case, devices);
    plan_check::fits(lab, &problem, &plan, module, limits, devices)
        .map_err(|why| why.to_string())?;
    Ok(plan)
}

/// A submission's name as a variant: no built-in solution has a `/` in its name.
fn named(folder: &Path) -> String {
    let shown = folder.display().to_string();
    let name = shown.trim_end_matches('/');
    if name.contains('/') {
        name.to_owned()
    } else {
        format!("./{name}")
    }
}

/// A submission as it is read, before it is built.
enum Submitted {
    Folder(Sources),
    Bundle(Variant),
}

impl Submitted {
    /// Reads what a flag names.
    fn read(lab: &'static Lab, path: &Path, purpose: Purpose) -> Result<Submitted, CommandError> {
        let (shown, name) = (path.display(), named(path));
        if path.is_dir() {
            let sources =
                Sources::read(path).map_err(|error| CommandError::from(error).context(&name))?;
            return Ok(Submitted::Folder(sources));
        }
        if !path.exists() {
            return Err(CommandError::Input(format!(
                "--submission {shown}: the folder does not exist; name one with kernels.rs and launch.rs"
            )));
        }
        if purpose != Purpose::TimedPlans {
            return Err(CommandError::Input(format!(
                "--submission {shown}: is not a folder; name one with kernels.rs and launch.rs (only `perf` takes a bundle, too)"
            )));
        }
        of_bundle(lab, path, &name).map(Submitted::Bundle)
    }
}

/// Builds the submissions in these folders, as variants of their lab. They are called as the
/// folders are written. They work for as long as the returned folders are there. A file is a
/// bundle, which needs no compiler; `course_root` is asked for where there are folders.
///
/// # Errors
///
/// [`CommandError::Input`] for a folder that is not there, or a file that is not a bundle;
/// [`CommandError::Wrong`] for a submission that does not compile or uses what it may not;
/// otherwise what the machine lacks.
pub fn built(
    lab: &'static Lab,
    folders: &[PathBuf],
    purpose: Purpose,
    course_root: impl Fn() -> Result<PathBuf, CommandError>,
) -> Result<(Vec<Variant>, Vec<ScratchFolder>), CommandError> {
    let mut names = HashSet::new();
    if let Some(twice) = folders.iter().find(|folder| !names.insert(named(folder))) {
        return Err(CommandError::Input(format!(
            "--submission {}: is named twice",
            twice.display()
        )));
    }
    // None is built before all are there: a build takes seconds.
    let read = |path: &PathBuf| Ok((named(path), Submitted::read(lab, path, purpose)?));
    let submitted: Vec<(String, Submitted)> = folders
        .iter()
        .map(read)
        .collect::<Result<_, CommandError>>()?;
    let packer = OnceCell::new();
    let compiled = |sources: &Sources, name: &str| {
        let packer = match packer.get() {
            Some(packer) => packer,
            None => {
                let mut options = Options::new(course_root()?);
                options.without_isolation = true;
                packer.get_or_init(|| Packer::new(options))
            }
        };
        let _bar = terminal::progress::Bar::new(format!("building {name}"));
        let built = packer.variant(sources, lab, name, purpose);
        built.map_err(|error| CommandError::from(error).context(name))
    };
    let (mut variants, mut scratch) = (Vec::new(), Vec::new());
    for (name, one) in submitted {
        variants.push(match one {
            Submitted::Bundle(variant) => variant,
            Submitted::Folder(sources) => {
                let (variant, folder) = compiled(&sources, &name)?;
                scratch.push(folder);
                variant
            }
        });
    }
    Ok((variants, scratch))
}
