//! Values that kernels give to the conditional nodes of graphs, by `cudaGraphSetConditional`.
//!
//! CUDA Programming Guide, "Conditional Graph Nodes". Which nodes there are is the driver's
//! concern: here a handle is a number, and a launch leaves the last value of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The conditional handles that a launch may set.
#[derive(Clone, Debug, Default)]
pub struct ConditionHandles {
    /// Those of the graph that the launch is part of; `None` if it is not part of a graph that has
    /// some.
    pub own: Option<Arc<BTreeSet<u64>>>,
    /// Handles from 1 to this one exist, in whatever graph.
    pub last: u64,
}

/// What is wrong with a handle that a kernel sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleProblem {
    /// No call has given it to the program.
    Unknown,
    /// The kernel is not part of a graph that has handles.
    OutsideOfGraph,
    /// The kernel is part of a graph that it does not belong to. A GPU does not notice.
    OfOtherGraph,
}

impl std::fmt::Display for HandleProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "which is not a conditional handle: cudaGraphConditionalHandleCreate gives them",
            Self::OutsideOfGraph => "but the kernel is not part of a graph with conditional handles: each has a value during a launch of its own graph alone",
            Self::OfOtherGraph => "which is a conditional handle of another graph: it has a value during a launch of that graph alone",
        })
    }
}

impl ConditionHandles {
    /// What is wrong with a handle, if anything.
    pub(crate) fn problem(&self, handle: u64) -> Option<HandleProblem> {
        let is_known = (1..=self.last).contains(&handle);
        match &self.own {
            _ if !is_known => Some(HandleProblem::Unknown),
            None => Some(HandleProblem::OutsideOfGraph),
            Some(own) if own.contains(&handle) => None,
            Some(_) => Some(HandleProblem::OfOtherGraph),
        }
    }
}

/// The values that the blocks of a cluster have set, the last of each handle.
pub(crate) type ClusterConditions = BTreeMap<u64, u32>;

/// The values that clusters have set, with the place of the cluster in the order of their starts.
/// Blocks may set a handle in any order; that of the last one stays, whatever host threads do.
#[derive(Debug, Default)]
pub(crate) struct LaunchConditions(Mutex<BTreeMap<u64, (u64, u32)>>);

impl LaunchConditions {
    /// Takes what the cluster at that place has set.
    pub(crate) fn take(&self, place: u64, set: &mut ClusterConditions) {
        if set.is_empty() {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (handle, value) in std::mem::take(set) {
            let known = kept.entry(handle).or_insert((place, value));
            if known.0 <= place {
                *known = (place, value);
            }
        }
    }

    /// The values, by handle.
    pub(crate) fn into_values(self) -> BTreeMap<u64, u32> {
        let kept = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let values = kept.into_iter();
        values.map(|(handle, (_, value))| (handle, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cluster_in_order_wins_whenever_it_ends() {
        let all = LaunchConditions::default();
        all.take(3, &mut BTreeMap::from([(1, 30), (2, 31)]));
        all.take(1, &mut BTreeMap::from([(1, 10)]));
        all.take(4, &mut BTreeMap::from([(2, 40)]));
        assert_eq!(all.into_values(), BTreeMap::from([(1, 30), (2, 40)]));
    }

    #[test]
    fn handles_are_of_a_graph() {
        let outside = ConditionHandles { own: None, last: 3 };
        let within = ConditionHandles {
            own: Some(Arc::new(BTreeSet::from([2]))),
            last: 3,
        };
        for (handles, handle, expected) in [
            (&outside, 2, Some(HandleProblem::OutsideOfGraph)),
            (&outside, 4, Some(HandleProblem::Unknown)),
            (&within, 2, None),
            (&within, 3, Some(HandleProblem::OfOtherGraph)),
            (&within, 0, Some(HandleProblem::Unknown)),
        ] {
            assert_eq!(handles.problem(handle), expected, "{handle}");
        }
    }
}
