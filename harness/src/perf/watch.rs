//! What a GPU reports while it is timed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use host::telemetry::{Reading, Recorder, Telemetry, ThrottleReason};

use super::results::Conditions;

/// Power's counters change no faster.
const PERIOD: Duration = Duration::from_millis(25);

/// What reports on a device, if anything does.
#[derive(Clone, Default)]
pub struct Watch {
    telemetry: Option<Arc<dyn Telemetry>>,
}

impl Watch {
    /// By this telemetry.
    pub fn new(telemetry: Option<Arc<dyn Telemetry>>) -> Watch {
        Watch { telemetry }
    }

    /// What is reported now.
    pub fn read(&self) -> Option<Reading> {
        Some(self.telemetry.as_ref()?.read())
    }

    /// Reads at regular times until it is stopped.
    pub fn record(&self) -> Option<Recorder> {
        let telemetry = self.telemetry.clone()?;
        Some(Recorder::start(telemetry, PERIOD))
    }
}

/// Why a sample that ended with this reading does not count.
pub fn discard(reading: &Reading) -> Option<String> {
    let reasons = reading.throttled_by.iter().flatten();
    let names: Vec<&str> = reasons
        .filter(|reason| reason.slows())
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
    for reason in readings.iter().filter_map(discard) {
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
    values.fold(None, |range, value| {
        let [low, high] = range.unwrap_or([value, value]);
        Some([
            if value < low { value } else { low },
            if value > high { value } else { high },
        ])
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
        assert_eq!(discard(&readings[0]), None);
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
