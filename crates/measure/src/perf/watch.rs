//! A GPU's reports while it is timed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use device::telemetry::{About, Reading, Recorder, Telemetry, ThrottleReason};

use results::Conditions;

/// Power's counters change no faster.
const PERIOD: Duration = Duration::from_millis(25);

/// A power cap discards samples below this share of the highest clock: nvbench's default bound.
/// Above it, the cap is how the device runs under this load, which no pause and no retry changes.
const POWER_CAPPED_CLOCK: f64 = 0.75;

/// A reading of this age still says how the device runs, if a new one would cost more than a tenth
/// of that age.
const RECENT: Duration = Duration::from_millis(50);

/// The telemetry of a device, or of several that work together; empty if there is none.
#[derive(Clone, Default)]
pub struct Watch {
    telemetry: Vec<Arc<Remembering>>,
    max_sm_clock_mhz: Option<u32>,
}

/// Telemetry that remembers its last reading: one takes NVML some 15 ms (H100, driver 580), as long
/// as many samples.
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
            telemetry: Vec::from_iter(telemetry.map(|telemetry| {
                Arc::new(Remembering {
                    telemetry,
                    last: Mutex::default(),
                })
            })),
        }
    }

    /// The telemetry of several devices of one model; none where one of them does not report.
    pub fn joined(watches: &[Watch]) -> Watch {
        if watches.iter().any(|watch| watch.telemetry.is_empty()) {
            return Watch::default();
        }
        let telemetry = watches.iter().flat_map(|watch| watch.telemetry.clone());
        Watch {
            telemetry: telemetry.collect(),
            max_sm_clock_mhz: watches.iter().find_map(|watch| watch.max_sm_clock_mhz),
        }
    }

    /// The telemetry of this number of devices alone, from the first on.
    pub fn of_first(&self, devices: Option<u32>) -> Watch {
        let mut first = self.clone();
        let devices = devices.map_or(usize::MAX, |devices| devices as usize);
        first.telemetry.truncate(devices);
        first
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

    /// The description of the first device.
    pub fn about(&self) -> Option<About> {
        Some(self.telemetry.first()?.about().clone())
    }

    pub fn read(&self) -> Option<Reading> {
        joined(self.telemetry.iter().map(|telemetry| telemetry.read()))
    }

    /// A reading that is recent enough for a sample that has just been taken: mostly the
    /// recorder's.
    pub fn read_recent(&self) -> Option<Reading> {
        joined(self.telemetry.iter().map(|telemetry| {
            let last = telemetry.last.lock();
            // The lock is released before a new reading takes it.
            let last = last.unwrap_or_else(PoisonError::into_inner).clone();
            match last {
                Some(last) if last.at.elapsed() < RECENT.min(10 * last.cost) => last.reading,
                _ => telemetry.read(),
            }
        }))
    }

    /// Takes readings of the first device at regular times until it is stopped.
    pub fn record(&self) -> Option<Recorder> {
        let telemetry = self.telemetry.first()?.clone();
        Some(Recorder::start(telemetry, PERIOD))
    }
}

/// One reading of several devices: the lowest clocks, the highest temperature, power and energy
/// of all, and every reason why clocks are lower.
fn joined(readings: impl Iterator<Item = Reading>) -> Option<Reading> {
    let least = |a: Option<u32>, b: Option<u32>| [a, b].into_iter().flatten().min();
    let most = |a: Option<u32>, b: Option<u32>| a.max(b);
    let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
    readings.reduce(|a, b| Reading {
        sm_clock_mhz: least(a.sm_clock_mhz, b.sm_clock_mhz),
        memory_clock_mhz: least(a.memory_clock_mhz, b.memory_clock_mhz),
        temperature_c: most(a.temperature_c, b.temperature_c),
        power_w: sum(a.power_w, b.power_w),
        energy_j: sum(a.energy_j, b.energy_j),
        throttled_by: match (a.throttled_by, b.throttled_by) {
            (Some(a), Some(b)) => Some(a.union(&b).copied().collect()),
            (a, b) => a.or(b),
        },
        compute_processes: most(a.compute_processes, b.compute_processes),
    })
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

/// Readings after each sample, summed up; nothing if there are none.
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
    fn several_devices_are_as_slow_as_the_slowest_and_take_the_energy_of_all() {
        let reading = |clock, energy_j, reasons: &[ThrottleReason]| Reading {
            energy_j,
            ..throttled(reasons, clock)
        };
        let cap = [ThrottleReason::PowerCap];
        let two = [
            reading(1980, Some(1.0), &[]),
            reading(1200, Some(2.0), &cap),
        ];
        let both = joined(two.into_iter()).unwrap();
        assert_eq!((both.sm_clock_mhz, both.energy_j), (Some(1200), Some(3.0)));
        assert_eq!(both.throttled_by, Some(cap.into()));
        let one_without_energy = [reading(1980, Some(1.0), &[]), reading(1980, None, &[])];
        assert_eq!(
            joined(one_without_energy.into_iter()).unwrap().energy_j,
            None
        );
        assert_eq!(joined(std::iter::empty()), None);
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
            telemetry: Vec::new(),
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
