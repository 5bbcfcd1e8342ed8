//! Barriers of the block, and the diagnosis of a block that cannot go on.

use ptx::BarrierReduction;

use super::{BlockRunner, Group, State, Stop, Warp};
use crate::coalesce::lanes;
use crate::code::{Barrier, BarrierKind, Op, WarpSync};
use crate::fault::{FaultKind, Waiting};
use crate::registers::LANES;

/// One of the 16 barriers of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct BarrierState {
    /// Threads that wait.
    pub(crate) waiting: u32,
    /// Threads that arrived and went on.
    pub(crate) arrived: u32,
    /// The warps of those.
    pub(crate) arrived_warps: Vec<usize>,
}

impl BlockRunner<'_> {
    /// Lets the threads of complete barriers go on.
    pub(super) fn complete_barriers(&mut self) -> Result<(), Stop> {
        for id in 0..self.barriers.len() as u32 {
            if self.barriers[id as usize].waiting > 0 && self.is_complete(id) {
                self.check_barrier(id)?;
                if let Some(unwritten) = self.unwritten.take() {
                    return Err(unwritten);
                }
                self.release(id);
            }
        }
        Ok(())
    }

    /// The groups that wait for a barrier, with their warps.
    fn waiting(&self, id: u32) -> impl Iterator<Item = (&Warp, &Group)> {
        self.warps.iter().flat_map(move |warp| {
            warp.groups
                .iter()
                .filter(move |group| {
                    matches!(group.state, State::Barrier { id: theirs, .. } if theirs == id)
                })
                .map(move |group| (warp, group))
        })
    }

    /// Lanes of a warp that wait for a barrier.
    fn waiting_lanes(&self, warp: &Warp, id: u32) -> u32 {
        self.waiting(id)
            .filter(|(w, _)| w.index == warp.index)
            .fold(0, |mask, (_, g)| mask | g.mask)
    }

    fn is_complete(&self, id: u32) -> bool {
        let state = &self.barriers[id as usize];
        let wanted = self.waiting(id).find_map(|(_, group)| match group.state {
            State::Barrier { threads, .. } => Some(threads),
            _ => None,
        });
        match wanted {
            None => false,
            Some(None) => state.waiting == self.live_threads,
            Some(Some(wanted)) => {
                // A warp counts as 32 threads once all its live lanes are there.
                let here: u32 = self
                    .warps
                    .iter()
                    .map(|warp| match self.waiting_lanes(warp, id) {
                        0 => 0,
                        mask if mask == warp.live => LANES as u32,
                        mask => mask.count_ones(),
                    })
                    .sum();
                here + state.arrived >= wanted
            }
        }
    }

    /// The faults of a complete barrier.
    fn check_barrier(&self, id: u32) -> Result<(), Stop> {
        if !self.launch.sanitize.barriers {
            return Ok(());
        }
        for warp in &self.warps {
            let mut groups = self
                .waiting(id)
                .filter(|(w, _)| w.index == warp.index)
                .map(|(_, g)| g);
            let Some(first) = groups.next() else { continue };
            if let Some(other) = groups.find(|group| group.pc != first.pc)
                && (self.barrier_at(first).aligned || self.barrier_at(other).aligned)
            {
                let kind = FaultKind::DivergentBarrier {
                    barrier: id,
                    other: self.launch.code.places[other.pc as usize].clone(),
                    other_thread: self
                        .launch
                        .thread_id(self.block, warp.first_thread(other.mask)),
                };
                return Err(self.fault(warp.first_thread(first.mask), first.pc, kind));
            }
        }
        let threads = self.launch.block_threads();
        let (warp, group) = self.waiting(id).next().expect("somebody waits");
        let whole_block = matches!(group.state, State::Barrier { threads: None, .. });
        if whole_block && self.live_threads < threads {
            let missing = (0..threads)
                .find(|&thread| {
                    let (warp, lane) = (thread as usize / LANES, thread as usize % LANES);
                    self.warps[warp].live >> lane & 1 == 0
                })
                .unwrap_or(0);
            let kind = FaultKind::PartialBarrier {
                barrier: id,
                arrived: self.live_threads,
                threads,
                missing: self.launch.thread_id(self.block, missing),
            };
            return Err(self.fault(warp.first_thread(group.mask), group.pc, kind));
        }
        Ok(())
    }

    fn barrier_at(&self, group: &Group) -> &Barrier {
        match &self.launch.code.insts[group.pc as usize].op {
            Op::Barrier(barrier) => barrier,
            _ => unreachable!("a group waits for a barrier at a barrier"),
        }
    }

    /// Ends a barrier: computes reductions, orders accesses, wakes the threads.
    fn release(&mut self, id: u32) {
        let launch = self.launch;
        let mut total = 0;
        let mut waiting = 0;
        for (warp, group) in self.waiting(id) {
            if let BarrierKind::Reduce { src, .. } = self.barrier_at(group).kind {
                let base = warp.frames[group.frame as usize].bases.pred;
                let pred = warp.registers.preds[(base + src.slot) as usize] ^ src.flip;
                total += (pred & group.mask).count_ones();
            }
            waiting += group.mask.count_ones();
        }
        let mut warps = std::mem::take(&mut self.barriers[id as usize]).arrived_warps;
        for warp in &mut self.warps {
            let Warp {
                groups,
                frames,
                registers,
                index,
                ..
            } = warp;
            let mut takes_part = false;
            for group in groups.iter_mut() {
                if !matches!(group.state, State::Barrier { id: theirs, .. } if theirs == id) {
                    continue;
                }
                takes_part = true;
                if let Op::Barrier(barrier) = &launch.code.insts[group.pc as usize].op
                    && let BarrierKind::Reduce { op, dst, .. } = barrier.kind
                {
                    registers.bases = frames[group.frame as usize].bases;
                    match op {
                        BarrierReduction::Popc => {
                            let row = registers.r32_mut(dst);
                            lanes(group.mask).for_each(|lane| row[lane] = total);
                        }
                        BarrierReduction::And => {
                            registers.set_pred(dst, group.mask, all_if(total == waiting));
                        }
                        BarrierReduction::Or => {
                            registers.set_pred(dst, group.mask, all_if(total > 0));
                        }
                    }
                }
                group.state = State::Ready;
                group.pc += 1;
            }
            if takes_part {
                warps.push(*index);
            }
        }
        if launch.sanitize.races {
            warps.sort_unstable();
            warps.dedup();
            self.clocks.barrier(&warps);
        }
    }

    /// Why no thread of the block can go on.
    pub(super) fn diagnose(&self) -> Stop {
        let code = &self.launch.code;
        for warp in &self.warps {
            for group in &warp.groups {
                if group.state != State::Lanes {
                    continue;
                }
                let Op::WarpSync(sync) = &code.insts[group.pc as usize].op else {
                    continue;
                };
                let mask = self.sync_mask(warp, group, sync);
                let missing = mask & warp.live & !group.mask;
                let elsewhere = warp
                    .groups
                    .iter()
                    .find(|other| other.mask & missing != 0)
                    .map(|other| self.describe(warp, other));
                let instruction = sync.kind.name();
                let kind = FaultKind::InactiveLanes {
                    instruction,
                    mask,
                    missing,
                    elsewhere,
                };
                return self.fault(warp.first_thread(group.mask), group.pc, kind);
            }
        }
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut first = None;
        for warp in &self.warps {
            for group in &warp.groups {
                first.get_or_insert((warp.first_thread(group.mask), group.pc));
                let ours = self.describe(warp, group);
                match waiting
                    .iter_mut()
                    .find(|w| w.place == ours.place && w.what == ours.what)
                {
                    Some(same) => same.threads += ours.threads,
                    None => waiting.push(ours),
                }
            }
        }
        let (thread, pc) = first.unwrap_or_default();
        let exited = self.launch.block_threads() - self.live_threads;
        self.fault(thread, pc, FaultKind::Deadlock { waiting, exited })
    }

    fn sync_mask(&self, warp: &Warp, group: &Group, sync: &WarpSync) -> u32 {
        let base = warp.frames[group.frame as usize].bases.r32;
        let lane = group.mask.trailing_zeros() as usize % LANES;
        warp.registers.rows32[(base + sync.mask.row) as usize][lane]
    }

    fn describe(&self, warp: &Warp, group: &Group) -> Waiting {
        let what = match (group.state, &self.launch.code.insts[group.pc as usize].op) {
            (State::Barrier { id, threads: None }, _) => format!("barrier {id}"),
            (
                State::Barrier {
                    id,
                    threads: Some(n),
                },
                _,
            ) => format!("barrier {id} ({n} threads)"),
            (_, Op::WarpSync(sync)) => sync.kind.name().to_owned(),
            _ => "its turn".to_owned(),
        };
        Waiting {
            threads: group.mask.count_ones(),
            first: self
                .launch
                .thread_id(self.block, warp.first_thread(group.mask)),
            place: self.launch.code.places[group.pc as usize].clone(),
            what,
        }
    }
}

fn all_if(condition: bool) -> u32 {
    if condition { u32::MAX } else { 0 }
}
