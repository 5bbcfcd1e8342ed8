//! A device's telemetry, and what becomes of samples then.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use device::telemetry::{About, Reading, ThrottleReason};

use super::*;
use stats::Doubt;

/// Reports to the thread that made it by a script; to others, that all is well.
struct Scripted {
    main: std::thread::ThreadId,
    about: About,
    readings: AtomicUsize,
    report: fn(usize) -> Reading,
}

impl Telemetry for Scripted {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&self) -> Reading {
        if std::thread::current().id() != self.main {
            return at(1980, &[]);
        }
        (self.report)(self.readings.fetch_add(1, Ordering::Relaxed))
    }
}

fn watched(report: fn(usize) -> Reading) -> Run {
    let telemetry = Scripted {
        main: std::thread::current().id(),
        about: About {
            driver: Some("580.65.06".to_owned()),
            ..About::default()
        },
        readings: AtomicUsize::new(0),
        report,
    };
    let probe = MadeUp {
        telemetry: Some(Arc::new(telemetry)),
    };
    let args = [&SMALL[..4], &["--variant=naive", "--notes"]].concat();
    run_with(
        &test_lab::labs(),
        &test_lab::machine(),
        Peers::default(),
        &probe,
        &args,
    )
}

fn at(clock: u32, reasons: &[ThrottleReason]) -> Reading {
    Reading {
        sm_clock_mhz: Some(clock),
        temperature_c: Some(50),
        power_w: Some(300.0),
        throttled_by: Some(BTreeSet::from_iter(reasons.iter().copied())),
        compute_processes: Some(1),
        ..Reading::default()
    }
}

#[test]
fn samples_under_throttling_are_discarded_and_said() {
    let run = watched(|index| match index % 8 {
        2 => at(1200, &[ThrottleReason::HardwareThermal]),
        _ => at(1980, &[]),
    });
    let figures = run.figures(0);
    assert!(figures.is_result(), "{:?}", figures.run.doubts);
    assert!(
        figures.run.samples_s.len() >= stats::RESULT_SAMPLES && !figures.run.discarded.is_empty()
    );
    assert_eq!(figures.run.discarded[0].reason, "heat (hardware)");
    let conditions = figures.on_device.conditions.as_ref().unwrap();
    assert_eq!(conditions.sm_clock_mhz, Some([1200, 1980]));
    assert!(
        run.text.contains("discarded: heat (hardware)"),
        "{}",
        run.text
    );
    let note = "cuda while timed: SM 1200 to 1980 MHz, 50 C, 300 W";
    assert!(run.text.contains(note), "{}", run.text);
    assert!(
        run.text.contains("Adder 9000, driver 580.65.06"),
        "{}",
        run.text
    );
    let trace = &run.results.as_ref().unwrap().cases[0].traces[0];
    assert!(trace.device == "cuda" && trace.samples.len() >= 2);
}

#[test]
fn what_is_throttled_throughout_is_withheld() {
    let run = watched(|_| at(1200, &[ThrottleReason::PowerCap]));
    let figures = run.figures(0);
    assert!(!figures.is_result());
    assert!(
        matches!(figures.run.doubts[..], [Doubt::Discarded { .. }]),
        "{:?}",
        figures.run.doubts
    );
    assert!(run.text.contains("  withheld  "), "{}", run.text);
    assert!(run.text.contains("withheld: "), "{}", run.text);
    assert!(
        run.text.contains("were taken under power cap"),
        "{}",
        run.text
    );
}

#[test]
fn a_second_process_is_said() {
    let run = watched(|_| Reading {
        compute_processes: Some(2),
        ..at(1980, &[])
    });
    assert_eq!(run.figures(0).run.doubts, [Doubt::Shared { processes: 2 }]);
    let note = "naive on cuda: 2 processes compute on the device; end the others";
    assert!(run.text.contains(note), "{}", run.text);
}
