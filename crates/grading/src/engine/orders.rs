//! The orders of its threads that a case runs in, if what a program computes may depend on them.
//!
//! A small case runs in all orders of the device. In a large one that takes long, and shows little
//! that small ones do not, so it has its share: the plain order, and the next of the others, which
//! the cases of the lab are dealt in turn. The largest have the plain one alone. How large a case
//! is its lab says, not the submission, which has no say in how often it is looked at.

use super::case::CaseSetup;
use super::seeds::Seeds;
use crate::lab_spec::{CaseSpec, LabSpec};

/// Updates of a case in all of its orders together, beyond which it has fewer of them.
const UPDATES: u64 = 500_000;
/// The least orders of a case that runs in several.
const LEAST: u32 = 3;
/// Updates beyond which a case runs once: it is there for its size.
const ONCE: u64 = 1_000_000;

/// The orders of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orders {
    /// Those of the device for this plan, the plain one among them.
    of_device: u32,
    /// Those of this case.
    count: u32,
    /// Its first beside the plain one, counted from that.
    first: u32,
    /// It runs once.
    is_large: bool,
}

impl Orders {
    /// Those of a case on this device.
    pub(super) fn of(setup: &CaseSetup<'_>) -> Orders {
        let CaseSetup {
            device,
            lab_spec,
            spec,
            subject,
            seeds,
        } = setup;
        let of_device = device.orders(subject.module, subject.plan);
        Orders::dealt(of_device, lab_spec, spec, *seeds)
    }

    fn dealt(of_device: u32, lab_spec: &LabSpec, spec: &CaseSpec, seeds: Seeds) -> Orders {
        let updates = |of: &CaseSpec| -> u64 {
            let case = of.with_seed(lab_spec.lab, 1);
            case.map_or(0, |case| case.work().updates)
        };
        let count = |of_case: u64| {
            let share = UPDATES.checked_div(of_case).unwrap_or(u64::MAX);
            let least = if of_case > ONCE {
                1
            } else {
                LEAST.min(of_device)
            };
            share.clamp(least.into(), of_device.into()) as u32
        };
        let before = { lab_spec.cases.iter() }.take_while(|other| other.name != spec.name);
        let dealt: u32 = { before.map(|other| count(updates(other))) }
            .filter(|count| *count < of_device)
            .map(|count| count - 1)
            .sum();
        let others = u64::from(of_device - 1).max(1);
        let start = seeds.number("", "orders", 0) % others;
        let own = updates(spec);
        Orders {
            of_device,
            count: count(own),
            first: ((start + u64::from(dealt)) % others) as u32,
            is_large: own > ONCE,
        }
    }

    /// How many they are.
    pub(super) fn count(self) -> u32 {
        self.count
    }

    /// How many samples of the case run where a small one has `least` of them.
    pub(super) fn samples(self, least: u32) -> u32 {
        self.count.max(if self.is_large { 1 } else { least })
    }

    /// The device's number of a sample's order.
    pub(super) fn of_sample(self, sample: u32) -> u32 {
        let others = self.of_device - 1;
        match (sample % self.count).checked_sub(1) {
            Some(next) => 1 + (self.first + next) % others,
            None => 0,
        }
    }

    /// Whether a sample runs in the plain order.
    pub(super) fn is_plain(self, sample: u32) -> bool {
        sample.is_multiple_of(self.count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Small and large cases in turn: of 9 updates, and of 998 x 998.
    fn lab_spec() -> LabSpec {
        let mut text = String::from(
            "format_version = 1\nlab = \"wave2d\"\ntolerance = { rule = \"exact\" }\n",
        );
        for number in 0..8 {
            let extent = [5, 1000][number % 2];
            text += &format!(
                "[[case]]\nname = \"case-{number}\"\ngroup = \"small\"\npoints = 1\n\
                 params = {{ n_x = {extent}, n_y = {extent}, steps = 1 }}\n"
            );
        }
        LabSpec::parse(&text, "lab.toml").unwrap()
    }

    fn numbers(of_device: u32, case: usize, seed: u64) -> Vec<u32> {
        let lab_spec = lab_spec();
        let orders = Orders::dealt(of_device, &lab_spec, &lab_spec.cases[case], Seeds(seed));
        (0..orders.count()).map(|at| orders.of_sample(at)).collect()
    }

    #[test]
    fn a_small_case_has_all_orders_and_a_large_one_its_share() {
        for seed in 0..20 {
            let mut of_large = HashSet::new();
            for case in 0..8 {
                let numbers = numbers(9, case, seed);
                assert_eq!(numbers[0], 0);
                let own: HashSet<u32> = numbers.iter().copied().collect();
                assert_eq!(own.len(), [9, 3][case % 2], "{numbers:?}");
                of_large.extend(own.into_iter().filter(|_| case % 2 == 1));
            }
            assert_eq!(of_large.len(), 9, "the large ones together have all");
        }
    }

    #[test]
    fn which_orders_a_large_case_has_is_secret() {
        let first: HashSet<u32> = (0..50).map(|seed| numbers(9, 1, seed)[1]).collect();
        assert!(first.len() > 4, "{first:?}");
    }

    #[test]
    fn a_device_with_few_orders_leaves_none_out() {
        for case in 0..2 {
            assert_eq!(numbers(1, case, 7), [0]);
            assert_eq!(numbers(2, case, 7), [0, 1]);
            assert_eq!(numbers(3, case, 7).len(), 3);
        }
    }

    #[test]
    fn the_largest_cases_run_once() {
        let lab_spec = lab_spec();
        let samples = |of_device, case: usize| {
            let orders = Orders::dealt(of_device, &lab_spec, &lab_spec.cases[case], Seeds(7));
            orders.samples(2)
        };
        assert_eq!([samples(1, 0), samples(9, 0)], [2, 9]);
        let mut large = lab_spec.clone();
        large.cases[1].params.set("steps", 2);
        let orders = |of_device| Orders::dealt(of_device, &large, &large.cases[1], Seeds(7));
        assert_eq!([samples(1, 1), orders(1).samples(2)], [2, 1]);
        assert_eq!(orders(9).samples(2), 1);
    }

    #[test]
    fn a_sample_beyond_the_orders_begins_with_the_plain_one() {
        let lab_spec = lab_spec();
        let orders = Orders::dealt(9, &lab_spec, &lab_spec.cases[1], Seeds(7));
        assert!(orders.is_plain(0) && orders.is_plain(3) && !orders.is_plain(4));
        assert_eq!(orders.of_sample(4), orders.of_sample(1));
    }
}
