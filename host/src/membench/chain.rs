//! Random cycles for pointer chases.

/// The successor of each of `nodes` nodes. The nodes form one cycle, and every such cycle is
/// equally likely.
///
/// S. Sattolo, "An algorithm to generate a random cyclic permutation", Information Processing
/// Letters 22 (1986).
pub fn random_cycle(nodes: u32, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut next: Vec<u32> = (0..nodes).collect();
    for i in (1..nodes as usize).rev() {
        // The index is strictly below i, unlike in a shuffle: the result is therefore a single
        // cycle.
        next.swap(i, random.usize(0..i));
    }
    next
}

/// The node that `steps` steps from node 0 lead to.
///
/// # Panics
///
/// If `next` is empty or contains an index beyond its end.
pub fn walk(next: &[u32], steps: u64) -> u32 {
    // A cycle of n nodes repeats after n steps.
    let steps = steps % next.len() as u64;
    (0..steps).fold(0, |node, _| next[node as usize])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_cycle_of_four_is_as_likely() {
        let mut seen = std::collections::BTreeMap::new();
        for seed in 0..6000 {
            *seen.entry(random_cycle(4, seed)).or_insert(0) += 1;
        }
        // 3! cycles. A binomial of 6000 and 1/6 has a standard deviation of 29.
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|n| (850..1150).contains(n)), "{seen:?}");
    }

    proptest! {
        #[test]
        fn a_cycle_visits_every_node_once(nodes in 1_u32..500, seed in any::<u64>()) {
            let next = random_cycle(nodes, seed);
            let mut visited = vec![false; nodes as usize];
            let mut node = 0;
            for step in 0..nodes {
                prop_assert!(!visited[node as usize], "node {} again after {} steps", node, step);
                visited[node as usize] = true;
                prop_assert_eq!(walk(&next, step.into()), node);
                node = next[node as usize];
            }
            prop_assert_eq!(node, 0);
            prop_assert_eq!(walk(&next, nodes.into()), 0);
            prop_assert_eq!(walk(&next, u64::from(nodes) * 7 + 1), next[0]);
        }
    }
}
