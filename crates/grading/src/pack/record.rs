//! The submission's host code: run with the lab's problems, its plans read as untrusted input.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use plan::{Plan, Recording, Task};

use sandbox::{Access, Calls, End, Finished, InForce, Sandbox};

use super::compile::{self, LIBRARIES, OUT_OF_MEMORY, shortened};
use super::{Options, PackError};
use crate::outcome::{Kind, fail};

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
    let mut read: Vec<PathBuf> = LIBRARIES.map(PathBuf::from).to_vec();
    read.push(recorder.to_owned());
    compile::keeps(&read, &options.secrets())?;
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
    options.keep_printed(&finished);
    ended(&finished, options)?;
    let text = read_text(&file, options.record.file_bytes)?;
    Ok((parse(&text, tasks)?, finished.in_force))
}

/// How it ended, if not well.
fn ended(finished: &Finished, options: &Options) -> Result<(), PackError> {
    let limits = &options.record;
    let said = options.within_course(&String::from_utf8_lossy(&finished.stderr));
    let said = shortened(&said);
    let words = match said.is_empty() {
        true => String::new(),
        false => format!("; it said:\n{said}"),
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
            limits.file_bytes >> 20
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

/// The plans for these tasks, if that is what the text holds: each once, in order, and nothing
/// else.
fn parse(text: &[u8], tasks: &[Task]) -> Result<Vec<Plan>, PackError> {
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    // After the last line's end, there is nothing.
    let rest = lines.pop().unwrap_or_default();
    let mut plans = Vec::new();
    for (i, task) in tasks.iter().enumerate() {
        let (name, all) = (&task.name, tasks.len());
        let Some(line) = lines.get(i) else {
            fail!(
                Kind::RecorderFailed,
                "launch.rs: recording ended before case `{name}`: there are {i} of {all} plans; it must return, not exit"
            );
        };
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
        plans.push(match (recording.plan, recording.error) {
            (Some(plan), None) => plan,
            (None, Some(error)) => {
                let kind = match recording.too_large {
                    true => Kind::PlanTooLarge,
                    false => Kind::RecorderFailed,
                };
                fail!(kind, "launch.rs: case `{name}`: {}", shortened(&error));
            }
            _ => fail!(
                Kind::PlanMalformed,
                "launch.rs: case `{name}`: it needs a plan or an error"
            ),
        });
    }
    if lines.len() > tasks.len() || !rest.is_empty() {
        fail!(
            Kind::PlanMalformed,
            "launch.rs: more than the {} plans that were asked for",
            tasks.len()
        );
    }
    Ok(plans)
}

#[cfg(test)]
mod tests;
