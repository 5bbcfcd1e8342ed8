//! The variant that computes a case, its launch shape, and why.
//!
//! In this order:
//!
//! 1. the variant that is named, or the submission;
//! 2. on a GPU that `tuned.toml` knows: the one that takes the least time there
//!    ([`Table::fastest`]). On several, it is that for a share of the case, unless the lab knows a
//!    winner: times on one GPU do not have the exchange at the seams in them;
//! 3. on a GPU, or on several devices: the one that its lab says is the fastest for the case there
//!    ([`Variant::wins`]), if it runs on such a device; those on request, which are for few cases,
//!    go first;
//! 4. on several devices: the one that its lab marks for them ([`Lab::usual_on_several`]);
//! 5. the one that its lab marks ([`Lab::usual`]);
//! 6. where the device cannot run that: the lab's first that it can.
//!
//! Its shape is the table's: see [`Table::shape`].

use device::validate::validate;
use device::{Device, DeviceInfo, DeviceKind};
use exit::CommandError;
use lab::{Lab, LabCase, Variant, target};
use plan::Target;
use units::significant;

use crate::catalogue::{self, OfLab, Submitted};
use crate::fastest::Fastest;
use crate::tuned::{Place, Shape, ShapeBy, Table};

/// The devices on which a case is computed.
#[derive(Debug, Clone, Copy)]
pub struct On<'d> {
    /// One of them: all are alike.
    pub info: &'d DeviceInfo,
    /// The machine as plans are recorded for it.
    pub target: Target,
    /// Whether several devices were asked for. There may be one of them all the same.
    pub is_several: bool,
    /// Whether other processes compute with this one.
    pub is_one_of_many: bool,
}

impl<'d> On<'d> {
    /// This device, which may be several in one.
    pub fn device(device: &'d dyn Device) -> On<'d> {
        let info = device.info();
        On {
            info,
            target: target(info, device.count()),
            is_several: device.count() > 1,
            is_one_of_many: false,
        }
    }

    /// This device, of several processes that compute together.
    pub fn of_processes(device: &'d dyn Device) -> On<'d> {
        On {
            is_several: true,
            is_one_of_many: true,
            ..On::device(device)
        }
    }

    /// So many devices like this one, asked for as several.
    pub fn several(info: &'d DeviceInfo, target: Target) -> On<'d> {
        On {
            info,
            target,
            is_several: true,
            is_one_of_many: false,
        }
    }

    /// Whether a variant can be taken since it wins. The emulated device has no times, and a
    /// winner on several devices is one only where one process has them all.
    fn has_winners(&self) -> bool {
        if self.is_several {
            !self.is_one_of_many
        } else {
            self.info.kind == DeviceKind::Cuda
        }
    }
}

/// The choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The variant, as `harness list` has it.
    pub variant: &'static Variant,
    /// The variant in the shape in which it is launched.
    pub shape: Shape,
    /// Why it is this variant.
    pub why: Why,
}

/// Why a variant was chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// It was named: a built-in variant or a submission.
    Named,
    /// It takes the least time, by those in the table.
    Fastest(Fastest),
    /// Its lab says that it is the fastest for the case on such devices.
    Wins,
    /// It is its lab's for several devices.
    UsualOnSeveral,
    /// It is its lab's.
    Usual,
    /// The device cannot run its lab's, and it is the first that it can.
    FirstAble,
}

/// The choice for a case on these devices. `named` is the variant or the submission that the
/// command line names. None where nothing is named, and the lab has no variants: in a student's
/// copy of the course.
///
/// # Panics
///
/// For a case of another lab.
pub fn choose(
    lab: &'static Lab,
    case: &dyn LabCase,
    on: On<'_>,
    named: Option<&'static Variant>,
    tuned: &Table,
) -> Option<Choice> {
    let (variant, why) = match named {
        Some(variant) => (variant, Why::Named),
        None => {
            let by_lab = unnamed(lab, case, on)?;
            by_time(lab, case, on, &by_lab, tuned).unwrap_or(by_lab)
        }
    };
    Some(Choice {
        variant,
        shape: tuned.shape(lab, variant, case, on.info, on.target.devices),
        why,
    })
}

/// The variant that takes the least time, where the table compares it with `by_lab`.
fn by_time(
    lab: &'static Lab,
    case: &dyn LabCase,
    on: On<'_>,
    (by_lab, why): &(&'static Variant, Why),
    tuned: &Table,
) -> Option<(&'static Variant, Why)> {
    let devices = on.target.devices;
    // Several processes agree before they know each other's devices.
    if on.is_one_of_many || devices > 1 && *why == Why::Wins {
        return None;
    }
    let can = |variant: &Variant| {
        let is_for = !variant.on_request || variant.wins(case, on.target);
        is_for && ruled_out(variant, case, on).is_none()
    };
    let (variant, times) = tuned.fastest(lab, case, on.info, devices, by_lab, can)?;
    Some((variant, Why::Fastest(times)))
}

/// The lab's own choice.
fn unnamed(lab: &'static Lab, case: &dyn LabCase, on: On<'_>) -> Option<(&'static Variant, Why)> {
    let wins = |variant: &&Variant| {
        variant.wins(case, on.target) && variant.runs(case, on.info, on.target)
    };
    let winners = || lab.variants.iter().filter(wins);
    let winner = || winners().min_by_key(|variant| !variant.on_request);
    if let Some(variant) = on.has_winners().then(winner).flatten() {
        return Some((variant, Why::Wins));
    }
    let (usual, why) = usual(lab, on.is_several)?;
    let runs = |variant: &&Variant| variant.runs(case, on.info, on.target);
    // A variant for one device is not what several were asked for.
    if on.is_several || runs(&usual) {
        return Some((usual, why));
    }
    let mut others = lab.variants.iter().filter(|other| !other.on_request);
    let able = others.find(runs);
    // Where none can, the error is that of the usual one.
    Some(able.map_or((usual, why), |able| (able, Why::FirstAble)))
}

fn usual(lab: &'static Lab, is_several: bool) -> Option<(&'static Variant, Why)> {
    let several = lab.usual_on_several().filter(|_| is_several);
    several
        .map(|variant| (variant, Why::UsualOnSeveral))
        .or_else(|| Some((lab.usual()?, Why::Usual)))
}

/// The variant of [`choose`] for several processes. It depends on no device: they agree on it
/// before they know each other's.
pub fn of_processes(
    lab: &'static Lab,
    named: Option<&'static Variant>,
) -> Option<&'static Variant> {
    named.or_else(|| Some(usual(lab, true)?.0))
}

/// The variants that are measured: those that `--variant` names, or else all but those that are
/// measured on request, and every submission.
///
/// # Errors
///
/// As [`catalogue::variants`].
pub fn measured(
    labs: &[&'static Lab],
    names: &[String],
    submitted: Submitted,
) -> Result<Vec<OfLab>, CommandError> {
    let mut chosen = catalogue::variants(labs, names, submitted)?;
    leave_requests_out(&mut chosen, names);
    Ok(chosen)
}

/// [`measured`] for commands that look at a solution for its own sake: see
/// [`catalogue::for_its_own_sake`].
///
/// # Errors
///
/// As [`catalogue::variants`].
pub fn measured_for_its_own_sake(
    labs: &[&'static Lab],
    names: &[String],
    submitted: Submitted,
) -> Result<Vec<OfLab>, CommandError> {
    let mut chosen = catalogue::for_its_own_sake(labs, names, submitted)?;
    leave_requests_out(&mut chosen, names);
    Ok(chosen)
}

fn leave_requests_out(chosen: &mut [OfLab], names: &[String]) {
    if names.is_empty() {
        for of in chosen {
            of.variants.retain(|variant| !variant.on_request);
        }
    }
}

/// The variants on request that are measured with a case on one device without being named,
/// since they win it.
pub fn winners_on_request(
    lab: &'static Lab,
    case: &dyn LabCase,
) -> impl Iterator<Item = &'static Variant> {
    let variants = lab.variants.iter();
    variants.filter(move |variant| variant.on_request && variant.wins(case, 1))
}

/// Whether a variant is tuned for a case without being named: always, or one on request for those
/// that it wins on one device. One on request that is known to win nowhere is tuned if it has
/// shapes.
pub fn is_tuned_for(variant: &Variant, case: &dyn LabCase) -> bool {
    let has_shapes = !variant.shapes.is_empty();
    !variant.on_request || variant.wins(case, 1) || has_shapes && !variant.has_wins()
}

/// The variant that a lab takes for a case on a GPU that no table knows: those that are tuned are
/// compared with it.
pub fn of_lab(
    lab: &'static Lab,
    case: &dyn LabCase,
    device: &dyn Device,
) -> Option<&'static Variant> {
    Some(unnamed(lab, case, On::device(device))?.0)
}

/// The choice in sentences; then the lab's other variants: the flag that takes one, and what the
/// case and the devices rule out.
pub fn explain(lab: &'static Lab, case: &dyn LabCase, on: On<'_>, choice: &Choice) -> Vec<String> {
    let Choice { variant, shape, .. } = choice;
    let mut lines = vec![of_variant(lab, on, choice), of_shape(shape)];
    let mut able = Vec::new();
    let mut unable: Vec<(String, Vec<&str>)> = Vec::new();
    for other in lab.variants.iter().filter(|other| *other != *variant) {
        let name = other.name.as_str();
        let Some(reason) = ruled_out(other, case, on) else {
            able.push(name);
            continue;
        };
        match unable.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => unable.push((reason, vec![name])),
        }
    }
    if !able.is_empty() {
        lines.push(format!(
            "{} can run this, too: `--variant NAME` takes one, and `harness list {}` says what each does",
            able.join(", "),
            lab.name
        ));
    }
    let unable = unable.iter();
    lines.extend(
        unable.map(|(reason, names)| format!("{} cannot run this: {reason}", names.join(", "))),
    );
    lines
}

/// Why it is this variant.
fn of_variant(lab: &Lab, on: On<'_>, Choice { variant, why, .. }: &Choice) -> String {
    let (name, lab) = (&variant.name, lab.name);
    let machine = match on.target.devices {
        1 => on.info.name.clone(),
        devices => format!("{devices} x {}", on.info.name),
    };
    match why {
        Why::Named => format!("{name} runs: the command line names it"),
        Why::Fastest(times) => format!("{name} runs: {}", of_times(times, on.target.devices)),
        Why::Wins => {
            format!("{name} runs: {lab} says that it is the fastest for this size on {machine}")
        }
        Why::UsualOnSeveral => format!(
            "{name} runs: several devices were asked for, and it is the variant of {lab} that uses them"
        ),
        Why::FirstAble => format!(
            "{name} runs: where no variant is named {lab} takes another, which {machine} cannot run, and this is the first \
             that it can"
        ),
        Why::Usual if on.has_winners() => format!(
            "{name} runs: {lab} takes it where no variant is named, and says of none that it is faster for \
             this size on {machine}"
        ),
        Why::Usual => format!("{name} runs: {lab} takes it where no variant is named"),
    }
}

/// The figures that make it the fastest, and where they come from.
fn of_times(fastest: &Fastest, devices: u32) -> String {
    // The others are far off.
    const SHOWN: usize = 3;
    let times = fastest.times.iter().take(SHOWN);
    let figures: Vec<String> = times
        .map(|(name, time)| format!("{name} {}", significant(*time, 3)))
        .collect();
    let cases: Vec<&str> = fastest.at.iter().map(|place| &*place.case).collect();
    let from = match (fastest.is_measured, devices) {
        (true, _) => "measured".to_owned(),
        (false, 1) => format!("estimated from {}", cases.join(" and ")),
        (false, _) => format!(
            "estimated for the share of one, from {}",
            cases.join(" and ")
        ),
    };
    format!(
        "by tuned.toml it takes the least time on {}: {} {}, {from}",
        fastest.at[0].gpu,
        figures.join(", "),
        fastest.unit
    )
}

/// Why it is launched in this shape.
fn of_shape(Shape { launched, by }: &Shape) -> String {
    let timed = |Place { gpu, case }: &Place| format!("{case} on {gpu}");
    let label = launched.label().unwrap_or_default();
    match by {
        ShapeBy::Only => "launch shape: it has one".to_owned(),
        ShapeBy::Named => format!("launch shape {label}: the command line names it"),
        ShapeBy::NoGpu => {
            "launch shape: the default one; shapes differ in speed, and this device has none that counts".to_owned()
        }
        ShapeBy::Measured(place) => format!(
            "launch shape {label}: tuned.toml has it as the fastest of this case, timed on {}",
            place.gpu
        ),
        ShapeBy::Between(places) => {
            let [below, above] = places.each_ref().map(timed);
            format!(
                "launch shape {label}: by the times in tuned.toml it loses least between {below} and {above}"
            )
        }
        ShapeBy::Nearest(place) => format!(
            "launch shape {label}: tuned.toml has it as the fastest of the nearest size, {}",
            timed(place)
        ),
        ShapeBy::Model => format!(
            "launch shape {label}: none was timed on GPUs like this one, and by the lab's model it takes the \
             least time; `harness tune` times them"
        ),
        ShapeBy::Default => {
            "launch shape: the default one; none was timed on GPUs like this one, and `harness tune` does \
             that"
                .to_owned()
        }
    }
}

/// Why a variant cannot compute the case on these devices, if it cannot.
fn ruled_out(variant: &Variant, case: &dyn LabCase, on: On<'_>) -> Option<String> {
    let plan = match variant.record_for(case, on.target) {
        Ok(plan) => plan,
        Err(error) => return Some(error.to_string()),
    };
    if on.is_several && plan.devices() < on.target.devices {
        let (used, all) = (plan.devices(), on.target.devices);
        return Some(format!("the plan uses {used} of {all} devices"));
    }
    let checked = validate(&variant.module, &plan, &on.info.limits);
    checked.err().map(|error| error.to_string())
}
