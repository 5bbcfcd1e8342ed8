//! The clocks that single lanes release.

use std::collections::HashMap;

use crate::registers::{LANES, lanes_where};

/// Takes the higher of each number.
#[inline(always)]
pub(super) fn join(row: &mut [u32], other: &[u32]) {
    for (ours, &theirs) in row.iter_mut().zip(other) {
        *ours = (*ours).max(theirs);
    }
}

/// For each lane of some warps of the cluster, by number, the clock below which its accesses are
/// ordered before those of a thread that has waited.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneClocks(pub(super) HashMap<usize, Box<[u32; LANES]>>);

impl LaneClocks {
    /// Takes the higher of each clock.
    pub(super) fn join(&mut self, warp: usize, clocks: &[u32; LANES]) {
        let ours = self.0.entry(warp).or_default();
        join(&mut ours[..], clocks);
    }

    /// Takes those of another, which forgets them.
    pub(crate) fn take(&mut self, other: &mut LaneClocks) {
        for (warp, clocks) in other.0.drain() {
            self.join(warp, &clocks);
        }
    }

    /// The lanes of an access at this clock that nothing orders.
    pub(super) fn unordered(&self, warp: usize, mask: u32, clock: u32) -> u32 {
        match self.0.get(&warp) {
            Some(clocks) => lanes_where(mask, |lane| clocks[lane] <= clock),
            None => mask,
        }
    }
}
