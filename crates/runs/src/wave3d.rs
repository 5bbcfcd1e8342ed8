//! `harness run wave3d`.

use std::iter::repeat;

use clap::Args;
use host::wave3d::{LAB, Wave3d};
use lab::Lab;

use select::catalogue::Submitted;

use super::field_files::{FieldFormat, FieldSeries};
use super::flags::at_least_1;
use super::parameters::{Parameters, RunProblem};
use super::processor::{DeviceArg, Processor};
use super::records::Records;
use super::timesteps;
use exit::{CommandError, Ending};
use output_files::OutputPath;
use terminal::stdout::Out;

/// The arguments of `harness run wave3d`.
#[derive(Debug, Clone, Args)]
pub struct Wave3dArgs {
    #[command(flatten)]
    problem: Parameters<Wave3d>,
    /// Timesteps from one output to the next: what is timed in one piece
    #[arg(long, value_name = "STEPS", default_value_t = 100, value_parser = at_least_1())]
    out_period: u32,
    /// A new folder for the fields: a .vti each, and wave3d.pvd, which ParaView opens [default: no
    /// files]
    #[arg(long, value_name = "DIR")]
    out: Option<OutputPath>,
    #[command(flatten)]
    pub(super) device: DeviceArg,
}

impl RunProblem for Wave3d {
    fn lab() -> &'static Lab {
        &LAB
    }

    const DEFAULTS: &'static [(&'static str, &'static str)] = &[
        ("n_x", "256"),
        ("n_y", "256"),
        ("n_z", "256"),
        ("start", "rest"),
    ];
    const OTHERS: &'static [&'static str] = &[];
}

/// Computes the wave.
///
/// # Errors
///
/// Invalid arguments, a path that cannot be written, a device that was named and is missing.
pub fn run(
    args: &Wave3dArgs,
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let problem = args.problem.problem()?;
    let processor = args.device.processor(&LAB, &problem, submitted)?;
    processor.compute(out, |processor, to| compute(args, &problem, processor, to))
}

fn compute(
    args: &Wave3dArgs,
    problem: &Wave3d,
    processor: &Processor,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let folder = args.out.as_ref().filter(|_| processor.is_first());
    let series = folder.map(|folder| FieldSeries::of(problem, folder, LAB.name, FieldFormat::Vti));
    let records = Records {
        series: series.transpose()?,
        ..Records::default()
    };
    let (chunks, is_compared) = (repeat(args.out_period), !args.device.no_check);
    timesteps::run(problem, processor, chunks, is_compared, records, out)
}

#[cfg(test)]
mod tests;
