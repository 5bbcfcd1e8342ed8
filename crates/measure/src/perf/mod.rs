//! `harness perf`: how long every variant takes, beside the CPU, the device's limits, and peers in other languages.
//!
//! | module         | what it holds                                                    |
//! |----------------|------------------------------------------------------------------|
//! | `results`      | the document that `--json` writes                                |
//! | `contender`    | what is timed, ours or a peer                                    |
//! | `bound`        | the roofline                                                     |
//! | `settings`     | how long is measured, and how well                               |
//! | `probe`        | what is asked of a device before anything is timed               |
//! | `turns`, `watch` | a device's runs, timed in turns; its clocks                    |
//! | `bench`        | all rows of a case: the CPU's, a device's, and how they compare   |
//! | `agenda`       | how far a measurement is, and how long it will take              |
//! | `counted`      | what kernels do, counted on the emulated device                  |
//! | `kernels`      | that, and what the device made of them, as a table               |
//! | `compared`     | figures that compare rows: said only of results                  |
//! | `report`       | tables                                                           |
//! | `partial_results` | results so far, for those that a signal ends                  |
//!
//! The method and its sources are in `docs/measuring.md`.

mod agenda;
mod bench;
pub(crate) mod bound;
pub(crate) mod compared;
pub(crate) mod contender;
pub(crate) mod counted;
pub(crate) mod kernels;
mod partial_results;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
pub(crate) mod turns;
pub(crate) mod watch;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use device::Sanitize;
use device::registers::RegisterCap;
use host::{Lab, labs};
use stats::BETWEEN_RUNS;

use crate::cpu::CpuInfo;
use crate::tune::Table;
use crate::{peer, scaling};
use agenda::Agenda;
pub(crate) use bench::times_as_long;
use bench::{Bench, CheckArg};
use contender::Peers;
use exit::{CommandError, Ending};
use host::catalogue;
use host::devices::{Chosen, Machine, Wanted};
use output_files::OutputDocument;
use partial_results::{PartialResults, State};
use probe::{Probe, Real};
use results::{CaseResults, Results, SCHEMA_VERSION};
use settings::Settings;
use terminal::json::JsonArg;
use terminal::look::wrapped;
use terminal::stdout::Out;

/// The arguments of `harness perf`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = HELP)]
pub struct PerfArgs {
    /// Only this lab
    pub(crate) lab: Option<String>,
    /// Time the GPU on the large case; the CPU stays with the small one, and is compared by its rate
    #[arg(long)]
    pub(crate) large: bool,
    /// A case of your own: a parameter of the lab; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "lab")]
    pub(crate) param: Vec<String>,
    /// Only this variant; may be repeated [default: all but those that `list` calls on request]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) variant: Vec<String>,
    /// Also time each variant with its kernels kept to so many registers: none, 80 or more; on a GPU
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    registers: Vec<Registers>,
    /// Only on this device: cpu, cuda, cuda:N; may be repeated [default: all there are]
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    pub(crate) device: Vec<Wanted>,
    /// Time one lab on so many GPUs, one number after the other, as in 1,2,4: how it scales; `--device emulated` compares results alone
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64),
          requires = "lab", conflicts_with_all = ["registers", "peers", "check", "notes"])]
    pub(crate) gpus: Vec<u32>,
    /// With --gpus: let the size grow with the number of GPUs
    #[arg(long, requires = "gpus")]
    pub(crate) weak: bool,
    /// Take exactly so many samples [default: until they agree]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    samples: Option<u32>,
    /// Take a first look: seconds for each lab, within wider bounds, without energy
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also time CUDA C++ and Python versions of the kernels, where they can be built, in turns with ours
    #[arg(long)]
    peers: bool,
    /// How much of the timed runs' results is compared with the CPU's
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    check: CheckArg,
    /// Also print what each figure rests on: the rows of peers, doubts, clocks, energy, kernels
    #[arg(long)]
    notes: bool,
    #[command(flatten)]
    pub(crate) json: JsonArg,
    /// Also write the page that `harness report` makes of the JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

const HELP: &str = "\
Columns, in a row for each variant; of several sizes, in a row for each size, with the rate of every
variant and what else is known of the fastest:
  time        median of single runs, the device's cache flushed before each; of one timestep where
              the case has timesteps
  noise       half of the 95 % confidence interval of that median, to which the head adds what
              other runs differ by
  batched     the time of runs back to back, as a CUDA graph where there is one
  rate        useful work in a second, in the unit that stands above the table
  GB/s        bytes that the variant must move, by the time
  of limit    the least time that the device's measured limits allow, by the time
  vs NAME     time of the lab's first variant by the time
  vs CPU      rate over that of the parallel CPU reference, which stands above the table
  vs CUDA C++ time of the variant in CUDA C++ by the time: above 1, ours is faster; of several
              builds, the fastest counts
  result      `bit-equal` to the CPU's result; `bit-equal 340+40`: over so many first and last steps
  *           the fastest variant of a device with a right result
  ~, noisy    no result, for the reason that a note names; it is compared with nothing
With --registers 80,60, for each kernel:
  registers   of a thread, as the device's compiler allocated them
  spilled     bytes that instructions of the kernel store to and load from local memory for want of
              registers; - where the driver had compiled it before and does not tell
  stack       bytes of local memory of a thread, which hold them, and arrays
  vs no cap   time of the variant without a cap by the time
With --notes, for each size:
  > LANGUAGE  the variant above it, written in that language
  local bytes what a thread keeps in local memory: spilled registers, arrays
  lines       of code of the variant's kernels, neither empty nor a comment
  blocks/SM   blocks that a multiprocessor holds at once
  occupancy   share of its threads that they fill: theoretical, from the driver
  sectors     pieces of 32 bytes that warps touch, counted on a small case
  coalesced   sectors that the same bytes would need at best, by sectors

All labs take about a minute, and with --large 281 s on an H100 with 16 cores: wave2d 15, wave3d 70,
stencil25 95, poisson 60, matadd 25, membench 12. --quick takes seconds; --peers twice as long;
--check full as long as the CPU needs, which is minutes for one large size.

Without a GPU, instructions and sectors are counted in place of times. --json=FILE has what is
finished at every moment; Ctrl-C and SIGTERM leave it in --html too. docs/measuring.md has the
method.";

/// How results look as a page.
pub(crate) type PageOf = fn(&Results) -> String;

/// Times the labs; with `--gpus`, one lab on more and more GPUs.
///
/// # Errors
///
/// Arguments that make no sense, or a named device that is missing. A wrong result is not an error: the report has it.
pub fn run(args: &PerfArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    if !args.gpus.is_empty() {
        return scaling::run(args, out);
    }
    if args.device.contains(&Wanted::Emulated) {
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
        [] => &[Wanted::Cuda(0)],
        named => named,
    };
    let machine = Machine::discover(wanted, Sanitize::NONE);
    let peers = match args.peers {
        true => peer::find(&machine),
        false => Peers::default(),
    };
    let tuned = Table::in_force()?;
    let environment = Environment {
        labs: labs(),
        tuned: &tuned,
        machine: &machine,
        peers: &peers,
        probe: &Real,
        page: crate::report::of_perf,
    };
    run_in(&environment, args, out)
}

/// What can be timed, and on what.
struct Environment<'p> {
    labs: &'p [&'p dyn Lab],
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
    let labs = catalogue::select(environment.labs, args.lab.as_deref())?;
    let labs = catalogue::measured(&labs, &args.variant)?;
    let params = catalogue::params(&args.param)?;
    let chosen = environment.machine.choose(&args.device)?;
    let caps = caps(&args.registers, &chosen)?;
    let json = args.json.open()?;
    let html = args.html.as_deref();
    let html = html.map(|path| OutputDocument::create("--html", path));
    let html = html.transpose()?;

    // Every case is made before anything is timed: what makes no sense is known at once.
    let mut benches = Vec::new();
    for (lab, variants) in labs {
        let cases = match &params {
            Some(params) => vec![catalogue::own_case(lab, params)?],
            None if args.large => lab.large_cases(),
            None => lab.laptop_cases(),
        };
        let peers = environment.peers.found.iter().map(AsRef::as_ref);
        let peers: Vec<_> = peers
            .filter(|peer| peer.about().lab == lab.name())
            .collect();
        benches.extend(cases.into_iter().map(|case| Bench {
            lab,
            variants: variants.clone(),
            caps: caps.clone(),
            peers: peers.clone(),
            tuned: environment.tuned,
            case,
            settings: args.settings(),
            check: args.check,
            place: String::new(),
        }));
    }

    let mut missing = environment.peers.missing.clone();
    let absent = chosen.absent.iter();
    missing.extend(absent.map(|absent| format!("{}: {}", absent.name, absent.reason)));
    let devices = probe::records(&chosen, environment.probe, &mut missing);
    let wants_text = json.wants_text();
    let has_no_variants = benches.iter().all(|bench| bench.variants.is_empty());
    let results = Results {
        schema_version: SCHEMA_VERSION,
        command: "perf".to_owned(),
        harness_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args().collect(),
        began_unix_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs()),
        wall_s: 0.0,
        interrupted: false,
        quick: args.quick,
        between_runs: BETWEEN_RUNS,
        cpu: chosen.cpu.then(CpuInfo::read),
        devices: devices.iter().map(|(record, _)| record.clone()).collect(),
        missing,
        cases: Vec::new(),
    };
    if wants_text {
        out.line(probe::render(&results, out.look()))?;
    }
    let so_far = PartialResults::new(State {
        results,
        json,
        html,
        page: environment.page,
        began,
    });
    let mut agenda = Agenda::new(&benches, &devices);
    for benches in benches.chunk_by_mut(|a, b| a.lab.name() == b.lab.name()) {
        let lab = benches[0].lab;
        benches[0].place = agenda.place(&benches[0]);
        // The CPU is timed once a lab, while nothing else runs: the GPU's own case if that is not a large one.
        let small = || lab.laptop_cases().into_iter().next();
        let small = args.large.then(small).flatten();
        let mut references = None;
        if chosen.cpu {
            let case = small.as_ref().unwrap_or(&benches[0].case);
            let timed = benches[0].references(case.as_ref())?;
            let mut first = benches[0].empty();
            first.rows.clone_from(&timed.rows);
            so_far.tell(&first);
            references = Some(timed);
        }
        let mut cases = Vec::new();
        for bench in benches {
            bench.place = agenda.place(bench);
            let with_references = |mut case: CaseResults| {
                if cases.is_empty() {
                    let rows = references.iter().flat_map(|timed| timed.rows.clone());
                    case.rows.splice(..0, rows);
                }
                so_far.tell(&case);
                case
            };
            let tell = |case: &CaseResults| drop(with_references(case.clone()));
            let case = bench.run(&chosen, &devices, references.as_ref(), began, &tell)?;
            let case = with_references(case);
            cases.push(case);
            agenda.next();
        }
        if wants_text {
            out.line(report::render_lab(&cases, args.notes, out.look()))?;
        }
    }
    if wants_text && has_no_variants {
        let reason = "this copy of the course has no built-in variants: there is nothing to time but the CPU; on a GPU \
             `harness grade labs/LAB/starter` times yours";
        out.line(wrapped(reason, 0))?;
    }
    so_far.finish(out)
}

/// What `--registers` names.
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
    let caps = wanted.iter().filter_map(|wanted| match wanted {
        Registers::Any => None,
        Registers::AtMost(cap) => Some(*cap),
    });
    let caps: BTreeSet<RegisterCap> = caps.collect();
    Ok(caps.into_iter().rev().collect())
}

impl PerfArgs {
    pub(crate) fn settings(&self) -> Settings {
        let settings = if self.quick {
            Settings::quick()
        } else {
            Settings::usual()
        };
        match self.samples {
            Some(samples) => settings.with_samples(samples as usize),
            None => settings,
        }
    }
}
