//! `harness run wave3d`.

use std::iter::repeat;

use clap::{Args, ValueEnum};
use host::wave3d::{LAB, Start, Wave3d};
use lab::CaseError;

use select::catalogue::Submitted;

use super::field_files::{FieldFormat, FieldSeries, Lattice};
use super::flags::{Extents, at_least_1, of_flag};
use super::processor::{DeviceArg, Processor};
use super::records::Records;
use super::timesteps;
use exit::{CommandError, Ending};
use output_files::OutputPath;
use terminal::stdout::Out;

/// The arguments of `harness run wave3d`.
#[derive(Debug, Clone, Args)]
pub struct Wave3dArgs {
    /// Sites along x, y and z (depth)
    #[arg(long, value_name = "N_X,N_Y,N_Z", default_value = "256,256,256")]
    shape: Extents<3>,
    /// Timesteps
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = at_least_1())]
    steps: u32,
    /// Timesteps from one output to the next: what is timed in one piece
    #[arg(long, value_name = "STEPS", default_value_t = 100, value_parser = at_least_1())]
    out_period: u32,
    /// Grid spacing in metres
    #[arg(long, value_name = "METRES", default_value_t = 10.0)]
    dx: f64,
    /// Timestep in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.002)]
    dt: f64,
    /// The fields at the beginning; the point source acts on all of them
    #[arg(long, value_enum, default_value = "rest")]
    start: InitialFields,
    /// A new folder for the fields: a .vti each, and wave3d.pvd, which ParaView opens [default: no
    /// files]
    #[arg(long, value_name = "DIR")]
    out: Option<OutputPath>,
    #[command(flatten)]
    pub(super) device: DeviceArg,
}

/// The fields at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InitialFields {
    /// 0 everywhere
    Rest,
    /// A smooth bump in the middle
    Pulse,
    /// Noise in every site
    Random,
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
    let problem = problem(args)?;
    let processor = args.device.processor(&LAB, &problem, submitted)?;
    processor.compute(out, |processor, out| {
        compute(args, &problem, processor, out)
    })
}

fn compute(
    args: &Wave3dArgs,
    problem: &Wave3d,
    processor: &Processor,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let folder = args.out.as_ref().filter(|_| processor.is_first());
    let series = folder.map(|folder| {
        let lattice = Lattice::of(problem, "u", 0.0, problem.dx_m());
        FieldSeries::create(folder, "wave3d", lattice, FieldFormat::Vti, problem.dt_s())
    });
    let records = Records {
        series: series.transpose()?,
        ..Records::default()
    };
    let (chunks, is_compared) = (repeat(args.out_period), !args.device.no_check);
    timesteps::run(problem, processor, chunks, is_compared, records, out)
}

fn problem(args: &Wave3dArgs) -> Result<Wave3d, CommandError> {
    let start = match args.start {
        InitialFields::Rest => Start::Rest,
        InitialFields::Pulse => Start::Pulse,
        InitialFields::Random => Start::Random { seed: 1.into() },
    };
    let problem = Wave3d::new(args.shape.0, args.steps).map_err(|error| match error {
        CaseError::Invalid {
            name,
            value,
            reason,
        } => CommandError::Input(format!("--shape: {name} = {value}: {reason}")),
        other => other.into(),
    })?;
    let model = problem.model();
    Ok(problem
        .with_medium(model, args.dx, args.dt)
        .map_err(of_flag)?
        .with_start(start))
}

#[cfg(test)]
mod tests;
