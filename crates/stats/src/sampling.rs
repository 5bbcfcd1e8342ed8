//! When enough samples are taken.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::doubt::Doubt;
use crate::interval::{self, Confidence};
use crate::summary::{Discarded, Summary};

/// When enough samples are taken, and when they are a result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SamplingRule {
    /// Sampling does not end with fewer samples before [`SamplingRule::min_time`].
    pub min_samples: usize,
    /// From this time on, [`RESULT_SAMPLES`] samples are enough if all lie within
    /// [`SamplingRule::noise`] of each other. 11 samples are enough even if one of them is far off.
    /// Short runs are thus sampled often, and long ones no more often than necessary.
    pub min_time: Duration,
    /// Sampling ends with this number of samples.
    pub max_samples: usize,
    /// Sampling ends once half of the interval, relative to the median, is at most this, and
    /// nothing else speaks against the samples.
    pub noise: f64,
    /// Samples are not a result if [`Summary::spread`] is above this.
    pub spread: f64,
    /// Sampling ends after this time, if there are enough samples for a result: [`RESULT_SAMPLES`],
    /// or `min_samples` if that is less. It ends after four times this time in any case.
    pub patience: Duration,
}

/// Fewer samples are not a result, even if the caller asks for no more. The least and the greatest
/// of six bound the median with a confidence of 96.9 %, those of five with 93.8 %.
pub const RESULT_SAMPLES: usize = 6;

/// The median of runs that have two speeds may lie between the two, and then never settles. The
/// median of this many means of runs settles.
const MEANS: usize = 20;

/// With fewer samples, sampling ends early only if none is far off. Otherwise the interval of the
/// ratio of two such rows would still reach to that sample ([`interval::ratio`] at 99 %).
const BEARS_ONE_OUTLIER: usize = 11;

/// The steps of the clocks: a spread of this size, in seconds, says nothing about the timed work.
const RESOLUTION_S: f64 = 1.5e-6;

/// A time, and whether it counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The time that the run took.
    pub time: Duration,
    /// The reason why it does not count, if it does not.
    pub discard: Option<String>,
}

impl From<Duration> for Sample {
    fn from(time: Duration) -> Sample {
        Sample {
            time,
            discard: None,
        }
    }
}

impl SamplingRule {
    /// Takes exactly this number of samples. They are a result if they keep the usual bounds.
    pub fn exactly(samples: usize) -> SamplingRule {
        SamplingRule {
            min_samples: samples,
            max_samples: samples,
            min_time: Duration::MAX,
            noise: 0.005,
            spread: 0.05,
            patience: Duration::MAX,
        }
    }

    /// Takes samples until there are enough.
    ///
    /// # Errors
    ///
    /// The first error of `sample`.
    ///
    /// # Panics
    ///
    /// If `max_samples` is 0.
    pub fn collect<S: Into<Sample>, E>(
        &self,
        mut sample: impl FnMut(usize) -> Result<S, E>,
    ) -> Result<Summary, E> {
        let mut collector = Collector::new(*self);
        loop {
            collector.push(sample(collector.taken())?.into());
            if collector.is_done() {
                return Ok(collector.finish());
            }
        }
    }

    /// Whether sampling must end, after `taken` samples and the time `elapsed`; `counted` of the
    /// samples count.
    pub fn is_over(&self, counted: usize, taken: usize, elapsed: Duration) -> bool {
        let enough = self.min_samples.min(RESULT_SAMPLES);
        taken >= self.max_samples
            || elapsed >= self.patience && counted >= enough
            || elapsed >= self.patience.saturating_mul(4) && taken > 0
    }

    /// The reasons to doubt the samples of a summary.
    pub fn doubts(&self, summary: &Summary) -> Vec<Doubt> {
        let samples = summary.samples_s.len();
        let mut doubts = Vec::new();
        if samples < RESULT_SAMPLES {
            doubts.push(Doubt::TooFew {
                samples,
                wanted: RESULT_SAMPLES,
            });
        }
        if let Some(noise) = summary.noise.filter(|noise| *noise > self.noise) {
            doubts.push(Doubt::Unsettled { noise });
        }
        let is_wide =
            |spread: &f64| *spread > self.spread && spread * summary.median_s > RESOLUTION_S;
        if let Some(spread) = summary.spread.filter(is_wide) {
            doubts.push(Doubt::Scattered { spread });
        }
        if let Some(change) = self.drift(&summary.samples_s) {
            doubts.push(Doubt::Drifting { change });
        }
        doubts
    }

    /// The median of the second half / that of the first, less 1. It counts as a drift if it
    /// exceeds twice the allowed noise and if the 95 % intervals of the two medians do not overlap.
    fn drift(&self, samples: &[f64]) -> Option<f64> {
        let (first, second) = samples.split_at(samples.len() / 2);
        if first.len() < 5 {
            return None;
        }
        // Five samples reach at best 93.75 %, with an interval that spans all of them.
        let [first, second] = [first, second].map(|half| interval::median(half, Confidence::P95));
        let is_apart = first.high < second.low || second.high < first.low;
        let change = second.estimate / first.estimate - 1.0;
        let is_large =
            change.abs() > 2.0 * self.noise && change.abs() * first.estimate > RESOLUTION_S;
        (is_apart && is_large).then_some(change)
    }
}

/// Collects samples of one time.
#[derive(Debug, Clone)]
pub struct Collector {
    rule: SamplingRule,
    began: Instant,
    samples_s: Vec<f64>,
    discarded: Vec<Discarded>,
}

impl Collector {
    /// A collector without samples. The rule's time runs from now.
    pub fn new(rule: SamplingRule) -> Collector {
        Collector {
            rule,
            began: Instant::now(),
            samples_s: Vec::new(),
            discarded: Vec::new(),
        }
    }

    /// Lets the rule's time run from now and keeps the samples. The caller did other work since the
    /// first sample.
    pub fn restart_time(&mut self) {
        self.began = Instant::now();
    }

    /// Adds a sample.
    pub fn push(&mut self, sample: Sample) {
        let time_s = sample.time.as_secs_f64();
        match sample.discard {
            None => self.samples_s.push(time_s),
            Some(reason) => self.discarded.push(Discarded { time_s, reason }),
        }
    }

    /// The number of samples taken, including those that do not count.
    pub fn taken(&self) -> usize {
        self.samples_s.len() + self.discarded.len()
    }

    /// Whether the samples are enough, or no more may be taken.
    pub fn is_done(&self) -> bool {
        self.is_settled() || self.is_over()
    }

    /// Whether there are enough samples and nothing speaks against them.
    pub fn is_settled(&self) -> bool {
        let few = if self.began.elapsed() >= self.rule.min_time {
            RESULT_SAMPLES.min(self.rule.min_samples)
        } else {
            self.rule.min_samples
        };
        if self.samples_s.len() < few.max(1) {
            return false;
        }
        let summary = Summary::new(self.samples_s.clone());
        let range = (summary.max_s - summary.min_s) / summary.median_s;
        if self.samples_s.len() < BEARS_ONE_OUTLIER.min(self.rule.min_samples)
            && range > self.rule.noise
        {
            return false;
        }
        let is_quiet = |doubt: &Doubt| matches!(doubt, Doubt::TooFew { .. });
        summary.noise.is_some() && self.rule.doubts(&summary).iter().all(is_quiet)
    }

    /// Whether no more samples may be taken.
    pub fn is_over(&self) -> bool {
        let (counted, taken) = (self.samples_s.len(), self.taken());
        self.rule.is_over(counted, taken, self.began.elapsed())
    }

    /// Summarises the samples. If all of them were discarded, the summary is of those, and is not a
    /// result.
    ///
    /// # Panics
    ///
    /// If no sample was taken.
    pub fn finish(self) -> Summary {
        let Collector {
            rule,
            samples_s,
            discarded,
            ..
        } = self;
        let counted = samples_s.len();
        let mut summary = Summary::new(if samples_s.is_empty() {
            discarded.iter().map(|sample| sample.time_s).collect()
        } else {
            samples_s
        });
        let mut doubts = rule.doubts(&summary);
        let runs = counted / MEANS;
        if runs >= 3 && matches!(doubts[..], [Doubt::Unsettled { .. }]) {
            let means = summary.clone().of_means(runs);
            if rule.doubts(&means).is_empty() {
                summary = means;
                doubts.clear();
            }
        }
        doubts.into_iter().for_each(|doubt| summary.doubt(doubt));
        if counted < RESULT_SAMPLES
            && let Some(reason) = most_frequent(&discarded)
        {
            summary
                .doubts
                .retain(|doubt| !matches!(doubt, Doubt::TooFew { .. }));
            let doubt = Doubt::Discarded {
                samples: discarded.len(),
                of: counted + discarded.len(),
                reason,
            };
            summary.doubts.insert(0, doubt);
        }
        summary.discarded = discarded;
        summary
    }
}

fn most_frequent(discarded: &[Discarded]) -> Option<String> {
    let count = |reason: &str| {
        let same = discarded.iter().filter(|sample| sample.reason == reason);
        same.count()
    };
    let most = discarded
        .iter()
        .max_by_key(|sample| count(&sample.reason))?;
    Some(most.reason.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Noise;

    const RULE: SamplingRule = SamplingRule {
        min_samples: 10,
        min_time: Duration::MAX,
        max_samples: 400,
        noise: 0.005,
        spread: 0.05,
        patience: Duration::MAX,
    };

    fn collect(rule: SamplingRule, mut time_ms: impl FnMut(usize) -> f64) -> Summary {
        let sample = |index| Ok::<_, ()>(Duration::from_secs_f64(time_ms(index) / 1e3));
        rule.collect(sample).unwrap()
    }

    fn count(rule: SamplingRule, time_ms: impl FnMut(usize) -> f64) -> usize {
        collect(rule, time_ms).samples_s.len()
    }

    fn of(samples: impl Iterator<Item = f64>) -> Vec<Doubt> {
        RULE.doubts(&Summary::new(samples.collect()))
    }

    #[test]
    fn good_samples_are_not_doubted() {
        let mut noise = Noise::new(3);
        let doubted = (0..1000).filter(|_| {
            let samples = (0..30).map(|_| 1e-3 * noise.normal(0.003));
            !of(samples.collect::<Vec<f64>>().into_iter()).is_empty()
        });
        // A few of a thousand show a drift by chance.
        let doubted = doubted.count();
        assert!(doubted <= 5, "{doubted}");
    }

    #[test]
    fn what_drifts_is_doubted() {
        let mut noise = Noise::new(4);
        let samples = (0..20).map(|index| (1.0 + 0.001 * f64::from(index)) * noise.normal(0.001));
        let doubts = of(samples);
        let [Doubt::Drifting { change }] = doubts[..] else {
            panic!("{doubts:?}");
        };
        assert!((0.008..0.012).contains(&change), "{change}");
    }

    #[test]
    fn two_modes_are_doubted() {
        let mut noise = Noise::new(5);
        // Seven of ten samples take 1 ms, three 1.2 ms: the median alone settles on the first.
        let mut draw = || {
            let mode = if noise.uniform() < 0.7 { 1e-3 } else { 1.2e-3 };
            mode * noise.normal(0.001)
        };
        let summary = Summary::new((0..200).map(|_| draw()).collect());
        assert!(summary.noise.unwrap() < 0.005, "{summary:?}");
        let doubts = RULE.doubts(&summary);
        assert!(
            matches!(doubts[..], [Doubt::Scattered { .. }]),
            "{doubts:?}"
        );
    }

    #[test]
    fn of_two_near_speeds_the_mean_counts() {
        // Half of the runs take 1.5 % longer, as on a GPU whose working set is about the size of
        // its L2.
        let mut noise = Noise::new(9);
        let mut draw = || {
            let speed = if noise.uniform() < 0.5 { 100.0 } else { 101.5 };
            speed * noise.normal(0.001)
        };
        let rule = SamplingRule {
            max_samples: 171,
            ..RULE
        };
        let mut summaries = (0..200).map(|_| collect(rule, |_| draw()));
        let summary = summaries
            .find(|summary| !summary.single_s.is_empty())
            .expect("the median often lies between the two");
        assert_eq!((summary.single_s.len(), summary.samples_s.len()), (171, 21));
        assert_eq!(summary.runs_per_sample(), 8);
        assert!(summary.doubts.is_empty() && summary.noise.unwrap() < 0.005);
        assert!(
            (summary.median_s / 0.10075 - 1.0).abs() < 0.004,
            "{summary:?}"
        );
        // All of them are results, with single runs or with means.
        assert!(summaries.all(|other| other.doubts.is_empty()));
    }

    #[test]
    fn steps_of_the_clock_are_not() {
        // 5 us and one step of 0.5 us: 10 %.
        assert_eq!(
            of((0..100).map(|index| 5e-6 + 0.5e-6 * f64::from(index % 4 / 3))),
            []
        );
    }

    #[test]
    fn quiet_samples_end_at_the_least() {
        let summary = collect(RULE, |_| 100.0);
        assert_eq!(summary.samples_s.len(), 10);
        assert!(summary.doubts.is_empty() && summary.noise == Some(0.0));
        assert_eq!(count(RULE, |index| 100.0 + 0.04 * index as f64), 10);
    }

    #[test]
    fn noisy_samples_take_as_many_as_it_takes() {
        let mut noise = Noise::new(6);
        let summary = collect(RULE, |_| 100.0 * noise.normal(0.01));
        // A standard deviation of 1 % leaves 1.25 * 1.96 % / sqrt(n) of the median open: 0.5 % at
        // 24 samples.
        let count = summary.samples_s.len();
        assert!((12..60).contains(&count), "{count}");
        assert!(summary.doubts.is_empty(), "{:?}", summary.doubts);
        assert!(summary.noise.unwrap() <= 0.005);
    }

    #[test]
    fn samples_that_never_agree_are_no_result() {
        // Every second sample takes twice as long.
        let summary = collect(RULE, |index| 100.0 + 100.0 * (index % 2) as f64);
        assert_eq!(summary.samples_s.len(), 400);
        let doubts = &summary.doubts[..];
        let [Doubt::Unsettled { noise }, Doubt::Scattered { .. }] = doubts else {
            panic!("{doubts:?}");
        };
        assert!(*noise > 0.3, "{noise}");
    }

    #[test]
    fn what_drifts_for_a_while_takes_until_it_is_steady() {
        // Two percent faster after the first eight samples.
        let summary = collect(RULE, |index| if index < 8 { 102.0 } else { 100.0 });
        let count = summary.samples_s.len();
        assert!(
            (20..60).contains(&count) && summary.doubts.is_empty(),
            "{count}"
        );
        // Samples that never stop drifting are not a result.
        let drifting = collect(RULE, |index| 100.0 + 0.2 * index as f64);
        assert!(
            drifting
                .doubts
                .iter()
                .any(|doubt| matches!(doubt, Doubt::Drifting { .. }))
        );
    }

    #[test]
    fn restless_beginnings_are_outvoted() {
        let settling = |index| {
            if index < 4 {
                100.0 + 20.0 * index as f64
            } else {
                100.0
            }
        };
        let summary = collect(RULE, settling);
        // One sample in ten is slow: the slow ones are among the tenth that the spread leaves out.
        assert!((25..50).contains(&summary.samples_s.len()));
        assert!(summary.doubts.is_empty() && summary.max_s == 0.16);
    }

    #[test]
    fn time_ends_it_and_it_is_said() {
        let over = SamplingRule {
            patience: Duration::ZERO,
            ..RULE
        };
        // Sampling ends at once: four times a patience of 0 has passed too.
        let summary = collect(over, |_| 100.0);
        assert_eq!(summary.samples_s.len(), 1);
        let too_few = Doubt::TooFew {
            samples: 1,
            wanted: 6,
        };
        assert_eq!(summary.doubts, [too_few]);

        // The stated time is over before samples of 1 ms agree, long before four times of it.
        let rule = SamplingRule {
            patience: Duration::from_millis(200),
            max_samples: usize::MAX,
            ..RULE
        };
        let began = Instant::now();
        let mut noise = Noise::new(7);
        let stopped = rule
            .collect(|_| {
                std::thread::sleep(Duration::from_millis(1));
                Ok::<_, ()>(Duration::from_secs_f64(1e-3 * noise.with_tail(0.8)))
            })
            .unwrap();
        assert!(began.elapsed() >= rule.patience);
        assert!(stopped.samples_s.len() >= 10);
        let doubts = &stopped.doubts;
        assert!(matches!(doubts[0], Doubt::Unsettled { .. }), "{doubts:?}");
    }

    #[test]
    fn six_are_enough_when_time_is_over() {
        let rule = SamplingRule {
            min_samples: 30,
            patience: Duration::from_millis(300),
            ..RULE
        };
        let slow = |_| {
            std::thread::sleep(Duration::from_millis(30));
            Ok::<_, ()>(Duration::from_millis(30))
        };
        let summary = rule.collect(slow).unwrap();
        assert!((6..30).contains(&summary.samples_s.len()));
        assert!(summary.doubts.is_empty());
        assert_eq!(count(rule, |_| 100.0), 30);
    }

    #[test]
    fn six_that_agree_are_enough_of_long_runs() {
        let rule = SamplingRule {
            min_samples: 30,
            min_time: Duration::from_millis(60),
            ..RULE
        };
        let slow = |times: [f64; 4]| {
            let summary = rule.collect(|index| {
                std::thread::sleep(Duration::from_millis(15));
                Ok::<_, ()>(Duration::from_secs_f64(times[index % 4]))
            });
            summary.unwrap()
        };
        let summary = slow([1.0, 1.001, 1.002, 1.003]);
        assert_eq!(
            (summary.samples_s.len(), summary.doubts.is_empty()),
            (6, true)
        );
        // Samples that differ need more.
        assert!(slow([1.0, 1.0, 1.0, 1.02]).samples_s.len() > 6);
        // A row with an outlier can still be compared with another such row.
        let with_outlier = |first: usize| {
            let collected = rule.collect(|index| {
                std::thread::sleep(Duration::from_millis(15));
                let time = if index == first { 1.009 } else { 1.0 };
                Ok::<_, ()>(Duration::from_secs_f64(time))
            });
            collected.unwrap().samples_s
        };
        let (old, new) = (with_outlier(2), with_outlier(4));
        assert_eq!((old.len(), new.len()), (11, 11));
        let ratio = interval::ratio(&old, &new, Confidence::P99).unwrap();
        assert_eq!((ratio.low, ratio.high), (1.0, 1.0));
    }

    #[test]
    fn so_many_as_are_asked_for() {
        let summary = collect(SamplingRule::exactly(5), |_| 100.0);
        assert_eq!(summary.samples_s.len(), 5);
        assert!(matches!(summary.doubts[..], [Doubt::TooFew { .. }]));
        assert!(
            collect(SamplingRule::exactly(12), |_| 100.0)
                .doubts
                .is_empty()
        );
    }

    #[test]
    fn discarded_samples_are_counted_and_do_not_count() {
        // Every third sample is taken while throttled, and takes half as long again.
        let summary = RULE
            .collect(|index| {
                let is_throttled = index % 3 == 0;
                let ms = if is_throttled { 150 } else { 100 };
                Ok::<_, ()>(Sample {
                    time: Duration::from_millis(ms),
                    discard: is_throttled.then(|| "thermal slowdown".to_owned()),
                })
            })
            .unwrap();
        assert_eq!((summary.samples_s.len(), summary.discarded.len()), (10, 5));
        assert_eq!((summary.median_s, summary.max_s), (0.1, 0.1));
        assert!(summary.doubts.is_empty());
    }

    #[test]
    fn nothing_but_discarded_samples_is_no_result() {
        let summary = RULE
            .collect(|index| {
                Ok::<_, ()>(Sample {
                    time: Duration::from_millis(100),
                    discard: Some(
                        if index < 4 {
                            "power brake"
                        } else {
                            "power cap"
                        }
                        .to_owned(),
                    ),
                })
            })
            .unwrap();
        assert_eq!(summary.discarded.len(), 400);
        let discarded = Doubt::Discarded {
            samples: 400,
            of: 400,
            reason: "power cap".to_owned(),
        };
        assert_eq!(summary.doubts, [discarded]);
    }

    #[test]
    fn stopping_at_will_costs_little_coverage() {
        // Sampling stops when the interval happens to be narrow. Such an interval misses more often
        // than one of a fixed number of samples; docs/measure/method.md has the figures.
        let coverage = |first: usize, deviation: f64| {
            let rule = SamplingRule {
                min_samples: first,
                ..RULE
            };
            let mut noise = Noise::new(8);
            let truth = 0.1 * Noise::median_with_tail(deviation);
            let held = (0..2000).filter(|_| {
                let summary = collect(rule, |_| 100.0 * noise.with_tail(deviation));
                let [low, high] = summary.interval_s.unwrap();
                (low..=high).contains(&truth)
            });
            held.count() as f64 / 2000.0
        };
        for first in [6, 10, 30] {
            for deviation in [0.002, 0.005, 0.01, 0.02] {
                let coverage = coverage(first, deviation);
                assert!(
                    (0.90..0.99).contains(&coverage),
                    "{first}, {deviation}: {coverage}"
                );
            }
        }
    }

    #[test]
    fn errors_end_it() {
        let failed = SamplingRule::exactly(3).collect(|_| Err::<Duration, _>("fault"));
        assert_eq!(failed.unwrap_err(), "fault");
    }
}
