//! `harness tune`: tries the shapes that a variant declares, and keeps the best of each GPU and
//! case in a table.
//!
//! | module    | what it holds                                              |
//! |-----------|------------------------------------------------------------|
//! | `explore` | a shape, tried: right or wrong, and what it takes          |
//!
//! The results are in `tuned.toml`, which other commands use: [`tuned`].

#[cfg(test)]
mod demand_tests;
mod explore;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use device::Device;
use device::Sanitize;
use host::labs;
use lab::{Lab, LabCase, Variant, find_variant};
use output_files::{OutputDocument, OutputPath};
use stats::SamplingRule;
use units::{significant, utc};

use crate::perf::probe::{Probe, Real};
use crate::perf::settings::Settings;
use crate::perf::watch::Watch;
use exit::{CommandError, Ending};
use explore::{Explorer, Timed};
use select::catalogue::{self, SubmissionArg, Submitted};
use select::choice::is_tuned_for;
use select::devices::{Machine, Wanted};
use select::tuned::{self, Entry, Measured, Table, Tried, cells};
use terminal::stdout::Out;

/// The arguments of `harness tune`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub struct TuneArgs {
    /// The lab
    lab: String,
    /// Its variant, which has shapes to choose from [default: all that have]
    variant: Option<String>,
    #[command(flatten)]
    own: SubmissionArg,
    /// Tune for the large cases instead of those that `perf` times without --large
    #[arg(long, conflicts_with = "param")]
    large: bool,
    /// Tune for a case of your own: a parameter of the lab; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// Where to try them: cuda, cuda:N, emulated
    #[arg(long, value_name = "DEVICE", default_value_t = Wanted::CUDA)]
    device: Wanted,
    /// Take a first look: fewer samples, within wider bounds
    #[arg(long)]
    quick: bool,
    /// Try again what the table has already
    #[arg(long)]
    again: bool,
    /// The table [default: tuned.toml in the course's folder, or else in the working folder; none
    /// for a submission]
    #[arg(long, value_name = "FILE")]
    table: Option<OutputPath>,
}

const HELP: &str = "\
Each shape is first checked against the CPU reference on the lab's small cases, then timed in turns
with the default one, as `perf` times variants. It is printed and saved at once: a second run goes
on where the first was cut off. The best takes the default one's place in `perf`, `run` and `test`
on a GPU of this name, if it is faster by more than the noise. `--variant NAME@SHAPE` of these
commands names a shape.

The emulated device has no times that mean anything. There, shapes are compared by the instructions
that threads execute, on the small case with most work unless --param names another, and saved only
where --table says.

A submission declares its shapes by `Solution::shapes` in launch.rs. They are compared with the plan
that is graded, which is called `graded`; the best is yours to put there.";

/// Tunes a variant.
///
/// # Errors
///
/// Arguments that make no sense, a device that is missing, a table that cannot be read or written;
/// a default shape that is wrong.
pub fn run(
    args: &TuneArgs,
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    if args.device == Wanted::Cpu {
        return Err(CommandError::Input(
            "--device cpu: shapes are those of launches on a GPU; `--device emulated` needs none"
                .to_owned(),
        ));
    }
    if args.own.submission.is_empty() {
        catalogue::needs_solutions(
            labs(),
            "tune tries the launch shapes of built-in variants",
            "--submission DIR tries those of yours",
        )?;
    } else if let Some(name) = &args.variant {
        return Err(CommandError::Input(format!(
            "{name}: --submission is named, too; leave out one"
        )));
    }
    let machine = Machine::discover(&[args.device], Sanitize::NONE);
    run_on(args, labs(), submitted, &machine, &Real, out)
}

fn run_on(
    args: &TuneArgs,
    labs: &[&'static Lab],
    submitted: Submitted,
    machine: &Machine,
    probe: &dyn Probe,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let lab = catalogue::select(labs, Some(&args.lab))?[0];
    let is_own = !args.own.submission.is_empty();
    let variants: Vec<&Variant> = match &args.variant {
        Some(name) => vec![find_variant(&lab.variants, name)?],
        None if is_own => submitted.of(lab).iter().collect(),
        None => with_shapes(lab).collect(),
    };
    if let Some(own) = variants.iter().find(|own| is_own && own.shapes.len() < 2) {
        return Err(CommandError::Input(format!(
            "--submission {}: launch.rs declares no launch shapes, so there is nothing to choose; add `fn shapes` to its \
             `impl Solution`, as `cargo doc --open -p plan` says",
            own.name
        )));
    }
    let without = variants.iter().find(|variant| variant.shapes.is_empty());
    if variants.is_empty() || without.is_some() {
        return Err(CommandError::Input(nothing_to_choose(
            labs,
            lab,
            without.copied(),
        )));
    }
    let params = catalogue::params(&args.param)?;
    let is_emulated = args.device == Wanted::EMULATED;
    let cases = match &params {
        Some(params) => vec![catalogue::own_case(lab, params)?],
        None if is_emulated && args.large => {
            let reason = "--large: it takes the emulated device hours; name a case with --param";
            return Err(CommandError::Input(reason.to_owned()));
        }
        None if is_emulated => Vec::from_iter(most_work(lab)),
        None if args.large => lab.large_cases(),
        None => lab.laptop_cases(),
    };
    let chosen = machine
        .choose(&[args.device])
        .map_err(|failure| match failure {
            CommandError::Environment(text) => CommandError::Environment(format!(
                "{text}. Without a GPU, `--device emulated` compares shapes by instructions"
            )),
            other => other,
        })?;
    let device = chosen.devices[0].device;
    let path = args
        .table
        .as_deref()
        .map_or_else(tuned::path, Path::to_owned);
    // An emulated device's counts, and a submission that changes, are of use where they were asked
    // for.
    let is_kept = args.table.is_some() || !is_emulated && !is_own;
    let table = if is_own && !is_kept {
        Table::default()
    } else {
        Table::read(&path)?
    };
    let file = if is_kept {
        Some(OutputDocument::create("--table", &path)?)
    } else {
        None
    };

    let telemetry = probe.telemetry(device.info());
    let about = telemetry.as_ref().ok().map(|telemetry| telemetry.about());
    let driver = about.and_then(|about| about.driver.clone());
    let explorer = Explorer::new(lab, device, Watch::new(telemetry.ok()), args.settings())?;
    if !explorer.has_times() {
        let note = "The emulated device's times mean nothing: shapes are compared by the instructions that threads execute, a proxy.";
        out.line(out.look().wrapped(note, 0))?;
    }
    let mut tuning = Tuning {
        lab,
        device,
        explorer,
        driver: driver.unwrap_or_else(|| "unknown".to_owned()),
        table,
        file,
        is_own,
        name: path.display().to_string(),
    };
    for variant in variants {
        // One that is for certain cases is tuned for these, unless it is named.
        let is_for = |case: &dyn LabCase| args.variant.is_some() || is_tuned_for(variant, case);
        for case in cases.iter().filter(|case| is_for(case.as_ref())) {
            tuning.tune(variant, case.as_ref(), args.again, out)?;
        }
    }
    Ok(Ending::Fine)
}

/// The lab's variants that have shapes to choose from.
fn with_shapes(lab: &Lab) -> impl Iterator<Item = &Variant> {
    let variants = lab.variants.iter();
    variants.filter(|variant| !variant.shapes.is_empty())
}

fn nothing_to_choose(labs: &[&Lab], lab: &Lab, variant: Option<&Variant>) -> String {
    let names = labs
        .iter()
        .flat_map(|known| {
            with_shapes(known).map(|shaped| format!("{} {}", known.name, shaped.name))
        })
        .collect::<Vec<_>>()
        .join(", ");
    match variant {
        Some(variant) => format!(
            "{} {} has one shape, so there is nothing to choose; with shapes: {names}",
            lab.name, variant.name
        ),
        None => format!(
            "no variant of {} has shapes to choose from; with shapes: {names}",
            lab.name
        ),
    }
}

/// The small case with most work.
fn most_work(lab: &Lab) -> Option<Box<dyn LabCase>> {
    let cases = lab.small_cases().into_iter();
    cases.max_by_key(|case| case.work().updates)
}

/// The means to tune a variant.
struct Tuning<'t> {
    lab: &'static Lab,
    device: &'t dyn Device,
    explorer: Explorer<'t>,
    driver: String,
    table: Table,
    /// The table's file, if it is written.
    file: Option<OutputDocument>,
    /// Whether submissions are tuned.
    is_own: bool,
    name: String,
}

impl Tuning<'_> {
    /// Tries the shapes that the table does not have, and names the best.
    fn tune(
        &mut self,
        variant: &'static Variant,
        case: &dyn LabCase,
        again: bool,
        out: &mut Out<'_>,
    ) -> Result<(), CommandError> {
        let at = self.entry(variant, case);
        if again {
            self.table.entries[at].tried.clear();
        }
        let gpu = &self.device.info().name;
        let title = format!("{} {}, {}", self.lab.name, variant.name, case.label());
        out.line(format!("{} on {gpu}", out.look().title(&title)))?;
        let entry = &self.table.entries[at];
        let known = variant
            .shapes
            .iter()
            .filter(|shape| entry.has(shape))
            .count();
        let all = variant.shapes.len();
        if known > 0 {
            out.line(if known == all {
                format!(
                    "  {} has all {all} shapes; --again tries them again",
                    self.name
                )
            } else {
                format!(
                    "  {} has {known} of {all} shapes; continuing with the others",
                    self.name
                )
            })?;
        }
        let columns = Columns::of(variant);
        out.line(columns.header(&entry.unit))?;
        for tried in &entry.tried {
            out.line(columns.row(tried))?;
        }

        if known < all {
            self.try_missing(variant, case, at, out)?;
        }
        let default = variant.shapes[0].label().unwrap_or_default();
        self.table.entries[at].settle(default);
        self.save()?;
        out.line(self.verdict(&self.table.entries[at], default) + "\n")
    }

    /// Tries the shapes that entry `at` of the table does not have.
    fn try_missing(
        &mut self,
        variant: &'static Variant,
        case: &dyn LabCase,
        at: usize,
        out: &mut Out<'_>,
    ) -> Result<(), CommandError> {
        let (default, columns) = (&variant.shapes[0], Columns::of(variant));
        let inputs = case.inputs()?;
        let shortened = self.explorer.shortened(case, &inputs, default)?;
        let case = shortened.as_deref().unwrap_or(case);
        for shape in &variant.shapes {
            let entry = &self.table.entries[at];
            if entry.has(shape) {
                continue;
            }
            let measured = entry.tried.iter().filter_map(Tried::measured);
            let best = measured.map(|measured| measured.step).reduce(f64::min);
            let timed = Timed {
                case,
                inputs: &inputs,
                default,
                best_s: best.map(|step| 1e-6 * step * explore::steps(case)),
            };
            let tried = self.explorer.try_shape(&timed, shape)?;
            out.line(columns.row(&tried))?;
            if let (Tried::PassedOver { passed_over, .. }, true) = (&tried, shape == default) {
                return Err(CommandError::Wrong(format!(
                    "{}: the default shape cannot be compared with: {passed_over}",
                    shape.name
                )));
            }
            let found = &mut self.table.entries[at];
            found.date = today();
            found.driver.clone_from(&self.driver);
            found.tried.push(tried);
            self.save()?;
        }
        Ok(())
    }

    /// Which entry of the table is the case's.
    fn entry(&mut self, variant: &Variant, case: &dyn LabCase) -> usize {
        let info = self.device.info();
        let (lab, variant, label) = (self.lab.name, &*variant.name, case.label());
        let is_own = |entry: &Entry| {
            let entry = (&*entry.gpu, &*entry.lab, &*entry.variant, &*entry.case);
            entry == (&*info.name, lab, variant, &*label)
        };
        let entries = &mut self.table.entries;
        entries.iter().position(is_own).unwrap_or_else(|| {
            let what = if self.explorer.has_times() {
                "us"
            } else {
                "instructions"
            };
            let of = match case.timesteps() {
                Some(_) => "step",
                None => "run",
            };
            entries.push(Entry {
                gpu: info.name.clone(),
                compute_capability: tuned::compute_capability(info),
                lab: lab.to_owned(),
                variant: variant.to_owned(),
                cells: cells(case),
                case: label,
                shape: None,
                unit: format!("{what}/{of}"),
                step: None,
                default_step: None,
                date: today(),
                driver: self.driver.clone(),
                tried: Vec::new(),
            });
            entries.len() - 1
        })
    }

    fn save(&self) -> Result<(), CommandError> {
        if let Some(file) = &self.file {
            file.write_all(self.table.to_toml().as_bytes())?;
        }
        Ok(())
    }

    fn verdict(&self, entry: &Entry, default: &str) -> String {
        let saved = match self.file {
            Some(_) => format!("; {} has it", self.name),
            None if self.is_own => "; what `record` does in launch.rs is graded".to_owned(),
            None => "; saved nowhere: --table FILE does".to_owned(),
        };
        match entry.shape.as_deref() {
            Some(shape) if shape != default => {
                let mut measured = entry.tried.iter().filter_map(Tried::measured);
                let best = measured.rfind(|measured| measured.shape == shape);
                let ratio = best.map_or(f64::NAN, |best| best.vs_default);
                format!("  best: {shape}, {ratio:.3} times as fast as {default}{saved}")
            }
            _ => format!(
                "  best: {default}, the default: no other beats it by more than the noise{saved}"
            ),
        }
    }
}

impl TuneArgs {
    /// The lab.
    pub fn lab(&self) -> &str {
        &self.lab
    }

    /// The submissions that are named: they are tuned instead of built-in variants.
    pub fn own(&self) -> &SubmissionArg {
        &self.own
    }

    fn settings(&self) -> Settings {
        let settings = if self.quick {
            Settings::quick()
        } else {
            Settings::usual()
        };
        // Single runs are compared. The shape before has warmed the device up.
        Settings {
            energy: None,
            batched: SamplingRule::exactly(1),
            isolated: SamplingRule {
                min_time: Duration::from_millis(30),
                patience: Duration::from_millis(250),
                ..settings.isolated
            },
            device_warm_up: Duration::from_millis(40),
            ..settings
        }
    }
}

fn today() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let text = utc(time.map_or(0, |time| time.as_secs()));
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// How lines are laid out, which appear one by one.
struct Columns {
    first: usize,
}

impl Columns {
    fn of(variant: &Variant) -> Columns {
        let labels = variant.shapes.iter().filter_map(|shape| shape.label());
        Columns {
            first: labels.map(str::len).max().unwrap_or(0).max("shape".len()),
        }
    }

    fn header(&self, unit: &str) -> String {
        let width = self.first;
        format!(
            "  {:width$}  {unit:>17}  {:>8}  vs default",
            "shape", "default"
        )
    }

    fn row(&self, tried: &Tried) -> String {
        let width = self.first;
        let shape = format!("  {:width$}", tried.shape());
        match tried {
            Tried::PassedOver { passed_over, .. } => format!("{shape}  passed over: {passed_over}"),
            Tried::Measured(measured) => {
                let Measured {
                    step,
                    default_step,
                    vs_default,
                    interval,
                    ..
                } = measured;
                let [step, default] = [step, default_step].map(|step| significant(*step, 4));
                let interval = interval
                    .map(|[low, high]| format!(" ({low:.3} to {high:.3})"))
                    .unwrap_or_default();
                format!("{shape}  {step:>17}  {default:>8}  {vs_default:.3}{interval}")
            }
        }
    }
}
