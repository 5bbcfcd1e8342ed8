//! Jobs as they are sent, and how processes end.

use std::cell::Cell;
use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

use device::Device;
use select::devices::DeviceName;

use super::parent::run_command;
use super::*;
use crate::engine::job::CaseJob;
use crate::engine::open::OpenJob;
use crate::engine::sampling::Stopping;
use crate::outcome::Kind;
use crate::pack::job::PackJob;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sum {
    numbers: Vec<u32>,
    /// More than a pipe holds.
    text: String,
    #[serde(skip)]
    folder: PathBuf,
}

impl Job for Sum {
    const NAME: &'static str = "sum";
    type Answer = u32;

    fn paths(&mut self) -> Vec<&mut PathBuf> {
        vec![&mut self.folder]
    }

    fn max_memory_bytes(&self) -> Option<u64> {
        None
    }

    fn work(&self, _: &mut dyn Watch) -> Result<u32, NoResult> {
        Ok(self.numbers.iter().sum())
    }
}

fn job() -> Sum {
    Sum {
        numbers: vec![1, 2],
        text: "x".repeat(1 << 20),
        folder: "folder".into(),
    }
}

type Ended = WorkerEnd<u32>;

/// How a shell script ends that is run instead of the worker.
fn ended(script: &str, milliseconds: u64) -> Result<Ended, WorkerError> {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let deadlines = Deadlines {
        submission: Duration::from_millis(milliseconds),
        all_runs: None,
        ours: Duration::from_secs(60),
        clock: Clock::Wall,
    };
    run_command(command, &job(), &deadlines, None)
}

fn line(message: &Message<u32>) -> String {
    format!("echo '{}'; ", serde_json::to_string(message).unwrap())
}

#[test]
fn deadlines_are_the_submission_s() {
    let enter = line(&Message::Enter(Phase::Submission));
    let not_graded = NoResult::not_graded_here("x".to_owned());
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

/// As on a machine that does something else for most of the time. Linux tells how much.
#[test]
#[cfg(target_os = "linux")]
fn what_else_the_machine_does_is_not_counted() {
    let enter = line(&Message::Enter(Phase::Submission));
    let not_graded = NoResult::not_graded_here("x".to_owned());
    let end = line(&Message::NoAnswer(not_graded.clone()));
    let ended = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("cat >/dev/null; {enter} {script}; {end}")]);
        let deadlines = Deadlines {
            submission: Duration::from_millis(200),
            all_runs: None,
            ours: Duration::from_secs(60),
            clock: Clock::Work,
        };
        let began = Instant::now();
        (
            run_command(command, &job(), &deadlines, None).unwrap(),
            began.elapsed(),
        )
    };
    assert_eq!(ended("sleep 1").0, Ended::NoAnswer(not_graded));
    let late = Ended::TimedOut(Phase::Submission);
    assert_eq!(ended("while :; do :; done").0, late);
    // One that only waits is ended too.
    let (slept, after) = ended("sleep 100");
    assert_eq!(slept, late);
    assert!(after < Duration::from_secs(60), "{after:?}");
}

#[test]
fn a_job_whose_answer_is_not_wanted_is_ended() {
    let mut command = Command::new("sh");
    command.args(["-c", "exec sleep 100"]);
    let long = Duration::from_secs(60);
    let deadlines = Deadlines {
        submission: long,
        all_runs: None,
        ours: long,
        clock: Clock::Wall,
    };
    let began = Instant::now();
    let is_late = || began.elapsed() > Duration::from_millis(50);
    let ended = run_command(command, &job(), &deadlines, Some(&is_late));
    assert!(matches!(ended, Err(WorkerError::Stopped)), "{ended:?}");
    assert!(began.elapsed() < long / 2);
}

#[test]
fn a_job_that_may_be_stopped_has_its_deadlines_and_its_answer() {
    let ended = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("cat >/dev/null; {script}")]);
        let deadlines = Deadlines {
            submission: Duration::from_secs(60),
            all_runs: None,
            ours: Duration::from_millis(300),
            clock: Clock::Wall,
        };
        run_command(command, &job(), &deadlines, Some(&|| false)).unwrap()
    };
    assert_eq!(ended("exec sleep 100"), Ended::TimedOut(Phase::Ours));
    let lacking = NoResult::not_graded_here("x".to_owned());
    let answer = line(&Message::NoAnswer(lacking.clone()));
    assert_eq!(ended(&answer), Ended::NoAnswer(lacking));
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
            clock: Clock::Wall,
        };
        run_command(command, &job(), &deadlines, None).unwrap()
    };
    let not_graded = NoResult::not_graded_here("x".to_owned());
    let end = line(&Message::NoAnswer(not_graded.clone()));
    // Our own work does not count.
    let began = Instant::now();
    let first = ended(format!("sleep 2; {} sleep 2; {end}", run_of("2")));
    assert_eq!(first, Ended::NoAnswer(not_graded));
    let taken = all - left.get();
    // The clock may start late.
    assert!(taken >= Duration::from_secs(1), "{taken:?}");
    let with_ours = began.elapsed();
    // Four, but the clock may also stop late.
    let least = taken + Duration::from_secs(3);
    assert!(with_ours >= least, "{with_ours:?}, {taken:?}");
    left.set(Duration::from_secs(1));
    let long = run_of("0.5").repeat(100);
    assert_eq!(ended(long), Ended::TimedOut(Phase::Submission));
    assert!(left.get().is_zero());
    // The description of a failure does not count either.
    left.set(Duration::from_millis(100));
    let failure = Failure::new(Kind::WrongResult, "wrong");
    let failed = line(&Message::Failed(Box::new(failure.clone())));
    let described = line(&Message::NoAnswer(failure.clone().into()));
    let last = ended(format!("{failed} {} {described}", run_of("0.3")));
    assert_eq!(last, Ended::NoAnswer(failure.into()));
    assert_eq!(left.get(), Duration::from_millis(100));
}

#[test]
fn an_answer_is_read() {
    let said = line(&Message::Answer(Box::new(3)));
    let got = ended(&format!("cat >/dev/null; {said}"), 60_000).unwrap();
    assert_eq!(got, Ended::Answer(Box::new(3)));
}

/// The job as its worker gets it.
fn received<J: Job>(job: &J) -> Result<J, WorkerError> {
    let mut job = job.clone();
    let text = serde_json::to_string(&job).unwrap();
    let paths = job.paths().into_iter().map(|path| path.clone());
    child::read(&text, paths.collect())
}

#[test]
fn paths_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
    let pack = PackJob {
        submission: path(b"/class/a\xff"),
        lab_file: "lab.toml".to_owned(),
        lab_text: String::new(),
        draw: 1,
        course_root: path(b"/course\xfe"),
        cache: path(b"/cache\xfc"),
        without_isolation: false,
        able: false,
        for_perf: false,
        dependencies: crate::pack::tests::dependencies().clone(),
        bundle: path(b"/tmp\xfd/x.bundle"),
    };
    assert_eq!(received(&pack).unwrap(), pack);
    let open = OpenJob {
        bundle: path(b"/class/a\xff.bundle"),
        is_ours: false,
        parts: path(b"/tmp\xfd"),
        lab_file: "lab.toml".to_owned(),
        lab_text: String::new(),
        draw: None,
        device: device::EmulatedDevice::default().info().clone(),
    };
    let got = received(&open).unwrap();
    assert_eq!(format!("{got:?}"), format!("{open:?}"));
    let case = CaseJob {
        device: DeviceName::Emulated,
        lab_file: "lab.toml".to_owned(),
        lab_text: String::new(),
        draw: None,
        case: "case".to_owned(),
        parts: path(b"/tmp\xfd"),
        seed: 1,
        samples: 1,
        stopping: Stopping::default(),
        fuel: 7,
        checks: None,
        with_messages: false,
        replay: None,
        host_threads: 0,
    };
    let case_again = received(&case).unwrap();
    assert_eq!(format!("{case_again:?}"), format!("{case:?}"));
}

#[test]
fn a_job_has_all_of_its_paths() {
    let text = serde_json::to_string(&job()).unwrap();
    let error = child::read::<Sum>(&text, Vec::new()).unwrap_err();
    insta::assert_snapshot!(error, @"job `sum` does not have 0 paths: `harness grade` calls this command");
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
            insta::assert_snapshot!(describe_exit(&Exit::Code(101), &format!("{panicked}{after}")), @"the process that ran it died (exit code 101): no such number");
        }
    }
    insta::assert_snapshot!(describe_exit(&Exit::Signal(9), "note: nothing else"), @"the process that ran it died (signal 9)");
}

#[test]
fn death_is_told_with_last_words() {
    let enter = line(&Message::Enter(Phase::Submission));
    let dies = |script: &str| match ended(script, 60_000).unwrap() {
        Ended::Died {
            has_run,
            exit,
            said,
        } => (has_run, exit, said),
        other => panic!("{other:?}"),
    };
    let told = dies("echo last words >&2; exit 7");
    assert_eq!(told, (false, Exit::Code(7), "last words".to_owned()));
    let killed = dies(&format!("{enter} kill -SEGV $$"));
    assert_eq!(killed, (true, Exit::Signal(11), String::new()));
    // Without reading what it is asked.
    let deaf = dies("exec 0<&-; yes | head -c 100000 >&2; exit 4");
    assert_eq!((deaf.0, deaf.1, deaf.2.len()), (false, Exit::Bug, 4095));
}

#[test]
fn what_is_known_survives_death() {
    let failure = Failure::new(Kind::WrongResult, "wrong");
    let failed = line(&Message::Failed(Box::new(failure.clone())));
    let script = format!("{failed} kill -KILL $$");
    assert_eq!(
        ended(&script, 60_000).unwrap(),
        Ended::NoAnswer(failure.into())
    );
}

#[test]
fn babble_is_a_bug() {
    let failure = ended("echo hello; sleep 100", 60_000).unwrap_err();
    insta::assert_snapshot!(failure, @"a worker process said: expected value at line 1 column 1: hello");
}
