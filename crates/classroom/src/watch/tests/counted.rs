//! Key `c`: counts per update, beside the save before and the handout.

use grading::lab_spec::{COUNTED, LabSpec};

use super::sessions::{at, right, version};
use super::*;

/// Matadd, as students have it, with the case that its handout counts.
fn lab() -> LabSpec {
    let counted = embedded_hints("matadd").unwrap().counted().unwrap();
    let visible = embedded("matadd").unwrap().without_hidden_cases().unwrap();
    visible.with_counted(counted).unwrap()
}

fn matadd() -> Screen {
    let hints = embedded_hints("matadd").unwrap();
    Screen::new(Subject {
        lab: "matadd".to_owned(),
        folder: "labs/matadd/starter".to_owned(),
        needs_lab_flag: false,
        device: "emulated".to_owned(),
        hints,
        yardstick: Yardstick::new(&lab(), &hints.counted().unwrap().figures),
        has_counted: true,
    })
}

/// A report whose last case, of 2048 x 2048 elements, took these instructions for each.
fn counted(per_element: u64, failing: Option<Failure>) -> GradeReport {
    let mut graded = report(&[]);
    graded.lab = "matadd".to_owned();
    graded.cases.truncate(1);
    let warps = 2048 * 2048 / 32;
    let counts = [
        ("warp_instructions", per_element * warps),
        ("global_sectors", 12 * warps),
        ("ideal_global_sectors", 12 * warps),
        ("bank_conflicts", 0),
    ];
    let mut case = graded.cases[0].clone();
    case.name = COUNTED.to_owned();
    case.points = 0.0;
    case.counts = counts
        .map(|(name, number)| (name.to_owned(), number))
        .into();
    graded.cases.push(case);
    if let Some(failure) = failing {
        for failed in &mut graded.cases {
            failed.status = Outcome::Failed(failure.clone());
            failed.counts = BTreeMap::new();
        }
    }
    graded.with_totals()
}

fn seen_of(reports: impl IntoIterator<Item = GradeReport>) -> String {
    let mut screen = matadd();
    screen.toggle_counts();
    for graded in reports {
        screen.show(graded, &files(), Duration::from_millis(1430));
    }
    sized(&screen, 80, 24)
}

#[test]
fn counts_stand_beside_the_save_before_and_the_handout() {
    assert_snapshot!(seen_of([counted(37, None), counted(15, None)]));
    // Reached, or not by far; a save that fails between is passed over.
    let row = |reports: Vec<GradeReport>| {
        let text = seen_of(reports);
        let row = text.lines().find(|line| line.contains("instructions  "));
        row.expect("a row of instructions").trim().to_owned()
    };
    let rows = [
        row(vec![counted(60, None)]),
        row(vec![counted(37, None)]),
        row(vec![
            counted(37, None),
            counted(0, Some(race())),
            counted(9, None),
        ]),
    ];
    assert_snapshot!("rows", rows.join("\n"));
}

#[test]
fn counts_never_hide_a_fault() {
    let text = seen_of([counted(37, None), counted(0, Some(race()))]);
    for shown in [
        "race in global memory",
        "earlier store",
        ">   7 |",
        "next: ",
    ] {
        assert!(text.contains(shown), "{shown}:\n{text}");
    }
    assert!(text.contains("no counts: "));
    // Another case fails: both have room, but the fault first.
    let mut graded = counted(15, None);
    graded.cases[0].status = Outcome::Failed(race());
    assert_snapshot!(seen_of([counted(37, None), graded.with_totals()]));
}

#[test]
fn the_key_counts_again_where_the_case_was_not_run() {
    let mut session = Session::new(matadd());
    assert_eq!(session.polled(version(0), at(0)), Some(Action::Grade(1)));
    session.graded(1, right(), at(900));
    assert!(!session.screen.is_counting());
    assert_eq!(session.key(b'c', at(1000)), Some(Action::Grade(2)));
    assert!(session.screen.is_counting());
    session.graded(2, Ok(counted(37, None)), at(900));
    // Off and on again: it has been counted.
    assert_eq!(session.key(b'c', at(2000)), None);
    assert_eq!(session.key(b'c', at(2100)), None);
}
