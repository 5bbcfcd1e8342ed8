//! The processes of a program: the one that is started here, and all that come from it.
//!
//! A program may end before processes that it has started. They become children of this one, so
//! that the driver's records are read when the last of them has ended, or with the words that one
//! still runs.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use output_files::interrupt::OnInterrupt;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpgrp, getpid, getppid, kill_process,
    set_child_subreaper, set_parent_process_death_signal, wait,
};
use rustix::termios::tcgetpgrp;

/// How long processes are waited for that a program leaves running.
const GRACE: Duration = Duration::from_secs(5);

/// How long before the user is told of them.
const SILENCE: Duration = Duration::from_secs(1);

/// How often the system is asked.
const STEP: Duration = Duration::from_millis(5);

/// The end of a program.
pub(super) struct Ended {
    /// Its exit code, as shells have it: 128 and the number of the signal that ended it.
    pub(super) code: i32,
    /// The processes that it has left running.
    pub(super) left: Vec<String>,
}

/// Runs a program until its last process has ended.
///
/// SIGTERM, SIGHUP and SIGINT are passed on to its processes; this program ends when they have. If
/// this program is killed, so is the program.
///
/// # Errors
///
/// The program cannot be started.
pub(super) fn run(command: &mut Command) -> io::Result<Ended> {
    let parent = getpid();
    set_child_subreaper(Some(parent))?;
    let bind = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() == Some(parent) {
            Ok(())
        } else {
            // The parent has ended before it could be told of.
            Err(Errno::SRCH.into())
        }
    };
    // SAFETY: the child makes two system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(bind) };
    let on_interrupt = OnInterrupt::with_code(|code| pass_on(code - 128));
    let program = Pid::from_child(&command.spawn()?);
    let status = loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => break status,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    let left = wait_for_the_rest();
    // A signal has ended them, and ends this program: that is waited for here.
    drop(on_interrupt);
    Ok(Ended {
        code: code_of(status),
        left,
    })
}

/// The exit code, as shells have it.
fn code_of(status: WaitStatus) -> i32 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(signal).unwrap_or(1)
}

/// Waits until no process is left, or not much longer; those that still run then.
fn wait_for_the_rest() -> Vec<String> {
    let began = Instant::now();
    let mut is_told = false;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Err(_) => return Vec::new(),
            Ok(None) => {}
        }
        let names = || living().into_iter().map(|(_, name)| name);
        if began.elapsed() > GRACE {
            return match names().collect::<Vec<_>>() {
                names if names.is_empty() => vec!["a process".to_owned()],
                names => names,
            };
        }
        if began.elapsed() > SILENCE && !is_told {
            let names: Vec<String> = names().collect();
            eprintln!(
                "emulate: the program has ended; waiting for {}",
                names.join(", ")
            );
            is_told = true;
        }
        sleep(STEP);
    }
}

/// Gives a signal to all processes of the program, and waits until they have ended. A second signal
/// ends this program at once.
fn pass_on(signal: i32) {
    // Ctrl-C goes to every process of the terminal's group: a second one is another message.
    let has_it = signal == Signal::INT.as_raw() && is_in_foreground();
    if let Some(signal) = Signal::from_named_raw(signal)
        && !has_it
    {
        for (pid, _) in living() {
            // It fails for one that has just ended.
            let _ = kill_process(pid, signal);
        }
    }
    while !living().is_empty() {
        sleep(STEP);
    }
}

/// Whether this program's group is the one that the terminal sends Ctrl-C to.
fn is_in_foreground() -> bool {
    let terminal = fs::File::open("/dev/tty").map_err(|_| Errno::NOTTY);
    terminal.and_then(tcgetpgrp) == Ok(getpgrp())
}

/// The processes that come from this one and have not ended, and what to call them.
fn living() -> Vec<(Pid, String)> {
    let mut found = Vec::new();
    let mut parents = vec![getpid().as_raw_pid()];
    while let Some(parent) = parents.pop() {
        let tasks = fs::read_dir(format!("/proc/{parent}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in children
                .split_whitespace()
                .filter_map(|pid| pid.parse().ok())
            {
                parents.push(child);
                let name = name_of(child);
                found.extend(Pid::from_raw(child).zip(name));
            }
        }
    }
    found
}

/// The name and number of a process; `None` if it has ended.
fn name_of(pid: i32) -> Option<String> {
    // The name is in parentheses, and may have some itself; the state follows.
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, named) = stat.split_once('(')?;
    let (name, rest) = named.rsplit_once(')')?;
    let state = rest.trim_start().chars().next()?;
    (!"ZX".contains(state)).then(|| format!("{name} (process {pid})"))
}
