//! Every form of one grade that has everything in it.

use std::collections::BTreeMap;

use super::*;
use ::terminal::look::Look;
use forge::ForgeArgs;
use grading::diagnose::{Axis, Diagnosis, Evidence, diagnose};
use grading::lab_spec::{Against, Group};
use grading::outcome::{Failure, Kind, NoResult, Outcome};
use grading::report::*;

/// A text as a hostile submission would choose it.
const EVIL: &str = "\x1b[2J<script>alert(1)</script>";

fn case(name: &str, group: Group, status: Outcome) -> CaseGrade {
    CaseGrade {
        name: name.to_owned(),
        group,
        points: 2.5,
        earned: if status == Outcome::Passed { 2.5 } else { 0.0 },
        status,
        samples: 3,
        counts: BTreeMap::new(),
        checks: None,
        printed: String::new(),
    }
}

fn timed(case: &str, status: Outcome, earned: f64) -> PerformanceGrade {
    let times = |median_s: f64| Times {
        median_s,
        samples_s: vec![0.99 * median_s, median_s, 1.02 * median_s],
        discarded: 0,
    };
    let is_measured = status == Outcome::Measured;
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
        tolerance: &|_| None,
        inputs: &Vec::new(),
        before: &Vec::new(),
        steps: None,
        after_steps: None,
        again: None,
        stores: None,
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
    let wrong = Failure::new(Kind::WrongResult, "`u1` is not what the reference computes")
        .with_sample(2)
        .with_diagnosis(diagnosis());
    let race = Failure::new(Kind::Race, EVIL).with_sanitizer("race at line 12:\n  thread 3 stored");
    let mut counted = case("square-64", Group::Small, Outcome::Passed);
    counted.counts = BTreeMap::from([
        ("launches".to_owned(), 1),
        ("warp_instructions".to_owned(), 98_765),
        ("global_sectors".to_owned(), 1234),
    ]);
    report.cases = vec![
        counted,
        case("odd-37x53", Group::Small, Outcome::Failed(wrong.clone())),
        case("tall", Group::Hidden, Outcome::Failed(race)),
        case(
            "odd-37x54",
            Group::Small,
            Outcome::Failed(wrong.with_sample(0)),
        ),
    ];
    let no_gpu = Outcome::NotGradedHere {
        reason: "no CUDA device: libcuda.so.1 not found".to_owned(),
    };
    let impossible = Failure::new(
        Kind::ImpossibleSpeed,
        "90 TB/s on a device that copies 3 TB/s",
    );
    report.performance = vec![
        timed("large-3201", Outcome::Measured, 29.71),
        timed("large-801", no_gpu, 0.0),
        timed("large-1601", Outcome::Failed(impossible), 0.0),
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
    let failing = Failure::new(
        Kind::CompileError,
        "error[E0425]: cannot find `x`\n --> kernels.rs:3:5",
    );
    report.cases = vec![case(
        "square-64",
        Group::Small,
        Outcome::Failed(failing.clone()),
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
fn a_terminal_with_colours_shows_the_compilers_messages_in_colours() {
    let mut report = refused();
    let message = "kernels.rs does not compile:\nerror[E0425]: cannot find `x`\n  --> kernels.rs:3:5\n   |\n 3 |     x ^ y\n   |     ^ not found";
    report.refused = Some(Failure::new(Kind::CompileError, message));
    let colour = Look {
        colour: true,
        ..Look::PLAIN
    };
    let (plain, shown) = (
        terminal::render(&report, Look::PLAIN),
        terminal::render(&report, colour),
    );
    let bad = |text: &str| colour.bad(text);
    for (line, painted) in [
        (
            "error[E0425]: cannot",
            format!("{}: cannot", bad("error[E0425]")),
        ),
        (
            "  --> kernels",
            format!("  {} kernels", colour.faint("-->")),
        ),
        (
            " 3 |     x ^ y",
            format!(" {}     x ^ y", colour.faint("3 |")),
        ),
        (
            "   |     ^ not",
            format!("   {}{}", colour.faint("|"), bad("     ^ not found")),
        ),
    ] {
        assert!(plain.contains(line), "{plain}");
        assert!(shown.contains(&painted), "{painted:?} in {shown:?}");
    }
}

#[test]
fn what_the_emulated_device_did_beside_a_gpu_is_shown() {
    let mut report = full();
    report.device = "cuda".to_owned();
    report.cases[0].checks = Some(Checks::Whole);
    report.cases[1].checks = Some(Checks::by_submission(format!("it has no `wgmma` {EVIL}")));
    let Outcome::Failed(race) = &mut report.cases[2].status else {
        panic!("failed")
    };
    race.device = Some("emulated".to_owned());
    report.cases[2].checks = Some(Checks::Whole);
    report.cases.push(CaseGrade {
        checks: Some(Checks::Sampled),
        ..case("large-3201", Group::Large, Outcome::Passed)
    });
    insta::assert_snapshot!(terminal::render(&report, Look::PLAIN));
    let html = html::page(&report, None);
    for text in [
        "<th>checks</th>",
        "samples clean",
        "Not checked on the emulated device: odd-37x53: it has no",
        "on device emulated: ",
    ] {
        assert!(html.contains(text), "{text}");
    }
    let by_luck = Failure::new(
        Kind::WrongResult,
        "`c` is wrong; correct on the GPU only by chance",
    );
    report.cases[2].status = Outcome::Failed(by_luck.with_device("emulated"));
    let text = terminal::render(&report, Look::PLAIN);
    assert!(text.contains("on device emulated: `c` is wrong; correct on the GPU only by chance"));
    assert!(text.contains("not checked on the emulated device: odd-37x53: it has no"));
}

#[test]
fn for_gradescope() {
    let text = serde_json::to_string_pretty(&gradescope::results(&full())).unwrap();
    insta::assert_snapshot!(text);
}

/// As Gradescope documents the format: gradescope-autograders.readthedocs.io/en/latest/specs.
fn assert_is_for_gradescope(results: &serde_json::Value) {
    const VISIBILITY: [&str; 4] = ["hidden", "after_due_date", "after_published", "visible"];
    const FORMAT: [&str; 5] = ["text", "html", "simple_format", "md", "ansi"];
    let is_one_of =
        |value: &serde_json::Value, of: &[&str]| of.contains(&value.as_str().unwrap_or("no text"));
    let is_count = |value: &serde_json::Value| value.as_f64().is_some_and(|value| value >= 0.0);
    for (key, value) in results.as_object().unwrap() {
        let is_right = match key.as_str() {
            "score" => is_count(value),
            "output" => value.is_string(),
            "output_format" | "test_output_format" | "test_name_format" => {
                is_one_of(value, &FORMAT)
            }
            "visibility" | "stdout_visibility" => is_one_of(value, &VISIBILITY),
            "tests" => value.is_array(),
            other => panic!("no field of the format: {other}"),
        };
        assert!(is_right, "{key}: {value}");
    }
    let mut sum = 0.0;
    for test in results["tests"].as_array().unwrap() {
        for (key, value) in test.as_object().unwrap() {
            let is_right = match key.as_str() {
                "score" | "max_score" => is_count(value),
                "status" => is_one_of(value, &["passed", "failed"]),
                "name" | "output" => value.is_string(),
                "visibility" => is_one_of(value, &VISIBILITY),
                other => panic!("no field of the format: {other}"),
            };
            assert!(is_right, "{key}: {value}");
        }
        // A test without points only informs; hidden ones may be nothing else, or no total is
        // shown.
        assert_eq!(test.get("score").is_some(), test.get("max_score").is_some());
        assert!(test["visibility"] != "hidden" || test.get("score").is_none());
        if let (Some(score), Some(max)) = (test.get("score"), test.get("max_score")) {
            assert!(score.as_f64() <= max.as_f64(), "{test}");
            sum += score.as_f64().unwrap();
        }
    }
    // It overrides the sum of the tests' scores, so it had better be the same.
    let score = results["score"]
        .as_f64()
        .expect("a total is required where a test has no score");
    assert!((score - sum).abs() < 1e-9, "{score} is not {sum}");
}

/// All texts that students can read at any time, or once grades are published.
fn shown_to_students(results: &serde_json::Value) -> String {
    assert_eq!(results["stdout_visibility"], "hidden");
    let tests = results["tests"].as_array().unwrap().iter();
    let shown = tests.filter(|test| test["visibility"] != "hidden");
    let texts = shown.map(|test| test["output"].as_str().unwrap());
    let output = results["output"].as_str().unwrap();
    std::iter::once(output)
        .chain(texts)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn gradescope_s_format_is_kept() {
    for report in [full(), refused(), secretly_refused()] {
        let results = serde_json::to_value(gradescope::results(&report)).unwrap();
        assert_is_for_gradescope(&results);
    }
}

/// A recorder that panics with what it was told of a hidden case.
fn secretly_refused() -> GradeReport {
    let mut report = refused();
    let failing = Failure::new(
        Kind::RecorderFailed,
        "launch.rs: recording panicked: n is 131",
    )
    .with_hidden_cases_known();
    for case in &mut report.cases {
        case.status = Outcome::Failed(failing.clone());
    }
    report.refused = Some(failing);
    report.with_totals()
}

#[test]
fn students_are_told_nothing_of_hidden_cases() {
    let mut report = full();
    let name = "tall";
    let hidden = report
        .cases
        .iter_mut()
        .find(|case| case.name == name)
        .unwrap();
    let failing = Failure::new(Kind::WrongResult, "`u` is wrong in 265 of 8646 elements");
    hidden.status = Outcome::Failed(failing.with_diagnosis(diagnosis()));
    // Cases that students know are shown in full.
    report.cases.retain(|case| case.group == Group::Hidden);
    let results = serde_json::to_value(gradescope::results(&report)).unwrap();
    let shown = shown_to_students(&results);
    for secret in ["265", "1,961", "x = 32", "--seed", "note"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    assert!(shown.contains("[wrong_result]"));
    let safe = student::safe(&report);
    for text in [html::page(&safe, None), json(&safe).unwrap()] {
        for secret in [
            "265 of",
            "1,961",
            "x = 32",
            "--seed",
            "landlock",
            "image/png",
        ] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert!(
            text.contains("wrong_result") && text.contains("tall"),
            "{text}"
        );
    }
    assert_eq!(safe.totals, report.totals);
    let tests = results["tests"].as_array().unwrap();
    let told = tests.last().unwrap()["output"].as_str().unwrap();
    assert!(
        told.contains("tall: ") && told.contains("265 of 1,961"),
        "{told}"
    );

    let of_refused = serde_json::to_value(gradescope::results(&secretly_refused())).unwrap();
    let refused = shown_to_students(&of_refused);
    assert!(!refused.contains("131"), "{refused}");
    assert!(refused.contains("the instructor can see how"), "{refused}");
    assert!(of_refused["tests"].to_string().contains("n is 131"));
    let safely_refused = student::safe(&secretly_refused());
    for text in [
        html::page(&safely_refused, None),
        json(&safely_refused).unwrap(),
    ] {
        assert!(!text.contains("131"), "{text}");
        assert!(text.contains("the instructor can see how"), "{text}");
    }
}

/// A recorder could end in another way for each of the parameters that it is asked for: nothing but
/// that it failed is shown, and nothing of how long it took.
#[test]
fn in_whichever_way_recording_a_hidden_case_fails_students_see_the_same() {
    let shown = |kind: Kind, message: &str, seconds: f64| {
        let mut report = secretly_refused();
        let failing = Failure::new(kind, message).with_hidden_cases_known();
        for case in &mut report.cases {
            case.status = Outcome::Failed(failing.clone());
        }
        for timed in &mut report.performance {
            timed.status = Outcome::Failed(failing.clone());
        }
        report.refused = Some(failing);
        report.elapsed_s = seconds;
        let mut results = serde_json::to_value(gradescope::results(&report.with_totals())).unwrap();
        let tests = results["tests"].as_array_mut().unwrap();
        tests.retain(|test| test["visibility"] != "hidden");
        results
    };
    let panicked = shown(Kind::RecorderFailed, "panicked: n is 131", 1.5);
    for kind in [
        Kind::RecorderTimedOut,
        Kind::RecorderLimit,
        Kind::PlanMalformed,
        Kind::PlanInvalid,
    ] {
        assert_eq!(shown(kind, "another", 20.5), panicked, "{kind}");
    }
    assert!(
        !panicked.to_string().contains("recorder_failed"),
        "{panicked}"
    );
}

#[test]
fn points_that_the_submission_keeps_from_being_graded_stay_in_the_total() {
    let mut report = full();
    let reason = "`secret.foo` is not known";
    for case in &mut report.cases {
        (case.status, case.earned) = match case.group {
            Group::Hidden => (NoResult::undecided(reason).into(), 0.0),
            _ => (Outcome::Passed, case.points),
        };
    }
    report.performance.clear();
    let report = report.with_totals();
    let totals = report.totals;
    assert!(totals.undecided > 0.0 && totals.earned < totals.graded());
    assert!(report.is_right() && !report.is_complete());
    assert_eq!(ending(&report), Ending::NotGraded);
    for text in [
        terminal::render(&report, Look::PLAIN),
        terminal::brief(&report, Look::PLAIN),
    ] {
        let undecided = text.find("undecided here: tall: `secret.foo`").unwrap();
        assert!(undecided < text.find(" / ").unwrap(), "{text}");
        assert!(text.contains("of them undecided"), "{text}");
    }
    assert!(html::page(&report, None).contains("Undecided here: tall"));
    let results = serde_json::to_value(gradescope::results(&report)).unwrap();
    assert_is_for_gradescope(&results);
    // How many points of hidden cases that are, and why, would tell of them.
    let shown = shown_to_students(&results);
    assert!(
        !shown.contains("secret.foo") && !shown.contains("points undecided"),
        "{shown}"
    );
    assert!(!results["output"].as_str().unwrap().contains("undecided"));
    assert!(results["tests"].to_string().contains("secret.foo"));
    let most: f64 = results["tests"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|test| test["max_score"].as_f64())
        .sum();
    assert_eq!(most, totals.graded());
}

#[test]
fn failures_that_look_the_same_are_told_once() {
    let text = terminal::render(&full(), Look::PLAIN);
    assert!(text.contains("    alike: odd-37x54"), "{text}");
    assert_eq!(text.matches("first at x = 32").count(), 1, "{text}");
    // Other numbers are no other look, another kind is.
    let fault = |kind, sanitizer: &str| Failure::new(kind, "fault").with_sanitizer(sanitizer);
    let a = fault(Kind::OutOfBounds, "plan `a`\nin kernel k: 4 bytes at 128");
    let b = fault(Kind::OutOfBounds, "plan `b`\nin kernel k: 4 bytes at 3600");
    let c = fault(Kind::OutOfBounds, "plan `c`\nin another: 4 bytes at 128");
    let d = fault(Kind::Race, "plan `d`\nin kernel k: 4 bytes at 128");
    let failures = [("a", &a), ("b", &b), ("c", &c), ("d", &d)]
        .map(|(name, failing)| (vec![name.to_owned()], failing));
    let different = figures::alike(failures.to_vec());
    let names: Vec<_> = different
        .iter()
        .map(|(names, _, alike)| (&names[0][..], alike.len()))
        .collect();
    assert_eq!(names, [("a", 1), ("c", 0), ("d", 0)]);
}

#[test]
fn what_the_emulated_device_says_is_said_once() {
    let trap = "plan `p`, command 0 (launch of `k`): trap: a panic";
    let said =
        "plan `p`, command 0 (launch of `k`)\ntrap: a panic\n  in kernel `k` at kernels.rs:3";
    let failing = Failure::new(Kind::KernelFault, trap).with_sanitizer(said);
    insta::assert_snapshot!(figures::explanation(&failing.with_sample(1)).join("\n"), @"
    in sample 1, those before were right: the emulated device says:
      plan `p`, command 0 (launch of `k`)
      trap: a panic
        in kernel `k` at kernels.rs:3
    ");
}

#[test]
fn nothing_from_a_submission_acts() {
    let report = full();
    for text in [
        terminal::render(&report, Look::PLAIN),
        html::page(&report, None),
        serde_json::to_string(&gradescope::results(&report)).unwrap(),
    ] {
        assert!(!text.contains('\x1b'), "{text:?}");
    }
    let html = html::page(&report, None);
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;"));
}

#[test]
fn the_page_shows_pictures_and_plots() {
    let html = html::page(&full(), None);
    assert!(html.contains("src=\"data:image/png;base64,iVBOR"));
    assert_eq!(html.matches("class=\"broad\"").count(), 1);
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
    let path = |name: &str| Some(folder.path().join(name).into());
    let args = ReportArgs {
        json: path("report.json"),
        html: path("report.html"),
        gradescope: path("results.json"),
        student_report: ["student.json", "student.html"]
            .map(|name| folder.path().join(name).into())
            .to_vec(),
        heat_maps: path("pictures"),
        brief: true,
        counts: true,
        forge: ForgeArgs::default(),
        replay: ReplayArgs::default(),
    };
    let files = args.open().unwrap();
    let mut text = Vec::new();
    let ending = files.write(
        Path::new("ada"),
        &full(),
        &mut Out::new(&mut text, Look::PLAIN),
    );
    assert_eq!(ending, Ok(Ending::Wrong));
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("265 of 1,961") && !text.contains("landlock"),
        "brief: {text}"
    );
    let counts = text.lines().find(|line| line.contains("square-64"));
    assert_eq!(counts.unwrap().split_whitespace().nth(3), Some("1,234"));
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let report: GradeReport = serde_json::from_slice(&read("report.json")).unwrap();
    assert_eq!(report.totals, full().totals);
    assert!(read("report.html").starts_with(b"<!DOCTYPE html>"));
    let student_report: GradeReport = serde_json::from_slice(&read("student.json")).unwrap();
    assert_eq!(student_report, student::safe(&full()));
    assert!(read("student.html").starts_with(b"<!DOCTYPE html>"));
    assert!(read("results.json").starts_with(b"{\n  \"score\""));
    assert!(read("pictures/odd-37x53.png").starts_with(b"\x89PNG"));
}

#[test]
fn a_list_of_names_says_how_many_more_there_are() {
    let all = ["a", "b", "c"].map(str::to_owned);
    assert_eq!(figures::names(&all, 3), "a, b, c");
    assert_eq!(figures::names(&all, 2), "a, b and 1 more");
}
