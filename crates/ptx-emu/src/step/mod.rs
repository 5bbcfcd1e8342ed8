//! One instruction of one group.
//!
//! - `control`: branches, calls, returns, exits;
//! - `request`: one warp-wide access: where it goes, whether it may, what it costs;
//! - `load`, `store`, `atomic`: shared and global memory; `own`: local memory and parameters;
//! - `shadow`: the checks of memory accesses;
//! - `copy`: asynchronous copies;
//! - `sync`: barriers and warp-wide operations;
//! - `moves`: packing, conversions, addresses.

mod atomic;
mod control;
mod copy;
mod load;
mod moves;
mod own;
mod request;
mod shadow;
mod store;
mod sync;

pub(crate) use copy::AsyncQueues;

use crate::block::{BlockRunner, Frame, Group, PATIENCE, State, Stop, Warp};
use crate::code::Op;
use crate::fault::FaultKind;
use crate::ops::bits::lop3_lane;
use crate::ops::compare;

/// What follows an instruction that is not arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The next instruction, for the same lanes.
    Step,
    /// The group has changed: choose again.
    Choose,
}

impl BlockRunner<'_> {
    /// Steps a group until it reaches `limit`, changes, or its turn ends.
    pub(crate) fn step_group(
        &mut self,
        warp: &mut Warp,
        index: usize,
        limit: u32,
    ) -> Result<(), Stop> {
        let launch = self.launch;
        let code = launch.code;
        let mut pc = warp.groups[index].pc;
        let mask = warp.groups[index].mask;
        let alone = limit == u32::MAX;
        warp.registers.bases = warp.frames[warp.groups[index].frame as usize].bases;
        loop {
            let inst = &code.insts[pc as usize];
            let active = mask & (warp.registers.pred(inst.guard) ^ inst.flip);
            self.executed += 1;
            let execution = &mut self.tallies.executions[pc as usize];
            execution.warps += 1;
            execution.threads += u64::from(active.count_ones());
            let registers = &mut warp.registers;
            match &inst.op {
                Op::Apply { apply, o } => {
                    if active != 0 {
                        // SAFETY: the decoder takes the pointer from `lanes!`, which chose code that this host
                        // can run.
                        unsafe { apply(registers, o, active) };
                    }
                    pc += 1;
                }
                Op::Compare { test, o, then } => {
                    // SAFETY: as for `Apply`.
                    let bits = unsafe { test(registers, o) };
                    then.store(registers, active, bits);
                    pc += 1;
                }
                Op::Branch { target } => {
                    if active == mask {
                        pc = *target;
                        if !alone {
                            // Others may be on the way: choose again.
                            self.leave(warp, index, pc);
                            return Ok(());
                        }
                    } else if active == 0 {
                        pc += 1;
                    } else {
                        execution.divergent += 1;
                        self.split(warp, index, active, *target, pc + 1);
                        return Ok(());
                    }
                }
                Op::LoadParam {
                    offset,
                    bytes,
                    signed,
                    dst,
                } => {
                    if active != 0 {
                        self.load_param(warp, active, pc, *offset, *bytes, *signed, dst)?;
                    }
                    pc += 1;
                }
                Op::Load(access) => {
                    if active != 0 {
                        self.load(warp, access, active, pc)?;
                    }
                    pc += 1;
                }
                Op::Store(access) => {
                    if active != 0 {
                        self.store(warp, access, active, pc)?;
                    }
                    pc += 1;
                }
                op => {
                    // The guard may also exclude every lane of what follows.
                    if active == 0 {
                        pc += 1;
                    } else {
                        warp.groups[index].pc = pc;
                        match self.step_other(warp, index, op, active)? {
                            Next::Step => pc += 1,
                            Next::Choose => return Ok(()),
                        }
                    }
                }
            }
            let spins = warp.spins >= PATIENCE && !alone;
            if pc >= limit || self.executed >= self.turn_end || spins {
                self.leave(warp, index, pc);
                return Ok(());
            }
        }
    }

    /// Ends a group's run at a position, giving way to others if it has been polling.
    fn leave(&self, warp: &mut Warp, index: usize, pc: u32) {
        let group = &mut warp.groups[index];
        group.pc = pc;
        if warp.spins >= PATIENCE {
            warp.spins = 0;
            group.gave_way = self.executed;
        }
    }

    /// Steps an instruction that is neither arithmetic nor a plain branch, load or store, for lanes of which there is
    /// at least one. The group's `pc` is up to date.
    fn step_other(
        &mut self,
        warp: &mut Warp,
        index: usize,
        op: &Op,
        active: u32,
    ) -> Result<Next, Stop> {
        let pc = warp.groups[index].pc;
        let registers = &mut warp.registers;
        match op {
            Op::Set { test, o, then, yes } => {
                // SAFETY: as for `Apply`.
                let bits = unsafe { test(registers, o) };
                let bits = then.result(registers, bits);
                compare::store_set(registers, o.d, active, bits, *yes);
            }
            Op::Property {
                class,
                ty,
                dst,
                src,
            } => {
                let bits = compare::property(registers, *class, *ty, *src);
                registers.set_pred(*dst, active, bits);
            }
            Op::Lop3Pred {
                lut,
                o,
                then,
                has_dst,
            } => {
                let mut nonzero = 0;
                for lane in crate::coalesce::lanes(active) {
                    let [a, b, c] = [o.a, o.b, o.c].map(|row| registers.r32(row)[lane]);
                    let value = lop3_lane(*lut, a, b, c);
                    nonzero |= u32::from(value != 0) << lane;
                    if *has_dst {
                        registers.r32_mut(o.d)[lane] = value;
                    }
                }
                then.store(registers, active, nonzero);
            }
            Op::Convert {
                conversion,
                dst,
                src,
            } => {
                conversion.apply(registers, (dst.file, dst.row), (src.file, src.row), active);
            }
            Op::ConvertPair { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::ShiftAddress { .. }
            | Op::IsSpace { .. } => moves::step(registers, op, active),
            Op::Clock { dst, shift } => {
                let now = self.executed >> shift;
                crate::coalesce::lanes(active).for_each(|lane| registers.set_lane(*dst, lane, now));
            }
            Op::Atomic(access) => self.atomic(warp, access, active, pc)?,
            Op::AsyncCopy(_) | Op::AsyncCommit | Op::AsyncWait { .. } => {
                self.async_copy(warp, op, active, pc)?;
            }
            Op::Fence { device } => self.fence(warp, *device),
            Op::Nothing => {}
            Op::Sleep => warp.spins += PATIENCE,
            Op::ActiveMask { dst } => {
                crate::coalesce::lanes(active)
                    .for_each(|lane| registers.set_lane(*dst, lane, active.into()));
            }
            Op::Barrier(barrier) => return self.barrier(warp, index, barrier, active),
            Op::WarpSync(sync) => return self.warp_sync(warp, index, sync, active),
            Op::BranchTable {
                index: row,
                targets,
            } => {
                return self.branch_table(warp, index, *row, targets, active);
            }
            Op::Call(call) => return self.call(warp, index, call, active),
            Op::Return => return Ok(self.ret(warp, index, active)),
            Op::Exit => {
                self.exit(warp, index, active);
                return Ok(Next::Choose);
            }
            Op::Trap => {
                let pc = self.blamed(warp, index);
                return Err(self.fault(warp.first_thread(active), pc, FaultKind::Trap));
            }
            Op::Breakpoint => {
                return Err(self.fault(warp.first_thread(active), pc, FaultKind::Breakpoint));
            }
            Op::Unsupported(reason) => {
                return Err(self.unsupported(warp.first_thread(active), pc, reason));
            }
            Op::Apply { .. }
            | Op::Compare { .. }
            | Op::Branch { .. }
            | Op::LoadParam { .. }
            | Op::Load(_)
            | Op::Store(_) => unreachable!("stepped by `step_group`"),
        }
        Ok(Next::Step)
    }

    /// The position that a user would look for: a group's own, or, in a function of a library (a panic), that of the
    /// innermost call outside.
    fn blamed(&self, warp: &Warp, index: usize) -> u32 {
        let places = &self.launch.code.places;
        let Group {
            mut pc, mut frame, ..
        } = warp.groups[index];
        while frame != 0 && places[pc as usize].is_in_library() {
            let Frame {
                call_pc, parent, ..
            } = warp.frames[frame as usize];
            (pc, frame) = (call_pc, parent);
        }
        pc
    }

    /// Moves the lanes of `taken` to `target` and the rest of the group to `next`.
    fn split(&mut self, warp: &mut Warp, index: usize, taken: u32, target: u32, next: u32) {
        let group = &mut warp.groups[index];
        group.mask &= !taken;
        group.pc = next;
        let mut other = *group;
        other.mask = taken;
        other.pc = target;
        other.state = State::Ready;
        warp.groups.push(other);
    }
}
