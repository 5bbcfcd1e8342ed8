//! `harness emulate`: GPU programs on the emulator, with every access checked.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the flags |
//! | `program` | a program that finds the emulated driver as its `libcuda.so.1` |
//! | `processes` | its processes, from the first one's start to the last one's end |
//! | `start` | why a program cannot be started |
//! | `records` | the records of the driver about it |
//! | `file` | a PTX file: what it needs, and a launch of one of its kernels |
//! | `arguments` | the arguments of a kernel, as they are written on the command line |
//! | `orders` | the orders of threads |

mod arguments;
mod file;
mod options;
mod orders;
mod processes;
mod program;
mod records;
mod start;
#[cfg(test)]
mod tests;

use exit::{CommandError, Ending};
use terminal::stdout::Out;

pub use options::EmulateArgs;

/// Runs a program, or looks at a file.
///
/// # Errors
///
/// Arguments that make no sense, files that cannot be read or written, a library that is not found,
/// and the program's own exit code where nothing else is wrong.
pub fn run(args: &EmulateArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    args.refuse_idle_flags()?;
    match &args.file {
        Some(file) => file::run(args, file, out),
        None => program::run(args, out),
    }
}
