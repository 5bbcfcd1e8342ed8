//! What a GPU reports while it is timed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use device::telemetry::{About, Reading, Recorder, Telemetry, ThrottleReason};

use super::results::Conditions;

/// Power's counters change no faster.
const PERIOD: Duration = Duration::from_millis(25);

/// A power cap discards samples below this share of the highest clock: nvbench's default bound. Above it, the cap is how
/// the device runs under this load, which no pause and no retry changes.
const POWER_CAPPED_CLOCK: f64 = 0.75;

/// A reading of this age still says how the device runs, if a new one would cost more than a tenth of that age.
const RECENT: Duration = Duration::from_millis(50);

/// What reports on a device, if anything does.
#[derive(Clone, Default)]
pub struct Watch {
    telemetry: Option<Arc<Remembering>>,
    max_sm_clock_mhz: Option<u32>,
}

/// Telemetry that remembers its last reading: one takes NVML some 15 ms (H100, driver 580), as long as many samples.
struct Remembering {
    telemetry: Arc<dyn Telemetry>,
    last: Mutex<Option<Last>>,
}

#[derive(Clone)]
struct Last {
    reading: Reading,
    at: Instant,
    /// How long it took.
    cost: Duration,
}

impl Telemetry for Remembering {
    fn about(&self) -> &About {
        self.telemetry.about()
    }

    fn read(&self) -> Reading {
        let began = Instant::now();
        let reading = self.telemetry.read();
        let last = Last {
            reading: reading.clone(),
            at: began,
            cost: began.elapsed(),
        };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        reading
    }
}

impl Watch {
    pub fn new(telemetry: Option<Arc<dyn Telemetry>>) -> Watch {
        let about = telemetry.as_ref().map(|telemetry| telemetry.about());
        Watch {
            max_sm_clock_mhz: about.and_then(|about| about.max_sm_clock_mhz),
            telemetry: telemetry.map(|telemetry| {
                Arc::new(Remembering {
                    telemetry,
                    last: Mutex::default(),
                })
            }),
        }
    }

    /// Why a sample that ended with this reading does not count.
    pub fn discard(&self, reading: &Reading) -> Option<String> {
        let is_slow = match (reading.sm_clock_mhz, self.max_sm_clock_mhz) {
            (Some(now), Some(max)) => f64::from(now) < POWER_CAPPED_CLOCK * f64::from(max),
            _ => true,
        };
        slowed_by(reading, |reason| {
            is_slow || reason != ThrottleReason::PowerCap
        })
    }

    pub fn read(&self) -> Option<Reading> {
        Some(self.telemetry.as_ref()?.read())
    }

    /// A reading that is recent enough for a sample that has just been taken: mostly the recorder's.
    pub fn read_recent(&self) -> Option<Reading> {
        let telemetry = self.telemetry.as_ref()?;
        let last = telemetry.last.lock();
        // The lock is released before a new reading takes it.
        let last = last.unwrap_or_else(PoisonError::into_inner).clone();
        match last {
            Some(last) if last.at.elapsed() < RECENT.min(10 * last.cost) => Some(last.reading),
            _ => Some(telemetry.read()),
        }
    }

    /// Takes readings at regular times until it is stopped.
    pub fn record(&self) -> Option<Recorder> {
        let telemetry = self.telemetry.clone()?;
        Some(Recorder::start(telemetry, PERIOD))
    }
}

/// The names of those reasons that lower clocks.
fn slowed_by(reading: &Reading, counts: impl Fn(ThrottleReason) -> bool) -> Option<String> {
    let reasons = reading.throttled_by.iter().flatten();
    let names: Vec<&str> = reasons
        .filter(|reason| reason.slows() && counts(**reason))
        .map(|reason| ThrottleReason::name(*reason))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// What readings after each sample say together; nothing if there are none.
pub fn conditions(readings: &[Reading]) -> Option<Conditions> {
    if readings.is_empty() {
        return None;
    }
    let mut throttled = BTreeMap::new();
    for reason in readings
        .iter()
        .filter_map(|reading| slowed_by(reading, |_| true))
    {
        *throttled.entry(reason).or_insert(0) += 1;
    }
    Some(Conditions {
        sm_clock_mhz: range(readings, |reading| reading.sm_clock_mhz),
        memory_clock_mhz: range(readings, |reading| reading.memory_clock_mhz),
        temperature_c: range(readings, |reading| reading.temperature_c),
        power_w: range(readings, |reading| reading.power_w),
        throttled: throttled.into_iter().collect(),
        energy_per_run_j: None,
        compute_processes: readings
            .iter()
            .filter_map(|reading| reading.compute_processes)
            .max(),
    })
}

fn range<T: PartialOrd + Copy>(
    readings: &[Reading],
    of: impl Fn(&Reading) -> Option<T>,
) -> Option<[T; 2]> {
    let values = readings.iter().filter_map(of);
    let ranges = values.map(|value| [value, value]);
    ranges.reduce(|[low, high], [value, _]| match value {
        _ if value < low => [value, high],
        _ if value > high => [low, value],
        _ => [low, high],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttled(reasons: &[ThrottleReason], clock: u32) -> Reading {
        Reading {
            sm_clock_mhz: Some(clock),
            throttled_by: Some(reasons.iter().copied().collect()),
            ..Reading::default()
        }
    }

    #[test]
    fn throttling_and_its_reasons_are_counted() {
        let heat = [
            ThrottleReason::HardwareThermal,
            ThrottleReason::HardwareSlowdown,
        ];
        let readings = [
            throttled(&[ThrottleReason::Idle], 1980),
            throttled(&heat, 1200),
            throttled(&[ThrottleReason::PowerCap], 1755),
            throttled(&heat, 1215),
        ];
        let at_most = |max_sm_clock_mhz| Watch {
            telemetry: None,
            max_sm_clock_mhz,
        };
        let watch = at_most(Some(1980));
        let discards = readings
            .each_ref()
            .map(|reading| watch.discard(reading).is_some());
        // 1755 MHz are 89 % of the highest clock.
        assert_eq!(discards, [false, true, false, true]);
        assert!(at_most(Some(2400)).discard(&readings[2]).is_some());
        assert!(at_most(None).discard(&readings[2]).is_some());
        let conditions = conditions(&readings).unwrap();
        let expected = [
            ("heat (hardware), hardware slowdown".to_owned(), 2),
            ("power cap".to_owned(), 1),
        ];
        assert_eq!(conditions.throttled, expected);
        assert_eq!(conditions.sm_clock_mhz, Some([1200, 1980]));
        assert_eq!(
            (conditions.power_w, conditions.compute_processes),
            (None, None)
        );
        assert_eq!(super::conditions(&[]), None);
    }
}
