//! `harness watch` as its users meet it: a verdict in a pipe, and a session in a terminal.

use std::path::Path;
use std::process::Child;

use test_support::Terminal;

use crate::run::{describe, harness, harness_of_course};

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
        "6 / 40 points, 3 of 10 cases right; 40 points more for speed, on a GPU",
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
    let mut seen = terminal.wait_for("3 of 10 cases right", 0);
    seen = terminal.wait_for("waiting for a save", seen.saturating_sub(200));
    assert!(!terminal.is_as_usual().unwrap());
    terminal.press("h").unwrap();
    seen = terminal.wait_for("hint 1 of", seen);
    terminal.press("c").unwrap();
    seen = terminal.wait_for("per update", seen);
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
    // All is right: then the case is run that the handout counts.
    seen = terminal.wait_for("15 in step 11", seen);
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

/// With `--build`, the libraries are there before the first grade needs them; without, `doctor`
/// only looks.
#[test]
fn doctor_builds_what_submissions_are_compiled_against() {
    let folder = tempfile::tempdir().unwrap();
    let course = folder.path().join("course");
    std::fs::create_dir(&course).unwrap();
    let doctor = |flags: &[&str]| {
        let mut command = harness(&course, &[&["doctor"], flags].concat());
        command.env("HARNESS_COURSE", &course).output().unwrap()
    };
    // It is not asked for, so nothing is missed.
    assert_eq!(doctor(&[]).status.code(), Some(0));
    let refused = doctor(&["--build"]);
    assert_eq!(refused.status.code(), Some(2), "{}", describe(&refused));
    let mut build = harness_of_course(folder.path(), &["doctor", "--build"]);
    let output = build.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
}

/// A save while the message of a panic is sought, which takes cargo a while the first time.
#[test]
fn a_panic_is_shown_at_once_and_a_save_drops_its_run() {
    let folder = starter();
    let unchecked = [("if x >= n_x || y >= n_y {", "if false {")];
    edit(folder.path(), "kernels.rs", &unchecked);
    let mut terminal = Terminal::new(80, 24).unwrap();
    let mut child = session(&terminal, folder.path(), &[]);
    let seen = terminal.wait_for("which panic it is", 0);
    assert!(
        terminal
            .written()
            .contains("in kernel `matadd` at kernels.rs:33")
    );
    let checked = unchecked.map(|(before, after)| (after, before));
    edit(folder.path(), "kernels.rs", &checked);
    terminal.wait_for("3 of 10 cases right", seen);
    // That run was the first with a verdict.
    terminal.wait_for("verdict 1", seen);
    terminal.press("q").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!terminal.written().contains("index out of bounds"));
}

#[test]
fn a_print_has_a_line_of_its_own_beside_a_bar() {
    let folder = starter();
    let print = (
        "let i = (y",
        "if x + y == 0 { print!(\"left = {}\", n_x) } let i = (y",
    );
    edit(folder.path(), "kernels.rs", &[print]);
    let terminal = Terminal::new(80, 24).unwrap();
    let folder_name = folder.path().to_str().unwrap();
    let words = ["test", "matadd", "--device=emulated", "--submission"];
    let case = [folder_name, "--param=n_x=1100", "--param=n_y=900"];
    let mut command = harness_of_course(folder.path(), &[&words[..], &case].concat());
    command.env("TERM", "xterm");
    let mut child = terminal.give_to(&mut command).unwrap().spawn().unwrap();
    child.wait().unwrap();
    let written = terminal.written();
    assert!(written.contains("left = 1100\r\n"), "{written}");
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
