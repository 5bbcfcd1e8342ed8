//! Graphs of commands, as chains.

/// Parts a graph into chains, each a path: gives every node the number of its chain, from 0 on.
/// Node `n` waits for the nodes `behind[n]`, which come before it.
///
/// A node goes on with the chain of a node that it waits for, where no other has. So a graph that
/// is one path is one chain, and clocks stay short.
///
/// ```
/// // 0 -> 1 -> 3, and 0 -> 2 -> 3.
/// let behind = [vec![], vec![0], vec![0], vec![1, 2]];
/// assert_eq!(command_order::paths(&behind), [0, 0, 1, 0]);
/// ```
///
/// # Panics
///
/// If a node waits for a later one.
#[must_use]
pub fn paths(behind: &[Vec<usize>]) -> Vec<usize> {
    let mut goes_on = vec![false; behind.len()];
    let mut chains: Vec<usize> = Vec::with_capacity(behind.len());
    let mut next = 0;
    for (node, waits) in behind.iter().enumerate() {
        assert!(waits.iter().all(|before| *before < node));
        let before = waits.iter().find(|before| !goes_on[**before]);
        let chain = match before {
            Some(&before) => {
                goes_on[before] = true;
                chains[before]
            }
            None => {
                next += 1;
                next - 1
            }
        };
        chains.push(chain);
    }
    chains
}
