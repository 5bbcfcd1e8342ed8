//! The process that packs a submission, opens a bundle or runs one case, its limits, and what its death means.
//!
//! It is this program again (`harness grade-case`), which gets a [`Job`] on standard input and answers with a line for
//! each [`Message`]. It is trusted, but the submission's kernels may hang it, or take the device's context or the driver
//! down with them. That costs the case and no more: the parent waits for each message no longer than a deadline,
//! and the next case has a process and a context of its own. The memory that it may take is limited where no driver asks for
//! it; what it says is read up to [`MOST_ANSWER_BYTES`].
//!
//! Messages go through a descriptor that only this module knows. A kernel's `printf` writes to standard output, which leads
//! nowhere.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem::take;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use device::Device;
use device::discover;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::case::{Phase, Watch};
use super::emulated::Extent;
use super::error::GradeError;
pub use super::job::DeviceName;
use super::job::{Answer, CaseJob};
use super::open::{self, OpenJob, Opened};
use crate::outcome::{Failing, Outcome};
use crate::pack::job::{self as packing, NotPacked, PackJob, PackedFile};

/// The exit code of a process that found a bug in itself.
pub const BUG_EXIT_CODE: u8 = 4;

/// The most that a process may say, in bytes: a picture, a few texts.
const MOST_ANSWER_BYTES: u64 = 64 << 20;

/// What it is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// To pack a submission.
    Pack(PackJob),
    /// To open a bundle.
    Open(OpenJob),
    /// To run a case.
    Case(CaseJob),
}

impl Job {
    /// Every path in it.
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Job::Pack(job) => {
                let PackJob {
                    submission,
                    course_root,
                    cache,
                    bundle,
                    ..
                } = job;
                [submission, course_root, bundle]
                    .into_iter()
                    .chain(cache)
                    .collect()
            }
            Job::Open(OpenJob { bundle, parts, .. }) => vec![bundle, parts],
            Job::Case(CaseJob { parts, .. }) => vec![parts],
        }
    }
}

/// A job as it is sent. A path may be any bytes, and a text of JSON may not: the job's own are empty.
#[derive(Serialize, Deserialize)]
struct Sent {
    job: Job,
    paths: Vec<OsString>,
}

impl Sent {
    fn new(mut job: Job) -> Sent {
        let paths = job.paths().into_iter().map(|path| take(path).into());
        Sent {
            paths: paths.collect(),
            job,
        }
    }

    fn received(self) -> Job {
        let mut job = self.job;
        for (path, sent) in job.paths().into_iter().zip(self.paths) {
            *path = sent.into();
        }
        job
    }
}

/// What it says; `A` is what it answers in the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message<A = Answer> {
    /// See [`Watch::enter`].
    Enter(Phase),
    /// See [`Watch::failed`].
    Failed(Box<Failing>),
    /// The last: what became of it.
    Answer(Box<A>),
    /// The last: why there is no answer.
    NoAnswer(Outcome),
}

/// How long the next message may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deadlines<'d> {
    /// From the start of a run of the submission to its end.
    pub submission: Duration,
    /// What is left for all its runs, in this process and in those of other cases; what they take is taken from it.
    pub all_runs: Option<&'d Cell<Duration>>,
    /// While the harness itself is at work.
    pub ours: Duration,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended<A = Answer> {
    /// With an answer.
    Answer(Box<A>),
    /// Without an answer: the case cannot be graded, or the submission failed and the process did not live to say more.
    NoAnswer(Outcome),
    /// It was killed: this took too long.
    TimedOut(Phase),
    /// It died.
    Died {
        /// Whether a run of the submission had begun.
        has_run: bool,
        /// The signal, or the exit code.
        how: String,
        /// The end of what it wrote to standard error.
        said: String,
    },
}

/// What runs jobs.
pub trait CaseRunner {
    /// Runs a job.
    ///
    /// # Errors
    ///
    /// What keeps every job from being run.
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<Ended, GradeError>;

    /// Opens a bundle. Unless it is overridden, in this process: for tests, which know what is in their bundles.
    ///
    /// # Errors
    ///
    /// What keeps every bundle from being opened.
    fn open(&self, job: &OpenJob, _deadlines: &Deadlines<'_>) -> Result<Ended<Opened>, GradeError> {
        Ok(match job.run() {
            Ok(opened) => Ended::Answer(Box::new(opened)),
            Err(outcome) => Ended::NoAnswer(outcome),
        })
    }
}

/// Each job in a process of its own: this program again.
#[derive(Debug, Clone, Copy, Default)]
pub struct CaseProcesses;

/// The hidden subcommand of this program that does a [`Job`].
pub const SUBCOMMAND: &str = "grade-case";

impl CaseRunner for CaseProcesses {
    fn run(&self, job: &CaseJob, deadlines: &Deadlines<'_>) -> Result<Ended, GradeError> {
        run(this_program()?, Job::Case(job.clone()), deadlines)
    }

    fn open(&self, job: &OpenJob, deadlines: &Deadlines<'_>) -> Result<Ended<Opened>, GradeError> {
        run(this_program()?, Job::Open(job.clone()), deadlines)
    }
}

impl CaseProcesses {
    /// Packs a submission.
    ///
    /// # Errors
    ///
    /// What keeps every submission from being packed.
    pub fn pack(
        &self,
        job: &PackJob,
        deadline: Duration,
    ) -> Result<Ended<Result<PackedFile, NotPacked>>, GradeError> {
        let deadlines = Deadlines {
            submission: deadline,
            all_runs: None,
            ours: deadline,
        };
        run(this_program()?, Job::Pack(job.clone()), &deadlines)
    }
}

fn this_program() -> Result<Command, GradeError> {
    let mut command = Command::new(std::env::current_exe().map_err(GradeError::NoProcess)?);
    command.arg(SUBCOMMAND);
    // Kernels are loaded with their module, not when they are first launched, which would be timed.
    command.env("CUDA_MODULE_LOADING", "EAGER");
    // Nobody sees more than its last words.
    command.env_remove("RUST_BACKTRACE");
    Ok(command)
}

/// What is said of a process that died: how, and its last words, which are neither a note nor part of a backtrace.
pub fn died(how: &str, said: &str) -> String {
    let is_frame = |line: &str| {
        let number = line.split_once(": ").map(|(number, _)| number);
        line.starts_with("at ") || number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut lines = said.lines().rev().map(str::trim);
    let last = lines.find(|line| {
        !(line.is_empty()
            || line.starts_with("note:")
            || *line == "stack backtrace:"
            || is_frame(line))
    });
    let last = last.unwrap_or_default();
    let colon = if last.is_empty() { "" } else { ": " };
    format!("the process that ran it died ({how}){colon}{last}")
}

fn run<A: DeserializeOwned + Send + 'static>(
    mut command: Command,
    job: Job,
    deadlines: &Deadlines<'_>,
) -> Result<Ended<A>, GradeError> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = KilledOnDrop(command.spawn().map_err(GradeError::NoProcess)?);
    let job = serde_json::to_vec(&Sent::new(job)).expect("jobs have a JSON form");
    let mut stdin = child.0.stdin.take().expect("is piped");
    let stdout = child.0.stdout.take().expect("is piped");
    let stderr = child.0.stderr.take().expect("is piped");
    // If it dies before it has read all, that shows in what it says.
    std::thread::spawn(move || drop(stdin.write_all(&job)));
    let said = std::thread::spawn(move || tail(stderr));
    let (sender, messages) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout.take(MOST_ANSWER_BYTES)).lines() {
            let message = line.map_err(|error| error.to_string()).and_then(|line| {
                serde_json::from_str::<Message<A>>(&line)
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
        // Whoever is known to have failed has run enough: what follows describes how.
        let all_runs = deadlines
            .all_runs
            .filter(|_| phase == Phase::Submission && failed.is_none());
        let deadline = match phase {
            Phase::Ours => deadlines.ours,
            Phase::Submission => deadlines.submission,
        };
        let deadline = all_runs.map_or(deadline, |left| deadline.min(left.get()));
        let waited = Instant::now();
        let message = messages.recv_timeout(deadline);
        if let Some(left) = all_runs {
            left.set(left.get().saturating_sub(waited.elapsed()));
        }
        match message {
            Ok(Ok(Message::Enter(entered))) => {
                phase = entered;
                has_run |= entered == Phase::Submission;
            }
            Ok(Ok(Message::Failed(failing))) => failed = Some(failing),
            Ok(Ok(Message::Answer(answer))) => return Ok(Ended::Answer(answer)),
            Ok(Ok(Message::NoAnswer(outcome))) => return Ok(Ended::NoAnswer(outcome)),
            Ok(Err(said)) => return Err(GradeError::Protocol(said)),
            Err(error) => {
                if let Some(failing) = failed {
                    return Ok(Ended::NoAnswer((*failing).into()));
                }
                if error == RecvTimeoutError::Timeout {
                    return Ok(Ended::TimedOut(phase));
                }
                let status = child.0.wait();
                let how = status.map_or_else(|error| error.to_string(), describe);
                return Ok(Ended::Died {
                    has_run,
                    how,
                    said: said.join().unwrap_or_default(),
                });
            }
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

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return format!("signal {signal}");
        }
    }
    match status.code() {
        Some(code) if code == i32::from(BUG_EXIT_CODE) => "a bug in harness".to_owned(),
        Some(code) => format!("exit code {code}"),
        None => "no exit code".to_owned(),
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

/// The process's side: runs the case that standard input holds, answers on standard output, and ends the process.
///
/// # Errors
///
/// If standard input or output cannot be used, or there is no job.
pub fn answer() -> Result<(), GradeError> {
    let mut out = Line(private_stdout()?);
    let text = io::read_to_string(io::stdin()).map_err(|source| GradeError::Stream {
        stream: "input",
        source,
    })?;
    let sent: Sent = serde_json::from_str(&text).map_err(GradeError::NoJob)?;
    let job = sent.received();
    limit_memory(&job);
    match job {
        Job::Pack(job) => out.end(Ok(job.run())),
        Job::Open(job) => out.end(job.run()),
        Job::Case(job) => {
            let device = device(&job);
            let answered = device.and_then(|device| job.run(device.as_ref(), &mut out));
            out.end(answered);
        }
    }
    // What a submission left of the device's context is not taken down in order: the process ends here.
    std::process::exit(0);
}

/// From now on this process takes no more memory than what it does may need. On a GPU its driver decides.
fn limit_memory(job: &Job) {
    let most_bytes = match job {
        Job::Pack(_) => packing::MOST_MEMORY,
        Job::Open(_) => open::MOST_MEMORY,
        Job::Case(job) => match (job.device, job.checks) {
            (DeviceName::Cuda(_), _) => return,
            (DeviceName::Emulated, extent) => extent.unwrap_or(Extent::Whole).most_memory(),
        },
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let old = getrlimit(Resource::Data);
        let most = |old: Option<u64>| Some(old.map_or(most_bytes, |old| old.min(most_bytes)));
        let limit = Rlimit {
            current: most(old.current),
            maximum: match job {
                // Compilers have a limit of their own, which may be higher.
                Job::Pack(_) => old.maximum,
                _ => most(old.maximum),
            },
        };
        // Where that is not possible, the deadline is the limit.
        let _ = setrlimit(Resource::Data, limit);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = most_bytes;
}

fn device(job: &CaseJob) -> Result<Box<dyn Device>, Outcome> {
    let ordinal = match job.device {
        DeviceName::Emulated => return Ok(Box::new(job.checks.unwrap_or(Extent::Whole).device())),
        DeviceName::Cuda(ordinal) => ordinal,
    };
    let lacking = |why: &str| Outcome::not_graded_here(format!("--device {}: {why}", job.device));
    let devices = discover().map_err(|error| lacking(&format!("{error}; see `harness doctor`")))?;
    let found = devices
        .into_iter()
        .find(|device| device.info().ordinal == ordinal);
    found.ok_or_else(|| lacking("there is no such GPU"))
}

/// Standard output, which from now on only the caller has. The process ends with the one that started it.
fn private_stdout() -> Result<File, GradeError> {
    let failed = |source| GradeError::Stream {
        stream: "output",
        source,
    };
    #[cfg(target_os = "linux")]
    {
        let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3);
        let own = own.map_err(|error| failed(error.into()))?;
        let nowhere = File::options()
            .write(true)
            .open("/dev/null")
            .map_err(failed)?;
        rustix::stdio::dup2_stdout(&nowhere).map_err(|error| failed(error.into()))?;
        // Without it a process whose starter is killed goes on for as long as its kernel runs.
        let _ =
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        Ok(File::from(own))
    }
    #[cfg(not(target_os = "linux"))]
    Err(failed(io::Error::other(
        "cases run in processes of their own on Linux only",
    )))
}

/// Where messages go, a line each.
struct Line(File);

impl Line {
    /// The last message.
    fn end<A: Serialize>(&mut self, answered: Result<A, Outcome>) {
        self.send(&match answered {
            Ok(answer) => Message::Answer(Box::new(answer)),
            Err(outcome) => Message::NoAnswer(outcome),
        });
    }

    fn send<A: Serialize>(&mut self, message: &Message<A>) {
        let mut line = serde_json::to_vec(message).expect("messages have a JSON form");
        line.push(b'\n');
        if self.0.write_all(&line).is_err() {
            // Nobody listens any more.
            std::process::exit(3);
        }
    }
}

impl Watch for Line {
    fn enter(&mut self, phase: Phase) {
        self.send(&Message::<Answer>::Enter(phase));
    }

    fn failed(&mut self, failing: &Failing) {
        self.send(&Message::<Answer>::Failed(Box::new(failing.clone())));
    }
}

#[cfg(all(test, unix))]
mod tests;
