//! `harness perf`: the time of every variant, beside the CPU, the device's limits, and peers in
//! other languages.
//!
//! | module         | what it holds                                                    |
//! |----------------|------------------------------------------------------------------|
//! | `settings`     | how long is measured, and how well                               |
//! | `probe`        | the device's limits and telemetry, before anything is timed      |
//! | `bench`        | all rows of a case: the CPU's, a device's, and their speedups     |
//! | `gpus`         | `--gpus`: the number of devices as one more axis of rows          |
//! | `timed_run`    | a run that is timed, ours or a peer's                            |
//! | `interleaved`, `watch` | a device's runs, timed in turns; its clocks              |
//! | `estimate`     | how long the rest will take                                      |
//! | `stopwatch`    | where the wall time goes                                         |
//! | `room`         | memory that there is                                             |
//! | `reporters`    | the events of a measurement, and their consumers                 |
//! | `bound`        | the roofline                                                     |
//! | `counters`     | what kernels do, counted on the emulated device                  |
//!
//! The document, and what is said of it, is crate [`results`].
//!
//! The method and its sources are in `docs/measure/method.md`.

mod bench;
pub(crate) mod bound;
pub(crate) mod counters;
pub(crate) mod estimate;
pub(crate) mod gpus;
pub(crate) mod interleaved;
mod own_limit;
pub(crate) mod probe;
pub(crate) mod reporters;
mod room;
pub(crate) mod settings;
pub(crate) mod stopwatch;
#[cfg(test)]
mod tests;
pub(crate) mod timed_run;
pub(crate) mod watch;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use clap::Args;
use device::Sanitize;
use exit::{CommandError, Ending};
use host::labs;
use lab::{Lab, LabCase, Variant};
use output_files::OutputPath;
use select::catalogue::{self, OfLab, SubmissionArg, Submitted};
use select::choice;
use select::devices::{Chosen, Machine, Wanted};
use terminal::json::JsonArg;
use terminal::stdout::Out;

use crate::register_cap::RegisterCap;
pub(crate) use bench::times_as_long;
use bench::{Bench, CheckArg, On, References};
use estimate::Estimate;
use probe::{Probe, Real};
use reporters::{Event, Outputs, PageOf, Reporters};
use results::spent::{Phase, Spent};
use results::{DeviceRecord, Reference, Results, compare};
use settings::{ENERGY, Settings};
use stopwatch::Stopwatch;
use timed_run::Peers;
use watch::Watch;

use crate::peer;
use device::cpu::CpuInfo;
use select::tuned::Table;

/// The arguments of `harness perf`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = HELP)]
pub struct PerfArgs {
    /// Only this lab
    pub lab: Option<String>,
    /// Time the GPU on the large case; the CPU stays with the small one, and is compared by its
    /// rate
    #[arg(long)]
    pub(crate) large: bool,
    /// A case of your own: a parameter of the lab; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "lab")]
    pub(crate) param: Vec<String>,
    /// Only this variant; may be repeated [default: all but those that `list` calls on request]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) variant: Vec<String>,
    /// Solutions beside the built-in ones.
    #[command(flatten)]
    pub own: SubmissionArg,
    /// Also time each variant with a register limit per thread: `none`, or a number; on a GPU
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    registers: Vec<Registers>,
    /// Only on this device: cpu, cuda, cuda:N; may be repeated [default: all there are]
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    pub(crate) device: Vec<Wanted>,
    /// Time one lab on each of these numbers of GPUs, as in 1,2,4: how it scales; `--device
    /// emulated` compares results alone
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64),
          requires = "lab", conflicts_with_all = ["registers", "peers", "check", "notes"])]
    pub(crate) gpus: Vec<u32>,
    /// With --gpus: let the size grow with the number of GPUs
    #[arg(long, requires = "gpus")]
    pub(crate) weak: bool,
    /// Number of samples [default: until the interval is narrow enough]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    samples: Option<u32>,
    /// Take a first look: seconds for each lab, within wider bounds
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also count the energy of each row's runs, for 3 s
    #[arg(long)]
    energy: bool,
    /// Also time CUDA C++ and Python versions of the kernels, where they can be built, in turns
    /// with ours
    #[arg(long)]
    peers: bool,
    /// How much of the timed runs' results is compared with the CPU's
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    check: CheckArg,
    /// Also print what each figure rests on: the rows of peers, doubts, clocks, energy, kernels
    #[arg(long)]
    pub(crate) notes: bool,
    /// Also compare with results of the same GPU, as `harness compare FILE` does: exit with 1 if a
    /// row is slower
    #[arg(long, value_name = "FILE", conflicts_with = "gpus")]
    against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
    /// Also write the page that `harness report` makes of the JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<OutputPath>,
}

const HELP: &str = "\
Columns, in a row for each variant; of several sizes, in a row for each size, with the rate of every
variant and what else is known of the fastest:
  time        median of single runs, the device's cache flushed before each; of one timestep where
              the case has timesteps
  ±           half of the 95 % confidence interval, to which the head adds what other runs differ
              by; of a ratio, turn by turn, or from the intervals of both
  batched     the time of runs back to back, as a CUDA graph where there is one
  rate        useful work in a second, in the unit that stands above the table
  GB/s        required bytes / time
  of limit    least time that the device's measured limits allow / time
  own limit   least time that the multiprocessors need for the variant's own instructions / time,
              and the unit that is busy longest: L1 (and shared memory), issue, FP32, FP64
  vs NAME     time of the lab's first variant / time
  vs CPU      rate / rate of the parallel CPU reference, which stands above the table
  vs CUDA C++ CUDA C++ time / this time: above 1, ours is faster; of several builds, the fastest
              counts
  result      `bit-equal` to the CPU's result; `bit-equal 340+40`: over the first 340 and last 40
              steps
  *           the fastest variant of a device with a right result, and those that cannot be told
              from it
  withheld    impossible, or of a device that was throttled throughout, as a note says; it is
              compared with nothing
With --registers 80,60, for each kernel:
  registers   of a thread, as the device's compiler allocated them
  spilled     bytes that instructions of the kernel store to and load from local memory for want of
              registers; - where the driver had compiled it before and does not tell
  stack       bytes of local memory of a thread, which hold them, and arrays
  vs no cap   time of the variant without a cap / time
With --notes, for each size:
  > LANGUAGE  the variant above it, written in that language
  local bytes what a thread keeps in local memory: spilled registers, arrays
  lines       of code in the file with the variant's kernels
  blocks/SM   blocks that a multiprocessor holds at once
  occupancy   share of its threads that they fill: theoretical, from the driver
  sectors     pieces of 32 bytes that warps touch, counted on a small case
  coalesced   sectors that the same bytes would need at best / sectors
Without a GPU, for each variant, counted by the emulated device on the case with fewer timesteps:
  instructions   PTX instructions that threads execute, for each update
  active lanes   threads that take part in an instruction of their warp
  sectors        pieces of 32 bytes that warps touch, for each update

All labs take half a minute. With --large they take two and a half minutes on an H100 with 16
cores, 45 s of which are wave3d's. --quick takes seconds, --peers twice as long, and --check full
as long as the CPU needs, which is minutes for one large size.

--json=FILE has what is finished at every moment; Ctrl-C and SIGTERM leave it in --html too.
docs/measure/method.md has the method.";

/// Times the labs; with `--gpus`, one lab on more and more GPUs.
///
/// # Errors
///
/// Arguments that make no sense, or a named device that is missing. A wrong result is not an error:
/// the report has it.
pub fn run(
    args: &PerfArgs,
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    if !args.gpus.is_empty() {
        return gpus::run(args, submitted, out);
    }
    if args.device.contains(&Wanted::EMULATED) {
        if !args.registers.is_empty() {
            return Err(CommandError::Input(
                "--registers needs a GPU, whose compiler allocates registers; the emulated device has as many as a kernel names"
                    .to_owned(),
            ));
        }
        return Err(CommandError::Input(
            "--device emulated: the speed of the emulated device says nothing about a GPU; try `harness test --device emulated`"
                .to_owned(),
        ));
    }
    // The emulated device is never timed, so never looked for.
    let wanted = match &args.device[..] {
        [] => &[Wanted::CUDA],
        named => named,
    };
    let machine = Machine::discover(wanted, Sanitize::NONE);
    let peers = if args.peers {
        peer::find(&machine)
    } else {
        Peers::default()
    };
    let tuned = Table::in_force(labs())?;
    let environment = Environment {
        labs: labs(),
        submitted,
        tuned: &tuned,
        machine: &machine,
        peers: &peers,
        probe: &Real,
        page: results::report::of,
    };
    run_in(&environment, args, out)
}

/// The labs that can be timed, and the devices for it.
struct Environment<'p> {
    labs: &'p [&'static Lab],
    submitted: Submitted,
    machine: &'p Machine,
    peers: &'p Peers,
    /// The shapes that are best.
    tuned: &'p Table,
    probe: &'p dyn Probe,
    page: PageOf,
}

fn run_in(
    environment: &Environment<'_>,
    args: &PerfArgs,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let began = Instant::now();
    catalogue::needs_device(&args.device, &args.variant, &args.own)?;
    let chosen = environment.machine.choose(&args.device)?;
    let mut benches = benches(environment, args, &chosen)?;
    let baseline = args.against.as_deref();
    let baseline = baseline
        .map(|path| Baseline::read(path, &chosen))
        .transpose()?;
    let outputs = Outputs::open(&args.json, args.html.as_deref(), environment.page)?;
    let (devices, results) = probed(environment, args, &chosen);
    let mut reporters = Reporters::begin(results, outputs, began, args.notes, out)?;
    let mut estimate = Estimate::of_benches(&benches, &devices);
    for lab in benches.chunk_by_mut(|a, b| a.lab.name == b.lab.name) {
        measure(
            lab,
            args.large,
            &chosen,
            &devices,
            &mut estimate,
            &mut reporters,
        )?;
    }
    if benches.iter().all(|bench| bench.variants.is_empty()) {
        reporters.remark(NO_VARIANTS)?;
    }
    say_outdated(environment.tuned, &benches, &devices, &mut reporters)?;
    let Some(baseline) = baseline else {
        return reporters.finish();
    };
    let (measured, has_text) = (reporters.results()?, reporters.has_text());
    let ending = reporters.finish()?;
    let out = has_text.then_some(out);
    let compared = compare::against((&baseline.results, baseline.path), &measured, out)?;
    Ok(if ending == Ending::Fine {
        compared
    } else {
        ending
    })
}

/// Says which shapes were tuned with other kernels than those that were timed.
fn say_outdated(
    tuned: &Table,
    benches: &[Bench<'_>],
    devices: &[(DeviceRecord, Watch)],
    reporters: &mut Reporters<'_, '_>,
) -> Result<(), CommandError> {
    let mut labs: Vec<&'static Lab> = benches.iter().map(|bench| bench.lab).collect();
    labs.dedup_by_key(|lab| lab.name);
    for (record, _) in devices {
        for outdated in tuned.outdated(&labs, &record.info) {
            reporters.remark(&outdated.to_string())?;
        }
    }
    Ok(())
}

/// Earlier results, which these are compared with.
struct Baseline<'p> {
    path: &'p Path,
    results: Results,
}

impl<'p> Baseline<'p> {
    /// Reads a file before anything is timed. Times of another GPU would say nothing of a change.
    fn read(path: &'p Path, chosen: &Chosen<'_>) -> Result<Baseline<'p>, CommandError> {
        let results = Results::read(path).map_err(|failure| failure.context("--against"))?;
        for named in &chosen.devices {
            let (device, own) = (named.name.to_string(), &named.device.info().name);
            let mut known = results
                .devices
                .iter()
                .filter(|known| known.device == device);
            if let Some(other) = known.find(|known| known.info.name != *own) {
                return Err(CommandError::Input(format!(
                    "--against {}: has times of {}, and {device} is {own}; name results of {own}, as `perf --json=FILE` \
                     writes them",
                    path.display(),
                    other.info.name
                )));
            }
        }
        Ok(Baseline { path, results })
    }
}

const NO_VARIANTS: &str = "this copy of the course has no built-in variants: there is nothing to time but the CPU; on a GPU \
     `harness perf LAB --submission labs/LAB/starter` times yours";

/// The bench of every case, before anything is timed: what makes no sense is known at once.
fn benches<'b>(
    environment: &Environment<'b>,
    args: &PerfArgs,
    chosen: &Chosen<'_>,
) -> Result<Vec<Bench<'b>>, CommandError> {
    let labs = catalogue::select(environment.labs, args.lab.as_deref())?;
    let labs = choice::measured(&labs, &args.variant, environment.submitted)?;
    let params = catalogue::params(&args.param)?;
    let caps = caps(&args.registers, chosen)?;
    let mut benches = Vec::new();
    for OfLab { lab, variants } in labs {
        let cases = match &params {
            Some(params) => vec![catalogue::own_case(lab, params)?],
            None if args.large => lab.large_cases(),
            None => lab.laptop_cases(),
        };
        let peers: Vec<_> = environment
            .peers
            .found
            .iter()
            .map(AsRef::as_ref)
            .filter(|peer| peer.about().lab == lab.name)
            .collect();
        benches.extend(cases.into_iter().map(|case| Bench {
            lab,
            variants: with_winners(lab, &variants, case.as_ref(), args),
            caps: caps.clone(),
            peers: peers.clone(),
            tuned: environment.tuned,
            case,
            gpus: Vec::new(),
            settings: args.settings(),
            check: args.check,
            progress: String::new(),
        }));
    }
    Ok(benches)
}

/// The variants of a case: those of all cases, and unless some are named those on request that win
/// this one.
fn with_winners(
    lab: &'static Lab,
    variants: &[&'static Variant],
    case: &dyn LabCase,
    args: &PerfArgs,
) -> Vec<&'static Variant> {
    let winners = choice::winners_on_request(lab, case).filter(|_| args.variant.is_empty());
    variants.iter().copied().chain(winners).collect()
}

/// The chosen devices with their limits, and results that have nothing else yet.
fn probed(
    environment: &Environment<'_>,
    args: &PerfArgs,
    chosen: &Chosen<'_>,
) -> (Vec<(DeviceRecord, Watch)>, Results) {
    let mut missing = environment.peers.missing.clone();
    let absent = chosen.absent.iter();
    missing.extend(absent.map(|absent| format!("{}: {}", absent.name, absent.reason)));
    let stopwatch = Stopwatch::default();
    let devices = stopwatch.time(Phase::Limits, || {
        probe::records(chosen, environment.probe, &mut missing)
    });
    let records = devices.iter().map(|(record, _)| record.clone()).collect();
    let cpu = chosen.cpu.then(CpuInfo::read);
    let results = Results {
        spent: vec![Spent {
            lab: None,
            seconds: stopwatch.seconds(),
        }],
        ..Results::begun(args.quick, cpu, records, missing)
    };
    (devices, results)
}

/// Times all cases of a lab.
fn measure(
    benches: &mut [Bench<'_>],
    is_large: bool,
    chosen: &Chosen<'_>,
    devices: &[(DeviceRecord, Watch)],
    estimate: &mut Estimate,
    reporters: &mut Reporters<'_, '_>,
) -> Result<(), CommandError> {
    let (lab, stopwatch) = (benches[0].lab, Stopwatch::default());
    stopwatch.time(Phase::Rest, || -> Result<(), CommandError> {
        benches[0].progress = estimate.progress(lab, benches[0].case.as_ref());
        let references = references(&benches[0], is_large, chosen, &stopwatch)?;
        if let Some(timed) = &references {
            let rows = timed.rows.iter().cloned().map(|row| Reference {
                lab: lab.name.to_owned(),
                row,
            });
            reporters.tell(Event::References(rows.collect()))?;
            reporters.tell(Event::Measured(benches[0].empty()))?;
        }
        let on = On {
            chosen,
            devices,
            references: references.as_ref(),
            stopwatch: &stopwatch,
        };
        for (index, bench) in benches.iter_mut().enumerate() {
            bench.progress = estimate.progress(lab, bench.case.as_ref());
            bench.run(on, index == 0, reporters)?;
            estimate.case_done();
        }
        Ok(())
    })?;
    reporters.tell(Event::LabDone(Spent {
        lab: Some(lab.name.to_owned()),
        seconds: stopwatch.seconds(),
    }))
}

/// The CPU is timed once a lab, while nothing else runs: on the GPU's own case if that is not a
/// large one.
fn references(
    bench: &Bench<'_>,
    is_large: bool,
    chosen: &Chosen<'_>,
    stopwatch: &Stopwatch,
) -> Result<Option<References>, CommandError> {
    if !chosen.cpu {
        return Ok(None);
    }
    let small = || bench.lab.laptop_cases().into_iter().next();
    let small = is_large.then(small).flatten();
    let case = small.as_ref().unwrap_or(&bench.case);
    stopwatch.time(Phase::References, || {
        bench.references(case.as_ref()).map(Some)
    })
}

/// A value of `--registers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Registers {
    /// No cap.
    Any,
    AtMost(RegisterCap),
}

impl FromStr for Registers {
    type Err = String;

    fn from_str(text: &str) -> Result<Registers, String> {
        match text {
            "none" => Ok(Registers::Any),
            _ => text
                .parse()
                .map(Registers::AtMost)
                .map_err(|error| format!("{error}; `none` is without a cap")),
        }
    }
}

/// The caps, each once, from the highest. Variants are timed without one in any case.
fn caps(wanted: &[Registers], chosen: &Chosen<'_>) -> Result<Vec<RegisterCap>, CommandError> {
    if !wanted.is_empty() && chosen.devices.is_empty() {
        let reasons = chosen.absent.iter().map(|absent| absent.reason.as_str());
        let reason = reasons.chain(["none was asked for with --device"]).next();
        return Err(CommandError::Environment(format!(
            "--registers needs a GPU, whose compiler allocates registers: {}",
            reason.unwrap_or_default()
        )));
    }
    let caps: BTreeSet<RegisterCap> = wanted
        .iter()
        .filter_map(|wanted| match wanted {
            Registers::Any => None,
            Registers::AtMost(cap) => Some(*cap),
        })
        .collect();
    Ok(caps.into_iter().rev().collect())
}

impl PerfArgs {
    pub(crate) fn settings(&self) -> Settings {
        let settings = if self.quick {
            Settings::quick()
        } else {
            Settings::usual()
        };
        let settings = Settings {
            energy: self.energy.then_some(ENERGY),
            ..settings
        };
        match self.samples {
            Some(samples) => settings.with_samples(samples as usize),
            None => settings,
        }
    }
}
