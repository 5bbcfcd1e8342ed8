//! A run in chunks of timesteps: its flags, and its files.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use exit::{CommandError, Ending};
use lab::{Chunks, Film, Lab, LabCase};
use output_files::OutputPath;
use select::catalogue::Submitted;
use terminal::stdout::Out;

use super::field_files::{FieldFormat, FieldSeries, view};
use super::flags::{at_least_1, kept, sentence};
use super::processor::{DeviceArg, Processor};
use super::receivers::{Receivers, timesteps_of};
use super::recordings::{Seismogram, Slices};
use super::records::Records;
use super::timesteps;

/// Chunks of a run with files, unless a film has others.
const WITH_FILES: u32 = 20;

/// The flags of a run in chunks.
#[derive(Debug, Clone)]
pub struct ChunkArgs {
    chunks: &'static Chunks,
    every: EveryArgs,
    film: Option<FilmArgs>,
    receivers: Option<ReceiverArgs>,
}

#[derive(Debug, Clone, Args)]
struct EveryArgs {
    /// Timesteps from one output to the next: what is timed in one piece
    #[arg(long, value_name = "STEPS", conflicts_with = "frames", value_parser = at_least_1())]
    out_period: Option<u32>,
    /// How many outputs, spread evenly, instead of --out-period
    #[arg(long, value_name = "N", value_parser = at_least_1())]
    frames: Option<u32>,
    /// A new folder for the fields: a file each
    #[arg(long, value_name = "DIR")]
    out: Option<OutputPath>,
    /// The format of the files in --out
    #[arg(long, value_enum, default_value = "vti", requires = "out")]
    output: FieldFormat,
}

#[derive(Debug, Clone, Args)]
struct FilmArgs {
    /// A film
    #[arg(long, value_name = "PATH")]
    gif: Option<OutputPath>,
    /// Frames in a second of the .gif, 1 to 50
    #[arg(long, value_name = "N", default_value_t = 25, requires = "gif", value_parser = clap::value_parser!(u16).range(1..=50))]
    fps: u16,
}

#[derive(Debug, Clone, Args)]
struct ReceiverArgs {
    /// Records of receivers
    #[arg(long, value_name = "FILE.npy")]
    receivers: Option<OutputPath>,
    /// Depth of the receivers: their z, in points
    #[arg(long, value_name = "POINTS", requires = "receivers")]
    receiver_depth: Option<u32>,
    /// Timesteps from one sample of the receivers to the next
    #[arg(long, value_name = "STEPS", default_value_t = 1, requires = "receivers", value_parser = at_least_1())]
    receiver_period: u32,
}

/// Adds to what the help of a flag says.
fn adding(more: String) -> impl FnOnce(Arg) -> Arg {
    move |arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        arg.help(format!("{help}{more}"))
    }
}

/// The number of chunks where no flag says it, for the help of `--frames`.
fn usual_frames(chunks: &Chunks) -> String {
    let film = chunks.film.map(|Film { frames, .. }| frames);
    let mut files = vec!["--out"];
    files.extend(film.filter(|frames| *frames == WITH_FILES).map(|_| "--gif"));
    files.extend(chunks.receivers.map(|_| "--receivers"));
    let others = film.filter(|frames| *frames != WITH_FILES);
    let others = others.map_or(String::new(), |frames| format!("{frames} with --gif, "));
    let files = match files.as_slice() {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        all => all.concat(),
    };
    format!("{others}{WITH_FILES} with {files}, else 1")
}

impl ChunkArgs {
    /// Adds the flags that a lab's runs have.
    pub fn flags(lab: &Lab, chunks: &Chunks, command: Command) -> Command {
        let (period, frames) = match chunks.period {
            Some(period) => (period.to_string(), String::new()),
            None => {
                let frames = format!(" [default: {}]", usual_frames(chunks));
                ("see --frames".to_owned(), frames)
            }
        };
        let out = format!(", {} [default: no files]", chunks.units);
        let output = format!(
            "; .vti ones come with {}.pvd, which ParaView opens",
            lab.name
        );
        let every = EveryArgs::augment_args(command)
            .mut_arg("out_period", adding(format!(" [default: {period}]")))
            .mut_arg("frames", adding(frames))
            .mut_arg("out", adding(out))
            .mut_arg("output", adding(output));
        let film = match chunks.film {
            None => every,
            Some(Film { summary, fps, .. }) => {
                let help = format!(
                    "{}: a .gif, a .png of the last frame, or a folder for a .png of each",
                    sentence(summary)
                );
                FilmArgs::augment_args(every)
                    .mut_arg("gif", |arg| arg.help(help))
                    .mut_arg("fps", |arg| arg.default_value(kept(fps.to_string())))
            }
        };
        let Some(receivers) = chunks.receivers else {
            return film;
        };
        let along = format!(
            " along {}: a .npy of samples by receivers, and its picture beside it",
            receivers.along
        );
        let depth = format!(" [default: {}]", receivers.depth);
        ReceiverArgs::augment_args(film)
            .mut_arg("receivers", adding(along))
            .mut_arg("receiver_depth", adding(depth))
    }

    /// The flags of a command line with [`ChunkArgs::flags`].
    ///
    /// # Errors
    ///
    /// As clap's.
    pub fn read(chunks: &'static Chunks, matches: &ArgMatches) -> Result<ChunkArgs, clap::Error> {
        let film = chunks.film.map(|_| FilmArgs::from_arg_matches(matches));
        let receivers = chunks
            .receivers
            .map(|_| ReceiverArgs::from_arg_matches(matches));
        Ok(ChunkArgs {
            chunks,
            every: EveryArgs::from_arg_matches(matches)?,
            film: film.transpose()?,
            receivers: receivers.transpose()?,
        })
    }

    /// Computes the problem.
    ///
    /// # Errors
    ///
    /// Invalid arguments, a path that cannot be written, a device that was named and is missing.
    pub fn run(
        &self,
        lab: &'static Lab,
        problem: &dyn LabCase,
        device: &DeviceArg,
        submitted: Submitted,
        out: &mut Out<'_>,
    ) -> Result<Ending, CommandError> {
        let receivers = self.receivers(problem)?;
        let processor = device.processor(lab, problem, submitted)?;
        processor.compute(out, |processor, out| {
            let is_several = processor.device().is_some_and(|gpus| gpus.count() > 1);
            if is_several && receivers.is_some() {
                return Err(CommandError::Input(
                    "--receivers: a seismogram is recorded on one GPU; leave out --gpus".to_owned(),
                ));
            }
            let steps = self.steps(timesteps_of(problem));
            let records = if processor.is_first() {
                self.records(problem, processor, receivers, steps.len())?
            } else {
                Records::default()
            };
            timesteps::run(problem, processor, steps, !device.no_check, records, out)
        })
    }

    /// Timesteps of each chunk.
    fn steps(&self, all: u32) -> impl ExactSizeIterator<Item = u32> + use<> {
        let EveryArgs {
            out_period, frames, ..
        } = self.every;
        let period = out_period.or(self.chunks.period.filter(|_| frames.is_none()));
        // Few timesteps give fewer frames.
        let frames = frames.unwrap_or_else(|| self.usual());
        let count = period.map_or(frames.min(all), |period| all.div_ceil(period));
        let until = move |chunk: usize| match period {
            Some(period) => all.min((chunk as u32).saturating_mul(period)),
            None => (u64::from(all) * chunk as u64 / u64::from(count)) as u32,
        };
        (0..count as usize).map(move |chunk| until(chunk + 1) - until(chunk))
    }

    /// The number of chunks where no flag says it: see [`usual_frames`].
    fn usual(&self) -> u32 {
        let film = self.chunks.film.filter(|_| self.gif().is_some());
        match film {
            Some(Film { frames, .. }) => frames,
            None if self.every.out.is_some() || self.seismogram().is_some() => WITH_FILES,
            None => 1,
        }
    }

    fn gif(&self) -> Option<&OutputPath> {
        self.film.as_ref()?.gif.as_ref()
    }

    fn seismogram(&self) -> Option<&OutputPath> {
        self.receivers.as_ref()?.receivers.as_ref()
    }

    /// The receivers, if there are any.
    fn receivers(&self, problem: &dyn LabCase) -> Result<Option<Receivers>, CommandError> {
        let Some(args) = self
            .receivers
            .as_ref()
            .filter(|args| args.receivers.is_some())
        else {
            return Ok(None);
        };
        let view = view(problem)?;
        let (field, depth) = (view.lattice.name, args.receiver_depth);
        let along = |line| Receivers::along(line, field, depth, args.receiver_period);
        view.line.map(along).transpose()
    }

    /// The files that are asked for.
    fn records(
        &self,
        problem: &dyn LabCase,
        processor: &Processor,
        receivers: Option<Receivers>,
        frames: usize,
    ) -> Result<Records, CommandError> {
        let folder = self.every.out.as_ref();
        let (name, format) = (processor.lab.name, self.every.output);
        let series = folder.map(|folder| FieldSeries::of(problem, folder, name, format));
        let view = view(problem)?;
        let film = self.film.as_ref().and_then(|film| {
            let slice = (view.lattice.name, view.slice?);
            Some(Slices::create(
                "--gif",
                film.gif.as_ref()?,
                film.fps,
                slice,
                frames,
            ))
        });
        let seismogram = self.seismogram().zip(receivers);
        let seismogram = seismogram.map(|(path, all)| Seismogram::create("--receivers", path, all));
        Ok(Records {
            series: series.transpose()?,
            slices: film.transpose()?,
            seismogram: seismogram.transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The timesteps of a lab's chunks with these arguments.
    fn steps(lab: &str, all: u32, args: &[&str]) -> Vec<u32> {
        let lab = host::find_lab(lab).unwrap();
        let Some(lab::Shown::Chunks(chunks)) = lab.running.as_ref().map(|running| &running.shown)
        else {
            panic!("{} is not run in chunks", lab.name)
        };
        let command = ChunkArgs::flags(lab, chunks, Command::new("run"));
        let matches = command.get_matches_from(std::iter::once(&"run").chain(args));
        ChunkArgs::read(chunks, &matches)
            .unwrap()
            .steps(all)
            .collect()
    }

    #[test]
    fn frames_are_spread_evenly_and_end_with_the_last_step() {
        let steps = |all, args: &[&str]| steps("wave2d", all, args);
        assert_eq!(steps(10, &["--frames=4"]), [2, 3, 2, 3]);
        assert_eq!(steps(3, &["--frames=4"]), [1, 1, 1]);
        assert_eq!(steps(10, &["--out-period=4"]), [4, 4, 2]);
        assert_eq!(steps(3, &["--out-period=4"]), [3]);
        assert_eq!(steps(1200, &[]), [1200]);
        assert_eq!(steps(1200, &["--gif=a.gif"]), [12; 100]);
        assert_eq!(steps(1200, &["--out=a"]), [60; 20]);
        let most = steps(4_294_967_295, &["--out-period=4294967294"]);
        assert_eq!(most, [4_294_967_294, 1]);
    }

    #[test]
    fn a_lab_says_how_many_are_usual() {
        assert_eq!(steps("wave3d", 250, &[]), [100, 100, 50]);
        assert_eq!(steps("wave3d", 250, &["--frames=2"]), [125, 125]);
        assert_eq!(steps("stencil25", 500, &[]), [500]);
        for files in ["--gif=a.gif", "--out=a", "--receivers=a.npy"] {
            assert_eq!(steps("stencil25", 500, &[files]), [25; 20], "{files}");
        }
    }
}
