//! `harness emulate`: no fault is lost, and "no fault" is proved by a complete record.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::gpu_program;
use crate::run::{describe, harness, names};
use crate::signals::{send, wait_for};

/// `harness emulate` in a folder, with that folder for temporary files.
fn emulate(folder: &Path) -> Command {
    let mut command = harness(folder, &["emulate", "--"]);
    command.env("TMPDIR", folder);
    command
}

/// How `harness emulate` ends a shell's script: its exit code, and its last line on standard
/// output. In the script, `"$@"` is a program with this kernel.
fn ends(kernel: &str, script: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = emulate(folder.path());
    let output = gpu_program::of_shell(&mut command, kernel, script)
        .output()
        .unwrap();
    let text = describe(&output);
    let said = String::from_utf8(output.stdout).unwrap();
    let verdict = said.lines().rfind(|line| line.starts_with("emulate: "));
    let verdict = verdict
        .unwrap_or_else(|| panic!("no verdict: {text}"))
        .replace(folder.path().to_str().unwrap(), "FOLDER");
    (output.status.code().unwrap(), verdict)
}

fn one_fault() -> (i32, String) {
    (1, "emulate: 1 fault".to_owned())
}

#[test]
fn a_fault_outlives_the_end_of_its_process() {
    for script in [
        // The folder for temporary files is emptied.
        r#""$@"; rm -rf "${TMPDIR:?}"/*"#,
        // Killed, replaced, with its exit code ignored, with the descriptors closed.
        r#""$@" || true; exec true"#,
        r#"sh -c '"$@"; kill -9 $$' sh "$@" || true"#,
        r#"exec 3>&- 4>&- 5>&- 6>&- 7>&-; "$@""#,
        r#"exec 3<>other 4<>other 5<>other; "$@"; test ! -s other"#,
        // The system does not let it look into the process of the command.
        r#"unshare --user "$@""#,
        // The words of the fault are not read.
        r#""$@" 2>/dev/full"#,
        r#""$@" 2>&-"#,
        // A daemon: the program does not wait for it, and its fault comes late.
        r#"(sleep 1; exec "$@") >/dev/null 2>&1 & exit 0"#,
        r#"setsid sh -c 'sleep 0.5; "$@"' sh "$@" </dev/null >/dev/null 2>&1 & exit 0"#,
    ] {
        assert_eq!(ends("race", script), one_fault(), "{script}");
    }
}

/// tox passes `LD_LIBRARY_PATH` and little else: the library itself leads to the record.
#[test]
fn a_fault_is_recorded_whatever_becomes_of_the_variables() {
    for variables in [
        r#"-i LD_LIBRARY_PATH="$LD_LIBRARY_PATH" EMULATE_TEST_KERNEL=race"#,
        "-u EMULATED_DRIVER_RECORD",
        "EMULATED_DRIVER_RECORD=",
        "EMULATED_DRIVER_RECORD=none",
        "EMULATED_DRIVER_RECORD=1:/nowhere",
        "EMULATED_DRIVER_CHECK=none",
    ] {
        let script = format!(r#"env {variables} "$@"; true"#);
        assert_eq!(ends("race", &script), one_fault(), "{variables}");
    }
}

#[test]
fn every_setting_reaches_a_program_without_variables() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [
        "emulate",
        "--check=bounds",
        "--counts",
        "--orders=1,2",
        "--",
    ];
    let mut command = harness(folder.path(), &flags);
    let script = r#"env -i LD_LIBRARY_PATH="$LD_LIBRARY_PATH" EMULATE_TEST_KERNEL=race "$@""#;
    let output = gpu_program::of_shell(&mut command, "race", script)
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let text = describe(&output);
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    assert_eq!(text.matches(": no fault").count(), 2, "{text}");
    assert_eq!(text.matches("race ").count(), 2, "{text}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_folder_that_is_not_text_holds_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join(OsStr::from_bytes(b"t\nm\xffp"));
    std::fs::create_dir(&odd).unwrap();
    let mut command = emulate(&odd);
    let output = gpu_program::of(&mut command, "race").output().unwrap();
    let text = describe(&output);
    assert!(text.starts_with("exit code: 1\n"), "{text}");
    assert_eq!(std::fs::read_dir(&odd).unwrap().count(), 0);
}

#[test]
fn without_a_complete_record_there_is_no_verdict() {
    let refused = |kernel, script| {
        let (code, verdict) = ends(kernel, script);
        assert_eq!(code, 3, "{verdict}");
        verdict
    };
    // The limit of file sizes holds for files in memory too: 8 blocks of 512 bytes.
    let no_room = r#"ulimit -f 8; "$@"; true"#;
    insta::assert_snapshot!(refused("race", no_room), @"emulate: no verdict: 2 records of the driver could not be written; its words on standard error say why");
    // No limit that root is under holds threads back; no machine has room for such stacks.
    let no_threads = r#"RUST_MIN_STACK=70368744177664 "$@" --test-threads=1; true"#;
    insta::assert_snapshot!(refused("race", no_threads), @"emulate: no verdict: this machine cannot start the threads that kernels run on: Resource temporarily unavailable (os error 11). Raise its limits of processes and memory (`ulimit -u`, `ulimit -v`), or set RAYON_NUM_THREADS to a smaller number");
    let killed = r#"timeout -s KILL 1 "$@"; true"#;
    insta::assert_snapshot!(refused("endless", killed), @"emulate: no verdict: the end of a process cut off 1 of its launches, whose faults are not known");
    let removed = refused("fine", r#""$@"; rm -rf "${TMPDIR:?}"/*; "$@"; true"#);
    let (_, removed) = removed.split_once(".scratch").unwrap();
    insta::assert_snapshot!(removed, @", and no process that began later could find its CUDA driver; give the program a folder of its own for temporary files, by `env TMPDIR=FOLDER PROGRAM` behind the `--`");
}

#[test]
fn a_process_that_still_runs_is_named() {
    let (code, verdict) = ends("fine", r#""$@"; sleep 100 >/dev/null 2>&1 & exit 0"#);
    let number: String = verdict.chars().filter(char::is_ascii_digit).collect();
    let killed = Command::new("kill").arg(&number).status().unwrap();
    assert!(killed.success(), "{verdict}");
    assert_eq!(code, 3);
    insta::assert_snapshot!(verdict.replace(&number, "N"), @"emulate: no verdict: the program has ended, and left running sleep (process N); let it wait for them");
}

#[test]
fn processes_of_a_program_without_the_driver_are_waited_for() {
    let began = Instant::now();
    let (code, verdict) = ends("fine", "sleep 0.3 & exit 0");
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(code, 0);
    insta::assert_snapshot!(verdict, @"emulate: the program has not used the CUDA driver");
}

#[test]
fn a_folder_that_separates_paths_is_refused() {
    let above = tempfile::tempdir().unwrap();
    for name in ["a:b", "a;b"] {
        let folder = above.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let text = describe(&emulate(&folder).arg("true").output().unwrap());
        assert!(text.starts_with("exit code: 3\n"), "{text}");
        assert!(text.contains("set TMPDIR to another one"), "{text}");
        assert_eq!(names(&folder), [""; 0]);
    }
}

#[test]
fn with_few_descriptors_it_runs_or_says_so() {
    for most in 4..10 {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(r#"ulimit -n {most}; exec "$@""#);
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]);
        let emulate = emulate(folder.path());
        command.arg(emulate.get_program()).args(emulate.get_args());
        command
            .env("TMPDIR", folder.path())
            .args(["sh", "-c", "exit 7"]);
        let output = command.output().unwrap();
        let text = describe(&output);
        let ended = output.status.code();
        let says = text.contains("Too many open files");
        assert!(
            ended == Some(7) || ended == Some(3) && says,
            "{most}: {text}"
        );
        assert_eq!(names(folder.path()), [""; 0], "{most}: {text}");
    }
}

#[test]
fn a_signal_is_passed_on_to_every_process() {
    for (signal, code) in [("-TERM", 143), ("-HUP", 129), ("-INT", 130)] {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"
            trap 'echo told >> told' TERM HUP INT
            sleep 100 & echo $! > sleep.tmp; mv sleep.tmp sleep
            wait; wait"#;
        let mut emulate = emulate(folder.path());
        emulate.args(["sh", "-c", script]).stdout(Stdio::null());
        // A shell lets what it starts in the background ignore SIGINT.
        let mut child = emulate.spawn().unwrap();
        wait_for("process", || folder.path().join("sleep").exists());
        send(signal, &child);
        if signal == "-INT" {
            let pid = std::fs::read_to_string(folder.path().join("sleep")).unwrap();
            wait_for("signal", || folder.path().join("told").exists());
            assert!(is_running(&pid));
            Command::new("kill").arg(pid.trim()).status().unwrap();
        }
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        let told = std::fs::read_to_string(folder.path().join("told"));
        assert_eq!(told.unwrap(), "told\n", "{signal}");
        let pid = std::fs::read_to_string(folder.path().join("sleep")).unwrap();
        assert!(!is_running(&pid), "{signal}");
        assert_eq!(names(folder.path()), ["sleep", "told"], "{signal}");
    }
}

#[test]
fn a_program_ends_with_a_killed_command() {
    let folder = tempfile::tempdir().unwrap();
    let mut emulate = emulate(folder.path());
    emulate.args([
        "sh",
        "-c",
        "echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 100",
    ]);
    let mut child = emulate.stdout(Stdio::null()).spawn().unwrap();
    wait_for("process", || folder.path().join("pid").exists());
    let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    assert!(is_running(&pid));
    send("-KILL", &child);
    child.wait().unwrap();
    wait_for("end of the program", || !is_running(&pid));
}

/// Whether a process has not ended; it may wait to be reaped by another one than this.
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z"))
}
