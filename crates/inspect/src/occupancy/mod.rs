//! `harness occupancy`: how many blocks a multiprocessor holds, what limits them, and whether that
//! hides a latency.

mod report;
#[cfg(test)]
mod tests;

use clap::Args;
use device::Sanitize;
use lab::occupancy::{BlockNeeds, Gpu, OccupancyError, occupancy};

use exit::{CommandError, Ending};
use report::{Latency, Report};
use select::devices::{Machine, Wanted};
use terminal::stdout::Out;

/// Arguments of `harness occupancy`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub struct OccupancyArgs {
    /// Registers of a thread, from `harness perf --json` or ptxas
    #[arg(long, value_name = "R")]
    registers: u32,
    /// Threads of a block
    #[arg(long, value_name = "T")]
    threads: u32,
    /// Bytes of shared memory of a block, static and dynamic
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// Which GPU, one of those below [default: the one in this machine, else h100]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// A latency in cycles: with --throughput, shows how many warps hide it
    #[arg(long, value_name = "CYCLES", value_parser = above_0, requires = "throughput")]
    latency_cycles: Option<f64>,
    /// Instructions of warps that a multiprocessor is to issue in each cycle, 4 at most
    #[arg(long, value_name = "RATE", value_parser = rate, requires = "latency_cycles")]
    throughput: Option<f64>,
    /// How many of them a warp has in flight at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), requires = "latency_cycles")]
    independent: u32,
}

const HELP: &str = "\
GPUs:
  t4      T4, RTX 20          rtx-40  RTX 40, L4, L40     b200    B200
  a100    A100, A30           h100    H100, H200          rtx-50  RTX 50
  rtx-30  RTX 30, A10, A40

Examples:
  harness occupancy --registers 72 --threads 256 --gpu h100
  harness occupancy --registers 32 --threads 128 --shared 16384 --latency-cycles 650 --throughput 0.25";

fn above_0(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e9 => Ok(value),
        _ => Err("a number above 0, at most 1e9".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    // Four schedulers of one instruction each.
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 4.0 => Ok(value),
        _ => Err("a number above 0, at most 4: a multiprocessor has four schedulers that issue one instruction each".to_owned()),
    }
}

/// Explains the occupancy.
///
/// # Errors
///
/// [`CommandError::Input`] for a GPU that is not known, or a block that none can hold.
pub fn run(args: &OccupancyArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let (gpu, note) = match &args.gpu {
        Some(name) => {
            let gpu =
                Gpu::named(name).map_err(|error| CommandError::from(error).context("--gpu"))?;
            (gpu, None)
        }
        None => present(&Machine::discover(&[Wanted::CUDA], Sanitize::NONE))?,
    };
    let report = report(args, gpu)?;
    if let Some(note) = note {
        out.line(out.look().faint(&out.look().wrapped(&note, 0)))?;
    }
    out.line(report.render(out.look()))?;
    Ok(Ending::Fine)
}

/// The first GPU of this machine, also one that is too old for kernels, or else an H100; with a
/// note which it is.
fn present(machine: &Machine) -> Result<(&'static Gpu, Option<String>), CommandError> {
    let found = machine.found().iter();
    let devices = found.filter_map(|(_, found)| found.as_ref().ok()).flatten();
    let mut infos = devices.map(|device| device.info());
    let info = infos.find_map(|info| Some((info, info.compute_capability?)));
    let Some((info, capability)) = info else {
        let note = "this machine has no GPU; these are the figures of another (--gpu)".to_owned();
        return Ok((Gpu::named("h100")?, Some(note)));
    };
    let (name, (major, minor)) = (&info.name, capability);
    let Some(gpu) = Gpu::newest_for(capability) else {
        return Err(CommandError::Input(format!(
            "{name} has compute capability {major}.{minor}, whose limits are unknown; choose the nearest GPU with --gpu"
        )));
    };
    let note = if gpu.compute_capability == capability {
        format!("this machine's {name}")
    } else {
        format!(
            "this machine's {name} has compute capability {major}.{minor}, whose limits are not known here; these are the \
             figures of the newest before it (--gpu names another)"
        )
    };
    Ok((gpu, Some(note)))
}

fn report(args: &OccupancyArgs, gpu: &'static Gpu) -> Result<Report, CommandError> {
    if args.registers == 0 {
        return Err(CommandError::Input(
            "--registers 0: a thread has 1 to 255 registers".to_owned(),
        ));
    }
    let needs = BlockNeeds {
        registers: args.registers,
        threads: args.threads,
        shared_mem_bytes: args.shared,
    };
    let held = occupancy(gpu, needs).map_err(|error| {
        let (flag, value) = match error {
            OccupancyError::Threads { threads } => ("--threads", threads),
            OccupancyError::Registers { registers, .. } => ("--registers", registers),
            OccupancyError::SharedMemory {
                shared_mem_bytes, ..
            } => ("--shared", shared_mem_bytes),
            _ => return CommandError::Input(error.to_string()),
        };
        CommandError::Input(format!("{flag} {value}: {error}"))
    })?;
    let latency = args
        .latency_cycles
        .zip(args.throughput)
        .map(|(cycles, throughput)| Latency {
            cycles,
            throughput,
            independent: args.independent,
        });
    Ok(Report {
        gpu,
        needs,
        held,
        latency,
    })
}
