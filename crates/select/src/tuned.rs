//! The table of shapes that were found: an entry for each GPU, variant and case.
//!
//! It is the course's `tuned.toml`. This program has that file inside; one on disk, in the course's
//! root or in the working folder, goes before it. Variants with one shape have entries too, so that
//! the fastest is known ([`crate::fastest`]); entries of other kernels are told
//! ([`crate::outdated`]).

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Write as _, stderr};
use std::path::{Path, PathBuf};

use device::{DeviceInfo, DeviceKind};
use lab::{Lab, LabCase, Speed, Variant, find_variant, target};
use output_files::input::{own_text, text, unreadable};
use serde::Deserialize;
use stats::BETWEEN_RUNS;
use toml::Spanned;
use units::significant;

use exit::CommandError;

use crate::course_root;
use crate::kernels::{self, Digests};

/// The file's name.
pub const NAME: &str = "tuned.toml";
const BUILT_IN: &str = include_str!("../../../tuned.toml");

const HEADER: &str = "# Shapes and times that `harness tune` found, for each GPU, variant and case. `perf`, `run` and `test` use them.\n";

/// The table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// In the order of the file.
    pub entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    tuned: Vec<Spanned<Entry>>,
}

/// The shape that was found for a variant and a case on a GPU.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// As the driver names it.
    pub gpu: String,
    /// The GPU's generation: `9.0`.
    pub compute_capability: Option<String>,
    /// The lab's name.
    pub lab: String,
    /// The variant's name, without a shape.
    pub variant: String,
    /// The case's label.
    pub case: String,
    /// Updates of a timestep.
    pub cells: u64,
    /// The label of the best shape, once all were tried. None of a variant with one shape.
    pub shape: Option<String>,
    /// The unit of `step` and `default_step`.
    pub unit: String,
    /// The time of a timestep in the best shape, timed in turns with the default one.
    pub step: Option<f64>,
    /// That of the default shape.
    pub default_step: Option<f64>,
    /// The kernels of the shapes that were tried. None in entries that do not say.
    #[serde(default)]
    pub kernels: Digests,
    /// When the last shape was tried: `2026-11-22`.
    pub date: String,
    /// The driver's version.
    pub driver: String,
    /// The shapes that were tried, in order.
    #[serde(default)]
    pub tried: Vec<Tried>,
}

/// A shape that was tried.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Tried {
    /// It was timed.
    Measured(Measured),
    /// It was not.
    PassedOver {
        /// The label.
        shape: String,
        /// Why.
        passed_over: String,
    },
}

/// The time of a timestep in a shape.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Measured {
    /// The label.
    pub shape: String,
    /// The time of a timestep.
    pub step: f64,
    /// In the default shape, in turns with this one.
    pub default_step: f64,
    /// `default_step / step`, turn by turn.
    pub vs_default: f64,
    /// The ends of its 95 % confidence interval, if it is known.
    pub interval: Option<[f64; 2]>,
}

impl Measured {
    /// Whether it is faster than the default shape by more than the noise: that of this run, and
    /// what other runs differ by.
    fn beats_default(&self) -> bool {
        let low = self.interval.map(|[low, _]| low);
        low.is_some_and(|low| low > 1.0 + BETWEEN_RUNS)
    }
}

impl Tried {
    /// The shape's label.
    pub fn shape(&self) -> &str {
        match self {
            Tried::Measured(Measured { shape, .. }) | Tried::PassedOver { shape, .. } => shape,
        }
    }

    /// Its measurement, if there is one.
    pub fn measured(&self) -> Option<&Measured> {
        match self {
            Tried::Measured(measured) => Some(measured),
            Tried::PassedOver { .. } => None,
        }
    }
}

impl Entry {
    /// The shapes that were timed.
    fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.tried.iter().filter_map(Tried::measured)
    }

    /// The least time of a timestep.
    fn fastest_step(&self) -> f64 {
        let steps = self.measured().map(|measured| measured.step);
        steps.fold(f64::INFINITY, f64::min)
    }

    /// Whether the shape was tried.
    pub fn has(&self, shape: &Variant) -> bool {
        let mut tried = self.tried.iter();
        tried.any(|tried| shape.label().unwrap_or_default() == tried.shape())
    }

    /// Whether it is of other kernels than the variant's on devices like this one; none in an entry
    /// that does not say.
    pub fn is_outdated(&self, variant: &Variant, info: &DeviceInfo) -> Option<bool> {
        (!self.kernels.is_empty())
            .then(|| kernels::changed(&self.kernels, &variant.module, info).is_some())
    }

    /// Names the best of all that were tried; the default shape, with this label, unless another
    /// beats it.
    pub fn settle(&mut self, default: &str) {
        let measured = || self.tried.iter().filter_map(Tried::measured);
        let in_default = measured().find(|measured| measured.shape == default);
        let better = measured().filter(|measured| measured.beats_default());
        // As the table has them: what was read counts as what was just measured. Of equals the
        // first.
        let ratio = |one: &&Measured| (one.vs_default * 1e4).round() as i64;
        let best = better.rev().max_by_key(ratio);
        let Some(best) = best.or(in_default).cloned() else {
            return;
        };
        (self.step, self.default_step) = (Some(best.step), Some(best.default_step));
        self.shape = Some(best.shape).filter(|shape| !shape.is_empty());
    }
}

/// The device's generation, as entries have it.
pub fn compute_capability(info: &DeviceInfo) -> Option<String> {
    let (major, minor) = info.compute_capability?;
    Some(format!("{major}.{minor}"))
}

/// Updates of a timestep.
pub fn cells(case: &dyn LabCase) -> u64 {
    case.work().updates / case.timesteps().unwrap_or(1).max(1)
}

/// Where the table is on disk, if it is: in the course's root, or else in the working folder.
pub fn path() -> PathBuf {
    let root = course_root::find(None, Path::new("."));
    root.map_or_else(|_| NAME.into(), |root| root.join(NAME))
}

impl Table {
    /// The table that is in force. Entries of shapes that are no more are left out, with a warning
    /// on standard error.
    ///
    /// # Errors
    ///
    /// As [`Table::read`].
    pub fn in_force(labs: &[&Lab]) -> Result<Table, CommandError> {
        let (table, warnings) = Table::usable(&path(), labs)?;
        for warning in warnings {
            // The terminal may be gone.
            let _ = writeln!(stderr(), "warning: {warning}");
        }
        Ok(table)
    }

    /// The entries of shapes that there are, and what to say of the others.
    ///
    /// # Errors
    ///
    /// As [`Table::read`].
    pub fn usable(path: &Path, labs: &[&Lab]) -> Result<(Table, Vec<String>), CommandError> {
        let (entries, file) = read(path, text)?;
        let mut table = Table::default();
        let mut warnings = Vec::new();
        for (line, entry) in entries {
            let lab = labs.iter().find(|lab| lab.name == entry.lab);
            // A course without solutions has no variants.
            let Some(lab) = lab.filter(|lab| !lab.variants.is_empty()) else {
                continue;
            };
            let variant = find_variant(&lab.variants, &entry.variant);
            let shapes = variant.map_or(&[][..], |variant| &variant.shapes);
            let has = |label: &String| shapes.iter().any(|shape| shape.label() == Some(label));
            match &entry.shape {
                Some(label) if !has(label) => warnings.push(format!(
                    "{file}:{line}: {} {} has no shape `{label}`; the default one is used. `harness tune {0} {1}` finds another",
                    entry.lab, entry.variant
                )),
                _ => table.entries.push(entry),
            }
        }
        Ok((table, warnings))
    }

    /// Reads a table. Without the file, it is the one in this program if it is of the usual `path`,
    /// otherwise an empty one.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a file that cannot be read, is not TOML, or has other keys, with
    /// the line.
    pub fn read(path: &Path) -> Result<Table, CommandError> {
        // `tune` writes it again.
        let (entries, _) = read(path, own_text)?;
        let entries = entries.into_iter().map(|(_, entry)| entry).collect();
        Ok(Table { entries })
    }

    /// The variant in the shape that is best for the case on this number of `devices` like this
    /// one: what was found for this case, or else what lost least in the cases whose numbers of
    /// cells are next to that of a device's share, above and below; on this GPU, or else on others
    /// of its generation. Where nothing was found,
    /// it is the one that is fastest by the shapes' [`Demand`](lab::Demand), or else what other
    /// generations found, if it can run here. As it is where nothing is known, where a shape was
    /// named, and on the emulated device.
    pub fn shape(
        &self,
        lab: &Lab,
        variant: &'static Variant,
        case: &dyn LabCase,
        info: &DeviceInfo,
        devices: u32,
    ) -> Shape {
        let as_it_is = |by| Shape {
            launched: variant,
            by,
        };
        if variant.label().is_some() {
            return as_it_is(ShapeBy::Named);
        }
        if variant.shapes.is_empty() {
            return as_it_is(ShapeBy::Only);
        }
        if info.kind != DeviceKind::Cuda {
            return as_it_is(ShapeBy::NoGpu);
        }
        let generation = compute_capability(info);
        let mut found: Vec<Found<'_>> = self
            .entries
            .iter()
            .filter(|entry| entry.lab == lab.name && entry.variant == variant.name)
            .filter_map(|entry| Some((entry, entry.shape.as_ref()?)))
            .collect();
        let is_own = |entry: &Entry| entry.gpu == info.name;
        let has_own = found.iter().any(|(entry, _)| is_own(entry));
        let is_alike =
            |entry: &Entry| generation.is_some() && entry.compute_capability == generation;
        let has_alike = has_own || found.iter().any(|(entry, _)| is_alike(entry));
        if has_own {
            found.retain(|(entry, _)| is_own(entry));
        } else if has_alike {
            found.retain(|(entry, _)| is_alike(entry));
        } else if let Some(launched) = by_demand(variant, case, info, devices) {
            let by = ShapeBy::Model;
            return Shape { launched, by };
        }
        let (label, own) = (case.label(), size(cells(case) / u64::from(devices)));
        let is_same = |(entry, _): &&Found<'_>| devices == 1 && entry.case == label;
        let chosen = match found.iter().find(is_same) {
            Some(same) => Some((same.1, ShapeBy::Measured(place(same.0)))),
            None => between(&found, own).or_else(|| nearest(&found, own)),
        };
        let chosen = chosen.and_then(|(named, by)| {
            let mut shapes = variant.shapes.iter();
            let launched = shapes.find(|shape| shape.label() == Some(named))?;
            Some(Shape { launched, by })
        });
        let can_run = |shape: &Variant| shape.runs(case, info, target(info, devices));
        chosen
            .filter(|shape| has_alike || can_run(shape.launched))
            .unwrap_or_else(|| as_it_is(ShapeBy::Default))
    }

    /// The file's text.
    pub fn to_toml(&self) -> String {
        let mut text = HEADER.to_owned();
        for entry in &self.entries {
            entry.write(&mut text).expect("a string takes all");
        }
        text
    }
}

/// A variant in the shape in which it is launched.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The variant in that shape, or as it is.
    pub launched: &'static Variant,
    /// Why.
    pub by: ShapeBy,
}

/// Why a variant is launched in a shape.
#[derive(Debug, Clone, PartialEq)]
pub enum ShapeBy {
    /// There is one.
    Only,
    /// The shape was named.
    Named,
    /// The default one, since the device has no times that count: it emulates a GPU.
    NoGpu,
    /// It was the fastest of this case.
    Measured(Place),
    /// It loses least between two sizes that were timed, the smaller first.
    Between([Place; 2]),
    /// It was the fastest of the case that is nearest in size.
    Nearest(Place),
    /// It is the fastest by the model of what shapes ask of a GPU.
    Model,
    /// The default one: nothing is known of GPUs like this.
    Default,
}

/// A measurement in the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The GPU's name.
    pub gpu: String,
    /// The case's label.
    pub case: String,
}

/// An entry with the label of its best shape.
type Found<'t> = (&'t Entry, &'t String);

pub(crate) fn place(entry: &Entry) -> Place {
    Place {
        gpu: entry.gpu.clone(),
        case: entry.case.clone(),
    }
}

/// A number of cells in powers of two.
pub(crate) fn size(cells: u64) -> f64 {
    (cells.max(1) as f64).log2()
}

/// The shape that loses least at a size between two that were tuned: what it loses at each of them
/// counts the more, the nearer that one is. `None` at the ends of what was tuned, and where no
/// shape was timed at both.
fn between<'t>(found: &[Found<'t>], own: f64) -> Option<(&'t String, ShapeBy)> {
    let entries = || found.iter().map(|(entry, _)| *entry);
    let by_size = |a: &&Entry, b: &&Entry| a.cells.cmp(&b.cells);
    let smaller = entries().filter(|entry| size(entry.cells) <= own);
    let larger = entries().filter(|entry| size(entry.cells) > own);
    let (below, above) = (smaller.max_by(by_size)?, larger.min_by(by_size)?);
    let [from, to] = [below, above].map(|entry| size(entry.cells));
    let share = (own - from) / (to - from);
    let [least_below, least_above] = [below, above].map(Entry::fastest_step);
    let both = below.measured().filter_map(|at_below| {
        let at_above = above.measured().find(|it| it.shape == at_below.shape)?;
        let losses = [at_below.step / least_below, at_above.step / least_above];
        let loss = (1.0 - share) * losses[0] + share * losses[1];
        Some((&at_below.shape, loss))
    });
    let (shape, _) = both.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some((shape, ShapeBy::Between([below, above].map(place))))
}

/// The best shape of the tuned case that is nearest in size.
fn nearest<'t>(found: &[Found<'t>], own: f64) -> Option<(&'t String, ShapeBy)> {
    let distance = |entry: &Entry| (size(entry.cells) - own).abs();
    let by_distance =
        |(a, _): &&Found<'_>, (b, _): &&Found<'_>| distance(a).total_cmp(&distance(b));
    let (entry, shape) = found.iter().min_by(by_distance)?;
    Some((shape, ShapeBy::Nearest(place(entry))))
}

/// The shape that is fastest on devices like this one by what the shapes ask of them, of those that
/// can run; if they say so. Of equals the first.
pub fn by_demand(
    variant: &'static Variant,
    case: &dyn LabCase,
    info: &DeviceInfo,
    devices: u32,
) -> Option<&'static Variant> {
    let speed = Speed::of(info)?;
    let timed = variant.shapes.iter().filter_map(|shape| {
        let demand = shape.demand(case, target(info, devices))?;
        Some((shape, speed.step_s(&demand)))
    });
    let can_run = timed.filter(|(shape, _)| shape.runs(case, info, target(info, devices)));
    let fastest = can_run.min_by(|(_, a), (_, b)| a.total_cmp(b));
    Some(fastest?.0)
}

/// The entries with their lines, and the file's name for messages.
fn read(
    file: &Path,
    text: fn(&Path) -> io::Result<String>,
) -> Result<(Vec<(usize, Entry)>, String), CommandError> {
    let name = file.display().to_string();
    let (text, name) = match text(file) {
        Ok(text) => (text, name),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if file == path() {
                (BUILT_IN.to_owned(), format!("{NAME} in this program"))
            } else {
                (String::new(), name)
            }
        }
        Err(error) => {
            let why = unreadable(&error);
            return Err(CommandError::Input(format!("{name}: {why}")));
        }
    };
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    let parsed: File = toml::from_str(&text).map_err(|error| {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let line = line(error.span().map_or(0, |span| span.start));
        let remedy = "mend it, or delete the entry and run `harness tune` again";
        CommandError::Input(format!("{name}:{line}: {message}; {remedy}"))
    })?;
    let entries = parsed
        .tuned
        .into_iter()
        .map(|entry| (line(entry.span().start), entry.into_inner()));
    Ok((entries.collect(), name))
}

impl Entry {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        let shape = self.shape.as_ref();
        let quoted = [
            ("gpu", Some(&self.gpu)),
            ("compute_capability", self.compute_capability.as_ref()),
            ("lab", Some(&self.lab)),
            ("variant", Some(&self.variant)),
            ("case", Some(&self.case)),
            ("shape", shape),
            ("unit", Some(&self.unit)),
            ("date", Some(&self.date)),
            ("driver", Some(&self.driver)),
        ];
        writeln!(text, "\n[[tuned]]")?;
        for (key, value) in quoted {
            if let Some(value) = value {
                writeln!(text, "{key} = {}", string(value))?;
            }
        }
        writeln!(text, "cells = {}", self.cells)?;
        for (key, value) in [("step", self.step), ("default_step", self.default_step)] {
            if let Some(value) = value {
                writeln!(text, "{key} = {}", significant(value, 5))?;
            }
        }
        if !self.kernels.is_empty() {
            let kernels = self.kernels.iter();
            let kernels: Vec<String> = kernels
                .map(|(name, digest)| format!("{name} = {}", string(digest)))
                .collect();
            writeln!(text, "kernels = {{ {} }}", kernels.join(", "))?;
        }
        writeln!(text, "tried = [")?;
        for tried in &self.tried {
            write!(text, "    {{ shape = {}, ", string(tried.shape()))?;
            match tried {
                Tried::PassedOver { passed_over, .. } => {
                    write!(text, "passed_over = {}", string(passed_over))?;
                }
                Tried::Measured(measured) => {
                    let [step, default] =
                        [measured.step, measured.default_step].map(|step| significant(step, 5));
                    let ratio = measured.vs_default;
                    write!(
                        text,
                        "step = {step}, default_step = {default}, vs_default = {ratio:.4}"
                    )?;
                    if let Some([low, high]) = measured.interval {
                        write!(text, ", interval = [{low:.4}, {high:.4}]")?;
                    }
                }
            }
            writeln!(text, " }},")?;
        }
        writeln!(text, "]")
    }
}

/// As a TOML string.
fn string(text: &str) -> String {
    toml::Value::from(text).to_string()
}
