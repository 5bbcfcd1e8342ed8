//! `harness run poisson`.

mod compute;
mod file;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use host::device::Sanitize;
use host::lab::largest_extent;
use host::poisson::{LAB, Poisson, Start, Stop};
use host::{Case, Cpu, HostBuffer};

use super::flags::{at_least_1, of_flag};
use super::place::{Place, explained};
use crate::catalogue::variant_of_run;
use crate::devices::{Machine, Wanted};
use crate::failure::{Ending, Failure};
use crate::out::Out;
use crate::progress::Bar;
use crate::table::{Align, Columns, Tone};
use crate::units::{bytes, bytes_per_s, count, grouped, three};
use compute::Computed;
use file::FieldFile;

/// What `harness run poisson` is told.
#[derive(Debug, Clone, Args)]
pub struct PoissonArgs {
    /// Points along each axis, walls included
    #[arg(long, value_name = "N", default_value_t = 128)]
    n: u32,
    /// Jacobi iterations; with --tolerance, the most
    #[arg(long, value_name = "K", default_value_t = 1000, value_parser = at_least_1())]
    iterations: u32,
    /// Start value inside the walls
    #[arg(
        long,
        value_name = "T0",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    t0: f64,
    /// Which variant, unless it is computed on the CPU; `harness list poisson` has the names
    #[arg(long, value_name = "NAME", default_value = "computes_source")]
    variant: String,
    /// Stop when an iteration changes no point by more than this; exit code 1 if --iterations are too few
    #[arg(long, value_name = "EPS", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Iterations from one look at the change to the next
    #[arg(long, value_name = "N", default_value_t = 10, requires = "tolerance", value_parser = at_least_1())]
    check_every: u32,
    /// What to write of the result
    #[arg(long, value_enum, default_value = "none")]
    output: Output,
    /// Where to write it: the folder of poisson-N.npy or .vti; made if it is not there
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Ends the file's name, before the dot: poisson-N-S.npy
    #[arg(long, value_name = "S")]
    suffix: Option<String>,
    /// Cores that the CPU uses [default: all]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Where to compute: cpu, cuda, cuda:N, emulated [default: cuda if there is one, else cpu]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Wanted>,
    /// Do not compare the result with the CPU's
    #[arg(long)]
    no_check: bool,
}

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// No file
    None,
    /// NumPy: shape (N, N, N), axes z, y, x
    Npy,
    /// VTK image data, for ParaView
    Vti,
}

/// Solves the problem.
///
/// # Errors
///
/// What makes no sense, a path that cannot be written, a device that is asked for and not there.
pub fn run(args: &PoissonArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    let machine = Machine::discover(&[Place::wanted(args.device)], Sanitize::NONE);
    run_on(args, &machine, out)
}

fn run_on(args: &PoissonArgs, machine: &Machine, out: &mut Out<'_>) -> Result<Ending, Failure> {
    let (variant, device) = variant_of_run(&LAB, &args.variant, args.device)?;
    let problem = Poisson::new(args.n, args.iterations)
        .and_then(|problem| problem.with_start(Start::Uniform(args.t0)))
        .map_err(of_flag)?;
    let stop = match args.tolerance {
        Some(tolerance) => Some(Stop::new(tolerance, args.check_every).map_err(of_flag)?),
        None => None,
    };
    let cores = compute::cores(args.threads)?;
    let place = Place::choose(device, machine)?;
    let file = FieldFile::create(args)?;

    let computed = match place {
        Place::Cpu => cores.install(|| compute::on_cpu(&problem, stop.as_ref())),
        Place::Device(named) => compute::on_device(named, &problem, variant, stop.as_ref()),
    };
    let lacking = |error| {
        explained(error, |free_bytes| {
            let n = largest_extent::<Poisson>(variant, free_bytes)?;
            Some(format!("--n {n} at most"))
        })
    };
    let computed = computed.map_err(lacking)?;
    let title = format!("poisson  {problem}, {}", place.describe(variant));
    out.line(out.look().title(&title))?;
    let done = problem.clone().with_iterations(computed.iterations);
    out.line(figures(&done, variant, &computed, place, out))?;

    let mut ending = Ending::Fine;
    if let Some(convergence) = computed.convergence(stop.as_ref()) {
        out.line(format!("  {convergence}"))?;
    }
    if matches!(computed.end, Some((_, false))) {
        ending = Ending::Wrong;
    }
    if !args.no_check && matches!(place, Place::Device(_)) {
        let bar = Bar::new("the same on the CPU");
        let expected = cores.install(|| done.reference(Cpu::Parallel, &bar));
        let expected = expected.map_err(lacking)?;
        drop(bar);
        let different = differences(&expected[0].1, &computed.u)?;
        let of = grouped(done.points() as u64);
        let line = format!(
            "  {} of {of} values differ from the CPU's",
            grouped(different)
        );
        if different == 0 {
            out.line(line)?;
        } else {
            out.line(out.look().bad(&line))?;
            ending = Ending::Wrong;
        }
    }
    if let Some(file) = file {
        let path = file.write(&done, computed.u.as_slice().map_err(host::Error::from)?)?;
        out.line(format!("  wrote {path}"))?;
    }
    Ok(ending)
}

/// How many values differ in any bit.
fn differences(expected: &HostBuffer, got: &HostBuffer) -> Result<u64, Failure> {
    let values = |buffer| HostBuffer::as_slice::<f64>(buffer).map_err(host::Error::from);
    let (expected, got) = (values(expected)?, values(got)?);
    assert_eq!(expected.len(), got.len(), "fields of one problem");
    let differs = |(a, b): &(&f64, &f64)| a.to_bits() != b.to_bits();
    Ok(expected.iter().zip(got).filter(differs).count() as u64)
}

/// Times, and rates where they mean something.
fn figures(
    done: &Poisson,
    variant: &str,
    computed: &Computed,
    place: Place<'_>,
    out: &Out<'_>,
) -> String {
    let t = computed.times.median_s.max(1e-12);
    let mut table = Columns::new(out.look(), [Align::Left, Align::Right, Align::Left]);
    let mut row = |name: &str, value: String, note: String| {
        let cells = [name.to_owned(), value, note];
        table.row(cells.map(|cell| (cell, Tone::Normal)));
    };
    let samples = count(computed.times.samples_s.len(), "run");
    let noise = computed.times.noise.map_or(samples.clone(), |noise| {
        format!("median of {samples}, noise {} %", three(100.0 * noise))
    });
    row("iterations", format!("{} s", three(t)), noise);
    row(
        "with allocation and transfers",
        format!("{} s", three(computed.whole.as_secs_f64())),
        String::new(),
    );
    if place.has_speed() {
        let work = done.work(variant);
        row(
            "24 K N^3 / t",
            bytes_per_s(done.usual_bytes() as f64 / t),
            "the usual figure, of three arrays".to_owned(),
        );
        if matches!(place, Place::Device(_)) {
            row(
                "really moved",
                bytes_per_s(work.bytes as f64 / t),
                format!("{}, what this variant cannot avoid", bytes(work.bytes)),
            );
        }
        row(
            work.unit,
            format!("{:.3e} /s", work.updates as f64 / t),
            String::new(),
        );
    } else {
        row(
            "rates",
            "none".to_owned(),
            "the speed of the emulated device says nothing of a GPU".to_owned(),
        );
    }
    table.render(2)
}

#[cfg(test)]
mod tests;
