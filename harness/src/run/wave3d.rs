//! `harness run wave3d`.

mod compute;
mod frames;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use host::device::Sanitize;
use host::lab::CaseError;
use host::lab::largest_extent;
use host::wave3d::{LAB, Start, Wave3d};

use super::flags::{at_least_1, create_folder, of_flag};
use super::place::{Place, explained};
use crate::catalogue::variant_of_run;
use crate::devices::{Machine, Wanted};
use crate::failure::{Ending, Failure};
use crate::out::Out;
use crate::table::{Align, Columns, Tone};
use crate::units::{count, grouped, three};
use compute::{Chunk, Runner};
use frames::Frames;

/// What `harness run wave3d` is told.
#[derive(Debug, Clone, Args)]
pub struct Wave3dArgs {
    /// Sites along x, y and z (depth)
    #[arg(long, value_name = "N_X,N_Y,N_Z", default_value = "256,256,256")]
    shape: Shape,
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
    start: From,
    /// A new folder for the fields: a .vti each, and wave3d.pvd, which ParaView opens [default: no files]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Which variant, unless it is computed on the CPU; `harness list wave3d` has the names
    #[arg(long, value_name = "NAME", default_value = "single")]
    variant: String,
    /// Where to compute: cpu, cuda, cuda:N, emulated [default: cuda if there is one, else cpu]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Wanted>,
    /// Do not compare the fields with the CPU's
    #[arg(long)]
    no_check: bool,
}

/// The fields at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum From {
    /// 0 everywhere
    Rest,
    /// A smooth bump in the middle
    Pulse,
    /// Noise in every site
    Random,
}

/// Sites along x, y and z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape([u32; 3]);

impl std::str::FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let sites: Result<Vec<u32>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        sites
            .ok()
            .and_then(|sites| sites.try_into().ok())
            .map(Shape)
            .ok_or_else(|| "write three numbers of sites: 256,256,256".to_owned())
    }
}

/// Computes the wave.
///
/// # Errors
///
/// What makes no sense, a path that cannot be written, a device that is asked for and not there.
pub fn run(args: &Wave3dArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    let machine = Machine::discover(&[Place::wanted(args.device)], Sanitize::NONE);
    run_on(args, &machine, out)
}

fn run_on(args: &Wave3dArgs, machine: &Machine, out: &mut Out<'_>) -> Result<Ending, Failure> {
    let (variant, device) = variant_of_run(&LAB, &args.variant, args.device)?;
    let problem = problem(args)?;
    let place = Place::choose(device, machine)?;
    let mut frames = match &args.out {
        Some(folder) => {
            if let Some(above) = folder.parent() {
                create_folder("--out", above)?;
            }
            Some(Frames::create(folder)?)
        }
        None => None,
    };

    let title = format!("wave3d  {problem}, {}", place.describe(variant));
    out.line(out.look().title(&title))?;
    let is_checked = !args.no_check && matches!(place, Place::Device(_));
    let lacking = |error| {
        explained(error, |free_bytes| {
            let n = largest_extent::<Wave3d>(variant, free_bytes)?;
            Some(format!(
                "--shape {n},{n},{n}, or as many sites of another shape"
            ))
        })
    };
    let mut runner = Runner::new(&problem, place, variant, is_checked).map_err(lacking)?;
    let mut chunks = Vec::new();
    while let Some(chunk) = runner.advance(args.out_period).map_err(lacking)? {
        chunks.push(chunk);
        if let Some(frames) = &mut frames {
            frames.write(&problem, runner.steps_done(), runner.u())?;
        }
    }
    out.line(speed(&problem, &chunks, place, out))?;
    let mut ending = Ending::Fine;
    if is_checked {
        let different: u64 = chunks.iter().map(|chunk| chunk.different).sum();
        // Both fields of each chunk.
        let of = 2 * problem.sites() as u64 * chunks.len() as u64;
        let line = format!(
            "  {} of {} values differ from the CPU's",
            grouped(different),
            grouped(of)
        );
        if different == 0 {
            out.line(line)?;
        } else {
            out.line(out.look().bad(&line))?;
            if let Some(first) = chunks
                .iter()
                .find_map(|chunk| chunk.first_different.as_ref())
            {
                out.line(format!("    the first: {first}"))?;
            }
            ending = Ending::Wrong;
        }
    }
    if let Some(frames) = frames {
        out.line(format!("  wrote {}", frames.finish()?))?;
    }
    Ok(ending)
}

fn problem(args: &Wave3dArgs) -> Result<Wave3d, Failure> {
    let start = match args.start {
        From::Rest => Start::Rest,
        From::Pulse => Start::Pulse,
        From::Random => Start::Random { seed: 1 },
    };
    let problem = Wave3d::new(args.shape.0, args.steps).map_err(|error| match error {
        CaseError::Invalid {
            name,
            value,
            reason,
        } => Failure::Input(format!("--shape: {name} = {value}: {reason}")),
        other => other.into(),
    })?;
    let model = problem.model();
    Ok(problem
        .with_medium(model, args.dx, args.dt)
        .map_err(of_flag)?
        .with_start(start))
}

/// Mean and spread of the chunks' rates.
fn speed(problem: &Wave3d, chunks: &[Chunk], place: Place<'_>, out: &Out<'_>) -> String {
    if !place.has_speed() {
        let chunks = count(chunks.len(), "chunk");
        return format!("  {chunks}; the speed of the emulated device says nothing of a GPU");
    }
    let sites = problem.sites() as f64;
    let rate = |chunk: &Chunk| sites * f64::from(chunk.steps) / chunk.time.as_secs_f64().max(1e-12);
    let headers = [
        ("steps", Align::Right),
        ("time\nms", Align::Right),
        ("site updates\nG/s", Align::Right),
    ];
    let mut table = Columns::with_header(out.look(), &headers);
    let mut until = 0;
    for chunk in chunks {
        until += chunk.steps;
        let cells = [
            format!("to {until}"),
            three(1e3 * chunk.time.as_secs_f64()),
            three(rate(chunk) / 1e9),
        ];
        table.row(cells.map(|cell| (cell, Tone::Normal)));
    }
    let rates: Vec<f64> = chunks.iter().map(rate).collect();
    let (mean, deviation) = mean_and_deviation(&rates);
    let spread = deviation.map_or("one chunk, so no spread".to_owned(), |deviation| {
        format!("standard deviation {} %", three(100.0 * deviation / mean))
    });
    format!(
        "{}\n\n  mean: {mean:.3e} site updates/s, {spread}, without copies and output",
        table.render(2)
    )
}

/// The mean of some rates, and the standard deviation of the sample if there are two or more.
fn mean_and_deviation(rates: &[f64]) -> (f64, Option<f64>) {
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let squares: f64 = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum();
    (
        mean,
        (rates.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
    )
}

#[cfg(test)]
mod tests;
