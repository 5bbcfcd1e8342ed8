//! A case's job, as the process gets it that runs it, and what it answers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cuda::discover;
use device::{Device, DeviceKind, Module};
use plan::Plan;
use select::devices::{DeviceName, Gpus};
use serde::{Deserialize, Serialize};
use units::count;

use super::case::{CaseSetup, CaseWork};
use super::emulated::{Extent, FUEL};
use super::open;
use super::replayed::AskedReplay;
use super::run::Subject;
use super::sampling::Stopping;
use super::seeds::Seeds;
use crate::lab_spec::{CaseSpec, Group, LabSpec, PerformanceSpec};
use crate::outcome::{Category, Failure, NoResult, Outcome};
use crate::report::PerformanceGrade;
use crate::worker::{Job, Watch};

/// One case to grade.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CaseJob {
    /// Where it runs.
    pub device: DeviceName,
    /// The lab file's name.
    pub lab_file: String,
    /// The lab file.
    pub lab_text: String,
    /// The number that the parameters of drawn cases follow from.
    #[serde(default)]
    pub draw: Option<u64>,
    /// The case's name.
    pub case: String,
    /// The folder of the submission's parts: see [`open`](mod@super::open).
    #[serde(skip)]
    pub parts: PathBuf,
    /// The number that all seeds follow from.
    pub seed: u64,
    /// Runs with fresh inputs, where none is timed.
    pub samples: u32,
    /// When there are enough timed samples.
    pub stopping: Stopping,
    /// Warp instructions of a block after which it counts as endless, on the emulated device.
    #[serde(default = "whole_fuel")]
    pub fuel: u64,
    /// Not to be graded, but checked on the emulated device, to this extent.
    #[serde(default)]
    pub checks: Option<Extent>,
    /// With the kernels whose panics say which they are, in the parts' folder.
    #[serde(default)]
    pub with_messages: bool,
    /// Not to be graded, but replayed.
    #[serde(default)]
    pub replay: Option<AskedReplay>,
    /// Host threads of the worker; 0 for one on each core.
    #[serde(default)]
    pub host_threads: usize,
}

fn whole_fuel() -> u64 {
    FUEL
}

/// The result of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether the results are right.
    pub status: Outcome,
    /// Runs whose results were compared.
    pub samples: u32,
    /// Exact counts of the first run, where the device counts.
    pub counts: BTreeMap<String, u64>,
    /// The case's performance entries, in the file's order; none on the emulated device.
    pub performance: Vec<PerformanceGrade>,
    /// The text that kernels printed: see
    /// [`CaseGrade::printed`](crate::report::CaseGrade::printed).
    #[serde(default)]
    pub printed: String,
    /// The page that replays the case, if that is the job.
    #[serde(default)]
    pub replay: Option<String>,
}

impl Answer {
    /// This outcome, and nothing else yet.
    fn of(status: Outcome) -> Answer {
        Answer {
            status,
            samples: 0,
            counts: BTreeMap::new(),
            performance: Vec::new(),
            printed: String::new(),
            replay: None,
        }
    }

    /// Leaves undecided what is right and what is measured: it earns nothing.
    pub fn leave_undecided(&mut self, reason: &str) {
        let undecided = || Outcome::from(NoResult::undecided(reason));
        if self.status == Outcome::Passed {
            self.status = undecided();
        }
        for timed in &mut self.performance {
            if timed.status == Outcome::Measured {
                (timed.status, timed.earned) = (undecided(), 0.0);
            }
        }
    }

    /// The case, and all that is timed of it, has no result for this reason, and none was compared.
    pub fn without_samples(why: NoResult, lab_spec: &LabSpec, spec: &CaseSpec) -> Answer {
        let status = Outcome::from(why);
        Answer {
            performance: lab_spec
                .timed(spec)
                .map(|timed| PerformanceGrade::new(timed, status.clone()))
                .collect(),
            ..Answer::of(status)
        }
    }
}

impl Job for CaseJob {
    const NAME: &'static str = "case";
    type Answer = Answer;

    fn paths(&mut self) -> Vec<&mut PathBuf> {
        vec![&mut self.parts]
    }

    fn max_memory_bytes(&self) -> Option<u64> {
        match self.device {
            DeviceName::Cuda(_) => None,
            DeviceName::Emulated => Some(self.extent().max_memory_bytes()),
        }
    }

    fn work(&self, watch: &mut dyn Watch) -> Result<Answer, NoResult> {
        if self.host_threads > 0 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(self.host_threads);
            // If there is one already, its size changes no result.
            let _ = pool.build_global();
        }
        let lab_spec = self.lab_spec()?;
        let number = self.number(&lab_spec)?;
        let device = self.device(lab_spec.cases[number].devices)?;
        self.run_case(&lab_spec, number, device.as_ref(), watch)
    }
}

impl CaseJob {
    /// How much of the case the emulated device runs.
    fn extent(&self) -> Extent {
        self.checks.unwrap_or(Extent::Whole)
    }

    /// The lab file, with drawn parameters.
    fn lab_spec(&self) -> Result<LabSpec, NoResult> {
        let lab_spec = LabSpec::parse(&self.lab_text, &self.lab_file)
            .map_err(|error| NoResult::undecided(error.to_string()))?;
        Ok(match self.draw {
            Some(draw) => lab_spec.drawn(draw),
            None => lab_spec,
        })
    }

    /// The case's number in it.
    fn number(&self, lab_spec: &LabSpec) -> Result<usize, NoResult> {
        let mut cases = lab_spec.cases.iter();
        cases
            .position(|spec| spec.name == self.case)
            .ok_or_else(|| NoResult::undecided(format!("there is no case `{}`", self.case)))
    }

    /// The device that the job names; for several, that one and those after it, as one.
    fn device(&self, devices: u32) -> Result<Box<dyn Device>, NoResult> {
        let ordinal = match self.device {
            DeviceName::Emulated => {
                let decides = self.checks.is_none();
                let device = self.extent().device(self.fuel, decides);
                return Ok(Box::new(device.with_devices(devices)));
            }
            DeviceName::Cuda(ordinal) => ordinal,
        };
        let lacking =
            |why: &str| NoResult::not_graded_here(format!("--device {}: {why}", self.device));
        let there =
            discover().map_err(|error| lacking(&format!("{error}; see `harness doctor`")))?;
        if devices > 1 {
            let end = ordinal.saturating_add(devices);
            if there.len() < end as usize {
                return Err(NoResult::not_graded_here(format!(
                    "the case needs {} from number {ordinal} on; this machine has {}",
                    count(devices as usize, "GPU"),
                    there.len()
                )));
            }
            let group = Gpus::List((ordinal..end).collect()).group(None);
            return group.map_err(|error| NoResult::not_graded_here(error.to_string()));
        }
        let found = there
            .into_iter()
            .find(|device| device.info().ordinal == ordinal);
        found.ok_or_else(|| lacking("there is no such GPU"))
    }

    /// Grades the case on this device, or checks it there.
    ///
    /// # Errors
    ///
    /// [`NoResult::NotGradedHere`] or [`NoResult::Undecided`] if that cannot be done here.
    pub fn run_on(&self, device: &dyn Device, watch: &mut dyn Watch) -> Result<Answer, NoResult> {
        let lab_spec = self.lab_spec()?;
        let number = self.number(&lab_spec)?;
        self.run_case(&lab_spec, number, device, watch)
    }

    /// Grades or checks the case of this number in the lab file, on this device.
    fn run_case(
        &self,
        lab_spec: &LabSpec,
        number: usize,
        device: &dyn Device,
        watch: &mut dyn Watch,
    ) -> Result<Answer, NoResult> {
        let bad = |error: String| NoResult::undecided(error);
        let spec = &lab_spec.cases[number];
        let part = |file: PathBuf| open::read_part(&file).map_err(|error| bad(error.to_string()));
        let plan = part(open::plan_file(&self.parts, number))?;
        let plan: Plan = serde_json::from_str(&plan).map_err(|error| bad(error.to_string()))?;
        let kernels = if self.with_messages {
            open::messages_file(&self.parts)
        } else {
            open::kernels_file(&self.parts)
        };
        let module = Module::new("submission", part(kernels)?);
        let setup = CaseSetup {
            device,
            lab_spec,
            spec,
            subject: Subject {
                module: &module,
                plan: &plan,
            },
            seeds: Seeds(self.seed),
        };
        let mut work = CaseWork::new(setup, watch);
        if let Some(asked) = &self.replay {
            if spec.group == Group::Hidden {
                return Err(NoResult::undecided("a hidden case is not replayed"));
            }
            let purpose = if self.checks.is_some() {
                "look"
            } else {
                "check"
            };
            return Ok(Answer {
                replay: Some(work.replay(asked, purpose)?),
                ..Answer::of(Outcome::Passed)
            });
        }
        let answer = match self.checks {
            None => self.grade(&mut work, lab_spec.timed(spec)),
            Some(extent) => {
                let status = passed(work.check_on_emulated(extent))?;
                Ok(Answer {
                    counts: std::mem::take(&mut work.seen.counts),
                    ..Answer::of(status)
                })
            }
        };
        let printed = match spec.group {
            // Inputs of hidden cases are printed too.
            Group::Hidden => String::new(),
            Group::Small | Group::Large => std::mem::take(&mut work.seen.printed),
        };
        answer.map(|answer| Answer { printed, ..answer })
    }

    fn grade<'c>(
        &self,
        work: &mut CaseWork<'_>,
        timed: impl Iterator<Item = &'c PerformanceSpec>,
    ) -> Result<Answer, NoResult> {
        let timed: Vec<_> = match work.setup.device.info().kind {
            DeviceKind::Cuda => timed.collect(),
            DeviceKind::Emulated => Vec::new(),
        };
        // One sample against the CPU comes first, whatever is timed then.
        let samples = if timed.is_empty() {
            work.orders.samples(self.samples)
        } else {
            1
        };
        let checked = (0..samples).try_for_each(|sample| work.checked(sample));
        let mut status = passed(checked)?;
        let mut performance = Vec::new();
        for spec in timed {
            let mut grade = PerformanceGrade::new(spec, Outcome::Measured);
            if let Outcome::Failed(failure) = &status {
                // Once is enough for the picture.
                grade.status = Outcome::Failed(Failure {
                    diagnosis: None,
                    ..failure.clone()
                });
            } else if let Err(why) = work.time(spec, self.stopping, &mut grade) {
                grade.status = why.into();
                // Wrong results are wrong, timed or not; a time that cannot be believed costs the
                // timing.
                if let Outcome::Failed(failure) = &grade.status
                    && failure.category != Category::Untrusted
                {
                    status = grade.status.clone();
                }
            }
            performance.push(grade);
        }
        Ok(Answer {
            samples: work.seen.samples,
            counts: std::mem::take(&mut work.seen.counts),
            performance,
            ..Answer::of(status)
        })
    }
}

/// The outcome of a case: that it passed, or how it failed.
fn passed(result: Result<(), NoResult>) -> Result<Outcome, NoResult> {
    match result {
        Ok(()) => Ok(Outcome::Passed),
        Err(NoResult::Failed(failure)) => Ok(Outcome::Failed(failure)),
        Err(lacking) => Err(lacking),
    }
}
