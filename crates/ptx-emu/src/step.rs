//! Steps a group through its instructions.

use crate::fault::Stop;
use crate::registers::number_of;
use crate::runner::{At, BlockRunner, Inst, Next, Op};
use crate::unset_values::propagation::Propagation;
use crate::warp::{PATIENCE, Warp};

impl BlockRunner<'_> {
    /// Steps a group until it reaches `limit`, changes, or its turn ends.
    pub(crate) fn step_group(
        &mut self,
        warp: &mut Warp,
        index: usize,
        limit: u32,
    ) -> Result<(), Stop> {
        let code = self.launch.code;
        let mut pc = warp.groups[index].pc;
        let mask = warp.groups[index].mask;
        let alone = limit == u32::MAX;
        let patience = if alone && warp.lane_splits == 0 {
            self.turn.patience
        } else {
            self.turn.patience.min(PATIENCE)
        };
        let stays_together = |place: u32| code.infos[place as usize].stays_together;
        // Where lanes that run apart come to a place at which they stay together, they wait.
        let apart = warp.lane_splits > 0 && !stays_together(pc);
        let in_kernel = warp.groups[index].frame == 0;
        warp.registers.bases = warp.frames[warp.groups[index].frame as usize].bases;
        loop {
            let inst = &code.insts[pc as usize];
            let active = mask & (warp.registers.pred(inst.guard) ^ inst.flip);
            self.turn.executed += 1;
            if self.records {
                if let Some(before) = self.recorded.replace(pc) {
                    self.end_step(warp, before, true);
                }
                self.begin_step(warp, pc, mask, active);
            }
            let execution = self.tallies.execution(pc);
            execution.warps += 1;
            execution.threads += u64::from(number_of(active));
            let late = inst.late.as_deref().filter(|_| warp.registers.late);
            if let Some(propagation) = late.or(inst.unset.as_deref()) {
                self.propagate(warp, (inst, propagation), pc, (mask, active))?;
            }
            match &inst.op {
                Op::Apply { apply, o } => {
                    if active != 0 {
                        // SAFETY: the pointer comes from `lane_loop!` or `portable_loop!`, which
                        // choose code that this host can run.
                        unsafe { apply(&mut warp.registers, o, active) };
                    }
                    pc += 1;
                }
                Op::Compare { test, o, then } => {
                    // SAFETY: the pointer comes from `test!`, which chooses code that this host
                    // can run.
                    let bits = unsafe { test(&warp.registers, o) };
                    then.store(&mut warp.registers, active, bits);
                    pc += 1;
                }
                Op::Branch { target } => {
                    if active == mask {
                        if in_kernel {
                            warp.groups[index].way.jump(pc, *target);
                        }
                        pc = *target;
                        if !alone || apart && stays_together(pc) {
                            // Others may be on the way: choose again.
                            self.leave(warp, index, pc);
                            return Ok(());
                        }
                    } else if active == 0 {
                        if in_kernel {
                            warp.groups[index].way.pass(pc);
                        }
                        pc += 1;
                        if apart && stays_together(pc) {
                            self.leave(warp, index, pc);
                            return Ok(());
                        }
                    } else {
                        self.tallies.execution(pc).divergent += 1;
                        if in_kernel {
                            warp.groups[index].way.pass(pc);
                        }
                        let taken = warp.split(index, active, *target, pc + 1);
                        if in_kernel {
                            warp.groups[taken].way.jump(pc, *target);
                        }
                        return Ok(());
                    }
                }
                Op::Other(op) => {
                    if active != 0 {
                        if warp.spin.is_pure && !op.is_quiet() {
                            warp.spin.is_pure = false;
                        }
                        warp.groups[index].pc = pc;
                        let at = At {
                            group: index,
                            pc,
                            active,
                        };
                        if op.execute(self, warp, at)? == Next::Choose {
                            return Ok(());
                        }
                    }
                    pc += 1;
                    if apart && stays_together(pc) {
                        self.leave(warp, index, pc);
                        return Ok(());
                    }
                }
            }
            if pc >= limit || self.turn.executed >= self.turn.end || warp.spins >= patience {
                self.leave(warp, index, pc);
                return Ok(());
            }
        }
    }

    /// Passes the unset bits of an instruction's operands on to its results.
    #[inline(never)]
    fn propagate(
        &mut self,
        warp: &mut Warp,
        (inst, propagation): (&Inst, &Propagation),
        pc: u32,
        lanes: (u32, u32),
    ) -> Result<(), Stop> {
        if !self.launch.sanitize.uninitialized {
            return Ok(());
        }
        let op = match &inst.op {
            Op::Apply { apply, o } => Some((*apply, o)),
            _ => None,
        };
        let followed = propagation.follow(&mut warp.registers, lanes, op);
        let Err(unset) = followed else {
            return Ok(());
        };
        let thread = warp.first_thread(unset.lanes);
        self.use_unset((thread, pc), unset.used, unset.origin)?;
        warp.registers.late = false;
        Ok(())
    }

    /// Ends a group's run at a position, giving way to others if it has been polling.
    fn leave(&mut self, warp: &mut Warp, index: usize, pc: u32) {
        let group = &mut warp.groups[index];
        group.pc = pc;
        if warp.spins < self.turn.patience.min(PATIENCE) {
            return;
        }
        warp.spins = 0;
        if self.turn.patience == 1 {
            self.turn.end = self.turn.executed;
        } else {
            group.gave_way = self.turn.executed;
        }
    }
}
