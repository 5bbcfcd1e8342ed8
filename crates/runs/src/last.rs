//! A run that is timed as a whole, up to the last timestep or a tolerance: its flags, figures and
//! file.

use std::io::{Write, stderr};
use std::time::{Duration, Instant};

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use device::Device;
use device::buffer::replace;
use device::check::find;
use exit::{CommandError, Ending};
use lab::{By, Converging, Cpu, Lab, LabCase, Last, Lattice, Stop};
use output_files::interrupt::OnInterrupt;
use output_files::{OutputFile, OutputPath};
use select::catalogue::Submitted;
use stats::SamplingRule;
use terminal::progress::Bar;
use terminal::stdout::Out;
use terminal::table::{Align, Columns};
use units::{bytes, bytes_per_s, count, grouped, three};

use super::field_files::{FieldFormat, WriteField as _, view};
use super::flags::{at_least_1, create_folder, of_flag};
use super::processor::{DeviceArg, Processor};
use super::receivers::{part, timesteps_of};
use super::stepper::{Chunk, Comparison, Stepper, once};
use super::timesteps::report_comparison;

/// The flags of a run that is timed as a whole.
#[derive(Debug, Clone)]
pub struct LastArgs {
    last: &'static Last,
    tolerance: Option<ToleranceArgs>,
    file: FileArgs,
}

#[derive(Debug, Clone, Args)]
struct ToleranceArgs {
    /// Stop at a tolerance
    #[arg(long, value_name = "EPS")]
    tolerance: Option<f64>,
    /// Iterations from one look at the change to the next
    #[arg(long, value_name = "N", default_value_t = 10, requires = "tolerance", value_parser = at_least_1())]
    check_every: u32,
}

#[derive(Debug, Clone, Args)]
struct FileArgs {
    /// What to write of the result
    #[arg(long, value_enum, default_value = "none")]
    output: Output,
    /// Where to write it
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: OutputPath,
    /// Ends the file's name, before the dot
    #[arg(long, value_name = "S", requires = "output")]
    suffix: Option<String>,
    /// Cores that the CPU uses [default: all]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// No file
    None,
    /// NumPy: an array whose last axis is x
    Npy,
    /// VTK image data, for ParaView
    Vti,
}

/// When the samples of a GPU are enough.
const RULE: SamplingRule = SamplingRule {
    min_samples: 3,
    min_time: Duration::MAX,
    max_samples: 20,
    noise: 0.005,
    spread: 0.05,
    patience: Duration::from_secs(5),
};

impl LastArgs {
    /// Adds the flags that a lab's runs have.
    pub fn flags(lab: &Lab, last: &Last, command: Command) -> Command {
        let until = match last.converging {
            None => command,
            Some(Converging { summary, .. }) => {
                ToleranceArgs::augment_args(command).mut_arg("tolerance", |arg| arg.help(summary))
            }
        };
        // Equal extents are one number.
        let name = format!("{}-N", lab.name);
        let out =
            format!("Where to write it: the folder of {name}.npy or .vti; made if it is not there");
        let suffix = format!("Ends the file's name, before the dot: {name}-S.npy");
        FileArgs::augment_args(until)
            .mut_arg("out", |arg| arg.help(out))
            .mut_arg("suffix", |arg| arg.help(suffix))
    }

    /// The flags of a command line with [`LastArgs::flags`].
    ///
    /// # Errors
    ///
    /// As clap's.
    pub fn read(last: &'static Last, matches: &ArgMatches) -> Result<LastArgs, clap::Error> {
        let tolerance = last
            .converging
            .map(|_| ToleranceArgs::from_arg_matches(matches));
        Ok(LastArgs {
            last,
            tolerance: tolerance.transpose()?,
            file: FileArgs::from_arg_matches(matches)?,
        })
    }

    /// Solves the problem.
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
        let stop = self.stop()?;
        let processor = device.processor(lab, problem, submitted)?;
        processor.compute(out, |processor, out| {
            self.solve(problem, stop, processor, !device.no_check, out)
        })
    }

    /// The rule for stopping, and the lab's way to do so, if a tolerance is given.
    fn stop(&self) -> Result<Option<(Stop, Converging)>, CommandError> {
        let Some((args, converging)) = self.tolerance.as_ref().zip(self.last.converging) else {
            return Ok(None);
        };
        let stop = args
            .tolerance
            .map(|tolerance| Stop::new(tolerance, args.check_every));
        let stop = stop.transpose().map_err(of_flag)?;
        Ok(stop.map(|stop| (stop, converging)))
    }

    /// Solves it, on what the flags name.
    fn solve(
        &self,
        problem: &dyn LabCase,
        stop: Option<(Stop, Converging)>,
        processor: &Processor,
        is_compared: bool,
        out: &mut Out<'_>,
    ) -> Result<Ending, CommandError> {
        if let (Some(_), Some(2..)) = (&stop, processor.device().map(Device::count)) {
            return Err(CommandError::Input(
                "--tolerance: the change is looked at on one GPU; leave out --gpus".to_owned(),
            ));
        }
        let file = if processor.is_first() {
            self.file.create(processor.lab, problem)?
        } else {
            None
        };

        let (file, unfinished) = match file {
            Some((file, format, unfinished)) => (Some((file, format)), Some(unfinished)),
            None => (None, None),
        };
        let mut stepper = Stepper::new(problem, processor, self.file.threads)?;
        stepper.reads_results = is_compared || self.file.output != Output::None || stop.is_some();
        stepper.warm_up()?;
        let (chunk, convergence) = match stop {
            None => {
                let iterations = timesteps_of(problem);
                (stepper.advance(iterations, Some(&RULE))?, None)
            }
            Some((stop, converging)) => {
                let (chunk, convergence) = iterate_until(&stop, converging, &mut stepper)?;
                (Some(chunk), Some(convergence))
            }
        };
        drop(unfinished);
        let written = file.map(|(file, format)| write(file, format, &stepper));
        let title = format!(
            "{}  {problem}, {}",
            processor.lab.name,
            processor.describe()
        );
        out.line(out.look().title(&out.look().wrapped(&title, 0)))?;
        if let Some(chunk) = chunk {
            let done = part(problem, 0, chunk.steps);
            out.line(self.figures(done.as_ref(), &chunk, processor, out))?;
        }
        let mut ending = Ending::Fine;
        if let Some((text, end)) = convergence {
            out.line(out.look().wrapped(&text, 2))?;
            ending = end;
        }
        if is_compared && processor.is_first() && processor.device().is_some() {
            let mut comparison = Comparison::default();
            stepper.compare(&mut comparison)?;
            if report_comparison(&comparison, out)? == Ending::Wrong {
                ending = Ending::Wrong;
            }
        }
        if let Some(written) = written {
            out.line(format!("  wrote {}", written?))?;
        }
        Ok(ending)
    }

    /// Times, and rates where they mean something.
    fn figures(
        &self,
        done: &dyn LabCase,
        chunk: &Chunk,
        processor: &Processor,
        out: &Out<'_>,
    ) -> String {
        let t = chunk.times.median_s.max(1e-12);
        let mut table = Columns::new(out.look(), [Align::Left, Align::Right, Align::Left]);
        let samples = count(chunk.times.samples_s.len(), "run");
        let noise = chunk.times.noise.map_or(samples.clone(), |noise| {
            format!("median of {samples}, noise {} %", three(100.0 * noise))
        });
        let seconds = |time: f64| format!("{} s", three(time));
        let steps = steps_word(processor.lab);
        table.row([steps, &seconds(t), &noise]);
        let whole = seconds(chunk.whole.as_secs_f64());
        table.row(["with allocation and transfers", &whole, ""]);
        if !processor.has_speed() {
            let note = "the speed of the emulated device says nothing of a GPU";
            table.row(["rates", "none", note]);
            return table.render(2);
        }
        if let Some(((formula, note), quoted)) = self.last.quoted.zip(done.quoted_bytes()) {
            table.row([formula, &bytes_per_s(quoted as f64 / t), note]);
        }
        let work = processor
            .variant
            .map_or_else(|| done.work(), |variant| variant.work(done));
        if processor.device().is_some() {
            let rate = bytes_per_s(work.bytes as f64 / t);
            let note = format!("{}, what this variant cannot avoid", bytes(work.bytes));
            table.row(["really moved", &rate, &note]);
        }
        let rate = format!("{:.3e} /s", work.updates as f64 / t);
        table.row([work.unit, &rate, ""]);
        table.render(2)
    }
}

/// The lab's word for its timesteps, such as `iterations`.
fn steps_word(lab: &Lab) -> &'static str {
    lab.steps_parameter().unwrap_or("timesteps")
}

/// Iterates until `stop` says so: what was computed, and in words whether the tolerance was
/// reached.
fn iterate_until(
    stop: &Stop,
    converging: Converging,
    stepper: &mut Stepper<'_>,
) -> Result<(Chunk, (String, Ending)), CommandError> {
    let (problem, processor) = (stepper.problem, stepper.processor);
    let bar = Bar::new(format!("computing on {}", processor.name));
    let began = Instant::now();
    let end = match processor.device() {
        Some(device) => {
            let by = By::Device(device, processor.device_variant());
            (converging.run)(problem, by, stop, &bar)
        }
        None => {
            let iterate = || (converging.run)(problem, By::Cpu(Cpu::Parallel), stop, &bar);
            stepper.cores.install(iterate)
        }
    };
    let end = end.map_err(|error| stepper.explained(error))?;
    let (tolerance, change) = (stop.tolerance(), end.change);
    let field = processor.lab.outputs[0];
    let steps = steps_word(processor.lab);
    let iterations = grouped(end.iterations.into());
    let convergence = if end.reached {
        let text = format!(
            "tolerance {tolerance:e} reached after {iterations} {steps}: the last changed {field} by {change:.3e} at most"
        );
        (text, Ending::Fine)
    } else {
        let text = format!(
            "tolerance {tolerance:e} NOT reached after {iterations} {steps}: the last changed {field} by {change:.3e}; raise --{steps}"
        );
        (text, Ending::Wrong)
    };
    let chunk = Chunk {
        energy_j: None,
        steps: end.iterations,
        times: once(end.timing.device.unwrap_or(end.timing.host)),
        whole: began.elapsed(),
    };
    stepper.steps_done = end.iterations;
    replace(&mut stepper.fields, vec![(field.to_owned(), end.u)]);
    Ok((chunk, convergence))
}

impl FileArgs {
    /// Prepares the file that the flags name, and its folder; `None` if they name none.
    fn create(
        &self,
        lab: &Lab,
        problem: &dyn LabCase,
    ) -> Result<Option<(OutputFile, FieldFormat, OnInterrupt)>, CommandError> {
        let format = match self.output {
            Output::None => return Ok(None),
            Output::Npy => FieldFormat::Npy,
            Output::Vti => FieldFormat::Vti,
        };
        let suffix = match &self.suffix {
            Some(suffix) if suffix.is_empty() || suffix.contains(['/', '\\', '\0']) => {
                return Err(CommandError::Input(format!(
                    "--suffix {suffix:?}: a part of a file's name, without / and \\; name folders with --out"
                )));
            }
            Some(suffix) => format!("-{suffix}"),
            None => String::new(),
        };
        create_folder(&self.out)?;
        let size = size(&view(problem)?.lattice);
        let name = format!("{}-{size}{suffix}.{}", lab.name, format.extension());
        let target = self.out.join(name);
        // Before the name is claimed: an interruption after that is told.
        let unfinished = tell_unfinished(target.display().to_string());
        let file = OutputFile::create("--out", &target)?;
        Ok(Some((file, format, unfinished)))
    }
}

/// The points along each axis, in a word: `33` for a cube, else `33x65`.
fn size(lattice: &Lattice) -> String {
    let extents = lattice.axes.map(|(points, _)| points);
    let mut extents: Vec<u32> = extents.into_iter().filter(|points| *points > 1).collect();
    if extents.iter().all(|points| *points == extents[0]) {
        extents.truncate(1);
    }
    let extents: Vec<String> = extents.iter().map(u32::to_string).collect();
    extents.join("x")
}

/// Says of an interruption that this file is not written.
fn tell_unfinished(path: String) -> OnInterrupt {
    OnInterrupt::new(move || {
        let told = format!("interrupted before the last iteration; {path} is not written");
        // The terminal may be gone.
        let _ = writeln!(stderr(), "{told}");
    })
}

/// Writes the field, and says what was written.
fn write(
    mut file: OutputFile,
    format: FieldFormat,
    solved: &Stepper<'_>,
) -> Result<String, CommandError> {
    let bar = Bar::spinner(format!("writing {}", file.target().display()));
    let lattice = view(solved.problem)?.lattice;
    let field = find(&solved.fields, lattice.name)
        .ok_or_else(|| CommandError::Bug(format!("the solution has no field {}", lattice.name)))?;
    lattice
        .write(format, file.writer(), field)
        .map_err(|error| CommandError::not_written(file.target(), &error))?;
    drop(bar);
    let path = file.finish()?;
    let size = std::fs::metadata(&path).map_or(0, |data| data.len());
    Ok(format!("{} ({})", path.display(), bytes(size)))
}
