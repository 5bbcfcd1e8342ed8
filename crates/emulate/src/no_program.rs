//! Where a program cannot find the emulated driver: files of PTX are looked at all the same.

use exit::{CommandError, Ending};
use terminal::stdout::Out;

use crate::options::EmulateArgs;

/// Refuses to run the program.
pub(crate) fn run(_: &EmulateArgs, _: &mut Out<'_>) -> Result<Ending, CommandError> {
    Err(CommandError::Environment(
        "a program finds the emulated driver on Linux alone; on this system, name a file of PTX"
            .to_owned(),
    ))
}
