//! Packing in a process of its own.
//!
//! The submission decides what compilers and the recorder write, and reading it takes as much
//! memory as its author likes. So the process that grades reads none of it: this program is started
//! again for each submission, with a limit on its memory, and writes the bundle's file. Its answer
//! has a size that does not depend on the submission.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cuda_builder::Prebuilt;
use output_files::ScratchFolder;
use serde::{Deserialize, Serialize};

use super::options::{HIDDEN_BEGUN, PRINTED};
use super::{
    Building, Dependencies, Options, PackError, Packer, Sources, compile, of_hidden_case,
    plans_too_large,
};
use crate::bundle::{BuiltWith, BundledCase, NotRecorded};
use crate::lab_spec::LabSpec;
use crate::outcome::{Kind, NoResult};
use crate::report::Protection;
use crate::worker::{self, Clock, Deadlines, Job, Watch, WorkerEnd, WorkerError, describe_exit};

/// The most memory that the process takes itself, in bytes: several times the longest file that it
/// reads. Compilers have limits of their own.
const MAX_MEMORY_BYTES: u64 = 4 << 30;

/// How long it may take: longer than all compilers and the recorder together.
pub const DEADLINE: Duration = Duration::from_secs(15 * 60);

/// A submission to pack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackJob {
    /// Its folder.
    #[serde(skip)]
    pub submission: PathBuf,
    /// The lab file's name.
    pub lab_file: String,
    /// The lab file.
    pub lab_text: String,
    /// The number that drawn cases follow from.
    pub draw: u64,
    /// See [`Options::course_root`].
    #[serde(skip)]
    pub course_root: PathBuf,
    /// See [`Options::cache`].
    #[serde(skip)]
    pub cache: PathBuf,
    /// See [`Options::without_isolation`].
    pub without_isolation: bool,
    /// See [`Options::for_perf`].
    pub for_perf: bool,
    /// Whether some submission was built here before.
    pub able: bool,
    /// The crates that it is compiled against. The process that starts this one has built them.
    pub dependencies: Dependencies,
    /// The file to write. Its folder is [`Options::scratch`].
    #[serde(skip)]
    pub bundle: PathBuf,
}

/// A bundle that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackedFile {
    /// The SHA-256 of its content.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// The lab.
    pub lab: String,
    /// The number that drawn cases follow from, where the lab draws some.
    pub draw: Option<u64>,
    /// How many cases it holds.
    pub cases: usize,
    /// The cases without a plan, by name, and why they have none.
    pub failed: Vec<(String, NotRecorded)>,
    /// How many cases it holds for `harness perf`.
    pub timed: usize,
    /// Those of them without a plan, by label, and why they have none.
    pub timed_failed: Vec<(String, NotRecorded)>,
    /// How many commands all plans have together.
    pub commands: usize,
    /// The compilers.
    pub built_with: BuiltWith,
    /// The sandbox's layers while it was built.
    pub protections: Vec<Protection>,
    /// The beginning of the text that the recorder has printed for known cases.
    pub printed: String,
}

impl Job for PackJob {
    const NAME: &'static str = "pack";
    type Answer = PackedFile;

    fn paths(&mut self) -> Vec<&mut PathBuf> {
        vec![
            &mut self.submission,
            &mut self.course_root,
            &mut self.cache,
            &mut self.bundle,
        ]
    }

    fn max_memory_bytes(&self) -> Option<u64> {
        Some(MAX_MEMORY_BYTES)
    }

    fn work(&self, _: &mut dyn Watch) -> Result<PackedFile, NoResult> {
        self.pack().map_err(|error| match error {
            PackError::Failure(failure) => NoResult::Failed(*failure),
            other => NoResult::not_graded_here(other.to_string()),
        })
    }
}

impl PackJob {
    /// Packs it, in this process.
    fn pack(&self) -> Result<PackedFile, PackError> {
        let lab_spec = LabSpec::parse(&self.lab_text, &self.lab_file)
            .map_err(|error| PackError::Elsewhere(error.to_string()))?;
        let sources = Sources::read(&self.submission)?;
        let options = Options {
            cache: Some(self.cache.clone()),
            without_isolation: self.without_isolation,
            for_perf: self.for_perf,
            scratch: self.bundle.parent().map(Path::to_owned),
            ..Options::new(self.course_root.clone())
        };
        let packer = Packer::with_dependencies(options, self.dependencies.clone());
        if self.able {
            packer.has_built();
        }
        let bundle = packer.pack(&sources, &lab_spec.drawn(self.draw))?;
        // The others do not fill it.
        let packed = bundle
            .packed()
            .map_err(|fault| PackError::from(of_hidden_case(plans_too_large(fault))))?;
        fs::write(&self.bundle, &packed.bytes).map_err(PackError::io(&self.bundle))?;
        let plans = || {
            bundle
                .cases
                .iter()
                .filter_map(|case| case.plan.as_ref().ok())
        };
        let failed = |case: &BundledCase| {
            let fault = case.plan.as_ref().err()?;
            Some((case.name.clone(), fault.clone()))
        };
        Ok(PackedFile {
            sha256: packed.sha256,
            bytes: packed.bytes.len() as u64,
            draw: bundle.draw,
            cases: bundle.cases.len(),
            failed: bundle.cases.iter().filter_map(failed).collect(),
            timed: bundle.timed.len(),
            timed_failed: bundle.timed.iter().filter_map(failed).collect(),
            commands: plans().map(|plan| plan.commands().count()).sum(),
            lab: bundle.lab,
            built_with: bundle.built_with,
            protections: bundle.protections,
            printed: self
                .bundle
                .parent()
                .and_then(|scratch| fs::read_to_string(scratch.join(PRINTED)).ok())
                .unwrap_or_default(),
        })
    }
}

/// A submission's kernels to compile so that a panic says which it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessagesJob {
    /// As of [`PackJob`].
    #[serde(skip)]
    pub submission: PathBuf,
    /// See [`Options::course_root`].
    #[serde(skip)]
    pub course_root: PathBuf,
    /// See [`Options::cache`].
    #[serde(skip)]
    pub cache: PathBuf,
    /// See [`Options::without_isolation`].
    pub without_isolation: bool,
    /// The crates that it is compiled against. The process that starts this one has built them.
    pub prebuilt: Prebuilt,
    /// The PTX file to write. Its folder is [`Options::scratch`].
    #[serde(skip)]
    pub ptx: PathBuf,
}

impl Job for MessagesJob {
    const NAME: &'static str = "messages";
    type Answer = ();

    fn paths(&mut self) -> Vec<&mut PathBuf> {
        vec![
            &mut self.submission,
            &mut self.course_root,
            &mut self.cache,
            &mut self.ptx,
        ]
    }

    fn max_memory_bytes(&self) -> Option<u64> {
        Some(MAX_MEMORY_BYTES)
    }

    fn work(&self, _: &mut dyn Watch) -> Result<(), NoResult> {
        self.compile()
            .map_err(|error| NoResult::not_graded_here(error.to_string()))
    }
}

impl MessagesJob {
    /// Compiles them, in this process.
    fn compile(&self) -> Result<(), PackError> {
        let options = Options {
            cache: Some(self.cache.clone()),
            without_isolation: self.without_isolation,
            ..Options::new(self.course_root.clone())
        };
        let sources = Sources::read(&self.submission)?;
        let above = self.ptx.parent().unwrap_or(&self.ptx);
        let folder = ScratchFolder::new_in(above, "messages").map_err(PackError::io(above))?;
        let folder = folder.path();
        let root = dunce::canonicalize(folder).map_err(PackError::io(folder))?;
        let (ptx, _) = compile::ptx(&sources, &self.prebuilt, &root, &options)?;
        fs::write(&self.ptx, ptx).map_err(PackError::io(&self.ptx))
    }
}

/// Packs any number of submissions, each in a process of its own. This process builds their
/// dependencies, once.
#[derive(Debug)]
pub struct PackProcesses {
    packer: Packer,
}

impl PackProcesses {
    /// Nothing is built before the first submission needs it.
    pub fn new(options: Options) -> PackProcesses {
        PackProcesses {
            packer: Packer::new(options),
        }
    }

    /// Builds what the submission in this folder is compiled against, where that is not done yet:
    /// the first time, it takes a minute or two. `tell` is told how far it is.
    ///
    /// # Errors
    ///
    /// [`PackError::Failure`] if a file is missing; else what the machine lacks.
    pub fn prepare(
        &self,
        submission: &Path,
        tell: &mut dyn FnMut(Building),
    ) -> Result<(), PackError> {
        Sources::are_there(submission)?;
        self.prepare_for_any(tell)
    }

    /// Builds what any submission is compiled against, where that is not done yet. `tell` is told
    /// how far it is.
    ///
    /// # Errors
    ///
    /// The machine lacks something for it.
    pub fn prepare_for_any(&self, tell: &mut dyn FnMut(Building)) -> Result<(), PackError> {
        self.packer.prepare_telling(tell).map(drop)
    }

    /// Builds the submission in this folder for the lab of `lab_spec`, records a plan for each of
    /// its cases, drawn from `draw`, and writes the bundle's file. Its folder is a scratch folder
    /// of the caller's: compilers and recorder work there, and may leave what they wrote if they
    /// are killed. `stopped` ends it, once it is `true`.
    ///
    /// # Errors
    ///
    /// [`PackError::Failure`] if the submission is at fault; else what the machine lacks: then no
    /// other can be packed either; or that it was stopped.
    pub fn pack(
        &self,
        submission: &Path,
        lab_spec: &LabSpec,
        draw: u64,
        bundle: &Path,
        stopped: Option<&dyn Fn() -> bool>,
    ) -> Result<PackedFile, PackError> {
        // The first time, building what it is compiled against takes a minute.
        Sources::are_there(submission)?;
        let dependencies = self.packer.prepare()?;
        let options = &self.packer.options;
        let job = PackJob {
            submission: submission.to_owned(),
            lab_file: lab_spec.file.clone(),
            lab_text: lab_spec.text.clone(),
            draw,
            course_root: options.course_root.clone(),
            cache: options.cache_folder(),
            without_isolation: options.without_isolation,
            for_perf: options.for_perf,
            able: self.packer.is_able(),
            dependencies: dependencies.clone(),
            bundle: bundle.to_owned(),
        };
        let deadlines = Deadlines {
            submission: DEADLINE,
            all_runs: None,
            ours: DEADLINE,
            clock: Clock::Wall,
        };
        let ended = worker::run_until(&job, &deadlines, stopped);
        let packed = pack_result(ended, bundle.with_file_name(HIDDEN_BEGUN).exists())?;
        self.packer.has_built();
        Ok(packed)
    }
}

impl PackProcesses {
    /// Compiles the kernels of a submission that was packed so that a panic says which it is, and
    /// writes their PTX to a file in a scratch folder. `stopped` ends it, once it is `true`.
    ///
    /// # Errors
    ///
    /// Why that is not possible.
    pub fn compile_with_messages(
        &self,
        submission: &Path,
        ptx: &Path,
        stopped: Option<&dyn Fn() -> bool>,
    ) -> Result<(), String> {
        let options = &self.packer.options;
        let sources = Sources::read(submission);
        let prebuilt = sources
            .and_then(|sources| self.packer.prepare_messages(&sources))
            .map_err(|error| error.to_string())?;
        let job = MessagesJob {
            submission: submission.to_owned(),
            course_root: options.course_root.clone(),
            cache: options.cache_folder(),
            without_isolation: options.without_isolation,
            prebuilt,
            ptx: ptx.to_owned(),
        };
        let deadlines = Deadlines {
            submission: DEADLINE,
            all_runs: None,
            ours: DEADLINE,
            clock: Clock::Wall,
        };
        let ended = worker::run_until(&job, &deadlines, stopped);
        match ended.map_err(|error| error.to_string())? {
            WorkerEnd::Answer(_) => Ok(()),
            WorkerEnd::NoAnswer(why) => Err(why.to_string()),
            WorkerEnd::TimedOut(_) => Err("compiling them takes too long".to_owned()),
            WorkerEnd::Died { exit, said, .. } => Err(describe_exit(&exit, &said)),
        }
    }
}

/// The result of a job, which may have begun with hidden cases.
fn pack_result(
    ended: Result<WorkerEnd<PackedFile>, WorkerError>,
    hidden_begun: bool,
) -> Result<PackedFile, PackError> {
    let why = match ended.map_err(|error| PackError::Elsewhere(error.to_string()))? {
        WorkerEnd::Answer(packed) => return Ok(*packed),
        WorkerEnd::NoAnswer(NoResult::Failed(failure)) => return Err(failure.into()),
        WorkerEnd::NoAnswer(why) => return Err(PackError::Elsewhere(why.to_string())),
        WorkerEnd::TimedOut(_) => format!("it took more than {} minutes", DEADLINE.as_secs() / 60),
        WorkerEnd::Died { exit, said, .. } => describe_exit(&exit, &said),
    };
    let refused = PackError::failure(
        Kind::BuildLimit,
        format!("it could not be packed within the limits of time and memory: {why}"),
    );
    Err(if hidden_begun {
        refused.of_hidden_cases()
    } else {
        refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Failure;
    use crate::worker::{Exit, Phase};

    fn refused(ended: WorkerEnd<PackedFile>) -> Failure {
        match pack_result(Ok(ended), false) {
            Err(PackError::Failure(failure)) => *failure,
            other => panic!("{other:?}"),
        }
    }

    /// The course and the cache are not there, so nothing could be built.
    #[test]
    fn a_missing_file_is_told_before_anything_is_built() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kernels.rs"), "").unwrap();
        let packer = PackProcesses::new(Options::new("/nowhere".into()));
        let lab_spec = crate::lab_spec::embedded("matadd").unwrap();
        let packed = packer.pack(
            folder.path(),
            lab_spec,
            7,
            Path::new("/nowhere/x.bundle"),
            None,
        );
        let Err(PackError::Failure(failure)) = packed else {
            panic!("{packed:?}")
        };
        assert_eq!(failure.kind, Kind::MissingFile);
    }

    #[test]
    fn a_process_that_dies_costs_its_submission_alone() {
        let failure = refused(WorkerEnd::Died {
            has_run: false,
            exit: Exit::Signal(6),
            said: "memory allocation of 8589934592 bytes failed".to_owned(),
        });
        assert_eq!(failure.kind, Kind::BuildLimit);
        insta::assert_snapshot!(failure.message, @"it could not be packed within the limits of time and memory: the process that ran it died (signal 6): memory allocation of 8589934592 bytes failed");
        let slow = refused(WorkerEnd::TimedOut(Phase::Ours));
        insta::assert_snapshot!(slow.message, @"it could not be packed within the limits of time and memory: it took more than 15 minutes");
    }

    /// Of a process that dies over hidden cases, students learn no more than of a recorder that
    /// does.
    #[test]
    fn a_process_that_dies_over_hidden_cases_tells_nothing() {
        let ended = || WorkerEnd::TimedOut(Phase::Ours);
        let Err(PackError::Failure(failure)) = pack_result(Ok(ended()), true) else {
            panic!("it is the submission's fault")
        };
        assert_eq!(failure.kind, Kind::RecorderFailed);
        assert!(failure.knew_hidden);
        insta::assert_snapshot!(failure.message, @"in a hidden case: it could not be packed within the limits of time and memory: it took more than 15 minutes [build_limit]");
        assert!(!refused(ended()).knew_hidden);
    }

    #[test]
    fn what_the_machine_lacks_is_not_blamed_on_the_submission() {
        let lacking = WorkerEnd::NoAnswer(NoResult::not_graded_here("no rustc"));
        let error = pack_result(Ok(lacking), true).unwrap_err();
        assert!(matches!(error, PackError::Elsewhere(_)));
        insta::assert_snapshot!(error, @"no rustc");
    }
}
