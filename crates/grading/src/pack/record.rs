//! The submission's host code: run with the lab's problems, its plans read as untrusted input.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use plan::{Plan, Recording, Task};

use sandbox::{Access, Calls, End, Finished, InForce, ResourceLimits, Sandbox};

use super::compile::shortened;
use super::{Options, PackError};
use crate::outcome::Kind;

/// What a program needs to start.
const SYSTEM: [&str; 6] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/nix/store",
];

/// Runs the recorder with these tasks, in `folder`, and returns its plans, in the same order.
pub fn plans(
    recorder: &Path,
    tasks: &[Task],
    folder: &Path,
    options: &Options,
) -> Result<(Vec<Plan>, InForce), PackError> {
    // Its own name, which it is given and could not guess; it may write this file and no other.
    let file = folder.join(format!("plans-{:016x}", fastrand::u64(..)));
    File::create_new(&file).map_err(PackError::io(&file))?;
    let mut read: Vec<PathBuf> = SYSTEM.map(PathBuf::from).to_vec();
    read.push(recorder.to_owned());
    let sandbox = Sandbox {
        limits: options.record,
        access: Access {
            read,
            write: vec![file.clone()],
        },
        calls: Calls::Recorder,
        without: options.without.clone(),
    };
    let mut input = Vec::new();
    for task in tasks {
        serde_json::to_writer(&mut input, task).expect("memory takes everything");
    }
    let finished = sandbox
        .run(
            Command::new(recorder).arg(&file).current_dir(folder),
            &input,
        )
        .map_err(PackError::io(recorder))?;
    ended(&finished, &options.record)?;
    let text = read_text(&file, options.record.file_bytes)?;
    Ok((parse(&text, tasks)?, finished.in_force))
}

/// How it ended, if not well.
fn ended(finished: &Finished, limits: &ResourceLimits) -> Result<(), PackError> {
    let said = shortened(&String::from_utf8_lossy(&finished.stderr));
    let (kind, message) = match finished.end {
        End::Exited(0) => return Ok(()),
        End::Exited(101) => (Kind::RecorderFailed, "recording panicked".to_owned()),
        End::Exited(code) => (
            Kind::RecorderFailed,
            format!("recording ended with exit code {code}"),
        ),
        End::TimedOut => {
            let seconds = limits.wall.min(Duration::from_secs(limits.cpu_s)).as_secs();
            let message = format!(
                "recording took more than {seconds} s; it only lists launches, and takes milliseconds"
            );
            (Kind::RecorderTimedOut, message)
        }
        End::TooMuchOutput => {
            let kib = limits.output_bytes >> 10;
            let message = format!("launch.rs: recording printed more than {kib} KiB");
            return Err(PackError::refused(Kind::RecorderLimit, message));
        }
        End::FileTooLarge => {
            let mib = limits.file_bytes >> 20;
            let message = format!("the plans take more than {mib} MiB; record fewer launches");
            (Kind::PlanTooLarge, message)
        }
        End::ForbiddenCall => (
            Kind::RecorderForbidden,
            "recording tried to start a process or thread, or to use the network, and was ended"
                .to_owned(),
        ),
        End::Signal(libc::SIGABRT) if said.contains("memory allocation of") => {
            let gib = limits.memory_bytes >> 30;
            let message = format!("recording took more than {gib} GiB of memory");
            (Kind::RecorderLimit, message)
        }
        End::Signal(signal) => (
            Kind::RecorderFailed,
            format!("recording crashed (signal {signal})"),
        ),
    };
    let words = if said.is_empty() {
        String::new()
    } else {
        format!("; it said:\n{said}")
    };
    Err(PackError::refused(
        kind,
        format!("launch.rs: {message}{words}"),
    ))
}

fn read_text(file: &Path, most_bytes: u64) -> Result<Vec<u8>, PackError> {
    let mut text = Vec::new();
    File::open(file)
        .and_then(|file| file.take(most_bytes + 1).read_to_end(&mut text))
        .map_err(PackError::io(file))?;
    // A program that was killed may have left much.
    fs::remove_file(file).map_err(PackError::io(file))?;
    Ok(text)
}

/// The plans for these tasks, if that is what the text holds: each once, in order, and nothing else.
fn parse(text: &[u8], tasks: &[Task]) -> Result<Vec<Plan>, PackError> {
    let malformed =
        |message: String| PackError::refused(Kind::PlanMalformed, format!("launch.rs: {message}"));
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    // After the last line's end, there is nothing.
    let rest = lines.pop().unwrap_or_default();
    let mut plans = Vec::new();
    for (i, task) in tasks.iter().enumerate() {
        let Some(line) = lines.get(i) else {
            let message = format!(
                "launch.rs: recording ended before case `{}`: there are {} of {} plans; it must return, not exit",
                task.name,
                i,
                tasks.len()
            );
            return Err(PackError::refused(Kind::RecorderFailed, message));
        };
        let recording: Recording = serde_json::from_slice(line).map_err(|error| {
            malformed(format!("case `{}`: this is not a plan: {error}", task.name))
        })?;
        if recording.name != task.name {
            return Err(malformed(format!(
                "a plan for `{}` where that for case `{}` should be",
                shortened(&recording.name),
                task.name
            )));
        }
        plans.push(match (recording.plan, recording.error) {
            (Some(plan), None) => plan,
            (None, Some(error)) => {
                let kind = if recording.too_large {
                    Kind::PlanTooLarge
                } else {
                    Kind::RecorderFailed
                };
                let message = format!("launch.rs: case `{}`: {}", task.name, shortened(&error));
                return Err(PackError::refused(kind, message));
            }
            _ => {
                return Err(malformed(format!(
                    "case `{}`: neither a plan nor an error",
                    task.name
                )));
            }
        });
    }
    if lines.len() > tasks.len() || !rest.is_empty() {
        return Err(malformed(format!(
            "more than the {} plans that were asked for",
            tasks.len()
        )));
    }
    Ok(plans)
}

#[cfg(test)]
mod tests;
