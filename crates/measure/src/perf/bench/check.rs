//! Whether the results of timed runs are right.
//!
//! A small case is computed by the CPU as a whole. Of a large one, the CPU computes as many
//! timesteps as it can in a stated time: most of them from the inputs on, the rest from the state
//! that the device has shortly before the end. One variant is run again up to these two points and
//! compared with the CPU, bit for bit; every other result is compared with its result of the whole
//! run. Should two variants be right at both ends and differ, the CPU computes the whole.
//!
//! A variant that rounds differently has a result of its own. It too is run again up to these two
//! points, the last steps from its own state before them, and compared there as its case compares
//! it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use clap::ValueEnum;
use device::buffer::{copies, replace};
use device::{Device, Error, NamedBuffers};
use exit::ErrorKind;
use lab::run::run_from;
use lab::{Cpu, Lab, LabCase, Variant};

use super::Bench;
use crate::perf::interleaved::DistinctOutputs;
use crate::perf::results::{CheckedSteps, Correctness};
use exit::CommandError;
use lab::run::explain;
use terminal::progress::Bar;

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

/// The share of the CPU's time in which it computes from the inputs on; in the rest it computes up
/// to the end.
const FIRST: f64 = 0.85;

/// Whether a result is right.
#[derive(Debug, Clone)]
pub struct Judgement {
    pub result: Correctness,
    /// Where the CPU did not compute all.
    pub steps: Option<CheckedSteps>,
    pub mismatch: Option<String>,
}

/// A timed run: the variant that it is, whether it is ours, and what it gave.
pub struct Judged {
    pub variant: &'static Variant,
    pub is_ours: bool,
    /// Whether it rounds where the reference does not: the lab's rule is not for it.
    pub rounds_differently: bool,
    /// Which of the [`DistinctOutputs`]; none for a run that failed.
    pub output: Option<usize>,
}

/// A result and the rule that it is judged by. Most runs of a case share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    /// Which of the [`DistinctOutputs`].
    output: usize,
    /// Whether it must be equal to the reference to the last bit.
    is_exact: bool,
}

type Verdicts = HashMap<Pair, Judgement>;

impl Judged {
    fn pair(&self) -> Option<Pair> {
        Some(Pair {
            output: self.output?,
            is_exact: self.variant.is_exact(),
        })
    }
}

/// The runs that gave a result.
fn pairs(runs: &[Judged]) -> impl Iterator<Item = (Pair, &Judged)> {
    runs.iter().filter_map(|run| Some((run.pair()?, run)))
}

/// The outputs that are equal to the reference at both ends.
fn confirmed(verdicts: &Verdicts) -> Vec<usize> {
    let equal = verdicts.iter();
    let equal = equal.filter(|(_, verdict)| verdict.result == Correctness::Equal);
    equal.map(|(pair, _)| pair.output).collect()
}

impl Judgement {
    const UNCHECKED: Judgement = Judgement {
        result: Correctness::Unchecked,
        steps: None,
        mismatch: None,
    };

    /// One that needs no more words.
    pub fn of(result: Correctness) -> Judgement {
        Judgement {
            result,
            ..Judgement::UNCHECKED
        }
    }

    /// The verdict of a comparison.
    fn new(mismatch: Option<String>, is_exact: bool, steps: Option<CheckedSteps>) -> Judgement {
        let result = match (&mismatch, is_exact) {
            (Some(_), _) => Correctness::Wrong,
            (None, true) => Correctness::Equal,
            (None, false) => Correctness::Close,
        };
        Judgement {
            result,
            steps,
            mismatch,
        }
    }
}

/// The verdict of comparisons at both ends.
fn judged_at_ends(
    ends: Result<Option<String>, Error>,
    pair: Pair,
    steps: CheckedSteps,
) -> Result<Judgement, Error> {
    match ends {
        Ok(mismatch) => {
            let steps = mismatch.is_none().then_some(steps);
            Ok(Judgement::new(mismatch, pair.is_exact, steps))
        }
        // An oracle needs more memory than the reference.
        Err(error) if !pair.is_exact && error.kind() == ErrorKind::Environment => Ok(Judgement {
            mismatch: Some(format!("unchecked: {error}")),
            ..Judgement::UNCHECKED
        }),
        Err(error) => Err(error),
    }
}

/// The outputs that the CPU computed.
pub enum Computed {
    /// The outputs of the whole case.
    Whole(NamedBuffers),
    /// The outputs after the first steps, and how many steps it takes until the end for a while.
    First {
        steps: u64,
        outputs: NamedBuffers,
        last: u64,
    },
}

impl Bench<'_> {
    /// The CPU's outputs of the case, as far as they are asked for.
    ///
    /// # Errors
    ///
    /// Where memory is short.
    pub(super) fn compute(&self, inputs: &NamedBuffers) -> Result<Computed, CommandError> {
        let case = self.case.as_ref();
        let computed = match (self.check, case.timesteps()) {
            (CheckArg::Steps, Some(of)) if case.part(0, 1).is_some() => {
                self.compute_first(inputs, of)
            }
            _ => self.compute_whole(inputs).map(Computed::Whole),
        };
        computed.map_err(|error| self.lacking(error))
    }

    fn compute_whole(&self, inputs: &NamedBuffers) -> Result<NamedBuffers, Error> {
        let bar = Bar::new(format!("{}, the whole on the CPU", self.place));
        self.case.reference_from(inputs, Cpu::Parallel, &bar)
    }

    fn compute_first(&self, inputs: &NamedBuffers, of: u64) -> Result<Computed, Error> {
        let mut buffers = copies(inputs, |_| true)?;
        let first = self.settings.check.mul_f64(FIRST);
        let (mut done, mut spent) = (0, Duration::ZERO);
        let steps_in = |time: Duration, done: u64, spent: Duration| {
            let one_s = spent.as_secs_f64() / done.max(1) as f64;
            (time.as_secs_f64() / one_s.max(1e-9)) as u64
        };
        while done < of && spent < first {
            let steps = match done {
                0 => 1,
                // The first step says nothing about the others.
                _ => steps_in(first - spent, done, spent).clamp(1, 8 * done),
            };
            let steps = steps.min(of - done);
            let bar = Bar::new(format!("{}, first steps on the CPU", self.place));
            let part = self.part(done, steps);
            spent += part.advance(&mut buffers, Cpu::Parallel, &bar)?;
            done += steps;
        }
        keep_outputs(self.lab, &mut buffers);
        Ok(match done == of {
            true => Computed::Whole(buffers),
            false => Computed::First {
                steps: done,
                outputs: buffers,
                last: steps_in(self.settings.check - first, done, spent).clamp(1, of - done),
            },
        })
    }

    fn part(&self, first: u64, steps: u64) -> Box<dyn LabCase> {
        let part = self.case.part(first as u32, steps as u32);
        part.expect("a case with timesteps has parts")
    }

    /// A verdict for each of the runs, in their order.
    ///
    /// # Errors
    ///
    /// Where memory is short, and what the device answers to runs up to the points that are
    /// compared.
    pub(super) fn judge(
        &self,
        runs: &[Judged],
        distinct: &DistinctOutputs,
        computed: Option<&Computed>,
        device: &dyn Device,
        inputs: &NamedBuffers,
    ) -> Result<Vec<Judgement>, Error> {
        let mut verdicts = Verdicts::new();
        let whole;
        // The outputs that the rest is compared with, and the steps if the CPU did not compute all.
        let (expected, steps) = match computed {
            None => (None, None),
            Some(Computed::Whole(outputs)) => (Some(outputs), None),
            Some(Computed::First {
                steps,
                outputs,
                last,
            }) => {
                let steps = CheckedSteps {
                    first: *steps,
                    last: *last,
                    of: self.case.timesteps().unwrap_or(0),
                };
                for (pair, run) in pairs(runs).filter(|(_, run)| run.is_ours) {
                    if let Entry::Vacant(verdict) = verdicts.entry(pair) {
                        let got = &distinct.all[pair.output];
                        let ends = self.check_ends(run, steps, outputs, got, device, inputs);
                        verdict.insert(judged_at_ends(ends, pair, steps)?);
                    }
                }
                match confirmed(&verdicts)[..] {
                    // Nothing is known of peers.
                    [] => (None, None),
                    [one] => (Some(&distinct.all[one]), Some(steps)),
                    // Right at both ends, and yet not the same.
                    _ => {
                        verdicts.clear();
                        whole = self.compute_whole(inputs)?;
                        (Some(&whole), None)
                    }
                }
            }
        };
        if let Some(expected) = expected {
            for (pair, run) in pairs(runs).filter(|(_, run)| !run.rounds_differently) {
                if let Entry::Vacant(verdict) = verdicts.entry(pair) {
                    let (case, got) = (self.case.as_ref(), &distinct.all[pair.output]);
                    let checked = run.variant.check(case, inputs, expected, got)?;
                    let mismatch = checked.err().map(|error| explain(case, &error));
                    verdict.insert(Judgement::new(mismatch, pair.is_exact, steps));
                }
            }
        }
        let of_run = |run: &Judged| match run.pair() {
            Some(_) if run.rounds_differently => Judgement {
                mismatch: expected
                    .map(|_| "unchecked: it rounds differently from the reference".to_owned()),
                ..Judgement::UNCHECKED
            },
            Some(pair) => verdicts.get(&pair).cloned().unwrap_or(Judgement::UNCHECKED),
            None => Judgement::UNCHECKED,
        };
        Ok(runs.iter().map(of_run).collect())
    }

    /// Compares the run with the CPU after the first steps, and over the last: what differs, if
    /// anything does.
    fn check_ends(
        &self,
        run: &Judged,
        CheckedSteps { first, last, of }: CheckedSteps,
        after_first: &NamedBuffers,
        after_all: &NamedBuffers,
        device: &dyn Device,
        inputs: &NamedBuffers,
    ) -> Result<Option<String>, Error> {
        let variant = run.variant;
        let _bar = Bar::spinner(format!("{}, checking {}", self.place, variant.name));
        let on_device = |part: &dyn LabCase| {
            let outcome = run_from(device, part, variant, inputs)?;
            Ok::<_, Error>(outcome.outputs)
        };
        let part = self.part(0, first);
        let got = on_device(part.as_ref())?;
        if let Err(error) = variant.check(part.as_ref(), inputs, after_first, &got)? {
            let error = explain(part.as_ref(), &error);
            return Ok(Some(format!("after the first {first} steps: {error}")));
        }
        drop(got);
        let state = on_device(self.part(0, of - last).as_ref())?;
        let is_left = |name: &str| state.iter().all(|(other, _)| other != name);
        let mut buffers = copies(inputs, is_left)?;
        replace(&mut buffers, state);
        let part = self.part(of - last, last);
        let checked = if !variant.checks_from_inputs(part.as_ref()) {
            // In place: what the steps began with is gone then.
            part.advance(&mut buffers, Cpu::Parallel, &terminal::progress::NoProgress)?;
            keep_outputs(self.lab, &mut buffers);
            variant.check(part.as_ref(), &Vec::new(), &buffers, after_all)?
        } else {
            let expected =
                part.reference_from(&buffers, Cpu::Parallel, &terminal::progress::NoProgress)?;
            variant.check(part.as_ref(), &buffers, &expected, after_all)?
        };
        Ok(checked.err().map(|error| {
            let error = explain(part.as_ref(), &error);
            format!("over the last {last} steps: {error}")
        }))
    }
}

/// Drops what is only read, and never compared.
pub fn keep_outputs(lab: &Lab, buffers: &mut NamedBuffers) {
    buffers.retain(|(name, _)| lab.outputs.contains(&name.as_str()));
}
