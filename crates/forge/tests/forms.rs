//! One report in each form, as its readers see it. `.ci/forms` holds the forms to their schemas.

use forge::{Case, Place, Problem, Report, Verdict, editor, github, junit, sarif};

fn race() -> Problem {
    Problem {
        rule: "race in shared memory".to_owned(),
        message: "race in shared memory: load of element 16384, no barrier between them\n  in kernel `k<4>`, 100 % of \"warps\" & lanes".to_owned(),
        places: vec![
            Place::new("the fault", "my labs/kernels.rs", 337, 13),
            Place::new("called here", "my labs/kernels.rs", 109, 5),
            Place::new("earlier store", "/usr/include/cub.cuh", 298, 0),
        ],
    }
}

fn report() -> Report {
    let without_a_line = Problem {
        rule: "wrong result".to_owned(),
        message: "u[3] is 0, expected 1".to_owned(),
        places: vec![Place::new("the submission", "my labs/kernels.rs", 0, 0)],
    };
    let mut report = Report::new("harness test");
    report.cases = vec![
        Case::new(
            "wave2d mine, emulated",
            "odd-37x53",
            Verdict::Wrong(vec![race()]),
        ),
        Case::new(
            "wave2d mine, emulated",
            "37x54",
            Verdict::Wrong(vec![race(), without_a_line]),
        ),
        Case::new("matadd: a, b", "2x2", Verdict::Right),
        Case::new(
            "matadd: a, b",
            "3x3",
            Verdict::LeftOut("needs \u{1b}[1mmemory".to_owned()),
        ),
    ];
    report
}

#[test]
fn github_shows_each_problem_once_and_each_side_of_a_race() {
    insta::assert_snapshot!(github::annotations(&report()));
}

#[test]
fn an_editor_has_a_line_for_each_place() {
    insta::assert_snapshot!(editor::annotations(&report()));
}

#[test]
fn sarif_has_the_other_side_as_a_related_location() {
    insta::assert_snapshot!(
        format!("{:#}", sarif::log(&report())).replace(env!("CARGO_PKG_VERSION"), "VERSION")
    );
}

#[test]
fn junit_has_each_case_in_its_suite() {
    insta::assert_snapshot!(junit::document(&report()));
}

/// A submission chooses its messages, and an instructor's terminal shows them.
#[test]
fn no_form_passes_on_what_a_terminal_would_obey() {
    let mut hostile = race();
    hostile.message = "x\u{1b}[2J\u{202e}y\u{ffff}".to_owned();
    hostile.rule = "a\u{1b}[1m".to_owned();
    let mut report = Report::new("harness grade");
    let verdict = Verdict::Wrong(vec![hostile]);
    report.cases.push(Case::new("b\u{1b}", "c\u{9b}", verdict));
    for form in [
        editor::annotations(&report),
        github::annotations(&report),
        junit::document(&report),
    ] {
        let is_obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!form.contains(is_obeyed), "{form:?}");
    }
    // XML 1.0, section 2.2.
    assert!(!junit::document(&report).contains('\u{ffff}'));
}
