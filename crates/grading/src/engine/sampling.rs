//! Samples of time, in turn with a reference, and when there are enough.
//!
//! A sample of the ratio is the time of the reference by that of the submission, taken one after
//! the other. Points follow from the median of the ratios.

use std::time::{Duration, Instant};

use device::Timing;
use serde::{Deserialize, Serialize};
use stats::SamplingRule;
use stats::interval::{Confidence, median};

use crate::outcome::{Failure, Kind, NoResult};
use crate::report::{Interval, Times};

/// When there are enough samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    /// The rule for the ratio. What speaks against one series of times, as its spread does, does
    /// not count: what slows the machine for a while slows both of a pair.
    pub rule: SamplingRule,
    /// Enough also once the ends of the ratio's interval earn the same, except for this share of
    /// the points.
    pub points: f64,
}

impl Default for Stopping {
    fn default() -> Stopping {
        Stopping {
            rule: SamplingRule {
                min_samples: 10,
                min_time: Duration::MAX,
                max_samples: 60,
                noise: 0.005,
                spread: f64::MAX,
                patience: Duration::from_secs(60),
            },
            points: 0.005,
        }
    }
}

/// How far the device's clock and the host's may be apart: what it takes to enqueue the first
/// command and to hear of the end of the last, and a share for clocks that do not run alike.
const CLOCKS_APART: Duration = Duration::from_millis(2);
const CLOCKS_APART_SHARE: f64 = 0.05;

/// Whether both clocks tell the same of a run.
pub fn clocks_agree(timing: &Timing) -> bool {
    let Some(device) = timing.device else {
        return false;
    };
    let allowed = CLOCKS_APART + timing.host.mul_f64(CLOCKS_APART_SHARE);
    // The host's interval holds the device's: only the two clocks' rates may make the device's
    // longer.
    let excess = timing.host.mul_f64(CLOCKS_APART_SHARE) + Duration::from_micros(5);
    device <= timing.host + excess && timing.host <= device + allowed
}

/// One sample: the submission's time, and that of the reference beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The submission's.
    pub submission: Timing,
    /// The reference's, or, against a limit, the time that the limit allows.
    pub reference: Timing,
}

/// Samples taken.
#[derive(Debug, Default)]
pub struct Series {
    submission_s: Vec<f64>,
    reference_s: Vec<f64>,
    discarded: usize,
    /// Those of them in which the reference's clocks disagreed.
    busy: usize,
}

/// The statistics of the samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The reference's time by the submission's.
    pub ratio: Interval,
    /// The submission's times.
    pub submission: Times,
    /// The reference's.
    pub reference: Times,
    /// Whether the interval, or the points' part of it, is as narrow as was asked for.
    pub is_quiet: bool,
}

impl Series {
    /// Takes pairs until there are enough. `earned` is the share of the points for a ratio, never
    /// less for a greater one; `pair` gets the number of the sample, which no other gets.
    ///
    /// # Errors
    ///
    /// The error of `pair`; [`Kind::ImpossibleSpeed`] for a time below `shortest_s`, or of zero;
    /// [`Kind::ClocksDisagree`] where that is so of most samples: a few are left out, as the host
    /// may have been busy with something else. [`NoResult::Undecided`] if the clocks disagree about
    /// the reference too: the host was busy all the time.
    pub fn collect(
        stopping: &Stopping,
        shortest_s: f64,
        earned: impl Fn(f64) -> f64,
        mut pair: impl FnMut(u32) -> Result<Pair, NoResult>,
    ) -> Result<Measured, NoResult> {
        let began = Instant::now();
        let mut series = Series::default();
        for sample in 0.. {
            let pair = pair(sample)?;
            series.add(pair, shortest_s, sample)?;
            let taken = series.submission_s.len();
            if series.discarded > taken.max(stopping.rule.min_samples) / 2 {
                return Err(series.clocks_disagree(&pair.submission, sample));
            }
            if taken == 0 {
                continue;
            }
            let measured = series.measured(stopping, &earned);
            // Samples that do not count do not use up the others' number.
            let is_over = stopping.rule.is_over(taken, taken, began.elapsed());
            if taken >= stopping.rule.min_samples && (measured.is_quiet || is_over) {
                return Ok(measured);
            }
        }
        unreachable!("a series ends")
    }

    /// The outcome where the clocks disagree in most samples; the last sample took this time.
    fn clocks_disagree(&self, last: &Timing, sample: u32) -> NoResult {
        let (discarded, samples) = (self.discarded, sample + 1);
        // A submission that hides work does not slow the reference. On a busy host either of a pair
        // is hit as often as the other.
        if 3 * self.busy >= discarded {
            return NoResult::undecided(format!(
                "the device's clock and the host's disagreed in {discarded} of {samples} samples, in {} of them about the reference: \
                 the machine was busy; grade again while nothing else runs",
                self.busy
            ));
        }
        let message = format!(
            "the device's clock and the host's disagreed in {discarded} of {samples} samples, in the last by {:?} and {:?}",
            last.device.unwrap_or_default(),
            last.host,
        );
        let failure = Failure::new(Kind::ClocksDisagree, message);
        failure.with_sample(sample).into()
    }

    fn add(&mut self, pair: Pair, shortest_s: f64, sample: u32) -> Result<(), Failure> {
        let time = |timing: Timing| timing.device.unwrap_or(timing.host).as_secs_f64();
        let (submission, reference) = (time(pair.submission), time(pair.reference));
        let is_possible = submission > 0.0 && submission >= shortest_s;
        if !is_possible {
            let message = format!(
                "it took {:.3} us, and this device cannot do the work in less than {:.3} us",
                submission * 1e6,
                shortest_s * 1e6
            );
            return Err(Failure::new(Kind::ImpossibleSpeed, message).with_sample(sample));
        }
        // A reference that takes no time was not timed.
        let is_timed = reference > 0.0;
        let agrees = clocks_agree(&pair.reference);
        if is_timed && clocks_agree(&pair.submission) && agrees {
            self.submission_s.push(submission);
            self.reference_s.push(reference);
        } else {
            self.discarded += 1;
            self.busy += usize::from(!agrees);
        }
        Ok(())
    }

    fn measured(&self, stopping: &Stopping, earned: impl Fn(f64) -> f64) -> Measured {
        let pairs = self.reference_s.iter().zip(&self.submission_s);
        let ratios: Vec<f64> = pairs.map(|(reference, ours)| reference / ours).collect();
        let ratio = median(&ratios, Confidence::P95);
        let times = |samples_s: &Vec<f64>| Times {
            median_s: median(samples_s, Confidence::P95).estimate,
            samples_s: samples_s.clone(),
            discarded: self.discarded as u32,
        };
        Measured {
            ratio: Interval {
                value: ratio.estimate,
                low: ratio.low,
                high: ratio.high,
                confidence: ratio.confidence,
            },
            submission: times(&self.submission_s),
            reference: times(&self.reference_s),
            is_quiet: ratio.reaches(Confidence::P95)
                && (ratio.relative_half_width() <= stopping.rule.noise
                    || earned(ratio.high) - earned(ratio.low) <= stopping.points),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOPPING: Stopping = Stopping {
        rule: SamplingRule {
            min_samples: 10,
            min_time: Duration::MAX,
            max_samples: 40,
            noise: 0.005,
            spread: f64::MAX,
            patience: Duration::MAX,
        },
        points: 0.01,
    };

    fn timing(us: f64) -> Timing {
        let time = Duration::from_secs_f64(us * 1e-6);
        Timing {
            device: Some(time),
            host: time + Duration::from_micros(30),
        }
    }

    fn collect(pair: impl Fn(u32) -> (f64, f64)) -> Result<Measured, NoResult> {
        collect_for(|ratio| ratio, pair)
    }

    fn failure_of(ended: Result<Measured, NoResult>) -> Failure {
        let Err(NoResult::Failed(failure)) = ended else {
            panic!("{ended:?}")
        };
        failure
    }

    fn collect_for(
        earned: impl Fn(f64) -> f64,
        pair: impl Fn(u32) -> (f64, f64),
    ) -> Result<Measured, NoResult> {
        Series::collect(&STOPPING, 10e-6, earned, |sample| {
            let (submission, reference) = pair(sample);
            Ok(Pair {
                submission: timing(submission),
                reference: timing(reference),
            })
        })
    }

    #[test]
    fn quiet_samples_end_early() {
        let measured = collect(|_| (2000.0, 1000.0)).unwrap();
        assert_eq!(measured.submission.samples_s.len(), 10);
        assert_eq!(measured.ratio.value, 0.5);
        assert!(measured.is_quiet);
    }

    #[test]
    fn a_time_of_zero_is_not_believed() {
        let free = |sample| if sample == 3 { 0.0 } else { 1000.0 };
        let ended = Series::collect(
            &STOPPING,
            0.0,
            |ratio| ratio,
            |sample| {
                Ok(Pair {
                    submission: timing(free(sample)),
                    reference: timing(1000.0),
                })
            },
        );
        let failure = failure_of(ended);
        assert_eq!(
            (failure.kind, failure.sample),
            (Kind::ImpossibleSpeed, Some(3))
        );
        // Nor does a reference of no time make others infinitely slow.
        let measured = collect(|sample| (1000.0, free(sample))).unwrap();
        assert_eq!(measured.ratio.value, 1.0);
        assert_eq!(measured.submission.discarded, 1);
    }

    #[test]
    fn what_slows_both_does_not_count() {
        let measured = collect(|sample| {
            let slow = 1.0 + f64::from(sample % 3);
            (2000.0 * slow, 3000.0 * slow)
        })
        .unwrap();
        assert!((measured.ratio.value - 1.5).abs() < 1e-6 && measured.is_quiet);
        assert_eq!(measured.submission.samples_s.len(), 10);
    }

    #[test]
    fn noise_is_told() {
        let mut random = fastrand::Rng::with_seed(3);
        let noise: Vec<f64> = (0..40).map(|_| 1.0 + 0.2 * random.f64()).collect();
        let measured = collect(|sample| (1000.0 * noise[sample as usize], 1000.0)).unwrap();
        assert_eq!(measured.submission.samples_s.len(), 40);
        assert!(!measured.is_quiet);
        assert!(measured.ratio.low < measured.ratio.value);
        assert!(measured.ratio.value < measured.ratio.high);
    }

    #[test]
    fn noise_that_costs_no_point_is_borne() {
        let noisy = |sample: u32| (1000.0 + 50.0 * f64::from(sample % 5), 1000.0);
        let full_at = |full: f64| move |ratio: f64| (ratio / full).min(1.0);
        let measured = collect_for(full_at(0.8), noisy).unwrap();
        assert_eq!(measured.submission.samples_s.len(), 10);
        assert!(measured.is_quiet && measured.ratio.high > 1.1 * measured.ratio.low);
        assert_eq!(
            collect_for(|_| 0.0, noisy)
                .unwrap()
                .submission
                .samples_s
                .len(),
            10
        );
        let costly = collect_for(full_at(1.1), noisy).unwrap();
        assert_eq!(costly.submission.samples_s.len(), 40);
    }

    #[test]
    fn impossible_times_fail_at_once() {
        let failure = collect(|sample| {
            if sample == 3 {
                (9.0, 1000.0)
            } else {
                (1000.0, 1000.0)
            }
        });
        let failure = failure_of(failure);
        assert_eq!(
            (failure.kind, failure.sample),
            (Kind::ImpossibleSpeed, Some(3))
        );
        insta::assert_snapshot!(failure.message, @"it took 9.000 us, and this device cannot do the work in less than 10.000 us");
    }

    #[test]
    fn work_behind_the_last_event_is_seen_by_the_host() {
        let pair = Pair {
            submission: Timing {
                device: Some(Duration::from_micros(100)),
                host: Duration::from_millis(50),
            },
            reference: timing(100.0),
        };
        let failure = failure_of(Series::collect(&STOPPING, 0.0, |ratio| ratio, |_| Ok(pair)));
        assert_eq!(failure.kind, Kind::ClocksDisagree);
        insta::assert_snapshot!(failure.message, @"the device's clock and the host's disagreed in 6 of 6 samples, in the last by 100µs and 50ms");
    }

    #[test]
    fn a_host_that_is_busy_all_the_time_is_not_the_submission_s_fault() {
        // The clocks disagree about one of a pair, and then about the other.
        let late = |is_late: bool| {
            let mut late = timing(1000.0);
            late.host += Duration::from_millis(20 * u64::from(is_late));
            late
        };
        let pair = |sample: u32| {
            Ok(Pair {
                submission: late(sample.is_multiple_of(2)),
                reference: late(!sample.is_multiple_of(2)),
            })
        };
        let ended = Series::collect(&STOPPING, 0.0, |ratio| ratio, pair).unwrap_err();
        insta::assert_snapshot!(ended, @"the device's clock and the host's disagreed in 6 of 6 samples, in 3 of them about the reference: the machine was busy; grade again while nothing else runs");
        assert!(matches!(ended, NoResult::Undecided { .. }));
    }

    #[test]
    fn a_busy_host_costs_samples_and_no_more() {
        let measured = Series::collect(
            &STOPPING,
            0.0,
            |ratio| ratio,
            |sample| {
                let mut pair = Pair {
                    submission: timing(1000.0),
                    reference: timing(1000.0),
                };
                if sample % 4 == 1 {
                    pair.reference.host += Duration::from_millis(20);
                }
                Ok(pair)
            },
        );
        let times = measured.unwrap().submission;
        assert_eq!((times.samples_s.len(), times.discarded), (10, 3));
    }

    #[test]
    fn clocks() {
        let timing = |device: u64, host: u64| Timing {
            device: Some(Duration::from_micros(device)),
            host: Duration::from_micros(host),
        };
        assert!(clocks_agree(&timing(1000, 1050)));
        assert!(clocks_agree(&timing(1_000_000, 1_040_000)));
        assert!(!clocks_agree(&timing(1_000_000, 1_100_000)));
        assert!(!clocks_agree(&timing(1_000_000, 900_000)));
        assert!(!clocks_agree(&Timing {
            device: None,
            host: Duration::ZERO
        }));
    }
}
