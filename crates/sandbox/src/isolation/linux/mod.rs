//! Isolation by Linux. This file is the parent's side: it starts, listens, kills. `enter` is the
//! child's, between fork and exec; `calls` says which system calls there are.

mod calls;
mod enter;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope, path_beneath_rules,
};

use self::enter::Entry;
use super::unnamed_file;
use crate::{Access, Calls, End, Finished, InForce, Layer, ResourceLimits, Sandbox};

/// How often to look whether the first process has ended although others hold its pipes.
const TICK: Duration = Duration::from_millis(20);

/// How long to listen after all were killed.
const GRACE: Duration = Duration::from_millis(200);

/// The newest Landlock whose rights are asked for; an older kernel enforces those that it knows.
const NEWEST: ABI = ABI::V6;

/// Runs `command` in the sandbox: see [`Sandbox::run`].
pub fn run(sandbox: &Sandbox, command: &mut Command, input: &[u8]) -> io::Result<Finished> {
    let report = sandbox.prepare(command, input)?;
    let deadline = Instant::now() + sandbox.limits.wall;
    let mut child = command.spawn()?;
    let mut listener = Listener::new(&mut child, sandbox.limits.output_bytes)?;
    let stopped = listener.listen(&mut child, deadline)?;
    kill_group(&child);
    let status = child.wait()?;
    listener.rest()?;
    let (in_force, ended) = read_report(report)?;
    // Where there is a first process of a namespace, it has told how the program ended.
    let status = ended.map_or(status, ExitStatus::from_raw);
    Ok(Finished {
        end: stopped.unwrap_or_else(|| end(status)),
        stdout: listener.stdout,
        stderr: listener.stderr,
        in_force,
    })
}

impl Sandbox {
    /// Makes `command` enter the sandbox when it is spawned. Returns the pipe on which it tells how
    /// that went.
    fn prepare(&self, command: &mut Command, input: &[u8]) -> io::Result<File> {
        let wanted = Layer::ALL
            .iter()
            .filter(|layer| !self.without.contains(layer))
            .fold(0, |bits, &layer| bits | layer as u32);
        let wants = |layer: Layer| wanted & layer as u32 != 0;
        let (report, told) = pipe()?;
        let ruleset = if wants(Layer::Files) {
            ruleset(&self.access).map_err(io::Error::other)?
        } else {
            None
        };
        // SAFETY: they only ask.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        let mut entry = Entry {
            wanted,
            ruleset,
            filters: if wants(Layer::SystemCalls) {
                calls::filters(self.calls)
            } else {
                Vec::new()
            },
            limits: enter::limits(&self.limits),
            uid_map: format!("{uid} {uid} 1\n").into_bytes(),
            gid_map: format!("{gid} {gid} 1\n").into_bytes(),
            report: told,
            parent: std::process::id() as libc::pid_t,
        };
        // SAFETY: `enter` is made for this place.
        unsafe {
            command.pre_exec(move || entry.enter());
        }
        let set: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command
            .env_clear()
            .envs(set)
            .stdin(unnamed_file(input)?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(report)
    }
}

/// A pipe that exec closes and no one waits for: the end to read, and the end to write.
fn pipe() -> io::Result<(File, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: there is room for two, and both are ours from here on.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok((File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// The first word: layers in force. The second, if there is one: a wait status.
fn read_report(mut report: File) -> io::Result<(InForce, Option<i32>)> {
    let mut words = [0; 8];
    let mut read = 0;
    while read < words.len() {
        match report.read(&mut words[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let word = |start: usize| {
        let bytes = words[start..start + 4].try_into().expect("four bytes");
        (read >= start + 4).then(|| u32::from_ne_bytes(bytes))
    };
    let in_force = InForce::from_bits(word(0).unwrap_or(0));
    Ok((in_force, word(4).map(|status| status as i32)))
}

fn end(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(libc::SIGXCPU)) => End::TimedOut,
        (None, Some(libc::SIGXFSZ)) => End::FileTooLarge,
        (None, Some(libc::SIGSYS)) => End::ForbiddenCall,
        (None, signal) => End::Signal(signal.unwrap_or(0)),
    }
}

/// The child leads its session and so its group.
fn kill_group(child: &Child) {
    // SAFETY: the group is the child's; until it was waited for, no other has its number.
    unsafe {
        libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL);
    }
}

/// Reads what a child prints.
struct Listener {
    pipes: [Option<File>; 2],
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    left: usize,
}

impl Listener {
    fn new(child: &mut Child, limit: usize) -> io::Result<Listener> {
        let stdout = child.stdout.take().map(OwnedFd::from).map(File::from);
        let stderr = child.stderr.take().map(OwnedFd::from).map(File::from);
        for file in [&stdout, &stderr].into_iter().flatten() {
            // SAFETY: the file is open.
            let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
            if done == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Listener {
            pipes: [stdout, stderr],
            stdout: Vec::new(),
            stderr: Vec::new(),
            left: limit,
        })
    }

    /// Until the child has ended, or has to.
    fn listen(&mut self, child: &mut Child, deadline: Instant) -> io::Result<Option<End>> {
        let mut ended = false;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Some(End::TimedOut));
            }
            let silent = self.pipes.iter().all(Option::is_none);
            if ended {
                return Ok(None);
            }
            // With both pipes closed, its end is near, or it hides: look often.
            let wait = left.min(if silent { TICK / 10 } else { TICK });
            if !self.read(wait)? {
                return Ok(Some(End::TooMuchOutput));
            }
            ended = has_ended(child)?;
        }
    }

    /// The output until all were killed.
    fn rest(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + GRACE;
        while self.pipes.iter().any(Option::is_some) && Instant::now() < deadline {
            if !self.read(TICK)? {
                break;
            }
        }
        Ok(())
    }

    /// Waits so long for output and takes what there is; tells whether it was within the limit.
    fn read(&mut self, wait: Duration) -> io::Result<bool> {
        let mut polled: [libc::pollfd; 2] = std::array::from_fn(|i| libc::pollfd {
            fd: self.pipes[i].as_ref().map_or(-1, AsRawFd::as_raw_fd),
            events: libc::POLLIN,
            revents: 0,
        });
        let wait = wait.as_millis().max(1) as libc::c_int;
        // SAFETY: two entries, writable.
        let ready = unsafe { libc::poll(polled.as_mut_ptr(), 2, wait) };
        if ready == -1 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::Interrupted => Ok(true),
                _ => Err(error),
            };
        }
        let mut buffer = [0; 64 << 10];
        for (i, text) in [&mut self.stdout, &mut self.stderr].into_iter().enumerate() {
            let Some(pipe) = self.pipes[i].as_mut().filter(|_| polled[i].revents != 0) else {
                continue;
            };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipes[i] = None,
                Ok(count) => {
                    let kept = count.min(self.left);
                    text.extend_from_slice(&buffer[..kept]);
                    self.left -= kept;
                    if kept < count {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Whether the child has ended, without taking its status: until that is taken, its number stays
/// its own.
fn has_ended(child: &Child) -> io::Result<bool> {
    // SAFETY: `info` is writable, and all zeros is a value of it.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        if libc::waitid(libc::P_PID, child.id(), &mut info, flags) == -1 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::Interrupted => Ok(false),
                _ => Err(error),
            };
        }
        Ok(info.si_pid() != 0)
    }
}

/// See [`crate::confines_files`].
pub fn confines_files() -> bool {
    matches!(ruleset(&Access::default()), Ok(Some(_)))
}

/// See [`crate::available`].
pub fn available() -> io::Result<InForce> {
    let nothing = Sandbox {
        limits: ResourceLimits {
            wall: Duration::from_secs(10),
            cpu_s: 10,
            memory_bytes: 1 << 30,
            file_bytes: 0,
            open_files: 64,
            output_bytes: 4096,
        },
        access: Access {
            read: vec!["/".into()],
            write: Vec::new(),
        },
        calls: Calls::Compiler,
        without: Vec::new(),
    };
    Ok(nothing.run(&mut Command::new("true"), &[])?.in_force)
}

/// Landlock's rules, ready for the child to put in force; none if the kernel has no Landlock.
fn ruleset(access: &Access) -> Result<Option<OwnedFd>, RulesetError> {
    let read = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let write: BitFlags<AccessFs> =
        AccessFs::from_all(NEWEST) & !(AccessFs::Execute | AccessFs::IoctlDev);
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        // No rule allows any port, so all are refused.
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(&access.read, read))?
        .add_rules(path_beneath_rules(&access.write, write))?;
    Ok(ruleset.into())
}
