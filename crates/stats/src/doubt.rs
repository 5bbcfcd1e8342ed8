//! Reasons to doubt samples.

use serde::{Deserialize, Serialize};
use units::three;

/// A reason to doubt samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "doubt", rename_all = "snake_case")]
pub enum Doubt {
    /// The time was over too soon, or the caller did not ask for more.
    TooFew {
        /// The number of samples taken.
        samples: usize,
        /// The number of samples needed.
        wanted: usize,
    },
    /// The time was over while the median was still uncertain.
    Unsettled {
        /// The uncertainty: [`crate::Summary::noise`].
        noise: f64,
    },
    /// The median has a narrow interval, but the samples lie far apart: they are not samples of one
    /// time.
    Scattered {
        /// The distance: [`crate::Summary::spread`].
        spread: f64,
    },
    /// The later samples are longer or shorter than the earlier.
    Drifting {
        /// Median of the second half relative to that of the first, less 1.
        change: f64,
    },
    /// Too few samples were taken at full speed.
    Discarded {
        /// The number of samples that were not at full speed.
        samples: usize,
        /// The number of samples taken.
        of: usize,
        /// The reason why most of them do not count.
        reason: String,
    },
    /// Other processes used the device meanwhile.
    Shared {
        /// The number of processes that compute on it, this one included.
        processes: u32,
    },
    /// The parts of a run are not alike: their median, times their number, is not the time of the
    /// whole.
    Segments {
        /// The time according to the median of the parts.
        segments_s: f64,
        /// The time of the whole.
        whole_s: f64,
    },
    /// Two clocks do not agree on one time.
    Clocks {
        /// The time between device events.
        device_s: f64,
        /// The time by the host's clock.
        host_s: f64,
    },
}

impl Doubt {
    /// Whether a time is withheld for it: it is none of the device at full speed, or impossible.
    /// Other doubts widen the interval.
    pub fn withholds(&self) -> bool {
        matches!(self, Doubt::Discarded { .. } | Doubt::Clocks { .. })
    }
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |share: f64| 100.0 * share;
        match self {
            Doubt::TooFew { samples, wanted } => {
                let plural = if *samples == 1 { "" } else { "s" };
                write!(
                    f,
                    "only {samples} sample{plural}, an interval needs {wanted}"
                )
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
            Doubt::Segments {
                segments_s,
                whole_s,
            } => write!(
                f,
                "the run takes {} ms by its parts, and {} ms as a whole",
                three(segments_s * 1e3),
                three(whole_s * 1e3)
            ),
            Doubt::Clocks { device_s, host_s } => write!(
                f,
                "device events say {} ms a run, the host's clock {} ms",
                three(device_s * 1e3),
                three(host_s * 1e3)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let text = |doubt: Doubt| doubt.to_string();
        let too_few = Doubt::TooFew {
            samples: 1,
            wanted: 10,
        };
        insta::assert_snapshot!(text(too_few), @"only 1 sample, an interval needs 10");
        insta::assert_snapshot!(text(Doubt::Unsettled { noise: 0.0123 }), @"the median is still uncertain by 1.2 % after the time given");
        insta::assert_snapshot!(text(Doubt::Scattered { spread: 0.456 }), @"the samples scatter over 46 % of the median");
        insta::assert_snapshot!(text(Doubt::Drifting { change: -0.021 }), @"later samples are 2.1 % shorter than earlier ones");
        let discarded = Doubt::Discarded {
            samples: 38,
            of: 40,
            reason: "thermal slowdown".to_owned(),
        };
        insta::assert_snapshot!(text(Doubt::Shared { processes: 2 }), @"2 processes compute on the device; end the others");
        let segments = Doubt::Segments {
            segments_s: 1.0,
            whole_s: 1.1,
        };
        insta::assert_snapshot!(text(segments), @"the run takes 1000 ms by its parts, and 1100 ms as a whole");
        let clocks = Doubt::Clocks {
            device_s: 2e-3,
            host_s: 1e-3,
        };
        insta::assert_snapshot!(text(clocks), @"device events say 2.00 ms a run, the host's clock 1.00 ms");
        insta::assert_snapshot!(text(discarded), @"38 of 40 samples were taken under thermal slowdown");
    }
}
