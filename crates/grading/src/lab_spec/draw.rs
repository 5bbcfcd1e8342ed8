//! Cases whose parameters are drawn from ranges for each grade, so that no size and no number of
//! steps is safe.
//!
//! Programs are wrong at edges, so draws favour them: half of all extents are beside or at a
//! multiple of a block's usual extents, one case in eight has equal extents, and one value in eight
//! is at or beside an end of its range. `shares.rs` holds how often a grade meets what.
//!
//! Beyond that, the cases of a grade share the strata of each range between them: see `strata`.
//!
//! The ends of the ranges make cases that the lab accepts, each end with each of the others': the
//! file's check has tried them. The other drawn cases take at most [`Ranges::most_updates`], which
//! bounds the time of a grade: draws that take more are drawn again.

use std::ops::RangeInclusive;

use fastrand::Rng as Random;
use lab::{CaseParams, Lab, MAX_SCALE};

use super::strata::{Demand, Joint, MULTIPLES, Stratum, dealt};
use super::{CaseSpec, LabSpec};
use crate::engine::Seeds;

/// The most combinations of ends that are tried when a file is read: those of 12 ranges.
pub const MAX_CORNERS: usize = 1 << 12;
/// Drawn whole numbers are below this.
pub const MAX_DRAWN: u64 = 1 << 40;
/// Draws of a case that takes too long, before its smallest one is taken. A file where that is
/// likely is refused.
const MAX_ATTEMPTS: u32 = 1000;
/// Draws of a case that takes too long, before one demand less is made of it.
const ATTEMPTS_EACH: u32 = 80;
/// Steps between the ends of a range of numbers that are not whole.
const REAL_STEPS: u64 = 1000;
/// Extents of blocks and tiles. Programs are wrong just below and just above their multiples.
pub const TILES: [u64; 5] = [8, 32, 64, 128, 256];
/// One value in eight is at an end of its range, and one case in eight has equal extents.
const SELDOM: u32 = 8;

/// The range of a parameter's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Range {
    /// Whole numbers, both ends included.
    Whole {
        /// The least.
        from: u64,
        /// The greatest.
        to: u64,
    },
    /// Numbers, both ends included.
    Real {
        /// The least.
        from: f64,
        /// The greatest.
        to: f64,
    },
    /// One of these, as `lab.toml` has them.
    OneOf(Vec<String>),
}

impl Range {
    /// The ends of the range; of a list, all of it.
    fn ends(&self) -> Vec<String> {
        match self {
            Range::Whole { from, to } => vec![from.to_string(), to.to_string()],
            Range::Real { from, to } => vec![from.to_string(), to.to_string()],
            Range::OneOf(values) => values.clone(),
        }
    }

    fn draw(&self, random: &mut Random) -> String {
        let is_at_end = random.u32(..SELDOM) == 0;
        match self {
            Range::Whole { from, to } if is_at_end => {
                let inside = random.u64(0..=1).min(to - from);
                let ends = [from + inside, to - inside];
                ends[random.usize(..2)].to_string()
            }
            Range::Whole { from, to } => whole(*from, *to, random).to_string(),
            Range::Real { from, to } => {
                let step = if is_at_end {
                    [0, 1, REAL_STEPS - 1, REAL_STEPS][random.usize(..4)]
                } else {
                    random.u64(0..=REAL_STEPS)
                };
                let value = from + (to - from) * (step as f64 / REAL_STEPS as f64);
                // Six digits, and never beyond an end.
                let value = (value * 1e6).round() / 1e6;
                value.clamp(*from, *to).to_string()
            }
            Range::OneOf(values) => values[random.usize(..values.len())].clone(),
        }
    }
}

/// An extent in the range: in half of all draws at or beside a multiple of a tile, where there is
/// one.
fn extent(from: u64, to: u64, random: &mut Random) -> u64 {
    if random.bool() {
        return whole(from, to, random);
    }
    // The multiples that have a neighbour in the range.
    let multiples = |tile: u64| {
        (
            from.saturating_sub(1).div_ceil(tile).max(1),
            (to + 1) / tile,
        )
    };
    let has_one = |tile: &u64| {
        let (first, last) = multiples(*tile);
        first <= last
    };
    let tiles: Vec<u64> = TILES.into_iter().filter(has_one).collect();
    if tiles.is_empty() {
        return whole(from, to, random);
    }
    let tile = tiles[random.usize(..tiles.len())];
    let (first, last) = multiples(tile);
    let multiple = tile * whole(first, last, random);
    let beside = [multiple - 1, multiple, multiple + 1];
    let within: Vec<u64> = beside
        .into_iter()
        .filter(|extent| (from..=to).contains(extent))
        .collect();
    within[random.usize(..within.len())]
}

/// A number in the range, each doubling as likely as the others: small ones and great ones alike.
/// In whole numbers, so that every machine draws the same.
pub fn whole(from: u64, to: u64, random: &mut Random) -> u64 {
    let (least, most) = (from + 1, to + 1);
    let doubling = random.u32(0..=(most / least).ilog2());
    let low = least << doubling;
    random.u64(low..=most.min(2 * low - 1)) - 1
}

/// The whole numbers that all of these ranges have.
pub fn common<'r>(ranges: impl IntoIterator<Item = &'r Range>) -> Option<(u64, u64)> {
    let mut common = (0, MAX_DRAWN);
    for range in ranges {
        let Range::Whole { from, to } = range else {
            return None;
        };
        common = (common.0.max(*from), common.1.min(*to));
    }
    (common.0 <= common.1).then_some(common)
}

/// The ranges of a case's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranges {
    /// By the parameters' names.
    pub of: Vec<(String, Range)>,
    /// The most updates that a drawn case may have: see [`lab::Work`].
    pub most_updates: u64,
}

impl Ranges {
    /// How many combinations of ends there are.
    pub fn corners(&self) -> usize {
        let ends = self.of.iter().map(|(_, range)| range.ends().len());
        ends.fold(1, usize::saturating_mul)
    }

    /// The combination of ends of this number, set in `params`: that of number 0 is the least.
    pub fn corner(&self, mut number: usize, params: &CaseParams) -> CaseParams {
        let mut params = params.clone();
        for (name, range) in &self.of {
            let ends = range.ends();
            params.set(name, &ends[number % ends.len()]);
            number /= ends.len();
        }
        params
    }

    /// Parameters in these ranges, as far as there are some also as demanded.
    fn drawn(&self, lab: &Lab, params: &CaseParams, demands: &[Demand], seed: u64) -> CaseParams {
        let mut random = Random::with_seed(seed);
        let joint = demands.iter().find_map(|demand| match demand {
            Demand::Extents(joint) => Some(*joint),
            Demand::Parameter(..) => None,
        });
        let demanded = |name: &str| {
            demands.iter().find_map(|demand| match demand {
                Demand::Parameter(of, stratum) if of == name => Some(*stratum),
                _ => None,
            })
        };
        let is_extent = |name: &str| lab.extents.contains(&name);
        let extents = self.of.iter().filter(|(name, _)| is_extent(name));
        let is_equal = joint == Some(Joint::Equal) || random.u32(..SELDOM) == 0;
        let equal = match common(extents.map(|(_, range)| range)) {
            Some((from, to)) if is_equal => Some(extent(from, to, &mut random)),
            _ => None,
        };
        let mut params = params.clone();
        for (name, range) in &self.of {
            let stratum = match joint {
                Some(Joint::Multiples) if is_extent(name) => Some(Stratum::Multiple(MULTIPLES, 0)),
                _ => demanded(name),
            };
            let in_stratum = stratum.and_then(|stratum| stratum.draw(range, &mut random));
            let value = in_stratum.unwrap_or_else(|| match range {
                Range::Whole { from, to } if is_extent(name) => {
                    let extent = equal.unwrap_or_else(|| extent(*from, *to, &mut random));
                    extent.to_string()
                }
                _ => range.draw(&mut random),
            });
            params.set(name, value);
        }
        params
    }
}

impl CaseSpec {
    /// The case with parameters that follow from this number, if it is one that is drawn; itself if
    /// not. `None` if not one of `attempts` draws is allowed. Demands that leave no such case are
    /// dropped, the last ones first.
    pub fn drawn_within(
        &self,
        lab: &Lab,
        draw: u64,
        demands: &[Demand],
        attempts: u32,
    ) -> Option<CaseSpec> {
        let Some(ranges) = &self.ranges else {
            return Some(self.clone());
        };
        let drawn = |attempt| {
            let dropped = (attempt / ATTEMPTS_EACH) as usize;
            let kept = &demands[..demands.len().saturating_sub(dropped)];
            let seed = Seeds(draw).number(&self.name, "draw", attempt);
            CaseSpec {
                params: ranges.drawn(lab, &self.params, kept, seed),
                ..self.clone()
            }
        };
        let is_allowed = |spec: &CaseSpec| {
            let case = spec.with_a_step(lab).with_seed(lab, 1);
            case.is_ok_and(|case| case.work().updates <= ranges.most_updates)
        };
        (0..attempts).map(drawn).find(is_allowed)
    }

    /// The case with one step at least: without any it has no updates, however many elements.
    fn with_a_step(&self, lab: &Lab) -> CaseSpec {
        let mut spec = self.clone();
        if let Some(name) = lab.steps_parameter()
            && spec.params.get(name) == Some("0")
        {
            spec.params.set(name, 1);
        }
        spec
    }

    /// The case with parameters that follow from this number.
    fn drawn(&self, lab: &Lab, draw: u64, demands: &[Demand]) -> CaseSpec {
        self.drawn_within(lab, draw, demands, MAX_ATTEMPTS)
            .unwrap_or_else(|| self.clone())
    }
}

impl LabSpec {
    /// The file with the parameters that follow from this number, where some are drawn.
    pub fn drawn(&self, draw: u64) -> LabSpec {
        let mut random = Random::with_seed(Seeds(draw).number("", "strata", 0));
        let demands = dealt(self.lab, &self.cases, &mut random);
        let cases = self.cases.iter().zip(&demands);
        let mut cases: Vec<CaseSpec> = cases
            .map(|(spec, own)| spec.drawn(self.lab, draw, own))
            .collect();
        scale_some(self.lab, &mut cases, &mut random);
        LabSpec {
            cases,
            draw: self.draws().then_some(draw),
            ..self.clone()
        }
    }
}

/// Scales the inputs of some drawn cases by a power of two, where the lab can: of one case, up or
/// down, or of two, one each, where there are enough that most have the lab's own sizes.
fn scale_some(lab: &Lab, cases: &mut [CaseSpec], random: &mut Random) {
    /// From this many drawn cases on, two.
    const ENOUGH: usize = 4;
    /// Beyond what clamps of 1e9 and thresholds of 1e-9 leave as it is.
    const SCALES: RangeInclusive<i32> = 30..=MAX_SCALE;
    let Some(name) = lab.scale_parameter() else {
        return;
    };
    let is_free = |spec: &&mut CaseSpec| spec.ranges.is_some() && spec.params.get(name).is_none();
    let mut free: Vec<&mut CaseSpec> = cases.iter_mut().filter(is_free).collect();
    random.shuffle(&mut free);
    let scaled = if free.len() < ENOUGH { 1 } else { 2 };
    let mut scale = random.i32(SCALES) * if random.bool() { 1 } else { -1 };
    for spec in free.into_iter().take(scaled) {
        spec.params.set(name, scale);
        scale = -scale;
    }
}
