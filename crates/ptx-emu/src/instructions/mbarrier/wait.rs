//! Waits for `mbarrier` objects.

use super::{Object, Verb};
use crate::access::Region;
use crate::fault::{FaultKind, Stop};
use crate::registers::{Slot, lanes, lanes_where};
use crate::runner::{At, BlockRunner, Execute, Next};
use crate::warp::{State, Warp};

/// `mbarrier.test_wait`, `mbarrier.try_wait`.
#[derive(Debug)]
pub(super) struct Wait {
    pub(super) object: Object,
    pub(super) dst: Slot,
    /// The parity of a phase, or the state that an arrival gave.
    pub(super) operand: Slot,
    pub(super) by_parity: bool,
    pub(super) acquires: bool,
}

impl Wait {
    /// Whether an object in a phase has completed the one that is waited for.
    fn is_done(&self, phase: u64, operand: u64) -> bool {
        if self.by_parity {
            (phase ^ operand) & 1 == 1
        } else {
            phase != operand
        }
    }

    /// Whether the wait ends without success: if it has to wait, and did not do so the last time.
    fn gives_up(&self, runner: &mut BlockRunner, warp: &Warp, at: At, offsets: &[u64]) -> bool {
        let may = self.object.verb == Verb::TryWait && runner.launch.placement.gives_up;
        if !may || warp.gave_up == Some(at.pc) {
            return false;
        }
        let Some(claims) = &runner.block.shared.claims else {
            return false;
        };
        lanes(at.active).all(|lane| {
            let operand = warp.registers.lane(self.operand, lane);
            let barrier = claims.barriers.get(&offsets[lane]);
            barrier.is_some_and(|barrier| !self.is_done(barrier.phase, operand))
        })
    }
}

impl Execute for Wait {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let offsets = self.object.locate(runner, warp, at)?;
        runner.note_poll(warp, 1);
        if self.gives_up(runner, warp, at, &offsets) {
            warp.gave_up = Some(at.pc);
            warp.registers.fill(self.dst, at.active, 0);
            return Ok(Next::Step);
        }
        warp.gave_up = None;
        let mut done = 0;
        for lane in lanes(at.active) {
            let (offset, thread) = (offsets[lane], warp.thread(lane));
            self.object.check(runner, thread, at.pc, offset)?;
            runner.let_arrive(warp, offset)?;
            let Some(barrier) = runner.claims().barriers.get(&offset) else {
                continue;
            };
            let (phase, operand) = (barrier.phase, warp.registers.lane(self.operand, lane));
            let is_done = self.is_done(phase, operand);
            let is_known = operand == phase || operand.checked_add(1) == Some(phase);
            if !(self.by_parity || is_known) {
                let location = runner.block.shared.location(runner.launch, offset);
                let reason = format!(
                    "{} of the mbarrier object at {location} with a state of phase {operand}; it is in phase {phase}, and knows that one and the one before",
                    self.object.verb.name()
                );
                let kind = FaultKind::InvalidBarrier { reason };
                return Err(runner.fault(thread, at.pc, kind));
            }
            done |= u32::from(is_done) << lane;
            if is_done && self.acquires && runner.launch.sanitize.races {
                runner.see_all(warp.index);
                let number = runner.warp_number(warp.index);
                let claims = runner.block.shared.claims.as_ref();
                if let Some(completed) = claims.and_then(|claims| claims.barriers.get(&offset)) {
                    let clocks = &mut runner.sanitizer.clocks;
                    clocks.pass(number, &completed.released);
                    clocks.pass_lanes((number, lane), &completed.lanes_released);
                }
            }
        }
        let waits = at.active & !done;
        warp.registers.fill(self.dst, done, 1);
        if waits == 0 {
            return Ok(Next::Step);
        }
        if self.object.verb == Verb::TestWait {
            warp.registers.fill(self.dst, waits, 0);
            return Ok(Next::Step);
        }
        // Each group waits for one object.
        let first = offsets[waits.trailing_zeros() as usize];
        let others = lanes_where(waits, |lane| offsets[lane] != first);
        let goes_on = warp.groups[at.group].mask & !waits;
        for (mask, target) in [(goes_on, at.pc + 1), (others, at.pc)] {
            if mask != 0 {
                warp.split(at.group, mask, target, at.pc);
            }
        }
        warp.groups[at.group].state = State::Mbarrier(first);
        Ok(Next::Choose)
    }
}
