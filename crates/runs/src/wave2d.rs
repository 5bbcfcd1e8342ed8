//! `harness run wave2d`.

use clap::Args;
use host::wave2d::{LAB, Wave2d};
use lab::Lab;

use select::catalogue::Submitted;

use super::field_files::{FieldFormat, FieldSeries, view};
use super::flags::at_least_1;
use super::parameters::{Parameters, RunProblem};
use super::processor::DeviceArg;
use super::recordings::Slices;
use super::records::Records;
use super::timesteps;
use exit::{CommandError, Ending};
use output_files::OutputPath;
use terminal::stdout::Out;

/// The arguments of `harness run wave2d`.
#[derive(Debug, Clone, Args)]
pub struct Wave2dArgs {
    #[command(flatten)]
    problem: Parameters<Wave2d>,
    /// Timesteps from one output to the next: what is timed in one piece [default: see --frames]
    #[arg(long, value_name = "STEPS", conflicts_with = "frames", value_parser = at_least_1())]
    out_period: Option<u32>,
    /// How many outputs, spread evenly, instead of --out-period [default: 100 with --gif, 20 with
    /// --out, else 1]
    #[arg(long, value_name = "N", value_parser = at_least_1())]
    frames: Option<u32>,
    /// A film: a .gif, a .png of the last frame, or a folder for a .png of each
    #[arg(long, value_name = "PATH")]
    gif: Option<OutputPath>,
    /// Frames in a second of the .gif, 1 to 50
    #[arg(long, value_name = "N", default_value_t = 25, requires = "gif", value_parser = clap::value_parser!(u16).range(1..=50))]
    fps: u16,
    /// A new folder for the fields: a file each, lengths in cells and times in timesteps [default:
    /// no files]
    #[arg(long, value_name = "DIR")]
    out: Option<OutputPath>,
    /// The format of the files in --out; .vti ones come with wave2d.pvd, which ParaView opens
    #[arg(long, value_enum, default_value = "vti", requires = "out")]
    output: FieldFormat,
    #[command(flatten)]
    pub(super) device: DeviceArg,
}

impl RunProblem for Wave2d {
    fn lab() -> &'static Lab {
        &LAB
    }

    const DEFAULTS: &'static [(&'static str, &'static str)] = &[
        ("n_x", "400"),
        ("n_y", "300"),
        ("steps", "1200"),
        ("scene", "double-slit"),
        ("seed", "rest"),
    ];
    const OTHERS: &'static [&'static str] = &[];
}

/// Computes the wave.
///
/// # Errors
///
/// Invalid arguments, a path that cannot be written, a device that was named and is missing.
pub fn run(
    args: &Wave2dArgs,
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let problem = args.problem.problem()?;
    let processor = args.device.processor(&LAB, &problem, submitted)?;
    let is_compared = !args.device.no_check;
    processor.compute(out, |processor, to| {
        let chunks = chunks(args, problem.steps());
        let records = if processor.is_first() {
            records(&problem, args, chunks.len())?
        } else {
            Records::default()
        };
        timesteps::run(&problem, processor, chunks, is_compared, records, to)
    })
}

/// Timesteps of each chunk.
fn chunks(args: &Wave2dArgs, steps: u32) -> impl ExactSizeIterator<Item = u32> + use<> {
    let period = args.out_period;
    // Few timesteps give fewer frames.
    let frames = args.frames.unwrap_or(match (&args.gif, &args.out) {
        (Some(_), _) => 100,
        (None, Some(_)) => 20,
        (None, None) => 1,
    });
    let count = period.map_or(frames.min(steps), |period| steps.div_ceil(period));
    let until = move |chunk: usize| match period {
        Some(period) => steps.min((chunk as u32).saturating_mul(period)),
        None => (u64::from(steps) * chunk as u64 / u64::from(count)) as u32,
    };
    (0..count as usize).map(move |chunk| until(chunk + 1) - until(chunk))
}

/// The files that are asked for.
fn records(problem: &Wave2d, args: &Wave2dArgs, frames: usize) -> Result<Records, CommandError> {
    let folder = args.out.as_ref();
    let series = folder.map(|folder| FieldSeries::of(problem, folder, LAB.name, args.output));
    let view = view(problem)?;
    let slices = args.gif.as_ref().zip(view.slice).map(|(path, slice)| {
        let slice = (view.lattice.name, slice);
        Slices::create("--gif", path, args.fps, slice, frames)
    });
    Ok(Records {
        series: series.transpose()?,
        slices: slices.transpose()?,
        ..Records::default()
    })
}

#[cfg(test)]
mod tests;
