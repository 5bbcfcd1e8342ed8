//! Whose turn it is.

use crate::block::{BlockRunner, Stop};
use crate::config::Schedule;
use crate::fault::FaultKind;
use crate::registers::LANES;
use crate::warp::{Group, State, Warp};

/// Warp instructions of a turn, unless random.
const TURN: u64 = 4096;
/// Longest random turn.
const RANDOM_TURN: u64 = 64;

impl BlockRunner<'_> {
    /// Puts every warp at the start of the kernel, for a block.
    pub(crate) fn start(&mut self, block: u64) {
        let launch = self.launch;
        let threads = launch.block_threads();
        let sanitize = launch.sanitize;
        self.block = block;
        self.executed = 0;
        self.live_threads = threads;
        self.recheck_barriers = false;
        self.fence_count = 0;
        self.synchronized = false;
        self.has_met_cluster = false;
        self.barriers = Default::default();
        if let Some(loaded) = &mut self.loaded {
            loaded.clear();
        }
        self.unwritten = None;
        self.unset_load = None;
        let granule = sanitize.races.then_some(launch.granule);
        self.shared
            .reset(launch.shared_bytes, sanitize.uninitialized, granule);
        self.shared.owner = (launch.cluster_blocks() > 1).then(|| launch.view(block).block);
        let kernel = &launch.code.functions[launch.kernel as usize];
        let warps = launch.block_warps();
        self.warps.resize_with(warps, Warp::default);
        if let Schedule::Random { seed } = launch.schedule {
            let seed = seed ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.random = fastrand::Rng::with_seed(seed);
        }
        for index in 0..warps {
            let mut warp = std::mem::take(&mut self.warps[index]);
            let lanes = (threads - (index * LANES) as u32).min(LANES as u32);
            warp.start(
                index,
                u32::MAX >> (LANES as u32 - lanes),
                launch.kernel,
                kernel,
            );
            self.enter_frame(&mut warp, 0, u32::MAX);
            self.warps[index] = warp;
        }
    }

    /// Runs the warps, a turn each; false if none can run.
    pub(crate) fn round(&mut self) -> Result<bool, Stop> {
        let random = matches!(self.launch.schedule, Schedule::Random { .. });
        let mut progress = false;
        let warps = self.warps.len();
        for turn in 0..warps {
            let index = match random {
                true => self.random.usize(0..warps),
                false => turn,
            };
            let length = if random {
                self.random.u64(1..=RANDOM_TURN)
            } else {
                TURN
            };
            progress |= self.take_turn(index, length)?;
        }
        // Chance may have passed over the only warp that can run.
        for index in 0..if progress { 0 } else { warps } {
            progress |= self.take_turn(index, TURN)?;
        }
        Ok(progress)
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
        if other == index || matches!(group.state, State::Barrier(_) | State::ClusterBarrier) {
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
