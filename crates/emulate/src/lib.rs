//! GPU programs without a GPU: the program `emulate`, which `harness emulate` is too.
//!
//! `emulate -- PROGRAM` starts a program that finds [`emulated-driver`](../emulated_driver) as its
//! `libcuda.so.1` and loads [`emulated-compilers`](../emulated_compilers), and says what rules its
//! kernels broke. `emulate FILE.ptx` shows what a file of PTX needs, and launches its kernels.
//! Programs need Linux; files run on every system.
//!
//! # Contract
//!
//! - A program runs as it is, and its exit code is the command's, unless a kernel broke a rule or a
//!   fault may be missing. "No fault" is said of a complete record only.
//! - Nothing here knows of labs, plans or devices: the emulator, its driver and the base are all
//!   that is used, so that the program can be given away alone.
//!
//! # Spine
//!
//! | file | what it holds |
//! |---|---|
//! | `options.rs` | the flags |
//! | `orders.rs` | the orders of threads and streams |
//! | `file.rs` | a PTX file: what it needs |
//! | `launch.rs` | a launch of one of its kernels, by [`trial`] |
//! | `program/mod.rs` | a program that finds the emulated driver |
//! | `program/environment.rs` | its variables: both libraries, folders for what is compiled |
//! | `program/processes.rs` | its processes, from the first one's start to the last one's end |
//! | `program/start.rs` | why a program cannot be started |
//! | `program/records.rs` | the records of the driver about it |
//! | `runs.rs` | the findings of a run, of a program or a kernel |
//!
//! # Limits
//!
//! A file's kernel is launched once per order, on arguments of simple content. What takes several
//! launches or streams is a program's.

mod file;
mod launch;
mod options;
mod orders;
#[cfg_attr(not(target_os = "linux"), path = "no_program.rs")]
mod program;
mod runs;
#[cfg(test)]
mod tests;

use exit::{CommandError, Ending};
use terminal::look::Look;
use terminal::stdout::Out;

pub use options::{EmulateArgs, help};

/// Runs a program, or looks at a file. Notes about a file's kernels go to standard error.
///
/// # Errors
///
/// Arguments that make no sense, files that cannot be read or written, a library that is not found,
/// and the program's own exit code where nothing else is wrong.
pub fn run(args: &EmulateArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    run_noting(args, out, &mut |note| {
        eprintln!("{}", Look::of_stderr().message("note:", note));
    })
}

/// As [`run`], where notes go to `note`.
///
/// # Errors
///
/// Those of [`run`].
pub fn run_noting(
    args: &EmulateArgs,
    out: &mut Out<'_>,
    note: &mut dyn FnMut(&str),
) -> Result<Ending, CommandError> {
    args.refuse_idle_flags()?;
    match &args.file {
        Some(file) => file::run(args, file, out, note),
        None => program::run(args, out),
    }
}
