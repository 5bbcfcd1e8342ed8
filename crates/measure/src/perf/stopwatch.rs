//! Adds up where the wall time of a measurement goes.

use std::cell::RefCell;
use std::time::Instant;

use results::spent::{Phase, Seconds};

/// Adds up the time of each phase.
#[derive(Debug, Default)]
pub struct Stopwatch(RefCell<Seconds>);

impl Stopwatch {
    /// Does the work, and counts its time. The time of a phase within it counts for that phase
    /// alone.
    pub fn time<T>(&self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let sum = || self.0.borrow().values().sum::<f64>();
        let (began, before) = (Instant::now(), sum());
        let done = work();
        let own_s = began.elapsed().as_secs_f64() - (sum() - before);
        *self.0.borrow_mut().entry(phase).or_insert(0.0) += own_s.max(0.0);
        done
    }

    /// The sums.
    pub fn seconds(self) -> Seconds {
        self.0.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_within_counts_once() {
        let (watch, began) = (Stopwatch::default(), Instant::now());
        watch.time(Phase::Rest, || {
            sleep(Duration::from_millis(20));
            watch.time(Phase::Checks, || sleep(Duration::from_millis(60)));
        });
        watch.time(Phase::Checks, || sleep(Duration::from_millis(20)));
        let (all_s, seconds) = (began.elapsed().as_secs_f64(), watch.seconds());
        let [checks, rest] = [Phase::Checks, Phase::Rest].map(|phase| seconds[&phase]);
        assert!(checks >= 0.08 && rest >= 0.02, "{seconds:?}");
        assert!(checks + rest <= all_s, "{seconds:?}");
    }
}
