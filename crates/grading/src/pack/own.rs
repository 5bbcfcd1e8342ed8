//! A submission beside the built-in solutions: what `--submission DIR` of other commands than
//! `grade` uses.
//!
//! It is built as for a grade: the same screen, the same compilers, the same sandbox. Its recorder
//! stays, and records the plan of any case when a command asks for it. No file is kept from it that
//! the submission's author could not read anyway, so a system without Landlock will do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use device::{Error, Module};
use exit::CommandError;
use lab::{Lab, LabCase, Variant};
use output_files::ScratchFolder;
use plan::{Plan, Task};
use sandbox::InForce;
use thiserror::Error as ThisError;

use super::record::{self, Allowance};
use super::{Options, PackError, Packer, Sources, Workshop, fitting};

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
        let record = move |case: &dyn LabCase, devices| {
            recorder
                .plan(case, devices)
                .map_err(|error| Error::Input(Box::new(error)))
        };
        let variant = Variant::recorded(name, "a submission", module, record);
        Ok((variant, workshop.scratch))
    }
}

/// Builds the submissions in these folders, and adds them to their lab: [`Lab::submit`]. They are
/// called as the folders are written. They work for as long as the returned folders are there.
///
/// # Errors
///
/// [`CommandError::Input`] for a folder that is not there; [`CommandError::Wrong`] for a submission
/// that does not compile or uses what it may not; otherwise what the machine lacks.
pub fn submit(
    lab: &'static Lab,
    folders: &[PathBuf],
    course_root: PathBuf,
) -> Result<Vec<ScratchFolder>, CommandError> {
    let mut options = Options::new(course_root);
    options.without_landlock = true;
    let packer = Packer::new(options);
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
        if !folder.is_dir() {
            return Err(CommandError::Input(format!(
                "--submission {shown}: the folder does not exist; name one with kernels.rs and launch.rs"
            )));
        }
        let bar = terminal::progress::Bar::new(format!("building {name}"));
        let built = Sources::read(folder).and_then(|sources| packer.variant(&sources, lab, &name));
        drop(bar);
        let (variant, folder) = built.map_err(|error| CommandError::from(error).context(&name))?;
        variants.push(variant);
        scratch.push(folder);
    }
    lab.submit(variants);
    Ok(scratch)
}
