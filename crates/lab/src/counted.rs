//! The case that the emulated device counts on a machine without a GPU.

use crate::{Lab, LabCase};

/// The most updates of a run that the emulated device counts within seconds for all variants, and
/// the most timesteps: variants that compute many of them in a launch come to their own.
const MAX_UPDATES: u64 = 17 << 20;
const MAX_STEPS: u64 = 16;

/// The case that is counted instead of this one: the same with fewer timesteps, or if it is too
/// large for the emulated device, that of the first case for laptops. None for the case itself. On
/// a small case, per-thread and per-tile work that a large one hardly feels would outweigh the
/// rest.
pub fn counted_instead(lab: &Lab, case: &dyn LabCase) -> Option<Box<dyn LabCase>> {
    if step_updates(case) <= MAX_UPDATES {
        return shortened(case);
    }
    let laptop = lab.laptop_cases().into_iter().next()?;
    shortened(laptop.as_ref()).or(Some(laptop))
}

/// Updates of a timestep, or of a run without timesteps.
fn step_updates(case: &dyn LabCase) -> u64 {
    case.work().updates / case.timesteps().unwrap_or(1).max(1)
}

/// The case with as many of its timesteps as are counted, or its reduced form if that is about as
/// large; `None` if it has no timesteps, or no more.
fn shortened(case: &dyn LabCase) -> Option<Box<dyn LabCase>> {
    let reduced = case.reduced();
    let is_large = |smaller: &dyn LabCase| 2 * step_updates(smaller) >= step_updates(case);
    if let Some(reduced) = reduced.filter(|reduced| is_large(reduced.as_ref())) {
        return Some(reduced);
    }
    let of = case.timesteps()?;
    let steps = (MAX_UPDATES / step_updates(case).max(1)).clamp(1, MAX_STEPS);
    (steps < of).then(|| case.part(0, steps as u32)).flatten()
}
