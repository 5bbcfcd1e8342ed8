//! Barriers of the block: `bar`, `barrier`. Also the diagnosis of a block that cannot go on.

use ptx::{Literal, OperandKind, Problem, RegClass, ScalarType};

use crate::block::BarrierState;
use crate::counts::InstructionClass;
use crate::fault::{EarlyExit, FaultKind, Stop, Waiting};
use crate::read::{Read, Reader, Width, other};
use crate::registers::{LANES, Slot};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::{Company, Rule};
use crate::warp::{BarrierWait, Group, Reduction, ReductionOp, State, Warp};

const U32: ScalarType = ScalarType::U32;

/// `bar.sync`, `bar.arrive`, `bar.red` and the same of `barrier`. `bar.warp.sync` is not for here.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Barrier, Rule::Strict);
    r.has("cta");
    let aligned = r.has("aligned") || r.opcode == "bar";
    let kind = r.need(
        "`.sync`, `.arrive` or `.red`",
        &[
            ("sync", Kind::Sync),
            ("arrive", Kind::Arrive),
            ("red", Kind::Reduce),
        ],
    )?;
    let (mut threads, mut reduction) = (None, None);
    let id = match kind {
        Kind::Sync => {
            let count = r.operands_between(1, 2)?;
            let id = barrier_id(r)?;
            if count == 2 {
                threads = Some(thread_count(r)?);
            }
            id
        }
        Kind::Arrive => {
            r.operands(2)?;
            let id = barrier_id(r)?;
            threads = Some(thread_count(r)?);
            id
        }
        Kind::Reduce => {
            let choices = [
                ("popc", ReductionOp::Popc),
                ("and", ReductionOp::And),
                ("or", ReductionOp::Or),
            ];
            let op = r.need("`.popc`, `.and` or `.or`", &choices)?;
            let ty = r.only_type(match op {
                ReductionOp::Popc => U32,
                _ => ScalarType::Pred,
            })?;
            let count = r.operands_between(3, 4)?;
            let (dst, id) = (r.dst(ty)?.row, barrier_id(r)?);
            if count == 4 {
                threads = Some(thread_count(r)?);
            }
            let src = r.flag()?;
            reduction = Some(Reduction { op, dst, src });
            id
        }
    };
    if kind != Kind::Arrive {
        r.facts.company = Company::Barrier;
    }
    other(Barrier {
        aligned,
        arrives_only: kind == Kind::Arrive,
        id,
        threads,
        reduction,
    })
}

/// The number of the barrier. PTX ISA, "bar": "values in the range 0 .. 15".
fn barrier_id(r: &mut Reader) -> Read<Slot> {
    number(r, |id| id < 16, "there are 16 barriers, numbered from 0")
}

/// The number of threads. PTX ISA, "bar": "a multiple of warp size".
fn thread_count(r: &mut Reader) -> Read<Slot> {
    let rule = "a barrier is for a multiple of 32 threads";
    number(r, |threads| threads.is_multiple_of(32), rule)
}

/// The next operand, which must keep the rule if it is written as a number: what a register holds
/// is checked where the barrier is reached.
fn number(r: &mut Reader, keeps: fn(u32) -> bool, rule: &str) -> Read<Slot> {
    let operand = r.operand()?;
    match operand.kind {
        OperandKind::Literal(Literal::Int(value)) if !keeps(value as u32) => {
            let message = format!("`{}` of {}: {rule}", r.opcode, value as i32);
            Err(Problem::invalid(operand.pos, message).into())
        }
        _ => r.value(operand, U32, Width::Exact),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sync,
    Arrive,
    Reduce,
}

#[derive(Debug)]
struct Barrier {
    aligned: bool,
    /// Threads arrive and go on.
    arrives_only: bool,
    id: Slot,
    threads: Option<Slot>,
    reduction: Option<Reduction>,
}

impl Execute for Barrier {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let first = at.active.trailing_zeros() as usize;
        let value = |slot| warp.registers.lane(slot, first) as u32;
        let id = value(self.id);
        let threads = self.threads.map(value);
        let mut invalid = None;
        if id >= 16 {
            invalid = Some(format!("barrier {id}; there are 16, numbered from 0"));
        } else if let Some(threads) = threads
            && (threads == 0 || !threads.is_multiple_of(LANES as u32))
        {
            invalid = Some(format!(
                "barrier {id} for {threads} threads; the number must be a multiple of {LANES}, above 0"
            ));
        }
        if let Some(reason) = invalid {
            let kind = FaultKind::InvalidBarrier { reason };
            return Err(runner.fault(warp.thread(first), at.pc, kind));
        }
        runner.block.recheck_barriers = true;
        let state = &mut runner.block.barriers[id as usize];
        if self.arrives_only {
            // Lanes of a warp may come one after the other.
            let mut arrived = state.arrived.iter_mut();
            let rest =
                arrived.find(|(index, lanes)| *index == warp.index && lanes & at.active == 0);
            match rest {
                Some((_, lanes)) => *lanes |= at.active,
                None => state.arrived.push((warp.index, at.active)),
            }
            if runner.launch.sanitize.races {
                let number = runner.warp_number(warp.index);
                let clocks = &mut runner.sanitizer.clocks;
                let released = &mut runner.block.barriers[id as usize].released;
                if released.is_empty() {
                    *released = clocks.nothing();
                }
                clocks.arrive(number, released);
            }
            return Ok(Next::Step);
        }
        state.waiting += at.active.count_ones();
        let mask = warp.groups[at.group].mask;
        if mask != at.active {
            warp.split(at.group, mask & !at.active, at.pc + 1, at.pc);
        }
        warp.groups[at.group].state = State::Barrier(BarrierWait {
            id,
            threads,
            aligned: self.aligned,
            reduction: self.reduction,
        });
        Ok(Next::Choose)
    }
}

impl BlockRunner<'_> {
    /// Lets the threads of complete barriers go on.
    pub(crate) fn complete_barriers(&mut self) -> Result<(), Stop> {
        for id in 0..self.block.barriers.len() as u32 {
            if self.block.barriers[id as usize].waiting > 0 && self.is_complete(id) {
                self.check_barrier(id)?;
                // In a cluster, another block may write it before the cluster's barrier.
                if self.cluster.blocks.len() == 1
                    && let Some(unwritten) = self.sanitizer.unwritten.take()
                {
                    return Err(unwritten);
                }
                self.release(id);
            }
        }
        Ok(())
    }

    /// The groups that wait for a barrier, with their warps.
    fn waiting(&self, id: u32) -> impl Iterator<Item = (&Warp, &Group, BarrierWait)> {
        let warps = self.block.warps.iter().map(Box::as_ref);
        warps.flat_map(move |warp| {
            warp.groups
                .iter()
                .filter_map(move |group| match group.state {
                    State::Barrier(wait) if wait.id == id => Some((warp, group, wait)),
                    _ => None,
                })
        })
    }

    /// Threads of other warps that wait at a barrier of the whole block which stands before a
    /// position, and behind the latest barrier that the accessing threads have passed: they have
    /// gone past it.
    pub(crate) fn waiting_before(&self, pc: u32) -> Option<Waiting> {
        let ids = 0..self.block.barriers.len() as u32;
        let mut all = ids.flat_map(|id| self.waiting(id));
        let (warp, group, _) = all.find(|(_, group, wait)| {
            let is_between = self.sanitizer.barrier < group.pc && group.pc < pc;
            wait.threads.is_none() && group.frame == 0 && is_between
        })?;
        Some(self.describe(warp, group))
    }

    /// Lanes of a warp that wait for a barrier.
    fn waiting_lanes(&self, warp: &Warp, id: u32) -> u32 {
        self.waiting(id)
            .filter(|(w, ..)| w.index == warp.index)
            .fold(0, |mask, (_, group, _)| mask | group.mask)
    }

    fn is_complete(&self, id: u32) -> bool {
        let state = &self.block.barriers[id as usize];
        match self.waiting(id).next().map(|(_, _, wait)| wait.threads) {
            None => false,
            Some(None) => state.waiting == self.block.live_threads,
            Some(Some(wanted)) => {
                // A warp counts as 32 threads once all its live lanes are there.
                let here: u32 = self
                    .block
                    .warps
                    .iter()
                    .map(|warp| match self.waiting_lanes(warp, id) {
                        0 => 0,
                        mask if mask == warp.live => LANES as u32,
                        mask => mask.count_ones(),
                    })
                    .sum();
                let arrived = state.arrived.iter().map(|&(index, lanes)| {
                    match self.block.warps[index].live & !lanes {
                        0 => LANES as u32,
                        _ => lanes.count_ones(),
                    }
                });
                here + arrived.sum::<u32>() >= wanted
            }
        }
    }

    /// The faults of a complete barrier, and the threads that do not come to it.
    fn check_barrier(&self, id: u32) -> Result<(), Stop> {
        if !self.launch.sanitize.barriers {
            return Ok(());
        }
        for warp in &self.block.warps {
            let mut groups = self.waiting(id).filter(|(w, ..)| w.index == warp.index);
            let Some((_, first, wait)) = groups.next() else {
                continue;
            };
            if let Some((_, other, other_wait)) = groups.find(|(_, group, _)| group.pc != first.pc)
                && (wait.aligned || other_wait.aligned)
            {
                let kind = FaultKind::DivergentBarrier {
                    barrier: id,
                    other: self.launch.code.infos[other.pc as usize].position.clone(),
                    other_thread: self
                        .launch
                        .thread_id(self.block.index, warp.first_thread(other.mask)),
                };
                return Err(self.fault(warp.first_thread(first.mask), first.pc, kind));
            }
        }
        let threads = self.launch.block_threads();
        let Some((warp, group, wait)) = self.waiting(id).next() else {
            return Ok(());
        };
        if wait.threads.is_none() && self.block.live_threads < threads {
            let index = self.block.index;
            self.launch.early_exit.note(index, || EarlyExit {
                kernel: self.launch.kernel_name().to_owned(),
                block: self.launch.thread_id(index, 0).block,
                exited: threads - self.block.live_threads,
                threads,
                barrier: self.launch.code.infos[group.pc as usize].position.clone(),
            });
        }
        // Threads that have returned before count as arrived, those that have gone past do not.
        let place = match warp.frames[group.frame as usize].depth {
            0 => group.pc,
            _ => return Ok(()),
        };
        let has_passed = |one: &&Warp| one.ended.are_there && one.ended.furthest > place;
        let passed = self.block.warps.iter().map(Box::as_ref).find(has_passed);
        if let (None, Some(passed)) = (wait.threads, passed) {
            let missing = passed.thread(passed.ended.lane as usize);
            let kind = FaultKind::PartialBarrier {
                barrier: id,
                arrived: self.block.live_threads,
                threads,
                missing: self.launch.thread_id(self.block.index, missing),
            };
            return Err(self.fault(warp.first_thread(group.mask), group.pc, kind));
        }
        Ok(())
    }

    /// Ends a barrier: computes reductions, orders accesses, wakes the threads.
    fn release(&mut self, id: u32) {
        let launch = self.launch;
        let mut total = 0;
        let mut waiting = 0;
        let mut is_of_all = false;
        for (warp, group, wait) in self.waiting(id) {
            is_of_all |= wait.threads.is_none();
            if let Some(Reduction { src, .. }) = wait.reduction {
                let base = warp.frames[group.frame as usize].bases.pred;
                let pred = warp.registers.preds[(base + src.slot) as usize] ^ src.flip;
                total += (pred & group.mask).count_ones();
            }
            waiting += group.mask.count_ones();
        }
        let BarrierState {
            arrived, released, ..
        } = std::mem::take(&mut self.block.barriers[id as usize]);
        let mut warps = Vec::new();
        for warp in &mut self.block.warps {
            let Warp {
                groups,
                frames,
                registers,
                index,
                ended,
                ..
            } = &mut **warp;
            let mut takes_part = false;
            for group in groups.iter_mut() {
                let wait = match group.state {
                    State::Barrier(wait) if wait.id == id => wait,
                    _ => continue,
                };
                takes_part = true;
                if let Some(Reduction { op, dst, .. }) = wait.reduction {
                    registers.bases = frames[group.frame as usize].bases;
                    let (class, value) = match op {
                        ReductionOp::Popc => (RegClass::B32, total),
                        ReductionOp::And => (RegClass::Pred, u32::from(total == waiting)),
                        ReductionOp::Or => (RegClass::Pred, u32::from(total > 0)),
                    };
                    registers.fill(Slot { class, row: dst }, group.mask, value.into());
                }
                group.state = State::Ready;
                group.way.restart(group.pc);
                group.pc += 1;
            }
            // Those that have ended before count as arrived.
            takes_part |= is_of_all && std::mem::take(ended).are_there;
            if takes_part {
                warps.push(*index);
            }
        }
        if let Some(views) = &launch.views {
            let all = arrived.iter().map(|(warp, _)| *warp);
            views.meet(self.block.index, all.chain(warps.iter().copied()));
        }
        if launch.sanitize.races {
            warps.sort_unstable();
            warps.dedup();
            let first = self.warp_number(0);
            warps.iter_mut().for_each(|warp| *warp += first);
            let clocks = &mut self.sanitizer.clocks;
            // What those that only arrived did since then is not ordered.
            if !released.is_empty() {
                warps.iter().for_each(|&warp| clocks.pass(warp, &released));
            }
            clocks.barrier(&warps);
            // Nobody else has accesses, and no row of clocks is left that does not know of them.
            if clocks.have_all(&warps) {
                let interval = &mut self.block.shared.interval;
                *interval = interval.wrapping_add(1);
            }
        }
    }

    /// Lanes that wait for others of their warp, if that is why no thread can go on.
    pub(crate) fn missing_lanes(&self) -> Option<Stop> {
        for warp in &self.block.warps {
            for group in &warp.groups {
                let State::Lanes { mask } = group.state else {
                    continue;
                };
                let here = self.launch.code.waiting_lanes(warp, group.pc, mask);
                let missing = mask & warp.live & !(here | group.mask);
                let mut others = warp.groups.iter();
                let elsewhere = others
                    .find(|other| other.mask & missing != 0)
                    .map(|other| self.describe(warp, other));
                return Some(self.missing(warp, group, missing, elsewhere));
            }
        }
        None
    }

    /// Checks of lanes that exit that no others wait for them: to exit at once, as a thread with
    /// nothing to do does, is to take no part; to go on past the place where others wait is a
    /// fault.
    pub(crate) fn check_not_awaited(&self, warp: &Warp, exiting: u32) -> Result<(), Stop> {
        let gone = exiting & warp.awaited & warp.acted;
        for group in &warp.groups {
            if let State::Lanes { mask } = group.state
                && mask & gone != 0
            {
                return Err(self.missing(warp, group, mask & gone, None));
            }
        }
        Ok(())
    }

    /// A group waits at a warp-wide operation for lanes that do not reach it.
    fn missing(
        &self,
        warp: &Warp,
        group: &Group,
        missing: u32,
        elsewhere: Option<Waiting>,
    ) -> Stop {
        let State::Lanes { mask } = group.state else {
            unreachable!("a group that waits for lanes");
        };
        let kind = FaultKind::InactiveLanes {
            instruction: self.launch.code.awaited(group.pc).to_owned(),
            mask,
            missing,
            elsewhere,
        };
        self.fault(warp.first_thread(group.mask), group.pc, kind)
    }

    /// No thread of the blocks that run together can go on.
    pub(crate) fn deadlock(blocks: &[BlockRunner]) -> Stop {
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut first = None;
        let mut exited = 0;
        for block in blocks {
            exited += block.launch.block_threads() - block.block.live_threads;
            let own = waiting.len();
            let all = block.block.warps.iter();
            for (warp, group) in all.flat_map(|warp| warp.groups.iter().map(move |g| (warp, g))) {
                first.get_or_insert((block, warp.first_thread(group.mask), group.pc));
                let ours = block.describe(warp, group);
                match waiting[own..]
                    .iter_mut()
                    .find(|w| w.place == ours.place && w.what == ours.what)
                {
                    Some(same) => same.threads += ours.threads,
                    None => waiting.push(ours),
                }
            }
        }
        let (block, thread, pc) = first.unwrap_or((&blocks[0], 0, 0));
        let kind = FaultKind::Deadlock {
            waiting,
            exited,
            blocks: blocks.len() as u32,
        };
        block.fault(thread, pc, kind)
    }

    fn describe(&self, warp: &Warp, group: &Group) -> Waiting {
        let what = match group.state {
            State::Barrier(BarrierWait { id, threads, .. }) => match threads {
                None => format!("barrier {id}"),
                Some(threads) => format!("barrier {id} ({threads} threads)"),
            },
            State::ClusterBarrier => "the cluster's barrier".to_owned(),
            State::Polling => "a change in memory".to_owned(),
            State::Mbarrier(offset) => self.describe_mbarrier(offset),
            State::Lanes { .. } => self.launch.code.awaited(group.pc).to_owned(),
            State::Ready => "its turn".to_owned(),
        };
        Waiting {
            threads: group.mask.count_ones(),
            first: self
                .launch
                .thread_id(self.block.index, warp.first_thread(group.mask)),
            place: self.launch.code.infos[group.pc as usize].position.clone(),
            what,
        }
    }
}
