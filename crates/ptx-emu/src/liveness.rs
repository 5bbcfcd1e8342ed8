//! Which registers of a function are read later: the parts of its code, and the registers that are
//! live at the start of each.

use std::collections::HashMap;
use std::ops::Range;

use crate::unset_values::facts::{Facts, Flow};
use crate::unset_values::shadows::Numbers;

/// Words of the tables that this may take, and, times `MAX_ROUNDS`, the steps.
const MAX_WORDS: usize = 1 << 22;
const MAX_ROUNDS: usize = 16;

/// A part of a function that control enters at its start and leaves at its end, or a table of
/// targets.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// The instructions that it has, by position in the function.
    pub(crate) instructions: Range<usize>,
    /// Registers that it reads before it writes them.
    reads: Vec<u64>,
    /// Registers that it writes.
    writes: Vec<u64>,
    pub(crate) successors: Vec<usize>,
}

/// The parts of a function's code, and the registers that some path from there reads before it
/// writes them, and perhaps constants.
#[derive(Debug)]
pub(crate) struct Liveness {
    /// In the order of the text, the function's entry first; then the tables.
    pub(crate) nodes: Vec<Node>,
    /// A bit for each register, at the start of each node.
    live: Vec<Vec<u64>>,
}

impl Liveness {
    /// That of a function; `None` if it is too large.
    pub(crate) fn of(facts: &[Facts], numbers: Numbers) -> Option<Self> {
        let words = numbers.count().div_ceil(64);
        let nodes = nodes(facts, numbers, words)?;
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
                return None;
            }
        }
        Some(Self { nodes, live })
    }

    /// The numbers of the registers that are live at the start of a node, in order.
    pub(crate) fn at_start(&self, node: usize) -> impl Iterator<Item = usize> {
        numbers_of(&self.live[node])
    }

    /// A bit for each register that is live at the end of a node.
    pub(crate) fn at_end(&self, node: usize) -> Vec<u64> {
        let mut all = vec![0; self.live[node].len()];
        for &successor in &self.nodes[node].successors {
            for (word, live) in all.iter_mut().zip(&self.live[successor]) {
                *word |= live;
            }
        }
        all
    }
}

/// The numbers of the bits that are set, in order.
pub(crate) fn numbers_of(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(64 * index + bit)
        })
    })
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
            ..Node::default()
        })
        .collect();
    for node in &mut nodes {
        node.instructions = facts.len()..facts.len();
    }
    for (index, each) in facts.iter().enumerate() {
        let node = &mut nodes[node_of[index]];
        node.instructions.start = node.instructions.start.min(index);
        node.instructions.end = index + 1;
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
