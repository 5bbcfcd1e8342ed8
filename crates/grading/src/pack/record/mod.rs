//! The submission's host code: run with the lab's problems, its plans read as untrusted input.
//!
//! One process records all cases, one after the other. Where it ends early, the case that it was at
//! fails, and another process records those after it. So there are at most as many processes as
//! cases, and [`Allowance`] bounds their time.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use plan::{Plan, Recording, Task};

use sandbox::{Access, Calls, End, Finished, InForce, ResourceLimits, Sandbox};

use super::compile::{self, LIBRARIES, OUT_OF_MEMORY, shortened};
use super::{Options, PackError};
use crate::outcome::{Failure, Kind, fail};

/// The plan of a case, or why there is none.
pub type Recorded = Result<Plan, Failure>;

/// The time that recorders may take. A submission whose recorder meets its limit is wrong: what
/// comes after is given less.
#[derive(Debug, Default)]
pub struct Allowance {
    /// Recorders that met a limit on time.
    pub timed_out: u32,
    /// All recorders together.
    pub taken: Duration,
}

impl Allowance {
    /// After this number of recorders that met a limit on time, no other is started.
    const MAX_TIMED_OUT: u32 = 3;
    /// After one that did, the limits are this many times shorter.
    const SHORTER: u32 = 5;
    /// All recorders together may take this many times as long as one.
    const ALL: u32 = 3;

    /// For other cases of the same submission.
    pub fn for_others(&self) -> Allowance {
        Allowance {
            timed_out: self.timed_out.min(1),
            taken: Duration::ZERO,
        }
    }

    /// The next recorder's limits; `None` if there is to be no other.
    pub fn limits(&self, first: ResourceLimits) -> Option<ResourceLimits> {
        let is_over =
            self.timed_out >= Allowance::MAX_TIMED_OUT || self.taken >= first.wall * Allowance::ALL;
        let shorter = match self.timed_out {
            0 => 1,
            _ => Allowance::SHORTER,
        };
        (!is_over).then(|| ResourceLimits {
            wall: (first.wall / shorter).max(Duration::from_secs(1)),
            cpu_s: (first.cpu_s / u64::from(shorter)).max(1),
            ..first
        })
    }

    /// How a case fails that no recorder was asked for.
    pub fn over(&self) -> Failure {
        let message = match self.timed_out {
            0 => "recording the cases before took too long".to_owned(),
            times => format!("recording the cases before took too long {times} times"),
        };
        Failure::new(
            Kind::RecorderTimedOut,
            format!(
                "launch.rs: not recorded: {message}; it only lists launches, and takes milliseconds"
            ),
        )
    }
}

/// Runs the recorder with these tasks, in `folder`, and returns what it recorded, in the same
/// order.
///
/// # Errors
///
/// The machine lacks something; without tasks, also how the recorder failed.
pub fn cases(
    recorder: &Path,
    tasks: &[Task],
    folder: &Path,
    options: &Options,
    allowance: &mut Allowance,
) -> Result<(Vec<Recorded>, InForce), PackError> {
    let mut all: Vec<Recorded> = Vec::with_capacity(tasks.len());
    let mut in_force = InForce::ALL;
    let mut file_bytes = options.record.file_bytes;
    loop {
        let Some(limits) = allowance.limits(options.record) else {
            all.resize_with(tasks.len(), || Err(allowance.over()));
            break;
        };
        let limits = ResourceLimits {
            file_bytes,
            ..limits
        };
        let began = Instant::now();
        let left = &tasks[all.len()..];
        let (text, finished) = run(recorder, left, folder, options, limits)?;
        allowance.taken += began.elapsed();
        in_force = in_force.and(finished.in_force);
        let ended = ended(&finished, options, &limits);
        if let Err(failure) = &ended {
            allowance.timed_out += u32::from(failure.kind == Kind::RecorderTimedOut);
            if tasks.is_empty() {
                return Err(failure.clone().into());
            }
        }
        let (recorded, plans_bytes) = parse(&text, left, all.len(), ended);
        // All plans together must fit.
        file_bytes = file_bytes.saturating_sub(plans_bytes);
        all.extend(recorded);
        if all.len() >= tasks.len() {
            break;
        }
    }
    Ok((all, in_force))
}

/// The labels of the launch shapes that the solution declares, asked with a task that names one.
///
/// # Errors
///
/// As [`cases`]; how the recorder failed.
pub fn shapes(
    recorder: &Path,
    task: Task,
    folder: &Path,
    options: &Options,
) -> Result<Vec<String>, PackError> {
    let limits = options.record;
    let (text, finished) = run(recorder, &[task], folder, options, limits)?;
    ended(&finished, options, &limits)?;
    let recording: Recording = serde_json::from_slice(&text).map_err(|error| {
        let message = format!("launch.rs: `Solution::shapes`: the recorder's answer: {error}");
        Failure::new(Kind::PlanMalformed, message)
    })?;
    Ok(recording.shapes)
}

/// Runs the recorder once, with these tasks; what it wrote, and how it ended.
fn run(
    recorder: &Path,
    tasks: &[Task],
    folder: &Path,
    options: &Options,
    limits: ResourceLimits,
) -> Result<(Vec<u8>, Finished), PackError> {
    // Its own name, which it is given and could not guess; it may write this file and no other.
    let file = folder.join(format!("plans-{:016x}", fastrand::u64(..)));
    File::create_new(&file).map_err(PackError::io(&file))?;
    let mut read: Vec<PathBuf> = LIBRARIES.map(PathBuf::from).to_vec();
    read.push(recorder.to_owned());
    compile::keeps(&read, &options.secrets())?;
    let sandbox = Sandbox {
        limits,
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
    options.keep_printed(&finished);
    let text = read_text(&file, limits.file_bytes)?;
    Ok((text, finished))
}

/// How it ended, if not well.
fn ended(finished: &Finished, options: &Options, limits: &ResourceLimits) -> Result<(), Failure> {
    let said = options.within_course(&String::from_utf8_lossy(&finished.stderr));
    let said = shortened(&said);
    let words = if said.is_empty() {
        String::new()
    } else {
        format!("; it said:\n{said}")
    };
    match finished.end {
        End::Exited(0) => Ok(()),
        End::Exited(101) => fail!(Kind::RecorderFailed, "launch.rs: recording panicked{words}"),
        End::Exited(OUT_OF_MEMORY) => fail!(
            Kind::RecorderLimit,
            "launch.rs: recording took more than {} GiB of memory{words}",
            limits.memory_bytes >> 30
        ),
        End::Exited(code) => fail!(
            Kind::RecorderFailed,
            "launch.rs: recording ended with exit code {code}{words}"
        ),
        End::TimedOut => fail!(
            Kind::RecorderTimedOut,
            "launch.rs: recording took more than {} s; it only lists launches, and takes milliseconds{words}",
            limits.wall.min(Duration::from_secs(limits.cpu_s)).as_secs()
        ),
        End::TooMuchOutput => fail!(
            Kind::RecorderLimit,
            "launch.rs: recording printed more than {} KiB",
            limits.output_bytes >> 10
        ),
        End::FileTooLarge => fail!(
            Kind::PlanTooLarge,
            "launch.rs: the plans take more than {} MiB; record fewer launches{words}",
            options.record.file_bytes >> 20
        ),
        End::ForbiddenCall => fail!(
            Kind::RecorderForbidden,
            "launch.rs: recording tried to start a process or thread, or to use the network, and was ended{words}"
        ),
        End::Signal(signal) => fail!(
            Kind::RecorderFailed,
            "launch.rs: recording crashed (signal {signal}){words}"
        ),
    }
}

fn read_text(file: &Path, max_bytes: u64) -> Result<Vec<u8>, PackError> {
    let mut text = Vec::new();
    File::open(file)
        .and_then(|file| file.take(max_bytes + 1).read_to_end(&mut text))
        .map_err(PackError::io(file))?;
    // A program that was killed may have left much.
    fs::remove_file(file).map_err(PackError::io(file))?;
    Ok(text)
}

/// The plans for these tasks, as far as that is what the text holds: each once, in order, and
/// nothing else. With their length in bytes. A process that ended badly, or early, fails the case
/// that it was at, and the cases after that one are left out. `before` cases were recorded before
/// these.
fn parse(
    text: &[u8],
    tasks: &[Task],
    before: usize,
    ended: Result<(), Failure>,
) -> (Vec<Recorded>, u64) {
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    // After the last line's end, there is nothing.
    let rest = lines.pop().unwrap_or_default();
    let of_tasks = || lines.iter().zip(tasks);
    let mut all: Vec<Recorded> = of_tasks()
        .map(|(line, task)| recording(line, task))
        .collect();
    // Cases that failed leave their room to others.
    let kept = of_tasks()
        .zip(&all)
        .filter(|(_, recorded)| recorded.is_ok());
    let bytes = kept.map(|((line, _), _)| line.len() as u64).sum();
    let is_more = lines.len() > tasks.len() || lines.len() == tasks.len() && !rest.is_empty();
    // The recorder stops after one.
    let is_too_large = |recorded: &Recorded| {
        recorded
            .as_ref()
            .is_err_and(|failure| failure.kind == Kind::PlanTooLarge)
    };
    let fault = match ended {
        Err(failure) => Some(failure),
        Ok(()) if is_more => Some(Failure::new(
            Kind::PlanMalformed,
            format!(
                "launch.rs: more than the {} plans that were asked for",
                before + tasks.len()
            ),
        )),
        Ok(()) if all.len() < tasks.len() && !all.last().is_some_and(is_too_large) => {
            Some(Failure::new(
                Kind::RecorderFailed,
                format!(
                    "launch.rs: recording ended before case `{}`: there are {} of {} plans; it must return, not exit",
                    tasks[all.len()].name,
                    before + all.len(),
                    before + tasks.len()
                ),
            ))
        }
        Ok(()) => None,
    };
    if let Some(fault) = fault {
        // Of a process that was through with all cases, the last one fails.
        all.truncate(tasks.len().saturating_sub(1));
        all.push(Err(fault));
    }
    (all, bytes)
}

/// The plan for this task, if that is what the line holds.
fn recording(line: &[u8], task: &Task) -> Recorded {
    let name = &task.name;
    let recording: Recording = match serde_json::from_slice(line) {
        Ok(recording) => recording,
        Err(error) => fail!(
            Kind::PlanMalformed,
            "launch.rs: case `{name}`: this is not a plan: {error}"
        ),
    };
    if recording.name != *name {
        let found = shortened(&recording.name);
        fail!(
            Kind::PlanMalformed,
            "launch.rs: a plan for `{found}` where that for case `{name}` should be"
        );
    }
    match (recording.plan, recording.error) {
        (Some(plan), None) => Ok(plan),
        (None, Some(error)) => {
            let kind = if recording.too_large {
                Kind::PlanTooLarge
            } else {
                Kind::RecorderFailed
            };
            fail!(kind, "launch.rs: case `{name}`: {}", shortened(&error));
        }
        _ => fail!(
            Kind::PlanMalformed,
            "launch.rs: case `{name}`: it needs a plan or an error"
        ),
    }
}

#[cfg(test)]
mod tests;
