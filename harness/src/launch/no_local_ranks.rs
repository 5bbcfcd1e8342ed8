//! A system on which this program starts no ranks yet.

use exit::{CommandError, Ending};

use super::LaunchArgs;

/// Refuses.
///
/// # Errors
///
/// Always [`CommandError::Environment`].
pub fn run(args: &LaunchArgs) -> Result<Ending, CommandError> {
    let LaunchArgs { processes, command } = args;
    Err(CommandError::Environment(format!(
        "launch starts processes on Unix only; start `harness {}` {processes} times by a launcher of \
         this system, which sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT",
        command.join(std::ffi::OsStr::new(" ")).display()
    )))
}
