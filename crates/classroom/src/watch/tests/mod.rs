//! The screen, at 80 columns and at other sizes; and the folder.

mod counted;
mod mapped;
mod page;
mod sessions;

use std::collections::BTreeMap;

use super::*;
use device::NamedBuffers;
use grading::diagnose::{Axis, Diagnosis, Evidence, diagnose};
use grading::lab_spec::{Group, embedded, embedded_hints};
use grading::outcome::{Failure, Kind, Memory, NoResult, Outcome};
use grading::report::{CaseGrade, SubmissionId};
use insta::assert_snapshot;
use terminal::look::Look;

fn screen() -> Screen {
    Screen::new(Subject {
        lab: "wave2d".to_owned(),
        problem: "wave2d",
        folder: "labs/wave2d/starter".to_owned(),
        needs_lab_flag: false,
        device: "emulated".to_owned(),
        hints: embedded_hints("wave2d").unwrap(),
        yardstick: Yardstick::new(&[embedded("wave2d").ok()], &[]),
        has_counted: false,
    })
}

/// A starter's kernel, as far as messages name its lines.
fn files() -> Files {
    let kernels = "use cuda_std::prelude::*;\n\n#[kernel]\npub unsafe fn step(u: *mut f32) {\n    let x = thread::index_1d();\n    \
                   *u.add(x as usize) = 1.0;\n    tile[x] = *u.add(x as usize + 1);\n}\n";
    [kernels, "pub struct Submission;\n"].map(|text| Some(text.as_bytes().to_vec()))
}

/// A report of wave2d's visible cases. These fail.
fn report(failing: &[(&str, Failure)]) -> GradeReport {
    let lab_spec = embedded("wave2d").unwrap().without_hidden_cases().unwrap();
    let id = SubmissionId {
        name: "starter".to_owned(),
        sha256: None,
    };
    let mut report = GradeReport::new(id, "wave2d", "emulated");
    report.seed = Some(7);
    for spec in &lab_spec.cases {
        let failure = failing.iter().find(|(name, _)| *name == spec.name);
        let status = match failure {
            _ if spec.group == Group::Large => {
                NoResult::not_graded_here("large cases are graded on a GPU").into()
            }
            Some((_, failure)) => Outcome::Failed(failure.clone()),
            None => Outcome::Passed,
        };
        let counts = [
            ("launches", 2),
            ("warp_instructions", 12_345),
            ("global_sectors", 678),
        ];
        report.cases.push(CaseGrade {
            name: spec.name.clone(),
            group: spec.group,
            points: spec.points,
            earned: if status == Outcome::Passed {
                spec.points
            } else {
                0.0
            },
            samples: 2,
            printed: String::new(),
            counts: match status {
                Outcome::Passed => counts.map(|(name, count)| (name.to_owned(), count)).into(),
                _ => BTreeMap::new(),
            },
            status,
            checks: None,
        });
    }
    for counted in &lab_spec.counted {
        let case = report.cases.iter().find(|case| case.name == counted.case);
        let graded = grading::report::CountGrade::new(counted, case.unwrap());
        report.counted.push(graded);
    }
    for timed in &lab_spec.performance {
        let status = NoResult::not_graded_here("large cases are graded on a GPU").into();
        report
            .performance
            .push(grading::report::PerformanceGrade::new(timed, status));
    }
    report.with_totals()
}

fn refused(failure: Failure) -> GradeReport {
    let names = report(&[]);
    let cases = names.cases.iter().filter(|case| case.group != Group::Large);
    let failing: Vec<_> = cases
        .map(|case| (case.name.as_str(), failure.clone()))
        .collect();
    GradeReport {
        refused: Some(failure),
        ..report(&failing)
    }
}

fn compile_error() -> Failure {
    Failure::new(
        Kind::CompileError,
        "kernels.rs does not compile:
error[E0308]: mismatched types
 --> kernels.rs:5:18
  |
5 |     let x: u64 = thread::index_1d();
  |            ---   ^^^^^^^^^^^^^^^^^^ expected `u64`, found `u32`
  |            |
  |            expected due to this

error[E0425]: cannot find value `tile` in this scope
 --> kernels.rs:7:5

error: aborting due to 2 previous errors

For more information about an error, try `rustc --explain E0308`.",
    )
}

fn out_of_bounds() -> Failure {
    let said = "plan `one-step`, command 0 (launch of `step`)
out of bounds: store of 4 bytes at offset 3072 of buffer `u` (3072 bytes) reaches 4 bytes past its end (index 768, length 768)
  in kernel `step` at kernels.rs:6 (PTX line 41), block (3, 0, 0), thread (0, 0, 0)";
    Failure::new(
        Kind::OutOfBounds,
        "plan `one-step`, command 0 (launch of `step`): store of 4 bytes at offset 3072 of buffer `u` (3072 bytes) reaches 4 bytes \
         past its end (index 768, length 768)",
    )
    .with_sanitizer(said)
}

fn race() -> Failure {
    let said = "plan `one-step`, command 0 (launch of `step`)
race in global memory: load of byte 132 of buffer `u` and an earlier store by another warp, with no barrier between them
  in kernel `step` at kernels.rs:7 (PTX line 44), block (0, 0, 0), thread (31, 0, 0)
  earlier store at kernels.rs:6 (PTX line 41), block (0, 0, 0), thread (32, 0, 0)";
    let message = "plan `one-step`, command 0 (launch of `step`): load of byte 132 of buffer `u` and an earlier store by another warp, \
                   with no barrier between them";
    let places = [("the fault", 7, 15), ("earlier store", 6, 5)];
    let place =
        |(role, line, column): (&str, _, _)| forge::Place::new(role, "kernels.rs", line, column);
    let mut failure = Failure::new(Kind::Race, message)
        .with_sanitizer(said)
        .with_places(places.map(place).into());
    failure.memory = Some(Memory::Global);
    failure
}

/// The diagnosis of scattered wrong cells.
pub fn diagnosis() -> Diagnosis {
    *wrong().diagnosis.expect("it has one")
}

fn wrong() -> Failure {
    let right = vec![1.0_f32; 32 * 24];
    let is_wrong = |index: usize| index >= 33 && index % 5 == 3;
    let cells = 0..right.len();
    let wrong: Vec<f32> = cells
        .map(|index| if is_wrong(index) { 1.25 } else { 1.0 })
        .collect();
    let [expected, got] = [right, wrong].map(|values| vec![("u1".to_owned(), values.into())]);
    let axis = |name: &str, extent| Axis {
        name: name.to_owned(),
        extent,
    };
    let none: NamedBuffers = Vec::new();
    let found: Option<Diagnosis> = diagnose(&Evidence {
        axes: &|_| vec![axis("x", 32), axis("y", 24)],
        expected: &expected,
        got: &got,
        tolerance: &|_| None,
        inputs: &none,
        before: &none,
        steps: None,
        after_steps: None,
        again: None,
        stores: None,
    });
    Failure::new(Kind::WrongResult, "u1 is wrong").with_diagnosis(found.expect("it is wrong"))
}

fn shown(reports: impl IntoIterator<Item = GradeReport>) -> Screen {
    let mut screen = screen();
    for report in reports {
        screen.show(report, &files(), Duration::from_millis(1430));
    }
    screen
}

/// The screen of a terminal of 80 columns.
fn seen(screen: &Screen) -> String {
    sized(screen, 80, 40)
}

fn sized(screen: &Screen, columns: usize, rows: usize) -> String {
    let lines = screen.full(Look::PLAIN, columns, rows, None, true);
    assert!(lines.len() <= rows, "{} lines", lines.len());
    for line in &lines {
        assert!(line.chars().count() <= columns, "{line}");
    }
    lines.join("\n")
}

#[test]
fn a_compile_error() {
    assert_snapshot!(seen(&shown([refused(compile_error())])));
    // One of ours has no source line in it.
    let ours = "kernels.rs:6:17: this `}` closes no `{`, or another bracket is still open";
    let screen = shown([refused(Failure::new(Kind::CompileError, ours))]);
    assert_snapshot!("an_open_bracket", seen(&screen));
}

#[test]
fn an_access_out_of_bounds() {
    let failing = [("one-step", out_of_bounds()), ("long-row", out_of_bounds())];
    assert_snapshot!(seen(&shown([report(&failing)])));
}

#[test]
fn a_race() {
    assert_snapshot!(seen(&shown([report(&[("one-step", race())])])));
}

#[test]
fn a_wrong_result() {
    let failing = [
        ("one-step", wrong()),
        ("long-row", wrong()),
        ("long-column", race()),
    ];
    assert_snapshot!(seen(&shown([report(&failing)])));
}

#[test]
fn all_right() {
    assert_snapshot!(seen(&shown([report(&[])])));
}

#[test]
fn better_and_worse_than_before() {
    let before = report(&[
        ("one-step", race()),
        ("long-row", race()),
        ("double-slit", race()),
    ]);
    let after = report(&[("double-slit", wrong()), ("long-column", wrong())]);
    assert_snapshot!(seen(&shown([before.clone(), after.clone()])));
    let points = |reports: [&GradeReport; 2]| {
        let screen = shown(reports.map(GradeReport::clone));
        screen.block(Look::PLAIN, 80)[2..6].join("\n")
    };
    assert_snapshot!("worse", points([&after, &before]));
    assert_snapshot!("as_before", points([&after, &after]));
    // Of a submission that does not compile, no case is named.
    assert_snapshot!("refused", points([&after, &refused(compile_error())]));
}

#[test]
fn hints_and_counts_on_request() {
    let mut screen = shown([report(&[("one-step", wrong())])]);
    screen.hint();
    assert_snapshot!(seen(&screen));
    screen.toggle_counts();
    assert_snapshot!("counts", sized(&screen, 80, 24));
    // In a pipe, everything is there.
    let block = screen.block(Look::PLAIN, 80).join("\n");
    assert!(block.contains("next: ") && block.contains("hint 1") && block.contains("per update"));
    for _ in 0..9 {
        screen.hint();
    }
    screen.toggle_counts();
    assert_snapshot!("all_hints", seen(&screen));
    // The same case fails in the same way: the hints stay. Another: they go.
    screen.show(report(&[("one-step", wrong())]), &files(), Duration::ZERO);
    assert!(seen(&screen).contains("hint 3 of 3"));
    screen.show(report(&[("one-step", race())]), &files(), Duration::ZERO);
    assert!(!seen(&screen).contains("hint 1"));
    let mut right = shown([report(&[])]);
    right.hint();
    assert!(seen(&right).contains("no hint: nothing fails"));
}

#[test]
fn a_low_or_narrow_window_keeps_the_next_step_and_the_keys() {
    let screen = shown([report(&[("one-step", race())])]);
    let low = sized(&screen, 80, 22);
    assert_snapshot!(low);
    assert!(low.contains("next:") && low.contains("q quit"));
    sized(&screen, 100, 24);
    assert!(sized(&screen, 40, 60).ends_with("h c a r Enter q"));
    sized(&screen, 40, 5);
}

#[test]
fn a_submission_cannot_write_to_the_terminal() {
    let evil = "x\x1b[2J";
    let mut screen = shown([report(&[("one-step", Failure::new(Kind::Crashed, evil))])]);
    screen.trouble(evil.to_owned());
    assert!(!seen(&screen).contains('\x1b'));
}

// A folder of Windows has no pipes.
#[test]
#[cfg(unix)]
fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("kernels.rs");
    let made = std::process::Command::new("mkfifo").arg(pipe).status();
    assert!(made.unwrap().success());
    std::fs::write(folder.path().join("launch.rs"), "text").unwrap();
    assert_eq!(read(folder.path()), [None, Some(b"text".to_vec())]);
}

// A message quotes paths of Unix.
#[test]
#[cfg(unix)]
fn the_folder_may_be_named_in_many_ways() {
    let course = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let find = |named: &str| folder(Some(Path::new(named)), &course);
    let starter = course.canonicalize().unwrap().join("labs/wave2d/starter");
    for named in ["labs/wave2d/starter", "labs/wave2d"] {
        let found = folder(Some(&course.join(named)), Path::new(".")).unwrap();
        assert_eq!(found.canonicalize().unwrap(), starter);
    }
    assert_eq!(find("wave2d").unwrap(), Path::new("labs/wave2d/starter"));
    let inside = course.join("labs");
    let found = folder(Some(Path::new("wave2d")), &inside).unwrap();
    assert_eq!(found.canonicalize().unwrap(), starter);
    let refused = ["wave2", "/", "/dev/null"].map(|named| find(named).unwrap_err().to_string());
    assert_snapshot!(refused.join("\n"));
}
