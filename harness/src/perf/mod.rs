//! `harness perf`: how long every variant takes, beside the CPU and the device's limits.

mod bench;
pub mod contender;
mod kernels;
mod limits;
mod measure;
mod report;
mod row;

use clap::Args;
use host::device::Sanitize;
use host::{Lab, labs};

use crate::catalogue;
use crate::devices::{Machine, Wanted};
use crate::failure::{Ending, Failure};
use crate::json::JsonArg;
use crate::out::Out;
use bench::Bench;
use limits::Limits;
use report::Report;

/// What `harness perf` is told.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = HELP)]
pub struct PerfArgs {
    /// Only this lab
    lab: Option<String>,
    /// Time the GPU on the large case; the CPU stays with the small one, and is compared by its rate
    #[arg(long)]
    large: bool,
    /// A case of your own: a parameter of the lab; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "lab")]
    param: Vec<String>,
    /// Only this variant; may be repeated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    variant: Vec<String>,
    /// Only on this device: cpu, cuda, cuda:N; may be repeated [default: all there are]
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    device: Vec<Wanted>,
    /// Take exactly so many samples [default: until they agree]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    samples: Option<u32>,
    /// Do not compare the results of the timed runs with the reference
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    json: JsonArg,
}

const HELP: &str = "\
Columns:
  time        median of the samples, for one timestep where the case has timesteps
  noise       span of the middle half of the samples, relative to the median
  rate        useful work in a second
  bandwidth   bytes that the variant cannot avoid to move, by the time
  of copy     the same relative to copying memory, measured in the same run
  vs CPU      rate over that of the parallel CPU reference
  *           the fastest variant of a device with a right result
  blocks/SM   blocks that a multiprocessor holds at once
  occupancy   share of its threads that they fill: theoretical, from the driver
  sectors     pieces of 32 bytes that warps touch, counted on a small case
  coalesced   sectors that the same bytes would need at best, by sectors";

/// Times the labs.
///
/// # Errors
///
/// What makes no sense, or a device that is asked for and not there. A wrong result is no error: the report has it.
pub fn run(args: &PerfArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    if args.device.contains(&Wanted::Emulated) {
        return Err(Failure::Input(
            "--device emulated: the speed of the emulated device says nothing of a GPU; try `harness test --device emulated`"
                .to_owned(),
        ));
    }
    // The emulated device is never timed, so never looked for.
    let default = [Wanted::Cuda(0)];
    let wanted: &[Wanted] = if args.device.is_empty() {
        &default
    } else {
        &args.device
    };
    run_on(
        args,
        labs(),
        &Machine::discover(wanted, Sanitize::NONE),
        out,
    )
}

fn run_on(
    args: &PerfArgs,
    labs: &[&dyn Lab],
    machine: &Machine,
    out: &mut Out<'_>,
) -> Result<Ending, Failure> {
    let labs = catalogue::select(labs, args.lab.as_deref())?;
    let labs = catalogue::variants(&labs, &args.variant)?;
    let params = catalogue::params(&args.param)?;
    let chosen = machine.choose(&args.device)?;
    let json = args.json.open()?;

    // Every case is made before anything is timed: what makes no sense is known at once.
    let mut benches = Vec::new();
    for (lab, variants) in labs {
        let cases = match &params {
            Some(params) => vec![catalogue::own_case(lab, params)?],
            None if args.large => lab.large_cases(),
            None => lab.laptop_cases(),
        };
        benches.extend(cases.into_iter().map(|case| {
            Bench {
                lab,
                variants: variants.clone(),
                case,
                cpu_case: args
                    .large
                    .then(|| lab.laptop_cases().into_iter().next())
                    .flatten(),
                samples: args.samples.map(|samples| samples as usize),
                is_checked: !args.no_check,
            }
        }));
    }

    let limits = Limits::measure(&chosen)?;
    if json.wants_text() {
        out.line(limits.render(out.look()))?;
    }
    let mut report = Report::new(&limits);
    for bench in benches {
        let case = bench.run(&chosen, &limits)?;
        if json.wants_text() {
            out.line(case.render(out.look()))?;
        }
        report.cases.push(case);
    }
    let ending = report.ending();
    json.write("perf", report, out)?;
    Ok(ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Look;
    use crate::testing;

    /// What `harness perf` with these arguments ends with and prints.
    fn timed(args: &[&str], machine: &Machine) -> (Result<Ending, Failure>, String) {
        timed_of(&testing::labs(), args, machine)
    }

    fn timed_of(
        labs: &[&dyn Lab],
        args: &[&str],
        machine: &Machine,
    ) -> (Result<Ending, Failure>, String) {
        #[derive(clap::Parser)]
        struct Parser {
            #[command(flatten)]
            args: PerfArgs,
        }
        let args = std::iter::once("perf").chain(args.iter().copied());
        let args = <Parser as clap::Parser>::parse_from(args).args;
        let mut text = Vec::new();
        let mut out = Out::new(&mut text, Look::PLAIN);
        let ending = run_on(&args, labs, machine, &mut out);
        drop(out);
        (ending, String::from_utf8(text).unwrap())
    }

    // The device of these tests takes exactly 1 ms for every command; the CPU does not.
    const SMALL: [&str; 5] = [
        "doubling",
        "--device=cuda",
        "--param=n=100000",
        "--param=steps=10",
        "--samples=3",
    ];

    #[test]
    fn figures_of_a_device() {
        let args = [&SMALL[..], &["--variant=naive", "--variant=twofold"]].concat();
        let (ending, text) = timed(&args, &testing::machine());
        assert_eq!(ending, Ok(Ending::Fine));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn what_goes_wrong_is_under_the_table() {
        let others = ["--variant=off-by-one,trapping"];
        let (ending, text) = timed(&[&SMALL[..], &others].concat(), &testing::machine());
        assert_eq!(ending, Ok(Ending::Wrong));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn too_little_memory_is_not_a_wrong_result() {
        let args = [&SMALL[..], &["--variant=naive,hungry"]].concat();
        let (ending, text) = timed(&args, &testing::machine());
        assert_eq!(ending, Ok(Ending::Lacking));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn unchecked_results_are_called_so() {
        let others = ["--variant=off-by-one", "--no-check"];
        let (ending, text) = timed(&[&SMALL[..], &others].concat(), &testing::machine());
        assert_eq!(ending, Ok(Ending::Fine));
        assert!(text.contains("unchecked"), "{text}");
    }

    #[test]
    fn the_fastest_right_variant_is_marked() {
        let starred = |variants: &str| {
            let (_, text) = timed(&[&SMALL[..], &[variants]].concat(), &testing::machine());
            let starred = text.lines().filter(|line| line.contains(" *  "));
            starred.map(str::to_owned).collect::<Vec<String>>()
        };
        let [line] = &starred("--variant=naive,twofold,off-by-one")[..] else {
            panic!("one variant is the fastest")
        };
        assert!(line.starts_with("  cuda    twofold *"), "{line}");
        // Of one there is no fastest, and a wrong one is none.
        assert!(starred("--variant=twofold").is_empty());
        assert!(starred("--variant=naive,off-by-one").is_empty());
    }

    #[test]
    fn sectors_are_counted_without_a_gpu() {
        let args = ["--samples=1", "--variant=coalesced,scattered,stray"];
        let labs: [&dyn Lab; 1] = [&testing::ptx::Tripling];
        let (ending, text) = timed_of(&labs, &args, &testing::machine_without_gpu());
        assert_eq!(ending, Ok(Ending::Fine));
        let (_, kernels) = text.split_once("\n\n  device  variant    kernel").unwrap();
        insta::assert_snapshot!(kernels);
    }

    #[test]
    fn the_cpu_is_compared_by_rate() {
        let args = ["--large", "--samples=1", "--variant=naive"];
        let (ending, text) = timed(&args, &testing::machine());
        assert_eq!(ending, Ok(Ending::Fine));
        assert!(text.contains("doubling  1000 numbers, 20 steps"), "{text}");
        let note = "cpu: timed on 100 numbers, 10 steps, compared by rate";
        assert!(text.contains(note), "{text}");
    }

    #[test]
    fn without_a_gpu_its_rows_say_why() {
        let args = ["--variant=naive", "--samples=1"];
        let (ending, text) = timed(&args, &testing::machine_without_gpu());
        assert_eq!(ending, Ok(Ending::Fine));
        assert!(text.contains("cuda skipped: no CUDA device: libcuda.so.1 not found"));
        let row = text
            .lines()
            .find(|line| line.starts_with("  cuda"))
            .unwrap();
        assert!(row.ends_with("no CUDA device"), "{text}");
    }

    #[test]
    fn nothing_is_timed_for_a_case_that_makes_no_sense() {
        let (ending, text) = timed(&["doubling", "--param=n=many"], &testing::machine());
        assert_eq!(text, "");
        insta::assert_snapshot!(ending.unwrap_err(), @"--param: parameter `n` = `many`: invalid digit found in string (numbers, 1 or more)");
    }
}
