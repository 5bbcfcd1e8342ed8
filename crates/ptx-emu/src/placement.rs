//! Where blocks are said to run: the values of the registers that tell of the machine rather than
//! of the program.
//!
//! The PTX ISA ("Special Registers") promises little of them: `%smid` and `%warpid` may change
//! while a thread runs, `%nsmid` may be more than there are multiprocessors, and `%gridid` is any
//! number of its own. A program whose results depend on one is right on one device and wrong on
//! another; so all of them follow from the seed, within what the ISA and the device's limits allow.

use crate::config::{DeviceLimits, Schedule};
use crate::registers::LANES;
use crate::turn::Turns;

/// Warp instructions of a block between two moments at which it may have moved.
const STAY: u64 = 256;
/// Most numbers of multiprocessors that `%nsmid` counts and no multiprocessor has.
const GAPS: u32 = 12;
/// Grids that the device is said to have run before the first, at most.
const GRIDS: u64 = 1 << 40;

/// Where the blocks of one launch run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    /// `%nsmid`.
    pub(crate) multiprocessor_ids: u32,
    /// `%nwarpid`.
    pub(crate) warp_ids: u32,
    /// `%gridid`.
    pub(crate) grid: u64,
    /// Each `mbarrier.try_wait` that has to wait gives up once, as after the device's own limit of
    /// time (PTX ISA, `mbarrier.try_wait`); with the default's seed, none does.
    pub(crate) gives_up: bool,
    multiprocessors: u32,
    /// Neighbours in the grid that share a multiprocessor.
    together: u64,
    /// The place of the grid's first block, and from each place to the next.
    first: u64,
    step: u64,
    /// Blocks move while they run.
    moves: bool,
    seed: u64,
}

impl Placement {
    /// The placement of the launch of this number on a device that holds `resident` of its blocks.
    pub(crate) fn new(
        (schedule, seed, launch): (Schedule, u64, u64),
        limits: &DeviceLimits,
        resident: u64,
    ) -> Placement {
        let multiprocessors = limits.multiprocessors.max(1);
        let resident = resident / u64::from(multiprocessors);
        let mut of_device = fastrand::Rng::with_seed(seed ^ 0x6d61_6368_696e_6521);
        let grid = of_device.u64(1..GRIDS).wrapping_add(launch);
        let gaps = of_device.u32(0..=GAPS);
        let mut of_launch = fastrand::Rng::with_seed(of_device.u64(..) ^ launch);
        let turns = Turns::of(schedule);
        let together = if of_launch.bool() { resident.max(1) } else { 1 };
        let seed_of_launch = of_launch.u64(..);
        // Any distance without a factor in common with the number of multiprocessors reaches all.
        let all = u64::from(multiprocessors);
        let mut steps = 1 + seed_of_launch % all..;
        Placement {
            multiprocessor_ids: multiprocessors + gaps,
            warp_ids: limits.threads_per_multiprocessor.div_ceil(LANES as u32),
            grid,
            gives_up: seed != 0,
            multiprocessors,
            together,
            first: (seed_of_launch >> 32) % all,
            step: steps.find(|&step| are_coprime(step, all)).unwrap_or(1),
            moves: matches!(turns, Turns::Stepwise | Turns::Short),
            seed: seed_of_launch,
        }
    }

    /// The moment of a block that has executed this number of warp instructions: while it lasts,
    /// the block stays where it is.
    pub(crate) fn moment(&self, executed: u64) -> u64 {
        if self.moves { executed / STAY } else { 0 }
    }

    /// `%smid` of a block at a moment.
    pub(crate) fn multiprocessor(&self, block: u64, moment: u64) -> u32 {
        let all = u64::from(self.multiprocessors);
        let place = block / self.together + moment;
        ((place % all * self.step + self.first) % all) as u32
    }

    /// `%warpid` of a warp of a block at a moment: each warp of a block has another.
    pub(crate) fn warp(&self, block: u64, warp: u32, moment: u64) -> u32 {
        let first = (block ^ self.seed)
            .wrapping_add(moment)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((first >> 32) as u32 % self.warp_ids + warp) % self.warp_ids
    }

    /// Units of shared memory between a block's own and the system's.
    pub(crate) fn shared_units(&self) -> u32 {
        (self.seed >> 48) as u32 % 4
    }

    /// The value of an `%envreg` that the program has no use for.
    pub(crate) fn environment(&self, number: u32) -> u32 {
        fastrand::Rng::with_seed(self.seed ^ u64::from(number)).u32(..)
    }
}

fn are_coprime(a: u64, b: u64) -> bool {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    fn placement(schedule: Schedule, seed: u64) -> Placement {
        let limits = DeviceLimits::default();
        let resident = limits.resident_blocks(256, 0, 0);
        Placement::new((schedule, seed, seed % 3), &limits, resident)
    }

    fn placements() -> impl Iterator<Item = Placement> {
        (0..64).map(|seed| placement(Schedule::Random { seed }, seed))
    }

    #[test]
    fn no_multiprocessor_has_more_blocks_than_it_holds() {
        for placement in placements() {
            let mut held = HashMap::new();
            for block in 0..132 * placement.together {
                let at = placement.multiprocessor(block, 0);
                assert!(at < 132 && 132 <= placement.multiprocessor_ids);
                *held.entry(at).or_insert(0) += 1;
            }
            assert_eq!(held.len(), 132);
            assert!(held.values().all(|&blocks| blocks == placement.together));
        }
    }

    #[test]
    fn some_launches_have_neighbours_on_one_multiprocessor_and_some_do_not() {
        let shared = placements()
            .filter(|placement| placement.multiprocessor(0, 0) == placement.multiprocessor(1, 0));
        assert!((16..48).contains(&shared.count()));
    }

    #[test]
    fn each_warp_of_a_block_has_a_number_of_its_own() {
        for placement in placements() {
            let numbers: HashSet<u32> = (0..32).map(|warp| placement.warp(5, warp, 0)).collect();
            assert_eq!(numbers.len(), 32);
            assert!(numbers.iter().all(|&number| number < 64));
        }
        let first: HashSet<u32> = placements().map(|p| p.warp(0, 0, 0)).collect();
        assert!(first.len() > 16);
    }

    #[test]
    fn blocks_move_in_some_orders_alone() {
        let moved = |placement: &Placement| placement.moment(10 * STAY) > 0;
        let all: Vec<_> = placements().filter(moved).collect();
        assert_eq!(all.len(), 3 * 64 / 8);
        assert!(
            all.iter()
                .all(|p| p.multiprocessor(0, 0) != p.multiprocessor(0, 1))
        );
        assert!(!moved(&placement(Schedule::InOrder, 7)));
    }
}
