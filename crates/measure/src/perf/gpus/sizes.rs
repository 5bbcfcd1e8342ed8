//! The sizes that are timed, their timesteps, and for each number of GPUs the case.

use device::{Device, DeviceInfo, Error};
use lab::CaseError;
use lab::{CaseParams, Lab, LabCase, Variant};
use plan::{Plan, Target};

use exit::CommandError;
use select::catalogue;
use select::choice::{On, choose};
use select::tuned::Table;

use crate::perf::bench::OnGpus;
use crate::perf::room::{Room, host_has};

/// The time that a run should take on one GPU, and the bytes that this GPU moves in a second.
const RUN_S: f64 = 0.2;
const BYTES_PER_S: f64 = 3e12;

/// Timesteps of a run at least and at most: even, so that both fields were the result once. A short
/// last pass of a few timesteps, as poisson has, is then a small part of a run.
const STEPS: [u64; 2] = [60, 1000];
/// Timesteps on the emulated device.
const EMULATED_STEPS: u64 = 4;

/// Points that a warp computes side by side.
const ROW: u32 = 32;

/// The fields that the host holds at once: inputs and results, and a little more.
const HOST_COPIES: u64 = 2;

/// A size, and its case for each number of GPUs.
pub struct Item {
    /// The case on the fewest GPUs.
    pub case: Box<dyn LabCase>,
    /// One for each number of GPUs, in order.
    pub runs: Vec<OnGpus>,
}

/// The sizes of a lab, whatever they are.
pub struct Sizes<'a> {
    pub lab: &'static Lab,
    /// The only variant, if it is named. Otherwise each size and number of GPUs has the lab's.
    pub variant: Option<&'static Variant>,
    /// The most GPUs, and what each is.
    pub target: Target,
    pub info: &'a DeviceInfo,
    /// The shapes that were found.
    pub tuned: &'a Table,
    /// In order, each once.
    pub counts: &'a [u32],
    pub is_weak: bool,
    /// Those that `--param` gives.
    pub params: Option<CaseParams>,
    /// Whether the series is that of `--large`.
    pub is_large: bool,
}

/// The variant that `--variant` names, or the one `--submission`, if there is either.
///
/// # Errors
///
/// [`CommandError::Input`] for a lab, a variant or a submission that never computes on several
/// devices.
pub fn variant(
    labs: &[&'static Lab],
    lab: &'static Lab,
    names: &[String],
    submitted: &'static [Variant],
) -> Result<Option<&'static Variant>, CommandError> {
    let name = lab.name;
    if names.is_empty() && !submitted.is_empty() {
        return submission(lab, submitted).map(Some);
    }
    if lab.variants.is_empty() {
        return Err(CommandError::Input(
            "--gpus: this copy of the course has no built-in variants that could be timed; `--submission DIR` times yours"
                .to_owned(),
        ));
    }
    let several = using_several(lab);
    if several.is_empty() {
        let others: Vec<&str> = labs
            .iter()
            .filter(|other| !using_several(other).is_empty())
            .map(|other| other.name)
            .collect();
        return Err(CommandError::Input(format!(
            "--gpus: no variant of {name} computes on several GPUs; labs that have some: {}",
            others.join(", ")
        )));
    }
    let wanted = match names {
        [] => return Ok(None),
        [one] => one,
        _ => {
            let reason = "--variant: with --gpus one variant is timed; name one";
            return Err(CommandError::Input(reason.to_owned()));
        }
    };
    let found = catalogue::variant(lab, wanted)?;
    if uses_several(lab, found) {
        Ok(Some(found))
    } else {
        let several: Vec<&str> = several.iter().map(|variant| &*variant.name).collect();
        Err(CommandError::Input(format!(
            "--variant {wanted}: it computes on one GPU; those of {name} that use several: {}",
            several.join(", ")
        )))
    }
}

/// The only submission, if it computes on several devices.
pub(super) fn submission(
    lab: &'static Lab,
    own: &'static [Variant],
) -> Result<&'static Variant, CommandError> {
    match own {
        [own] if uses_several(lab, own) => Ok(own),
        [own] => Err(CommandError::Input(format!(
            "--submission: {} records plans for one GPU; with --gpus, its launch.rs records one for as many as it is given",
            own.name
        ))),
        _ => {
            let reason = "--submission: with --gpus one solution is timed; name one";
            Err(CommandError::Input(reason.to_owned()))
        }
    }
}

/// The variants that use two devices where they are offered two.
fn using_several(lab: &'static Lab) -> Vec<&'static Variant> {
    let variants = lab.variants.iter();
    variants
        .filter(|variant| uses_several(lab, variant))
        .collect()
}

/// Whether it uses two devices, of some small case, where it is offered two.
fn uses_several(lab: &Lab, variant: &Variant) -> bool {
    let uses_two = |case: &dyn LabCase| {
        let plan = variant.record_for(case, 2);
        plan.is_ok_and(|plan| plan.devices() == 2)
    };
    lab.small_cases().iter().any(|case| uses_two(case.as_ref()))
}

/// The plan for `gpus` devices, which uses all of them.
fn plan(variant: &Variant, case: &dyn LabCase, gpus: u32) -> Result<Plan, CommandError> {
    // How many timesteps there are makes no difference to buffers.
    let step = case.part(0, 1);
    let plan = variant.record_for(step.as_deref().unwrap_or(case), gpus);
    // A built-in variant refuses only more devices than the size has planes for.
    let plan = plan.map_err(|error| CommandError::Input(format!("--gpus {gpus}: {error}")))?;
    match plan.devices() {
        used if used == gpus => Ok(plan),
        used => Err(CommandError::Input(format!(
            "--gpus {gpus}: variant {} uses {used} of them; ask for at most {used}, or for another variant",
            variant.name
        ))),
    }
}

impl Sizes<'_> {
    /// The items: of a short series, or of a long one and the largest size that fits the most
    /// devices.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for parameters that make no sense, and a variant that does not use
    /// all devices.
    pub fn items(&self, device: &dyn Device) -> Result<Vec<Item>, CommandError> {
        let room = Room::of(device);
        let series = &self.lab.series;
        if self.params.is_some() {
            return Ok(vec![self.item(None, room.is_emulated)?]);
        }
        let extents = match (room.is_emulated, self.is_large) {
            (true, _) => series.emulated,
            (false, false) => series.short,
            (false, true) => series.long,
        };
        let mut extents = extents.to_vec();
        if self.is_large && !room.is_emulated {
            let last = extents.last().copied().unwrap_or(0);
            let largest = largest(|n| self.is_held(n, &room)).filter(|largest| *largest > last);
            extents.extend(largest);
        }
        let items = extents
            .into_iter()
            .map(|n| self.item(Some(n), room.is_emulated));
        items.collect()
    }

    /// The case of `extent` points along each axis, or of `--param`, for each number of devices.
    pub(super) fn item(
        &self,
        extent: Option<u32>,
        is_emulated: bool,
    ) -> Result<Item, CommandError> {
        let steps = match self.given_steps() {
            Some(steps) => steps,
            None if is_emulated => EMULATED_STEPS,
            None => {
                let one = self.case(extent, self.counts[0], Some(1))?;
                let s = self
                    .variant_of(one.as_ref(), self.counts[0])
                    .work(one.as_ref())
                    .bytes as f64
                    / BYTES_PER_S;
                let s = s / f64::from(if self.is_weak { self.counts[0] } else { 1 });
                steps(s)
            }
        };
        let runs = self
            .counts
            .iter()
            .map(|&gpus| {
                let case = self.case(extent, gpus, Some(steps))?;
                // Whether the variant uses all of them is known before anything is timed.
                let variant = self.variant_of(case.as_ref(), gpus);
                plan(variant, case.as_ref(), gpus)?;
                Ok(OnGpus {
                    gpus,
                    variant,
                    done: done_by(case.as_ref()),
                    case,
                })
            })
            .collect::<Result<Vec<OnGpus>, CommandError>>()?;
        let case = self.case(extent, self.counts[0], Some(steps))?;
        Ok(Item { case, runs })
    }

    /// The variant of a case on this number of GPUs.
    fn variant_of(&self, case: &dyn LabCase, gpus: u32) -> &'static Variant {
        let target = Target {
            devices: gpus,
            ..self.target
        };
        let on = On::several(self.info, target);
        let choice = choose(self.lab, case, on, self.variant, self.tuned);
        choice.expect("a lab with variants has a usual one").variant
    }

    fn case(
        &self,
        extent: Option<u32>,
        gpus: u32,
        steps: Option<u64>,
    ) -> Result<Box<dyn LabCase>, CommandError> {
        let mut params = self.params.clone().unwrap_or_default();
        let growth = if self.is_weak { gpus } else { 1 };
        let own = |name: &str| {
            let given = params.get(name).or(self.default(name)).unwrap_or_default();
            let number = given.parse::<u32>();
            number.map_err(|error| CaseError::invalid(name, given, error.to_string()))
        };
        let mut sizes = Vec::new();
        match self.default("n") {
            Some(_) => {
                let n = extent.map_or_else(|| own("n"), Ok).map_err(of_param)?;
                sizes.push(("n", grown(n, growth)));
            }
            None => {
                // The first is the slowest, which is split and grows.
                let axes: &[&str] = match self.default("n_z") {
                    Some(_) => &["n_x", "n_y", "n_z"],
                    None => &["n_y", "n_x"],
                };
                for (&name, times) in axes.iter().zip([growth, 1, 1]) {
                    let extent = extent.map_or_else(|| own(name), Ok).map_err(of_param)?;
                    sizes.push((name, u64::from(extent) * u64::from(times)));
                }
            }
        }
        for (name, size) in sizes {
            params.set(name, size);
        }
        // From a start that is the same everywhere, much of the result would be right by chance.
        let is_uniform = params.get("seed").or(params.get("t0")).is_none();
        if is_uniform && self.default("seed") == Some("none") {
            params.set("seed", 1);
        }
        if let (Some(name), Some(steps)) = (self.lab.steps_parameter(), steps) {
            params.set(name, steps);
        }
        catalogue::own_case(self.lab, &params)
    }

    /// Whether the devices hold a cube of this extent, and the host what goes to them and comes
    /// back.
    fn is_held(&self, n: u32, room: &Room) -> bool {
        // Of a size that grows, the least and the most; of one that does not, the most.
        let counts = if self.is_weak {
            self.counts
        } else {
            &self.counts[self.counts.len() - 1..]
        };
        counts.iter().all(|&gpus| {
            let held = || -> Result<bool, CommandError> {
                let case = self.case(Some(n), gpus, Some(1))?;
                let Some(declared) = self.lab.declared(case.as_ref()) else {
                    return Ok(false);
                };
                let declared = declared.memory_bytes().map_err(Error::from)?;
                let on_host = declared * HOST_COPIES;
                let variant = self.variant_of(case.as_ref(), gpus);
                Ok(room.has(&plan(variant, case.as_ref(), gpus)?) && host_has(on_host))
            };
            held().unwrap_or(false)
        })
    }

    fn given_steps(&self) -> Option<u64> {
        let given = self.params.as_ref()?.get(self.lab.steps_parameter()?)?;
        given.parse().ok()
    }

    fn default(&self, name: &str) -> Option<&'static str> {
        let mut known = self.lab.parameters.iter();
        known
            .find(|known| known.name == name)
            .map(|known| known.default)
    }
}

/// The unit of [`done_by`].
pub fn rate_unit(case: &dyn LabCase) -> &'static str {
    match case.quoted_bytes() {
        Some(_) => "byte",
        None => case.work().unit,
    }
}

/// The work of a run of the case, from which its rate follows.
pub fn done_by(case: &dyn LabCase) -> f64 {
    case.quoted_bytes().unwrap_or(case.work().updates) as f64
}

/// Points along each axis of a cube with `times` as many points, about: whole rows of a
/// warp, or a size whose rows begin beside those of memory would seem to scale badly.
fn grown(n: u32, times: u32) -> u64 {
    let n = f64::from(n) * f64::from(times).cbrt();
    if times > 1 && n >= f64::from(4 * ROW) {
        (n / f64::from(ROW)).round() as u64 * u64::from(ROW)
    } else {
        n.round() as u64
    }
}

fn of_param(error: CaseError) -> CommandError {
    CommandError::from(error).context("--param")
}

/// Timesteps of `step_s` each with which a run takes long enough.
fn steps(step_s: f64) -> u64 {
    let [least, most] = STEPS;
    let steps = (RUN_S / step_s.max(1e-9)) as u64;
    steps.clamp(least, most) / 2 * 2
}

/// The largest number that fits, where all below one that fits do too.
fn largest(fits: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut fitting, mut above) = (64, 1 << 15);
    if !fits(fitting) {
        return None;
    }
    while fitting + 1 < above {
        let middle = u32::midpoint(fitting, above);
        if fits(middle) {
            fitting = middle
        } else {
            above = middle
        }
    }
    Some(fitting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Series;

    #[test]
    fn steps_are_even_and_within_bounds() {
        assert_eq!([1e-6, 7.2e-4, 1.0].map(steps), [1000, 276, 60]);
    }

    #[test]
    fn cubes_grow_by_whole_warps() {
        assert_eq!([1, 2, 4].map(|times| grown(256, times)), [256, 320, 416]);
        assert_eq!([1, 2, 4].map(|times| grown(12, times)), [12, 15, 19]);
        // A given size stays.
        assert_eq!(grown(513, 1), 513);
    }

    #[test]
    fn the_books_page_has_the_sizes() {
        let page = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/measure/several-gpus.md"
        );
        let page = std::fs::read_to_string(page).unwrap();
        let listed = |sizes: &[u32]| {
            let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
            sizes.join(", ")
        };
        for lab in host::labs()
            .iter()
            .filter(|lab| lab.usual_on_several().is_some())
        {
            let what = match lab.extents.len() {
                1 => "N =",
                2 => "squares of",
                _ => "cubes of",
            };
            let Series { short, long, .. } = lab.series;
            let (short, long) = (listed(short), listed(long));
            let row = format!("| {} | {what} {short} | {long} |", lab.name);
            assert!(page.contains(&row), "the page lacks {row}");
        }
    }

    #[test]
    fn the_largest_is_found() {
        for most in [64, 65, 1290, 2413] {
            assert_eq!(largest(|n| n <= most), Some(most));
        }
        assert_eq!(largest(|_| false), None);
    }
}
