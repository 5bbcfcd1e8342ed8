//! `harness watch` as its users meet it: a verdict in a pipe, and a session in a terminal.

use std::path::Path;
use std::process::Child;

use test_support::Terminal;

use crate::run::{describe, harness};

/// Lab matadd's starter in a folder of its own.
fn starter() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../labs/matadd/starter");
    for name in ["kernels.rs", "launch.rs"] {
        std::fs::copy(from.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

/// Replaces texts of a file, and saves it.
fn edit(folder: &Path, file: &str, edits: &[(&str, &str)]) {
    let file = folder.join(file);
    let mut text = std::fs::read_to_string(&file).unwrap();
    for (old, new) in edits {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    std::fs::write(file, text).unwrap();
}

#[test]
fn one_verdict_in_a_pipe() {
    let folder = starter();
    let words = ["watch", "--lab=matadd", "--once", "--without-isolation"];
    let output = harness(folder.path(), &words).output().unwrap();
    let text = describe(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in [
        "6 / 40 points, 3 of 9 cases right; 40 points more for speed, on a GPU",
        "whole-blocks [wrong_result]; alike: one-row",
        "next: let some thread write every cell",
        "harness grade . --lab matadd --device emulated --seed",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains('\x1b') && !text.contains("hidden"), "{text}");
}

/// Starts a session, without the `NO_COLOR` of the person who runs the tests.
fn session(terminal: &Terminal, folder: &Path, flags: &[&str]) -> Child {
    let words = ["watch", "--lab=matadd", "--without-isolation"];
    let mut command = harness(folder, &[&words, flags].concat());
    command.env_remove("NO_COLOR").env("TERM", "xterm");
    terminal.give_to(&mut command).unwrap().spawn().unwrap()
}

#[test]
fn a_session_in_a_terminal() {
    let folder = starter();
    let mut terminal = Terminal::new(80, 40).unwrap();
    let mut child = session(&terminal, folder.path(), &[]);
    let mut seen = terminal.wait_for("3 of 9 cases right", 0);
    seen = terminal.wait_for("waiting for a save", seen.saturating_sub(200));
    assert!(!terminal.is_as_usual().unwrap());
    terminal.press("h").unwrap();
    seen = terminal.wait_for("hint 1 of", seen);
    terminal.press("c").unwrap();
    seen = terminal.wait_for("counts of", seen);
    let kernels = [
        ("thread::thread_idx_x()", "thread::index_2d().x"),
        ("thread::thread_idx_y()", "thread::index_2d().y"),
    ];
    edit(folder.path(), "kernels.rs", &kernels);
    seen = terminal.wait_for("verdict 2", seen);
    let launch = (
        "let config = LaunchConfig::new(grid, BLOCK);",
        "let _ = grid; let config = LaunchConfig::covering((n_x, n_y), BLOCK)?;",
    );
    edit(folder.path(), "launch.rs", &[launch]);
    seen = terminal.wait_for("All cases here are right.", seen);
    terminal.press("\n").unwrap();
    terminal.wait_for("verdict 4", seen);
    terminal.press("q").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(terminal.is_as_usual().unwrap());
    let written = terminal.written();
    assert!(
        written.contains("+34 points since the last save"),
        "{written}"
    );
}

#[test]
fn ctrl_c_gives_the_terminal_back() {
    let folder = starter();
    let mut terminal = Terminal::new(80, 24).unwrap();
    let mut child = session(&terminal, folder.path(), &[]);
    // While it grades.
    terminal.wait_for("grading", 0);
    terminal.press("\x03").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(terminal.is_as_usual().unwrap());
}

/// A task's problem matcher reads what the task prints: each grading between two lines, no screen
/// that is drawn again, although the task runs in a terminal.
#[test]
fn an_editor_finds_the_faults_of_each_save() {
    let folder = starter();
    let mut terminal = Terminal::new(80, 24).unwrap();
    let mut child = session(&terminal, folder.path(), &["--annotate", "editor"]);
    let seen = terminal.wait_for("watch: graded", 0);
    edit(
        folder.path(),
        "kernels.rs",
        &[("#[kernel]", "fn unknown() -> Unknown {}\n#[kernel]")],
    );
    terminal.wait_for("watch: graded", seen);
    terminal.press("q").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let written = terminal.written();
    assert!(!written.contains("\x1b[H"), "{written}");
    let lines = written.lines().filter_map(|line| {
        let marks = ["watch: grading", "watch: graded"].contains(&line);
        let place = line.split_once(": error: ").map(|(place, _)| place);
        place.or_else(|| marks.then_some(line))
    });
    let lines: Vec<&str> = lines.collect();
    // A wrong result has no line; the compiler's error has one.
    let expected = [
        "watch: grading",
        "kernels.rs:1:1",
        "watch: graded",
        "watch: grading",
        "kernels.rs:6:10",
        "watch: graded",
    ];
    assert_eq!(lines, expected);
}
