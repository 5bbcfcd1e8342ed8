//! `harness profile`: what every kernel does, counted exactly on the emulated device, beside what it must do.

mod figures;
mod kernel;
mod measure;
mod report;
mod select;
mod source;
mod summary;

use clap::Args;
use host::device::{EmulatedDevice, Options, Sanitize};
use host::{Cpu, Device, Lab, labs};

use crate::catalogue;
use crate::failure::{Ending, Failure};
use crate::json::JsonArg;
use crate::out::Out;
use crate::progress::Bar;
use report::Report;
use source::Sources;

/// What `harness profile` is told.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = HELP)]
pub struct ProfileArgs {
    /// Which lab
    lab: String,
    /// Only this variant; may be repeated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    variant: Vec<String>,
    /// Which case: its label, or a part that no other has [default: the small case with most work]
    #[arg(long, value_name = "LABEL", conflicts_with = "param")]
    case: Option<String>,
    /// A case of your own: a parameter of the lab; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// How many source lines of each kernel to show, those that cost most
    #[arg(long, value_name = "N", default_value_t = 10)]
    lines: usize,
    #[command(flatten)]
    json: JsonArg,
}

const HELP: &str = "\
What is counted:
  by warps     times that a warp executed a PTX instruction; the GPU's own code differs a bit
  by threads   times that a thread did
  lanes        threads by warps: how many of a warp's 32 took part
  requests     times that a warp accessed memory
  sectors      pieces of 32 bytes that requests touch, before any cache
  wavefronts   passes over the 32 banks of shared memory that requests take
  ideal        sectors or wavefronts that the same bytes would take at best
  coalesced    ideal by sectors
  conflicts    wavefronts beyond the ideal: bank conflicts

A source line has a share of its kernel's instructions (by warps), of its sectors, and with its
conflicts of its wavefronts. The largest of the three decides the order.

Bytes that must move are those that no cache, however good, could save the variant.
Times are not measured here: `harness perf` does that, on a GPU.";

/// Profiles a lab.
///
/// # Errors
///
/// What makes no sense. A kernel that fails, or a wrong result, is no error: the report has it.
pub fn run(args: &ProfileArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    // Counts are the same with and without checks, and come sooner without.
    let device = EmulatedDevice::new(Options {
        sanitize: Sanitize::NONE,
        ..Options::default()
    });
    run_on(args, labs(), &device, &mut Sources::default(), out)
}

fn run_on(
    args: &ProfileArgs,
    labs: &[&dyn Lab],
    device: &dyn Device,
    sources: &mut Sources,
    out: &mut Out<'_>,
) -> Result<Ending, Failure> {
    let labs = catalogue::select(labs, Some(&args.lab))?;
    let labs = catalogue::variants(&labs, &args.variant)?;
    let params = catalogue::params(&args.param)?;
    let (lab, variants) = &labs[0];
    let Some(first) = variants.first() else {
        return Err(Failure::Input(format!(
            "this copy of the course has no built-in variants to profile; what your kernels do is counted by \
             `harness grade labs/{}/starter --device emulated --counts`",
            lab.name()
        )));
    };
    let case = match (&params, &args.case) {
        (Some(params), _) => catalogue::own_case(*lab, params)?,
        (None, Some(label)) => select::labelled(*lab, label)?,
        (None, None) => select::most_work(*lab)?,
    };
    let json = args.json.open()?;

    let label = case.label();
    if json.wants_text() {
        let title = out.look().title(lab.name());
        out.line(format!("{title}  {label}\n"))?;
    }
    let bar = Bar::new(format!("reference of {label}"));
    let expected = case.reference(Cpu::Parallel, &bar)?;
    drop(bar);
    let mut report = Report::new(lab.name(), label, case.work(first.name));
    for variant in variants {
        let bar = Bar::spinner(format!("counting {}", variant.name));
        let profile = measure::profile(device, *lab, case.as_ref(), *variant, &expected, sources);
        drop(bar);
        let profile = profile?;
        if json.wants_text() {
            out.line(profile.render(args.lines, out.look()))?;
        }
        report.variants.push(profile);
    }
    if json.wants_text() {
        out.line(summary::render(&report, out.look()))?;
    }
    let ending = report.ending();
    json.write("profile", report, out)?;
    Ok(ending)
}

#[cfg(test)]
mod tests;
