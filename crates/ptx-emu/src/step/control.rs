//! Branch tables, calls, returns, exits.

use super::Next;
use crate::block::{BlockRunner, Frame, State, Stop, Warp};
use crate::coalesce::lanes;
use crate::code::{Argument, Call, CallResult, FUNCTION_BASE, FUNCTION_STEP, Op, Target};
use crate::fault::FaultKind;
use crate::memory::extend;
use crate::registers::Slot;

impl BlockRunner<'_> {
    pub(super) fn branch_table(
        &mut self,
        warp: &mut Warp,
        index: usize,
        row: Slot,
        targets: &[u32],
        active: u32,
    ) -> Result<Next, Stop> {
        let pc = warp.groups[index].pc;
        let mut rest = active;
        let whole = active == warp.groups[index].mask;
        let mut parts = 0;
        let first = warp.registers.lane(row, active.trailing_zeros() as usize);
        if whole
            && lanes(active).all(|lane| warp.registers.lane(row, lane) == first)
            && let Some(&target) = targets.get(first as usize)
        {
            warp.groups[index].pc = target;
            return Ok(Next::Choose);
        }
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let entry = warp.registers.lane(row, lane) as u32;
            let Some(&target) = targets.get(entry as usize) else {
                let kind = FaultKind::BadBranchTable {
                    index: entry,
                    entries: targets.len() as u32,
                };
                return Err(self.fault(warp.thread(lane), pc, kind));
            };
            let same = lanes(rest)
                .filter(|&lane| {
                    targets.get(warp.registers.lane(row, lane) as usize) == Some(&target)
                })
                .fold(0, |mask, lane| mask | 1 << lane);
            rest &= !same;
            parts += 1;
            self.split(warp, index, same, target, pc + 1);
        }
        if whole {
            warp.groups.swap_remove(index);
        }
        if parts > 1 || !whole {
            self.tallies.executions[pc as usize].divergent += 1;
        }
        Ok(Next::Choose)
    }

    pub(super) fn call(
        &mut self,
        warp: &mut Warp,
        index: usize,
        call: &Call,
        active: u32,
    ) -> Result<Next, Stop> {
        let pc = warp.groups[index].pc;
        let (callee, taken) = match call.target {
            Target::Function(callee) => (callee, active),
            // Lanes that call something else stay and try again.
            Target::Indirect(slot) => {
                let lane = active.trailing_zeros() as usize;
                let address = warp.registers.lane(slot, lane);
                let callee = address.wrapping_sub(FUNCTION_BASE) / FUNCTION_STEP;
                let functions = &self.launch.code.functions;
                let exists = address.is_multiple_of(FUNCTION_STEP)
                    && usize::try_from(callee)
                        .is_ok_and(|i| functions.get(i).is_some_and(|f| f.is_defined));
                if !exists {
                    let kind = FaultKind::BadCall { address };
                    return Err(self.fault(warp.thread(lane), pc, kind));
                }
                let same = lanes(active)
                    .filter(|&lane| warp.registers.lane(slot, lane) == address)
                    .fold(0, |mask, lane| mask | 1 << lane);
                (callee as u32, same)
            }
        };
        // Lanes whose guard is false go on; others with another callee stay.
        let mask = warp.groups[index].mask;
        if mask & !active != 0 {
            self.split(warp, index, mask & !active, pc + 1, pc);
        }
        if active & !taken != 0 {
            self.split(warp, index, active & !taken, pc, pc);
        }
        let functions = &self.launch.code.functions;
        let caller = warp.groups[index].frame;
        let frame = warp.callee_frame(caller, pc, callee, functions);
        let Frame {
            depth,
            local,
            params,
            ..
        } = warp.frames[frame as usize];
        let limit = u64::from(self.launch.limits.local_bytes_per_thread);
        if depth > self.launch.limits.call_depth {
            let kind = FaultKind::CallDepth {
                limit: self.launch.limits.call_depth,
            };
            return Err(self.fault(warp.first_thread(taken), pc, kind));
        }
        if local.1 + params.1 > limit {
            let kind = FaultKind::StackOverflow {
                needed: local.1 + params.1,
                limit,
                depth,
            };
            return Err(self.fault(warp.first_thread(taken), pc, kind));
        }
        let caller_frame = warp.frames[caller as usize];
        let callee_frame = warp.frames[frame as usize];
        self.enter_frame(warp, frame, taken);
        for argument in &call.args {
            for lane in lanes(taken) {
                match *argument {
                    Argument::Bytes { from, to, size } => {
                        let from = caller_frame.params.0 + u64::from(from);
                        let to = callee_frame.params.0 + u64::from(to);
                        warp.params.copy(lane, from, to, size);
                    }
                    Argument::Value { from, to, bytes } => {
                        warp.registers.bases = caller_frame.bases;
                        let value = warp.registers.lane(from, lane);
                        let to = callee_frame.params.0 + u64::from(to);
                        warp.params.store(lane, to, bytes, value);
                    }
                    Argument::Register { from, to } => {
                        warp.registers.bases = caller_frame.bases;
                        let value = warp.registers.lane(from, lane);
                        warp.registers.bases = callee_frame.bases;
                        warp.registers.set_lane(to, lane, value);
                    }
                }
            }
        }
        let group = &mut warp.groups[index];
        group.pc = functions[callee as usize].entry;
        group.frame = frame;
        Ok(Next::Choose)
    }

    pub(super) fn ret(&mut self, warp: &mut Warp, index: usize, active: u32) -> Next {
        let (pc, mask, frame) = {
            let group = &warp.groups[index];
            (group.pc, group.mask, group.frame)
        };
        if frame == 0 {
            self.exit(warp, index, active);
            return Next::Choose;
        }
        if mask != active {
            self.split(warp, index, mask & !active, pc + 1, pc);
        }
        let callee = warp.frames[frame as usize];
        let caller = warp.frames[callee.parent as usize];
        if let Op::Call(call) = &self.launch.code.insts[callee.call_pc as usize].op {
            for result in &call.results {
                for lane in lanes(active) {
                    match *result {
                        CallResult::Bytes { from, to, size } => {
                            let from = callee.params.0 + u64::from(from);
                            let to = caller.params.0 + u64::from(to);
                            warp.params.copy(lane, from, to, size);
                        }
                        CallResult::Value {
                            from,
                            to,
                            bytes,
                            signed,
                        } => {
                            let from = callee.params.0 + u64::from(from);
                            let value = extend(warp.params.load(lane, from, bytes), bytes, signed);
                            warp.registers.bases = caller.bases;
                            warp.registers.set_lane(to, lane, value);
                        }
                        CallResult::Register { from, to } => {
                            warp.registers.bases = callee.bases;
                            let value = warp.registers.lane(from, lane);
                            warp.registers.bases = caller.bases;
                            warp.registers.set_lane(to, lane, value);
                        }
                    }
                }
            }
        }
        let group = &mut warp.groups[index];
        group.pc = callee.call_pc + 1;
        group.frame = callee.parent;
        group.state = State::Ready;
        Next::Choose
    }

    /// Ends the threads of `active`; the rest of the group goes on.
    pub(super) fn exit(&mut self, warp: &mut Warp, index: usize, active: u32) {
        let group = &mut warp.groups[index];
        group.mask &= !active;
        group.pc += 1;
        if group.mask == 0 {
            warp.groups.swap_remove(index);
        }
        warp.exit(active);
        self.live_threads -= active.count_ones();
        self.recheck_barriers = true;
    }
}
