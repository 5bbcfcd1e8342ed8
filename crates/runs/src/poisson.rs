//! `harness run poisson`.

use std::io::{Write, stderr};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use device::Device;
use device::buffer::replace;
use device::check::find;
use host::poisson::{LAB, Poisson, to_tolerance, to_tolerance_on_cpu};
use lab::{Cpu, Lab, LabCase, Stop};

use select::catalogue::Submitted;

use super::field_files::{FieldFormat, WriteField as _, view};
use super::flags::{at_least_1, create_folder, of_flag};
use super::parameters::{Parameters, RunProblem};
use super::processor::{DeviceArg, Processor};
use super::stepper::{Chunk, Comparison, Stepper, once};
use super::timesteps::report_comparison;
use exit::{CommandError, Ending};
use output_files::interrupt::OnInterrupt;
use output_files::{OutputFile, OutputPath};
use stats::SamplingRule;
use terminal::progress::Bar;
use terminal::stdout::Out;
use terminal::table::{Align, Columns};
use units::{bytes, bytes_per_s, count, grouped, three};

/// The arguments of `harness run poisson`.
#[derive(Debug, Clone, Args)]
pub struct PoissonArgs {
    #[command(flatten)]
    problem: Parameters<Poisson>,
    /// Stop when an iteration changes no point by more than this, at the latest after --iterations;
    /// exit code 1 if they are too few
    #[arg(long, value_name = "EPS")]
    tolerance: Option<f64>,
    /// Iterations from one look at the change to the next
    #[arg(long, value_name = "N", default_value_t = 10, requires = "tolerance", value_parser = at_least_1())]
    check_every: u32,
    /// What to write of the result
    #[arg(long, value_enum, default_value = "none")]
    output: Output,
    /// Where to write it: the folder of poisson-N.npy or .vti; made if it is not there
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: OutputPath,
    /// Ends the file's name, before the dot: poisson-N-S.npy
    #[arg(long, value_name = "S", requires = "output")]
    suffix: Option<String>,
    /// Cores that the CPU uses [default: all]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    #[command(flatten)]
    pub(super) device: DeviceArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// No file
    None,
    /// NumPy: shape (N, N, N), axes z, y, x
    Npy,
    /// VTK image data, for ParaView
    Vti,
}

impl RunProblem for Poisson {
    fn lab() -> &'static Lab {
        &LAB
    }

    const DEFAULTS: &'static [(&'static str, &'static str)] = &[];
    const OTHERS: &'static [&'static str] = &[];
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

/// Solves the problem.
///
/// # Errors
///
/// Invalid arguments, a path that cannot be written, a device that was named and is missing.
pub fn run(
    args: &PoissonArgs,
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let problem = args.problem.problem()?;
    let stop = args
        .tolerance
        .map(|tolerance| Stop::new(tolerance, args.check_every))
        .transpose()
        .map_err(of_flag)?;
    let processor = args.device.processor(&LAB, &problem, submitted)?;
    processor.compute(out, |processor, to| {
        solve(args, problem, stop.as_ref(), processor, to)
    })
}

/// Solves it, on what the flags name.
fn solve(
    args: &PoissonArgs,
    problem: Poisson,
    stop: Option<&Stop>,
    processor: &Processor,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    if let (Some(_), Some(2..)) = (&stop, processor.device().map(Device::count)) {
        return Err(CommandError::Input(
            "--tolerance: the change is looked at on one GPU; leave out --gpus".to_owned(),
        ));
    }
    let file = if processor.is_first() {
        args.file(problem.n())?
    } else {
        None
    };

    let (file, unfinished) = match file {
        Some((file, format, unfinished)) => (Some((file, format)), Some(unfinished)),
        None => (None, None),
    };
    let mut stepper = Stepper::new(&problem, processor, args.threads)?;
    stepper.reads_results = !args.device.no_check || args.output != Output::None || stop.is_some();
    stepper.warm_up()?;
    let (chunk, convergence) = match stop {
        None => {
            let iterations = problem.iterations();
            (stepper.advance(iterations, Some(&RULE))?, None)
        }
        Some(stop) => {
            let (chunk, convergence) = iterate_until(&problem, stop, &mut stepper)?;
            (Some(chunk), Some(convergence))
        }
    };
    drop(unfinished);
    let written = file.map(|(file, format)| write(file, format, &stepper));
    let title = format!("poisson  {problem}, {}", processor.describe());
    out.line(out.look().title(&out.look().wrapped(&title, 0)))?;
    if let Some(chunk) = chunk {
        let done = problem.clone().with_iterations(chunk.steps);
        out.line(figures(&done, &chunk, processor, out))?;
    }
    let mut ending = Ending::Fine;
    if let Some((text, end)) = convergence {
        out.line(out.look().wrapped(&text, 2))?;
        ending = end;
    }
    if !args.device.no_check && processor.is_first() && processor.device().is_some() {
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

/// Iterates until `stop` says so: what was computed, and in words whether the tolerance was
/// reached.
fn iterate_until(
    problem: &Poisson,
    stop: &Stop,
    stepper: &mut Stepper<'_>,
) -> Result<(Chunk, (String, Ending)), CommandError> {
    let processor = stepper.processor;
    let bar = Bar::new(format!("computing on {}", processor.name));
    let began = Instant::now();
    let end = match processor.device() {
        Some(device) => to_tolerance(device, problem, processor.device_variant(), stop, &bar),
        None => {
            let iterate = || to_tolerance_on_cpu(problem, stop, Cpu::Parallel, &bar);
            stepper.cores.install(iterate)
        }
    };
    let end = end.map_err(|error| stepper.explained(error))?;
    let (tolerance, change) = (stop.tolerance(), end.change);
    let iterations = grouped(end.iterations.into());
    let convergence = if end.reached {
        let text = format!(
            "tolerance {tolerance:e} reached after {iterations} iterations: the last changed u by {change:.3e} at most"
        );
        (text, Ending::Fine)
    } else {
        let text = format!(
            "tolerance {tolerance:e} NOT reached after {iterations} iterations: the last changed u by {change:.3e}; raise --iterations"
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
    replace(&mut stepper.fields, vec![("u".to_owned(), end.u)]);
    Ok((chunk, convergence))
}

/// Times, and rates where they mean something.
fn figures(done: &Poisson, chunk: &Chunk, processor: &Processor, out: &Out<'_>) -> String {
    let t = chunk.times.median_s.max(1e-12);
    let mut table = Columns::new(out.look(), [Align::Left, Align::Right, Align::Left]);
    let samples = count(chunk.times.samples_s.len(), "run");
    let noise = chunk.times.noise.map_or(samples.clone(), |noise| {
        format!("median of {samples}, noise {} %", three(100.0 * noise))
    });
    let seconds = |time: f64| format!("{} s", three(time));
    table.row(["iterations", &seconds(t), &noise]);
    let whole = seconds(chunk.whole.as_secs_f64());
    table.row(["with allocation and transfers", &whole, ""]);
    if !processor.has_speed() {
        let note = "the speed of the emulated device says nothing of a GPU";
        table.row(["rates", "none", note]);
        return table.render(2);
    }
    let usual = bytes_per_s(done.usual_bytes() as f64 / t);
    table.row(["24 K N^3 / t", &usual, "the usual figure, of three arrays"]);
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

impl PoissonArgs {
    /// Prepares the file that the flags name, and its folder; `None` if they name none.
    fn file(&self, n: u32) -> Result<Option<(OutputFile, FieldFormat, OnInterrupt)>, CommandError> {
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
        let name = format!("poisson-{n}{suffix}.{}", format.extension());
        let target = self.out.join(name);
        // Before the name is claimed: an interruption after that is told.
        let unfinished = tell_unfinished(target.display().to_string());
        let file = OutputFile::create("--out", &target)?;
        Ok(Some((file, format, unfinished)))
    }
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
    let u = find(&solved.fields, "u");
    let u = u.ok_or_else(|| CommandError::Bug("the solution has no field u".to_owned()))?;
    let lattice = view(solved.problem)?.lattice;
    lattice
        .write(format, file.writer(), u)
        .map_err(|error| CommandError::not_written(file.target(), &error))?;
    drop(bar);
    let path = file.finish()?;
    let size = std::fs::metadata(&path).map_or(0, |data| data.len());
    Ok(format!("{} ({})", path.display(), bytes(size)))
}

#[cfg(test)]
mod tests;
