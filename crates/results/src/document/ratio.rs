//! Ratios of times and of rates, with their intervals.

use serde::{Deserialize, Serialize};
use stats::Summary;
use units::{plus_minus, three};

/// How many times as fast, or as long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The ratio.
    pub estimate: f64,
    /// Ends of its 95 % confidence interval; `None` where there are too few samples.
    pub interval: Option<[f64; 2]>,
}

impl Ratio {
    /// How many times as fast one is as the other: the ratio of their rates, with the interval that
    /// follows from those of both times. Relative deviations add as those of independent times do.
    pub fn of_rates([own, other]: [f64; 2], own_run: &Summary, other_run: &Summary) -> Ratio {
        let estimate = own / other;
        let away = |run: &Summary, end: usize| Some((run.interval_s?[end] / run.median_s).ln());
        // A shorter time of its own, and a longer one of the other, make the ratio greater.
        let both = |own_end: usize| {
            let (mine, its) = (away(own_run, own_end)?, away(other_run, 1 - own_end)?);
            Some(mine.hypot(its).exp())
        };
        let interval = both(1)
            .zip(both(0))
            .map(|(below, above)| [estimate / below, estimate * above]);
        Ratio {
            estimate,
            interval: interval.filter(|_| estimate.is_finite()),
        }
    }

    /// The ratio of a quantity that is this many times as large.
    pub fn times(self, factor: f64) -> Ratio {
        Ratio {
            estimate: self.estimate * factor,
            interval: self.interval.map(|ends| ends.map(|end| end * factor)),
        }
    }

    /// The other way round.
    pub fn inverted(self) -> Ratio {
        Ratio {
            estimate: 1.0 / self.estimate,
            interval: self.interval.map(|[low, high]| [1.0 / high, 1.0 / low]),
        }
    }

    /// `4.54 ± 0.05`; without an interval `4.54`.
    pub fn short(self) -> String {
        let half = self.interval.map(|[low, high]| (high - low) / 2.0);
        with_interval(self.estimate, half)
    }
}

/// A figure with half the width of its interval, if that is known.
pub fn with_interval(figure: f64, half: Option<f64>) -> String {
    half.map_or_else(|| three(figure), |half| plus_minus(figure, half))
}

/// `1.030 (1.020 to 1.040)`.
impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3}", self.estimate)?;
        match self.interval {
            None => Ok(()),
            Some([low, high]) => write!(f, " ({low:.3} to {high:.3})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_as_uncertain_as_both_sides() {
        let run = |low, high| Summary {
            interval_s: Some([low, high]),
            ..Summary::new(vec![1.0; 6])
        };
        let of = |own: &Summary, other: &Summary| Ratio::of_rates([8.0, 2.0], own, other);
        let certain = run(1.0, 1.0);
        let one = of(&run(0.8, 1.25), &certain).interval.unwrap();
        assert!(
            (one[0] - 3.2).abs() < 1e-9 && (one[1] - 5.0).abs() < 1e-9,
            "{one:?}"
        );
        let other = of(&certain, &run(0.8, 1.25)).interval.unwrap();
        assert!((other[0] - 3.2).abs() < 1e-9 && (other[1] - 5.0).abs() < 1e-9);
        // Three and four percent are five.
        let both = of(&run(0.97, 1.03), &run(0.96, 1.04)).interval.unwrap();
        assert!((both[1] / 4.0 - 1.05).abs() < 2e-3, "{both:?}");
        let few = Summary::new(vec![1.0; 5]);
        assert_eq!(of(&few, &certain).interval, None);
        assert_eq!(of(&run(0.98, 1.02), &certain).short(), "4.00 ± 0.09");
    }
}
