//! Why samples are no result.

use serde::{Deserialize, Serialize};

use crate::Summary;
use units::three;

/// What samples must keep to be a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// So many samples at least.
    pub samples: usize,
    /// [`Summary::noise`] at most.
    pub noise: f64,
    /// [`Summary::spread`] at most.
    pub spread: f64,
}

/// The steps of the clocks: a spread of this size, in seconds, says nothing about what was timed.
const RESOLUTION_S: f64 = 1.5e-6;

/// Why samples are no result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "doubt", rename_all = "snake_case")]
pub enum Doubt {
    /// The time was over too soon, or no more were asked for.
    TooFew {
        /// How many there are.
        samples: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// The time was over while the median was still uncertain.
    Unsettled {
        /// How uncertain: [`Summary::noise`].
        noise: f64,
    },
    /// The median has a narrow interval, but the samples lie far apart: there is no one time that they are samples of.
    Scattered {
        /// How far: [`Summary::spread`].
        spread: f64,
    },
    /// The later samples are longer or shorter than the earlier.
    Drifting {
        /// Median of the second half relative to that of the first, less 1.
        change: f64,
    },
    /// Too few samples were taken at full speed.
    Discarded {
        /// How many were not.
        samples: usize,
        /// Of so many.
        of: usize,
        /// Why most of them do not count.
        reason: String,
    },
    /// Others used the device meanwhile.
    Shared {
        /// Processes that compute on it, this one included.
        processes: u32,
    },
    /// Two clocks do not agree on one time.
    Clocks {
        /// Between device events.
        device_s: f64,
        /// By the host's clock.
        host_s: f64,
    },
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |share: f64| 100.0 * share;
        match self {
            Doubt::TooFew { samples, wanted } => {
                let plural = if *samples == 1 { "" } else { "s" };
                write!(f, "only {samples} sample{plural}, a result needs {wanted}")
            }
            Doubt::Unsettled { noise } => write!(
                f,
                "the median is still uncertain by {:.1} % after the time given",
                percent(*noise)
            ),
            Doubt::Scattered { spread } => write!(
                f,
                "the samples scatter over {:.0} % of the median",
                percent(*spread)
            ),
            Doubt::Drifting { change } => {
                let way = if *change > 0.0 { "longer" } else { "shorter" };
                let change = percent(change.abs());
                write!(f, "later samples are {change:.1} % {way} than earlier ones")
            }
            Doubt::Discarded {
                samples,
                of,
                reason,
            } => write!(f, "{samples} of {of} samples were taken under {reason}"),
            Doubt::Shared { processes } => {
                write!(
                    f,
                    "{processes} processes compute on the device; end the others"
                )
            }
            Doubt::Clocks { device_s, host_s } => write!(
                f,
                "device events say {} ms a run, the host's clock {} ms",
                three(device_s * 1e3),
                three(host_s * 1e3)
            ),
        }
    }
}

/// What speaks against the samples of a summary.
pub fn doubts(summary: &Summary, bounds: &Bounds) -> Vec<Doubt> {
    let samples = summary.samples_s.len();
    let mut doubts = Vec::new();
    if samples < bounds.samples {
        doubts.push(Doubt::TooFew {
            samples,
            wanted: bounds.samples,
        });
    }
    if let Some(noise) = summary.noise.filter(|noise| *noise > bounds.noise) {
        doubts.push(Doubt::Unsettled { noise });
    }
    let is_wide =
        |spread: &f64| *spread > bounds.spread && spread * summary.median_s > RESOLUTION_S;
    if let Some(spread) = summary.spread.filter(is_wide) {
        doubts.push(Doubt::Scattered { spread });
    }
    if let Some(change) = drift(&summary.samples_s, bounds) {
        doubts.push(Doubt::Drifting { change });
    }
    doubts
}

/// How much longer the second half is than the first, if by more than twice the noise that is borne and if no 95 %
/// intervals of the two medians can hold one value.
fn drift(samples: &[f64], bounds: &Bounds) -> Option<f64> {
    let (first, second) = samples.split_at(samples.len() / 2);
    if first.len() < 5 {
        return None;
    }
    let (first, second) = (Summary::new(first.to_vec()), Summary::new(second.to_vec()));
    // Five samples reach 93.75 % at best: with all of them.
    let ends = |half: &Summary| half.interval_s.unwrap_or([half.min_s, half.max_s]);
    let ([low_1, high_1], [low_2, high_2]) = (ends(&first), ends(&second));
    let is_apart = high_1 < low_2 || high_2 < low_1;
    let change = second.median_s / first.median_s - 1.0;
    let is_large =
        change.abs() > 2.0 * bounds.noise && change.abs() * first.median_s > RESOLUTION_S;
    (is_apart && is_large).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Noise;

    const BOUNDS: Bounds = Bounds {
        samples: 10,
        noise: 0.005,
        spread: 0.05,
    };

    fn of(samples: impl Iterator<Item = f64>) -> Vec<Doubt> {
        doubts(&Summary::new(samples.collect()), &BOUNDS)
    }

    #[test]
    fn good_samples_are_not_doubted() {
        let mut noise = Noise::new(3);
        let doubted = (0..1000).filter(|_| {
            let samples = (0..30).map(|_| 1e-3 * noise.normal(0.003));
            !of(samples.collect::<Vec<f64>>().into_iter()).is_empty()
        });
        // A drift is seen by chance in a few of a thousand.
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
        let doubts = doubts(&summary, &BOUNDS);
        assert!(
            matches!(doubts[..], [Doubt::Scattered { .. }]),
            "{doubts:?}"
        );
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
    fn messages() {
        let text = |doubt: Doubt| doubt.to_string();
        let too_few = Doubt::TooFew {
            samples: 1,
            wanted: 10,
        };
        insta::assert_snapshot!(text(too_few), @"only 1 sample, a result needs 10");
        insta::assert_snapshot!(text(Doubt::Unsettled { noise: 0.0123 }), @"the median is still uncertain by 1.2 % after the time given");
        insta::assert_snapshot!(text(Doubt::Scattered { spread: 0.456 }), @"the samples scatter over 46 % of the median");
        insta::assert_snapshot!(text(Doubt::Drifting { change: -0.021 }), @"later samples are 2.1 % shorter than earlier ones");
        let discarded = Doubt::Discarded {
            samples: 38,
            of: 40,
            reason: "thermal slowdown".to_owned(),
        };
        insta::assert_snapshot!(text(Doubt::Shared { processes: 2 }), @"2 processes compute on the device; end the others");
        let clocks = Doubt::Clocks {
            device_s: 2e-3,
            host_s: 1e-3,
        };
        insta::assert_snapshot!(text(clocks), @"device events say 2.00 ms a run, the host's clock 1.00 ms");
        insta::assert_snapshot!(text(discarded), @"38 of 40 samples were taken under thermal slowdown");
    }
}
