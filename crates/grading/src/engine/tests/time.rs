//! Speed, and times that are not believed.

use std::collections::HashSet;

use device::{Side, Stray};

use super::*;

/// Copies of 8 KiB in 10 us: 1.6384 GB/s. The large case moves 12 * 384 bytes: 2.8125 us at that
/// rate.
const COPIES_US: f64 = 10.0;

fn timed(device: &Clocked) -> GradeReport {
    let lab_spec = lab_spec(MATADD);
    graded(&lab_spec, &built_in(&lab_spec, "grid2d_block1d_64"), device)
}

#[test]
fn points_follow_from_the_ratios() {
    let device = Clocked::new(|who, run| {
        // A machine that slows both in turn.
        let slow = 1.0 + 0.3 * f64::from(run % 2);
        match who {
            Who::Submission => 5.625 * slow,
            Who::Reference => 5.625 * slow,
            Who::Copies => COPIES_US,
        }
    });
    let report = timed(&device);
    assert!(report.is_right() && report.is_complete(), "{report:#?}");
    let [reference, limit] = &report.performance[..] else {
        panic!("{report:#?}")
    };
    let ratio = reference.ratio.unwrap();
    assert!((ratio.value - 1.0).abs() < 0.4, "{ratio:?}");
    assert!(ratio.low <= ratio.value && ratio.value <= ratio.high);
    assert!(reference.submission.as_ref().unwrap().samples_s.len() >= 10);
    assert_eq!(limit.limit.unwrap().necessary_bytes, 12 * 384);
    assert!((limit.limit.unwrap().copy_bytes_per_s / 1.6384e9 - 1.0).abs() < 1e-6);
    let expected = limit.points * limit.ratio.unwrap().value;
    assert!((limit.earned - expected).abs() < 1e-9);
    // Every timed sample was compared, and one more for the case.
    let samples =
        [reference, limit].map(|timed| timed.submission.as_ref().unwrap().samples_s.len());
    assert_eq!(
        report.cases[1].samples as usize,
        1 + samples[0] + samples[1]
    );
}

#[test]
fn half_the_speed_earns_what_the_file_says() {
    let device = Clocked::new(|who, _| match who {
        Who::Submission => 8.0,
        Who::Reference => 6.0,
        Who::Copies => COPIES_US,
    });
    let report = timed(&device);
    let [reference, limit] = &report.performance[..] else {
        panic!("{report:#?}")
    };
    assert!((reference.ratio.unwrap().value - 0.75).abs() < 1e-9);
    assert!((reference.earned - 2.5).abs() < 1e-6);
    assert!((limit.ratio.unwrap().value - 2.8125 / 8.0).abs() < 1e-3);
    assert_eq!(reference.submission.as_ref().unwrap().samples_s.len(), 10);
}

fn untrusted(device: &Clocked) -> Failure {
    let report = timed(device);
    // The results are right; only the time is not believed.
    assert!(
        matches!(report.cases[1].status, Outcome::Passed),
        "{report:#?}"
    );
    assert_eq!(report.totals.earned, 5.0);
    let Outcome::Failed(failure) = &report.performance[0].status else {
        panic!("{report:#?}")
    };
    failure.clone()
}

#[test]
fn impossible_speed_is_not_believed() {
    // The bytes take 2.8125 us at the copy's rate, 2.25 us at what nothing exceeds.
    let time_us = |us: f64| {
        Clocked::new(move |who, _| match who {
            Who::Submission => us,
            Who::Reference => 4.0,
            Who::Copies => COPIES_US,
        })
    };
    let failure = untrusted(&time_us(2.2));
    assert_eq!(failure.kind, Kind::ImpossibleSpeed);
    insta::assert_snapshot!(failure.message, @"it took 2.200 us, and this device cannot do the work in less than 2.250 us");
    assert!(timed(&time_us(2.3)).is_right());
}

#[test]
fn clocks_that_disagree_are_not_believed() {
    let mut device = Clocked::new(|who, _| match who {
        Who::Copies => COPIES_US,
        _ => 10.0,
    });
    device.hidden = Duration::from_millis(1);
    assert!(timed(&device).is_right());
    device.hidden = Duration::from_millis(30);
    assert_eq!(untrusted(&device).kind, Kind::ClocksDisagree);
}

/// The reference leaves results of other inputs in shared memory, in L2 and anywhere else.
#[test]
fn no_right_result_is_there_before_the_submission_has_run() {
    let device = Clocked::new(|who, _| match who {
        Who::Copies => COPIES_US,
        _ => 10.0,
    });
    assert!(timed(&device).is_right());
    let log = device.log.lock().unwrap();
    let mut seen = HashSet::new();
    let (mut of_reference, mut after) = (0, 0);
    for (who, inputs) in log.iter() {
        let is_new = seen.insert(*inputs);
        match who {
            Who::Submission => assert!(is_new),
            Who::Reference => {
                of_reference += 1;
                after += u32::from(!is_new);
            }
            Who::Copies => {}
        }
    }
    // The order is random still.
    assert!(
        after > 0 && of_reference > after,
        "{after} of {of_reference}"
    );
}

#[test]
fn every_timed_result_counts() {
    // Right for the small case's two samples, the large one's first, and nine timed ones.
    let mut device = Clocked::new(|who, _| match who {
        Who::Copies => COPIES_US,
        _ => 10.0,
    });
    device.spoiled_from = 12;
    let report = timed(&device);
    assert!(matches!(report.cases[0].status, Outcome::Passed));
    let failure = report.cases[1].status.failure().unwrap();
    assert_eq!((failure.kind, failure.sample), (Kind::WrongLater, Some(9)));
    for timed in &report.performance {
        assert!(timed.status.failure().is_some() && timed.earned == 0.0);
    }
    assert_eq!(report.totals.earned, 2.0);
}

#[test]
fn writes_beside_buffers_fail() {
    let mut device = Clocked::new(|_, _| 10.0);
    device.strays = vec![Stray {
        buffer: "c".to_owned(),
        side: Side::After,
        distance_bytes: 1,
        bytes: 8,
    }];
    let report = timed(&device);
    let failure = report.cases[0].status.failure().unwrap();
    assert_eq!(failure.kind, Kind::GuardOverwritten);
    insta::assert_snapshot!(failure.message, @"8 bytes outside buffer `c` were written, the nearest 1 bytes behind the last byte of it");
}
