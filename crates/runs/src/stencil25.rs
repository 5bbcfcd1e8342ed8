//! `harness run stencil25`.

use std::iter::repeat;
use std::path::Path;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use host::stencil25::{LAB, Model, Start, Stencil25};
use lab::CaseError;

use select::catalogue::Submitted;

use super::field_files::{FieldFormat, FieldSeries, Lattice};
use super::flags::{Extents, at_least_1, of_flag};
use super::npy;
use super::pictures::Animation;
use super::pictures::film::Film;
use super::processor::DeviceArg;
use super::receivers::Receivers;
use super::recordings::{Plane, Seismogram, Slices};
use super::records::Records;
use super::timesteps;
use exit::{CommandError, Ending};
use output_files::OutputPath;
use terminal::stdout::Out;

/// Frames in a second of a GIF.
const FPS: u16 = 10;

/// The arguments of `harness run stencil25`.
#[derive(Debug, Clone, Args)]
pub struct Stencil25Args {
    /// Points along x, y and z (depth) [default: the model's, or 256,256,256]
    #[arg(long, value_name = "N_X,N_Y,N_Z")]
    shape: Option<Extents<3>>,
    /// Timesteps
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = at_least_1())]
    steps: u32,
    /// The wave's speed: layers, uniform, or a .npy of n_x * n_y * n_z speeds in m/s, z contiguous
    #[arg(long, value_name = "MODEL", default_value = "layers")]
    model: String,
    /// Grid spacing in metres: one number, or three for x, y and z
    #[arg(long, value_name = "METRES", default_value = "10")]
    spacing: Spacing,
    /// Timestep in seconds [default: 0.9 of the largest that is stable]
    #[arg(long, value_name = "SECONDS")]
    dt: Option<f64>,
    /// Width of the absorbing shell in points
    #[arg(long, value_name = "POINTS", default_value_t = 16, value_parser = at_least_1())]
    shell: u32,
    /// The fields at the beginning; the source acts on all of them
    #[arg(long, value_enum, default_value = "rest")]
    start: InitialFields,
    /// Timesteps from one output to the next: what is timed in one piece [default: a twentieth of
    /// them with --out, --gif or --receivers, else all]
    #[arg(long, value_name = "STEPS", value_parser = at_least_1())]
    out_period: Option<u32>,
    /// A new folder for the field: a .vti each, and stencil25.pvd, which ParaView opens [default:
    /// no files]
    #[arg(long, value_name = "DIR")]
    out: Option<OutputPath>,
    /// A film of the slice through the source, x across and z down: a .gif, a .png of the last, or
    /// a folder for a .png of each
    #[arg(long, value_name = "PATH")]
    gif: Option<OutputPath>,
    /// Records of receivers along x: a .npy of samples by receivers, and its picture beside it
    #[arg(long, value_name = "FILE.npy")]
    receivers: Option<OutputPath>,
    /// Depth of the receivers: their z, in points [default: just below the shell]
    #[arg(long, value_name = "POINTS", requires = "receivers")]
    receiver_depth: Option<u32>,
    /// Timesteps from one sample of the receivers to the next
    #[arg(long, value_name = "STEPS", default_value_t = 1, requires = "receivers", value_parser = at_least_1())]
    receiver_period: u32,
    #[command(flatten)]
    pub(super) device: DeviceArg,
}

/// Grid spacings along x, y and z in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spacing([f64; 3]);

impl std::str::FromStr for Spacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Spacing, String> {
        let numbers = text.split(',').map(|part| part.trim().parse().ok());
        match numbers.collect::<Option<Vec<f64>>>().as_deref() {
            Some(&[all]) => Ok(Spacing([all; 3])),
            Some(&[x, y, z]) => Ok(Spacing([x, y, z])),
            _ => Err("write a number, or three: 10 or 10,10,5".to_owned()),
        }
    }
}

/// The fields at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InitialFields {
    /// 0 everywhere
    Rest,
    /// A smooth bump in the middle
    Pulse,
    /// Noise in every point
    Random,
}

/// Computes the wave.
///
/// # Errors
///
/// Invalid arguments, a model that cannot be read, a path that cannot be written, a device that was
/// named and is missing.
pub fn run(
    args: &Stencil25Args,
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let problem = problem(args)?;
    let receivers = receivers(&problem, args)?;
    let processor = args.device.processor(&LAB, &problem, submitted)?;
    let period = period(args);
    let is_compared = !args.device.no_check;
    processor.compute(out, |processor, out| {
        let is_several = processor.device().is_some_and(|device| device.count() > 1);
        if is_several && receivers.is_some() {
            return Err(CommandError::Input(
                "--receivers: a seismogram is recorded on one GPU; leave out --gpus".to_owned(),
            ));
        }
        let records = match processor.is_first() {
            true => records(&problem, args, period, receivers)?,
            false => Records::default(),
        };
        timesteps::run(
            &problem,
            processor,
            repeat(period),
            is_compared,
            records,
            out,
        )
    })
}

/// Timesteps of a chunk.
fn period(args: &Stencil25Args) -> u32 {
    let has_files = args.out.is_some() || args.gif.is_some() || args.receivers.is_some();
    let usual = if has_files {
        args.steps.div_ceil(20)
    } else {
        args.steps
    };
    args.out_period.unwrap_or(usual)
}

fn problem(args: &Stencil25Args) -> Result<Stencil25, CommandError> {
    let start = match args.start {
        InitialFields::Rest => Start::Rest,
        InitialFields::Pulse => Start::Pulse,
        InitialFields::Random => Start::Random { seed: 1.into() },
    };
    let given = args.shape.map(|shape| shape.0);
    let (model, of_model) = match Model::from_name(&args.model) {
        Some(model) => (model, None),
        None if Path::new(&args.model).extension().is_some() => {
            let (shape, speeds) = npy::read::<3>("--model", Path::new(&args.model))?;
            (Model::Given(Arc::from(speeds)), Some(shape))
        }
        None => {
            let unknown = CaseError::unknown("model", &args.model, Model::NAMES);
            return Err(CommandError::Input(format!(
                "--model: {unknown}; a model of your own is a .npy file"
            )));
        }
    };
    if let (Some(given), Some(of_model)) = (given, of_model)
        && given != of_model
    {
        let text = |shape: [u32; 3]| shape.map(|n| n.to_string()).join(",");
        return Err(CommandError::Input(format!(
            "--model {}: it has {} points, and --shape says {}; leave --shape out",
            args.model,
            text(of_model),
            text(given)
        )));
    }
    let shape = of_model.or(given).unwrap_or([256; 3]);
    let of_shape = |error: CaseError| {
        let CaseError::Invalid {
            name,
            value,
            reason,
        } = error
        else {
            return error.into();
        };
        CommandError::Input(match of_model {
            _ if name == "shell" => format!("--shell {value}: {reason}"),
            None => format!("--shape: {name} = {value}: {reason}"),
            Some(_) => format!("--model {}: {name} = {value}: {reason}", args.model),
        })
    };
    let of_medium = |error: CaseError| match error {
        CaseError::Invalid {
            name,
            value,
            reason,
        } if ["dx", "dy", "dz"].contains(&name.as_str()) => {
            CommandError::Input(format!("--spacing: {name} = {value}: {reason}"))
        }
        CaseError::Invalid { name, reason, .. } if name == "model" => {
            CommandError::Input(format!("--model {}: {reason}", args.model))
        }
        other => of_flag(other),
    };
    Ok(Stencil25::with_shell(shape, args.steps, args.shell)
        .map_err(of_shape)?
        .with_medium(model, args.spacing.0, args.dt)
        .map_err(of_medium)?
        .with_start(start))
}

/// The receivers, if there are any: from shell to shell along x, beside the source along y.
fn receivers(problem: &Stencil25, args: &Stencil25Args) -> Result<Option<Receivers>, CommandError> {
    let (grid, shell) = (problem.grid(), problem.shell());
    let depth = args.receiver_depth.unwrap_or(shell);
    if depth >= grid.n_z {
        return Err(CommandError::Input(format!(
            "--receiver-depth {depth}: there are {} points along z, numbered from 0",
            grid.n_z
        )));
    }
    let [_, y, _] = problem.source_point();
    Ok(args.receivers.as_ref().map(|_| Receivers {
        field: "u",
        first: grid.index(shell, y, depth),
        stride: grid.stride_x(),
        len: grid.n_x - 2 * shell,
        every: args.receiver_period,
        samples: Vec::new(),
    }))
}

/// The files that are asked for.
fn records(
    problem: &Stencil25,
    args: &Stencil25Args,
    period: u32,
    receivers: Option<Receivers>,
) -> Result<Records, CommandError> {
    let grid = problem.grid();
    let (to_x, to_y) = (grid.stride_x() as usize, grid.stride_y() as usize);
    let lattice = || Lattice {
        name: "u",
        first: grid.index(0, 0, 0) as usize,
        axes: [(grid.n_x, to_x), (grid.n_y, to_y), (grid.n_z, 1)],
        origin: [0.0; 3],
        spacing: problem.spacing_m(),
    };
    let [_, y, _] = problem.source_point();
    let plane = Plane {
        field: "u",
        first: grid.index(0, y, 0) as usize,
        across: (grid.n_x, to_x),
        down: (grid.n_z, 1),
    };
    let frames = args.steps.div_ceil(period) as usize;
    let series = args.out.as_ref().map(|folder| {
        FieldSeries::create(
            folder,
            "stencil25",
            lattice(),
            FieldFormat::Vti,
            problem.dt_s(),
        )
    });
    let gif = args.gif.as_ref();
    let slices = gif.map(|path| {
        let film = Film::new([grid.n_x, grid.n_z], |_, _| false, frames)
            .map_err(|failure| failure.context("--gif"))?;
        let animation = Animation::create("--gif", path, FPS, film)?;
        Ok::<_, CommandError>(Slices { plane, animation })
    });
    let seismogram = args.receivers.as_ref().zip(receivers);
    let seismogram =
        seismogram.map(|(path, receivers)| Seismogram::create("--receivers", path, receivers));
    Ok(Records {
        series: series.transpose()?,
        slices: slices.transpose()?,
        seismogram: seismogram.transpose()?,
    })
}

#[cfg(test)]
mod tests;
