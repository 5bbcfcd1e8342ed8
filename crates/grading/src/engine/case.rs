//! One case, as the process gets it that runs it, and what it answers.

mod speed;

use std::collections::BTreeMap;
use std::time::Duration;

use host::{Case, Cpu, Device, Element, Lab, Module, NamedBuffers, Plan, find_lab};
use serde::{Deserialize, Serialize};

use super::ceiling::necessary_bytes;
use super::checks::Extent;
use super::evidence::Wrong;
use super::judge::{self, Judge, Noise};
use super::seeds::Seeds;
use super::timed::Rule as Stopping;
use super::trial::{Sample, Stopped, Subject, run_isolated};
use crate::course::{CaseSpec, Course, PerformanceSpec, Rule};
use crate::grade::verdict::{Failing, PerformanceGrade, PerformanceStatus, Status};
use crate::test::explain;
pub use speed::ungraded;

/// One case to grade.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The lab file's name.
    pub course_file: String,
    /// The lab file.
    pub course_text: String,
    /// The case's name.
    pub case: String,
    /// The kernels.
    pub ptx: String,
    /// The submission's plan.
    pub plan: Plan,
    /// What all seeds follow from.
    pub seed: u64,
    /// Runs with fresh inputs, where none is timed.
    pub samples: u32,
    /// When there are enough timed samples.
    pub stopping: Stopping,
    /// Not to be graded, but looked at on the emulated device, to this extent.
    #[serde(default)]
    pub checks: Option<Extent>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether the results are right.
    pub status: Status,
    /// Runs whose results were compared.
    pub samples: u32,
    /// Exact counts of the first run, where the device counts.
    pub counts: BTreeMap<String, u64>,
    /// The case's performance entries, in the file's order; none on the emulated device.
    pub performance: Vec<PerformanceGrade>,
}

/// Who is at work: runs of the submission have a deadline, ours do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The harness itself.
    Ours,
    /// A run of the submission.
    Submission,
}

/// Told what the work is at.
pub trait Watch {
    /// What follows is work of this kind.
    fn enter(&mut self, phase: Phase);

    /// The submission has failed like this, whatever else is found out about it.
    fn failed(&mut self, failing: &Failing);
}

impl Job {
    /// Grades the case.
    ///
    /// # Errors
    ///
    /// What keeps it from being graded, through no fault of the submission's.
    pub fn run(&self, device: &dyn Device, watch: &mut dyn Watch) -> Result<Answer, String> {
        let course = Course::parse(&self.course_text, &self.course_file)
            .map_err(|error| error.to_string())?;
        let lab = find_lab(&course.lab).map_err(|error| error.to_string())?;
        let spec = course
            .case(&self.case)
            .ok_or_else(|| format!("there is no case `{}`", self.case))?;
        let module = Module::new("submission", self.ptx.clone());
        let mut work = Work {
            job: self,
            device,
            lab,
            spec,
            rule: course.tolerance,
            subject: Subject {
                module: &module,
                plan: &self.plan,
            },
            watch,
            noise: None,
            necessary_bytes: 0,
            element: Element::U8,
            samples: 0,
            counts: BTreeMap::new(),
        };
        if let Some(extent) = self.checks {
            return work.look(extent);
        }
        let timed: Vec<&PerformanceSpec> = course
            .performance
            .iter()
            .filter(|timed| timed.case == spec.name)
            .collect();
        work.grade(&timed)
    }
}

struct Work<'a> {
    job: &'a Job,
    device: &'a dyn Device,
    lab: &'static dyn Lab,
    spec: &'a CaseSpec,
    rule: Rule,
    subject: Subject<'a>,
    watch: &'a mut dyn Watch,
    /// Once measured.
    noise: Option<Noise>,
    /// Once a sample was compared: the bytes that any solution moves.
    necessary_bytes: u64,
    /// What the first output is made of.
    element: Element,
    samples: u32,
    counts: BTreeMap<String, u64>,
}

impl Work<'_> {
    fn grade(&mut self, timed: &[&PerformanceSpec]) -> Result<Answer, String> {
        let is_timed = !timed.is_empty() && self.device.info().kind == host::DeviceKind::Cuda;
        // One sample against the CPU comes first, whatever is timed then.
        let samples = if is_timed { 1 } else { self.job.samples };
        let mut status = Status::Passed;
        for sample in 0..samples {
            match self.checked(sample) {
                Ok(()) => {}
                Err(Stopped::Failing(failing)) => {
                    status = Status::Failed(failing);
                    break;
                }
                Err(Stopped::Lacking(reason)) => return Err(reason),
            }
        }
        let mut performance = Vec::new();
        for &timed in timed.iter().filter(|_| is_timed) {
            let mut grade = ungraded(timed);
            match status.failing() {
                Some(failing) => {
                    let mut failing = failing.clone();
                    // Once is enough for the picture.
                    failing.diagnosis = None;
                    grade.status = PerformanceStatus::Failed(failing);
                }
                None => {
                    match self.time(timed, &mut grade) {
                        Ok(()) => {}
                        Err(Stopped::Failing(failing)) => {
                            // Wrong results are wrong, timed or not; a time that cannot be believed costs the timing.
                            if failing.category != crate::grade::Category::Untrusted {
                                status = Status::Failed(failing.clone());
                            }
                            grade.status = PerformanceStatus::Failed(failing);
                        }
                        Err(Stopped::Lacking(reason)) => {
                            grade.status = PerformanceStatus::NotGradedHere { reason };
                        }
                    }
                }
            }
            performance.push(grade);
        }
        Ok(Answer {
            status,
            samples: self.samples,
            counts: std::mem::take(&mut self.counts),
            performance,
        })
    }

    /// What the emulated device finds that a GPU may not show.
    fn look(&mut self, extent: Extent) -> Result<Answer, String> {
        let status = match self.looked_at(extent) {
            Ok(()) => Status::Passed,
            Err(Stopped::Failing(failing)) => Status::Failed(failing),
            Err(Stopped::Lacking(reason)) => return Err(reason),
        };
        Ok(Answer {
            status,
            samples: 0,
            counts: BTreeMap::new(),
            performance: Vec::new(),
        })
    }

    fn looked_at(&mut self, extent: Extent) -> Result<(), Stopped> {
        let case = self.case(self.seed("look", 0))?;
        let inputs = case.inputs()?;
        self.watch.enter(Phase::Submission);
        let found = extent.look(self.device, self.subject, &inputs);
        self.watch.enter(Phase::Ours);
        let Some(outputs) = found? else {
            return Ok(());
        };
        let (judge, _) = self.judge(case.as_ref(), &inputs)?;
        judge.check(&outputs).map_err(|error| {
            let message = explain(case.as_ref(), &error);
            Stopped::Failing(judge::failing(&error, message, 0))
        })
    }

    fn seed(&self, purpose: &str, sample: u32) -> u64 {
        Seeds::from_base(self.job.seed).sample(&self.spec.name, purpose, sample)
    }

    fn case(&self, seed: u64) -> Result<Box<dyn Case>, Stopped> {
        Ok(self.spec.with_seed(self.lab, seed)?)
    }

    /// A run of the submission.
    fn submission(&mut self, inputs: &NamedBuffers, settle: Duration) -> Result<Sample, Stopped> {
        self.watch.enter(Phase::Submission);
        let sample = run_isolated(self.device, self.subject, inputs, settle);
        self.watch.enter(Phase::Ours);
        sample
    }

    /// One sample, compared with the CPU.
    fn checked(&mut self, sample: u32) -> Result<(), Stopped> {
        let seed = self.seed("check", sample);
        let case = self.case(seed)?;
        let inputs = case.inputs()?;
        let ran = self
            .submission(&inputs, Duration::ZERO)
            .map_err(|stopped| numbered(stopped, sample))?;
        if sample == 0 {
            self.counts = ran.counts.clone();
        }
        // Computed after the run: until then there is no result that anyone could find.
        let (judge, _) = self.judge(case.as_ref(), &inputs)?;
        self.necessary_bytes = necessary_bytes(&inputs, judge.expected());
        if let Some((_, first)) = judge.expected().first() {
            self.element = first.element();
        }
        self.compare(seed, case.as_ref(), &inputs, &judge, &ran.outputs, sample)
    }

    /// What is right for these inputs, by the CPU; and the reference itself.
    fn judge(
        &mut self,
        case: &dyn Case,
        inputs: &NamedBuffers,
    ) -> Result<(Judge, NamedBuffers), Stopped> {
        let reference = case.reference_from(inputs, Cpu::Parallel, &host::NoProgress)?;
        match self.rule {
            Rule::Exact => Ok((Judge::exact(reference.clone()), reference)),
            Rule::Rounding { factor } => {
                let oracle = case
                    .oracle_from(inputs, &host::NoProgress)?
                    .ok_or_else(|| {
                        Stopped::Lacking(format!(
                            "lab {} has no oracle: rule \"rounding\" cannot be used",
                            self.lab.name()
                        ))
                    })?;
                let (judge, noise) = Judge::rounding(factor, &reference, &oracle);
                self.noise = Some(noise);
                Ok((judge, reference))
            }
        }
    }

    fn compare(
        &mut self,
        seed: u64,
        case: &dyn Case,
        inputs: &NamedBuffers,
        judge: &Judge,
        got: &NamedBuffers,
        sample: u32,
    ) -> Result<(), Stopped> {
        let Err(error) = judge.check(got) else {
            self.samples += 1;
            return Ok(());
        };
        let mut failing = judge::failing(&error, explain(case, &error), sample);
        self.watch.failed(&failing);
        self.watch.enter(Phase::Submission);
        let wrong = Wrong {
            device: self.device,
            lab: self.lab,
            spec: self.spec,
            seed,
            case,
            subject: self.subject,
            inputs,
            judge,
            got,
        };
        if let Some(diagnosis) = wrong.diagnosis() {
            failing = failing.with_diagnosis(diagnosis);
        }
        self.watch.enter(Phase::Ours);
        Err(Stopped::Failing(failing))
    }
}

fn numbered(stopped: Stopped, sample: u32) -> Stopped {
    match stopped {
        Stopped::Failing(failing) => Stopped::Failing(failing.with_sample(sample)),
        lacking => lacking,
    }
}

impl From<Failing> for Stopped {
    fn from(failing: Failing) -> Stopped {
        Stopped::Failing(failing)
    }
}
