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
    /// Ends of the 95 % confidence interval of the median; `None` below 6 samples, which do not
    /// reach it.
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
    /// The reasons why it is not a result; empty if it is one.
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
        }
    }

    /// The same runs, with the mean of each `runs` consecutive ones as a sample. The rest is left
    /// out.
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

    /// Whether it is a result.
    pub fn is_result(&self) -> bool {
        self.doubts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn no_time_at_all_is_not_noisy() {
        assert_eq!(Summary::new(vec![0.0; 10]).noise, Some(0.0));
    }
}
