//! Arrivals at objects of other blocks of the cluster.

use ptx::Space;

use super::{Change, Object, Verb};
use crate::access::{MBARRIER_BYTES, Region};
use crate::fault::{AccessKind, FaultKind, Stop};
use crate::memory::{SHARED_WINDOW, rank_of, space_of};
use crate::registers::{LANES, Row64, lanes, lanes_where};
use crate::request::Request;
use crate::runner::{At, BlockRunner};
use crate::warp::Warp;

impl Change {
    /// A lane's object as a shared address.
    fn address(&self, warp: &Warp, lane: usize) -> u64 {
        let address = warp.registers.addresses(&self.object.address)[lane];
        if self.object.is_generic && space_of(address) == Space::Shared {
            address - SHARED_WINDOW
        } else {
            address
        }
    }

    /// The lanes that arrive at an object of another block of the cluster.
    pub(super) fn lanes_elsewhere(&self, runner: &BlockRunner, warp: &Warp, at: At) -> u32 {
        if self.object.verb != Verb::Arrive || runner.cluster.blocks.len() < 2 {
            return 0;
        }
        lanes_where(at.active, |lane| {
            let rank = rank_of(self.address(warp, lane))
                .0
                .map(|rank| rank as usize);
            rank.is_some_and(|rank| rank != runner.block.rank && rank < runner.cluster.blocks.len())
        })
    }

    /// Makes a lane's arrival at an object of another block of the cluster.
    pub(super) fn arrive_elsewhere(
        &self,
        runner: &mut BlockRunner,
        warp: &Warp,
        (lane, pc): (usize, u32),
    ) -> Result<(), Stop> {
        let (rank, offset) = rank_of(self.address(warp, lane));
        let (rank, thread) = (rank.unwrap_or(0) as usize, warp.thread(lane));
        let addresses = [offset; LANES];
        let (kind, bytes) = (AccessKind::Atomic, MBARRIER_BYTES as u32);
        let request = Request::weak(kind, &addresses, 1 << lane, bytes, pc, warp.index);
        runner.check_alive(&request, rank)?;
        let operand = self
            .operand
            .map(|slot| warp.registers.lane(slot, lane) as u32);
        let operand = operand.map(i64::from);
        let mut memory = std::mem::take(&mut runner.cluster.memories[rank]);
        let barrier =
            { memory.claims.as_mut() }.and_then(|claims| claims.barriers.get_mut(&offset));
        let mut reason = None;
        match barrier.filter(|barrier| barrier.is_fenced) {
            None => {
                reason = Some(format!(
                    "mbarrier.arrive at {}, where no mbarrier object is that `mbarrier::fence_init` has shown to other blocks (in PTX `fence.mbarrier_init`)",
                    memory.location(runner.launch, offset)
                ));
            }
            Some(barrier) => {
                let arrivals = if self.expects {
                    1
                } else {
                    operand.unwrap_or(1)
                };
                let pending = i64::from(barrier.pending);
                if (1..=pending).contains(&arrivals) {
                    barrier.pending -= arrivals as u32;
                    barrier.bytes += if self.expects {
                        operand.unwrap_or(0)
                    } else {
                        0
                    };
                    if self.releases && runner.launch.sanitize.races {
                        let by = (runner.warp_number(warp.index), lane);
                        let (arriving, by_lane) =
                            (&mut barrier.arriving, &mut barrier.lanes_arriving);
                        let clocks = &mut runner.sanitizer.clocks;
                        clocks.arrive_alone(by, warp.lanes, arriving, by_lane);
                    }
                    if (barrier.pending, barrier.bytes) == (0, 0) {
                        barrier.complete();
                    }
                } else {
                    let (phase, expected) = (barrier.phase, barrier.expected);
                    reason = Some(format!(
                        "{arrivals} arrivals at the mbarrier object at {}, whose phase {phase} waits for {pending} more: it was made for {expected}",
                        memory.location(runner.launch, offset)
                    ));
                }
            }
        }
        if let Some(claims) = &mut memory.claims {
            // Threads there look at it again.
            claims.completed_by_other = true;
        }
        runner.cluster.memories[rank] = memory;
        match reason {
            None => Ok(()),
            Some(reason) => Err(runner.fault(thread, pc, FaultKind::InvalidBarrier { reason })),
        }
    }
}

impl Object {
    /// True if the objects of these lanes were shown to the cluster by `fence.mbarrier_init`, which
    /// orders `mbarrier.init` before a barrier of the cluster that is relaxed (PTX ISA, "membar,
    /// fence").
    pub(super) fn are_shown(&self, runner: &BlockRunner, offsets: &Row64, mask: u32) -> bool {
        let claims = runner.block.shared.claims.as_ref();
        let is_shown = |lane: usize| {
            let barriers = claims.map(|claims| &claims.barriers);
            let found = barriers.and_then(|all| all.get(&offsets[lane]));
            found.is_some_and(|barrier| barrier.is_fenced)
        };
        runner.block.has_met_cluster && lanes(mask).all(is_shown)
    }
}
