//! Jobs as they are sent, and how processes end.

use super::*;
use crate::engine::sampling::Stopping;
use crate::outcome::Kind;

fn job() -> Job {
    Job::Case(CaseJob {
        device: DeviceName::Emulated,
        course_file: "lab.toml".to_owned(),
        // More than a pipe holds.
        course_text: "x".repeat(1 << 20),
        draw: None,
        case: "case".to_owned(),
        parts: "parts".into(),
        seed: 1,
        samples: 1,
        stopping: Stopping::default(),
        checks: None,
    })
}

/// How a shell script in place of the process ends.
fn ended(script: &str, milliseconds: u64) -> Result<Ended, GradeError> {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let deadlines = Deadlines {
        submission: Duration::from_millis(milliseconds),
        all_runs: None,
        ours: Duration::from_secs(60),
    };
    run(command, job(), &deadlines)
}

fn line(message: &Message) -> String {
    format!("echo '{}'; ", serde_json::to_string(message).unwrap())
}

#[test]
fn deadlines_are_the_submission_s() {
    let enter = line(&Message::Enter(Phase::Submission));
    let not_graded = Outcome::not_graded_here("x".to_owned());
    let lacking = line(&Message::NoAnswer(not_graded.clone()));
    let hangs = format!("{enter} exec sleep 100");
    assert_eq!(
        ended(&hangs, 50).unwrap(),
        Ended::TimedOut(Phase::Submission)
    );
    let ours = line(&Message::Enter(Phase::Ours));
    let slow = format!("cat >/dev/null; {enter} {ours} sleep 0.3; {lacking}");
    assert_eq!(ended(&slow, 50).unwrap(), Ended::NoAnswer(not_graded));
}

#[test]
fn all_runs_together_have_a_deadline() {
    let run_of = |seconds: &str| {
        let [enter, ours] =
            [Phase::Submission, Phase::Ours].map(|phase| line(&Message::Enter(phase)));
        format!("{enter} sleep {seconds}; {ours}")
    };
    // Enough for a machine that does much else.
    let all = Duration::from_secs(50);
    let left = Cell::new(all);
    let ended = |script: String| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("cat >/dev/null; {script}")]);
        let deadlines = Deadlines {
            submission: Duration::from_secs(60),
            all_runs: Some(&left),
            ours: Duration::from_secs(60),
        };
        run::<Answer>(command, job(), &deadlines).unwrap()
    };
    let not_graded = Outcome::not_graded_here("x".to_owned());
    let end = line(&Message::NoAnswer(not_graded.clone()));
    // Our own work does not count.
    let began = Instant::now();
    let first = ended(format!("sleep 2; {} sleep 2; {end}", run_of("2")));
    assert_eq!(first, Ended::NoAnswer(not_graded));
    let taken = all - left.get();
    // Who measures may begin late.
    assert!(taken >= Duration::from_secs(1), "{taken:?}");
    let with_ours = began.elapsed();
    // Four, but that it may end late, too.
    let least = taken + Duration::from_secs(3);
    assert!(with_ours >= least, "{with_ours:?}, {taken:?}");
    left.set(Duration::from_secs(1));
    let long = run_of("0.5").repeat(100);
    assert_eq!(ended(long), Ended::TimedOut(Phase::Submission));
    assert!(left.get().is_zero());
    // Nor does what describes a failure.
    left.set(Duration::from_millis(100));
    let failing = Failing::new(Kind::WrongResult, "wrong");
    let failed = line(&Message::Failed(Box::new(failing.clone())));
    let described = line(&Message::NoAnswer(failing.clone().into()));
    let last = ended(format!("{failed} {} {described}", run_of("0.3")));
    assert_eq!(last, Ended::NoAnswer(failing.into()));
    assert_eq!(left.get(), Duration::from_millis(100));
}

#[test]
fn paths_need_not_be_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let pack = |cache| PackJob {
        submission: path(b"/class/a\xff"),
        course_file: "lab.toml".to_owned(),
        course_text: String::new(),
        draw: 1,
        course_root: path(b"/course\xfe"),
        cache,
        without_landlock: false,
        able: false,
        bundle: path(b"/tmp\xfd/x.bundle"),
    };
    let jobs = [
        Job::Pack(pack(None)),
        Job::Pack(pack(Some(path(b"/cache\xfc")))),
        Job::Open(OpenJob {
            bundle: path(b"/class/a\xff.bundle"),
            is_ours: false,
            parts: path(b"/tmp\xfd"),
            course_file: "lab.toml".to_owned(),
            course_text: String::new(),
            draw: None,
            device: device::EmulatedDevice::default().info().clone(),
        }),
        Job::Case(match job() {
            Job::Case(case) => CaseJob {
                parts: path(b"/tmp\xfd"),
                ..case
            },
            other => panic!("{other:?}"),
        }),
    ];
    for job in jobs {
        let text = serde_json::to_string(&Sent::new(job.clone())).unwrap();
        let sent: Sent = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{:?}", sent.received()), format!("{job:?}"));
    }
}

#[test]
fn last_words_are_no_note() {
    let panicked = "thread 'main' panicked at src/main.rs:1:2:\nno such number\n";
    let backtrace = "stack backtrace:\n   0: rust_begin_unwind\n             at /rustc/1/library/std/src/panicking.rs:1:5\n  12: main\n";
    for after in [
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
            .to_owned(),
        format!(
            "{backtrace}note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n\n"
        ),
    ] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(died("exit code 101", &format!("{panicked}{after}")), @"the process that ran it died (exit code 101): no such number");
        }
    }
    insta::assert_snapshot!(died("signal 9", "note: nothing else"), @"the process that ran it died (signal 9)");
}

#[test]
fn death_is_told_with_last_words() {
    let enter = line(&Message::Enter(Phase::Submission));
    let dies = |script: &str| match ended(script, 60_000).unwrap() {
        Ended::Died { has_run, how, said } => (has_run, how, said),
        other => panic!("{other:?}"),
    };
    let told = dies("echo last words >&2; exit 7");
    assert_eq!(
        told,
        (false, "exit code 7".to_owned(), "last words".to_owned())
    );
    let told = dies(&format!("{enter} kill -SEGV $$"));
    assert_eq!(told, (true, "signal 11".to_owned(), String::new()));
    // Without reading what it is asked.
    let told = dies("exec 0<&-; yes | head -c 100000 >&2; exit 4");
    assert_eq!(
        (told.0, told.1.as_str(), told.2.len()),
        (false, "a bug in harness", 4095)
    );
}

#[test]
fn what_is_known_survives_death() {
    let failing = Failing::new(Kind::WrongResult, "wrong");
    let failed = line(&Message::Failed(Box::new(failing.clone())));
    let script = format!("{failed} kill -KILL $$");
    assert_eq!(
        ended(&script, 60_000).unwrap(),
        Ended::NoAnswer(failing.into())
    );
}

#[test]
fn babble_is_a_bug() {
    let failure = ended("echo hello; sleep 100", 60_000).unwrap_err();
    insta::assert_snapshot!(failure, @"the process of a case said: expected value at line 1 column 1: hello");
}
