//! The worker's side: reads a job, does it, answers.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use super::{Job, Message, Phase, Watch, WorkerError};
use crate::outcome::Failure;

/// Does the job with these paths whose rest standard input holds, answers, and ends the process.
///
/// # Errors
///
/// If standard input or output cannot be used, or the job is missing.
pub fn serve<J: Job>(paths: Vec<PathBuf>) -> Result<(), WorkerError> {
    let mut out = Line(private_stdout()?);
    let text = io::read_to_string(io::stdin()).map_err(|source| WorkerError::Stream {
        stream: "input",
        source,
    })?;
    let job = read::<J>(&text, paths)?;
    if let Some(max_bytes) = job.max_memory_bytes() {
        limit_memory(max_bytes);
    }
    let answer = job.work(&mut out);
    out.send(&match answer {
        Ok(answer) => Message::Answer(Box::new(answer)),
        Err(outcome) => Message::NoAnswer(outcome),
    });
    // The device's context may be damaged and is not taken down in order: the process ends here.
    std::process::exit(0);
}

/// The job of this text and these paths.
pub(super) fn read<J: Job>(text: &str, paths: Vec<PathBuf>) -> Result<J, WorkerError> {
    let mut job: J = serde_json::from_str(text).map_err(WorkerError::NoJob)?;
    let own = job.paths();
    if own.len() != paths.len() {
        return Err(WorkerError::NotOurs {
            name: J::NAME.to_owned(),
            paths: paths.len(),
        });
    }
    for (own, path) in own.into_iter().zip(paths) {
        *own = path;
    }
    Ok(job)
}

/// From now on this process takes no more memory than this. Programs that it starts may raise their
/// own limit again.
fn limit_memory(max_bytes: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let old = getrlimit(Resource::Data);
        let limit = Rlimit {
            current: Some(old.current.map_or(max_bytes, |old| old.min(max_bytes))),
            maximum: old.maximum,
        };
        // Where that is not possible, the deadline is the limit.
        let _ = setrlimit(Resource::Data, limit);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = max_bytes;
}

/// Standard output, which from now on only the caller has. The process ends with the one that
/// started it.
fn private_stdout() -> Result<File, WorkerError> {
    let failed = |source| WorkerError::Stream {
        stream: "output",
        source,
    };
    #[cfg(target_os = "linux")]
    {
        let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)
            .map_err(|error| failed(error.into()))?;
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
    Err(failed(io::Error::other("worker processes need Linux")))
}

/// Where messages go, a line each.
struct Line(File);

impl Line {
    fn send<A: Serialize>(&mut self, message: &Message<A>) {
        let mut line = serde_json::to_vec(message).expect("messages have a JSON form");
        line.push(b'\n');
        if self.0.write_all(&line).is_err() {
            // The parent no longer listens.
            std::process::exit(3);
        }
    }
}

impl Watch for Line {
    fn enter(&mut self, phase: Phase) {
        self.send(&Message::<()>::Enter(phase));
    }

    fn failed(&mut self, failure: &Failure) {
        self.send(&Message::<()>::Failed(Box::new(failure.clone())));
    }
}
