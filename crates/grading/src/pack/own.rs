//! A submission beside the built-in solutions: what `--submission DIR` of other commands than
//! `grade` uses.
//!
//! It is built as for a grade: the same screen, the same compilers, the same sandbox. Its recorder
//! stays, and records the plan of any case when a command asks for it. No file is kept from it that
//! the submission's author could not read anyway, so a system without Landlock will do.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use device::{Error, LaunchLimits, Module};
use exit::CommandError;
use lab::{Lab, LabCase, Variant};
use output_files::ScratchFolder;
use plan::{Plan, Target, Task};
use sandbox::InForce;
use thiserror::Error as ThisError;
use units::count;

use super::record::{self, Allowance};
use super::{Options, PackError, Packer, Sources, Workshop, fitting};
use crate::bundle::{Bundle, BundledCase};
use crate::outcome::Outcome;
use crate::plan_check;

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
    /// The plan of a case, recorded now: a process that takes milliseconds.
    fn plan(&self, case: &dyn LabCase, devices: u32) -> Result<Plan, NotRecorded> {
        let failed = |message: String| NotRecorded {
            submission: self.submission.clone(),
            message,
        };
        let task = Task {
            name: case.label(),
            problem: case.problem_json(),
            devices,
        };
        let tasks = [task];
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
        plan.and_then(|plan| fitting(self.lab, &self.sources, &self.module, &tasks[0], plan))
            .map_err(|failure| failed(failure.message))
    }
}

impl Packer {
    /// Builds a submission, as a variant of this name. Its plans are recorded on demand, for as
    /// long as the folder is there.
    ///
    /// # Errors
    ///
    /// As [`Packer::pack`].
    pub fn variant(
        &self,
        sources: &Sources,
        lab: &'static Lab,
        name: &str,
    ) -> Result<(Variant, ScratchFolder), PackError> {
        let dependencies = self.prepare()?;
        let workshop = Workshop::new(&self.options)?;
        let nothing = |_: &Path| Ok(((), InForce::ALL));
        let (module, program, ..) =
            self.compile(sources, lab.name, dependencies, &workshop, nothing)?;
        let module = Arc::new(module);
        let recorder = Recorder {
            submission: name.to_owned(),
            lab: lab.name,
            sources: sources.clone(),
            module: Arc::clone(&module),
            program,
            folder: workshop.record,
            options: self.options.clone(),
        };
        let record = move |case: &dyn LabCase, target: Target| {
            recorder
                .plan(case, target.devices)
                .map_err(|error| Error::Input(Box::new(error)))
        };
        let variant = Variant::recorded(name, "a submission", module, record);
        Ok((variant, workshop.scratch))
    }
}

/// Whether a command takes bundles beside folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bundles {
    /// It needs no plans but those of [`Bundle::timed`].
    Taken,
    /// It needs others.
    Refused,
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
    match plan_check::fits(lab, &problem, &plan, module, limits, devices) {
        Err(Outcome::Failed(failure)) => Err(failure.message),
        Err(other) => Err(other.reason().to_owned()),
        Ok(()) => Ok(plan),
    }
}

/// Builds the submissions in these folders, and adds them to their lab: [`Lab::submit`]. They are
/// called as the folders are written. They work for as long as the returned folders are there. A
/// file is a bundle, which needs no compiler; `course_root` is asked for where there are folders.
///
/// # Errors
///
/// [`CommandError::Input`] for a folder that is not there, or a file that is not a bundle;
/// [`CommandError::Wrong`] for a submission that does not compile or uses what it may not;
/// otherwise what the machine lacks.
pub fn submit(
    lab: &'static Lab,
    folders: &[PathBuf],
    bundles: Bundles,
    course_root: impl Fn() -> Result<PathBuf, CommandError>,
) -> Result<Vec<ScratchFolder>, CommandError> {
    let packer = OnceCell::new();
    let compiled = |folder: &Path, name: &str| {
        let packer = match packer.get() {
            Some(packer) => packer,
            None => {
                let mut options = Options::new(course_root()?);
                options.without_landlock = true;
                packer.get_or_init(|| Packer::new(options))
            }
        };
        let _bar = terminal::progress::Bar::new(format!("building {name}"));
        let built = Sources::read(folder).and_then(|sources| packer.variant(&sources, lab, name));
        built.map_err(|error| CommandError::from(error).context(name))
    };
    let (mut variants, mut scratch) = (Vec::<Variant>::new(), Vec::new());
    for folder in folders {
        let shown = folder.display().to_string();
        let name = shown.trim_end_matches('/');
        // No built-in solution has a `/` in its name.
        let name = match name.contains('/') {
            true => name.to_owned(),
            false => format!("./{name}"),
        };
        if variants.iter().any(|variant| variant.name == name) {
            return Err(CommandError::Input(format!(
                "--submission {shown}: is named twice"
            )));
        }
        if folder.is_dir() {
            let (variant, folder) = compiled(folder, &name)?;
            variants.push(variant);
            scratch.push(folder);
            continue;
        }
        if !folder.exists() {
            return Err(CommandError::Input(format!(
                "--submission {shown}: the folder does not exist; name one with kernels.rs and launch.rs"
            )));
        }
        if bundles == Bundles::Refused {
            return Err(CommandError::Input(format!(
                "--submission {shown}: is not a folder; name one with kernels.rs and launch.rs (only `perf` takes a bundle, too)"
            )));
        }
        variants.push(of_bundle(lab, folder, &name)?);
    }
    lab.submit(variants);
    Ok(scratch)
}
