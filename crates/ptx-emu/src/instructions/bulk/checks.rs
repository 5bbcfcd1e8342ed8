//! The checks of bulk copies: what they read, and that the asynchronous proxy sees it.

use std::sync::atomic::Ordering::Relaxed;

use crate::access::{GlobalRegion, Region};
use crate::check::race::{LINE, Record};
use crate::fault::{AccessKind, FaultKind, Stop};
use crate::memory::claims::BulkCopy;
use crate::memory::global::Buffer;
use crate::memory::rank_of;
use crate::memory::shared::SharedMemory;
use crate::memory::tile::TileRow;
use crate::registers::{Row64, lanes};
use crate::request::{Request, Span};
use crate::runner::{BlockRunner, Op};

/// The name of such a copy in messages.
pub(super) const BY: &str = "a bulk copy";

/// The access of a copy, of this length, at one of its ends.
pub(super) fn of_bytes<'r>(
    copy: &BulkCopy,
    kind: AccessKind,
    addresses: &'r Row64,
    bytes: u32,
) -> Request<'r> {
    let mask = 1 << copy.lane;
    Request::weak(kind, addresses, mask, bytes, copy.pc, copy.warp)
}

/// The access of a copy to a row in global memory.
pub(super) fn of_row<'r>(
    copy: &BulkCopy,
    kind: AccessKind,
    addresses: &'r Row64,
    row: &TileRow,
) -> Request<'r> {
    of_bytes(copy, kind, addresses, row.bytes)
}

/// The buffer of a copy's end in global memory.
pub(super) fn buffer<'a>(runner: &BlockRunner<'a>, request: &Request) -> Result<&'a Buffer, Stop> {
    let span = Span::of(request.addresses, request.mask, request.width);
    Ok(runner.buffer(request, request.mask, &span)?.0)
}

/// The object that a copy reports to must be there.
///
/// No fence is asked for between `mbarrier.init` and a copy of the same block: the ISA names
/// `fence.mbarrier_init` for the other threads of a cluster ("membar, fence"), and NVIDIA's own
/// libraries leave the fence of the proxies out there, as the memory model lets them (CUB,
/// kernel_transform.cuh).
pub(super) fn check_barrier(
    runner: &mut BlockRunner,
    thread: u32,
    copy: &BulkCopy,
    target: Option<u32>,
) -> Result<(), Stop> {
    let offset = rank_of(copy.barrier).1;
    let memory = match target {
        None => &runner.block.shared,
        Some(rank) if (rank as usize) < runner.cluster.memories.len() => {
            &runner.cluster.memories[rank as usize]
        }
        Some(rank) => {
            let blocks = runner.cluster.blocks.len();
            let reason = format!("a bulk copy to block {rank} of a cluster of {blocks}");
            return Err(runner.fault(thread, copy.pc, FaultKind::InvalidCopy { reason }));
        }
    };
    let claims = memory.claims.as_ref();
    if claims.is_some_and(|claims| claims.barriers.contains_key(&offset)) {
        return Ok(());
    }
    let location = memory.location(runner.launch, offset);
    let reason = format!("a bulk copy reports to {location}, where no mbarrier object is");
    Err(runner.fault(thread, copy.pc, FaultKind::InvalidBarrier { reason }))
}

/// Checks what a copy is to read of global memory.
pub(super) fn check_global_source(runner: &mut BlockRunner, request: &Request) -> Result<(), Stop> {
    let launch = runner.launch;
    let buffer = buffer(runner, request)?;
    let span = Span::of(request.addresses, request.mask, request.width);
    buffer.note(request, &span);
    let mut region = GlobalRegion::new(buffer, launch);
    if !launch.sanitize.races {
        return Ok(());
    }
    runner.check_load(request, &mut region, &span)?;
    runner.check_leaving(request, &span)?;
    let until = launch.proxied_until.load(Relaxed);
    let is_shown = |store: &Record| {
        let (block, warp) = (
            u64::from(store.block - launch.first_block),
            usize::from(store.warp),
        );
        let shown = launch.proxies.of(block, warp, u32::MAX);
        shown > store.clock || until > 0 && launch.fences.of(block, warp, until) > store.clock
    };
    let offset = span.min - buffer.base;
    for granule in runner.granules(offset, request.width) {
        let Some(line) = region.line(granule / LINE, GlobalRegion::epoch(runner)) else {
            continue;
        };
        let stores = line.stores(granule % LINE);
        let is_ordinary = |pc: u32| match &launch.code.insts[pc as usize].op {
            Op::Other(op) => !op.is_asynchronous(),
            _ => true,
        };
        let is_hidden = |store: Record| is_ordinary(store.pc) && !is_shown(&store);
        if stores.into_iter().any(is_hidden) {
            let kind = FaultKind::MissingProxyFence {
                by: BY,
                copy: request.access(),
                location: region.location(launch, granule * u64::from(launch.granule)),
            };
            let lane = request.mask.trailing_zeros() as usize;
            return Err(runner.fault(request.thread(lane), request.pc, kind));
        }
    }
    Ok(())
}

/// The bytes that nothing has written of what a copy is to read of shared memory, if all of them
/// were moved there from global memory: they may be moved back. `None` if some were not.
pub(super) fn moved_bytes(shared: &SharedMemory, request: &Request) -> Option<Vec<u64>> {
    let lane = request.mask.trailing_zeros() as usize;
    let start = request.addresses[lane];
    let bytes = 0..u64::from(request.width);
    if shared.origins.is_empty() {
        let is_written = shared.is_written(start, bytes.end);
        return is_written.then(Vec::new);
    }
    let unset: Vec<u64> = bytes
        .filter(|byte| !shared.is_written(start + byte, 1))
        .collect();
    let are_moved = unset
        .iter()
        .all(|byte| shared.origin(lane, start + byte).is_moved());
    are_moved.then_some(unset)
}

/// Checks what a copy is to read of shared memory.
pub(super) fn check_shared_source(
    runner: &mut BlockRunner,
    request: &Request,
    span: &Span,
) -> Result<(), Stop> {
    let mut shared = std::mem::take(&mut runner.block.shared);
    let mut checked = Ok(());
    if runner.launch.sanitize.uninitialized && moved_bytes(&shared, request).is_none() {
        checked = runner.check_written(request, &shared, span);
    }
    if checked.is_ok() && runner.launch.sanitize.races {
        checked = runner.check_load(request, &mut shared, span);
    }
    runner.block.shared = shared;
    checked
}

/// Checks that the asynchronous proxy sees what ordinary instructions have stored to what a copy,
/// or `by`, accesses of shared memory.
pub(in super::super) fn check_proxy(
    runner: &mut BlockRunner,
    request: &Request,
    by: &'static str,
) -> Result<(), Stop> {
    let width = u64::from(request.width);
    let claims = runner.claims();
    let is_unfenced = |lane: &usize| claims.is_unfenced(request.addresses[*lane], width);
    let Some(lane) = lanes(request.mask).find(is_unfenced) else {
        return Ok(());
    };
    let start = request.addresses[lane];
    let mut words = (start..start + width).step_by(4);
    let unfenced = words.find(|&offset| claims.is_unfenced(offset, 4));
    let unfenced = unfenced.unwrap_or(start);
    let kind = FaultKind::MissingProxyFence {
        by,
        copy: request.access(),
        location: runner.block.shared.location(runner.launch, unfenced),
    };
    Err(runner.fault(request.thread(lane), request.pc, kind))
}
