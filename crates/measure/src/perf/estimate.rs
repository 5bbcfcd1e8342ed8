//! How far a measurement is, and how long the rest will take.

use std::time::{Duration, Instant};

use lab::{Lab, LabCase, Variant};

use super::bench::Bench;
use super::watch::Watch;
use results::DeviceRecord;

/// How far a measurement is, case by case.
pub struct Estimate {
    /// The time that each case should take, in seconds.
    expected_s: Vec<f64>,
    done: usize,
    began: Instant,
}

/// The time in which the smallest case is checked and timed.
const CASE_S: f64 = 2.0;
/// The time that each of its variants takes if its runs are short.
const VARIANT_S: f64 = 0.6;
/// The number of runs of a variant whose runs are long.
const RUNS: f64 = 3.0;
/// A rate of device memory for devices that have not been measured: 1 TB/s.
const BYTES_PER_S: f64 = 1e12;

impl Estimate {
    /// The cases of all benches, none of them done.
    pub fn of_benches(benches: &[Bench<'_>], devices: &[(DeviceRecord, Watch)]) -> Estimate {
        let rate = |record: &DeviceRecord| {
            let copy = record.limits.copy.as_ref();
            copy.map_or(BYTES_PER_S, |rate| rate.best_per_s)
        };
        let on_device = |bench: &Bench<'_>, record: &DeviceRecord| {
            if !bench.gpus.is_empty() {
                return CASE_S + VARIANT_S * bench.gpus.len() as f64;
            }
            let case = bench.case.as_ref();
            let run_s = |variant: &&Variant| variant.work(case).bytes as f64 / rate(record);
            let variants = bench.variants.iter().map(run_s);
            let rows = (bench.variants.len() + bench.peers.len()) as f64;
            let ours: f64 = variants.map(|one_s| VARIANT_S + RUNS * one_s).sum();
            CASE_S + ours * rows / bench.variants.len().max(1) as f64
        };
        let expected_s = benches.iter().map(|bench| {
            let devices = devices.iter();
            devices.map(|(record, _)| on_device(bench, record)).sum()
        });
        Estimate {
            expected_s: expected_s.collect(),
            done: 0,
            began: Instant::now(),
        }
    }

    /// The case is done.
    pub fn case_done(&mut self) {
        self.done += 1;
    }

    /// The text of progress bars for the case that is next: its place among the others, and its
    /// name, as in `3 of 28, about 2 min left: wave3d 96x96x96`.
    pub fn progress(&self, lab: &Lab, case: &dyn LabCase) -> String {
        let (number, all) = (self.done + 1, self.expected_s.len());
        let name = format!("{} {}", lab.name, case.label());
        match self.left() {
            left if left > Duration::from_secs(1) => {
                format!("{number} of {all}, about {} left: {name}", in_words(left))
            }
            _ => format!("{number} of {all}: {name}"),
        }
    }

    /// The expected time of the rest, as much longer or shorter as the cases that are done took
    /// than was expected of them.
    fn left(&self) -> Duration {
        let (done, rest) = self.expected_s.split_at(self.done);
        let [done_s, rest_s] = [done, rest].map(|cases| cases.iter().sum::<f64>());
        let factor = if done_s > 10.0 {
            self.began.elapsed().as_secs_f64() / done_s
        } else {
            1.0
        };
        Duration::try_from_secs_f64(factor * rest_s).unwrap_or_default()
    }
}

/// `40 s`, `3 min`.
fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..90 => format!("{} s", seconds.next_multiple_of(10)),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_as_slow_as_what_is_done() {
        let mut estimate = Estimate {
            expected_s: vec![20.0, 40.0],
            done: 0,
            began: Instant::now(),
        };
        assert_eq!(estimate.left(), Duration::from_secs(60));
        estimate.case_done();
        estimate.began = Instant::now() - Duration::from_secs(30);
        assert_eq!(estimate.left().as_secs(), 60);
        estimate.case_done();
        assert_eq!(estimate.left(), Duration::ZERO);
    }

    #[test]
    fn times_in_words() {
        let words = |seconds| in_words(Duration::from_secs(seconds));
        assert_eq!(
            [5, 41, 89, 91, 200].map(words),
            ["10 s", "50 s", "90 s", "2 min", "3 min"]
        );
    }
}
