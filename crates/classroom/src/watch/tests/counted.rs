//! Key `c`: counts per update, beside the save before and the handout.

use grading::lab_spec::COUNTED;

use super::sessions::{at, right, version};
use super::*;

fn matadd() -> Screen {
    let hints = embedded_hints("matadd").unwrap();
    let counted = hints.counted().unwrap();
    let visible = embedded("matadd").unwrap();
    let alone = visible.counted_alone(counted).unwrap();
    assert_eq!(alone.cases.len(), 1);
    Screen::new(Subject {
        lab: "matadd".to_owned(),
        problem: "matadd",
        folder: "labs/matadd/starter".to_owned(),
        needs_lab_flag: false,
        device: "emulated".to_owned(),
        hints,
        yardstick: Yardstick::new(&[Some(visible), Some(&alone)], &counted.figures),
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
fn a_wrong_kernel_reaches_nothing() {
    let mut wrong_one = counted(1, None);
    wrong_one.cases[1].status = Outcome::Failed(wrong());
    let text = seen_of([counted(37, None), wrong_one]);
    assert!(
        text.contains("no counts") && !text.contains("reached"),
        "{text}"
    );
    // A figure of the handout is for a case of its size.
    let mut small = counted(1, None);
    small.cases[1].name = "wide".to_owned();
    let of_small = seen_of([small]);
    assert!(of_small.contains("per update, wide") && !of_small.contains("step 11"));
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
fn counts_come_after_the_verdict_and_of_right_results_alone() {
    let mut session = Session::new(matadd());
    assert_eq!(session.polled(version(0), at(0)), Some(Action::Grade(1)));
    // While it grades, there is nothing to count.
    assert_eq!(session.key(b'c', at(10)), None);
    session.graded(1, Ok(report(&[("one-step", race())])), at(900));
    // A wrong result is not counted.
    assert_eq!(session.counted_next(at(900)), None);
    assert_eq!(session.key(b'\n', at(1000)), Some(Action::Grade(2)));
    session.graded(2, right(), at(900));
    assert_eq!(session.counted_next(at(1900)), Some(Action::Count(3)));
    // The verdict stands meanwhile.
    let time = session.grading_for(at(2900));
    let meanwhile = session.screen.full(Look::PLAIN, 80, 24, time, true);
    let meanwhile = meanwhile.join("\n");
    assert!(
        meanwhile.contains("All cases here are right."),
        "{meanwhile}"
    );
    assert!(
        meanwhile.contains("counting a case of part 2, 1 s"),
        "{meanwhile}"
    );
    let mut alone = counted(37, None);
    alone.cases.remove(0);
    session.graded(3, Ok(alone), at(800));
    assert!(seen(&session.screen).contains("per update, part-2"));
    assert_eq!(session.counted_next(at(3000)), None);
    // Off and on again: it has been counted.
    assert_eq!(session.key(b'c', at(3100)), None);
    assert_eq!(session.key(b'c', at(3200)), None);
    // A save drops the counting, too.
    assert_eq!(session.polled(version(1), at(4000)), None);
    assert_eq!(session.polled(version(1), at(4100)), Some(Action::Grade(4)));
}
