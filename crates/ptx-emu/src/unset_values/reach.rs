//! Which registers of a function may be unset where an instruction reads them.

use std::collections::HashMap;

use super::Spaces;
use super::facts::{Facts, Flow, LoadsOwn, Rule};
use super::shadows::Numbers;

/// Words of the tables that this may take, and, times this, the steps: a function for which they
/// are not enough counts all of its registers as perhaps unset.
const MAX_WORDS: usize = 1 << 22;
const MAX_ROUNDS: usize = 16;

/// The registers that may be unset where an instruction reads them, in order. Those of `is_set` are
/// so where a frame is entered; `spaces` says where a generic address may lie.
pub(super) fn maybe_unset(
    facts: &[Facts],
    numbers: Numbers,
    is_set: &[bool],
    spaces: Spaces,
) -> Vec<usize> {
    let mut open = unwritten(facts, numbers);
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

/// A part of a function that control enters at its start and leaves at its end, or a table of
/// targets.
#[derive(Default)]
struct Node {
    /// Registers that it reads before it writes them.
    reads: Vec<u64>,
    /// Registers that it writes.
    writes: Vec<u64>,
    successors: Vec<usize>,
}

/// The registers that some path reads before it writes them, and perhaps constants.
fn unwritten(facts: &[Facts], numbers: Numbers) -> Vec<usize> {
    let words = numbers.count().div_ceil(64);
    let all = || (0..numbers.count()).collect();
    let Some(nodes) = nodes(facts, numbers, words) else {
        return all();
    };
    // Registers that are read, at the start of each node, before they are written.
    let mut live: Vec<Vec<u64>> = nodes.iter().map(|node| node.reads.clone()).collect();
    let mut predecessors = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for &successor in &node.successors {
            predecessors[successor].push(index);
        }
    }
    let mut is_open = vec![true; nodes.len()];
    let mut open: Vec<usize> = (0..nodes.len()).collect();
    let mut steps = 0;
    while let Some(index) = open.pop() {
        is_open[index] = false;
        let after = live[index].clone();
        for &before in &predecessors[index] {
            steps += words;
            let mut changed = false;
            for ((word, later), writes) in live[before]
                .iter_mut()
                .zip(&after)
                .zip(&nodes[before].writes)
            {
                let new = *word | later & !writes;
                changed |= new != *word;
                *word = new;
            }
            if changed && !is_open[before] {
                is_open[before] = true;
                open.push(before);
            }
        }
        if steps > MAX_ROUNDS * MAX_WORDS {
            return all();
        }
    }
    let is_live = |number: &usize| live[0][number / 64] >> (number % 64) & 1 == 1;
    (0..numbers.count()).filter(is_live).collect()
}

/// The nodes of a function, in order, then those of its tables; `None` if they are too many.
fn nodes(facts: &[Facts], numbers: Numbers, words: usize) -> Option<Vec<Node>> {
    // Where a node starts; the last is the end.
    let mut starts = vec![false; facts.len() + 1];
    let mut tables: HashMap<*const u32, usize> = HashMap::new();
    for (index, each) in facts.iter().enumerate() {
        match &each.flow {
            Flow::Next => continue,
            Flow::Branch(target) => starts[*target as usize] = true,
            Flow::Table(targets) => {
                let next = tables.len();
                if *tables.entry(targets.as_ptr()).or_insert(next) == next {
                    targets
                        .iter()
                        .for_each(|&target| starts[target as usize] = true);
                }
            }
            Flow::End => {}
        }
        starts[index + 1] = true;
    }
    let mut count = 0;
    let node_of: Vec<usize> = (0..=facts.len())
        .map(|index| {
            count += usize::from(starts[index] && index > 0);
            count
        })
        .collect();
    let blocks = count + 1;
    if (blocks + tables.len()).saturating_mul(words) > MAX_WORDS {
        return None;
    }
    let mut nodes: Vec<Node> = (0..blocks + tables.len())
        .map(|_| Node {
            reads: vec![0; words],
            writes: vec![0; words],
            successors: Vec::new(),
        })
        .collect();
    for (index, each) in facts.iter().enumerate() {
        let node = &mut nodes[node_of[index]];
        for slot in each.all_reads() {
            let number = numbers.of(slot);
            let bit = 1 << (number % 64);
            node.reads[number / 64] |= bit & !node.writes[number / 64];
        }
        if each.guard.is_none() {
            for slot in each.writes.iter().flatten() {
                let number = numbers.of(*slot);
                node.writes[number / 64] |= 1 << (number % 64);
            }
        }
        let goes_on = matches!(each.flow, Flow::Next) || each.guard.is_some();
        if goes_on && node_of[index + 1] != node_of[index] {
            node.successors.push(node_of[index + 1]);
        }
        match &each.flow {
            Flow::Branch(target) => node.successors.push(node_of[*target as usize]),
            Flow::Table(targets) => {
                let table = blocks + tables[&targets.as_ptr()];
                node.successors.push(table);
                if nodes[table].successors.is_empty() {
                    nodes[table].successors = targets
                        .iter()
                        .map(|&target| node_of[target as usize])
                        .collect();
                }
            }
            Flow::Next | Flow::End => {}
        }
    }
    Some(nodes)
}
