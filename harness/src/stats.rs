//! Samples of a time: how many to take, and what they say.

use std::time::{Duration, Instant};

use serde::Serialize;

/// What samples say about a time, robust against a few outliers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The middle sample, or the mean of the two middle ones.
    pub median_s: f64,
    /// The shortest.
    pub min_s: f64,
    /// The longest.
    pub max_s: f64,
    /// The middle half of the samples spans this share of the median: (q3 - q1) / median. `None` for a single sample.
    pub noise: Option<f64>,
    /// In the order taken.
    pub samples_s: Vec<f64>,
}

impl Summary {
    /// Summarises samples in seconds; there is at least one.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn new(samples_s: Vec<f64>) -> Summary {
        let mut sorted = samples_s.clone();
        sorted.sort_by(f64::total_cmp);
        let median_s = quantile(&sorted, 0.5);
        let spread = quantile(&sorted, 0.75) - quantile(&sorted, 0.25);
        Summary {
            median_s,
            min_s: sorted[0],
            max_s: sorted[sorted.len() - 1],
            noise: (sorted.len() > 1 && median_s > 0.0).then(|| spread / median_s),
            samples_s,
        }
    }
}

/// The value below which the share `q` of the sorted samples lies, by linear interpolation.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}

/// When enough samples are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Not before so many.
    pub min_samples: usize,
    /// At the latest after so many.
    pub max_samples: usize,
    /// Enough once [`Summary::noise`] is below this.
    pub noise: f64,
    /// At the latest after this much time, when there are `min_samples`.
    pub patience: Duration,
}

impl Rule {
    /// Exactly so many.
    pub fn exactly(samples: usize) -> Rule {
        Rule {
            min_samples: samples,
            max_samples: samples,
            noise: 0.0,
            patience: Duration::ZERO,
        }
    }

    /// Takes samples until there are enough.
    ///
    /// # Errors
    ///
    /// The first that `sample` answers.
    ///
    /// # Panics
    ///
    /// If `max_samples` is 0.
    pub fn collect<E>(
        &self,
        mut sample: impl FnMut(usize) -> Result<Duration, E>,
    ) -> Result<Summary, E> {
        let began = Instant::now();
        let mut samples = Vec::new();
        loop {
            samples.push(sample(samples.len())?.as_secs_f64());
            let summary = Summary::new(samples);
            if self.is_enough(&summary, began.elapsed()) {
                return Ok(summary);
            }
            samples = summary.samples_s;
        }
    }

    fn is_enough(&self, summary: &Summary, elapsed: Duration) -> bool {
        let count = summary.samples_s.len();
        let is_quiet = summary.noise.is_some_and(|noise| noise <= self.noise);
        count >= self.max_samples
            || count >= self.min_samples && (is_quiet || elapsed >= self.patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sample_has_no_noise() {
        let summary = Summary::new(vec![2.0]);
        assert_eq!((summary.median_s, summary.noise), (2.0, None));
    }

    #[test]
    fn the_middle_counts_not_the_outlier() {
        let summary = Summary::new(vec![5.0, 1.0, 4.0, 2.0, 1000.0]);
        assert_eq!(summary.median_s, 4.0);
        assert_eq!((summary.min_s, summary.max_s), (1.0, 1000.0));
        // Quartiles 2 and 5.
        assert_eq!(summary.noise, Some(0.75));
        assert_eq!(summary.samples_s, [5.0, 1.0, 4.0, 2.0, 1000.0]);
    }

    #[test]
    fn quartiles_are_interpolated() {
        let summary = Summary::new(vec![1.0, 2.0, 3.0, 4.0]);
        assert_eq!(summary.median_s, 2.5);
        // Quartiles 1.75 and 3.25.
        assert_eq!(summary.noise, Some(0.6));
    }

    fn count(rule: Rule, time_of: impl Fn(usize) -> u64) -> usize {
        let sample = |index| Ok::<_, ()>(Duration::from_micros(time_of(index)));
        rule.collect(sample).unwrap().samples_s.len()
    }

    #[test]
    fn quiet_samples_end_early() {
        let rule = Rule {
            min_samples: 5,
            max_samples: 40,
            noise: 0.01,
            patience: Duration::MAX,
        };
        assert_eq!(count(rule, |_| 100), 5);
        // Every second sample takes twice as long: never quiet.
        assert_eq!(count(rule, |index| 100 + 100 * (index as u64 % 2)), 40);
        // Restless at first, then quiet: the restless ones are outvoted when they are less than a quarter.
        let settling = |index| {
            if index < 4 {
                100 + 20 * index as u64
            } else {
                100
            }
        };
        assert!((6..20).contains(&count(rule, settling)));
    }

    #[test]
    fn patience_ends_but_not_before_the_least() {
        let rule = Rule {
            min_samples: 3,
            max_samples: 40,
            noise: 0.0,
            patience: Duration::ZERO,
        };
        assert_eq!(count(rule, |index| 100 + index as u64), 3);
        assert_eq!(count(Rule::exactly(7), |_| 100), 7);
    }

    #[test]
    fn errors_end_it() {
        let failed: Result<Summary, &str> = Rule::exactly(3).collect(|_| Err("fault"));
        assert_eq!(failed.unwrap_err(), "fault");
    }
}
