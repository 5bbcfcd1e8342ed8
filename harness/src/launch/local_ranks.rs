//! The processes of a launch on Unix: started, heard, ended.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use exit::{CommandError, Ending};
use output_files::interrupt::OnInterrupt;

use super::LaunchArgs;

/// How long a process may take to end once it was told to.
const GRACE: Duration = Duration::from_secs(5);

/// How long output is waited for after all processes have ended: what they have started themselves
/// may hold it open.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// Starts the processes, and waits until all have ended.
///
/// # Errors
///
/// [`CommandError::Process`] if one of them fails, [`CommandError::Environment`] if one cannot be
/// started.
pub fn run(args: &LaunchArgs) -> Result<Ending, CommandError> {
    let ranks = Ranks::default();
    let interrupted = ranks.clone();
    let on_interrupt = OnInterrupt::new(move || interrupted.end_all());
    let (ended, ends) = mpsc::channel();
    let (forwarding, is_forwarding) = mpsc::channel();
    let run = Run::new(args)?;
    for rank in 0..args.processes {
        if let Err(failure) = run.start(rank, &ranks, &ended, &forwarding) {
            ranks.end_all();
            return Err(failure);
        }
    }
    drop((ended, forwarding));
    let first_failed = wait(&ranks, &ends);
    // Nothing is sent: this is over when the last thread that forwards output is.
    let _ = is_forwarding.recv_timeout(LAST_OUTPUT);
    // A signal has ended them, and ends this program: that is waited for here.
    drop(on_interrupt);
    match first_failed {
        None => Ok(Ending::Fine),
        Some((rank, status)) => Err(failure(rank, status)),
    }
}

/// The settings that all processes are started with.
struct Run<'a> {
    args: &'a LaunchArgs,
    program: std::path::PathBuf,
    port: u16,
    id: String,
}

impl<'a> Run<'a> {
    fn new(args: &'a LaunchArgs) -> Result<Run<'a>, CommandError> {
        let lacking = |what: &str, error: std::io::Error| {
            CommandError::Environment(format!("cannot {what}: {error}"))
        };
        let program =
            std::env::current_exe().map_err(|error| lacking("find this program's file", error))?;
        // Free now, and most likely until rank 0 listens there.
        let port = TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .map_err(|error| lacking("find a free port", error))?
            .port();
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
        let nanos = since.unwrap_or_default().as_nanos();
        Ok(Run {
            args,
            program,
            port,
            id: format!("{}-{nanos}", std::process::id()),
        })
    }

    fn start(
        &self,
        rank: u32,
        ranks: &Ranks,
        ended: &Sender<(u32, ExitStatus)>,
        forwarding: &Sender<()>,
    ) -> Result<(), CommandError> {
        let (rank_text, count) = (rank.to_string(), self.args.processes.to_string());
        let mut command = Command::new(&self.program);
        command
            .args(&self.args.command)
            .envs([("RANK", &rank_text), ("LOCAL_RANK", &rank_text)])
            .envs([("WORLD_SIZE", &count), ("LOCAL_WORLD_SIZE", &count)])
            .env("MASTER_ADDR", "127.0.0.1")
            .env("MASTER_PORT", self.port.to_string())
            .env("TORCHELASTIC_RUN_ID", &self.id)
            .env_remove("TORCHELASTIC_RESTART_COUNT")
            .env_remove("TORCHELASTIC_USE_AGENT_STORE");
        if rank > 0 {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        }
        let mut all = ranks.lock();
        if all.is_ending {
            return Ok(());
        }
        end_with_this_process(&mut command);
        let mut child = command.spawn().map_err(|error| {
            let program = self.program.display();
            CommandError::Environment(format!("cannot start {program} as rank {rank}: {error}"))
        })?;
        let (ranks, ended) = (ranks.clone(), ended.clone());
        if let Err(error) = attend(rank, &mut child, ranks, ended, forwarding) {
            // Nobody would see it end.
            let _ = child.kill().and_then(|()| child.wait());
            return Err(CommandError::no_threads(error));
        }
        all.children.push(Some(child));
        Ok(())
    }
}

/// Starts the threads that forward a child's output and see it end, once it is in the list, which
/// is locked meanwhile.
fn attend(
    rank: u32,
    child: &mut Child,
    ranks: Ranks,
    ended: Sender<(u32, ExitStatus)>,
    forwarding: &Sender<()>,
) -> io::Result<()> {
    if let Some(stdout) = child.stdout.take() {
        forward(rank, stdout, std::io::stdout, forwarding.clone())?;
    }
    if let Some(stderr) = child.stderr.take() {
        forward(rank, stderr, std::io::stderr, forwarding.clone())?;
    }
    let pid = Pid::from_child(child);
    let see_it_end = move || {
        // It stays a child, so that its number is not another's, until it is taken from the list.
        while waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        )
        .is_err()
        {}
        let taken = ranks.lock().children[rank as usize].take();
        if let Some(status) = taken.and_then(|mut own| own.wait().ok()) {
            let _ = ended.send((rank, status));
        }
    };
    thread::Builder::new().spawn(see_it_end).map(drop)
}

/// Makes the system end the process with SIGTERM when this one is gone, also by `kill -9`. The
/// thread that starts it counts as this one: it must be the main thread.
#[cfg(target_os = "linux")]
fn end_with_this_process(command: &mut Command) {
    use rustix::process::{getpid, getppid, set_parent_process_death_signal};
    use std::os::unix::process::CommandExt;
    let parent = getpid();
    let set = move || {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // It may be gone already.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    };
    // SAFETY: between fork and exec, the closure makes only system calls, and allocates nothing.
    unsafe { command.pre_exec(set) };
}

/// Other systems have no such signal.
#[cfg(not(target_os = "linux"))]
fn end_with_this_process(_: &mut Command) {}

/// The processes that have not ended, by rank.
#[derive(Debug, Clone, Default)]
struct Ranks(Arc<Mutex<Started>>);

#[derive(Debug, Default)]
struct Started {
    children: Vec<Option<Child>>,
    /// No more are to be started.
    is_ending: bool,
}

impl Ranks {
    fn lock(&self) -> MutexGuard<'_, Started> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a signal to all that have not ended; whether there are any.
    fn signal(&self, signal: Signal) -> bool {
        let mut all = self.lock();
        all.is_ending = true;
        for child in all.children.iter().flatten() {
            // It fails for one that has just ended.
            let _ = kill_process(Pid::from_child(child), signal);
        }
        all.children.iter().any(Option::is_some)
    }

    /// Ends all, and returns when they have ended: they may tidy up first.
    fn end_all(&self) {
        let began = Instant::now();
        self.signal(Signal::TERM);
        while self.lock().children.iter().any(Option::is_some) {
            if began.elapsed() > GRACE && !self.signal(Signal::KILL) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Waits until all have ended. After the first failure, which it returns, it ends the others.
fn wait(ranks: &Ranks, ends: &Receiver<(u32, ExitStatus)>) -> Option<(u32, ExitStatus)> {
    let mut first_failed: Option<(u32, ExitStatus, Instant)> = None;
    loop {
        let ended = match first_failed {
            None => ends.recv().map_err(RecvTimeoutError::from),
            Some((_, _, since)) => ends.recv_timeout(GRACE.saturating_sub(since.elapsed())),
        };
        match ended {
            Ok((rank, status)) if first_failed.is_none() && !status.success() => {
                first_failed = Some((rank, status, Instant::now()));
                ranks.signal(Signal::TERM);
            }
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => {
                ranks.signal(Signal::KILL);
                // Nothing survives it; the rest of the loop sees them end.
                thread::sleep(Duration::from_millis(5));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return first_failed.map(|(rank, status, _)| (rank, status));
            }
        }
    }
}

fn failure(rank: u32, status: ExitStatus) -> CommandError {
    let (what, code) = match (status.code(), status.signal()) {
        (Some(code), _) => (format!("ended with exit code {code}"), code),
        (None, Some(signal)) => (format!("was killed by signal {signal}"), 128 + signal),
        (None, None) => (format!("ended: {status}"), 1),
    };
    CommandError::Process {
        code: u8::try_from(code).unwrap_or(1),
        text: format!("rank {rank} {what}; the other ranks were ended"),
    }
}

/// Writes each line with its rank in front. `forwarding` is dropped at the end.
fn forward<W: Write + 'static>(
    rank: u32,
    from: impl Read + Send + 'static,
    to: fn() -> W,
    forwarding: Sender<()>,
) -> io::Result<()> {
    let forward = move || {
        let mut from = BufReader::new(from);
        loop {
            let mut line = format!("[rank {rank}] ").into_bytes();
            match from.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            if line.last() != Some(&b'\n') {
                line.push(b'\n');
            }
            // In one go, so that lines stay whole. The process goes on if its lines are not read.
            let mut sink = to();
            let _ = sink.write_all(&line).and_then(|()| sink.flush());
        }
        drop(forwarding);
    };
    thread::Builder::new().spawn(forward).map(drop)
}
