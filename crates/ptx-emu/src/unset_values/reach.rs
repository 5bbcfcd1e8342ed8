//! Which registers of a function may be unset where an instruction reads them.

use super::Spaces;
use super::facts::{Facts, LoadsOwn, Rule};
use super::shadows::Numbers;
use crate::liveness::Liveness;

/// The registers that may be unset where an instruction reads them, in order. Those of `is_set` are
/// so where a frame is entered; `spaces` says where a generic address may lie. Without `liveness`,
/// whose function is too large for it, all count as read before they are written.
pub(super) fn maybe_unset(
    facts: &[Facts],
    liveness: Option<&Liveness>,
    numbers: Numbers,
    is_set: &[bool],
    spaces: Spaces,
) -> Vec<usize> {
    let mut open: Vec<usize> = match liveness {
        Some(liveness) => liveness.at_start(0).collect(),
        None => (0..numbers.count()).collect(),
    };
    open.retain(|&number| !is_set[number]);
    for each in facts {
        let loads_own = match each.rule {
            Rule::Memory(LoadsOwn::Yes) => true,
            Rule::Memory(LoadsOwn::Perhaps) => spaces.has_local,
            _ => false,
        };
        if loads_own {
            open.extend(writes(each, numbers));
        }
    }
    reached(facts, numbers, open)
}

/// Those and the registers that may be so by what is loaded from shared or global memory, in order.
pub(super) fn maybe_unset_late(facts: &[Facts], numbers: Numbers, early: &[usize]) -> Vec<usize> {
    let mut open = early.to_vec();
    for each in facts {
        if let Rule::Memory(LoadsOwn::Never | LoadsOwn::Perhaps) = each.rule {
            open.extend(writes(each, numbers));
        }
    }
    if open.len() == early.len() {
        open
    } else {
        reached(facts, numbers, open)
    }
}

/// The registers that an instruction writes.
fn writes(facts: &Facts, numbers: Numbers) -> impl Iterator<Item = usize> {
    let writes = facts.writes.clone().into_iter().flatten();
    writes.map(move |slot| numbers.of(slot))
}

/// These registers and those that are computed from them, in order.
fn reached(facts: &[Facts], numbers: Numbers, mut open: Vec<usize>) -> Vec<usize> {
    if open.is_empty() {
        return open;
    }
    let mut readers = vec![Vec::new(); numbers.count()];
    for (index, each) in facts.iter().enumerate() {
        if !matches!(each.rule, Rule::Strict | Rule::Memory(_)) {
            for slot in each.operands() {
                readers[numbers.of(slot)].push(index);
            }
        }
    }
    let mut is_unset = vec![false; numbers.count()];
    while let Some(number) = open.pop() {
        if !std::mem::replace(&mut is_unset[number], true) {
            let readers = std::mem::take(&mut readers[number]).into_iter();
            open.extend(readers.flat_map(|index| writes(&facts[index], numbers)));
        }
    }
    (0..numbers.count())
        .filter(|&number| is_unset[number])
        .collect()
}
