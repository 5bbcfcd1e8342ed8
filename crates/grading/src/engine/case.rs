//! The work on one case: runs of the submission, each compared with what is right.

use std::collections::BTreeMap;
use std::time::Duration;

use host::check::CheckError;
use host::{Case, Cpu, Device, Element, Lab, NamedBuffers, NoProgress};
use serde::{Deserialize, Serialize};

use super::ceiling::necessary_bytes;
use super::emulated::Extent;
use super::expected::{self, Expected, Noise};
use super::run::{Sample, Subject, run_isolated};
use super::seeds::Seeds;
use super::wrong_result::WrongResult;
use crate::course::{CaseSpec, ToleranceRule};
use crate::outcome::{Failing, NotPassed};

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

/// One case on one device.
pub struct CaseWork<'a> {
    pub device: &'a dyn Device,
    pub lab: &'static dyn Lab,
    pub spec: &'a CaseSpec,
    pub rule: ToleranceRule,
    pub subject: Subject<'a>,
    pub seeds: Seeds,
    pub watch: &'a mut dyn Watch,
    /// The reference's rounding noise, once measured.
    pub noise: Option<Noise>,
    /// The bytes that any solution moves, once a sample was compared.
    pub necessary_bytes: u64,
    /// What the first output is made of.
    pub element: Element,
    /// Runs whose results were right.
    pub samples: u32,
    /// Exact counts of the first run.
    pub counts: BTreeMap<String, u64>,
}

impl<'a> CaseWork<'a> {
    /// Nothing is done yet.
    pub fn new(
        device: &'a dyn Device,
        lab: &'static dyn Lab,
        spec: &'a CaseSpec,
        rule: ToleranceRule,
        subject: Subject<'a>,
        seeds: Seeds,
        watch: &'a mut dyn Watch,
    ) -> CaseWork<'a> {
        CaseWork {
            device,
            lab,
            spec,
            rule,
            subject,
            seeds,
            watch,
            noise: None,
            necessary_bytes: 0,
            element: Element::U8,
            samples: 0,
            counts: BTreeMap::new(),
        }
    }

    /// What the emulated device finds that a GPU may not show.
    pub fn check_on_emulated(&mut self, extent: Extent) -> Result<(), NotPassed> {
        let case = self.case(self.seed("look", 0))?;
        let inputs = case.inputs()?;
        self.watch.enter(Phase::Submission);
        let found = extent.check(self.device, self.subject, &inputs);
        self.watch.enter(Phase::Ours);
        let Some(outputs) = found? else {
            return Ok(());
        };
        let (expected, _) = self.expected(case.as_ref(), &inputs)?;
        let checked = expected.check(&outputs);
        Ok(checked.map_err(|error| failing(case.as_ref(), &error, 0))?)
    }

    /// The seed of a sample's inputs. Other purposes have others.
    pub fn seed(&self, purpose: &str, sample: u32) -> u64 {
        self.seeds.sample(&self.spec.name, purpose, sample)
    }

    /// The case with inputs that follow from this seed.
    pub fn case(&self, seed: u64) -> Result<Box<dyn Case>, NotPassed> {
        Ok(self.spec.with_seed(self.lab, seed)?)
    }

    /// Run `sample` of the submission.
    pub fn submission(
        &mut self,
        inputs: &NamedBuffers,
        settle: Duration,
        sample: u32,
    ) -> Result<Sample, NotPassed> {
        self.watch.enter(Phase::Submission);
        let ran = run_isolated(self.device, self.subject, inputs, settle);
        self.watch.enter(Phase::Ours);
        ran.map_err(|not_passed| match not_passed {
            NotPassed::Failed(failing) => failing.with_sample(sample).into(),
            lacking => lacking,
        })
    }

    /// One sample, compared with the CPU.
    pub fn checked(&mut self, sample: u32) -> Result<(), NotPassed> {
        let seed = self.seed("check", sample);
        let case = self.case(seed)?;
        let inputs = case.inputs()?;
        let ran = self.submission(&inputs, Duration::ZERO, sample)?;
        if sample == 0 {
            self.counts = ran.counts.clone();
        }
        // Computed after the run: until then there is no result that anyone could find.
        let (expected, _) = self.expected(case.as_ref(), &inputs)?;
        self.necessary_bytes = necessary_bytes(&inputs, expected.outputs());
        if let Some((_, first)) = expected.outputs().first() {
            self.element = first.element();
        }
        self.compare(
            seed,
            case.as_ref(),
            &inputs,
            &expected,
            &ran.outputs,
            sample,
        )
    }

    /// What is right for these inputs, by the CPU; and the reference itself.
    pub fn expected(
        &mut self,
        case: &dyn Case,
        inputs: &NamedBuffers,
    ) -> Result<(Expected, NamedBuffers), NotPassed> {
        let reference = case.reference_from(inputs, Cpu::Parallel, &NoProgress)?;
        match self.rule {
            ToleranceRule::Exact => Ok((Expected::exact(reference.clone()), reference)),
            ToleranceRule::Rounding { factor } => {
                let oracle = case.oracle_from(inputs, &NoProgress)?.ok_or_else(|| {
                    NotPassed::NotGradedHere(format!(
                        "lab {} has no oracle: rule \"rounding\" cannot be used",
                        self.lab.name()
                    ))
                })?;
                let (expected, noise) = Expected::rounding(factor, &reference, &oracle);
                self.noise = Some(noise);
                Ok((expected, reference))
            }
        }
    }

    /// Compares a sample's outputs with what is expected, and describes what is wrong.
    pub fn compare(
        &mut self,
        seed: u64,
        case: &dyn Case,
        inputs: &NamedBuffers,
        expected: &Expected,
        got: &NamedBuffers,
        sample: u32,
    ) -> Result<(), NotPassed> {
        let Err(error) = expected.check(got) else {
            self.samples += 1;
            return Ok(());
        };
        let mut failing = failing(case, &error, sample);
        self.watch.failed(&failing);
        self.watch.enter(Phase::Submission);
        let wrong = WrongResult {
            device: self.device,
            lab: self.lab,
            spec: self.spec,
            seed,
            case,
            subject: self.subject,
            inputs,
            expected,
            got,
        };
        if let Some(diagnosis) = wrong.diagnosis() {
            failing = failing.with_diagnosis(diagnosis);
        }
        self.watch.enter(Phase::Ours);
        Err(failing.into())
    }
}

/// How the submission fails whose outputs differ like this, with the place of the first wrong element.
fn failing(case: &dyn Case, error: &CheckError, sample: u32) -> Failing {
    let message = error.located(|buffer, index| case.locate(buffer, index));
    expected::failing(error, message, sample)
}
