//! Confidence intervals that assume no distribution: times have long tails, several modes, and the
//! steps of a clock.

use serde::{Deserialize, Serialize};

use crate::{quantile, sorted};

/// Where a value lies, with a stated confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The best guess.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The least probability that intervals made this way hold the true value. It is less than the
    /// requested one if there were too few samples, and 0 in documents that do not state it.
    #[serde(default)]
    pub confidence: f64,
}

impl Interval {
    /// Half of its width, relative to the estimate.
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / (2.0 * self.estimate)
    }

    /// Whether there were enough samples for this confidence.
    pub fn reaches(&self, confidence: Confidence) -> bool {
        self.confidence >= confidence.level()
    }
}

/// The levels of confidence in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// For a figure in a table.
    P95,
    /// For a verdict: faster or slower.
    P99,
}

impl Confidence {
    /// The least share of intervals that hold the true value.
    pub const fn level(self) -> f64 {
        match self {
            Confidence::P95 => 0.95,
            Confidence::P99 => 0.99,
        }
    }

    /// The largest share of intervals that miss the true value.
    pub const fn miss(self) -> f64 {
        match self {
            Confidence::P95 => 0.05,
            Confidence::P99 => 0.01,
        }
    }

    /// Quantile of the standard normal distribution at 1 - miss / 2.
    const fn z(self) -> f64 {
        match self {
            Confidence::P95 => 1.959_963_984_540_054,
            Confidence::P99 => 2.575_829_303_548_901,
        }
    }
}

/// The median of a population, from independent samples of it. Two of the samples bound the
/// interval. The number of samples below the true median is binomial with p = 1/2. It falls outside
/// the two samples' ranks with a probability of at most [`Confidence::miss`].
///
/// With fewer than 6 samples for 95 %, or 8 for 99 %, even the least and the greatest sample do not
/// reach the confidence. The interval then spans all samples, and [`Interval::confidence`] states
/// the confidence that they reach.
///
/// # Panics
///
/// If `samples` is empty.
pub fn median(samples: &[f64], confidence: Confidence) -> Interval {
    let sorted = sorted(samples);
    let (rank, confidence) = match median_rank(sorted.len(), confidence) {
        Some(rank) => (rank, confidence.level()),
        None => (0, 1.0 - 2.0 * 0.5_f64.powi(sorted.len() as i32)),
    };
    Interval {
        estimate: quantile(&sorted, 0.5),
        low: sorted[rank],
        high: sorted[sorted.len() - 1 - rank],
        confidence,
    }
}

/// The greatest `rank`, from 0, such that the sorted samples `rank` and `len - 1 - rank` bound the
/// median.
fn median_rank(len: usize, confidence: Confidence) -> Option<usize> {
    // P(at most `below` of the samples are below the median), in logarithms: 2^-len is 0 as a
    // number from 1075 on.
    let mut ln_term = -(len as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    let mut rank = None;
    for below in 0..len / 2 {
        tail += ln_term.exp();
        if 2.0 * tail > confidence.miss() {
            break;
        }
        rank = Some(below);
        ln_term += ((len - below) as f64 / (below + 1) as f64).ln();
    }
    rank
}

/// The ratio `new` / `old`, for samples that were taken independently. The estimate is Hodges and
/// Lehmann's: the median of all ratios of a new to an old sample. The interval inverts the
/// Wilcoxon-Mann-Whitney test.
///
/// `None` where there are too few samples for the confidence. Samples are positive.
pub fn ratio(old: &[f64], new: &[f64], confidence: Confidence) -> Option<Interval> {
    let (n, m) = (old.len() as f64, new.len() as f64);
    let spread = (n * m * (n + m + 1.0) / 12.0).sqrt();
    // The normal approximation of the test's statistic; the least and greatest ratio are left out
    // or bound nothing.
    let rank = (n * m / 2.0 - confidence.z() * spread - 0.5).floor();
    if rank < 0.0 {
        return None;
    }
    let ratios: Vec<f64> = new
        .iter()
        .flat_map(|new| old.iter().map(move |old| new / old))
        .collect();
    let ratios = sorted(&ratios);
    let rank = rank as usize;
    Some(Interval {
        estimate: quantile(&ratios, 0.5),
        low: ratios[rank],
        high: ratios[ratios.len() - 1 - rank],
        confidence: confidence.level(),
    })
}

/// The ratio `new` / `old`, for samples that were taken in turns. It is the median of the turns'
/// ratios: a change of the machine that affects both samples of a turn cancels. The surplus of the
/// longer list is not used.
///
/// With few turns the interval spans all ratios, as for [`median`].
///
/// # Panics
///
/// If one of the lists is empty.
pub fn paired_ratio(old: &[f64], new: &[f64], confidence: Confidence) -> Interval {
    let ratios: Vec<f64> = old.iter().zip(new).map(|(old, new)| new / old).collect();
    median(&ratios, confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Noise;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // The published numbers of the sign test: samples left out at each end, for 95 % and 99 %.
        let rank = |len| {
            let rank = |confidence| median_rank(len, confidence);
            (rank(Confidence::P95), rank(Confidence::P99))
        };
        assert_eq!(rank(5), (None, None));
        assert_eq!(rank(6), (Some(0), None));
        assert_eq!(rank(8), (Some(0), Some(0)));
        assert_eq!(rank(10), (Some(1), Some(0)));
        assert_eq!(rank(15), (Some(3), Some(2)));
        assert_eq!(rank(20), (Some(5), Some(3)));
        assert_eq!(rank(100), (Some(39), Some(36)));
        // 2^-n is far below the least number here.
        assert_eq!(rank(10_000).0, Some(4901));
    }

    #[test]
    fn an_interval_is_two_of_the_samples() {
        let samples = [3.0, 9.0, 1.0, 5.0, 2.0, 8.0, 4.0, 10.0, 7.0, 6.0];
        let interval = median(&samples, Confidence::P95);
        let expected = Interval {
            estimate: 5.5,
            low: 2.0,
            high: 9.0,
            confidence: 0.95,
        };
        assert_eq!(interval, expected);
        assert_eq!(interval.relative_half_width(), 3.5 / 5.5);
        assert_eq!(ratio(&samples[..2], &samples[..3], Confidence::P95), None);
    }

    #[test]
    fn few_samples_have_less_confidence() {
        let interval = median(&[3.0, 1.0, 2.0], Confidence::P95);
        let ends = (interval.low, interval.estimate, interval.high);
        assert_eq!((ends, interval.confidence), ((1.0, 2.0, 3.0), 0.75));
        assert!(!interval.reaches(Confidence::P95));
        let one = median(&[2.0], Confidence::P95);
        assert_eq!((one.low, one.high, one.confidence), (2.0, 2.0, 0.0));
        let six = median(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Confidence::P95);
        assert_eq!((six.low, six.high), (1.0, 6.0));
        assert!(six.reaches(Confidence::P95) && !six.reaches(Confidence::P99));
    }

    #[test]
    fn outliers_do_not_move_it() {
        let mut samples = vec![1.0; 19];
        samples.push(1000.0);
        let interval = median(&samples, Confidence::P95);
        assert_eq!((interval.low, interval.high), (1.0, 1.0));
        assert_eq!(interval.relative_half_width(), 0.0);
    }

    /// The share of 4000 intervals that hold the true value.
    fn coverage(mut of: impl FnMut(&mut Noise) -> (f64, Interval)) -> f64 {
        let mut noise = Noise::new(1);
        let held = (0..4000).filter(|_| {
            let (truth, interval) = of(&mut noise);
            (interval.low..=interval.high).contains(&truth)
        });
        held.count() as f64 / 4000.0
    }

    #[test]
    fn intervals_hold_the_median_as_often_as_they_say() {
        for len in [10, 37] {
            let with_tail = coverage(|noise| {
                let samples: Vec<f64> = (0..len).map(|_| noise.with_tail(0.02)).collect();
                let truth = Noise::median_with_tail(0.02);
                (truth, median(&samples, Confidence::P95))
            });
            // At least 95 %, within the 0.7 % that 4000 trials leave open, and not much more than
            // the discrete ranks force.
            assert!((0.943..0.985).contains(&with_tail), "{len}: {with_tail}");
            // A distribution that is skewed over four octaves.
            let skewed = coverage(|noise| {
                let samples: Vec<f64> = (0..len).map(|_| (4.0 * noise.uniform()).exp2()).collect();
                (4.0, median(&samples, Confidence::P95))
            });
            assert!((0.943..0.985).contains(&skewed), "{len}: {skewed}");
        }
    }

    #[test]
    fn intervals_hold_the_ratio_as_often_as_they_say() {
        for (n, m) in [(10, 10), (12, 40)] {
            let held = coverage(|noise| {
                let old: Vec<f64> = (0..n).map(|_| 2.0 * noise.with_tail(0.02)).collect();
                let new: Vec<f64> = (0..m).map(|_| 2.1 * noise.with_tail(0.02)).collect();
                (1.05, ratio(&old, &new, Confidence::P95).unwrap())
            });
            assert!((0.943..0.975).contains(&held), "{n} and {m}: {held}");
        }
    }

    #[test]
    fn turns_cancel_what_changes_for_both() {
        let mut noise = Noise::new(2);
        let drift: Vec<f64> = (0..40).map(|turn| 1.0 + f64::from(turn) / 100.0).collect();
        let mut drifting = |scale: f64| -> Vec<f64> {
            let scaled = drift.iter().map(|drift| drift * scale);
            scaled.map(|time| time * noise.normal(0.002)).collect()
        };
        let (old, new) = (drifting(1.0), drifting(1.03));
        let paired = paired_ratio(&old, &new, Confidence::P99);
        let apart = ratio(&old, &new, Confidence::P99).unwrap();
        assert!((paired.low..paired.high).contains(&1.03), "{paired:?}");
        assert!(paired.relative_half_width() < 0.003, "{paired:?}");
        assert!(apart.relative_half_width() > 0.03, "{apart:?}");
    }
}
