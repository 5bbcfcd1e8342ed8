//! Saves, keys and verdicts, by a clock of the tests' own; and the page while a grading is under
//! way.

use super::*;
use crate::watch::session::SETTLED;
use grading::pack::Building;

/// Files of this version.
pub fn version(number: u8) -> Files {
    [Some(vec![number]), Some(vec![])]
}

pub fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub fn right() -> Result<GradeReport, CommandError> {
    Ok(report(&[]))
}

/// A session whose first grading is under way.
fn session() -> Session {
    let mut session = Session::new(screen());
    // The first grade does not wait.
    assert_eq!(session.polled(version(0), at(0)), Some(Action::Grade(1)));
    assert_eq!(session.polled(version(0), at(200)), None);
    session
}

#[test]
fn a_save_is_graded_once_it_has_settled() {
    let mut session = session();
    session.graded(1, right(), at(900));
    let revision = session.revision();
    assert_eq!(session.polled(version(1), at(1000)), None);
    assert!(session.is_settling());
    // Still being written.
    assert_eq!(session.polled([Some(vec![1, 2]), None], at(1040)), None);
    let settled = at(1040) + SETTLED;
    let written = || [Some(vec![1, 2]), None];
    assert_eq!(session.polled(written(), settled), Some(Action::Grade(2)));
    assert_eq!(session.grading_for(settled + at(7)), Some(at(7)));
    session.graded(2, right(), at(1));
    assert_eq!(session.revision(), revision + 1);
    assert_eq!(session.polled(written(), at(9000)), None);
    assert!(!session.is_settling() && !session.is_grading());
}

#[test]
fn a_file_that_is_put_back_while_it_settles_is_not_graded() {
    let mut session = session();
    session.graded(1, right(), at(900));
    assert_eq!(session.polled(version(1), at(1000)), None);
    assert_eq!(session.polled(version(0), at(1040)), None);
    assert_eq!(session.polled(version(0), at(2000)), None);
}

#[test]
fn a_save_drops_the_grading_under_way() {
    let mut session = session();
    assert_eq!(session.polled(version(1), at(300)), None);
    // It does not wait for the end of the first one.
    assert_eq!(session.polled(version(1), at(400)), Some(Action::Grade(2)));
    assert_eq!(session.grading_for(at(500)), Some(at(100)));
    // Its verdict, and its panic, come too late.
    session.panics(1, "one-step", race());
    let stopped = Err(CommandError::Bug("stopped".to_owned()));
    session.graded(1, stopped, at(450));
    assert!(session.screen.is_empty() && session.is_grading());
    assert!(!while_grading(&session, 1).contains("[race]"));
    session.graded(2, right(), at(900));
    assert!(!session.screen.is_empty() && !session.is_grading());
}

#[test]
fn keys() {
    let mut session = session();
    // It is being graded already.
    assert_eq!(session.key(b'\n', at(1)), None);
    session.graded(1, right(), at(900));
    assert_eq!(session.key(b'\r', at(1000)), Some(Action::Grade(2)));
    let revision = session.revision();
    assert_eq!(session.key(b'x', at(1000)), None);
    assert_eq!(session.revision(), revision);
    assert_eq!(session.key(b'C', at(1000)), None);
    assert_eq!(session.revision(), revision + 1);
    assert_eq!(session.key(b'A', at(1000)), None);
    assert_eq!(session.revision(), revision + 2);
    assert_eq!(session.key(b'R', at(1000)), Some(Action::Replay));
    assert_eq!(session.revision(), revision + 3);
    assert_eq!(session.key(b'q', at(1000)), Some(Action::Quit));
}

#[test]
fn the_page_of_a_replay_is_named_until_the_next_verdict() {
    let mut session = session();
    // There is nothing yet that could be replayed.
    assert_eq!(session.key(b'r', at(1)), None);
    session.graded(1, right(), at(900));
    session
        .screen
        .replayed("/tmp/wave2d-replay.html; open it in a browser".to_owned());
    let shown = |at: &Session| at.screen.block(Look::PLAIN, 80).join("\n");
    assert!(shown(&session).contains("  replay: /tmp/wave2d-replay.html; open it in a browser"));
    session.key(b'\n', at(1000));
    session.graded(2, right(), at(1900));
    assert!(!shown(&session).contains("replay"));
}

/// The page of 80 x 24 after this time of a grading.
fn while_grading(session: &Session, seconds: u64) -> String {
    let time = Some(Duration::from_secs(seconds));
    session
        .screen
        .full(Look::PLAIN, 80, 24, time, false)
        .join("\n")
}

/// A panic before its message is known.
fn silent() -> Failure {
    let said = "plan `one-step`, command 0 (launch of `step`)
trap
  in kernel `step` at kernels.rs:6 (PTX line 41), block (1, 0, 0), thread (3, 0, 0)";
    let place = forge::Place::new("the fault", "kernels.rs", 6, 5);
    Failure::new(Kind::KernelFault, "plan `one-step`: trap")
        .with_sanitizer(said)
        .with_places(vec![place])
}

#[test]
fn a_first_panic_shows_its_line_at_once() {
    let mut session = session();
    session.graded(1, right(), at(900));
    assert_eq!(session.polled(files(), at(1000)), None);
    assert_eq!(session.polled(files(), at(1100)), Some(Action::Grade(2)));
    let before = while_grading(&session, 1);
    assert!(before.contains("All cases here are right."), "{before}");
    session.panics(2, "one-step", silent());
    let text = while_grading(&session, 20);
    assert!(!text.contains("All cases here are right."), "{text}");
    assert_snapshot!(text);
    // Then the verdict, with the message.
    let told = Failure::new(Kind::KernelFault, "index out of bounds");
    session.graded(2, Ok(report(&[("one-step", told)])), at(36_000));
    let after = seen(&session.screen);
    assert!(after.contains("index out of bounds") && !after.contains("trap"));
}

#[test]
fn an_old_verdict_is_dimmed() {
    let screen = shown([report(&[("one-step", race())])]);
    let colours = Look {
        colour: true,
        ..Look::PLAIN
    };
    let lines = |time| screen.full(colours, 80, 24, time, false);
    let now = lines(None);
    assert!(now.iter().any(|line| line.contains(&colours.bad("[race]"))));
    let old = lines(Some(Duration::from_secs(1)));
    let (state, verdict) = old.split_last().unwrap();
    for line in verdict.iter().filter(|line| !line.is_empty()) {
        let bare = line
            .trim_start_matches("\x1b[2m")
            .trim_end_matches("\x1b[0m");
        assert_eq!(*line, colours.faint(bare), "{line:?}");
        assert!(!bare.contains('\x1b'), "{line:?}");
    }
    assert!(state.contains("above is the verdict on an earlier save"));
}

#[test]
fn the_first_build_says_what_it_builds_and_how_long() {
    let mut session = session();
    session.builds(1, Building::All);
    // Where all is there, that is found out within a second.
    assert!(!while_grading(&session, 1).contains("kernels-gpu"));
    assert_snapshot!(while_grading(&session, 40));
    session.builds(1, Building::OfKernels);
    let later = while_grading(&session, 70);
    assert!(later.contains("for this machine: done"), "{later}");
    assert!(later.contains("for the GPU: building"), "{later}");
    session.graded(1, right(), at(90_000));
    assert!(seen(&session.screen).contains("All cases here are right."));
}

#[test]
fn what_goes_on_is_said() {
    let state = |screen: &Screen, seconds| {
        let time = Some(Duration::from_secs(seconds));
        let lines = screen.full(Look::PLAIN, 80, 24, time, false);
        lines.last().unwrap().clone()
    };
    assert_eq!(state(&screen(), 20), "grading, 20 s");
    assert_eq!(
        state(&shown([report(&[])]), 20),
        "grading, 20 s; above is the verdict on an earlier save"
    );
}
