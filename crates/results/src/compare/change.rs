//! Faster, slower, same, undecided.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use stats::{BETWEEN_RUNS, Confidence, Interval, Summary, interval};

/// Differences up to this share do not count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Margin(pub f64);

impl Default for Margin {
    fn default() -> Margin {
        // Each of the two may be off.
        Margin(2.0 * BETWEEN_RUNS)
    }
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Decimals that a percentage needs, and none of its rounding.
        write!(f, "{}", (1e6 * self.0).round() / 1e4)
    }
}

impl FromStr for Margin {
    type Err = String;

    fn from_str(percent: &str) -> Result<Margin, String> {
        match percent.parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(Margin(percent / 100.0)),
            _ => Err("a number of percent above 0 and below 100".to_owned()),
        }
    }
}

/// The verdict on a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Shorter by more than the margin.
    Faster,
    /// Longer by more than the margin.
    Slower,
    /// Within the margin.
    Same,
    /// Not known well enough.
    Undecided,
    /// It failed, or gave a wrong result.
    Broken,
}

impl Change {
    pub const ALL: [Change; 5] = [
        Change::Slower,
        Change::Broken,
        Change::Faster,
        Change::Same,
        Change::Undecided,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Change::Faster => "faster",
            Change::Slower => "slower",
            Change::Same => "same",
            Change::Undecided => "undecided",
            Change::Broken => "broken",
        }
    }
}

/// Compares the samples of two times.
///
/// The ratio new/old has a 99 % confidence interval ([`interval::ratio`]). All of it above 1 +
/// margin is slower, all of it below 1 / (1 + margin) is faster, all of it between is the same: an
/// equivalence test. Doubts widen it ([`Summary::doubt`]). Nothing is decided from times that are
/// withheld, except that identical samples are one measurement.
pub fn compare(old: &Summary, new: &Summary, margin: Margin) -> (Option<Interval>, Change) {
    let ratio = interval::ratio(&old.samples_s, &new.samples_s, Confidence::P99);
    if old.samples_s == new.samples_s {
        return (ratio, Change::Same);
    }
    let ratio = ratio.map(|ratio| widened(ratio, old, new));
    let Some(Interval { low, high, .. }) = ratio else {
        return (ratio, Change::Undecided);
    };
    let above = 1.0 + margin.0;
    let below = 1.0 / above;
    let change = if old.withheld().or(new.withheld()).is_some() {
        Change::Undecided
    } else if low > above {
        Change::Slower
    } else if high < below {
        Change::Faster
    } else if low >= below && high <= above {
        Change::Same
    } else {
        Change::Undecided
    };
    (ratio, change)
}

/// The interval with what doubts and other allocations add to those of the two times.
fn widened(ratio: Interval, old: &Summary, new: &Summary) -> Interval {
    let is_wider = |time: &Summary| !time.doubts.is_empty() || !time.elsewhere_s.is_empty();
    let is_wider = is_wider(old) || is_wider(new);
    match old.interval_s.zip(new.interval_s).filter(|_| is_wider) {
        Some((old, new)) => Interval {
            low: ratio.low.min(new[0] / old[1]),
            high: ratio.high.max(new[1] / old[0]),
            ..ratio
        },
        None => ratio,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(middle: f64, step: f64) -> Summary {
        let samples = (0..11).map(|index| middle + step * (f64::from(index) - 5.0));
        Summary::new(samples.collect())
    }

    fn verdict(old: &Summary, new: &Summary) -> Change {
        compare(old, new, Margin(0.015)).1
    }

    #[test]
    fn the_whole_interval_decides() {
        let old = summary(1.0, 0.0005);
        assert_eq!(verdict(&old, &summary(1.03, 0.0005)), Change::Slower);
        assert_eq!(verdict(&old, &summary(0.97, 0.0005)), Change::Faster);
        assert_eq!(verdict(&old, &summary(1.005, 0.0005)), Change::Same);
        // Slower, but whether by more than the margin is open.
        assert_eq!(verdict(&old, &summary(1.016, 0.0005)), Change::Undecided);
        // Three percent slower on average, but uncertain by three.
        assert_eq!(verdict(&old, &summary(1.03, 0.008)), Change::Undecided);
    }

    #[test]
    fn scattered_samples_decide_what_their_interval_tells() {
        let mut noisy = summary(2.0, 0.05);
        noisy.doubt(stats::Doubt::Scattered { spread: 0.3 });
        assert_eq!(verdict(&summary(1.0, 0.001), &noisy), Change::Slower);
        assert_eq!(verdict(&summary(1.9, 0.001), &noisy), Change::Undecided);
    }

    #[test]
    fn other_allocations_decide_too() {
        let (old, new) = (summary(1.0, 0.0005), summary(1.03, 0.0005));
        let mut varied = old.clone();
        varied.elsewhere(1.02);
        assert_eq!(verdict(&varied, &new), Change::Undecided);
        varied.elsewhere(1.01);
        assert_eq!(verdict(&varied, &summary(1.08, 0.0005)), Change::Slower);
    }

    #[test]
    fn one_percent_is_seen_where_intervals_allow() {
        let [old, new] = [1.0, 1.01].map(|time_s| summary(time_s, 0.0002));
        let verdict = |later: &Summary| compare(&old, later, Margin(0.005)).1;
        assert_eq!(verdict(&new), Change::Slower);
        assert_eq!(verdict(&summary(1.0005, 0.0002)), Change::Same);
        assert_eq!(verdict(&summary(1.01, 0.003)), Change::Undecided);
    }

    #[test]
    fn what_is_withheld_decides_nothing() {
        let mut impossible = summary(2.0, 0.001);
        impossible.doubt(stats::Doubt::Clocks {
            device_s: 2.0,
            host_s: 1.0,
        });
        assert_eq!(
            verdict(&summary(1.0, 0.001), &impossible),
            Change::Undecided
        );
        assert_eq!(verdict(&impossible, &impossible.clone()), Change::Same);
        let few = Summary::new(vec![1.0, 1.0]);
        let (ratio, verdict) = compare(&few, &Summary::new(vec![2.0, 2.0]), Margin(0.015));
        assert_eq!((ratio, verdict), (None, Change::Undecided));
    }

    #[test]
    fn margins_are_read() {
        assert_eq!("1.5".parse(), Ok(Margin(0.015)));
        for wrong in ["0", "-1", "100", "nan", "x"] {
            assert!(wrong.parse::<Margin>().is_err(), "{wrong}");
        }
    }
}
