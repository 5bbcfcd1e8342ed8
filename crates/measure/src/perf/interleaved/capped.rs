//! Runs on a device at its power cap, which are timed one after the other.
//!
//! Such a device answers another load with lower clocks than it needs, and finds the highest ones
//! in half a second (the log, scatter). In turns, each run would take the time that its
//! predecessor leaves it: one and the same kernel had two speeds, 15 % apart, by the direction of
//! the turn.

use std::time::{Duration, Instant};

use device::telemetry::ThrottleReason;
use stats::{Collector, SamplingRule};

use super::{Sampled, Short, Turn};
use crate::perf::timed_run::RunError;

/// For so long the device works on a run before its times count.
const SETTLE: Duration = Duration::from_millis(600);

impl Turn<'_> {
    /// Whether the device has met its power cap under a run that takes turns.
    pub(super) fn is_capped(&self) -> bool {
        matches!(self, Turn::Short(short) if short.sampled.is_capped())
    }
}

impl Short<'_> {
    /// All samples in one go, in place of those in turns.
    pub(super) fn alone(&mut self, rule: SamplingRule) -> Result<(), RunError> {
        let sampled = &mut self.sampled;
        sampled.host_s.clear();
        let began = Instant::now();
        while began.elapsed() < SETTLE {
            sampled.run.reset()?;
            sampled.run.run_times(1, sampled.isolated_by())?;
        }
        sampled.isolated = Collector::new(rule);
        while !self.sampled.isolated.is_done() {
            self.isolated()?;
        }
        self.turns_s.clear();
        Ok(())
    }
}

impl Sampled<'_> {
    /// Whether the device was at its power cap after one of the runs.
    fn is_capped(&self) -> bool {
        let reasons = self
            .readings
            .iter()
            .flat_map(|reading| &reading.throttled_by);
        reasons
            .flatten()
            .any(|reason| *reason == ThrottleReason::PowerCap)
    }

    /// For how long the device works on a long run before its times count.
    pub(super) fn warm_up(&self, usual: Duration) -> Duration {
        if self.is_capped() {
            usual.max(SETTLE)
        } else {
            usual
        }
    }
}
