//! The worker's side: reads a job, does it, answers.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use super::{Job, Message, Phase, Watch, WorkerError};
use crate::outcome::Failure;
use crate::processes::{limit_memory, private_stdout};

/// Does the job with these paths whose rest standard input holds, answers, and ends the process.
///
/// # Errors
///
/// If standard input or output cannot be used, or the job is missing.
pub fn serve<J: Job>(paths: Vec<PathBuf>) -> Result<(), WorkerError> {
    let failed = |stream| move |source| WorkerError::Stream { stream, source };
    let mut out = Line(private_stdout().map_err(failed("output"))?);
    let text = io::read_to_string(io::stdin()).map_err(failed("input"))?;
    let job = read::<J>(&text, paths)?;
    if let Some(max_bytes) = job.max_memory_bytes() {
        limit_memory(max_bytes);
    }
    let answer = job.work(&mut out);
    out.send(&match answer {
        Ok(answer) => Message::Answer(Box::new(answer)),
        Err(why) => Message::NoAnswer(why),
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
    for (slot, path) in own.into_iter().zip(paths) {
        *slot = path;
    }
    Ok(job)
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
