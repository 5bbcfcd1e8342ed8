//! Processes by Unix: their limits, times and ends, and room on a disk. Processor times, and the
//! signal that tells of the starter's end, are Linux's.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit};
use sandbox::End;

/// The signal of a program that aborts.
pub const ABORT: i32 = libc::SIGABRT;

/// Where compilers look for programs. Without isolation, they find their linker by the user's.
pub const COMPILERS_PATH: Option<&str> = if sandbox::HAS_ISOLATION {
    Some("/usr/local/bin:/usr/bin:/bin")
} else {
    None
};

/// The file of this program. By its name, Linux finds it even if it has been replaced by a newer
/// build.
///
/// # Errors
///
/// The system's.
pub fn this_program() -> io::Result<PathBuf> {
    let by_inode = PathBuf::from("/proc/self/exe");
    if by_inode.exists() {
        Ok(by_inode)
    } else {
        std::env::current_exe()
    }
}

/// From now on this process takes no more memory than this. Programs that it starts may raise their
/// own limit again.
pub fn limit_memory(max_bytes: u64) {
    let old = getrlimit(Resource::Data);
    let limit = Rlimit {
        current: Some(old.current.map_or(max_bytes, |old| old.min(max_bytes))),
        maximum: old.maximum,
    };
    // Where that is not possible, the deadline is the limit.
    let _ = rustix::process::setrlimit(Resource::Data, limit);
}

/// Standard output, which from now on only the caller has. On Linux, the process ends with the one
/// that started it.
///
/// # Errors
///
/// The system's.
pub fn private_stdout() -> io::Result<File> {
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    let nowhere = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    // Without it a process whose starter is killed goes on for as long as its kernel runs.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    Ok(File::from(own))
}

/// The processor time of a process, all its threads together. None where the system does not say.
pub fn processor_time(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may have spaces. After it come the fields from the third on
    // (proc_pid_stat(5)): the times are the 14th and the 15th.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || times.next()?.parse::<u64>().ok();
    let ticks = ticks()? + ticks()?;
    let per_second = rustix::param::clock_ticks_per_second();
    Some(Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

/// The signal that ended a process.
pub fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// The status of a process that ended like this. A limit of the sandbox kills.
pub fn status(end: End) -> ExitStatus {
    ExitStatus::from_raw(match end {
        End::Exited(code) => code << 8,
        End::Signal(signal) => signal,
        _ => libc::SIGKILL,
    })
}

/// The room that this user has on the disk of a folder.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
