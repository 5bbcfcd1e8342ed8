//! Summaries of the samples of a time.

use serde::{Deserialize, Serialize};

use crate::doubt::Doubt;
use crate::interval::{self, Confidence};
use crate::{quantile, sorted};

/// The summary of the samples of a time. It includes samples that are far from the others, because
/// the median tolerates them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The middle sample, or the mean of the two middle ones.
    pub median_s: f64,
    /// Ends of the 95 % confidence interval of the median, wider where there are doubts
    /// ([`Summary::doubt`]); `None` below 6 samples, which do not reach it.
    pub interval_s: Option<[f64; 2]>,
    /// The shortest.
    pub min_s: f64,
    /// The longest.
    pub max_s: f64,
    /// Half of the interval's width, relative to the median.
    pub noise: Option<f64>,
    /// The middle four fifths of the samples span this share of the median. `None` for a single
    /// sample.
    pub spread: Option<f64>,
    /// The reasons to doubt it.
    #[serde(default)]
    pub doubts: Vec<Doubt>,
    /// The samples, in the order taken.
    pub samples_s: Vec<f64>,
    /// The single runs. They are kept where runs have several speeds and a sample is therefore the
    /// mean of consecutive runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub single_s: Vec<f64>,
    /// Samples that were taken and do not count.
    #[serde(default)]
    pub discarded: Vec<Discarded>,
    /// Medians of a few runs each in other allocations of the buffers: the interval holds them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere_s: Vec<f64>,
}

/// A sample that does not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Discarded {
    /// The time that the run took.
    pub time_s: f64,
    /// The reason why it does not count: `thermal slowdown`.
    pub reason: String,
}

impl Summary {
    /// Summarises samples in seconds. The summary has no doubts yet.
    ///
    /// # Panics
    ///
    /// If `samples_s` is empty.
    pub fn new(samples_s: Vec<f64>) -> Summary {
        let sorted = sorted(&samples_s);
        let median_s = quantile(&sorted, 0.5);
        let interval = interval::median(&samples_s, Confidence::P95);
        let interval = interval.reaches(Confidence::P95).then_some(interval);
        let relative = |span: f64| if median_s > 0.0 { span / median_s } else { 0.0 };
        let span = quantile(&sorted, 0.9) - quantile(&sorted, 0.1);
        Summary {
            median_s,
            interval_s: interval.map(|interval| [interval.low, interval.high]),
            min_s: sorted[0],
            max_s: sorted[sorted.len() - 1],
            noise: interval.map(|interval| relative((interval.high - interval.low) / 2.0)),
            spread: (sorted.len() > 1).then(|| relative(span)),
            doubts: Vec::new(),
            samples_s,
            single_s: Vec::new(),
            discarded: Vec::new(),
            elsewhere_s: Vec::new(),
        }
    }

    /// Takes the mean of each `runs` consecutive runs as a sample. The rest is left out.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub(crate) fn of_means(self, runs: usize) -> Summary {
        let groups = self.samples_s.chunks_exact(runs);
        let means = groups.map(|group| group.iter().sum::<f64>() / runs as f64);
        Summary {
            single_s: self.samples_s.clone(),
            discarded: self.discarded,
            ..Summary::new(means.collect())
        }
    }

    /// The number of runs in a sample, which is their mean: 1, unless single runs have several
    /// speeds.
    pub fn runs_per_sample(&self) -> usize {
        (self.single_s.len() / self.samples_s.len()).max(1)
    }

    /// Adds a doubt, and what it says to the interval: scattered samples reach from the first to
    /// the last tenth, drifting ones from one half's median to the other's, and parts of a run to
    /// the time of the whole.
    pub fn doubt(&mut self, doubt: Doubt) {
        let sorted = sorted(&self.samples_s);
        match doubt {
            Doubt::Scattered { .. } => {
                self.widen([0.1, 0.9].map(|q| quantile(&sorted, q)));
            }
            Doubt::Drifting { .. } => {
                let (first, second) = self.samples_s.split_at(self.samples_s.len() / 2);
                let medians = [first, second].map(|half| Summary::new(half.to_vec()).median_s);
                self.widen([medians[0].min(medians[1]), medians[0].max(medians[1])]);
            }
            Doubt::Segments { whole_s, .. } => self.widen([whole_s; 2]),
            Doubt::TooFew { .. }
            | Doubt::Unsettled { .. }
            | Doubt::Discarded { .. }
            | Doubt::Shared { .. }
            | Doubt::Clocks { .. } => {}
        }
        self.doubts.push(doubt);
    }

    /// Adds the median of a few runs in another allocation of the buffers, which the interval then
    /// holds: no number of samples in one allocation says how long runs take in others.
    pub fn elsewhere(&mut self, median_s: f64) {
        self.elsewhere_s.push(median_s);
        self.widen([median_s; 2]);
    }

    /// Makes the interval, if there is one, hold these ends too.
    fn widen(&mut self, ends: [f64; 2]) {
        if let Some([low, high]) = &mut self.interval_s {
            (*low, *high) = (low.min(ends[0]), high.max(ends[1]));
            self.noise = Some((*high - *low) / (2.0 * self.median_s));
        }
    }

    /// Half of the interval's width.
    pub fn half_width_s(&self) -> Option<f64> {
        self.interval_s.map(|[low, high]| (high - low) / 2.0)
    }

    /// Why the time is withheld, if it is.
    pub fn withheld(&self) -> Option<&Doubt> {
        self.doubts.iter().find(|doubt| doubt.withholds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_medians_of_other_allocations() {
        let mut summary = Summary::new((0..30).map(|i| 1.0 + 1e-4 * f64::from(i % 3)).collect());
        let [low, high] = summary.interval_s.unwrap();
        summary.elsewhere(1.00005);
        assert_eq!(summary.interval_s, Some([low, high]));
        summary.elsewhere(1.02);
        assert_eq!(summary.interval_s, Some([low, 1.02]));
        assert_eq!(summary.noise, Some((1.02 - low) / (2.0 * summary.median_s)));
        assert_eq!(summary.elsewhere_s, [1.00005, 1.02]);
    }

    #[test]
    fn one_sample_says_nothing_of_noise() {
        let summary = Summary::new(vec![2.0]);
        assert_eq!((summary.median_s, summary.noise), (2.0, None));
        assert_eq!((summary.spread, summary.interval_s), (None, None));
    }

    #[test]
    fn the_middle_counts_not_the_outlier() {
        let samples = [5.0, 1.0, 4.0, 2.0, 1000.0, 3.0, 6.0];
        let summary = Summary::new(samples.to_vec());
        assert_eq!(summary.median_s, 4.0);
        assert_eq!((summary.min_s, summary.max_s), (1.0, 1000.0));
        // Seven samples: the interval spans all of them.
        assert_eq!(summary.interval_s, Some([1.0, 1000.0]));
        assert_eq!(summary.noise, Some(999.0 / 8.0));
        assert_eq!(summary.samples_s, samples);
    }

    #[test]
    fn quantiles_are_interpolated() {
        let summary = Summary::new(vec![1.0, 2.0, 3.0, 4.0]);
        assert_eq!(summary.median_s, 2.5);
        // From 1.3 to 3.7.
        assert!((summary.spread.unwrap() - 2.4 / 2.5).abs() < 1e-12);
    }

    #[test]
    fn doubts_widen_the_interval() {
        // The median's interval is narrow, the samples are far apart.
        let mut samples = vec![1.0; 20];
        samples.extend([2.0; 19]);
        let mut two_speeds = Summary::new(samples);
        two_speeds.interval_s = Some([1.0, 1.0]);
        two_speeds.doubt(Doubt::Scattered { spread: 1.0 });
        assert_eq!(two_speeds.interval_s, Some([1.0, 2.0]));
        assert_eq!(two_speeds.half_width_s(), Some(0.5));
        let rising = (0..40).map(|at| 1.0 + f64::from(at) / 40.0);
        let mut rising = Summary::new(rising.collect());
        rising.doubt(Doubt::Drifting { change: 0.4 });
        let [low, high] = rising.interval_s.unwrap();
        assert!(low <= 1.24 && high >= 1.73, "{low} {high}");
        let mut parts = Summary::new(vec![1.0; 20]);
        parts.doubt(Doubt::Segments {
            segments_s: 1.0,
            whole_s: 1.1,
        });
        assert_eq!(parts.interval_s, Some([1.0, 1.1]));
        assert_eq!(parts.withheld(), None);
        let impossible = Doubt::Clocks {
            device_s: 2.0,
            host_s: 1.0,
        };
        parts.doubt(impossible.clone());
        assert_eq!(parts.withheld(), Some(&impossible));
    }

    #[test]
    fn no_time_at_all_is_not_noisy() {
        assert_eq!(Summary::new(vec![0.0; 10]).noise, Some(0.0));
    }
}
