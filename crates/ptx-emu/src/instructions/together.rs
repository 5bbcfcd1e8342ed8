//! How the lanes of a warp execute an operation together.
//!
//! A warp-wide operation is executed by all lanes of its mask that have not exited, together: lanes
//! that come first wait until the others "have executed" it "with the same qualifiers and same
//! membermask" (PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync"), be that at the same
//! instruction or at another one. So it is for `bar.warp.sync` and `elect.sync`. Operands are not
//! qualifiers: each lane's own count. An operation on matrices has one place (`.aligned`).
//!
//! Lanes with different masks are different operations (tiles of a warp). Lanes that exit while
//! others wait for them take no part, unless they have accessed memory meanwhile: then they have
//! gone past the operation, which is a fault.

use super::party::{Party, Together};
use crate::fault::{FaultKind, Stop};
use crate::read::{Read, other};
use crate::registers::{Slot, lanes, lanes_where, lanes_with};
use crate::runner::{At, BlockRunner, Code, Execute, Next, Op};
use crate::unset_values::shadows::Shadow;
use crate::warp::{Group, State, Warp};

/// An instruction that the lanes of `mask` execute together. `name` says its qualifiers.
pub(super) fn together(
    name: impl Into<Box<str>>,
    mask: Slot,
    op: impl Together + 'static,
) -> Read<Op> {
    let name = name.into();
    other(WarpSync { name, mask, op })
}

impl Code {
    /// The operation at a position which lanes execute together, and its name.
    fn together(&self, pc: u32) -> Option<(&str, &dyn Together)> {
        match &self.insts[pc as usize].op {
            Op::Other(op) => op.together(),
            _ => None,
        }
    }

    /// The name of the operation for which lanes wait at a position.
    pub(super) fn awaited(&self, pc: u32) -> &str {
        self.together(pc).map_or("", |(name, _)| name)
    }

    /// True if groups that wait for other lanes, of the same mask, wait for one operation.
    fn are_one(&self, pc: u32, other: u32) -> bool {
        let [ours, theirs] = [pc, other].map(|pc| self.together(pc));
        match (ours, theirs) {
            (Some((name, op)), Some((their_name, _))) => op.is_at_any_place() && name == their_name,
            _ => false,
        }
    }

    /// The lanes of a warp that wait, at any place, for the operation at a position with a mask.
    pub(super) fn waiting_lanes(&self, warp: &Warp, pc: u32, mask: u32) -> u32 {
        let waits =
            |group: &&Group| group.state == State::Lanes { mask } && self.are_one(pc, group.pc);
        let groups = warp.groups.iter().filter(waits);
        groups.fold(0, |lanes, group| lanes | group.mask)
    }
}

/// An instruction that the lanes of a mask execute together.
#[derive(Debug)]
struct WarpSync<T> {
    name: Box<str>,
    mask: Slot,
    op: T,
}

impl<T: Together> WarpSync<T> {
    /// Executes the operation for lanes that wait at other places, then for those of this one.
    fn meet(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        party: &mut Party,
        joined: u32,
    ) -> Result<(), Stop> {
        let code = runner.launch.code;
        let here = warp.registers.bases;
        let groups = 0..warp.groups.len();
        let others: Vec<usize> = groups
            .filter(|&i| warp.groups[i].mask & joined != 0)
            .collect();
        let all = party.active | joined;
        // All that is put in, before any lane takes something out.
        for &index in &others {
            let Group {
                pc, mask, frame, ..
            } = warp.groups[index];
            let State::Lanes { mask: wanted } = warp.groups[index].state else {
                continue;
            };
            lanes(mask).for_each(|lane| party.partners[lane] = wanted & all);
            if let Some((_, op)) = code.together(pc) {
                warp.registers.bases = warp.frames[frame as usize].bases;
                party.offers.add(mask, &op.offers(&warp.registers));
            }
        }
        for &index in &others {
            let Group {
                pc, mask, frame, ..
            } = warp.groups[index];
            if let Some((_, op)) = code.together(pc) {
                warp.registers.bases = warp.frames[frame as usize].bases;
                let active = mask;
                let theirs = Party {
                    pc,
                    active,
                    ..party.clone()
                };
                op.execute(runner, warp, &theirs)?;
            }
            let group = &mut warp.groups[index];
            (group.state, group.pc) = (State::Ready, pc + 1);
        }
        warp.registers.bases = here;
        self.op.execute(runner, warp, party)
    }
}

impl<T: Together> Execute for WarpSync<T> {
    fn is_quiet(&self) -> bool {
        self.op.is_quiet()
    }

    fn together(&self) -> Option<(&str, &dyn Together)> {
        Some((&self.name, &self.op))
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        self.op.track(shadow, is_late);
    }

    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let At { group, pc, active } = at;
        let group_mask = warp.groups[group].mask;
        let masks = *warp.registers.r32(self.mask.row);
        let has_company = warp.groups.len() > 1 && self.op.is_at_any_place();
        let (mut complete, mut joined, mut missing) = (0, 0, 0);
        // Of lanes with the same mask, at one time.
        let (mut unseen, mut outside) = (active, 0);
        while unseen != 0 {
            let mask = masks[unseen.trailing_zeros() as usize];
            let here = unseen & lanes_with(&masks, mask);
            unseen &= !here;
            outside |= here & !mask;
            // Those that wait for it elsewhere.
            let there = if has_company {
                runner.launch.code.waiting_lanes(warp, pc, mask)
            } else {
                0
            };
            let absent = mask & warp.live & !(here | there);
            if absent == 0 {
                complete |= here;
                joined |= there;
            }
            missing |= absent;
        }
        if let Some(lane) = lanes(outside).next() {
            let kind = FaultKind::LaneNotInMask {
                instruction: self.name.to_string(),
                mask: masks[lane],
                lane: lane as u32,
            };
            return Err(runner.fault(warp.thread(lane), pc, kind));
        }
        if group_mask != active {
            warp.split(group, group_mask & !active, pc + 1, pc);
        }
        if complete != 0 {
            let mut party = Party {
                pc,
                active: complete,
                partners: std::array::from_fn(|lane| masks[lane] & (complete | joined)),
                offers: self.op.offers(&warp.registers),
            };
            if joined == 0 {
                self.op.execute(runner, warp, &party)?;
            } else {
                self.meet(runner, warp, &mut party, joined)?;
            }
            warp.awaited &= !(complete | joined);
        }
        let is_whole = complete == active && joined == 0;
        warp.spin.note_exchange(if is_whole { active } else { 0 });
        if complete == active && group_mask == active {
            if runner.launch.apart().is_none() && joined == 0 {
                return Ok(Next::Step);
            }
            // The lanes part again, or go on to where those of other places do.
            warp.groups[group].pc += 1;
            return Ok(Next::Choose);
        }
        if complete != 0 {
            warp.split(group, complete, pc + 1, pc);
        }
        // From here on it counts what the missing lanes do.
        warp.acted &= !(missing & !warp.awaited);
        warp.awaited |= missing;
        let mut rest = active & !complete;
        while rest != 0 {
            let mask = masks[rest.trailing_zeros() as usize];
            let waiting = lanes_where(rest, |lane| masks[lane] == mask);
            rest &= !waiting;
            let index = if rest == 0 {
                group
            } else {
                warp.split(group, waiting, pc, pc);
                warp.groups.len() - 1
            };
            warp.groups[index].state = State::Lanes { mask };
        }
        if warp.groups[group].mask == 0 {
            warp.groups.swap_remove(group);
        }
        Ok(Next::Choose)
    }
}
