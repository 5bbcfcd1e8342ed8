//! The shapes that are tried, in which order, and in how much time.

use std::slice;
use std::time::{Duration, Instant};

use device::{Device, DeviceInfo};
use exit::CommandError;
use lab::{Lab, LabCase, Speed, Variant, find_variant, target};
use select::catalogue::{self, Submitted};
use select::choice;
use select::devices::Wanted;

use super::TuneArgs;

/// How long all labs may take.
pub const MINUTES: f64 = 8.0;

/// A value of `--minutes`.
///
/// # Errors
///
/// For anything but a number above 0, in words.
pub fn minutes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes < 10_000.0 => Ok(minutes),
        _ => Err("a number of minutes above 0".to_owned()),
    }
}

/// The jobs of a lab.
pub struct OfLab {
    /// The lab.
    pub lab: &'static Lab,
    /// The cases that variants are tuned for.
    pub cases: Vec<Box<dyn LabCase>>,
    /// In order.
    pub jobs: Vec<Job>,
}

/// A variant, and the case that it is tuned for.
pub struct Job {
    /// The variant.
    pub variant: &'static Variant,
    /// The index of the case.
    pub case: usize,
    /// Whether the lab takes it for the case where none is named: all others are compared with it.
    pub is_of_lab: bool,
}

impl Job {
    /// The shapes to choose from, the default one first; the variant itself where it has one.
    pub fn shapes(&self) -> &'static [Variant] {
        match &self.variant.shapes[..] {
            [] => slice::from_ref(self.variant),
            shapes => shapes,
        }
    }

    /// Whether there is a choice.
    pub fn has_shapes(&self) -> bool {
        !self.variant.shapes.is_empty()
    }

    /// The default shape; then the others, those first that take the least time by the lab's model,
    /// or in the variant's order where there is none.
    pub fn by_promise(&self, case: &dyn LabCase, info: &DeviceInfo) -> Vec<&'static Variant> {
        let (default, others) = self.shapes().split_first().expect("it has one at least");
        let speed = Speed::of(info);
        let step_s = |shape: &Variant| {
            // A shape without a model comes last.
            let demand = shape.demand(case, target(info, 1));
            let step_s = speed
                .as_ref()
                .zip(demand)
                .map(|(speed, demand)| speed.step_s(&demand));
            step_s.unwrap_or(f64::INFINITY)
        };
        let mut others: Vec<(f64, &Variant)> = others.iter().map(|it| (step_s(it), it)).collect();
        others.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let others = others.into_iter().map(|(_, shape)| shape);
        std::iter::once(default).chain(others).collect()
    }
}

impl OfLab {
    /// Puts the variant that the lab takes for a case first, then those with shapes: what takes far
    /// longer is then known at its first run.
    pub fn order(&mut self, device: &dyn Device) {
        let of_lab: Vec<_> = self
            .cases
            .iter()
            .map(|case| choice::of_lab(self.lab, case.as_ref(), device))
            .collect();
        for job in &mut self.jobs {
            job.is_of_lab = of_lab[job.case] == Some(job.variant);
        }
        self.jobs
            .sort_by_key(|job| (job.case, !job.is_of_lab, !job.has_shapes()));
    }
}

/// Everything that the arguments ask for.
///
/// # Errors
///
/// [`CommandError::Input`] for a lab or a variant that is not there or has nothing to choose, and
/// for parameters that are wrong.
pub fn work(
    args: &TuneArgs,
    labs: &[&'static Lab],
    submitted: Submitted,
) -> Result<Vec<OfLab>, CommandError> {
    let chosen: Vec<&'static Lab> = match args.lab() {
        Some(name) => catalogue::select(labs, Some(name))?,
        None => {
            let labs = labs.iter().copied();
            labs.filter(|lab| with_shapes(lab).next().is_some())
                .collect()
        }
    };
    let of_lab = |lab| of_lab(args, labs, lab, submitted);
    chosen.into_iter().map(of_lab).collect()
}

fn of_lab(
    args: &TuneArgs,
    labs: &[&'static Lab],
    lab: &'static Lab,
    submitted: Submitted,
) -> Result<OfLab, CommandError> {
    let is_own = !args.own.submission.is_empty();
    let is_emulated = args.device == Wanted::EMULATED;
    let variants: Vec<&'static Variant> = match &args.variant {
        Some(name) => vec![find_variant(&lab.variants, name)?],
        None if is_own => submitted.of(lab).iter().collect(),
        // Instructions compare shapes of one variant, and not variants.
        None if is_emulated => with_shapes(lab).collect(),
        None => lab.variants.iter().collect(),
    };
    if let Some(own) = variants.iter().find(|own| is_own && own.shapes.len() < 2) {
        return Err(CommandError::Input(format!(
            "--submission {}: launch.rs declares no launch shapes, so there is nothing to choose; add `fn shapes` to its \
             `impl Solution`, as `cargo doc --open -p plan` says",
            own.name
        )));
    }
    let without = variants
        .iter()
        .find(|variant| variant.shapes.is_empty() && (args.variant.is_some() || is_emulated));
    let has_choice = is_own || with_shapes(lab).next().is_some();
    if !has_choice || without.is_some_and(|_| is_emulated) {
        return Err(CommandError::Input(nothing_to_choose(
            labs,
            lab,
            without.copied(),
        )));
    }
    let cases = match &catalogue::params(&args.param)? {
        Some(params) => vec![catalogue::own_case(lab, params)?],
        None if is_emulated && args.large => {
            let reason = "--large: it takes the emulated device hours; name a case with --param";
            return Err(CommandError::Input(reason.to_owned()));
        }
        None if is_emulated => Vec::from_iter(most_work(lab)),
        None if args.large => lab.large_cases(),
        None => lab.laptop_cases(),
    };
    let mut jobs = Vec::new();
    for variant in variants {
        // One that is for certain cases is tuned for these, unless it is named.
        let is_for = |case: &dyn LabCase| {
            args.variant.is_some() || is_own || choice::is_tuned_for(variant, case)
        };
        let of_variant = (0..cases.len()).filter(|&case| is_for(cases[case].as_ref()));
        jobs.extend(of_variant.map(|case| Job {
            variant,
            case,
            is_of_lab: false,
        }));
    }
    Ok(OfLab { lab, cases, jobs })
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

/// How many times its share a job may take. Most take far less, since shapes of slow variants are
/// left out after their first run; what one takes too much, the last ones lack.
const GENEROUS: f64 = 8.0;

/// The time that is left, and the shares of the jobs that are.
pub struct Budget {
    until: Option<Instant>,
    shares: usize,
}

impl Budget {
    /// For all of the work, from now on.
    pub fn new(minutes: Option<f64>, work: &[OfLab]) -> Budget {
        let time = minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes));
        let jobs = work.iter().flat_map(|of_lab| &of_lab.jobs);
        Budget {
            until: time.map(|time| Instant::now() + time),
            shares: jobs.map(|job| job.shapes().len()).sum(),
        }
    }

    /// When the next job is to be done. The variant that the lab takes for the case may take all of
    /// the time that is left, and another one some times its share of it.
    pub fn next(&mut self, job: &Job) -> Option<Instant> {
        let until = self.until?;
        let shapes = job.shapes().len();
        let part = GENEROUS * shapes as f64 / self.shares.max(1) as f64;
        self.shares = self.shares.saturating_sub(shapes);
        if job.is_of_lab {
            return Some(until);
        }
        let now = Instant::now();
        let left = until.saturating_duration_since(now);
        Some(now + left.mul_f64(part.min(1.0)))
    }
}
