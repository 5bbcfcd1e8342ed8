//! Whose turn it is.

use super::{BlockRunner, Group, State, Stop, Warp};
use crate::config::Schedule;
use crate::fault::FaultKind;

/// Warp instructions of a turn, unless random.
const TURN: u64 = 4096;
/// Longest random turn.
const RANDOM_TURN: u64 = 64;

/// A small generator (SplitMix64), seeded by launch and block.
#[derive(Debug)]
pub(super) struct Random {
    seed: Option<u64>,
    state: u64,
}

impl Random {
    pub(super) fn new(schedule: Schedule) -> Self {
        let seed = match schedule {
            Schedule::InOrder => None,
            Schedule::Random { seed } => Some(seed),
        };
        Self { seed, state: 0 }
    }

    pub(super) fn start_block(&mut self, block: u64) {
        self.state = self.seed.unwrap_or(0) ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

impl BlockRunner<'_> {
    /// Runs the warps in turns until all have exited.
    pub(super) fn run_warps(&mut self) -> Result<(), Stop> {
        let random = self.random.seed.is_some();
        while self.live_threads > 0 {
            let mut progress = false;
            let warps = self.warps.len();
            for turn in 0..warps {
                let index = match random {
                    true => self.random.below(warps as u64) as usize,
                    false => turn,
                };
                let length = if random {
                    1 + self.random.below(RANDOM_TURN)
                } else {
                    TURN
                };
                progress |= self.take_turn(index, length)?;
            }
            // Chance may have passed over the only warp that can run.
            for index in 0..if progress { 0 } else { warps } {
                progress |= self.take_turn(index, TURN)?;
            }
            if !progress {
                return Err(self.diagnose());
            }
        }
        Ok(())
    }

    /// Runs a warp for some instructions; false if it had none to run.
    fn take_turn(&mut self, index: usize, length: u64) -> Result<bool, Stop> {
        if !self.warps[index].is_ready() {
            return Ok(false);
        }
        let mut warp = std::mem::take(&mut self.warps[index]);
        let result = self.run_warp(&mut warp, length);
        self.warps[index] = warp;
        result?;
        if std::mem::take(&mut self.recheck_barriers) {
            self.complete_barriers()?;
        }
        Ok(true)
    }

    /// Runs a warp until it waits, exits or its turn ends.
    fn run_warp(&mut self, warp: &mut Warp, length: u64) -> Result<(), Stop> {
        self.turn_end = (self.executed + length).min(self.launch.fuel);
        loop {
            if warp.groups.len() > 1 {
                warp.merge();
            }
            let Some(index) = pick(warp) else {
                return Ok(());
            };
            if self.executed >= self.turn_end {
                if self.executed < self.launch.fuel {
                    return Ok(());
                }
                let Group { pc, mask, .. } = warp.groups[index];
                let kind = FaultKind::FuelExhausted {
                    fuel: self.launch.fuel,
                };
                return Err(self.fault(warp.first_thread(mask), pc, kind));
            }
            warp.choose(warp.groups[index].mask);
            self.step_group(warp, index, limit(warp, index))?;
        }
    }
}

/// The group to run: the one at the lowest position that has not given way, else the one that did so first.
fn pick(warp: &mut Warp) -> Option<usize> {
    let ready = |group: &&(usize, Group)| group.1.state == State::Ready;
    if let [only] = &mut warp.groups[..] {
        only.gave_way = 0;
        return (only.state == State::Ready).then_some(0);
    }
    let groups: Vec<_> = warp.groups.iter().copied().enumerate().collect();
    let fresh = groups
        .iter()
        .filter(ready)
        .filter(|(_, group)| group.gave_way == 0);
    if let Some(&(index, _)) = fresh.min_by(|(_, a), (_, b)| warp.compare(a, b)) {
        return Some(index);
    }
    let &(index, _) = groups
        .iter()
        .filter(ready)
        .min_by_key(|(_, group)| group.gave_way)?;
    warp.groups[index].gave_way = 0;
    Some(index)
}

/// Position at which a group may meet another: it must stop there. `u32::MAX` if there is no other.
fn limit(warp: &Warp, index: usize) -> u32 {
    let ours = &warp.groups[index];
    let mut limit = u32::MAX;
    for (other, group) in warp.groups.iter().enumerate() {
        if other == index || matches!(group.state, State::Barrier { .. }) {
            continue;
        }
        if group.frame != ours.frame {
            return 0;
        }
        // One that is behind is met only after a jump, which ends the group's run. The highest limit below
        // "alone" says that there is such a one.
        limit = limit.min(if group.pc > ours.pc {
            group.pc
        } else {
            u32::MAX - 1
        });
    }
    limit
}
