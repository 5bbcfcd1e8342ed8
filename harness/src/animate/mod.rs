//! `harness animate`: pictures of a lab.

pub(crate) mod film;
mod palette;
pub(crate) mod pictures;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use device::Error;
use device::buffer::elements;
use host::wave2d::{LAB, Wave2d};
use kernels_gpu::wave2d::Scene;
use lab::CaseError;

use crate::run::flags::at_least_1;
use crate::run::processor::DeviceArg;
use crate::run::stepper::Stepper;
use exit::{CommandError, Ending};
use film::Film;
use pictures::Animation;
use terminal::stdout::Out;
use units::waited;

/// The arguments of `harness animate`.
#[derive(Debug, Clone, Args)]
pub struct AnimateArgs {
    /// Which lab: wave2d
    lab: String,
    /// The domain's scene; `harness list` has the names
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
    /// Timesteps from frame to frame, instead of --frames
    #[arg(long, value_name = "STEPS", conflicts_with = "frames", value_parser = at_least_1())]
    every: Option<u32>,
    /// Frames in a second of the GIF, 1 to 50
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u16).range(1..=50))]
    fps: u16,
    #[command(flatten)]
    device: DeviceArg,
    /// Which variant, unless it is computed on the CPU
    #[arg(long, value_name = "NAME", default_value = "naive")]
    variant: String,
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
/// Invalid arguments, a path that cannot be written, a device that was named and is missing.
pub fn run(args: &AnimateArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let problem = problem(args)?;
    let frames = frame_steps(args)?;
    let (domain, scene) = (problem.domain(), problem.scene());
    let is_wall = |x, y| scene.is_wall(x, y);
    let film = Film::new([domain.n_x, domain.n_y], is_wall, frames.len())?;
    let mut animation = Animation::create("--out", &args.out, args.fps, film)?;
    let processor = args
        .device
        .processor(&LAB, &problem, Some(&args.variant), "naive")?;

    let began = Instant::now();
    let mut stepper = Stepper::new(problem, &processor, None)?;
    for steps in frames {
        stepper.advance(steps, None)?;
        let last = elements(&stepper.fields, "u1").map_err(Error::from)?;
        animation.film.push(last);
    }
    let written = animation.finish()?;
    let (name, time) = (processor.name, waited(began.elapsed()));
    out.line(format!("wrote {written} ({name}, {time})"))?;
    Ok(Ending::Fine)
}

fn problem(args: &AnimateArgs) -> Result<Wave2d, CommandError> {
    let lab = LAB.name;
    if args.lab != lab {
        // A lab that exists, but has no pictures, gets a message of its own.
        host::find_lab(&args.lab)?;
        return Err(CommandError::Input(format!(
            "lab `{}` has no pictures; there are pictures of: {lab}",
            args.lab
        )));
    }
    let Size(n_x, n_y) = args.size;
    Wave2d::new(n_x, n_y, args.steps, &args.scene).map_err(|error| {
        let flag = match error {
            CaseError::Unknown { .. } => "--scene",
            _ => "--size",
        };
        CommandError::from(error).context(flag)
    })
}

/// Timesteps before each frame, spread evenly.
fn frame_steps(args: &AnimateArgs) -> Result<Vec<u32>, CommandError> {
    if let Some(every) = args.every {
        if every > args.steps {
            return Err(CommandError::Input(format!(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_command;

    fn parse(args: &[&str]) -> AnimateArgs {
        test_command::parse(&[&["wave2d"], args].concat())
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
        let args = parse(&[]);
        let case = problem(&args).unwrap();
        let processor = args.device.processor(&LAB, &case, Some("nave"), "naive");
        insta::assert_snapshot!(processor.err().unwrap(), @"--variant: unknown variant `nave`; did you mean `naive`?");
    }
}
