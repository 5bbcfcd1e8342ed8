//! Strata: the parts of a range where programs are wrong that are right elsewhere, and how a
//! grade's cases share them.
//!
//! A program may be wrong at one value in hundreds: at the least `k`, where a counter wraps, where
//! both extents are multiples of a warp. Independent draws meet such a value in few grades. So the
//! strata of a parameter are dealt like cards, one to each case that draws it: if there are as many
//! cases as strata, every grade has all of them, and otherwise the grade's number decides which.

use fastrand::Rng as Random;
use lab::Lab;

use super::CaseSpec;
use super::draw::{Range, TILES, common, whole};

/// A part of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stratum {
    /// The least value.
    Least,
    /// One more.
    Next,
    /// The greatest value.
    Most,
    /// A multiple of one of these tiles, and as much more as this, in -1..=1.
    Multiple(&'static [u64], i64),
    /// 1, 2, 4, ...; of numbers that are not whole, 1/2, 1/4, ... too: products by it are exact.
    PowerOfTwo,
    /// A few below this limit of a counter: the steps from there on are beyond.
    Below(u64),
    /// Near the least value of numbers that are not whole, at most ten times as much.
    Low,
    /// The value of this number in a list.
    Listed(usize),
    /// Wherever a draw without demands falls.
    Anywhere,
}

/// A property of all extents of a case at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Joint {
    /// They are equal.
    Equal,
    /// Each is a multiple of a warp's lanes.
    Multiples,
}

/// A wish that a draw fulfils.
#[derive(Debug, Clone, PartialEq)]
pub enum Demand {
    /// Of all extents.
    Extents(Joint),
    /// Of the parameter of this name.
    Parameter(String, Stratum),
}

const WARPS: &[u64] = &[32, 64];
const BLOCKS: &[u64] = &[128, 256];
/// Those that make [`Joint::Multiples`].
pub const MULTIPLES: &[u64] = &[32, 64, 128, 256];
/// Below a counter's limit by at most as much.
const NEAR: u64 = 8;

impl Stratum {
    /// A value of the range in the stratum; none if it has no such value.
    pub fn draw(self, range: &Range, random: &mut Random) -> Option<String> {
        match range {
            Range::Whole { from, to } => {
                let value = self.whole(*from, *to, random)?;
                Some(value.to_string())
            }
            Range::Real { from, to } => {
                let value = self.real(*from, *to, random)?;
                Some(value.to_string())
            }
            Range::OneOf(values) => match self {
                Stratum::Listed(number) => values.get(number).cloned(),
                _ => None,
            },
        }
    }

    fn whole(self, from: u64, to: u64, random: &mut Random) -> Option<u64> {
        let within = |first: u64, last: u64| {
            let (first, last) = (first.max(from), last.min(to));
            (first <= last).then_some((first, last))
        };
        match self {
            Stratum::Least => Some(from),
            Stratum::Next => (from < to).then_some(from + 1),
            Stratum::Most => Some(to),
            Stratum::Multiple(tiles, more) => {
                // The multiples that are in the range with as much more.
                let multiples = |tile: &u64| {
                    let first = from.saturating_add_signed(-more).div_ceil(*tile).max(1);
                    let last = to.saturating_add_signed(-more) / tile;
                    (first <= last).then_some((*tile, first, last))
                };
                let reached: Vec<_> = tiles.iter().filter_map(multiples).collect();
                let (tile, first, last) = *random.choice(&reached)?;
                Some((tile * whole(first, last, random)).saturating_add_signed(more))
            }
            Stratum::PowerOfTwo => {
                let powers: Vec<u64> = (0..40).map(|power| 1 << power).collect();
                let inside = powers.iter().filter(|power| (from..=to).contains(power));
                random.choice(inside.collect::<Vec<_>>()).copied()
            }
            Stratum::Below(limit) => {
                let (first, last) = within(limit - NEAR, limit - 1)?;
                Some(random.u64(first..=last))
            }
            Stratum::Low | Stratum::Listed(_) | Stratum::Anywhere => None,
        }
    }

    fn real(self, from: f64, to: f64, random: &mut Random) -> Option<f64> {
        match self {
            Stratum::Least => Some(from),
            Stratum::Most => Some(to),
            Stratum::PowerOfTwo => {
                let powers: Vec<f64> = (-20..20).map(|power| f64::powi(2.0, power)).collect();
                let inside = powers.iter().filter(|power| (from..=to).contains(power));
                random.choice(inside.collect::<Vec<_>>()).copied()
            }
            Stratum::Low if from > 0.0 => {
                let value = from * (1.0 + 9.0 * random.f64());
                // Six digits, and never beyond an end.
                let value = (value * 1e6).round() / 1e6;
                Some(value.clamp(from, to))
            }
            _ => None,
        }
    }

    /// Whether the range has such a value.
    fn is_in(self, range: &Range) -> bool {
        self == Stratum::Anywhere || self.draw(range, &mut Random::with_seed(0)).is_some()
    }
}

/// The strata of a range, whether it reaches them or not.
fn strata(range: &Range, is_extent: bool) -> Vec<Stratum> {
    use Stratum::{Anywhere, Below, Least, Low, Most, Multiple, Next, PowerOfTwo};
    match range {
        Range::Whole { .. } if is_extent => vec![
            Least,
            Next,
            Most,
            Multiple(WARPS, 0),
            Multiple(BLOCKS, 0),
            Multiple(&TILES, -1),
            Multiple(&TILES, 1),
            PowerOfTwo,
            Anywhere,
        ],
        Range::Whole { .. } => vec![
            Least,
            Next,
            Most,
            PowerOfTwo,
            Below(1 << 31),
            Below(1 << 32),
            Anywhere,
        ],
        Range::Real { .. } => vec![Least, Most, PowerOfTwo, Low, Anywhere],
        Range::OneOf(values) => (0..values.len()).map(Stratum::Listed).collect(),
    }
}

/// The demands on each of these cases, in which a grade's draws differ: dealt by `random`. Those
/// that can make a case too large are last: of extents, then of steps.
pub fn dealt(lab: &Lab, cases: &[CaseSpec], random: &mut Random) -> Vec<Vec<Demand>> {
    let is_extent = |name: &str| lab.extents.contains(&name);
    let joints = dealt_joints(lab, cases, random);
    let mut demands = vec![Vec::new(); cases.len()];
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in cases.iter().flat_map(drawn_parameters) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let is_taken = |number: usize| is_extent(name) && joints[number].is_some();
        let free = cases.iter().enumerate().filter(|case| !is_taken(case.0));
        let with_range = free.filter_map(|(number, case)| {
            let mut of = drawn_parameters(case);
            let (_, range) = of.find(|(other, _)| other == name)?;
            Some((number, range))
        });
        let ranges: Vec<(usize, &Range)> = with_range.collect();
        for (number, stratum) in dealt_strata(&ranges, is_extent(name), random) {
            demands[number].push(Demand::Parameter(name.clone(), stratum));
        }
    }
    let rank = |demand: &Demand| match demand {
        Demand::Extents(_) => 1,
        Demand::Parameter(name, _) if is_extent(name) => 1,
        Demand::Parameter(name, _) if lab.steps_parameter() == Some(name) => 2,
        Demand::Parameter(..) => 0,
    };
    for (own, joint) in demands.iter_mut().zip(joints) {
        own.extend(joint.map(Demand::Extents));
        own.sort_by_key(rank);
    }
    demands
}

/// The parameters that a case draws.
fn drawn_parameters(case: &CaseSpec) -> impl Iterator<Item = &(String, Range)> {
    case.ranges.iter().flat_map(|ranges| &ranges.of)
}

/// Which cases have which joint demand on their extents: at most a third of the cases, and one at
/// least if there is one that can.
fn dealt_joints(lab: &Lab, cases: &[CaseSpec], random: &mut Random) -> Vec<Option<Joint>> {
    let extents = |case: &CaseSpec| -> Vec<Range> {
        let of = drawn_parameters(case).filter(|(name, _)| lab.extents.contains(&name.as_str()));
        of.map(|(_, range)| range.clone()).collect()
    };
    let can = |joint: Joint, case: &CaseSpec| {
        let ranges = extents(case);
        let is_one = match joint {
            Joint::Equal => common(&ranges).is_some(),
            Joint::Multiples => {
                let multiple = Stratum::Multiple(MULTIPLES, 0);
                ranges.iter().all(|range| multiple.is_in(range))
            }
        };
        ranges.len() > 1 && is_one
    };
    let drawn = cases.iter().filter(|case| case.ranges.is_some()).count();
    let mut dealt = vec![None; cases.len()];
    let mut joints = [Joint::Equal, Joint::Multiples];
    random.shuffle(&mut joints);
    for joint in joints.into_iter().take((drawn / 3).max(1)) {
        let free = (0..cases.len()).filter(|number| dealt[*number].is_none());
        let able: Vec<usize> = free.filter(|number| can(joint, &cases[*number])).collect();
        if let Some(number) = random.choice(able) {
            dealt[number] = Some(joint);
        }
    }
    dealt
}

/// The strata of one parameter, dealt to the cases that draw it from these ranges: to each one at
/// most, and as many strata as can be.
fn dealt_strata(
    cases: &[(usize, &Range)],
    is_extent: bool,
    random: &mut Random,
) -> Vec<(usize, Stratum)> {
    let mut all: Vec<Stratum> = Vec::new();
    for stratum in cases.iter().flat_map(|(_, range)| strata(range, is_extent)) {
        if !all.contains(&stratum) {
            all.push(stratum);
        }
    }
    random.shuffle(&mut all);
    // Visible cases have extents below, at and above a warp; few have a multiple of a block's.
    all.sort_by_key(|stratum| *stratum != Stratum::Multiple(BLOCKS, 0));
    let able = |stratum: &Stratum| -> Vec<usize> {
        let mut able: Vec<usize> = (0..cases.len())
            .filter(|case| stratum.is_in(cases[*case].1))
            .collect();
        random.shuffle(&mut able);
        able
    };
    let able: Vec<Vec<usize>> = all.iter().map(able).collect();
    let mut owner: Vec<Option<usize>> = vec![None; cases.len()];
    for number in 0..all.len() {
        place(number, &able, &mut owner, &mut vec![false; cases.len()]);
    }
    let has = |(case, number): (usize, &Option<usize>)| Some((cases[case].0, all[(*number)?]));
    owner.iter().enumerate().filter_map(has).collect()
}

/// Gives the stratum of this number a case, if need be by moving others, which keep one.
fn place(
    number: usize,
    able: &[Vec<usize>],
    owner: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for &case in &able[number] {
        if std::mem::replace(&mut tried[case], true) {
            continue;
        }
        let is_free = match owner[case] {
            None => true,
            Some(other) => place(other, able, owner, tried),
        };
        if is_free {
            owner[case] = Some(number);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::lab_spec::{LabSpec, embedded, embedded_files};

    /// A file of lab wave2d with as many drawn cases of one kind.
    fn with_cases(count: usize) -> LabSpec {
        let mut text = String::from(
            "format_version = 1\nlab = \"wave2d\"\ntolerance = { rule = \"exact\" }\n",
        );
        for number in 0..count {
            text += &format!(
                "[[case]]\nname = \"case-{number}\"\ngroup = \"hidden\"\npoints = 1\nmost_updates = 4_000_000\n\
                 params = {{ n_x = {{ from = 3, to = 999 }}, n_y = {{ from = 3, to = 999 }}, steps = {{ from = 1, to = 9 }}, \
                 first_step = {{ from = 0, to = 4294967295 }}, k = {{ from = 0.001, to = 0.5 }} }}\n"
            );
        }
        LabSpec::parse(&text, "lab.toml").unwrap()
    }

    fn demanded(dealt: &[Vec<Demand>], name: &str) -> Vec<Stratum> {
        let own = dealt.iter().flatten().filter_map(|demand| match demand {
            Demand::Parameter(of, stratum) if of == name => Some(*stratum),
            _ => None,
        });
        own.collect()
    }

    #[test]
    fn every_stratum_has_a_case_where_there_are_enough() {
        let lab_spec = with_cases(12);
        for seed in 0..50 {
            let mut random = Random::with_seed(seed);
            let dealt = dealt(lab_spec.lab, &lab_spec.cases, &mut random);
            for (name, is_extent) in [("n_x", true), ("first_step", false), ("k", false)] {
                let ranges = &lab_spec.cases[0].ranges.as_ref().unwrap().of;
                let (_, range) = ranges.iter().find(|(of, _)| of == name).unwrap();
                let all = strata(range, is_extent);
                let found = demanded(&dealt, name);
                let missing = all.iter().find(|stratum| !found.contains(stratum));
                assert_eq!(missing, None, "{name}");
                assert_eq!(found.len(), all.len(), "one each");
            }
            for joint in [Joint::Equal, Joint::Multiples] {
                let own = dealt.iter().flatten();
                assert_eq!(own.filter(|own| **own == Demand::Extents(joint)).count(), 1);
            }
        }
    }

    #[test]
    fn strata_take_turns_where_there_are_few_cases() {
        let lab_spec = with_cases(1);
        let mut seen = Vec::new();
        for seed in 0..200 {
            let mut random = Random::with_seed(seed);
            let dealt = dealt(lab_spec.lab, &lab_spec.cases, &mut random);
            for stratum in demanded(&dealt, "first_step") {
                if !seen.contains(&stratum) {
                    seen.push(stratum);
                }
            }
        }
        assert_eq!(seen.len(), 7, "{seen:?}");
    }

    #[test]
    fn what_a_stratum_draws_is_in_it_and_in_the_range() {
        let mut random = Random::with_seed(1);
        let range = Range::Whole { from: 30, to: 700 };
        for stratum in strata(&range, true) {
            for _ in 0..100 {
                let Some(value) = stratum.draw(&range, &mut random) else {
                    assert_eq!(stratum, Stratum::Anywhere);
                    continue;
                };
                let value: u64 = value.parse().unwrap();
                assert!((30..=700).contains(&value), "{stratum:?} {value}");
                assert!(match stratum {
                    Stratum::Least => value == 30,
                    Stratum::Next => value == 31,
                    Stratum::Most => value == 700,
                    Stratum::Multiple(tiles, more) => tiles
                        .iter()
                        .any(|tile| value.wrapping_add_signed(-more) % tile == 0),
                    Stratum::PowerOfTwo => value.is_power_of_two(),
                    _ => false,
                });
            }
        }
        let none = Range::Whole { from: 33, to: 63 };
        assert!(!Stratum::PowerOfTwo.is_in(&none));
        assert!(!Stratum::Multiple(MULTIPLES, 0).is_in(&none));
        // One more than 32, and one less than 64, are.
        assert!(
            Stratum::Multiple(&TILES, 1).is_in(&none) && Stratum::Multiple(&TILES, -1).is_in(&none)
        );
        assert!(Stratum::Below(1 << 32).is_in(&Range::Whole {
            from: 9,
            to: u32::MAX.into()
        }));
        let low = Range::Real {
            from: 0.001,
            to: 0.5,
        };
        for _ in 0..100 {
            let value: f64 = Stratum::Low
                .draw(&low, &mut random)
                .unwrap()
                .parse()
                .unwrap();
            assert!((0.001..=0.01).contains(&value));
        }
    }

    /// A case without steps has no updates, and would be of any size.
    #[test]
    fn cases_without_steps_have_a_size_too() {
        let text = "format_version = 1\nlab = \"poisson\"\ntolerance = { rule = \"exact\" }\n\
             [[case]]\nname = \"drawn\"\ngroup = \"hidden\"\npoints = 1\nmost_updates = 30_000\n\
             params = { n = { from = 3, to = 600 }, iterations = { from = 0, to = 2 } }\n";
        let lab_spec = LabSpec::parse(text, "lab.toml").unwrap();
        let mut still = 0;
        for draw in 0..100 {
            let spec = &lab_spec.drawn(draw).cases[0];
            let number = |name: &str| -> u64 { spec.params.get(name).unwrap().parse().unwrap() };
            assert!(number("n") <= 33, "{spec:?}");
            still += u32::from(number("iterations") == 0);
        }
        assert!(still > 5, "{still}");
    }

    #[test]
    fn one_case_of_a_grade_is_huge_and_one_tiny() {
        for (name, ..) in embedded_files() {
            let lab_spec = embedded(name).unwrap();
            let Some(parameter) = lab_spec.lab.scale_parameter() else {
                assert_eq!(name, "membench");
                continue;
            };
            let mut scales = HashSet::new();
            for draw in 0..50 {
                let drawn = lab_spec.drawn(draw);
                let hidden = drawn.cases.iter().filter(|spec| spec.ranges.is_some());
                let own = hidden.filter_map(|spec| spec.params.get(parameter));
                let own: Vec<i32> = own.map(|scale| scale.parse().unwrap()).collect();
                let [one, other] = own[..] else {
                    panic!("{name} {draw}: {own:?}");
                };
                assert!(one == -other && (30..=60).contains(&one.abs()), "{own:?}");
                scales.extend(own);
            }
            assert!(scales.len() > 20, "{scales:?}");
        }
    }

    #[test]
    fn a_case_that_states_its_scale_keeps_it() {
        let mut lab_spec = with_cases(1);
        lab_spec.cases[0].params.set("scale", 0);
        for draw in 0..9 {
            assert_eq!(lab_spec.drawn(draw).cases[0].params.get("scale"), Some("0"));
        }
    }
}
