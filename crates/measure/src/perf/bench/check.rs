//! Whether the results of timed runs are right.
//!
//! A small case is computed by the CPU as a whole. Of a large one, the CPU computes as many
//! timesteps as it can in a stated time: most of them from the inputs on, the rest from the state
//! that the device has shortly before the end. One variant is run again up to these two points and
//! compared with the CPU, bit for bit; every other result is compared with its result of the whole
//! run. Should two variants be right at both ends and differ, the CPU computes the whole.
//!
//! Variants with fused arithmetic are compared in the same way with the CPU's fused results. A
//! variant that sums in another order has a result of its own. It too is run again up to these two
//! points, the last steps from its own state before them, and compared there as its case compares
//! it.
//!
//! A bundle has no plan of a part, and is compared as a whole: with the result that others confirm,
//! or with the CPU's, where there is none.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use device::buffer::{copies, replace};
use device::{Device, Error, NamedBuffers};
use exit::ErrorKind;
use lab::run::run_from;
use lab::{Arithmetic, Cpu, LabCase, Variant};

use super::Bench;
use super::computed::{Computed, Expected, keep_outputs};
use crate::perf::interleaved::DistinctOutputs;
use lab::run::explain;
use results::{CheckedSteps, Correctness, Judgement};
use terminal::progress::{Bar, NoProgress};

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
    arithmetic: Arithmetic,
}

type Verdicts = HashMap<Pair, Judgement>;

impl Judged {
    /// Whether it can be run again up to a point that is compared.
    fn can_be_cut(&self) -> bool {
        self.is_ours && self.variant.has_parts
    }

    fn pair(&self) -> Option<Pair> {
        Some(Pair {
            output: self.output?,
            arithmetic: self.variant.arithmetic,
        })
    }
}

/// The runs that gave a result.
fn pairs(runs: &[Judged]) -> impl Iterator<Item = (Pair, &Judged)> {
    runs.iter().filter_map(|run| Some((run.pair()?, run)))
}

/// The outputs of this arithmetic that are equal to the CPU's at both ends.
fn confirmed(verdicts: &Verdicts, arithmetic: Arithmetic) -> Vec<usize> {
    let equal = verdicts.iter().filter(|(pair, verdict)| {
        pair.arithmetic == arithmetic && verdict.result == Correctness::Equal
    });
    equal.map(|(pair, _)| pair.output).collect()
}

/// The verdict of a comparison, over these steps where the CPU did not compute all.
fn judged(mismatch: Option<String>, pair: Pair, steps: Option<CheckedSteps>) -> Judgement {
    let result = match (&mismatch, pair.arithmetic) {
        (Some(_), _) => Correctness::Wrong,
        (None, Arithmetic::Exact | Arithmetic::Fused) => Correctness::Equal,
        (None, Arithmetic::Reordered) => Correctness::Close,
    };
    Judgement {
        result,
        checked_steps: steps,
        mismatch,
    }
}

/// No verdict, and why.
fn unchecked(reason: Option<String>) -> Judgement {
    Judgement {
        mismatch: reason,
        ..Judgement::default()
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
            Ok(judged(mismatch, pair, steps))
        }
        // An oracle needs more memory than the reference.
        Err(error)
            if pair.arithmetic != Arithmetic::Exact && error.kind() == ErrorKind::Environment =>
        {
            Ok(unchecked(Some(format!("unchecked: {error}"))))
        }
        Err(error) => Err(error),
    }
}

impl Bench<'_> {
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
            None => (Expected::default(), None),
            Some(all @ Computed { ends: None, .. }) => (all.expected(), None),
            Some(
                first @ Computed {
                    ends: Some(steps), ..
                },
            ) => {
                for (pair, run) in pairs(runs).filter(|(_, run)| run.can_be_cut()) {
                    if let Entry::Vacant(verdict) = verdicts.entry(pair) {
                        let got = &distinct.all[pair.output];
                        let ends = self.check_ends(run, *steps, first, got, device, inputs);
                        verdict.insert(judged_at_ends(ends, pair, *steps)?);
                    }
                }
                let confirmed = [Arithmetic::Exact, Arithmetic::Fused]
                    .map(|arithmetic| confirmed(&verdicts, arithmetic));
                let is_one = confirmed.iter().all(|outputs| outputs.len() <= 1);
                let are_whole = pairs(runs).any(|(_, run)| run.is_ours && !run.can_be_cut());
                if is_one && !(are_whole && confirmed[0].is_empty()) {
                    // Where there is none, nothing is known of peers.
                    let [plain, fused] =
                        confirmed.map(|outputs| outputs.first().map(|one| &distinct.all[*one]));
                    (Expected { plain, fused }, Some(*steps))
                } else {
                    // Right at both ends, and yet not the same; or a bundle alone.
                    verdicts.clear();
                    whole = self.computing().whole(inputs)?;
                    (whole.expected(), None)
                }
            }
        };
        for (pair, run) in pairs(runs).filter(|(_, run)| !run.rounds_differently) {
            if let Entry::Vacant(verdict) = verdicts.entry(pair) {
                let (case, got) = (self.case.as_ref(), &distinct.all[pair.output]);
                let compared = expected.compare(case, run.variant, inputs, got)?;
                if let Some(mismatch) = compared {
                    verdict.insert(judged(mismatch, pair, steps));
                }
            }
        }
        let of_run = |run: &Judged| match run.pair() {
            Some(_) if run.rounds_differently => {
                let is_checked = expected.plain.or(expected.fused).is_some();
                let reason = "unchecked: it rounds differently from the reference";
                unchecked(is_checked.then(|| reason.to_owned()))
            }
            Some(pair) => verdicts.get(&pair).cloned().unwrap_or_default(),
            None => Judgement::default(),
        };
        Ok(runs.iter().map(of_run).collect())
    }

    /// Compares the run with the CPU after the first steps, and over the last: what differs, if
    /// anything does.
    fn check_ends(
        &self,
        run: &Judged,
        CheckedSteps { first, last, of }: CheckedSteps,
        after_first: &Computed,
        after_all: &NamedBuffers,
        device: &dyn Device,
        inputs: &NamedBuffers,
    ) -> Result<Option<String>, Error> {
        let variant = run.variant;
        let _bar = Bar::spinner(format!("{}, checking {}", self.progress, variant.name));
        let on_device = |part: &dyn LabCase| {
            let outcome = run_from(device, part, variant, inputs)?;
            Ok::<_, Error>(outcome.outputs)
        };
        let cpu = self.computing();
        let part = cpu.part(0, first);
        let got = on_device(part.as_ref())?;
        let expected = after_first.expected();
        if let Some(Some(error)) = expected.compare(part.as_ref(), variant, inputs, &got)? {
            return Ok(Some(format!("after the first {first} steps: {error}")));
        }
        drop(got);
        let state = on_device(cpu.part(0, of - last).as_ref())?;
        let is_left = |name: &str| state.iter().all(|(other, _)| other != name);
        let mut buffers = copies(inputs, is_left)?;
        replace(&mut buffers, state);
        let last_part = cpu.part(of - last, last);
        let checked = if !variant.checks_from_inputs(last_part.as_ref()) {
            // In place: what the steps began with is gone then.
            last_part.advance(&mut buffers, Cpu::Parallel, &NoProgress)?;
            keep_outputs(self.lab, &mut buffers);
            variant.check(last_part.as_ref(), &Vec::new(), &buffers, after_all)?
        } else if variant.arithmetic == Arithmetic::Fused {
            variant.check(last_part.as_ref(), &buffers, &Vec::new(), after_all)?
        } else {
            let of_cpu = last_part.reference_from(&buffers, Cpu::Parallel, &NoProgress)?;
            variant.check(last_part.as_ref(), &buffers, &of_cpu, after_all)?
        };
        Ok(checked.err().map(|error| {
            let error = explain(last_part.as_ref(), &error);
            format!("over the last {last} steps: {error}")
        }))
    }
}
