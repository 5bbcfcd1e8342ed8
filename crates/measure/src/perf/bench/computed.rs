//! The results that the CPU computes for the checks of a case, and how others are compared with
//! them.

use std::time::Duration;

use clap::ValueEnum;
use device::buffer::{copies, free};
use device::{Error, NamedBuffers, check};
use lab::run::explain;
use lab::{Arithmetic, Cpu, Lab, LabCase, Variant};
use terminal::progress::{Bar, NoProgress};

use super::Bench;
use results::CheckedSteps;

/// The share of the CPU's time in which it computes from the inputs on; in the rest it computes up
/// to the end.
const FIRST: f64 = 0.85;

/// A case that the CPU computes in this number of times its time is computed as a whole.
const WHOLE: f64 = 2.0;

/// So is one that the CPU computes sooner than variants would be run again up to two points: their
/// inputs are written, results read, and both go through the host's memory at this rate. It was
/// measured for fields of gigabytes on an H100 with 16 cores.
const MOVED_BYTES_PER_S: f64 = 4e9;

/// The part of the results that is compared with the CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckArg {
    /// As many first and last timesteps as the CPU does in two seconds; every variant with every
    /// other
    #[default]
    Steps,
    /// The whole run, however long the CPU takes
    Full,
    /// Nothing
    None,
}

/// The work of the CPU for the checks of a case. It needs nothing of a device.
pub struct Computing<'c> {
    lab: &'static Lab,
    case: &'c dyn LabCase,
    check: CheckArg,
    /// How long the CPU computes timesteps.
    time: Duration,
    /// Whether a variant's arithmetic is fused.
    has_fused: bool,
    progress: &'c str,
}

/// The outputs that the CPU computed.
pub struct Computed {
    plain: NamedBuffers,
    fused: Option<NamedBuffers>,
    /// If they are those after the first steps: which these are, and how many steps it takes until
    /// the end for a while.
    pub ends: Option<CheckedSteps>,
}

impl Computed {
    /// Frees the outputs.
    pub fn free(self) {
        free(
            self.plain
                .into_iter()
                .chain(self.fused.into_iter().flatten())
                .collect(),
        );
    }

    pub fn expected(&self) -> Expected<'_> {
        Expected {
            plain: Some(&self.plain),
            fused: self.fused.as_ref(),
        }
    }
}

/// The outputs that results are compared with.
#[derive(Clone, Copy, Default)]
pub struct Expected<'o> {
    /// Of the scheme as it is.
    pub plain: Option<&'o NamedBuffers>,
    /// Of the scheme with fused arithmetic.
    pub fused: Option<&'o NamedBuffers>,
}

impl Expected<'_> {
    /// The difference, if there is one. `None` where there is nothing to compare with.
    pub fn compare(
        &self,
        case: &dyn LabCase,
        variant: &Variant,
        inputs: &NamedBuffers,
        got: &NamedBuffers,
    ) -> Result<Option<Option<String>>, Error> {
        let expected = match variant.arithmetic {
            Arithmetic::Fused => self.fused,
            Arithmetic::Exact | Arithmetic::Reordered => self.plain,
        };
        let Some(expected) = expected else {
            return Ok(None);
        };
        let checked = match variant.arithmetic {
            Arithmetic::Exact | Arithmetic::Fused => check::exact(expected, got),
            Arithmetic::Reordered => case.check_reordered(inputs, expected, got)?,
        };
        Ok(Some(checked.err().map(|error| explain(case, &error))))
    }
}

impl Bench<'_> {
    /// The CPU's work for the checks of the case.
    pub(super) fn computing(&self) -> Computing<'_> {
        let mut arithmetic = self.variants.iter().map(|variant| variant.arithmetic);
        Computing {
            lab: self.lab,
            case: self.case.as_ref(),
            check: self.check,
            time: self.settings.check,
            has_fused: arithmetic.any(|own| own == Arithmetic::Fused),
            progress: &self.progress,
        }
    }
}

impl Computing<'_> {
    /// As much of the case as is asked for. `known` are its outputs, if the CPU was timed on it.
    ///
    /// # Errors
    ///
    /// Where memory is short.
    pub fn compute(
        &self,
        inputs: &NamedBuffers,
        known: Option<NamedBuffers>,
    ) -> Result<Computed, Error> {
        if let Some(plain) = known {
            return self.with_fused(self.case, inputs, plain, None);
        }
        match (self.check, self.case.timesteps()) {
            (CheckArg::Steps, Some(of)) if self.case.part(0, 1).is_some() => self.first(inputs, of),
            _ => self.whole(inputs),
        }
    }

    /// The whole case.
    ///
    /// # Errors
    ///
    /// Where memory is short.
    pub fn whole(&self, inputs: &NamedBuffers) -> Result<Computed, Error> {
        let bar = Bar::new(format!("{}, the whole on the CPU", self.progress));
        let plain = self.case.reference_from(inputs, Cpu::Parallel, &bar)?;
        self.with_fused(self.case, inputs, plain, None)
    }

    /// As many first steps as the CPU does in its time; all, if that takes little longer.
    fn first(&self, inputs: &NamedBuffers, of: u64) -> Result<Computed, Error> {
        let mut buffers = copies(inputs, |_| true)?;
        let first = self.time.mul_f64(FIRST);
        let whole = self.time.mul_f64(WHOLE).max(self.two_points(inputs));
        let (mut done, mut spent) = (0, Duration::ZERO);
        let steps_in = |time: Duration, before: u64, took: Duration| {
            let one_s = took.as_secs_f64() / before.max(1) as f64;
            (time.as_secs_f64() / one_s.max(1e-9)) as u64
        };
        while done < of && spent < first {
            let steps = match done {
                0 => 1,
                // The first step says nothing about the others.
                _ => steps_in(first - spent, done, spent).clamp(1, 8 * done),
            };
            let steps = steps.min(of - done);
            spent += self
                .part(done, steps)
                .advance(&mut buffers, Cpu::Parallel, &NoProgress)?;
            done += steps;
            if spent >= first && steps_in(whole, done, spent) >= of {
                spent +=
                    self.part(done, of - done)
                        .advance(&mut buffers, Cpu::Parallel, &NoProgress)?;
                done = of;
            }
        }
        keep_outputs(self.lab, &mut buffers);
        if done == of {
            return self.with_fused(self.case, inputs, buffers, None);
        }
        let ends = CheckedSteps {
            first: done,
            last: steps_in(self.time - first, done, spent).clamp(1, of - done),
            of,
        };
        self.with_fused(self.part(0, done).as_ref(), inputs, buffers, Some(ends))
    }

    /// The time in which one variant of each arithmetic is run again up to two points.
    fn two_points(&self, inputs: &NamedBuffers) -> Duration {
        let bytes = inputs.iter().map(|(_, buffer)| buffer.bytes().len() as f64);
        let variants = if self.has_fused { 2.0 } else { 1.0 };
        Duration::from_secs_f64(2.0 * variants * bytes.sum::<f64>() / MOVED_BYTES_PER_S)
    }

    fn with_fused(
        &self,
        case: &dyn LabCase,
        inputs: &NamedBuffers,
        plain: NamedBuffers,
        ends: Option<CheckedSteps>,
    ) -> Result<Computed, Error> {
        let fused = self.has_fused.then(|| case.fused_reference(inputs));
        Ok(Computed {
            plain,
            fused: fused.transpose()?.flatten(),
            ends,
        })
    }

    /// These timesteps of the case.
    ///
    /// # Panics
    ///
    /// For a case without timesteps.
    pub fn part(&self, first: u64, steps: u64) -> Box<dyn LabCase> {
        let part = self.case.part(first as u32, steps as u32);
        part.expect("a case with timesteps has parts")
    }
}

/// Drops what is only read, and never compared.
pub fn keep_outputs(lab: &Lab, buffers: &mut NamedBuffers) {
    buffers.retain(|(name, _)| lab.outputs.contains(&name.as_str()));
}
