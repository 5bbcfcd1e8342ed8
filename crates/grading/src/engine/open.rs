//! A bundle as it is opened: read, checked, and taken apart into files, a case in each.
//!
//! A bundle is whatever its author wrote, and reading it takes what its author wants. So a process
//! of its own does all of it, with a limit on its memory and on its time, and the process that
//! grades sees what that one says: an [`Opened`], whose size does not depend on the bundle's. The
//! process of a case gets the files of that case.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use device::{DeviceInfo, DeviceKind, Module, stated_stores};
use plan::Plan;
use serde::{Deserialize, Serialize};

use super::bundle_check;
use super::error::GradeError;
use crate::bundle::{Bundle, BundledCase};
use crate::lab_spec::{CaseSpec, Group, LabSpec};
use crate::outcome::{Failure, NoResult, bounded};
use crate::plan_check::registers::Tight;
use crate::plan_check::{self, Devices};
use crate::report::Protection;
use crate::worker::{Job, Watch};

/// The most memory that opening a bundle may take, in bytes: several times the largest content.
const MAX_MEMORY_BYTES: u64 = 4 << 30;

/// Why the emulated device grades no large case.
pub const LARGE: &str = "large cases are graded on a GPU";

/// A bundle to open.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OpenJob {
    /// Its file.
    #[serde(skip)]
    pub bundle: PathBuf,
    /// Whether this machine packed it just now. Otherwise the protections that it names are its
    /// author's claim.
    pub is_ours: bool,
    /// An empty folder for its parts.
    #[serde(skip)]
    pub parts: PathBuf,
    /// The lab file's name.
    pub lab_file: String,
    /// The lab file.
    pub lab_text: String,
    /// The number that drawn cases follow from, if the grader knows it.
    pub draw: Option<u64>,
    /// The device that grades it.
    pub device: DeviceInfo,
}

/// The content of a bundle, as far as the process that grades needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The SHA-256 of its content.
    pub sha256: String,
    /// The number that drawn cases follow from, where the lab draws some.
    pub draw: Option<u64>,
    /// The sandbox's layers while it was built.
    pub protections: Vec<Protection>,
    /// Warnings, a few.
    pub notes: Vec<String>,
    /// For each of the lab's cases whether it can be run; if not, how it ends.
    pub cases: Vec<Result<(), NoResult>>,
}

/// The file of the kernels.
pub fn kernels_file(parts: &Path) -> PathBuf {
    parts.join("kernels.ptx")
}

/// The file of the same kernels, compiled so that a panic says which it is. It is made when a
/// kernel has panicked.
pub fn messages_file(parts: &Path) -> PathBuf {
    parts.join("kernels-with-messages.ptx")
}

/// The file of the plan of the case of this number.
pub fn plan_file(parts: &Path, case: usize) -> PathBuf {
    parts.join(format!("plan-{case}.json"))
}

impl Job for OpenJob {
    const NAME: &'static str = "open";
    type Answer = Opened;

    fn paths(&mut self) -> Vec<&mut PathBuf> {
        vec![&mut self.bundle, &mut self.parts]
    }

    fn max_memory_bytes(&self) -> Option<u64> {
        Some(MAX_MEMORY_BYTES)
    }

    fn work(&self, _: &mut dyn Watch) -> Result<Opened, NoResult> {
        self.open()
    }
}

impl OpenJob {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// [`NoResult::Failed`] if nothing of the submission can be graded; [`NoResult::Undecided`] if
    /// its parts cannot be written.
    pub fn open(&self) -> Result<Opened, NoResult> {
        let bad = |error: String| NoResult::undecided(error);
        let lab_spec = LabSpec::parse(&self.lab_text, &self.lab_file)
            .map_err(|error| bad(error.to_string()))?;
        let (bundle, sha256) = Bundle::read_with_sha256(&self.bundle)
            // Without the file's name: students with the same content share what is said.
            .map_err(|error| {
                Failure::new(error.failure_kind(), format!("the file {}", error.kind))
            })?;
        bundle_check::check_draw(&bundle, &lab_spec, self.draw)?;
        let lab_spec = bundle
            .draw
            .map_or(lab_spec.clone(), |draw| lab_spec.drawn(draw));
        bundle_check::check(&bundle, &lab_spec)?;
        let written = |result: io::Result<()>| {
            result.map_err(|error| bad(format!("{}: {error}", self.parts.display())))
        };
        written(fs::write(kernels_file(&self.parts), &bundle.ptx))?;
        let module = Module::new("submission", bundle.ptx.clone());
        bundle_check::check_rounding(&module, &lab_spec)?;
        let (mut cases, mut tight) = (Vec::new(), Tight::default());
        for (number, spec) in lab_spec.cases.iter().enumerate() {
            let submitted = bundle.case(&spec.name).expect("the bundle was checked");
            let checked = self.checked_plan(spec, submitted, &lab_spec, &module);
            cases.push(match checked {
                Ok(plan) => {
                    tight.add(plan, &module);
                    let plan = serde_json::to_vec(plan).expect("plans have a JSON form");
                    written(fs::write(plan_file(&self.parts, number), plan))?;
                    Ok(())
                }
                Err(outcome) => Err(outcome),
            });
        }
        Ok(Opened {
            sha256,
            draw: lab_spec.draw,
            protections: self.protections(bundle.protections),
            notes: tight.warnings(),
            cases,
        })
    }

    /// The plan, if the case is run on this device; if not, how it ends.
    fn checked_plan<'b>(
        &self,
        spec: &CaseSpec,
        submitted: &'b BundledCase,
        lab_spec: &LabSpec,
        module: &Module,
    ) -> Result<&'b Plan, NoResult> {
        let (lab, each_device) = (lab_spec.lab, lab_spec.each_device);
        let BundledCase { problem, plan, .. } = submitted;
        if self.device.kind == DeviceKind::Emulated && spec.group == Group::Large {
            // Of one total for all submissions, whatever becomes of the case.
            return Err(match plan {
                Ok(_) => NoResult::not_graded_here(LARGE),
                Err(fault) => NoResult::not_graded_here(format!(
                    "{LARGE}, where this one will fail: {}",
                    fault.message
                )),
            });
        }
        let plan = plan.as_ref().map_err(|fault| {
            let failure = Failure::from(fault.clone());
            match spec.group {
                Group::Hidden => failure.with_hidden_cases_known(),
                Group::Small | Group::Large => failure,
            }
        })?;
        if spec.ranges.is_some() && self.draw.is_none() {
            return Err(NoResult::undecided(
                "the author of the bundle drew this case: name the number that it was packed with (--draw), or grade the \
                 folder",
            ));
        }
        plan_check::is_affordable(plan, module)?;
        let limits = &self.device.limits;
        let known = spec.with_seed(lab, 0).map_err(device::Error::from)?;
        let devices = Devices::of(&*known, spec.devices);
        plan_check::fits(lab.name, problem, plan, module, limits, devices)?;
        // Of the others the emulated device sees what each stores.
        if spec.group == Group::Large
            && spec.devices > 1
            && let Some(part) = each_device
        {
            let stored = stated_stores(plan);
            // Kernels may take several timesteps at once, or store more than the lab needs.
            let all = stored.iter().sum::<u64>().min(known.work().updates);
            plan_check::each_works(&stored, all, part)?;
        }
        Ok(plan)
    }

    fn protections(&self, mut protections: Vec<Protection>) -> Vec<Protection> {
        /// More than there are.
        const MAX: usize = 16;
        /// Bytes of each text: more than ours have.
        const LONGEST: usize = 300;
        protections.truncate(MAX);
        for protection in &mut protections {
            protection.name = bounded(std::mem::take(&mut protection.name), LONGEST);
            protection.detail = bounded(std::mem::take(&mut protection.detail), LONGEST);
            if !self.is_ours {
                protection.name += " (the bundle says)";
            }
        }
        protections
    }
}

/// The text of a part, as the process of a case reads it.
pub fn read_part(file: &Path) -> Result<String, GradeError> {
    fs::read_to_string(file).map_err(|source| GradeError::Part {
        file: file.to_owned(),
        source,
    })
}
