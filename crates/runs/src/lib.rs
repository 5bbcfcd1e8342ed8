//! `harness run`: one problem of a lab, of any size and length, with its figures and files.
//!
//! # Contract
//!
//! - A problem is advanced in chunks, on a device or the CPU; what is timed is the computing alone.
//! - After each chunk its files are complete: an interrupted run keeps what it has.
//! - Results are compared with the CPU's after each chunk, unless `--no-check` says otherwise.
//! - Which variant computes is crate `select`'s to say.
//!
//! # Spine
//!
//! | file | content |
//! |---|---|
//! | `lab_run.rs` | `run LAB`: a lab's flags, from what [`lab::Running`] says of it |
//! | `parameters.rs` | the flags of a problem, from the lab's parameters |
//! | `processor.rs` | the CPU, or a device and the variant that `select` chose for it |
//! | `chunks.rs` | a run in chunks of timesteps: which, and which files |
//! | `timesteps.rs` | such a run as a whole: chunks, rates, comparison |
//! | `stepper.rs` | a chunk: timed, and compared with the CPU |
//! | `records.rs` | the files of a run, and what is kept of them after an error |
//! | `field_files.rs` | fields as `.npy`, `.vti` and `.pvd` |
//! | `receivers.rs` | samples along a line; `recordings.rs`: their file, and films |
//! | `ranks.rs` | several processes that compute together |
//! | `last.rs` | a run that is timed as a whole, or ends at a tolerance |
//! | `instruments/mod.rs` | labs without timesteps: which thread has what; latency, bandwidth |
//!
//! # Limits
//!
//! A lab with timesteps has nothing here: what it is run with, and what is shown of it, is its
//! [`lab::Running`] and its cases' [`lab::View`]. An instrument has a command of its own here.

mod chunks;
mod field_files;
mod flags;
mod instruments;
mod lab_run;
mod last;
mod npy;
mod parameters;
mod pictures;
mod processor;
mod ranks;
mod receivers;
mod recordings;
mod records;
mod stepper;
#[cfg(test)]
mod tests;
mod timesteps;

use clap::Args;
use exit::{CommandError, Ending};
use select::catalogue::{SubmissionArg, Submitted};
use terminal::stdout::Out;

use lab_run::RunLab;

/// The arguments of `harness run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    #[command(subcommand)]
    lab: RunLab,
}

/// Runs the problem.
///
/// # Errors
///
/// Invalid arguments, a path that cannot be written, a device that was named and is missing. A
/// wrong result is not an error: the report has it.
pub fn run(
    args: &RunArgs,
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    args.lab.run(submitted, out)
}

impl RunArgs {
    /// The lab, and the submissions that are to run it.
    pub fn own(&self) -> Option<(&'static str, &SubmissionArg)> {
        self.lab.own()
    }
}

#[cfg(test)]
pub(crate) mod test_command {
    use super::*;
    use terminal::look::Look;

    /// The arguments as a command line gives them.
    pub fn parse<A: Args>(args: &[&str]) -> A {
        #[derive(clap::Parser)]
        struct Parser<A: Args> {
            #[command(flatten)]
            args: A,
        }
        let args = std::iter::once("run").chain(args.iter().copied());
        <Parser<A> as clap::Parser>::parse_from(args).args
    }

    /// The error of a command whose second line cannot be printed, since the disk is full.
    pub fn unprinted(
        command: impl FnOnce(&mut Out<'_>) -> Result<Ending, CommandError>,
    ) -> CommandError {
        struct Full(usize);
        impl std::io::Write for Full {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                match self.0 {
                    0 => Err(std::io::ErrorKind::StorageFull.into()),
                    _ => Ok(bytes.len()),
                }
            }

            fn flush(&mut self) -> std::io::Result<()> {
                self.0 -= 1;
                Ok(())
            }
        }
        command(&mut Out::new(Full(1), Look::PLAIN)).unwrap_err()
    }

    /// A command's ending, and the text that it prints.
    pub fn printed(
        command: impl FnOnce(&mut Out<'_>) -> Result<Ending, CommandError>,
    ) -> (Result<Ending, CommandError>, String) {
        let mut text = Vec::new();
        let mut out = Out::new(&mut text, Look::PLAIN);
        let ending = command(&mut out);
        drop(out);
        (ending, String::from_utf8(text).unwrap())
    }
}
