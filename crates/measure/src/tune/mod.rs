//! `harness tune`: tries the shapes that a variant declares, and keeps the best of each GPU and
//! case in a table.
//!
//! | module    | what it holds                                              |
//! |-----------|------------------------------------------------------------|
//! | `explore` | a shape, tried: right or wrong, and what it takes          |
//! | `jobs`    | what is tried, in which order, and in how much time        |
//! | `text`    | the lines that are printed                                 |
//!
//! The results are in `tuned.toml`, which other commands use: [`tuned`].

#[cfg(test)]
mod choice_tests;
#[cfg(test)]
mod demand_tests;
mod explore;
mod jobs;
#[cfg(test)]
mod tests;
mod text;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use device::Device;
use device::Sanitize;
use host::labs;
use lab::{Lab, LabCase, Variant, find_variant};
use output_files::{OutputDocument, OutputPath};
use stats::SamplingRule;
use units::utc;

use crate::perf::probe::{Probe, Real};
use crate::perf::settings::Settings;
use crate::perf::watch::Watch;
use exit::{CommandError, Ending};
use explore::{Explorer, Timed};
use jobs::{Budget, Job, OfLab};
use select::catalogue::{self, SubmissionArg, Submitted};
use select::devices::{Machine, Wanted};
use select::kernels::{self, Digests};
use select::tuned::{self, Entry, Table, Tried, cells};
use terminal::stdout::Out;
use text::Columns;

/// The arguments of `harness tune`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub struct TuneArgs {
    /// The lab [default: all that have variants with shapes]
    lab: Option<String>,
    /// Its variant [default: all that have shapes to choose from; on a GPU the others are timed,
    /// too, so that `run` takes the fastest]
    variant: Option<String>,
    #[command(flatten)]
    own: SubmissionArg,
    /// Tune for the large cases instead of those that `perf` times without --large
    #[arg(long, conflicts_with = "param")]
    large: bool,
    /// Tune for a case of your own: a parameter of the lab; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "lab")]
    param: Vec<String>,
    /// Leave the least promising shapes out where trying all would take longer [default: 8 for all
    /// labs; for one lab, no limit]
    #[arg(long, value_name = "MINUTES", value_parser = jobs::minutes)]
    minutes: Option<f64>,
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
commands names a shape. Variants with one shape are timed alone, unless a first run takes twice as
long as that of the fastest; `run` takes the variant with the least time.

What the table has is tried again if it is of other kernels than this program's, or does not say of
which. With --minutes the variant that the lab takes for a case may use all of the time that is left,
and each other one eight times its share, by the number of its shapes. The default shape is tried
first, then the others as the lab's model ranks them, or as the variant lists them. Those that no time
is left for, and those of variants that take twice as long as the fastest, are named.

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
    let is_own = !args.own.submission.is_empty();
    let is_emulated = args.device == Wanted::EMULATED;
    let of_all = [
        (is_own, "--submission names kernels of one lab"),
        (is_emulated, "--device emulated takes minutes for a lab"),
    ];
    if let (None, Some((_, why))) = (&args.lab, of_all.iter().find(|(is_so, _)| *is_so)) {
        return Err(CommandError::Input(format!("{why}: name the lab")));
    }
    let mut work = jobs::work(args, labs, submitted)?;
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
    let mut table = if is_own && !is_kept {
        Table::default()
    } else {
        Table::read(&path)?
    };
    let mut file = if is_kept {
        Some(OutputDocument::create("--table", &path)?)
    } else {
        None
    };

    let telemetry = probe.telemetry(device.info());
    let about = telemetry.as_ref().ok().map(|telemetry| telemetry.about());
    let driver = about.and_then(|about| about.driver.clone());
    let watch = Watch::new(telemetry.ok());
    if is_emulated {
        let note = "The emulated device's times mean nothing: shapes are compared by the instructions that threads execute, a proxy.";
        out.line(out.look().wrapped(note, 0))?;
    }
    for of_lab in &mut work {
        of_lab.order(device);
    }
    let mut budget = Budget::new(args.minutes(), &work);
    for OfLab { lab, cases, jobs } in &work {
        let mut tuning = Tuning {
            lab,
            device,
            explorer: Explorer::new(lab, device, watch.clone(), args.settings())?,
            driver: driver.clone().unwrap_or_else(|| "unknown".to_owned()),
            table,
            file,
            is_own,
            name: path.display().to_string(),
        };
        for job in jobs {
            let until = budget.next(job);
            tuning.tune(job, cases[job.case].as_ref(), (args.again, until), out)?;
        }
        (table, file) = (tuning.table, tuning.file);
    }
    Ok(Ending::Fine)
}

/// Shapes of a variant that were not tried, and why.
struct LeftOut {
    labels: Vec<String>,
    why: String,
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
    /// Tries the shapes that the table does not have, as long as there is time, and names the best.
    fn tune(
        &mut self,
        job: &Job,
        case: &dyn LabCase,
        (again, until): (bool, Option<Instant>),
        out: &mut Out<'_>,
    ) -> Result<(), CommandError> {
        let at = self.entry(job.variant, case);
        let title = format!("{} {}, {}", self.lab.name, job.variant.name, case.label());
        let gpu = &self.device.info().name;
        out.line(format!("{} on {gpu}", out.look().title(&title)))?;
        let is_outdated = self.is_outdated(job.variant, case, at);
        if is_outdated && !again {
            let note =
                "  the table has times of other kernels, or does not say which: trying again";
            out.line(note)?;
        }
        let entry = &mut self.table.entries[at];
        if is_outdated || again {
            entry.tried.clear();
            entry.kernels.clear();
        }
        self.say_known(job, at, out)?;
        let left_out = self.try_missing(job, case, at, until, out)?;
        let default = job.shapes()[0].label().unwrap_or_default();
        let saved = self.saved();
        let settled = &mut self.table.entries[at];
        settled.settle(default);
        let verdict = if job.has_shapes() {
            text::verdict(settled, default, &saved)
        } else {
            text::of_one_shape(settled, &saved)
        };
        self.supersede(at);
        self.save()?;
        if let Some(LeftOut { labels, why }) = left_out {
            let (of, lab) = (&job.variant.name, self.lab.name);
            let note = format!(
                "left out, {why}: {}; `harness tune {lab} {of}` with the same case goes on with them",
                labels.join(", ")
            );
            out.line(out.look().wrapped(&note, 2))?;
        }
        out.line(verdict + "\n")
    }

    /// Says what the table has of the shapes already.
    fn say_known(&self, job: &Job, at: usize, out: &mut Out<'_>) -> Result<(), CommandError> {
        let (entry, shapes) = (&self.table.entries[at], job.shapes());
        let known = shapes.iter().filter(|shape| entry.has(shape)).count();
        let (name, all) = (&self.name, shapes.len());
        match known {
            0 => {}
            1 if all == 1 => out.line(format!("  {name} has its time; --again takes it again"))?,
            _ if known == all => out.line(format!(
                "  {name} has all {all} shapes; --again tries them again"
            ))?,
            _ => out.line(format!(
                "  {name} has {known} of {all} shapes; continuing with the others"
            ))?,
        }
        if job.has_shapes() {
            let columns = Columns::of(job.variant);
            out.line(columns.header(&entry.unit))?;
            for tried in &entry.tried {
                out.line(columns.row(tried))?;
            }
        }
        Ok(())
    }

    /// Whether an entry is of other kernels than the variant has, or says of none where it could.
    fn is_outdated(&self, variant: &Variant, case: &dyn LabCase, at: usize) -> bool {
        let (entry, info) = (&self.table.entries[at], self.device.info());
        let is_outdated = entry.is_outdated(variant, info);
        is_outdated
            .unwrap_or_else(|| !self.kernels(variant, case).is_empty() && !entry.tried.is_empty())
    }

    /// The kernels that a shape launches, each with its digest.
    fn kernels(&self, shape: &Variant, case: &dyn LabCase) -> Digests {
        let plan = shape.record_on(case, self.device);
        plan.map_or_else(
            |_| Digests::new(),
            |plan| kernels::of_plan(&shape.module, &plan, self.device.info()),
        )
    }

    /// Leaves out outdated entries of the same size with another number of timesteps: no run would
    /// ever renew them.
    fn supersede(&mut self, at: usize) {
        let of_size = |entry: &Entry| entry.case.split(',').next().map(str::to_owned);
        let renewed = self.table.entries[at].clone();
        let Ok(variant) = find_variant(&self.lab.variants, &renewed.variant) else {
            return;
        };
        if renewed.kernels.is_empty() {
            return;
        }
        let info = self.device.info();
        self.table.entries.retain(|entry| {
            let is_same = (&entry.gpu, &entry.lab, &entry.variant)
                == (&renewed.gpu, &renewed.lab, &renewed.variant)
                && of_size(entry) == of_size(&renewed);
            !is_same
                || entry.case == renewed.case
                || entry.is_outdated(variant, info) == Some(false)
        });
    }

    /// Tries the shapes that entry `at` of the table does not have: under a limit of time, those of
    /// a variant that may yet be the fastest, as long as there is time.
    fn try_missing(
        &mut self,
        job: &Job,
        case: &dyn LabCase,
        at: usize,
        until: Option<Instant>,
        out: &mut Out<'_>,
    ) -> Result<Option<LeftOut>, CommandError> {
        let entry = &self.table.entries[at];
        if job.shapes().iter().all(|shape| entry.has(shape)) {
            return Ok(None);
        }
        let (default, columns) = (&job.shapes()[0], Columns::of(job.variant));
        let inputs = case.inputs()?;
        let shortened = self.explorer.shortened(case, &inputs, default)?;
        let timed_case = shortened.as_deref().unwrap_or(case);
        let mut left_out: Option<LeftOut> = None;
        for shape in job.by_promise(case, self.device.info()) {
            if self.table.entries[at].has(shape) {
                continue;
            }
            let why = until.and_then(|until| self.why_not(job, at, until));
            if let Some(why) = why.filter(|_| shape != default) {
                let left_out = left_out.get_or_insert_with(|| LeftOut {
                    labels: Vec::new(),
                    why,
                });
                left_out
                    .labels
                    .push(shape.label().unwrap_or_default().to_owned());
                continue;
            }
            let best = if job.has_shapes() {
                let tried = self.table.entries[at].tried.iter();
                let steps = tried.filter_map(|tried| Some(tried.measured()?.step));
                steps.reduce(f64::min)
            } else {
                self.best_of_others(at).filter(|_| !job.is_of_lab)
            };
            let timed = Timed {
                case: timed_case,
                inputs: &inputs,
                default,
                best_s: best.map(|step| 1e-6 * step * explore::steps(timed_case)),
            };
            let tried = self.explorer.try_shape(&timed, shape)?;
            if job.has_shapes() {
                out.line(columns.row(&tried))?;
                if let (Tried::PassedOver { passed_over, .. }, true) = (&tried, shape == default) {
                    return Err(CommandError::Wrong(format!(
                        "{}: the default shape cannot be compared with: {passed_over}",
                        shape.name
                    )));
                }
            }
            let kernels = self.kernels(shape, case);
            let found = &mut self.table.entries[at];
            found.date = today();
            found.driver.clone_from(&self.driver);
            found.tried.push(tried);
            found.kernels.extend(kernels);
            self.save()?;
        }
        Ok(left_out)
    }

    /// Why no more shapes of a job are tried where all has to be done `until` then, if it is so.
    fn why_not(&self, job: &Job, at: usize, until: Instant) -> Option<String> {
        if Instant::now() >= until {
            return Some("since no time is left for them".to_owned());
        }
        let tried = self.table.entries[at].tried.iter();
        let own = tried
            .filter_map(|tried| Some(tried.measured()?.step))
            .reduce(f64::min)?;
        let times = own / self.best_of_others(at)?;
        (!job.is_of_lab && times > explore::HOPELESS).then(|| {
            format!("since the default one takes {times:.1} times as long as the fastest variant")
        })
    }

    /// The least time of the lab's variants in the case of this entry.
    fn best_of_others(&self, at: usize) -> Option<f64> {
        let own = &self.table.entries[at];
        let entries = self.table.entries.iter();
        let is_same = |entry: &&Entry| {
            (&entry.gpu, &entry.lab, &entry.case) == (&own.gpu, &own.lab, &own.case)
        };
        let steps = entries.filter(is_same).filter_map(|entry| entry.step);
        steps.reduce(f64::min)
    }

    /// Where the answer is, as the end of a sentence.
    fn saved(&self) -> String {
        match self.file {
            Some(_) => format!("; {} has it", self.name),
            None if self.is_own => "; what `record` does in launch.rs is graded".to_owned(),
            None => "; saved nowhere: --table FILE does".to_owned(),
        }
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
                kernels: Digests::new(),
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
}

impl TuneArgs {
    /// The lab, if one is named.
    pub fn lab(&self) -> Option<&str> {
        self.lab.as_deref()
    }

    /// How many minutes it may take, if that is limited.
    fn minutes(&self) -> Option<f64> {
        let of_all = self.lab.is_none().then_some(jobs::MINUTES);
        self.minutes.or(of_all)
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
