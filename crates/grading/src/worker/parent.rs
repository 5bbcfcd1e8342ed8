//! The parent's side: starts a worker, waits for its messages, and says how it ended.

use std::cell::Cell;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::stopwatch::{Clock, Stopwatch};
use super::{BUG_EXIT_CODE, Job, Message, Phase, SUBCOMMAND, WorkerError};
use crate::outcome::NoResult;
use crate::processes;

/// The most bytes that a worker may say: a picture, a few texts.
pub const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// How often a job that can be stopped asks whether it is.
const STOP_POLL: Duration = Duration::from_millis(20);

/// How long the next message may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deadlines<'d> {
    /// From the start of a run of the submission to its end.
    pub submission: Duration,
    /// The time left for all its runs, in this process and in those of other cases; each run's time
    /// is taken from it.
    pub all_runs: Option<&'d Cell<Duration>>,
    /// While the harness itself is at work.
    pub ours: Duration,
    /// The time that the first two are in.
    pub clock: Clock,
}

/// How a worker ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerEnd<A> {
    /// With an answer.
    Answer(Box<A>),
    /// Without an answer: the case cannot be graded, or the submission failed and the process did
    /// not live to say more.
    NoAnswer(NoResult),
    /// It was killed: this took too long.
    TimedOut(Phase),
    /// It died.
    Died {
        /// Whether a run of the submission had begun.
        has_run: bool,
        /// How the system says that it ended.
        exit: Exit,
        /// The end of what it wrote to standard error.
        said: String,
    },
}

/// How a process ended that gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It found a bug in itself: the exit code is [`BUG_EXIT_CODE`].
    Bug,
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// The system does not say.
    Unknown,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Exit {
        if let Some(signal) = processes::signal(status) {
            return Exit::Signal(signal);
        }
        match status.code() {
            Some(code) if code == i32::from(BUG_EXIT_CODE) => Exit::Bug,
            Some(code) => Exit::Code(code),
            None => Exit::Unknown,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Bug => f.write_str("a bug in harness"),
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => write!(f, "signal {signal}"),
            Exit::Unknown => f.write_str("no exit code"),
        }
    }
}

/// Does a job in a worker.
///
/// # Errors
///
/// An error that keeps every job from being done.
pub fn run<J: Job>(
    job: &J,
    deadlines: &Deadlines<'_>,
) -> Result<WorkerEnd<J::Answer>, WorkerError> {
    run_until(job, deadlines, None)
}

/// As [`run`], until `stopped` says that the answer is not wanted any more.
///
/// # Errors
///
/// As [`run`], and [`WorkerError::Stopped`].
pub fn run_until<J: Job>(
    job: &J,
    deadlines: &Deadlines<'_>,
    stopped: Option<&dyn Fn() -> bool>,
) -> Result<WorkerEnd<J::Answer>, WorkerError> {
    let mut job = job.clone();
    let mut command = this_program()?;
    command.arg(J::NAME).args(job.paths());
    run_command(command, &job, deadlines, stopped)
}

fn this_program() -> Result<Command, WorkerError> {
    let mut command = Command::new(processes::this_program().map_err(WorkerError::NoProcess)?);
    command.arg(SUBCOMMAND);
    // Kernels are loaded with their module, not when they are first launched, which would be timed.
    command.env("CUDA_MODULE_LOADING", "EAGER");
    // Its last words are all that is shown.
    command.env_remove("RUST_BACKTRACE");
    Ok(command)
}

/// The message for a process that died: how, and its last words, without notes and backtrace.
pub fn describe_exit(exit: &Exit, said: &str) -> String {
    let is_frame = |line: &str| {
        let number = line.split_once(": ").map(|(number, _)| number);
        line.starts_with("at ") || number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut lines = said.lines().rev().map(str::trim);
    let last = lines
        .find(|line| {
            !(line.is_empty()
                || line.starts_with("note:")
                || *line == "stack backtrace:"
                || is_frame(line))
        })
        .unwrap_or_default();
    let colon = if last.is_empty() { "" } else { ": " };
    format!("the process that ran it died ({exit}){colon}{last}")
}

pub(super) fn run_command<J: Job>(
    mut command: Command,
    job: &J,
    deadlines: &Deadlines<'_>,
    stopped: Option<&dyn Fn() -> bool>,
) -> Result<WorkerEnd<J::Answer>, WorkerError> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = KilledOnDrop(command.spawn().map_err(WorkerError::NoProcess)?);
    let job = serde_json::to_vec(job).expect("jobs have a JSON form");
    let mut stdin = child.0.stdin.take().expect("is piped");
    let stdout = child.0.stdout.take().expect("is piped");
    let stderr = child.0.stderr.take().expect("is piped");
    // If it dies before it has read all, that shows in what it says.
    std::thread::spawn(move || drop(stdin.write_all(&job)));
    let said = std::thread::spawn(move || tail(stderr));
    let (sender, messages) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout.take(MAX_ANSWER_BYTES)).lines() {
            let message = line.map_err(|error| error.to_string()).and_then(|line| {
                serde_json::from_str::<Message<J::Answer>>(&line)
                    .map_err(|error| format!("{error}: {line:.200}"))
            });
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    let mut phase = Phase::Ours;
    let mut has_run = false;
    let mut failed = None;
    loop {
        // A submission that is known to have failed has run enough: the rest describes how.
        let all_runs = deadlines
            .all_runs
            .filter(|_| phase == Phase::Submission && failed.is_none());
        let (deadline, clock) = match phase {
            Phase::Ours => (deadlines.ours, Clock::Wall),
            Phase::Submission => (deadlines.submission, deadlines.clock),
        };
        let deadline = all_runs.map_or(deadline, |left| deadline.min(left.get()));
        let watch = Stopwatch::begin(clock, child.0.id());
        let message = receive(&messages, deadline, &watch, stopped)?;
        if let Some(left) = all_runs {
            left.set(left.get().saturating_sub(watch.elapsed()));
        }
        match message {
            Ok(Ok(Message::Enter(entered))) => {
                phase = entered;
                has_run |= entered == Phase::Submission;
            }
            Ok(Ok(Message::Failed(failure))) => failed = Some(failure),
            Ok(Ok(Message::Answer(answer))) => return Ok(WorkerEnd::Answer(answer)),
            Ok(Ok(Message::NoAnswer(why))) => return Ok(WorkerEnd::NoAnswer(why)),
            Ok(Err(wrong)) => return Err(WorkerError::Protocol(wrong)),
            Err(error) => {
                if let Some(failure) = failed {
                    return Ok(WorkerEnd::NoAnswer((*failure).into()));
                }
                if error == RecvTimeoutError::Timeout {
                    return Ok(WorkerEnd::TimedOut(phase));
                }
                let exit = child.0.wait().map_or(Exit::Unknown, Exit::from);
                return Ok(WorkerEnd::Died {
                    has_run,
                    exit,
                    said: said.join().unwrap_or_default(),
                });
            }
        }
    }
}

/// The next message, unless the deadline passes, or `stopped` says that it is not wanted.
fn receive<T>(
    messages: &Receiver<T>,
    deadline: Duration,
    watch: &Stopwatch,
    stopped: Option<&dyn Fn() -> bool>,
) -> Result<Result<T, RecvTimeoutError>, WorkerError> {
    loop {
        if stopped.is_some_and(|stopped| stopped()) {
            return Err(WorkerError::Stopped);
        }
        let left = deadline.saturating_sub(watch.elapsed());
        let wait = stopped.map_or(left, |_| left.min(STOP_POLL));
        match messages.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) if watch.elapsed() < deadline => {}
            ended => return Ok(ended),
        }
    }
}

/// A process that does not outlive its handle.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // A process that has ended is not killed; one that is done may be on its way out.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The end of what there is to read, which is read to the end.
fn tail(mut from: impl Read) -> String {
    const KEPT: usize = 4096;
    let mut kept = Vec::new();
    let mut chunk = [0; KEPT];
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..read]);
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}
