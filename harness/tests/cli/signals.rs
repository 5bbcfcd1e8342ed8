//! The files that a program leaves when a signal ends it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::{describe, harness, names};

/// Every lab in turn: long enough to be interrupted after the first case.
const EVERY_LAB: &str = "perf --device=cpu --quick --json=p.json";

/// Starts a program whose output is not read.
fn start(folder: &Path, args: &str) -> Child {
    let args: Vec<&str> = args.split(' ').collect();
    let mut command = harness(folder, &args);
    command.stdout(Stdio::null()).spawn().unwrap()
}

pub fn send(signal: &str, child: &Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status();
    assert!(sent.unwrap().success());
}

pub fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_secs(60), "no {what}");
        sleep(Duration::from_millis(5));
    }
}

/// The results in a folder where there is nothing else.
fn results(folder: &Path) -> Value {
    assert_eq!(names(folder), ["p.json"]);
    serde_json::from_slice(&std::fs::read(folder.join("p.json")).unwrap()).unwrap()
}

/// They have a case and its references, and `report` and `compare` read them.
fn assert_has_a_case(folder: &Path, what: &str) {
    let document = results(folder);
    assert_eq!(document["interrupted"], true, "{what}");
    assert!(document["wall_s"].as_f64().unwrap() > 0.0, "{what}");
    let rows = document["references"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{what}");
    assert_eq!(document["cases"].as_array().unwrap().len(), 1, "{what}");
    assert!(rows[1]["run"]["median_s"].as_f64().unwrap() > 0.0, "{what}");

    let report = ["report", "p.json", "-o", "page.html"];
    let output = harness(folder, &report).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    let compare = ["compare", "p.json", "p.json"];
    let compared = harness(folder, &compare).output().unwrap();
    let text = describe(&compared);
    assert_eq!(compared.status.code(), Some(0), "{text}");
    assert!(
        text.contains("differs: the old measurement was interrupted"),
        "{text}"
    );
}

#[test]
fn a_signal_leaves_nothing_of_an_unfinished_file() {
    let folder = tempfile::tempdir().unwrap();
    for (signal, code, out) in [("-INT", 130, "wave.gif"), ("-TERM", 143, "frames/")] {
        let args = format!("run wave2d --gif {out} --device cpu --steps 4000000000");
        let mut child = start(folder.path(), &args);
        wait_for("file", || !names(folder.path()).is_empty());
        send(signal, &child);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(names(folder.path()), [""; 0]);
    }
}

#[test]
fn a_signal_before_the_first_result_leaves_a_document_without() {
    let folder = tempfile::tempdir().unwrap();
    // Far too large to finish.
    let args: Vec<&str> = "perf wave2d --device cpu --param n_x=3000 --param n_y=3000 --param steps=4000000 --json=p.json".split(' ').collect();
    let mut command = harness(folder.path(), &args);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    // Its first words say that the measurement has begun, and what a signal finds.
    let mut first = [0; 3];
    let mut stdout = child.stdout.take().unwrap();
    std::io::Read::read_exact(&mut stdout, &mut first).unwrap();
    assert_eq!(&first, b"cpu");
    sleep(Duration::from_millis(300));
    assert_eq!(names(folder.path()), [""; 0]);
    send("-INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let document = results(folder.path());
    assert_eq!(document["interrupted"], true);
    assert_eq!(document["cases"].as_array().unwrap().len(), 0);
    assert!(document["cpu"]["cores"].as_u64().unwrap() > 0);
    // A page of it would be empty.
    let output = harness(folder.path(), &["report", "p.json"]).output();
    insta::assert_snapshot!(describe(&output.unwrap()), @r"
    exit code: 2
    --- stderr ---
    error: p.json: has no case: nothing was measured when it ended; measure again
    ");
}

#[test]
fn a_signal_keeps_the_cases_before() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start(folder.path(), EVERY_LAB);
        wait_for("results", || folder.path().join("p.json").exists());
        send(signal, &child);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert_has_a_case(folder.path(), signal);
    }
}

#[test]
fn a_killed_program_loses_the_case_at_hand_only() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), EVERY_LAB);
    let file = folder.path().join("p.json");
    wait_for("results", || file.exists());
    // It is measuring the next case, and not writing.
    sleep(Duration::from_millis(200));
    send("-KILL", &child);
    assert_eq!(child.wait().unwrap().code(), None);
    assert_has_a_case(folder.path(), "-KILL");
}
