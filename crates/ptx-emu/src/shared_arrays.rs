//! The shared array that an address was computed from.
//!
//! The shared arrays of a kernel are adjacent, so an index past the end of one lands in another,
//! inside of shared memory. By then the address is a number like any other. So each function is
//! looked at when its module is read: an address that begins with the address of one array, to
//! which numbers are added, stays an address of that array, and an access by it outside of that
//! array is a fault.
//!
//! A register counts for the whole function, with all that is written to it. Where a register may
//! hold an address of another array, or anything that is not known to be a number (arguments of
//! functions, what comes from local memory, differences of addresses), nothing is concluded. So a
//! program that finds its way from one array to the next by the distance between them is not
//! flagged, and neither is one that divides an array of its own.
//!
//! Addresses that begin in local or dynamic shared memory are followed in the same way, so that a
//! message can say of an address near 0 which offset it is.

use std::collections::{HashMap, HashSet};

use ptx::Space;

use crate::address_origin::{ArrayBounds, Makes, Place, Variable};
use crate::registers::Slot;
use crate::unset_values::facts::{Facts, Rule};

/// The content of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// No address of shared memory.
    Number,
    /// The address of an array, and more.
    Of(ArrayBounds),
    /// An address in a space, and more.
    In(Space),
    Anything,
}

/// The origin of an address.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base {
    /// The shared array.
    pub(crate) array: Option<ArrayBounds>,
    /// The space of the variable: the address may be an offset in it.
    pub(crate) space: Option<Space>,
}

/// For each instruction of a function what its address was computed from, if it has one address.
/// The function's parameters lie in these registers.
pub(crate) fn bases(facts: &[Facts], parameters: &[Slot]) -> Vec<Base> {
    let named = || facts.iter().flat_map(|facts| &facts.variables);
    let origins = if named().any(|(_, variable)| *variable != Variable::Elsewhere) {
        origins(facts, parameters)
    } else {
        HashMap::new()
    };
    let base = |one: &Facts| {
        let origin = match one.places[..] {
            [Place::Array(array)] => Some(Origin::Of(array)),
            [Place::Register(slot)] => origins.get(&slot).copied(),
            _ => None,
        };
        match origin {
            Some(Origin::Of(array)) => Base {
                array: Some(array),
                space: Some(Space::Shared),
            },
            Some(Origin::In(space)) => Base {
                array: None,
                space: Some(space),
            },
            _ => Base::default(),
        }
    };
    facts.iter().map(base).collect()
}

/// The origin of each register that some instruction writes.
fn origins(facts: &[Facts], parameters: &[Slot]) -> HashMap<Slot, Origin> {
    let written: HashSet<Slot> = facts
        .iter()
        .flat_map(|facts| facts.writes.iter().flatten().copied())
        .collect();
    let anything = parameters.iter().map(|&slot| (slot, Origin::Anything));
    let mut origins: HashMap<Slot, Origin> = anything.collect();
    // An origin changes at most twice, and rarely more than once.
    loop {
        let mut has_changed = false;
        for each in facts.iter().filter(|each| !each.writes.is_empty()) {
            let of = |(index, slot): (usize, &Slot)| {
                let mut variables = each.variables.iter();
                match variables.find(|(variable, _)| *variable == index) {
                    Some((_, Variable::Array(array))) => Some(Origin::Of(*array)),
                    Some((_, Variable::In(space))) => Some(Origin::In(*space)),
                    Some((_, Variable::Elsewhere)) => Some(Origin::Anything),
                    None => match origins.get(slot) {
                        // Constants are numbers; others are not known yet.
                        None => (!written.contains(slot)).then_some(Origin::Number),
                        origin => origin.copied(),
                    },
                }
            };
            let operands: Option<Vec<Origin>> = each.reads.iter().enumerate().map(of).collect();
            let Some(operands) = operands else { continue };
            let made = made(each, &operands);
            for &slot in each.writes.iter().flatten() {
                let joined = match origins.get(&slot) {
                    None => made,
                    Some(&before) if before == made => before,
                    Some(_) => Origin::Anything,
                };
                has_changed |= origins.insert(slot, joined) != Some(joined);
            }
        }
        if !has_changed {
            return origins;
        }
    }
}

/// The origin of the results of an instruction with these operands.
fn made(facts: &Facts, operands: &[Origin]) -> Origin {
    let are_numbers = |some: &[Origin]| some.iter().all(|it| *it == Origin::Number);
    let only = |some: &[Origin]| {
        if are_numbers(some) {
            Origin::Number
        } else {
            Origin::Anything
        }
    };
    // A loaded value is data, whatever it was loaded from.
    if let (Rule::Memory(_), Makes::Number) = (facts.rule, facts.makes) {
        return Origin::Number;
    }
    match (facts.makes, operands) {
        (Makes::Anything, _) => Origin::Anything,
        (Makes::OneOf, [one]) if facts.writes.len() == 1 => *one,
        (Makes::OneOf, [one, other]) if facts.rule == Rule::Select && one == other => *one,
        (Makes::Sum, [a, b]) if are_numbers(&[*a]) => *b,
        (Makes::Sum | Makes::Difference, [a, b]) if are_numbers(&[*b]) => *a,
        (Makes::Sum, [a, b, c]) if are_numbers(&[*a, *b]) => *c,
        _ => only(operands),
    }
}
