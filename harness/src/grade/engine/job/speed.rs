//! The time of a case, in turn with a built-in variant.

use std::time::Duration;

use host::limits::copy_bandwidth;
use host::{Device, Error};

use super::{Work, numbered};
use crate::course::{Against, PerformanceSpec, Rule};
use crate::grade::engine::ceiling::Ceiling;
use crate::grade::engine::judge::Judge;
use crate::grade::engine::timed::{Measured, Pair, Series};
use crate::grade::engine::trial::{SETTLE, Stopped, Subject, run_isolated};
use crate::grade::verdict::{Limit, PerformanceGrade, PerformanceStatus};

impl Work<'_> {
    /// Times the submission in turn with a built-in variant, comparing every result.
    pub(super) fn time(
        &mut self,
        timed: &PerformanceSpec,
        grade: &mut PerformanceGrade,
    ) -> Result<(), Stopped> {
        let variants = self.lab.variants();
        let variant = match &timed.against {
            Against::Reference { variant } => {
                host::find_variant(variants, variant).map_err(Error::from)?
            }
            Against::Limit => *variants.first().ok_or_else(|| {
                Stopped::Lacking(
                    "this copy of the course has no built-in solution to run beside".to_owned(),
                )
            })?,
        };
        let plan = self.case(0)?.record(variant.name)?;
        let trusted = Subject {
            module: self.lab.module(),
            plan: &plan,
        };
        let copy = copy_rate(self.device)?;
        let shortest_s = self.shortest_s(variant.name, copy)?;
        let bytes = self.necessary_bytes;
        if timed.against == Against::Limit {
            grade.limit = Some(Limit {
                necessary_bytes: bytes,
                copy_bytes_per_s: copy,
            });
        }
        let at_limit = Duration::from_secs_f64(bytes as f64 / copy);
        let purpose = format!("time against {}", variant.name);
        let stopping = self.job.stopping;
        let earned = |ratio| timed.earned(ratio) / timed.points.max(f64::MIN_POSITIVE);
        let measured: Measured = Series::collect(&stopping, shortest_s, earned, |sample| {
            let (submission, reference) = self.pair(&purpose, trusted, variant.exact, sample)?;
            let reference = match timed.against {
                Against::Reference { .. } => reference,
                Against::Limit => host::Timing {
                    device: Some(at_limit),
                    host: at_limit,
                },
            };
            Ok::<_, Stopped>(Pair {
                submission,
                reference,
            })
        })?;
        grade.status = PerformanceStatus::Measured;
        grade.earned = timed.earned(measured.ratio.value);
        grade.ratio = Some(measured.ratio);
        grade.submission = Some(measured.submission);
        if timed.against != Against::Limit {
            grade.reference = Some(measured.reference);
        }
        Ok(())
    }

    /// The shortest time in which the device can do the case's work.
    fn shortest_s(&self, variant: &str, copy_bytes_per_s: f64) -> Result<f64, Stopped> {
        let Some(ceiling) = Ceiling::new(self.device, copy_bytes_per_s) else {
            return Ok(0.0);
        };
        let flops = self.case(0)?.work(variant).flops;
        Ok(ceiling.shortest_s(self.necessary_bytes, flops, self.element))
    }

    /// A run of the submission and one of the trusted variant, in random order, on the same fresh inputs.
    fn pair(
        &mut self,
        purpose: &str,
        trusted: Subject<'_>,
        is_exact: bool,
        sample: u32,
    ) -> Result<(host::Timing, host::Timing), Stopped> {
        let seed = self.seed(purpose, sample);
        let case = self.case(seed)?;
        let inputs = case.inputs()?;
        let reference = |work: &Work<'_>| {
            run_isolated(work.device, trusted, &inputs, SETTLE).map_err(|stopped| {
                let reason = match stopped {
                    Stopped::Failing(failing) => failing.message,
                    Stopped::Lacking(reason) => reason,
                };
                Stopped::Lacking(format!("the reference failed: {reason}"))
            })
        };
        let is_first = self.seed("order", sample) & 1 == 0;
        let early = if is_first {
            Some(reference(self)?)
        } else {
            None
        };
        let submission = self
            .submission(&inputs, SETTLE)
            .map_err(|stopped| numbered(stopped, sample))?;
        let trusted_sample = match early {
            Some(sample) => sample,
            None => reference(self)?,
        };
        let judge = if sample == 0 {
            let (judge, by_cpu) = self.judge(case.as_ref(), &inputs)?;
            let agrees = if is_exact {
                host::check::exact(&by_cpu, &trusted_sample.outputs)
            } else {
                judge.check(&trusted_sample.outputs)
            };
            agrees.map_err(|error| {
                Stopped::Lacking(format!("the reference's own result is wrong: {error}"))
            })?;
            judge
        } else {
            // The trusted variant equals the CPU's result, and is there sooner.
            match (self.rule, &self.noise) {
                (Rule::Rounding { factor }, Some(noise)) => {
                    Judge::around_reference(factor, trusted_sample.outputs, noise)
                }
                _ => Judge::exact(trusted_sample.outputs),
            }
        };
        self.compare(
            seed,
            case.as_ref(),
            &inputs,
            &judge,
            &submission.outputs,
            sample,
        )?;
        Ok((submission.timing, trusted_sample.timing))
    }
}

/// A performance entry that nothing is known of yet.
pub fn ungraded(timed: &PerformanceSpec) -> PerformanceGrade {
    PerformanceGrade {
        case: timed.case.clone(),
        against: timed.against.clone(),
        points: timed.points,
        earned: 0.0,
        zero: timed.zero,
        full: timed.full,
        status: PerformanceStatus::NotGradedHere {
            reason: "it was not timed".to_owned(),
        },
        ratio: None,
        submission: None,
        reference: None,
        limit: None,
    }
}

/// How fast the device copies, in bytes read and written per second.
fn copy_rate(device: &dyn Device) -> Result<f64, Stopped> {
    const BUFFER_BYTES: u64 = 512 << 20;
    let eighth = device.info().memory_bytes.unwrap_or(u64::MAX) / 8;
    let bandwidth = copy_bandwidth(device, BUFFER_BYTES.min(eighth))?;
    Ok(bandwidth.best_bytes_per_s)
}
