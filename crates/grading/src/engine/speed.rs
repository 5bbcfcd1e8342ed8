//! The time of a case, in turn with a built-in variant.

use std::time::Duration;

use device::check::Expected;
use device::{Device, Error};
use host::limits::{Limit, Options, measure};
use lab::Variant;
use plan::Plan;
use terminal::progress::NoProgress;

use super::case::{CaseWork, SampleInputs};
use super::ceiling::Ceiling;
use super::run::{SETTLE, Sample, Subject};
use super::sampling::{Pair, Series, Stopping};
use crate::lab_spec::{Against, PerformanceSpec, ToleranceRule};
use crate::outcome::NoResult;
use crate::report::{CopyLimit, PerformanceGrade};

/// A built-in variant, and its plan for the case.
struct Trusted {
    variant: &'static Variant,
    plan: Plan,
}

impl CaseWork<'_> {
    /// Times the submission in turn with a built-in variant, comparing every result. In a copy of
    /// the course that has none, times it alone.
    pub fn time(
        &mut self,
        timed: &PerformanceSpec,
        stopping: Stopping,
        grade: &mut PerformanceGrade,
    ) -> Result<(), NoResult> {
        let variants = &self.setup.lab_spec.lab.variants;
        let variant = match &timed.against {
            _ if variants.is_empty() => None,
            Against::Reference { variant } => {
                Some(lab::find_variant(variants, variant).map_err(Error::from)?)
            }
            Against::Limit => variants.first(),
        };
        self.time_beside(variant, timed, stopping, grade)
    }

    fn time_beside(
        &mut self,
        variant: Option<&'static Variant>,
        timed: &PerformanceSpec,
        stopping: Stopping,
        grade: &mut PerformanceGrade,
    ) -> Result<(), NoResult> {
        let any_case = self
            .setup
            .spec
            .with_seed(self.setup.lab_spec.lab, 0)
            .map_err(Error::from)?;
        let record = |reference: &'static Variant| {
            let plan = reference.record_for(any_case.as_ref(), self.setup.spec.devices)?;
            Ok::<_, Error>(Trusted {
                variant: reference,
                plan,
            })
        };
        let trusted = variant.map(record).transpose()?;
        let copy = copy_rate(self.setup.device)?;
        let bytes = self.seen.necessary_bytes;
        // The shortest time in which the device can do the case's work.
        let shortest_s = Ceiling::new(self.setup.device, copy).map_or(0.0, |ceiling| {
            ceiling.shortest_s(bytes, any_case.work().flops, self.seen.element)
        });
        let at_limit = Duration::from_secs_f64(bytes as f64 / copy);
        let at_limit = device::Timing {
            device: Some(at_limit),
            host: at_limit,
        };
        // A reference that is not here earns nothing: then the ratio only says when there are
        // enough samples.
        let missing = match (&timed.against, &trusted) {
            (Against::Reference { variant: name }, None) => Some(name),
            _ => None,
        };
        let earned = |ratio| match missing {
            Some(_) => ratio,
            None => timed.earned(ratio) / timed.points.max(f64::MIN_POSITIVE),
        };
        // A number that distinguishes the seeds.
        let purpose = match &timed.against {
            Against::Reference { variant: name } => format!("time against {name}"),
            Against::Limit => "time against the limit".to_owned(),
        };
        let measured = Series::collect(&stopping, shortest_s, earned, |sample| {
            let (submission, reference) = self.pair(&purpose, trusted.as_ref(), sample)?;
            let reference = match timed.against {
                Against::Reference { .. } => reference.unwrap_or(at_limit),
                Against::Limit => at_limit,
            };
            Ok(Pair {
                submission,
                reference,
            })
        })?;
        grade.submission = Some(measured.submission);
        if let Some(name) = missing {
            let why = NoResult::not_graded_here(format!(
                "this copy of the course does not include the reference `{name}`: only the time is reported"
            ));
            grade.status = why.into();
            return Ok(());
        }
        grade.earned = timed.earned(measured.ratio.value);
        grade.ratio = Some(measured.ratio);
        match timed.against {
            Against::Reference { .. } => grade.reference = Some(measured.reference),
            Against::Limit => {
                grade.limit = Some(CopyLimit {
                    necessary_bytes: bytes,
                    copy_bytes_per_s: copy,
                });
            }
        }
        Ok(())
    }

    /// A run of the submission on fresh inputs and one of the trusted variant, in random order.
    ///
    /// Before the submission runs, the trusted variant runs on other inputs: no right result is
    /// anywhere on the device, in shared memory or L2, that the submission could find.
    fn pair(
        &mut self,
        purpose: &str,
        trusted: Option<&Trusted>,
        sample: u32,
    ) -> Result<(device::Timing, Option<device::Timing>), NoResult> {
        let of = self.inputs(purpose, sample)?;
        let is_first = self.number("order", sample) & 1 == 0;
        let early = match trusted.filter(|_| is_first) {
            None => None,
            Some(trusted) => {
                let others = self.inputs(&format!("{purpose}, before"), sample)?;
                Some(self.reference(trusted, &others)?.timing)
            }
        };
        let submission = self.submission(&of, SETTLE)?;
        let run = |one| self.reference(one, &of);
        let beside = trusted.map(run).transpose()?;
        let late = beside.as_ref().map(|beside| beside.timing);
        let timing = early.or(late);
        let is_exact = trusted.is_some_and(|trusted| trusted.variant.is_exact());
        let expected = match beside {
            // An exact variant's result equals the CPU's, and is there sooner.
            Some(beside) if sample > 0 && is_exact => {
                match (self.setup.lab_spec.tolerance, &self.seen.noise) {
                    (ToleranceRule::Rounding { factor }, Some(noise)) => {
                        Expected::around_reference(factor, beside.outputs, noise)
                    }
                    _ => Expected::exact(beside.outputs),
                }
            }
            _ => {
                let (expected, by_cpu) = self.expected(&of)?;
                if let Some((beside, trusted)) = beside.zip(trusted) {
                    let (case, got) = (of.case.as_ref(), &beside.outputs);
                    let agrees = trusted.variant.check(case, &of.inputs, &by_cpu, got)?;
                    agrees.map_err(|error| {
                        NoResult::undecided(format!("the reference's own result is wrong: {error}"))
                    })?;
                }
                expected
            }
        };
        self.compare(&of, &expected, &submission.outputs)?;
        Ok((submission.timing, timing))
    }

    /// A run of the trusted variant.
    fn reference(&self, trusted: &Trusted, of: &SampleInputs) -> Result<Sample, NoResult> {
        let subject = Subject {
            module: &trusted.variant.module,
            plan: &trusted.plan,
        };
        self.run(subject, of, SETTLE)
            .map_err(|why| NoResult::undecided(format!("the reference failed: {why}")))
    }
}

/// How fast the device copies, in bytes read and written per second; several as one, all together.
fn copy_rate(device: &dyn Device) -> Result<f64, NoResult> {
    let options = Options::for_device(device.info());
    let lacking =
        |reason: &str| NoResult::undecided(format!("its copies cannot be timed: {reason}"));
    let limits = measure(device, &options, &[Limit::Copy], &NoProgress)
        .map_err(|error| lacking(&error.to_string()))?;
    let copy = limits
        .copy
        .ok_or_else(|| lacking("too little free memory, or no clock"))?;
    let rate = f64::from(device.count()) * copy.best_per_s;
    if rate > 0.0 && rate.is_finite() {
        Ok(rate)
    } else {
        Err(lacking(&format!("their rate is {rate} bytes/s")))
    }
}

#[cfg(test)]
mod tests {
    use device::{Element, Module};

    use super::*;
    use crate::engine::case::CaseSetup;
    use crate::engine::seeds::Seeds;
    use crate::engine::tests::clocked::{Clocked, Who};
    use crate::engine::tests::{MATADD, Unwatched, built_in, lab_spec, options};
    use crate::outcome::{Kind, Outcome};

    /// Both entries of the large case, timed as on a machine without built-in variants.
    fn alone(device: &Clocked) -> Vec<(Result<(), NoResult>, PerformanceGrade)> {
        let lab_spec = lab_spec(MATADD);
        let bundle = built_in(&lab_spec, "grid2d_block1d_64");
        let submitted = bundle.case("large").unwrap();
        let module = Module::new("submission", bundle.ptx.clone());
        let subject = Subject {
            module: &module,
            plan: submitted.plan.as_ref().unwrap(),
        };
        let setup = CaseSetup {
            device,
            lab_spec: &lab_spec,
            spec: lab_spec.case("large").unwrap(),
            subject,
            seeds: Seeds(42),
        };
        let mut watch = Unwatched;
        let mut work = CaseWork::new(setup, &mut watch);
        (work.seen.necessary_bytes, work.seen.element) = (12 * 384, Element::F32);
        let entries = lab_spec.performance.iter();
        entries
            .map(|timed| {
                let mut grade = PerformanceGrade::new(timed, Outcome::Measured);
                (
                    work.time_beside(None, timed, options().stopping, &mut grade),
                    grade,
                )
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
        let Outcome::NotGradedHere { reason } = &reference.status else {
            panic!("{reference:?}")
        };
        insta::assert_snapshot!(reason, @"this copy of the course does not include the reference `grid2d_block2d_32x8`: only the time is reported");
        let times = reference.submission.as_ref().unwrap();
        assert!((times.median_s - 5.625e-6).abs() < 1e-9);
        assert!(times.samples_s.len() >= 10);
        assert_eq!((reference.ratio, reference.earned), (None, 0.0));

        let (Ok(()), limit) = limit else {
            panic!("{limit:?}")
        };
        assert_eq!(limit.status, Outcome::Measured);
        assert!((limit.ratio.unwrap().value - 0.5).abs() < 1e-3);
        assert!((limit.earned - 0.5 * limit.points).abs() < 0.02);
    }

    #[test]
    fn every_result_is_compared_all_the_same() {
        let mut device = Clocked::new(|_, _| 100.0);
        device.spoiled_from = 7;
        let (Err(NoResult::Failed(failure)), _) = &alone(&device)[0] else {
            panic!("spoiled")
        };
        assert_eq!((failure.kind, failure.sample), (Kind::WrongLater, Some(7)));
    }
}
