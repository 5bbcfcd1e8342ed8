//! Every form of one grade that has everything in it.

use std::collections::BTreeMap;

use super::*;
use crate::grade::diagnose::{Allowed, Axis, Diagnosis, Evidence, diagnose};
use crate::grade::kind::Kind;
use crate::grade::verdict::*;
use crate::terminal::Look;

/// A text as a hostile submission would choose it.
const EVIL: &str = "\x1b[2J<script>alert(1)</script>";

fn case(name: &str, group: Group, status: Status) -> CaseGrade {
    CaseGrade {
        name: name.to_owned(),
        group,
        points: 2.5,
        earned: if status == Status::Passed { 2.5 } else { 0.0 },
        status,
        samples: 3,
        counts: BTreeMap::new(),
        checks: None,
    }
}

fn timed(case: &str, status: PerformanceStatus, earned: f64) -> PerformanceGrade {
    let times = |median_s: f64| Times {
        median_s,
        samples_s: vec![0.99 * median_s, median_s, 1.02 * median_s],
        discarded: 0,
    };
    let is_measured = status == PerformanceStatus::Measured;
    PerformanceGrade {
        case: case.to_owned(),
        against: Against::Reference {
            variant: "shmem".to_owned(),
        },
        points: 40.0,
        earned,
        zero: 0.2,
        full: 0.9,
        status,
        ratio: is_measured.then_some(Interval {
            value: 0.72,
            low: 0.715,
            high: 0.726,
            confidence: 0.95,
        }),
        submission: is_measured.then(|| times(750e-6)),
        reference: is_measured.then(|| times(540e-6)),
        limit: None,
    }
}

fn diagnosis() -> Diagnosis {
    let expected: Vec<f32> = (0..37 * 53)
        .map(|index| 1.0 + index as f32 / 4096.0)
        .collect();
    let got = expected
        .iter()
        .enumerate()
        .map(|(index, value)| if index % 37 >= 32 { 0.5 } else { *value });
    let got = vec![("u1".to_owned(), got.collect::<Vec<f32>>().into())];
    let axis = |name: &str, extent| Axis {
        name: name.to_owned(),
        extent,
    };
    diagnose(&Evidence {
        axes: &|_| vec![axis("x", 37), axis("y", 53)],
        expected: &vec![("u1".to_owned(), expected.into())],
        got: &got,
        allowed: Allowed::Exact,
        inputs: &Vec::new(),
        before: &Vec::new(),
        steps: None,
        after_steps: None,
        rerun: None,
    })
    .unwrap()
}

/// A grade with everything in it.
pub fn full() -> GradeReport {
    let submission = SubmissionId {
        name: format!("ada {EVIL}"),
        sha256: Some("ab".repeat(32)),
    };
    let mut report = GradeReport::new(submission, "wave2d", "emulated");
    report.elapsed_s = 12.5;
    let wrong = Failing::new(Kind::WrongResult, "`u1` is not what the reference computes")
        .with_sample(2)
        .with_diagnosis(diagnosis());
    let race = Failing::new(Kind::Race, EVIL).with_sanitizer("race at line 12:\n  thread 3 stored");
    report.cases = vec![
        case("square-64", Group::Small, Status::Passed),
        case("odd-37x53", Group::Small, Status::Failed(wrong)),
        case("tall", Group::Hidden, Status::Failed(race)),
    ];
    let no_gpu = PerformanceStatus::NotGradedHere {
        reason: "no CUDA device: libcuda.so.1 not found".to_owned(),
    };
    let impossible = Failing::new(
        Kind::ImpossibleSpeed,
        "90 TB/s on a device that copies 3 TB/s",
    );
    report.performance = vec![
        timed("large-3201", PerformanceStatus::Measured, 29.71),
        timed("large-801", no_gpu, 0.0),
        timed("large-1601", PerformanceStatus::Failed(impossible), 0.0),
    ];
    report.protections = vec![Protection {
        name: "landlock".to_owned(),
        in_force: false,
        detail: "the kernel has none".to_owned(),
    }];
    report.notes = vec![format!("a note {EVIL}")];
    report.with_totals()
}

fn refused() -> GradeReport {
    let submission = SubmissionId {
        name: "bob".to_owned(),
        sha256: None,
    };
    let mut report = GradeReport::new(submission, "wave2d", "emulated");
    let failing = Failing::new(
        Kind::CompileError,
        "error[E0425]: cannot find `x`\n --> kernels.rs:3:5",
    );
    report.cases = vec![case(
        "square-64",
        Group::Small,
        Status::Failed(failing.clone()),
    )];
    report.refused = Some(failing);
    report.with_totals()
}

#[test]
fn on_a_terminal() {
    insta::assert_snapshot!(terminal::render(&full(), Look::PLAIN));
    insta::assert_snapshot!(terminal::render(&refused(), Look::PLAIN), @r"
    wave2d  bob  on emulated

      submission [compile_error]
        error[E0425]: cannot find `x`
         --> kernels.rs:3:5

      0 / 2.5 points
    ");
}

#[test]
fn what_the_emulated_device_did_beside_a_gpu_is_shown() {
    let mut report = full();
    report.device = "cuda".to_owned();
    report.cases[0].checks = Some(Checks::Whole);
    report.cases[1].checks = Some(Checks::NotMade {
        reason: format!("it has no `wgmma` {EVIL}"),
    });
    let Status::Failed(race) = &mut report.cases[2].status else {
        panic!("failed")
    };
    race.device = Some("emulated".to_owned());
    report.cases[2].checks = Some(Checks::Whole);
    report.cases.push(CaseGrade {
        checks: Some(Checks::Sampled),
        ..case("large-3201", Group::Large, Status::Passed)
    });
    insta::assert_snapshot!(terminal::render(&report, Look::PLAIN));
    let html = html::page(&report);
    for text in [
        "<th>checks</th>",
        "samples clean",
        "Not checked on the emulated device: odd-37x53: it has no",
        "on device emulated: ",
    ] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn for_gradescope() {
    let text = serde_json::to_string_pretty(&gradescope::results(&full())).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn nothing_from_a_submission_acts() {
    let report = full();
    for text in [
        terminal::render(&report, Look::PLAIN),
        html::page(&report),
        serde_json::to_string(&gradescope::results(&report)).unwrap(),
    ] {
        assert!(!text.contains('\x1b'), "{text:?}");
    }
    let html = html::page(&report);
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;"));
}

#[test]
fn the_page_shows_pictures_and_plots() {
    let html = html::page(&full());
    assert!(html.contains("src=\"data:image/png;base64,iVBOR"));
    assert_eq!(html.matches("<svg").count(), 1);
    for text in [
        "29.71 / 40",
        "0.720 (0.715 to 0.726)",
        "first at x = 32, y = 0",
        "landlock",
    ] {
        assert!(html.contains(text), "{text}");
    }
}

#[test]
fn endings() {
    assert_eq!(ending(&full()), Ending::Wrong);
    let mut report = full();
    report.cases.truncate(1);
    report.performance.truncate(2);
    assert_eq!(ending(&report.clone().with_totals()), Ending::NotGraded);
    report.performance.truncate(1);
    assert_eq!(ending(&report.with_totals()), Ending::Fine);
}

#[test]
fn every_file_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| Some(folder.path().join(name));
    let args = ReportArgs {
        json: path("report.json"),
        html: path("report.html"),
        gradescope: path("results.json"),
        heat_maps: path("pictures"),
    };
    let files = args.open().unwrap();
    let mut text = Vec::new();
    let ending = files.write(&full(), &mut Out::new(&mut text, Look::PLAIN));
    assert_eq!(ending, Ok(Ending::Wrong));
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let report: GradeReport = serde_json::from_slice(&read("report.json")).unwrap();
    assert_eq!(report.totals, full().totals);
    assert!(read("report.html").starts_with(b"<!DOCTYPE html>"));
    assert!(read("results.json").starts_with(b"{\n  \"score\""));
    assert!(read("pictures/odd-37x53.png").starts_with(b"\x89PNG"));
}
