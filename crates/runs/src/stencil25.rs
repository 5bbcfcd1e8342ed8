//! `harness run stencil25`.

use std::iter::repeat;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use host::stencil25::{LAB, Model, Stencil25};
use lab::{CaseError, Lab};

use select::catalogue::Submitted;

use super::field_files::{FieldFormat, FieldSeries, view};
use super::flags::at_least_1;
use super::npy;
use super::parameters::{Parameters, RunProblem, of_flag};
use super::processor::DeviceArg;
use super::receivers::Receivers;
use super::recordings::{Seismogram, Slices};
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
    #[command(flatten)]
    problem: Parameters<Stencil25>,
    /// The wave's speed: layers, uniform, or a .npy of n_x * n_y * n_z speeds in m/s, z contiguous,
    /// which gives the shape, too [default: layers]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Grid spacing in metres: one number, or three for x, y and z [default: 10]
    #[arg(long, value_name = "METRES")]
    spacing: Option<Spacing>,
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

impl RunProblem for Stencil25 {
    fn lab() -> &'static Lab {
        &LAB
    }

    const DEFAULTS: &'static [(&'static str, &'static str)] = &[
        ("n_x", "256"),
        ("n_y", "256"),
        ("n_z", "256"),
        ("steps", "500"),
        ("start", "rest"),
    ];
    const OTHERS: &'static [&'static str] = &["model", "dx", "dy", "dz"];
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
    let period = period(args, problem.steps());
    let is_compared = !args.device.no_check;
    processor.compute(out, |processor, to| {
        let is_several = processor.device().is_some_and(|device| device.count() > 1);
        if is_several && receivers.is_some() {
            return Err(CommandError::Input(
                "--receivers: a seismogram is recorded on one GPU; leave out --gpus".to_owned(),
            ));
        }
        let records = if processor.is_first() {
            records(&problem, args, period, receivers)?
        } else {
            Records::default()
        };
        timesteps::run(
            &problem,
            processor,
            repeat(period),
            is_compared,
            records,
            to,
        )
    })
}

/// Timesteps of a chunk.
fn period(args: &Stencil25Args, steps: u32) -> u32 {
    let has_files = args.out.is_some() || args.gif.is_some() || args.receivers.is_some();
    let usual = if has_files { steps.div_ceil(20) } else { steps };
    args.out_period.unwrap_or(usual)
}

fn problem(args: &Stencil25Args) -> Result<Stencil25, CommandError> {
    let mut parameters = args.problem.clone();
    if let Some(Spacing(spacing)) = args.spacing {
        for (name, metres) in ["dx", "dy", "dz"].iter().zip(spacing) {
            parameters.given.set(*name, metres);
        }
    }
    match &args.model {
        Some(file) if Model::from_name(file).is_none() => with_model(file, parameters),
        Some(name) => {
            parameters.given.set("model", name);
            parameters.case().map_err(of_spacing)
        }
        None => parameters.case().map_err(of_spacing),
    }
}

/// The problem whose speeds, and shape, are those of a file.
fn with_model(
    file: &str,
    mut parameters: Parameters<Stencil25>,
) -> Result<Stencil25, CommandError> {
    if Path::new(file).extension().is_none() {
        let unknown = CaseError::unknown("model", file, Model::NAMES);
        return Err(CommandError::Input(format!(
            "--model: {unknown}; a model of your own is a .npy file"
        )));
    }
    let (shape, speeds) = npy::read("--model", Path::new(file), LAB.extents.len())?;
    if let Some(given) = parameters.shape().filter(|given| **given != shape) {
        let text = |extents: &[u32]| {
            extents
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(",")
        };
        return Err(CommandError::Input(format!(
            "--model {file}: it has {} points, and --shape says {}; leave --shape out",
            text(&shape),
            text(given)
        )));
    }
    let of_model = |error: CaseError| match error {
        CaseError::Invalid {
            name,
            value,
            reason,
        } if name.starts_with("n_x") => {
            CommandError::Input(format!("--model {file}: {name} = {value}: {reason}"))
        }
        CaseError::Invalid { name, reason, .. } if name == "model" => {
            CommandError::Input(format!("--model {file}: {reason}"))
        }
        other => of_spacing(other),
    };
    for (name, extent) in LAB.extents.iter().zip(shape) {
        parameters.given.set(*name, extent);
    }
    // The limit of a timestep is that of the file's speeds.
    let dt = parameters.given.get("dt").filter(|dt| *dt != "auto");
    let dt = dt
        .map(|dt| {
            let reason = "write a number of seconds, or auto";
            dt.parse().map_err(|_| CaseError::invalid("dt", dt, reason))
        })
        .transpose()
        .map_err(of_spacing)?;
    parameters.given.set("dt", "auto");
    let problem = parameters.case().map_err(of_model)?;
    let spacing = problem.spacing_m();
    let speeds = Model::Given(Arc::from(speeds));
    problem.with_medium(speeds, spacing, dt).map_err(of_model)
}

/// The error with the flag that gave the value.
fn of_spacing(error: CaseError) -> CommandError {
    match error {
        CaseError::Invalid {
            name,
            value,
            reason,
        } if ["dx", "dy", "dz"].contains(&name.as_str()) => {
            CommandError::Input(format!("--spacing: {name} = {value}: {reason}"))
        }
        other => of_flag::<Stencil25>(other),
    }
}

/// The receivers, if there are any: from shell to shell along x, beside the source along y.
fn receivers(problem: &Stencil25, args: &Stencil25Args) -> Result<Option<Receivers>, CommandError> {
    let view = view(problem)?;
    let (field, depth) = (view.lattice.name, args.receiver_depth);
    let line = view.line.filter(|_| args.receivers.is_some());
    let receivers = line.map(|line| Receivers::along(line, field, depth, args.receiver_period));
    receivers.transpose()
}

/// The files that are asked for.
fn records(
    problem: &Stencil25,
    args: &Stencil25Args,
    period: u32,
    receivers: Option<Receivers>,
) -> Result<Records, CommandError> {
    let frames = problem.steps().div_ceil(period) as usize;
    let folder = args.out.as_ref();
    let series = folder.map(|folder| FieldSeries::of(problem, folder, LAB.name, FieldFormat::Vti));
    let view = view(problem)?;
    let slices = args.gif.as_ref().zip(view.slice).map(|(path, slice)| {
        let slice = (view.lattice.name, slice);
        Slices::create("--gif", path, FPS, slice, frames)
    });
    let seismogram = args.receivers.as_ref().zip(receivers);
    let seismogram =
        seismogram.map(|(path, places)| Seismogram::create("--receivers", path, places));
    Ok(Records {
        series: series.transpose()?,
        slices: slices.transpose()?,
        seismogram: seismogram.transpose()?,
    })
}

#[cfg(test)]
mod tests;
