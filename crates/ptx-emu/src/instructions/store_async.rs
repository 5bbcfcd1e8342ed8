//! Stores to a block of the cluster that report to an object of `mbarrier` there: `st.async`.
//!
//! A store is made at once, the earliest moment. For races it is that of a warp of its own, which
//! only a wait for the object orders before other accesses, also before those of the thread that
//! stores. The accesses of the thread before it count as released with it; by the ISA, only the
//! store itself is.
//!
//! The ISA leaves it undefined where a cluster has one block. There an H100 stops with an illegal
//! instruction.

use ptx::Space;

use super::memory::{self, Store};
use crate::access::{MBARRIER_BYTES, Region};
use crate::fault::{FaultKind, Stop};
use crate::memory::rank_of;
use crate::read::{Read, Reader, other};
use crate::registers::{Address, Slot, lanes};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::shadows::Shadow;
use crate::warp::Warp;

/// `st.async`; `.async` is taken already.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    if !r.has("mbarrier::complete_tx::bytes") {
        return Err(r.missing("`.mbarrier::complete_tx::bytes`"));
    }
    let store = memory::read_store(r, 3)?;
    if !store.is_weak_to(Space::SharedCluster) {
        return Err(r.unsupported("space or order"));
    }
    let barrier = r.address(Space::SharedCluster)?;
    r.function.note_access(Space::Shared, MBARRIER_BYTES as u32);
    r.exchange.note(Space::Shared);
    r.exchange.stores_async = true;
    other(StoreAsync { store, barrier })
}

#[derive(Debug)]
struct StoreAsync {
    store: Store,
    /// The object.
    barrier: Address,
}

impl Execute for StoreAsync {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        if runner.launch.cluster_blocks() == 1 {
            let reason = "`st.async` needs a cluster of at least two blocks, and this launch has none: launch it with one, or store to the own block without it";
            let kind = FaultKind::IllegalInstruction {
                reason: reason.to_owned(),
            };
            return Err(runner.fault(warp.first_thread(at.active), at.pc, kind));
        }
        let targets = self.store.addresses(&warp.registers);
        let barriers = warp.registers.addresses(&self.barrier);
        let rank = |address: u64| rank_of(address).0;
        if let Some(lane) = lanes(at.active).find(|&l| rank(targets[l]) != rank(barriers[l])) {
            let reason =
                "an asynchronous store to one block reports to an mbarrier object of another";
            let kind = FaultKind::InvalidBarrier {
                reason: reason.to_owned(),
            };
            return Err(runner.fault(warp.thread(lane), at.pc, kind));
        }
        runner.note_poll(warp, 1);
        runner.start_async_store(warp);
        let stored = self.store.execute(runner, warp, at);
        runner.sanitizer.stores_async = false;
        stored?;
        let bytes = self.store.width().into();
        let mut last = None;
        for lane in lanes(at.active) {
            let is_new = last.replace(barriers[lane]) != Some(barriers[lane]);
            runner.complete_store(warp, (lane, at.pc), barriers[lane], bytes, is_new)?;
        }
        Ok(Next::Step)
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        self.store.track(shadow, is_late);
    }
}

impl BlockRunner<'_> {
    /// Records the stores that follow as asynchronous ones of the warp.
    fn start_async_store(&mut self, warp: &Warp) {
        if !self.launch.sanitize.races {
            return;
        }
        self.sanitizer.stores_async = true;
        let number = self.warp_number(warp.index);
        let stores = self.warp_number(self.recorded_warp(warp.index));
        self.sanitizer.clocks.start_async(number, stores);
    }

    /// Bytes of a lane's store have arrived, which reports to an object of this block or another
    /// that lives. `releases`: what the warp did before is released too.
    fn complete_store(
        &mut self,
        warp: &mut Warp,
        (lane, pc): (usize, u32),
        address: u64,
        bytes: i64,
        releases: bool,
    ) -> Result<(), Stop> {
        let stores = self.warp_number(self.launch.block_warps() + warp.index);
        let thread = warp.thread(lane);
        let (rank, offset) = rank_of(address);
        let memory = match rank {
            None => &mut self.block.shared,
            Some(rank) => &mut self.cluster.memories[rank as usize],
        };
        let claims = memory.claims.as_mut();
        let barrier = claims.and_then(|claims| claims.barriers.get_mut(&offset));
        let Some(barrier) = barrier.filter(|barrier| barrier.is_fenced || rank.is_none()) else {
            let reason = format!(
                "an asynchronous store reports to {}, where no mbarrier object is that `mbarrier::fence_init` has shown to other blocks (in PTX `fence.mbarrier_init`)",
                memory.location(self.launch, offset)
            );
            return Err(self.fault(thread, pc, FaultKind::InvalidBarrier { reason }));
        };
        barrier.bytes -= bytes;
        if releases && self.launch.sanitize.races {
            self.sanitizer.clocks.arrive(stores, &mut barrier.arriving);
        }
        if rank.is_none() {
            return self.settle(warp, (thread, pc), offset);
        }
        if barrier.pending > 0 || barrier.bytes > 0 {
            return Ok(());
        }
        if barrier.bytes < 0 {
            let (phase, surplus) = (barrier.phase, -barrier.bytes);
            let reason = format!(
                "asynchronous stores of {surplus} bytes more than phase {phase} expects of the mbarrier object at {}",
                memory.location(self.launch, offset)
            );
            return Err(self.fault(thread, pc, FaultKind::InvalidBarrier { reason }));
        }
        barrier.complete();
        if let Some(completed) = &mut memory.claims {
            completed.completed_by_other = true;
        }
        Ok(())
    }
}
