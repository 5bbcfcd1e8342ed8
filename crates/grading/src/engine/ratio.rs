//! What samples of a ratio say: the median, and an interval for it.
//!
//! Sample i is the time of the reference by that of the submission, taken one after the other; what slows the machine for
//! a while slows both. The interval is that of the order statistics: for n independent samples the number of those below
//! the true median is binomial with p = 1/2, whatever their distribution, so that the k-th smallest and the k-th largest
//! enclose it with a probability that is known (Conover, "Practical Nonparametric Statistics", 3.2). Points follow from
//! the median.

use crate::grade::verdict::Interval;

/// The probability that the interval holds the true median.
pub const CONFIDENCE: f64 = 0.95;

/// Median and interval; there is at least one sample. With fewer than six samples no interval has the confidence: then it
/// spans all of them, and says what confidence that has.
///
/// # Panics
///
/// If there is no sample.
pub fn median(samples: &[f64]) -> Interval {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let outside = outside(n);
    // Of the intervals that are confident enough, the narrowest.
    let k = (0..n.div_ceil(2))
        .rev()
        .find(|&k| 1.0 - 2.0 * outside[k] >= CONFIDENCE);
    let confidence = match k {
        Some(_) => CONFIDENCE,
        None => (1.0 - 2.0 * outside[0]).max(0.0),
    };
    let k = k.unwrap_or(0);
    Interval {
        value: (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
        low: sorted[k],
        high: sorted[n - 1 - k],
        confidence,
    }
}

/// For each k the probability that at most k of n samples lie below the median: that the true median is below the sample
/// of rank k, counted from 0.
fn outside(n: usize) -> Vec<f64> {
    let mut term = 0.5_f64.powi(n as i32);
    let mut sum = 0.0;
    (0..n)
        .map(|k| {
            sum += term;
            term *= (n - k) as f64 / (k + 1) as f64;
            sum
        })
        .collect()
}

/// Half the interval's length, relative to the median.
pub fn uncertainty(interval: &Interval) -> f64 {
    (interval.high - interval.low) / 2.0 / interval.value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // For n = 10 the second smallest and largest: 1 - 2 (1 + 10)/1024 = 0.9785; for n = 20 the sixth.
        let interval = |n: usize| median(&(1..=n).map(|i| i as f64).collect::<Vec<_>>());
        assert_eq!((interval(10).low, interval(10).high), (2.0, 9.0));
        assert_eq!((interval(20).low, interval(20).high), (6.0, 15.0));
        assert_eq!((interval(6).low, interval(6).high), (1.0, 6.0));
        assert_eq!(interval(10).value, 5.5);
        assert_eq!(interval(10).confidence, 0.95);
    }

    #[test]
    fn few_samples_have_less_confidence() {
        let interval = median(&[3.0, 1.0, 2.0]);
        assert_eq!(
            (interval.low, interval.value, interval.high),
            (1.0, 2.0, 3.0)
        );
        assert_eq!(interval.confidence, 0.75);
        let one = median(&[2.0]);
        assert_eq!((one.low, one.high, one.confidence), (2.0, 2.0, 0.0));
    }

    #[test]
    fn outliers_do_not_move_it() {
        let mut samples = vec![1.0; 19];
        samples.push(1000.0);
        let interval = median(&samples);
        assert_eq!(
            (interval.low, interval.value, interval.high),
            (1.0, 1.0, 1.0)
        );
        assert_eq!(uncertainty(&interval), 0.0);
    }

    #[test]
    fn intervals_hold_the_true_median_as_often_as_they_say() {
        let mut random = fastrand::Rng::with_seed(5);
        for n in [10, 15, 40] {
            let holds = (0..4000).filter(|_| {
                // A skewed distribution whose median is 2^2.
                let samples: Vec<f64> = (0..n).map(|_| (4.0 * random.f64()).exp2()).collect();
                let interval = median(&samples);
                interval.low <= 4.0 && 4.0 <= interval.high
            });
            let share = holds.count() as f64 / 4000.0;
            assert!(share > 0.94, "{n}: {share}");
        }
    }
}
