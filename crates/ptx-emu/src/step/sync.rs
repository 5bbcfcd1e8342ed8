//! Barriers and warp-wide operations.
//!
//! A warp-wide operation is executed by all lanes of its mask that have not exited, together: lanes that come first
//! wait for the others at the same instruction (PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync",
//! "bar.warp.sync"). Lanes with different masks are different operations (tiles of a warp).

use ptx::{IntType, ReduxOp, ShuffleMode, VoteMode};

use super::Next;
use crate::block::{BlockRunner, State, Stop, Warp};
use crate::coalesce::lanes;
use crate::code::{Barrier, BarrierKind, WarpSync, WarpSyncKind};
use crate::fault::FaultKind;
use crate::registers::LANES;

impl BlockRunner<'_> {
    pub(super) fn barrier(
        &mut self,
        warp: &mut Warp,
        index: usize,
        barrier: &Barrier,
        active: u32,
    ) -> Result<Next, Stop> {
        let (pc, mask) = (warp.groups[index].pc, warp.groups[index].mask);
        let first = active.trailing_zeros() as usize;
        let value = |slot| warp.registers.lane(slot, first) as u32;
        let id = value(barrier.id);
        let threads = barrier.threads.map(value);
        let invalid = |reason| FaultKind::InvalidBarrier { reason };
        if id >= 16 {
            let kind = invalid(format!("barrier {id}; there are 16, numbered from 0"));
            return Err(self.fault(warp.thread(first), pc, kind));
        }
        if let Some(threads) = threads
            && (threads == 0 || !threads.is_multiple_of(LANES as u32))
        {
            let kind = invalid(format!(
                "barrier {id} for {threads} threads; the number must be a multiple of {LANES}, above 0"
            ));
            return Err(self.fault(warp.thread(first), pc, kind));
        }
        self.recheck_barriers = true;
        if barrier.kind == BarrierKind::Arrive {
            let state = &mut self.barriers[id as usize];
            let whole = active == warp.live;
            state.arrived += if whole {
                LANES as u32
            } else {
                active.count_ones()
            };
            state.arrived_warps.push(warp.index);
            return Ok(Next::Step);
        }
        if mask != active {
            self.split(warp, index, mask & !active, pc + 1, pc);
        }
        self.barriers[id as usize].waiting += active.count_ones();
        warp.groups[index].state = State::Barrier { id, threads };
        Ok(Next::Choose)
    }

    pub(super) fn warp_sync(
        &mut self,
        warp: &mut Warp,
        index: usize,
        sync: &WarpSync,
        active: u32,
    ) -> Result<Next, Stop> {
        let (pc, group_mask) = (warp.groups[index].pc, warp.groups[index].mask);
        let masks = *warp.registers.r32(sync.mask.row);
        let mut complete = 0;
        for lane in lanes(active) {
            let mask = masks[lane];
            if mask >> lane & 1 == 0 {
                let kind = FaultKind::LaneNotInMask {
                    instruction: sync.kind.name(),
                    mask,
                    lane: lane as u32,
                };
                return Err(self.fault(warp.thread(lane), pc, kind));
            }
            let here = lanes(active)
                .filter(|&l| masks[l] == mask)
                .fold(0, |m, l| m | 1 << l);
            if mask & warp.live & !here == 0 {
                complete |= 1 << lane;
            }
        }
        if group_mask != active {
            self.split(warp, index, group_mask & !active, pc + 1, pc);
        }
        if complete != 0 {
            self.together(warp, sync, complete, pc)?;
        }
        if complete == active && group_mask == active {
            return Ok(Next::Step);
        }
        if complete != 0 {
            self.split(warp, index, complete, pc + 1, pc);
        }
        let group = &mut warp.groups[index];
        group.state = State::Lanes;
        if group.mask == 0 {
            warp.groups.swap_remove(index);
        }
        Ok(Next::Choose)
    }

    /// Executes a warp-wide operation for lanes whose partners are all here.
    fn together(
        &mut self,
        warp: &mut Warp,
        sync: &WarpSync,
        active: u32,
        pc: u32,
    ) -> Result<(), Stop> {
        let masks = *warp.registers.r32(sync.mask.row);
        // Partners of each lane that take part.
        let partners: [u32; LANES] = std::array::from_fn(|lane| masks[lane] & active);
        let registers = &mut warp.registers;
        match sync.kind {
            WarpSyncKind::Barrier => {
                if self.launch.sanitize.races {
                    let mut rest = active;
                    while rest != 0 {
                        let mask = partners[rest.trailing_zeros() as usize];
                        self.clocks.warp_barrier(warp.index, mask, warp.live);
                        rest &= !mask;
                    }
                }
            }
            WarpSyncKind::Shuffle {
                mode,
                dst,
                pred,
                src,
                lane: selector,
                clamp,
            } => {
                let values = *registers.r32(src.row);
                let (selector, clamp) = (*registers.r32(selector.row), *registers.r32(clamp.row));
                for lane in lanes(active) {
                    let (source, in_range) =
                        shuffle_source(mode, lane as u32, selector[lane], clamp[lane]);
                    let from = if in_range { source } else { lane as u32 };
                    if partners[lane] >> from & 1 == 0 {
                        let kind = FaultKind::ShuffleFromInactive {
                            source: from,
                            participants: partners[lane],
                        };
                        return Err(self.fault(warp.thread(lane), pc, kind));
                    }
                    if let Some(dst) = dst {
                        registers.r32_mut(dst.row)[lane] = values[from as usize];
                    }
                    if let Some(pred) = pred {
                        registers.set_pred(pred, 1 << lane, if in_range { u32::MAX } else { 0 });
                    }
                }
            }
            WarpSyncKind::Vote { mode, dst, src } => {
                let bits = registers.pred(src.slot) ^ src.flip;
                for lane in lanes(active) {
                    let votes = bits & partners[lane];
                    let result = match mode {
                        VoteMode::Ballot => {
                            registers.r32_mut(dst)[lane] = votes;
                            continue;
                        }
                        VoteMode::All => votes == partners[lane],
                        VoteMode::Any => votes != 0,
                        VoteMode::Uni => votes == 0 || votes == partners[lane],
                    };
                    registers.set_pred(dst, 1 << lane, if result { u32::MAX } else { 0 });
                }
            }
            WarpSyncKind::Match {
                all,
                dst,
                pred,
                src,
            } => {
                let values: [u64; LANES] = std::array::from_fn(|lane| registers.lane(src, lane));
                for lane in lanes(active) {
                    let same = lanes(partners[lane])
                        .filter(|&other| values[other] == values[lane])
                        .fold(0u32, |mask, other| mask | 1 << other);
                    let agree = same == partners[lane];
                    if let Some(dst) = dst {
                        registers.r32_mut(dst.row)[lane] = if all && !agree { 0 } else { same };
                    }
                    if let Some(pred) = pred {
                        registers.set_pred(pred, 1 << lane, if agree { u32::MAX } else { 0 });
                    }
                }
            }
            WarpSyncKind::Redux { op, ty, dst, src } => {
                let values = *registers.r32(src.row);
                let results: [u32; LANES] = std::array::from_fn(|lane| {
                    let members =
                        lanes(partners[lane] & if active >> lane & 1 == 1 { u32::MAX } else { 0 });
                    members
                        .map(|lane| values[lane])
                        .reduce(|a, b| reduce(op, ty, a, b))
                        .unwrap_or(0)
                });
                let row = registers.r32_mut(dst.row);
                lanes(active).for_each(|lane| row[lane] = results[lane]);
            }
            WarpSyncKind::Elect { dst, pred } => {
                for lane in lanes(active) {
                    let leader = partners[lane].trailing_zeros();
                    if let Some(dst) = dst {
                        registers.r32_mut(dst.row)[lane] = leader;
                    }
                    let elected = leader == lane as u32;
                    registers.set_pred(pred, 1 << lane, if elected { u32::MAX } else { 0 });
                }
            }
        }
        Ok(())
    }

    /// `membar`, `fence`.
    pub(super) fn fence(&mut self, warp: &mut Warp, device: bool) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        warp.spins += 1;
        if self.launch.sanitize.races {
            self.clocks.release(warp.index);
        }
        if device {
            self.note_fence();
        }
    }

    /// Notes a strong access, which may have seen what others released.
    pub(super) fn note_strong(&mut self, warp: &mut Warp) {
        warp.spins += 1;
        self.synchronized = true;
        if self.launch.sanitize.races {
            self.clocks.acquire(warp.index);
        }
    }

    /// Notes a releasing access.
    pub(super) fn note_release(&mut self, warp: &Warp) {
        if self.launch.sanitize.races {
            self.clocks.release(warp.index);
        }
        self.note_fence();
    }

    /// Notes that the block's earlier accesses are ordered before what other blocks do after seeing its later ones.
    fn note_fence(&mut self) {
        if let Some(fences) = self.launch.fences.get(self.block as usize) {
            self.fence_count += 1;
            fences.store(self.fence_count, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

/// The lane that a shuffle reads, and whether it is in range (PTX ISA, "shfl.sync").
fn shuffle_source(mode: ShuffleMode, lane: u32, selector: u32, clamp: u32) -> (u32, bool) {
    let b = selector & 31;
    let (clamp, segment) = (clamp & 31, clamp >> 8 & 31);
    let first = lane & segment;
    let last = first | (clamp & !segment);
    match mode {
        ShuffleMode::Up => {
            let source = lane.wrapping_sub(b);
            (source & 31, source as i32 >= last as i32)
        }
        ShuffleMode::Down => ((lane + b) & 31, lane + b <= last),
        ShuffleMode::Bfly => (lane ^ b, lane ^ b <= last),
        ShuffleMode::Idx => {
            let source = first | (b & !segment);
            (source & 31, source <= last)
        }
    }
}

fn reduce(op: ReduxOp, ty: IntType, a: u32, b: u32) -> u32 {
    match (op, ty.is_signed()) {
        (ReduxOp::Add, _) => a.wrapping_add(b),
        (ReduxOp::And, _) => a & b,
        (ReduxOp::Or, _) => a | b,
        (ReduxOp::Xor, _) => a ^ b,
        (ReduxOp::Min, false) => a.min(b),
        (ReduxOp::Max, false) => a.max(b),
        (ReduxOp::Min, true) => (a as i32).min(b as i32) as u32,
        (ReduxOp::Max, true) => (a as i32).max(b as i32) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_of_whole_warps() {
        // Rust and CUDA pass 0x1f (0 for `up`) as the clamp of a full-width shuffle.
        assert_eq!(shuffle_source(ShuffleMode::Up, 5, 1, 0), (4, true));
        assert!(!shuffle_source(ShuffleMode::Up, 0, 1, 0).1);
        assert_eq!(shuffle_source(ShuffleMode::Down, 30, 1, 0x1f), (31, true));
        assert!(!shuffle_source(ShuffleMode::Down, 31, 1, 0x1f).1);
        assert_eq!(shuffle_source(ShuffleMode::Bfly, 5, 16, 0x1f), (21, true));
        assert_eq!(shuffle_source(ShuffleMode::Idx, 5, 40, 0x1f), (8, true));
    }

    #[test]
    fn shuffles_of_segments_of_eight() {
        let clamp = (32 - 8) << 8 | 0x1f;
        assert_eq!(shuffle_source(ShuffleMode::Down, 9, 6, clamp), (15, true));
        assert!(!shuffle_source(ShuffleMode::Down, 9, 7, clamp).1);
        assert_eq!(shuffle_source(ShuffleMode::Idx, 9, 3, clamp), (11, true));
        assert_eq!(
            shuffle_source(ShuffleMode::Up, 9, 1, (32 - 8) << 8),
            (8, true)
        );
        assert!(!shuffle_source(ShuffleMode::Up, 8, 1, (32 - 8) << 8).1);
    }
}
