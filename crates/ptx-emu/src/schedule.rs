//! Whose turn it is.

use std::cmp::Ordering;

use crate::chance;
use crate::counts::InstructionClass;
use crate::fault::{FaultKind, Stop};
use crate::registers::LANES;
use crate::runner::{BlockRunner, Code};
use crate::special::RESERVED_SHARED_BYTES;
use crate::turn::Turns;
use crate::warp::{Group, State, Warp};

/// Warp instructions of a turn, unless random.
const TURN: u64 = 4096;
/// Warp instructions of a turn that is to last as long as possible.
const LONG_TURN: u64 = 1 << 20;
/// Warp instructions without a change after which a laggard has its turn.
const IDLE: u64 = 1 << 18;
/// A warp that polls less often than once in this many of its instructions computes something.
const COMPUTES: u64 = 1024;
/// Longest random turn.
const RANDOM_TURN: u64 = 64;

impl BlockRunner<'_> {
    /// Puts every warp at the start of the kernel, for a block.
    pub(crate) fn start(&mut self, block: u64) {
        let launch = self.launch;
        let (threads, warps) = (launch.block_threads(), launch.block_warps());
        self.block.start(block, threads);
        let recorder = launch.recorder.as_ref();
        self.records = recorder.is_some_and(|recorder| recorder.wants(block));
        self.turn.start(launch.schedule, block, warps);
        self.sanitizer.start();
        if let Some(loaded) = &mut self.loaded {
            loaded.clear();
        }
        let granule = launch.sanitize.races.then_some(launch.granule);
        let is_checked = launch.sanitize.uninitialized;
        let shared = &mut self.block.shared;
        shared.reset(launch.shared_window_bytes(), is_checked, granule);
        if let (Some(start), true) = (launch.reserved_shared, is_checked) {
            // The system's: it begins as zeros.
            shared
                .written
                .mark(start.into(), RESERVED_SHARED_BYTES.into());
        }
        shared.owner = (launch.cluster_blocks() > 1).then(|| launch.view(block).block);
        if launch.exchange.bulk {
            self.claims();
        }
        let kernel = &launch.code.functions[launch.kernel as usize];
        self.block.warps.resize_with(warps, Box::default);
        for index in 0..warps {
            let mut warp = self.block.take_warp(index);
            let lanes = (threads - (index * LANES) as u32).min(LANES as u32);
            warp.start(
                index,
                u32::MAX >> (LANES as u32 - lanes),
                launch.kernel,
                kernel,
            );
            self.enter_frame(&mut warp, 0, u32::MAX);
            warp.registers.late = false;
            self.block.put_back(index, warp);
        }
    }

    /// Runs the warps, a turn each; false if none can run.
    pub(crate) fn round(&mut self) -> Result<bool, Stop> {
        self.wake_for_others();
        let turns = Turns::of(self.launch.schedule);
        let mut progress = false;
        let warps = self.block.warps.len();
        if turns == Turns::Laggard {
            return self.round_of_laggard();
        }
        for turn in 0..warps {
            let (index, length) = match turns {
                Turns::InOrder => (turn, TURN),
                Turns::Sequential | Turns::Laggard => (self.turn.warp_order[turn], LONG_TURN),
                Turns::Stepwise => (self.turn.warp_order[turn], TURN),
                Turns::Short => {
                    let index = chance::below(&mut self.turn.random, warps);
                    (index, self.turn.random.u64(1..=RANDOM_TURN))
                }
            };
            progress |= self.take_turn(index, length)?;
        }
        // Chance may have passed over the only warp that can run.
        for index in 0..if progress { 0 } else { warps } {
            progress |= self.take_turn(index, TURN)?;
        }
        Ok(progress)
    }

    /// Gives each warp a turn, the last warp of the order only when all others wait, or have for
    /// long done nothing but poll.
    fn round_of_laggard(&mut self) -> Result<bool, Stop> {
        let warps = self.block.warps.len();
        let (executed, changes) = (self.turn.executed, self.turn.changes);
        let mut progress = false;
        for turn in 0..warps - 1 {
            progress |= self.take_turn(self.turn.warp_order[turn], TURN)?;
        }
        self.turn.idle = if self.turn.changes == changes {
            self.turn.idle + self.turn.executed - executed
        } else {
            0
        };
        if progress && self.turn.idle < IDLE {
            return Ok(true);
        }
        self.turn.idle = 0;
        Ok(self.turn_of_laggard()? || progress)
    }

    /// Runs the laggard until it does something that others may wait for, or waits itself.
    fn turn_of_laggard(&mut self) -> Result<bool, Stop> {
        let laggard = self.turn.warp_order[self.block.warps.len() - 1];
        let (changes, polls) = (self.turn.changes, self.turn.polls);
        let mut progress = false;
        loop {
            let executed = self.turn.executed;
            progress |= self.take_turn(laggard, TURN)?;
            let has_acted = (self.turn.changes, self.turn.polls) != (changes, polls);
            if has_acted || self.turn.executed - executed < TURN {
                return Ok(progress);
            }
        }
    }

    /// Runs a warp for some instructions; false if it had none to run.
    fn take_turn(&mut self, index: usize, length: u64) -> Result<bool, Stop> {
        self.unpark(index);
        if !self.block.warps[index].is_ready() {
            return Ok(false);
        }
        let mut warp = self.block.take_warp(index);
        let (executed, polls) = (self.turn.executed, self.turn.polls);
        let result = self.run_warp(&mut warp, length);
        warp.computed = if self.turn.polls == polls {
            warp.computed + self.turn.executed - executed
        } else {
            0
        };
        if warp.computed > COMPUTES {
            warp.computed = 0;
            self.turn.computed += 1;
        }
        self.block.put_back(index, warp);
        result?;
        if std::mem::take(&mut self.block.recheck_barriers) {
            self.complete_barriers()?;
        }
        Ok(true)
    }

    /// Runs a warp until it waits, exits or its turn ends.
    fn run_warp(&mut self, warp: &mut Warp, length: u64) -> Result<(), Stop> {
        self.turn.end = (self.turn.executed + length).min(self.launch.fuel);
        // Where it gives way to other blocks: so do the warp's groups, each once.
        let gives_way_since = (self.turn.patience < u32::MAX).then_some(self.turn.executed);
        let apart = self.launch.apart();
        if let Some(seed) = apart.filter(|_| !warp.spin.is_settled()) {
            self.split_lanes(warp, seed);
        }
        loop {
            if warp.groups.len() > 1 {
                warp.merge(&self.launch.code.infos);
            }
            let Some(index) = pick(warp, self.launch.code, gives_way_since) else {
                return Ok(());
            };
            if let Some(seed) = apart.filter(|_| !warp.spin.is_settled())
                && self.is_to_split(warp, index)
            {
                self.split_lanes(warp, seed);
                let Group { pc, mask, .. } = warp.groups[index];
                let ahead = mask & warp.ahead;
                if ahead != 0 && ahead != mask {
                    warp.split(index, ahead, pc, pc);
                    continue;
                }
            }
            if self.turn.executed >= self.turn.end {
                if self.turn.executed < self.launch.fuel {
                    return Ok(());
                }
                let Group { pc, mask, .. } = warp.groups[index];
                let kind = FaultKind::FuelExhausted {
                    fuel: self.launch.fuel,
                };
                return Err(self.fault(warp.first_thread(mask), pc, kind));
            }
            warp.choose(warp.groups[index].mask);
            let limit = limit(warp, self.launch.code, index);
            let stepped = self.step_group(warp, index, limit);
            if let Some(pc) = self.recorded.take() {
                self.end_step(warp, pc, stepped.is_ok());
            }
            stepped?;
        }
    }
}

impl BlockRunner<'_> {
    /// Chooses the lanes that run ahead of the others.
    fn split_lanes(&self, warp: &mut Warp, seed: u64) {
        let turn = (warp.index as u64) << 40 ^ warp.lane_splits;
        let of_turn = (self.block.index ^ turn.wrapping_mul(0xbf58_476d_1ce4_e5b9))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = fastrand::Rng::with_seed(seed >> 1 ^ of_turn);
        let ahead = random.u32(..);
        warp.leader = random.u32(0..LANES as u32);
        warp.lane_splits += 1;
        warp.ahead = if seed & 1 == 1 { !ahead } else { ahead };
    }

    /// True if some lanes of a group run ahead of others of it, and it does not stand where they do
    /// something together.
    fn is_to_split(&self, warp: &Warp, index: usize) -> bool {
        let group = &warp.groups[index];
        let ahead = group.mask & warp.ahead;
        let info = &self.launch.code.infos[group.pc as usize];
        let is_together = info.class == InstructionClass::Warp || info.stays_together;
        ahead != 0 && ahead != group.mask && !is_together
    }
}

/// The group to run: of those that have not given way the one at the lowest position, else the one
/// that did so first, unless it has done so since `gives_way_since`. Where lanes run apart, one of
/// those ahead, at any position; those that stay together only when no other can run.
fn pick(warp: &mut Warp, code: &Code, gives_way_since: Option<u64>) -> Option<usize> {
    let index = if let [only] = warp.groups[..] {
        (only.state == State::Ready).then_some(0)?
    } else {
        let apart = warp.lane_splits > 0;
        let stays = |group: &Group| apart && code.infos[group.pc as usize].stays_together;
        let from_leader = |group: &Group| {
            let first = group.mask.rotate_right(warp.leader).trailing_zeros();
            (!warp.is_ahead(group), first)
        };
        let compare = |a: &Group, b: &Group| {
            let by_way = a.gave_way.cmp(&b.gave_way);
            by_way.then_with(|| match (apart, stays(a), stays(b)) {
                _ if a.gave_way != 0 => Ordering::Equal,
                (true, false, false) => from_leader(a).cmp(&from_leader(b)),
                (true, a_stays, b_stays) if a_stays != b_stays => a_stays.cmp(&b_stays),
                _ => warp.compare(a, b),
            })
        };
        let ready = warp
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.state == State::Ready);
        ready.min_by(|(_, a), (_, b)| compare(a, b))?.0
    };
    let gave_way = &mut warp.groups[index].gave_way;
    if gives_way_since.is_some_and(|since| *gave_way > since) {
        return None;
    }
    *gave_way = 0;
    Some(index)
}

/// Position at which a group may meet another: it must stop there. `u32::MAX` if there is no other,
/// or lanes run apart and none waits for others.
fn limit(warp: &Warp, code: &Code, index: usize) -> u32 {
    let ours = &warp.groups[index];
    let mut limit = u32::MAX;
    let waits = |group: &Group| matches!(group.state, State::Lanes { .. });
    let apart = warp.lane_splits > 0;
    let stays = |group: &Group| code.infos[group.pc as usize].stays_together;
    let stays_together = apart && stays(ours);
    if apart && !stays_together && !warp.groups.iter().any(waits) {
        return limit;
    }
    for (other, group) in warp.groups.iter().enumerate() {
        // Those that run apart are not met by those that stay together, which wait for them.
        let comes_later = stays_together && !stays(group);
        if other == index || comes_later || group.state.is_met_elsewhere() {
            continue;
        }
        if group.frame != ours.frame {
            return 0;
        }
        // One that is behind is met only after a jump, which ends the group's run. The highest
        // limit below "alone" says that there is such a one.
        limit = limit.min(if group.pc > ours.pc {
            group.pc
        } else {
            u32::MAX - 1
        });
    }
    limit
}
