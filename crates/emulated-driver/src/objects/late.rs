//! The order in which late streams go on: see `driver/late.rs`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::graph::GraphWork;
use super::stream::StreamKey;

/// The most pieces of work that wait, so that a program which never waits does not fill memory.
pub(crate) const MOST: usize = 1024;

/// The order in which late streams go on.
#[derive(Debug)]
pub(crate) struct Late {
    seed: u64,
    /// How much each stream has done.
    done: BTreeMap<StreamKey, u64>,
    graphs: u64,
}

impl Late {
    pub(crate) fn new(seed: u64) -> Late {
        Late {
            seed,
            done: BTreeMap::new(),
            graphs: 0,
        }
    }

    /// Of streams that may go on, the one with the least rank does. A stream keeps its rank for a
    /// while, so that one is late as a whole; for how long depends on the seed.
    pub(crate) fn rank(&self, key: StreamKey) -> u64 {
        let kept = [64, 8, 1][(self.seed % 3) as usize];
        let done = self.done.get(&key).copied().unwrap_or(0);
        let StreamKey { context, stream } = key;
        [context as u64, stream as u64, done / kept]
            .into_iter()
            .fold(self.seed, |mixed, part| mix(mixed ^ part))
    }

    /// A stream has done a piece of work.
    pub(crate) fn has_done(&mut self, key: StreamKey) {
        *self.done.entry(key).or_default() += 1;
    }

    /// The nodes of a graph, each behind those that it follows.
    pub(crate) fn nodes(&mut self, graph: &GraphWork) -> Vec<usize> {
        self.graphs += 1;
        let mut left: Vec<usize> = graph.behind.iter().map(Vec::len).collect();
        let mut followers = vec![Vec::new(); left.len()];
        for (node, behind) in graph.behind.iter().enumerate() {
            for before in behind {
                followers[*before].push(node);
            }
        }
        let rank = |node: usize| (mix(mix(self.seed ^ self.graphs) ^ node as u64), node);
        let roots = (0..left.len()).filter(|node| left[*node] == 0);
        let mut ready: BinaryHeap<_> = roots.map(|node| Reverse(rank(node))).collect();
        let mut order = Vec::with_capacity(left.len());
        while let Some(Reverse((_, node))) = ready.pop() {
            order.push(node);
            for &follower in &followers[node] {
                left[follower] -= 1;
                if left[follower] == 0 {
                    ready.push(Reverse(rank(follower)));
                }
            }
        }
        order
    }
}

/// Bits that look drawn (the finisher of SplitMix64).
fn mix(of: u64) -> u64 {
    let mut bits = of.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::work::Work;

    #[test]
    fn nodes_stand_behind_those_that_they_follow_in_each_order() {
        let behind = vec![vec![], vec![], vec![0], vec![1, 2], vec![]];
        let graph = GraphWork {
            work: vec![Work::Nothing; 5],
            behind,
            ..GraphWork::default()
        };
        let mut orders: Vec<Vec<usize>> =
            (1..40).map(|seed| Late::new(seed).nodes(&graph)).collect();
        for order in &orders {
            let place = |node| order.iter().position(|at| *at == node).unwrap();
            for (node, follows) in graph.behind.iter().enumerate() {
                assert!(follows.iter().all(|before| place(*before) < place(node)));
            }
        }
        orders.sort();
        orders.dedup();
        assert!(orders.len() > 5, "{orders:?}");
    }

    #[test]
    fn each_of_two_streams_is_first_in_some_orders() {
        let key = |stream| StreamKey {
            context: 16,
            stream,
        };
        let is_first = |seed| {
            let late = Late::new(seed);
            late.rank(key(32)) < late.rank(key(48))
        };
        let first = (1..=20).filter(|seed| is_first(*seed)).count();
        assert!((5..=15).contains(&first), "{first}");
    }
}
