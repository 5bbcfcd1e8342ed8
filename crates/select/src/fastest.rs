//! The variant that takes the least time, by the times in `tuned.toml`.
//!
//! Like is compared with like: variants that were timed on this GPU in the same cases, which are
//! those where the lab's own choice was timed. So a table with gaps never takes a variant for the
//! fastest because it was the only one to be timed.

use device::{DeviceInfo, DeviceKind};
use lab::{Lab, LabCase, Variant};

use crate::tuned::{Entry, Place, Table, cells, place, size};

/// Beyond the sizes that were timed, a case counts if it has no more than twice the cells, or half:
/// in powers of two.
const REACH: f64 = 1.0;
/// Sizes further apart than 16 times say little of those between: wave2d's `wavefront` is the
/// fastest at 3201^2, and neither at 1601^2 nor at 201^2.
const GAP: f64 = 4.0;

/// The times that make a variant the fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Fastest {
    /// The case that was timed; two, the smaller first, where it is one between them.
    pub at: Vec<Place>,
    /// Whether the case itself was timed. Otherwise times are estimates.
    pub is_measured: bool,
    /// The unit of the times: `us/step`.
    pub unit: String,
    /// Variants, each with its time, the fastest first.
    pub times: Vec<(&'static str, f64)>,
}

impl Table {
    /// The variant that takes the least time for a share of the case on one device like this, of
    /// those that `can` be taken; none where fewer than two were timed, or `by_lab`, which the lab
    /// takes, was not. Between two cases that were timed, the time grows by a power of the number
    /// of cells.
    pub fn fastest(
        &self,
        lab: &'static Lab,
        case: &dyn LabCase,
        info: &DeviceInfo,
        devices: u32,
        by_lab: &Variant,
        can: impl Fn(&Variant) -> bool,
    ) -> Option<(&'static Variant, Fastest)> {
        if info.kind != DeviceKind::Cuda {
            return None;
        }
        let own: Vec<&Entry> = self
            .entries
            .iter()
            .filter(|entry| entry.gpu == info.name && entry.lab == lab.name && entry.step.is_some())
            .collect();
        let of = |variant: &Variant| -> Vec<&Entry> {
            let entries = own.iter().copied();
            entries
                .filter(|entry| entry.variant == variant.name)
                .collect()
        };
        let share = size(cells(case) / u64::from(devices));
        let label = (devices == 1).then(|| case.label());
        let (at, weights) = around(&of(by_lab), label.as_deref(), share)?;
        let time = |variant: &Variant| -> Option<f64> {
            let entries = of(variant);
            let mut log_time = share;
            for (known, weight) in at.iter().zip(&weights) {
                let entry = entries.iter().find(|entry| entry.case == known.case)?;
                log_time += weight * (entry.step?.log2() - size(entry.cells));
            }
            Some(log_time.exp2())
        };
        // Whether one can be taken is known once its plan is recorded, so that is asked last.
        let timed = lab.variants.iter();
        let mut timed: Vec<(&'static Variant, f64)> = timed
            .filter_map(|variant| Some((variant, time(variant)?)))
            .filter(|(variant, _)| can(variant))
            .collect();
        timed.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let (first, _) = *timed.first().filter(|_| timed.len() > 1)?;
        let fastest = Fastest {
            is_measured: at.iter().any(|place| Some(&place.case) == label.as_ref()),
            unit: at[0].unit.clone(),
            at: at.iter().map(|entry| place(entry)).collect(),
            times: timed
                .iter()
                .map(|(variant, step)| (variant.name.as_str(), *step))
                .collect(),
        };
        Some((first, fastest))
    }
}

/// The entry of the case, or the two around its size, or the one that is near enough: [`GAP`],
/// [`REACH`]; each with its weight.
fn around<'t>(
    entries: &[&'t Entry],
    label: Option<&str>,
    own: f64,
) -> Option<(Vec<&'t Entry>, Vec<f64>)> {
    let distance = |entry: &&Entry| size(entry.cells) - own;
    let nearest = |a: &&Entry, b: &&Entry| distance(a).abs().total_cmp(&distance(b).abs());
    let entries = || entries.iter().copied();
    let same = entries().find(|entry| Some(&*entry.case) == label);
    // Another number of timesteps hardly changes the time of one.
    let of_size = || entries().find(|entry| distance(entry) == 0.0);
    if let Some(same) = same.or_else(of_size) {
        return Some((vec![same], vec![1.0]));
    }
    let below = entries().filter(|it| distance(it) <= 0.0).min_by(nearest);
    let above = entries().filter(|it| distance(it) > 0.0).min_by(nearest);
    if let Some((below, above)) = below.zip(above) {
        let gap = distance(&above) - distance(&below);
        if gap <= GAP {
            let share = -distance(&below) / gap;
            return Some((vec![below, above], vec![1.0 - share, share]));
        }
    }
    let ends = below.into_iter().chain(above);
    let near = ends
        .min_by(nearest)
        .filter(|it| distance(it).abs() <= REACH)?;
    Some((vec![near], vec![1.0]))
}
