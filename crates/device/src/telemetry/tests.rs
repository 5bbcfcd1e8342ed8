use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use approx::assert_relative_eq;

use super::*;

#[test]
fn idleness_is_no_throttling() {
    let by = |reasons: &[ThrottleReason]| Reading {
        throttled_by: Some(reasons.iter().copied().collect()),
        ..Reading::default()
    };
    assert!(!Reading::default().is_throttled());
    assert!(!by(&[]).is_throttled());
    assert!(!by(&[ThrottleReason::Idle, ThrottleReason::ClocksSet]).is_throttled());
    assert!(by(&[ThrottleReason::Idle, ThrottleReason::PowerCap]).is_throttled());
}

/// Draws 100 W, then 10 W more at each reading.
#[derive(Default)]
struct Fake {
    about: About,
    readings: AtomicU32,
}

impl Telemetry for Fake {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&self) -> Reading {
        let index = self.readings.fetch_add(1, Ordering::Relaxed);
        Reading {
            power_w: Some(100.0 + 10.0 * f64::from(index)),
            ..Reading::default()
        }
    }
}

#[test]
fn it_reads_until_it_is_stopped() {
    let fake = Arc::new(Fake::default());
    let recorder = Recorder::start(fake.clone(), Duration::from_millis(2));
    while fake.readings.load(Ordering::Relaxed) < 5 {
        thread::yield_now();
    }
    let trace = recorder.stop();
    let taken = fake.readings.load(Ordering::Relaxed);
    assert_eq!(trace.samples.len() as u32, taken);
    assert!(trace.samples.is_sorted_by(|a, b| a.at_s < b.at_s));
    let powers = trace.range(|reading| reading.power_w).unwrap();
    assert_eq!(powers, (100.0, 90.0 + 10.0 * f64::from(taken)));
    // Periods are kept: five readings take four of them.
    assert!(trace.samples[4].at_s >= 4.0 * 0.002);
    thread::sleep(Duration::from_millis(10));
    assert_eq!(fake.readings.load(Ordering::Relaxed), taken);
}

#[test]
fn stopping_does_not_wait_for_the_period() {
    let recorder = Recorder::start(Arc::new(Fake::default()), Duration::from_secs(3600));
    let trace = recorder.stop();
    assert_eq!(trace.samples.len(), 2);
}

fn trace(readings: impl IntoIterator<Item = Reading>) -> Trace {
    let samples = readings.into_iter().enumerate();
    Trace {
        began: Instant::now(),
        samples: samples
            .map(|(second, reading)| Sample {
                at_s: second as f64,
                reading,
            })
            .collect(),
    }
}

#[test]
fn energy_is_counted_or_else_integrated() {
    let watts = |power_w| Reading {
        power_w: Some(power_w),
        ..Reading::default()
    };
    let powers = trace([watts(100.0), watts(300.0), watts(300.0)]);
    assert_relative_eq!(powers.energy_j().unwrap(), 200.0 + 300.0);
    assert_relative_eq!(powers.mean_power_w().unwrap(), 250.0);
    let counted = trace([1000.0, 1100.0, 1400.0].map(|energy_j| Reading {
        energy_j: Some(energy_j),
        ..watts(1.0)
    }));
    assert_relative_eq!(counted.energy_j().unwrap(), 400.0);
    assert_relative_eq!(counted.mean_power_w().unwrap(), 200.0);
    let silent = trace([Reading::default(), Reading::default()]);
    assert_eq!((silent.energy_j(), silent.mean_power_w()), (None, None));
    assert_eq!(silent.range(|reading| reading.sm_clock_mhz), None);
}

#[test]
fn a_span_includes_its_neighbours() {
    let trace = trace((0..10).map(|_| Reading::default()));
    let at = |seconds| trace.began + Duration::from_secs_f64(seconds);
    let seconds = |from, to| {
        let part = trace.between(at(from), at(to));
        let times: Vec<f64> = part.samples.iter().map(|sample| sample.at_s).collect();
        (times[0], times[times.len() - 1])
    };
    assert_eq!(seconds(2.5, 4.5), (2.0, 5.0));
    assert_eq!(seconds(2.2, 2.4), (2.0, 3.0));
    assert_eq!(seconds(3.0, 3.0), (2.0, 4.0));
    assert_eq!(seconds(0.0, 100.0), (0.0, 9.0));
}

#[test]
fn reasons_of_all_samples_count_once() {
    let by = |reasons: &[ThrottleReason]| Reading {
        throttled_by: Some(reasons.iter().copied().collect()),
        ..Reading::default()
    };
    let trace = trace([
        by(&[ThrottleReason::Idle]),
        by(&[ThrottleReason::PowerCap]),
        Reading::default(),
        by(&[ThrottleReason::PowerCap, ThrottleReason::SoftwareThermal]),
    ]);
    let expected = [ThrottleReason::PowerCap, ThrottleReason::SoftwareThermal];
    assert_eq!(trace.throttled_by(), expected.into());
}
