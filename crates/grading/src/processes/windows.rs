//! Processes by Windows. No memory limit and no processor time is asked for: deadlines are in the
//! time that passes.

use std::fs::File;
use std::io;
use std::os::windows::io::AsHandle;
use std::os::windows::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use sandbox::End;

/// The signal of a program that aborts, where there are signals.
pub const ABORT: i32 = 6;

/// None: compilers find their linker by the user's.
pub const COMPILERS_PATH: Option<&str> = None;

/// The file of this program.
///
/// # Errors
///
/// The system's.
pub fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The deadline is the limit.
pub fn limit_memory(_: u64) {}

/// Standard output. No kernel of the emulated device writes to it, and GPUs are Linux's.
///
/// # Errors
///
/// The system's.
pub fn private_stdout() -> io::Result<File> {
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

/// None: the system is not asked.
pub fn processor_time(_: u32) -> Option<Duration> {
    None
}

/// None: Windows has no signals.
pub fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// The status of a process that ended like this. A limit of the sandbox kills.
pub fn status(end: End) -> ExitStatus {
    ExitStatus::from_raw(match end {
        End::Exited(code) => code as u32,
        _ => 1,
    })
}

/// None: the system is not asked.
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}
