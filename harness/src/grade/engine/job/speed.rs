//! The time of a case, in turn with a built-in variant.

use std::time::Duration;

use host::limits::{self, Options, measure};
use host::{Device, Error, NamedBuffers, NoProgress, Plan, Variant};

use super::{Work, numbered};
use crate::course::{Against, PerformanceSpec, Rule};
use crate::grade::engine::ceiling::Ceiling;
use crate::grade::engine::judge::Judge;
use crate::grade::engine::timed::{Measured, Pair, Series};
use crate::grade::engine::trial::{SETTLE, Sample, Stopped, Subject, run_isolated};
use crate::grade::verdict::{Limit, PerformanceGrade, PerformanceStatus};

/// A built-in variant, and its plan for the case.
struct Trusted {
    variant: Variant,
    plan: Plan,
}

impl Work<'_> {
    /// Times the submission in turn with a built-in variant, comparing every result. In a copy of the course that has none,
    /// times it alone.
    pub(super) fn time(
        &mut self,
        timed: &PerformanceSpec,
        grade: &mut PerformanceGrade,
    ) -> Result<(), Stopped> {
        let variants = self.lab.variants();
        let variant = match &timed.against {
            _ if variants.is_empty() => None,
            Against::Reference { variant } => {
                Some(host::find_variant(variants, variant).map_err(Error::from)?)
            }
            Against::Limit => variants.first().copied(),
        };
        self.time_beside(variant, timed, grade)
    }

    fn time_beside(
        &mut self,
        variant: Option<Variant>,
        timed: &PerformanceSpec,
        grade: &mut PerformanceGrade,
    ) -> Result<(), Stopped> {
        let trusted = match variant {
            Some(variant) => Some(Trusted {
                plan: self.case(0)?.record(variant.name)?,
                variant,
            }),
            None => None,
        };
        let copy = copy_rate(self.device)?;
        let shortest_s = self.shortest_s(copy)?;
        let bytes = self.necessary_bytes;
        let at_limit = Duration::from_secs_f64(bytes as f64 / copy);
        let at_limit = host::Timing {
            device: Some(at_limit),
            host: at_limit,
        };
        // A reference that is not here earns nothing: then the ratio only says when there are enough samples.
        let missing = match (&timed.against, &trusted) {
            (Against::Reference { variant }, None) => Some(variant),
            _ => None,
        };
        let earned = |ratio| match missing {
            Some(_) => ratio,
            None => timed.earned(ratio) / timed.points.max(f64::MIN_POSITIVE),
        };
        let purpose = format!("time against {}", purpose(&timed.against));
        let stopping = self.job.stopping;
        let measured: Measured = Series::collect(&stopping, shortest_s, earned, |sample| {
            let (submission, reference) = self.pair(&purpose, trusted.as_ref(), sample)?;
            let reference = match timed.against {
                Against::Reference { .. } => reference.unwrap_or(at_limit),
                Against::Limit => at_limit,
            };
            Ok::<_, Stopped>(Pair {
                submission,
                reference,
            })
        })?;
        grade.submission = Some(measured.submission);
        if let Some(variant) = missing {
            let reason = format!(
                "this copy of the course has no `{variant}` to run beside, so that there is a time and no ratio"
            );
            grade.status = PerformanceStatus::NotGradedHere { reason };
            return Ok(());
        }
        grade.status = PerformanceStatus::Measured;
        grade.earned = timed.earned(measured.ratio.value);
        grade.ratio = Some(measured.ratio);
        match timed.against {
            Against::Reference { .. } => grade.reference = Some(measured.reference),
            Against::Limit => {
                grade.limit = Some(Limit {
                    necessary_bytes: bytes,
                    copy_bytes_per_s: copy,
                });
            }
        }
        Ok(())
    }

    /// The shortest time in which the device can do the case's work.
    fn shortest_s(&self, copy_bytes_per_s: f64) -> Result<f64, Stopped> {
        let Some(ceiling) = Ceiling::new(self.device, copy_bytes_per_s) else {
            return Ok(0.0);
        };
        let flops = self.case(0)?.work("").flops;
        Ok(ceiling.shortest_s(self.necessary_bytes, flops, self.element))
    }

    /// A run of the submission and one of the trusted variant, in random order, on the same fresh inputs.
    fn pair(
        &mut self,
        purpose: &str,
        trusted: Option<&Trusted>,
        sample: u32,
    ) -> Result<(host::Timing, Option<host::Timing>), Stopped> {
        let seed = self.seed(purpose, sample);
        let case = self.case(seed)?;
        let inputs = case.inputs()?;
        let is_first = self.seed("order", sample) & 1 == 0;
        let early = match trusted {
            Some(trusted) if is_first => Some(self.reference(trusted, &inputs)?),
            _ => None,
        };
        let submission = self
            .submission(&inputs, SETTLE)
            .map_err(|stopped| numbered(stopped, sample))?;
        let beside = match (early, trusted) {
            (None, Some(trusted)) => Some(self.reference(trusted, &inputs)?),
            (early, _) => early,
        };
        let timing = beside.as_ref().map(|beside| beside.timing);
        let judge = match beside {
            // The trusted variant equals the CPU's result, and is there sooner.
            Some(beside) if sample > 0 => match (self.rule, &self.noise) {
                (Rule::Rounding { factor }, Some(noise)) => {
                    Judge::around_reference(factor, beside.outputs, noise)
                }
                _ => Judge::exact(beside.outputs),
            },
            beside => {
                let (judge, by_cpu) = self.judge(case.as_ref(), &inputs)?;
                if let Some((beside, trusted)) = beside.zip(trusted) {
                    let agrees = if trusted.variant.exact {
                        host::check::exact(&by_cpu, &beside.outputs)
                    } else {
                        judge.check(&beside.outputs)
                    };
                    agrees.map_err(|error| {
                        Stopped::Lacking(format!("the reference's own result is wrong: {error}"))
                    })?;
                }
                judge
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
        Ok((submission.timing, timing))
    }

    /// A run of the trusted variant.
    fn reference(&self, trusted: &Trusted, inputs: &NamedBuffers) -> Result<Sample, Stopped> {
        let subject = Subject {
            module: self.lab.module(),
            plan: &trusted.plan,
        };
        run_isolated(self.device, subject, inputs, SETTLE).map_err(|stopped| {
            Stopped::Lacking(format!("the reference failed: {}", stopped.reason()))
        })
    }
}

/// What seeds are told apart by.
fn purpose(against: &Against) -> &str {
    match against {
        Against::Reference { variant } => variant,
        Against::Limit => "the limit",
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
    let options = Options::for_device(device.info());
    let lacking =
        |reason: String| Stopped::Lacking(format!("its copies cannot be timed: {reason}"));
    let limits = measure(device, &options, &[limits::Limit::Copy], &NoProgress)
        .map_err(|error| lacking(error.to_string()))?;
    let copy = limits
        .copy
        .ok_or_else(|| lacking("too little free memory, or no clock".to_owned()))?;
    Ok(copy.best_per_s)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use host::{Element, Module, find_lab};

    use super::*;
    use crate::grade::engine::job::Job;
    use crate::grade::engine::tests::clocked::{Clocked, Who};
    use crate::grade::engine::tests::{MATADD, Unwatched, built_in, course, options};
    use crate::grade::kind::Kind;

    /// Both entries of the large case, timed as where there are no built-in variants.
    fn alone(device: &Clocked) -> Vec<(Result<(), Stopped>, PerformanceGrade)> {
        let course = course(MATADD);
        let bundle = built_in(&course, "grid2d_block1d_64");
        let submitted = bundle.case("large").unwrap();
        let job = Job {
            course_file: course.file.clone(),
            course_text: course.text.clone(),
            case: "large".to_owned(),
            ptx: bundle.ptx.clone(),
            plan: submitted.plan.clone(),
            seed: 42,
            samples: 1,
            stopping: options().stopping,
            checks: None,
        };
        let module = Module::new("submission", bundle.ptx.clone());
        let mut work = Work {
            job: &job,
            device,
            lab: find_lab("matadd").unwrap(),
            spec: course.case("large").unwrap(),
            rule: course.tolerance,
            subject: Subject {
                module: &module,
                plan: &job.plan,
            },
            watch: &mut Unwatched,
            noise: None,
            necessary_bytes: 12 * 384,
            element: Element::F32,
            samples: 0,
            counts: BTreeMap::new(),
        };
        let entries = course.performance.iter();
        entries
            .map(|timed| {
                let mut grade = ungraded(timed);
                (work.time_beside(None, timed, &mut grade), grade)
            })
            .collect()
    }

    #[test]
    fn without_a_reference_there_is_a_time_and_a_ratio_to_the_limit() {
        // Copies of 8 KiB in 10 us: 384 elements are 2.8125 us at that rate.
        let device = Clocked::new(|who, _| match who {
            Who::Submission => 5.625,
            Who::Copies => 10.0,
            Who::Reference => unreachable!("there is none"),
        });
        let [reference, limit] = &alone(&device)[..] else {
            panic!("two entries")
        };
        let (Ok(()), reference) = reference else {
            panic!("{reference:?}")
        };
        let PerformanceStatus::NotGradedHere { reason } = &reference.status else {
            panic!("{reference:?}")
        };
        insta::assert_snapshot!(reason, @"this copy of the course has no `grid2d_block2d_32x8` to run beside, so that there is a time and no ratio");
        let times = reference.submission.as_ref().unwrap();
        assert!((times.median_s - 5.625e-6).abs() < 1e-9);
        assert!(times.samples_s.len() >= 10);
        assert_eq!((reference.ratio, reference.earned), (None, 0.0));

        let (Ok(()), limit) = limit else {
            panic!("{limit:?}")
        };
        assert_eq!(limit.status, PerformanceStatus::Measured);
        assert!((limit.ratio.unwrap().value - 0.5).abs() < 1e-3);
        assert!((limit.earned - 0.5 * limit.points).abs() < 0.02);
    }

    #[test]
    fn every_result_is_compared_all_the_same() {
        let mut device = Clocked::new(|_, _| 100.0);
        device.spoiled_from = 7;
        let (Err(Stopped::Failing(failing)), _) = &alone(&device)[0] else {
            panic!("spoiled")
        };
        assert_eq!((failing.kind, failing.sample), (Kind::WrongLater, Some(7)));
    }
}
