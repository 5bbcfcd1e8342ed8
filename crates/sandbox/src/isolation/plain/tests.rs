//! A program without isolation: its time, its output, its processes.

use std::fs;

use super::*;
use crate::{Access, Calls, ResourceLimits};

fn sandbox() -> Sandbox {
    Sandbox {
        limits: ResourceLimits {
            wall: Duration::from_secs(60),
            cpu_s: 60,
            memory_bytes: 1 << 30,
            file_bytes: 1 << 20,
            open_files: 64,
            output_bytes: 1000,
        },
        access: Access::default(),
        calls: Calls::Recorder,
        without: Vec::new(),
    }
}

fn sh(script: &str, sandbox: &Sandbox) -> Finished {
    run(sandbox, Command::new("sh").args(["-c", script]), b"given").unwrap()
}

/// Whether a process of this number is there and has not ended.
fn is_alive(process: &str) -> bool {
    let shown = Command::new("ps")
        .args(["-o", "stat=", "-p", process])
        .output()
        .unwrap();
    let state = String::from_utf8(shown.stdout).unwrap();
    !(state.trim().is_empty() || state.trim().starts_with('Z'))
}

/// Whether it ends within the time that a busy machine takes to end it.
fn ends(process: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(20);
    while is_alive(process) && Instant::now() < until {
        thread::sleep(TICK);
    }
    !is_alive(process)
}

#[test]
fn a_program_has_its_input_and_its_end_is_told() {
    let done = sh("cat; echo error >&2; exit 3", &sandbox());
    assert_eq!(done.end, End::Exited(3));
    assert_eq!(
        (&done.stdout[..], &done.stderr[..]),
        (&b"given"[..], &b"error\n"[..])
    );
    assert_eq!(sh("kill -SEGV $$", &sandbox()).end, End::Signal(11));
    let missing = run(&sandbox(), &mut Command::new("/nowhere/at/all"), b"");
    assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
}

/// The deadline is in force and nothing else, and that is what a report is told.
#[test]
fn no_more_is_claimed_than_there_is() {
    let done = sh("true", &sandbox());
    assert_eq!(done.in_force, available().unwrap());
    let in_force = Layer::ALL.map(|layer| done.in_force.has(layer).then_some(layer.name()));
    assert_eq!(
        in_force.into_iter().flatten().collect::<Vec<_>>(),
        ["deadline"]
    );
    assert!(!confines_files());
}

#[test]
fn a_deadline_ends_the_program_and_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut sandbox = sandbox();
    sandbox.limits.wall = Duration::from_secs(2);
    let began = Instant::now();
    let script = format!(
        "sleep 600 & echo $! >{}/child; wait",
        folder.path().display()
    );
    assert_eq!(sh(&script, &sandbox).end, End::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(60));
    let child = fs::read_to_string(folder.path().join("child")).unwrap();
    assert!(ends(child.trim()));
}

#[test]
fn what_a_program_leaves_behind_is_ended() {
    let done = sh("sleep 600 & echo $!", &sandbox());
    assert_eq!(done.end, End::Exited(0));
    assert!(ends(String::from_utf8(done.stdout).unwrap().trim()));
}

#[test]
fn output_is_bounded() {
    let endless = sh("yes", &sandbox());
    assert_eq!(endless.end, End::TooMuchOutput);
    assert_eq!(endless.stdout.len(), 1000);
    // Both together, also of a program that has ended meanwhile.
    let both = sh(
        "head -c 600 /dev/zero; head -c 600 /dev/zero >&2",
        &sandbox(),
    );
    assert_eq!(both.end, End::TooMuchOutput);
    assert_eq!(both.stdout.len() + both.stderr.len(), 1000);
}
