//! `harness profile`: exact counts of every kernel on the emulated device, beside what it must do
//! at least.

pub mod figures;
mod kernel;
pub(crate) mod listing;
mod report;
mod source;

use clap::Args;
use device::run::run_once;
use device::{Device, Error, NamedBuffers};
use device::{EmulatedDevice, Options, Sanitize};
use exit::ErrorKind;
use lab::{Cpu, Lab, LabCase, Variant};

use crate::toolkit::Toolkit;
use exit::{CommandError, Ending};
use kernel::KernelProfile;
use lab::run::explain;
use listing::Shown;
use report::{Outcome, Report, VariantProfile};
use select::catalogue::{self, OfLab, SubmissionArg, Submitted};
use select::choice;
use select::memory_advice;
use source::Sources;
use terminal::json::JsonArg;
use terminal::progress::Bar;
use terminal::stdout::Out;

/// Arguments of `harness profile`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = HELP)]
pub struct ProfileArgs {
    /// Which lab
    pub lab: String,
    /// Only this variant; may be repeated [default: all but those that `list` calls on request]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    variant: Vec<String>,
    /// Solutions beside the built-in ones.
    #[command(flatten)]
    pub own: SubmissionArg,
    /// Which case: its label, or a part that no other has [default: the small case with most work]
    #[arg(long, value_name = "LABEL", conflicts_with = "param")]
    case: Option<String>,
    /// A case of your own: a parameter of the lab; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// How many source lines of each kernel to show, those that cost most
    #[arg(long, value_name = "N", default_value_t = 10)]
    lines: usize,
    /// Print the PTX of the variants' kernels, with registers, spills and stack where ptxas is
    /// installed; count nothing
    #[arg(long, conflicts_with_all = ["json", "lines"])]
    ptx: bool,
    /// Print the GPU's own instructions, where ptxas and nvdisasm are installed; count nothing
    #[arg(long, conflicts_with_all = ["json", "lines"])]
    sass: bool,
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
conflicts of its wavefronts. The largest of the three decides the order. Instructions that the
compiler made of several lines count with one that always runs with them, the one before if there is.

Bytes that must move are those that no cache, however good, could save the variant.
Times are not measured here: `harness perf` does that, on a GPU.";

/// Profiles one of these labs.
///
/// # Errors
///
/// Invalid arguments. A kernel that fails or a wrong result is not an error: it is in the report.
pub fn run(
    args: &ProfileArgs,
    labs: &[&'static Lab],
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    // Checks do not change the counts and take time.
    let device = EmulatedDevice::new(Options {
        sanitize: Sanitize::NONE,
        ..Options::default()
    });
    run_on(args, labs, submitted, &device, &mut Sources::default(), out)
}

fn run_on(
    args: &ProfileArgs,
    labs: &[&'static Lab],
    submitted: Submitted,
    device: &dyn Device,
    sources: &mut Sources,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let labs = catalogue::select(labs, Some(&args.lab))?;
    let labs = choice::measured_for_its_own_sake(&labs, &args.variant, submitted)?;
    let params = catalogue::params(&args.param)?;
    let OfLab { lab, variants } = &labs[0];
    let Some(first) = variants.first() else {
        return Err(CommandError::Input(format!(
            "this copy of the course has no built-in variants to profile; `harness profile {0} --submission labs/{0}/starter` profiles yours",
            lab.name
        )));
    };
    let case = match (&params, &args.case) {
        (Some(params), _) => catalogue::own_case(lab, params)?,
        (None, Some(label)) => labelled(lab, label)?,
        (None, None) => most_work(lab)?,
    };
    if args.ptx || args.sass {
        return list_code(args, case.as_ref(), variants, &Toolkit::installed(), out);
    }
    let json = args.json.open()?;

    let label = case.label();
    if json.wants_text() {
        let title = out.look().title(lab.name);
        out.line(format!("{title}  {label}\n"))?;
    }
    let bar = Bar::new(format!("reference of {label}"));
    let inputs = case.inputs()?;
    let expected = case.reference_from(&inputs, Cpu::Parallel, &bar)?;
    drop(bar);
    let right = Right { inputs, expected };
    let mut report = Report::new(lab.name, label, first.work(case.as_ref()));
    for variant in variants {
        let spinner = Bar::spinner(format!("counting {}", variant.name));
        let profile = profile(device, lab, case.as_ref(), variant, &right, sources);
        drop(spinner);
        let profile = profile?;
        if json.wants_text() {
            out.line(profile.render(args.lines, out.look()))?;
        }
        report.variants.push(profile);
    }
    if json.wants_text() {
        out.line(report.summary(out.look()))?;
    }
    let ending = report.ending();
    json.write("profile", report, out)?;
    Ok(ending)
}

/// Prints the code of each variant's kernels: of those that it launches on the case.
fn list_code(
    args: &ProfileArgs,
    case: &dyn LabCase,
    variants: &[&'static Variant],
    toolkit: &Toolkit,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let shown = Shown {
        ptx: args.ptx,
        sass: args.sass,
    };
    for variant in variants {
        let plan = variant.record(case)?;
        out.line(format!("{}\n", out.look().title(&variant.name)))?;
        let kernels: Vec<&str> = plan.kernels().iter().map(String::as_str).collect();
        let text = listing::render(&variant.module, &kernels, shown, toolkit, out.look())?;
        out.line(text)?;
    }
    Ok(Ending::Fine)
}

/// The small case with most work for the lab's first variant: it has every part of a grid, large
/// and odd.
pub(crate) fn most_work(lab: &Lab) -> Result<Box<dyn LabCase>, CommandError> {
    lab.small_cases()
        .into_iter()
        .max_by_key(|case| case.work().updates)
        .ok_or_else(|| CommandError::Bug(format!("lab `{}` has no small case", lab.name)))
}

/// The case with this label, or else the only one with this text in its label.
fn labelled(lab: &Lab, text: &str) -> Result<Box<dyn LabCase>, CommandError> {
    let cases = [lab.small_cases(), lab.laptop_cases(), lab.large_cases()];
    let mut matching: Vec<_> = cases
        .into_iter()
        .flatten()
        .filter(|case| case.label().contains(text))
        .collect();
    if let Some(exact) = matching.iter().position(|case| case.label() == text) {
        return Ok(matching.swap_remove(exact));
    }
    match matching.len() {
        1 => Ok(matching.remove(0)),
        0 => Err(CommandError::Input(format!(
            "--case {text}: no case of {0} has this label; `harness list {0}` shows them all",
            lab.name
        ))),
        several => Err(CommandError::Input(format!(
            "--case {text}: {several} cases of {} have this in their label, `{}` and `{}`{}; write more of it",
            lab.name,
            matching[0].label(),
            matching[1].label(),
            if several > 2 { " among them" } else { "" },
        ))),
    }
}

/// A case's inputs, and what the reference makes of them.
struct Right {
    inputs: NamedBuffers,
    expected: NamedBuffers,
}

/// Profiles a variant, and compares its result with the reference: counts of a wrong kernel say
/// little. Fails for a case that cannot be recorded, and for bugs of ours; a kernel that fails is
/// an [`Outcome`].
fn profile(
    device: &dyn Device,
    lab: &Lab,
    case: &dyn LabCase,
    variant: &'static Variant,
    Right { inputs, expected }: &Right,
    sources: &mut Sources,
) -> Result<VariantProfile, CommandError> {
    let outcome = match counted(device, case, variant, inputs, sources) {
        Ok((kernels, got)) => Outcome::Counted {
            kernels,
            mismatch: variant
                .check(case, inputs, expected, &got)?
                .err()
                .map(|error| explain(case, &error)),
        },
        Err(error) => {
            let message = memory_advice::explained(&error, lab, Some(variant));
            match error.kind() {
                ErrorKind::Submission => Outcome::Failed { message },
                ErrorKind::Environment | ErrorKind::Needs => Outcome::Lacking { message },
                ErrorKind::Input | ErrorKind::Bug => return Err(error.into()),
            }
        }
    };
    let work = variant.work(case);
    Ok(VariantProfile::new(variant, work, outcome))
}

fn counted(
    device: &dyn Device,
    case: &dyn LabCase,
    variant: &'static Variant,
    inputs: &NamedBuffers,
    sources: &mut Sources,
) -> Result<(Vec<KernelProfile>, NamedBuffers), Error> {
    let plan = variant.record(case)?;
    let mut session = device.prepare(&variant.module, &plan)?;
    let outcome = run_once(session.as_mut(), &plan, inputs)?;
    let kernels = session
        .reports()
        .iter()
        .map(|report| KernelProfile::new(report, sources))
        .collect();
    Ok((kernels, outcome.outputs))
}

#[cfg(test)]
mod tests;
