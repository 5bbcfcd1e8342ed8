//! `harness run wave2d`.

use clap::{Args, ValueEnum};
use host::wave2d::{LAB, Start, Wave2d};
use kernels_gpu::wave2d::Scene;
use lab::CaseError;

use select::catalogue::Submitted;

use super::field_files::{FieldFormat, FieldSeries, Lattice};
use super::flags::{Extents, at_least_1, of_flag};
use super::pictures::Animation;
use super::pictures::film::Film;
use super::processor::DeviceArg;
use super::recordings::{Plane, Slices};
use super::records::Records;
use super::timesteps;
use exit::{CommandError, Ending};
use output_files::OutputPath;
use terminal::stdout::Out;

/// The arguments of `harness run wave2d`.
#[derive(Debug, Clone, Args)]
pub struct Wave2dArgs {
    /// Cells along x and y
    #[arg(long, value_name = "N_X,N_Y", default_value = "400,300")]
    shape: Extents<2>,
    /// Timesteps
    #[arg(long, value_name = "N", default_value_t = 1200, value_parser = at_least_1())]
    steps: u32,
    /// The domain's walls and source; `harness list wave2d` has the names
    #[arg(long, value_name = "NAME", default_value = "double-slit")]
    scene: String,
    /// (c dt/dx)^2, above 0 and at most 0.5
    #[arg(long, value_name = "K", default_value_t = 0.25)]
    k: f32,
    /// The fields at the beginning; the scene's source acts on all of them
    #[arg(long, value_enum, default_value = "rest")]
    start: InitialFields,
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

/// The fields at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InitialFields {
    /// 0 everywhere
    Rest,
    /// Noise in every cell
    Random,
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
    let problem = problem(args)?;
    let processor = args.device.processor(&LAB, &problem, submitted)?;
    let is_compared = !args.device.no_check;
    processor.compute(out, |processor, out| {
        let records = match processor.is_first() {
            true => records(&problem, args)?,
            false => Records::default(),
        };
        timesteps::run(&problem, processor, chunks(args), is_compared, records, out)
    })
}

fn problem(args: &Wave2dArgs) -> Result<Wave2d, CommandError> {
    let Extents([n_x, n_y]) = args.shape;
    let start = match args.start {
        InitialFields::Rest => Start::Rest,
        InitialFields::Random => Start::Random { seed: 1.into() },
    };
    let problem = Wave2d::new(n_x, n_y, args.steps, &args.scene).map_err(|error| match error {
        CaseError::Invalid {
            name,
            value,
            reason,
        } => CommandError::Input(format!("--shape: {name} = {value}: {reason}")),
        other => CommandError::from(other).context("--scene"),
    })?;
    Ok(problem.with_k(args.k).map_err(of_flag)?.with_start(start))
}

/// Timesteps of each chunk.
fn chunks(args: &Wave2dArgs) -> impl ExactSizeIterator<Item = u32> {
    let (steps, period) = (args.steps, args.out_period);
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
fn records(problem: &Wave2d, args: &Wave2dArgs) -> Result<Records, CommandError> {
    let folder = args.out.as_ref();
    let series = folder.map(|folder| {
        let lattice = Lattice::of(problem, "u1", 0.0, 1.0);
        FieldSeries::create(folder, "wave2d", lattice, args.output, 1.0)
    });
    let gif = args.gif.as_ref();
    let slices = gif.map(|path| {
        let (domain, scene) = (problem.domain(), problem.scene());
        let plane = Plane {
            field: "u1",
            first: 0,
            across: (domain.n_x, 1),
            down: (domain.n_y, domain.n_x as usize),
        };
        let size = [domain.n_x, domain.n_y];
        let film = Film::new(size, |x, y| scene.is_wall(x, y), chunks(args).len())
            .map_err(|failure| failure.context("--gif"))?;
        let animation = Animation::create("--gif", path, args.fps, film)?;
        Ok::<_, CommandError>(Slices { plane, animation })
    });
    Ok(Records {
        series: series.transpose()?,
        slices: slices.transpose()?,
        ..Records::default()
    })
}

#[cfg(test)]
mod tests;
