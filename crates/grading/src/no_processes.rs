//! A system that builds and runs no submission yet: [`sandbox::Sandbox::run`] refuses to start a
//! compiler, and [`private_stdout`] a worker.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use sandbox::End;

/// The signal of a program that aborts, where there are signals.
pub const ABORT: i32 = 6;

/// The deadline is the limit.
pub fn limit_memory(_: u64) {}

/// Refuses.
///
/// # Errors
///
/// Always.
pub fn private_stdout() -> io::Result<File> {
    Err(io::Error::other("worker processes need Linux"))
}

/// None: the system does not say.
pub fn processor_time(_: u32) -> Option<Duration> {
    None
}

/// None: the system does not say.
pub fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Not reached: nothing runs in a sandbox.
pub fn status(end: End) -> ExitStatus {
    unreachable!("{end:?}: nothing runs in a sandbox on this system")
}

/// None: the system is not asked.
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}
