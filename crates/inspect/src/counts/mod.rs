//! `harness counts`: exact counts of kernels, beside those of a baseline. It is a test of
//! performance that needs no GPU.
//!
//! | module | what it holds                                              |
//! |--------|------------------------------------------------------------|
//! | `gate` | the document, and what grew since a baseline                |
//!
//! The emulated device counts the same at every run. What grew is a change of the code, or of the
//! compiler that made it.

mod gate;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use clap::Args;
use device::run::run_once;
use device::{COUNTS, Device, EmulatedDevice, KernelReport, Module, Options, Sanitize};
use exit::{CommandError, Ending};
use lab::{Lab, LabCase, Variant};
use output_files::input::{text, unreadable};
use output_files::{OutputDocument, OutputPath};
use select::catalogue::{self, OfLab, SubmissionArg, Submitted};
use select::choice;
use terminal::progress::Bar;
use terminal::stdout::Out;

use crate::profile::listing::{self, Resources};
use crate::profile::most_work;
use crate::toolkit::Toolkit;
use gate::{AT_LEAST, Counts, Difference, Kernel, SPILLS, STACK};

/// The arguments of `harness counts`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = HELP)]
pub struct CountsArgs {
    /// A lab, or a file of PTX
    #[arg(value_name = "LAB|FILE.ptx")]
    of: String,
    /// Only this variant; may be repeated [default: all but those that `list` calls on request]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    variant: Vec<String>,
    /// Solutions beside the built-in ones.
    #[command(flatten)]
    pub own: SubmissionArg,
    /// A case of your own: a parameter of the lab; may be repeated [default: the small case with
    /// most work]
    #[arg(long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// Compare with the counts in this file, and exit with 1 if one grew
    #[arg(long, value_name = "FILE")]
    baseline: Option<OutputPath>,
    /// Write the counts to the baseline's file
    #[arg(long, requires = "baseline")]
    update: bool,
}

const HELP: &str = "\
Counts of a kernel, over all launches of the case, exact and the same at every run:
  instructions       PTX instructions that threads execute
  warp instructions  PTX instructions that warps execute
  sectors            pieces of 32 bytes of global memory that warps touch
  bank conflicts     passes over the banks of shared memory beyond the ideal
  barriers           barriers that warps wait at
  local bytes        bytes that threads load from and store to local memory
Where ptxas is installed: registers of a thread, bytes of spills and of stack, from its compiler,
with the functions that a kernel calls. If one calls itself, only a run tells how deep: the stack
is unknown then, and the spills are at least these. Elsewhere, of kernels with many registers:
  registers at least  those that any compiler gives a thread, if nothing bounds them
Of a FILE.ptx, which says nothing of launches: the instructions of its text, and what ptxas says.

Fewer is better in each; whether a kernel is faster for it, only a GPU tells: `harness perf`.
Exit code: 1 if a count grew, or a kernel of the baseline is gone; otherwise 0.";

impl CountsArgs {
    /// The lab; none for a file of PTX.
    pub fn lab(&self) -> Option<&str> {
        Some(self.of.as_str()).filter(|_| !self.is_ptx())
    }

    fn is_ptx(&self) -> bool {
        Path::new(&self.of)
            .extension()
            .is_some_and(|end| end == "ptx")
    }
}

/// Counts what kernels of one of these labs do, and compares with the baseline.
///
/// # Errors
///
/// Arguments that make no sense, files that cannot be read or written, and a kernel that fails.
pub fn run(
    args: &CountsArgs,
    labs: &[&'static Lab],
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    run_on(args, labs, submitted, &Toolkit::installed(), out)
}

fn run_on(
    args: &CountsArgs,
    labs: &[&'static Lab],
    submitted: Submitted,
    toolkit: &Toolkit,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    if let (true, [first, ..]) = (args.is_ptx(), &args.variant[..]) {
        return Err(CommandError::Input(format!(
            "--variant {first}: a file of PTX has no variants; leave it out, or name a lab instead of {}",
            args.of
        )));
    }
    if let (true, [first, ..]) = (args.is_ptx(), &args.param[..]) {
        return Err(CommandError::Input(format!(
            "--param {first}: a file of PTX has no case; leave it out, or name a lab instead of {}",
            args.of
        )));
    }
    let before = match (&args.baseline, args.update) {
        (Some(path), false) => Some((path, Counts::read(path)?)),
        _ => None,
    };
    let file = args
        .baseline
        .as_ref()
        .filter(|_| args.update)
        .map(|path| OutputDocument::create("--baseline", path))
        .transpose()?;
    let (counts, missing) = if args.is_ptx() {
        of_file(Path::new(&args.of), toolkit)?
    } else {
        of_lab(args, labs, submitted, toolkit)?
    };
    let look = out.look();
    let mut ending = Ending::Fine;
    match &before {
        Some((path, before)) => {
            let differences = before
                .differences(&counts)
                .map_err(|failure| failure.context(format!("--baseline {}", path.display())))?;
            out.line(gate::report(&counts, &differences, look))?;
            if differences.iter().any(Difference::is_worse) {
                ending = Ending::Wrong;
            }
        }
        None => out.line(counts.render(look))?,
    }
    if let Some(reason) = missing {
        out.line(look.wrapped(&reason, 0))?;
    }
    if let (Some(file), Some(path)) = (file, &args.baseline) {
        file.write_all(counts.to_json()?.as_bytes())?;
        out.line(format!("wrote {}", path.display()))?;
    }
    Ok(ending)
}

/// Counts, and why some are missing.
type Counted = (Counts, Option<String>);

/// The kernels of the lab's variants, run on one case.
fn of_lab(
    args: &CountsArgs,
    labs: &[&'static Lab],
    submitted: Submitted,
    toolkit: &Toolkit,
) -> Result<Counted, CommandError> {
    let labs = catalogue::select(labs, Some(&args.of))?;
    let labs = choice::measured_for_its_own_sake(&labs, &args.variant, submitted)?;
    let OfLab { lab, variants } = &labs[0];
    if variants.is_empty() {
        return Err(CommandError::Input(format!(
            "this copy of the course has no built-in variants to count; `harness counts {0} --submission labs/{0}/starter` counts yours",
            lab.name
        )));
    }
    let case = match catalogue::params(&args.param)? {
        Some(params) => catalogue::own_case(lab, &params)?,
        None => most_work(lab)?,
    };
    let device = EmulatedDevice::new(Options {
        sanitize: Sanitize::NONE,
        ..Options::default()
    });
    let (mut kernels, mut missing) = (Vec::new(), None);
    for variant in variants {
        let _bar = Bar::spinner(format!("counting {}", variant.name));
        let (own, reason) = of_variant(&device, case.as_ref(), variant, toolkit)
            .map_err(|failure| failure.context(&variant.name))?;
        kernels.extend(own);
        missing = missing.or(reason);
    }
    Ok((Counts::new(lab.name, &case.label(), kernels), missing))
}

fn of_variant(
    device: &EmulatedDevice,
    case: &dyn LabCase,
    variant: &Variant,
    toolkit: &Toolkit,
) -> Result<(Vec<Kernel>, Option<String>), CommandError> {
    let plan = variant.record(case)?;
    let mut session = device.prepare(&variant.module, &plan)?;
    run_once(session.as_mut(), &plan, &case.inputs()?)?;
    let reports = session.reports();
    let names: Vec<&str> = reports
        .iter()
        .map(|report| report.total.kernel.as_str())
        .collect();
    let (resources, reason) = resources(&variant.module, &names, toolkit);
    let kernels = reports.iter().map(|report| {
        let mut kernel = Kernel {
            variant: variant.name.clone(),
            kernel: report.total.kernel.clone(),
            counts: executed(report),
            stack_is_unknown: false,
        };
        kernel.add(&variant.module, resources.get(&kernel.kernel));
        kernel
    });
    Ok((kernels.collect(), reason))
}

/// The work of threads and warps.
fn executed(report: &KernelReport) -> BTreeMap<String, u64> {
    let counts = COUNTS.iter();
    let shown = counts.filter_map(|count| Some((count.words?.to_owned(), (count.of)(report))));
    shown.collect()
}

fn named<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    let counts = counts.into_iter();
    counts
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
}

/// ptxas's figures of the kernels, or the reason why there are none.
fn resources(
    module: &Module,
    kernels: &[&str],
    toolkit: &Toolkit,
) -> (HashMap<String, Resources>, Option<String>) {
    match listing::resources_of(module, kernels, toolkit) {
        Ok(resources) => (resources, None),
        Err(reason) => (HashMap::new(), Some(listing::unknown_resources(&reason))),
    }
}

impl Kernel {
    /// Adds what ptxas says of it; or else the registers that it needs at least, if these are not
    /// few.
    fn add(&mut self, module: &Module, resources: Option<&Resources>) {
        let Some(own) = resources else {
            let needed = module
                .executable()
                .map_or(0, |executable| executable.needed_registers(&self.kernel));
            if needed > 0 {
                self.counts.extend(named([(AT_LEAST, needed.into())]));
            }
            return;
        };
        let spilled = own.spill_store_bytes + own.spill_load_bytes;
        let counts = [("registers", own.registers), (SPILLS, spilled)];
        self.counts.extend(named(counts));
        self.counts
            .extend(own.stack_bytes.map(|bytes| (STACK.to_owned(), bytes)));
        self.stack_is_unknown = own.stack_bytes.is_none();
    }
}

/// The kernels of a text.
fn of_file(path: &Path, toolkit: &Toolkit) -> Result<Counted, CommandError> {
    let name = path.display().to_string();
    let wrong = |what: String| CommandError::Input(format!("{name}{what}"));
    let text = text(path).map_err(|error| wrong(format!(": {}", unreadable(&error))))?;
    let texts = ptx::kernels(&text).map_err(|error| wrong(format!(":{error}")))?;
    if texts.is_empty() {
        return Err(wrong(
            ": defines no kernel, an `.entry` with a body".to_owned(),
        ));
    }
    let module = Module::new(name.clone(), text.clone());
    let names: Vec<&str> = texts.iter().map(|kernel| kernel.name).collect();
    let (resources, reason) = resources(&module, &names, toolkit);
    // The text may have what the emulated device lacks, so its refusal matters only where no
    // assembler has taken the text.
    let reason = reason.map(|reason| match module.program() {
        Ok(_) => reason,
        Err(error) => format!("{reason}\nthe emulated device does not take this text: {error}"),
    });
    let kernels = texts.iter().map(|one| {
        let mut kernel = Kernel {
            variant: String::new(),
            kernel: one.name.to_owned(),
            counts: named([("instructions in the text", one.instructions)]),
            stack_is_unknown: false,
        };
        kernel.add(&module, resources.get(one.name));
        kernel
    });
    Ok((Counts::new(&name, "", kernels.collect()), reason))
}
