//! Signals, sent to another process, which runs this program again.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use output_files::interrupt::OnInterrupt;
use output_files::{OutputFile, OutputFiles, OutputFolder, ScratchFolder};
use test_support::heeding_signals;

/// The name of the program's last act.
const LAST_ACT: &str = "OUTPUT_FILES_LAST_ACT";

/// This is not a test but the program: it begins a file and folders, says so, and waits.
#[test]
fn program() {
    let Ok(last_act) = std::env::var(LAST_ACT) else {
        return;
    };
    let mut file = OutputFile::create("--out", Path::new("out")).unwrap();
    file.writer().write_all(b"half").unwrap();
    let folder = OutputFolder::create("--frames", Path::new("frames")).unwrap();
    folder.file("0.png").unwrap();
    let scratch = ScratchFolder::new("signals").unwrap();
    std::fs::write(scratch.path().join("file"), "text").unwrap();
    let _act = OnInterrupt::new(move || match last_act.as_str() {
        "saves" => {
            // Longer than it takes to send a second signal.
            sleep(Duration::from_millis(100));
            std::fs::write("saved", "text").unwrap();
        }
        "panics" => panic!("this is the last act"),
        "hangs" => sleep(Duration::from_secs(600)),
        other => unreachable!("{other}"),
    });
    println!("\nready");
    sleep(Duration::from_secs(600));
}

/// Starts the program in an empty folder and waits until it is ready. A shell runs `before` first.
fn start(folder: &Path, last_act: &str, before: &str) -> Child {
    let mut child = heeding_signals(&mut Command::new("sh"))
        .args(["-c", &format!(r#"{before} exec "$0" "$@""#)])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "program", "--nocapture"])
        .current_dir(folder)
        .env(LAST_ACT, last_act)
        .env("TMPDIR", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "ready"));
    child
}

fn send(signal: &str, child: &Child) {
    let kill = format!("kill -{signal} {}", child.id());
    let sent = Command::new("sh").args(["-c", &kill]).status();
    assert!(sent.unwrap().success());
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn each_signal_ends_it_tidily_with_its_own_code() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start(folder.path(), "saves", "");
        assert_eq!(names(folder.path()).len(), 3);
        send(signal, &child);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert_eq!(names(folder.path()), ["saved"], "{signal}");
    }
}

/// `timeout` sends its signal twice.
#[test]
fn a_signal_that_comes_twice_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "saves", "");
    let kill = format!("kill -TERM {0}; kill -TERM {0}", child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(names(folder.path()), ["saved"]);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "hangs", "");
    send("TERM", &child);
    sleep(Duration::from_secs(1));
    assert_eq!(child.try_wait().unwrap(), None);
    let began = Instant::now();
    send("INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_last_act_that_panics_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "panics", "");
    send("TERM", &child);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(names(folder.path()), [""; 0]);
}

/// `nohup`, and a shell's `&`, start programs with a signal ignored.
#[test]
fn a_signal_that_is_ignored_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "saves", "trap '' HUP INT;");
    send("HUP", &child);
    send("INT", &child);
    sleep(Duration::from_millis(500));
    assert_eq!(child.try_wait().unwrap(), None);
    assert_eq!(names(folder.path()).len(), 3);
    send("TERM", &child);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(names(folder.path()), ["saved"]);
}

/// How many files get their names together.
const TOGETHER: usize = 400;

/// This is not a test but the program: it gives many files their names, and says so before.
#[test]
fn program_of_files_together() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let mut files = OutputFiles::default();
    for number in 0..TOGETHER {
        let target = Path::new(&folder).join(format!("new/{number}"));
        files.add(&target, "text").unwrap();
    }
    println!("\nready");
    files.finish().unwrap();
    sleep(Duration::from_secs(600));
}

const FOLDER: &str = "OUTPUT_FILES_FOLDER";

/// At whatever moment the signal comes.
#[test]
fn files_together_are_all_there_or_none() {
    let mut ended = Vec::new();
    for micros in [0, 0, 0, 200, 500, 1000, 2000, 4000, 8000] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = heeding_signals(&mut Command::new(std::env::current_exe().unwrap()))
            .args(["--exact", "program_of_files_together", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map(Result::unwrap).any(|line| line == "ready"));
        sleep(Duration::from_micros(micros));
        send("TERM", &child);
        assert_eq!(child.wait().unwrap().code(), Some(143));
        let new = folder.path().join("new");
        let found = if new.exists() {
            names(&new)
        } else {
            Vec::new()
        };
        let is_whole = |name: &String| !name.starts_with('.');
        assert!(found.is_empty() || found.len() == TOGETHER && found.iter().all(is_whole));
        ended.push(found.len());
    }
    assert!(ended.contains(&TOGETHER), "{ended:?}");
}
