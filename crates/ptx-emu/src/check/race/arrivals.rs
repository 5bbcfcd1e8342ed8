//! Arrivals at objects that threads wait for, lane by lane: a lane that arrives releases what it
//! did, and of the other lanes of its warp what barriers of the warp have ordered before.

use super::lane_clocks::{LaneClocks, join};
use super::order::Clocks;
use crate::registers::{LANES, lanes};

impl Clocks {
    /// An arrival of a lane of a warp that has these lanes: adds what the lane did to `by_lane`,
    /// and what it and the others are known to have done to `arriving`.
    pub(crate) fn arrive_alone(
        &mut self,
        (warp, lane): (usize, usize),
        all: u32,
        arriving: &mut [u32],
        by_lane: &mut LaneClocks,
    ) {
        self.settle(warp);
        let now = self.advance(warp);
        let row = self.row(warp).to_vec();
        let mut clocks = match self.lanes_of(warp) {
            Some(known) => known[lane],
            None => [0; LANES],
        };
        clocks[lane] = now;
        clocks
            .iter_mut()
            .for_each(|clock| *clock = (*clock).max(row[warp]));
        by_lane.join(warp, &clocks);
        join(arriving, &row);
        // The warp has released the least that all of its lanes have.
        let of_all = lanes(all).map(|each| by_lane.0[&warp][each]).min();
        arriving[warp] = arriving[warp].max(of_all.unwrap_or(0));
    }

    /// The end of a lane's wait for what lanes have released one by one: of another warp the whole
    /// warp learns it, of its own this lane alone.
    pub(crate) fn pass_lanes(&mut self, (warp, lane): (usize, usize), released: &LaneClocks) {
        for (&other, clocks) in &released.0 {
            let known = self.row(warp)[other];
            if clocks.iter().all(|&clock| clock <= known) {
                continue;
            }
            if other == warp {
                self.learn((warp, lane), clocks);
            } else {
                self.by_lane.entry(warp).or_default().join(other, clocks);
            }
        }
    }

    /// What a warp passes on, of what it knows of single lanes, it passes on as if all lanes had
    /// released it.
    pub(super) fn settle(&mut self, warp: usize) {
        if self.by_lane.is_empty() {
            return;
        }
        for (other, clocks) in self.by_lane.remove(&warp).unwrap_or_default().0 {
            let latest = clocks.into_iter().max().unwrap_or(0);
            let known = &mut self.row(warp)[other];
            *known = (*known).max(latest);
        }
    }
}
