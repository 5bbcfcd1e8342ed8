//! The work on one case: runs of the submission, each compared with what is right.

use std::collections::BTreeMap;
use std::time::Duration;

use device::check::{CheckError, Expected, Noise};
use device::{Computed, Device, Element, Error, NamedBuffers, Order, Preparation};
use lab::{Cpu, LabCase, Seed};
use terminal::progress::NoProgress;

use super::ceiling::necessary_bytes;
use super::emulated::Extent;
use super::expected;
use super::orders::Orders;
use super::run::{Sample, Subject, run_isolated};
use super::seeds::Seeds;
use crate::lab_spec::{CaseSpec, LabSpec, ToleranceRule};
use crate::outcome::{Failure, Kind, MAX_PRINTED_BYTES, NoResult, bounded};
use crate::plan_check::each_works;
use crate::worker::{Phase, Watch};

/// The inputs of one sample.
pub struct SampleInputs {
    /// From 0.
    pub sample: u32,
    pub seed: Seed,
    pub case: Box<dyn LabCase>,
    pub inputs: NamedBuffers,
}

impl SampleInputs {
    /// How the submission fails whose outputs differ like this, with the place of the first wrong
    /// element.
    fn failure(&self, error: &CheckError) -> Failure {
        let message = error.located(|buffer, index| self.case.locate(buffer, index));
        expected::failure(error, message, self.sample)
    }
}

/// A case on a device: what does not change from run to run.
#[derive(Clone, Copy)]
pub struct CaseSetup<'a> {
    pub device: &'a dyn Device,
    pub lab_spec: &'a LabSpec,
    pub spec: &'a CaseSpec,
    pub subject: Subject<'a>,
    pub seeds: Seeds,
}

/// The findings of the runs up to now.
#[derive(Debug)]
pub struct Seen {
    /// The reference's rounding noise, once measured.
    pub noise: Option<Noise>,
    /// The bytes that any solution moves, once a sample was compared.
    pub necessary_bytes: u64,
    /// The element type of the first output, once a sample was compared.
    pub element: Element,
    /// Runs whose results were right.
    pub samples: u32,
    /// Exact counts of the first run.
    pub counts: BTreeMap<String, u64>,
    /// The text that kernels printed in the first run, or in the one that failed.
    pub printed: String,
}

/// The work on one case.
pub struct CaseWork<'a> {
    pub(super) setup: CaseSetup<'a>,
    watch: &'a mut dyn Watch,
    /// The orders of its threads in which the plan runs: sample by sample another.
    pub(super) orders: Orders,
    pub(super) seen: Seen,
}

impl<'a> CaseWork<'a> {
    /// Nothing is done yet.
    pub fn new(setup: CaseSetup<'a>, watch: &'a mut dyn Watch) -> CaseWork<'a> {
        CaseWork {
            orders: Orders::of(&setup),
            setup,
            watch,
            seen: Seen {
                noise: None,
                necessary_bytes: 0,
                element: Element::U8,
                samples: 0,
                counts: BTreeMap::new(),
                printed: String::new(),
            },
        }
    }

    /// Runs the checks of the emulated device, which finds faults that a GPU may not show.
    pub fn check_on_emulated(&mut self, extent: Extent) -> Result<(), NoResult> {
        let orders = match extent {
            Extent::Whole => self.orders.count(),
            Extent::Sampled => 1,
        };
        for sample in 0..orders {
            let of = self.inputs("look", sample)?;
            let order = self.order(sample);
            self.watch.enter(Phase::Submission);
            let found = extent.check(self.setup.device, self.setup.subject, order, &of.inputs);
            self.watch.enter(Phase::Ours);
            self.keep_printed(sample == 0 || found.is_err());
            let Some(ran) = found? else {
                continue;
            };
            if sample == 0 {
                self.seen.counts = ran.counts;
            }
            let checked = self.expected(&of)?.0.check(&ran.outputs);
            checked.map_err(|error| self.by_order(of.failure(&error)))?;
            if sample == 0 {
                self.each_device_works(&of, &ran.outputs)?;
            }
        }
        Ok(())
    }

    /// Whether each device computes its part of these inputs' results, where the lab asks for it
    /// and the device sees who stores what.
    fn each_device_works(
        &mut self,
        of: &SampleInputs,
        outputs: &NamedBuffers,
    ) -> Result<(), NoResult> {
        let CaseSetup {
            device,
            lab_spec,
            spec,
            subject,
            ..
        } = self.setup;
        let Some(part) = lab_spec.each_device.filter(|_| spec.devices > 1) else {
            return Ok(());
        };
        let how = Preparation::isolated().in_order(self.order(of.sample));
        self.watch.enter(Phase::Submission);
        let Subject { module, plan } = subject;
        let computed = device.computed(module, plan, &of.inputs, outputs, &how);
        self.watch.enter(Phase::Ours);
        // It has printed the text already.
        device.take_printed();
        if let Some(Computed { by_device, all }) = computed? {
            each_works(&by_device, all, part)?;
        }
        Ok(())
    }

    /// One run of these kernels and this plan on a sample's inputs.
    pub(super) fn run(
        &self,
        subject: Subject<'_>,
        of: &SampleInputs,
        settle: Duration,
    ) -> Result<Sample, NoResult> {
        let order = self.order(of.sample);
        run_isolated(self.setup.device, subject, order, &of.inputs, settle)
    }

    /// The order in which threads run in a sample, where results may depend on it, and what decides
    /// where buffers lie.
    fn order(&self, sample: u32) -> Order {
        Order {
            number: self.orders.of_sample(sample),
            seed: self.number("order", 0),
        }
    }

    /// Says of what is wrong that other samples were right in another order of threads.
    fn by_order(&self, mut failure: Failure) -> Failure {
        if failure
            .sample
            .is_some_and(|sample| !self.orders.is_plain(sample))
        {
            failure.kind = Kind::WrongResult;
            failure.message += "; right where blocks and lanes ran in the order of their index, wrong in another: the result depends on which thread is first";
        }
        failure
    }

    /// A secret number of a sample. Other purposes have others.
    pub fn number(&self, purpose: &str, sample: u32) -> u64 {
        self.setup
            .seeds
            .number(&self.setup.spec.name, purpose, sample)
    }

    /// Fresh inputs for a sample.
    pub fn inputs(&self, purpose: &str, sample: u32) -> Result<SampleInputs, NoResult> {
        let seed = self.setup.seeds.key(&self.setup.spec.name, purpose, sample);
        let case = self
            .setup
            .spec
            .with_seed(self.setup.lab_spec.lab, seed)
            .map_err(Error::from)?;
        Ok(SampleInputs {
            sample,
            seed,
            inputs: case.inputs()?,
            case,
        })
    }

    /// A run of the submission.
    pub fn submission(&mut self, of: &SampleInputs, settle: Duration) -> Result<Sample, NoResult> {
        self.watch.enter(Phase::Submission);
        let ran = self.run(self.setup.subject, of, settle);
        self.watch.enter(Phase::Ours);
        self.keep_printed(of.sample == 0 || ran.is_err());
        ran.map_err(|why| why.map_failure(|failure| failure.with_sample(of.sample)))
    }

    /// Keeps the text that kernels have printed in a run, if it is to be shown.
    fn keep_printed(&mut self, is_shown: bool) {
        let printed = self.setup.device.take_printed();
        if !is_shown {
            return;
        }
        self.seen.printed = bounded(printed.text, MAX_PRINTED_BYTES);
        if printed.is_cut {
            self.seen.printed += "\n(the device keeps no more)";
        }
    }

    /// One sample, compared with the CPU.
    pub fn checked(&mut self, sample: u32) -> Result<(), NoResult> {
        let of = self.inputs("check", sample)?;
        let ran = self.submission(&of, Duration::ZERO)?;
        if sample == 0 {
            self.seen.counts = ran.counts.clone();
        }
        // Computed after the run: until then no right result exists that a kernel could find.
        let (expected, _) = self.expected(&of)?;
        self.seen.necessary_bytes = necessary_bytes(&of.inputs, &expected.outputs);
        if let Some((_, first)) = expected.outputs.first() {
            self.seen.element = first.element();
        }
        self.compare(&of, &expected, &ran.outputs)?;
        if sample == 0 {
            self.each_device_works(&of, &ran.outputs)?;
        }
        Ok(())
    }

    /// The right results for these inputs, by the CPU; and the reference itself.
    pub fn expected(&mut self, of: &SampleInputs) -> Result<(Expected, NamedBuffers), NoResult> {
        let case = &of.case;
        let reference = case.reference_from(&of.inputs, Cpu::Parallel, &NoProgress)?;
        match self.setup.lab_spec.tolerance {
            ToleranceRule::Exact => Ok((Expected::exact(reference.clone()), reference)),
            ToleranceRule::Rounding { factor } => {
                let oracle = case.oracle_from(&of.inputs, &NoProgress)?.ok_or_else(|| {
                    let lab = self.setup.lab_spec.lab.name;
                    NoResult::not_graded_here(format!(
                        "lab {lab} has no oracle: rule \"rounding\" cannot be used"
                    ))
                })?;
                let (expected, noise) = Expected::rounding(factor, &reference, &oracle);
                self.seen.noise = Some(noise);
                Ok((expected, reference))
            }
        }
    }

    /// Compares a sample's outputs with what is expected, and describes what is wrong.
    pub fn compare(
        &mut self,
        of: &SampleInputs,
        expected: &Expected,
        got: &NamedBuffers,
    ) -> Result<(), NoResult> {
        let Err(error) = expected.check(got) else {
            self.seen.samples += 1;
            return Ok(());
        };
        let mut failure = self.by_order(of.failure(&error));
        self.watch.failed(&failure);
        self.watch.enter(Phase::Submission);
        failure.diagnosis = self.diagnosis(of, expected, got).map(Box::new);
        self.watch.enter(Phase::Ours);
        let unwritten = failure.diagnosis.as_deref().is_some_and(|diagnosis| {
            let mut fields = diagnosis.fields.iter();
            fields.all(|field| field.non_finite == 0)
        });
        if failure.kind == Kind::NonFinite && unwritten {
            // Memory was filled with it: it is not a value of the submission's.
            failure.kind = expected::kind_of_wrong_values(of.sample);
        }
        Err(failure.into())
    }
}
