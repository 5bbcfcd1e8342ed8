//! `harness animate`: pictures of a lab.

mod film;
mod gif_file;
mod palette;
mod picture;
mod simulation;
mod target;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use host::device::Sanitize;
use host::lab::CaseError;
use host::wave2d::Wave2d;
use host::{Lab, Progress};

use crate::catalogue::variant_of_run;
use crate::devices::{Machine, Wanted};
use crate::failure::{Ending, Failure};
use crate::out::Out;
use crate::progress::Bar;
use crate::units::waited;
use film::Film;
use simulation::{Runner, Simulation};
use target::Target;

/// What `harness animate` is told.
#[derive(Debug, Clone, Args)]
pub struct AnimateArgs {
    /// Which lab: wave2d
    lab: String,
    /// What stands in the domain; `harness list` has the names
    #[arg(long, value_name = "NAME", default_value = "double-slit")]
    scene: String,
    /// A .gif; or a folder for a PNG of each frame; or a .png of the last
    #[arg(long, value_name = "PATH", default_value = "wave2d.gif")]
    out: PathBuf,
    /// Cells along x and y: N, or NxM
    #[arg(long, value_name = "CELLS", default_value = "400x300")]
    size: Size,
    /// Timesteps in all
    #[arg(long, value_name = "N", default_value_t = 1200, value_parser = at_least_1())]
    steps: u32,
    /// How many frames
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_1())]
    frames: u32,
    /// Timesteps from frame to frame, in place of --frames
    #[arg(long, value_name = "STEPS", conflicts_with = "frames", value_parser = at_least_1())]
    every: Option<u32>,
    /// Frames in a second of the GIF, 1 to 50
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u16).range(1..=50))]
    fps: u16,
    /// Where to compute: cpu, cuda, cuda:N, emulated [default: cuda if there is one, else cpu]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Wanted>,
    /// Which variant, unless it is computed on the CPU
    #[arg(long, value_name = "NAME", default_value = "naive")]
    variant: String,
}

fn at_least_1() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// Cells along x and y.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size(u32, u32);

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let cells = |text: &str| {
            text.parse()
                .map_err(|_| "write a number of cells, or two: 400, 400x300".to_owned())
        };
        match text.split_once('x') {
            Some((x, y)) => Ok(Size(cells(x)?, cells(y)?)),
            None => cells(text).map(|cells| Size(cells, cells)),
        }
    }
}

/// Makes the pictures.
///
/// # Errors
///
/// What makes no sense, a path that cannot be written, a device that is asked for and not there.
pub fn run(args: &AnimateArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    let problem = problem(args)?;
    let frames = frame_steps(args)?;
    let mut film = Film::new(&problem, frames.len())?;
    let target = Target::create("--out", &args.out)?;

    let wanted = args.device.unwrap_or(Wanted::Cuda(0));
    let machine = Machine::discover(&[wanted], Sanitize::NONE);
    let (name, runner) = runner(args, &machine)?;

    let began = Instant::now();
    let mut simulation = Simulation::new(problem, runner)?;
    let bar = Bar::new(format!("computing on {name}"));
    for steps in frames {
        simulation.advance(steps)?;
        film.push(simulation.last_field());
        bar.update(simulation.steps_done().into(), args.steps.into());
    }
    drop(bar);
    let written = target.write(&film, args.fps)?;
    out.line(format!("{written} ({name}, {})", waited(began.elapsed())))?;
    Ok(Ending::Fine)
}

fn problem(args: &AnimateArgs) -> Result<Wave2d, Failure> {
    let lab = host::wave2d::LAB.name();
    if args.lab != lab {
        // Of the labs that there are, only those with pictures.
        host::find_lab(&args.lab)?;
        return Err(Failure::Input(format!(
            "lab `{}` has no pictures; there are pictures of: {lab}",
            args.lab
        )));
    }
    variant_of_run(&host::wave2d::LAB, &args.variant, args.device)?;
    let Size(n_x, n_y) = args.size;
    Wave2d::new(n_x, n_y, args.steps, &args.scene).map_err(|error| {
        let flag = match error {
            CaseError::Unknown { .. } => "--scene",
            _ => "--size",
        };
        Failure::from(error).context(flag)
    })
}

/// Timesteps before each frame, spread evenly.
fn frame_steps(args: &AnimateArgs) -> Result<Vec<u32>, Failure> {
    if let Some(every) = args.every {
        if every > args.steps {
            return Err(Failure::Input(format!(
                "--every {every}: there are only {} timesteps; raise --steps",
                args.steps
            )));
        }
        return Ok(vec![every; (args.steps / every) as usize]);
    }
    // The default gives way to fewer timesteps.
    let frames = u64::from(args.frames.min(args.steps));
    let until = |frame: u64| (u64::from(args.steps) * frame / frames) as u32;
    Ok((0..frames)
        .map(|frame| until(frame + 1) - until(frame))
        .collect())
}

/// Where to compute: what was asked for, else the GPU, else the CPU.
fn runner<'m>(args: &AnimateArgs, machine: &'m Machine) -> Result<(Wanted, Runner<'m>), Failure> {
    let (variant, device) = variant_of_run(&host::wave2d::LAB, &args.variant, args.device)?;
    let chosen = match device {
        Some(wanted) => machine.choose(&[wanted])?,
        None => machine.choose(&[])?,
    };
    Ok(match chosen.devices.first() {
        Some(named) => (
            named.name,
            Runner::Device {
                device: named.device,
                variant,
            },
        ),
        None => (Wanted::Cpu, Runner::Cpu),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> AnimateArgs {
        #[derive(clap::Parser)]
        struct Parser {
            #[command(flatten)]
            args: AnimateArgs,
        }
        let args = ["animate", "wave2d"].iter().chain(args);
        <Parser as clap::Parser>::parse_from(args).args
    }

    #[test]
    fn frames_are_spread_evenly_and_end_with_the_last_step() {
        let steps = |args: &[&str]| frame_steps(&parse(args)).unwrap();
        assert_eq!(steps(&["--steps=10", "--frames=4"]), [2, 3, 2, 3]);
        assert_eq!(steps(&["--steps=3", "--frames=4"]), [1, 1, 1]);
        assert_eq!(steps(&["--steps=10", "--every=4"]), [4, 4]);
        assert_eq!(steps(&[]).iter().sum::<u32>(), 1200);
        let failure = frame_steps(&parse(&["--steps=3", "--every=4"])).unwrap_err();
        insta::assert_snapshot!(failure, @"--every 4: there are only 3 timesteps; raise --steps");
    }

    #[test]
    fn sizes() {
        assert_eq!("40".parse(), Ok(Size(40, 40)));
        assert_eq!("40x30".parse(), Ok(Size(40, 30)));
        assert!("40x".parse::<Size>().is_err() && "-1".parse::<Size>().is_err());
    }

    #[test]
    fn problems_that_make_no_sense() {
        let error = |args: &[&str]| problem(&parse(args)).unwrap_err();
        insta::assert_snapshot!(error(&["--scene=double-slot"]), @"--scene: unknown scene `double-slot`; did you mean `double-slit`?");
        insta::assert_snapshot!(error(&["--size=1"]), @"--size: parameter `n_x` = `1`: a domain has at least 2 cells along each axis, its two borders");
        insta::assert_snapshot!(error(&["--variant=nave"]), @"--variant: unknown variant `nave`; did you mean `naive`?");
    }
}
