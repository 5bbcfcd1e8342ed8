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
//! | `wave3d.rs` | a lab's files, and its flags for them; `wave2d.rs`, `stencil25.rs` are alike |
//! | `parameters.rs` | the flags of a problem, from the lab's parameters |
//! | `processor.rs` | the CPU, or a device and the variant that `select` chose for it |
//! | `timesteps.rs` | a run with timesteps as a whole: chunks, rates, comparison |
//! | `stepper.rs` | a chunk: timed, and compared with the CPU |
//! | `records.rs` | the files of a run, and what is kept of them after an error |
//! | `field_files.rs` | fields as `.npy`, `.vti` and `.pvd` |
//! | `recordings.rs` | films of a slice, seismograms |
//! | `receivers.rs` | samples along a line, taken between launches |
//! | `ranks.rs` | several processes that compute together |
//! | `poisson.rs` | iterations up to a tolerance |
//! | `instruments.rs` | which thread has which element; latency and bandwidth: labs without timesteps |
//!
//! # Limits
//!
//! A lab with timesteps has a file here and a line in `RunLab`.

pub mod field_files;
pub mod flags;
mod instruments;
mod npy;
pub mod parameters;
mod pictures;
mod poisson;
pub mod processor;
mod ranks;
pub mod receivers;
pub mod recordings;
pub mod records;
mod stencil25;
pub mod stepper;
pub mod timesteps;
mod wave2d;
mod wave3d;

use clap::{Args, Subcommand};
use select::catalogue::{SubmissionArg, Submitted};

use exit::{CommandError, Ending};
use instruments::Instrument;
use terminal::stdout::Out;

/// The arguments of `harness run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    #[command(subcommand)]
    lab: RunLab,
}

#[derive(Debug, Clone, Subcommand)]
enum RunLab {
    /// Poisson's equation in a cube: times, iterations to a tolerance, the field as .npy or .vti
    Poisson(poisson::PoissonArgs),
    /// Seismic wave in f32: rates, energy, fields for ParaView, a film of a slice, a seismogram
    Stencil25(stencil25::Stencil25Args),
    /// 2D wave with walls and sources: a film, the fields as .npy or .vti, cell updates a second
    Wave2d(wave2d::Wave2dArgs),
    /// 3D wave: site updates a second, chunk by chunk, and the fields as a series for ParaView
    Wave3d(wave3d::Wave3dArgs),
    #[command(flatten)]
    Instrument(Instrument),
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
    match &args.lab {
        RunLab::Poisson(args) => poisson::run(args, submitted, out),
        RunLab::Stencil25(args) => stencil25::run(args, submitted, out),
        RunLab::Wave2d(args) => wave2d::run(args, submitted, out),
        RunLab::Wave3d(args) => wave3d::run(args, submitted, out),
        RunLab::Instrument(instrument) => instrument.run(submitted, out),
    }
}

impl RunArgs {
    /// The lab, and the submissions that are to run it.
    pub fn own(&self) -> Option<(&'static str, &SubmissionArg)> {
        Some(match &self.lab {
            RunLab::Poisson(args) => ("poisson", args.device.own()),
            RunLab::Stencil25(args) => ("stencil25", args.device.own()),
            RunLab::Wave2d(args) => ("wave2d", args.device.own()),
            RunLab::Wave3d(args) => ("wave3d", args.device.own()),
            RunLab::Instrument(instrument) => return instrument.own(),
        })
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
