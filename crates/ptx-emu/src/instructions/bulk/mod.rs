//! Asynchronous copies in bulk, between global and shared memory: `cp.async.bulk`.
//!
//! A copy to shared memory reports to an object of `mbarrier`, and arrives when a thread waits for
//! that (`mbarrier`). A copy to global memory belongs to a group of its thread: its source is read
//! when the thread waits for that (`wait_group.read`), and what it stores is there when it waits
//! for the whole (`wait_group`) or ends. Until then nothing may access where a copy goes, or write
//! where it comes from. (That another block accesses global memory to which a copy is under way is
//! a race.)
//!
//! These copies are by the asynchronous proxy: it sees what ordinary instructions have stored only
//! behind `fence.proxy.async`. Of shared memory, a fence by any thread of the block since the store
//! counts; of global memory, one by a warp that knows of the store, or whose block had heard of it
//! from another.

use std::sync::atomic::Ordering::Relaxed;

use ptx::{ScalarType, Space};

use crate::access::{GlobalRegion, Region, words};
use crate::check::race::{LINE, Record};
use crate::coalesce::SECTOR;
use crate::counts::{GlobalTraffic, InstructionClass, SharedTraffic};
use crate::fault::{AccessKind, FaultKind, Stop};
use crate::memory::claims::{BulkCopy, BulkLoad, Claim};
use crate::memory::global::Buffer;
use crate::memory::shared::SharedMemory;
use crate::memory::{Words, rank_of};
use crate::read::{Read, Reader, other};
use crate::registers::{Address, LANES, Row64, Slot, lanes};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_origin::Origin;
use crate::unset_values::facts::Rule;
use crate::warp::{BulkStore, CopyGroups, Warp};

/// Addresses and sizes are multiples of this, in bytes.
const UNIT: u32 = 16;
/// Bytes of shared memory that one pass moves.
const WAVEFRONT: u64 = 128;

/// `cp.async.bulk`; `.async` and `.bulk` are taken already.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Other, Rule::Strict);
    if r.has("commit_group") {
        r.operands(0)?;
        return other(Commit);
    }
    if r.has("wait_group") {
        let only_read = r.has("read");
        r.operands(1)?;
        let pending = r.constant()?;
        return other(Wait { pending, only_read });
    }
    if r.has("prefetch") {
        return Err(r.unsupported("modifier `.prefetch`"));
    }
    let (to, from) = (r.space(), r.space());
    let is_load = match (to, from) {
        (Some(Space::Shared | Space::SharedCluster), Some(Space::Global)) => true,
        (Some(Space::Global), Some(Space::Shared)) => false,
        _ => return Err(r.unsupported("spaces")),
    };
    let (completion, class) = if is_load {
        ("mbarrier::complete_tx::bytes", InstructionClass::Load)
    } else {
        ("bulk_group", InstructionClass::Store)
    };
    r.class = class;
    if !r.has(completion) {
        return Err(r.missing(completion_name(is_load)));
    }
    let policies = usize::from(r.has("L2::cache_hint"));
    r.operands(3 + usize::from(is_load) + policies)?;
    let dst = r.address(to.unwrap_or(Space::Generic))?;
    let src = r.address(from.unwrap_or(Space::Generic))?;
    let bytes = r.src(ScalarType::U32)?;
    let barrier = if is_load {
        Some(r.address(Space::SharedCluster)?)
    } else {
        None
    };
    r.function.note_access(Space::Shared, 4);
    r.exchange.bulk = true;
    let (shared, global) = if is_load { (dst, src) } else { (src, dst) };
    other(Issue {
        shared,
        global,
        bytes,
        barrier,
        tally: r.function.tally(),
    })
}

fn completion_name(is_load: bool) -> &'static str {
    if is_load {
        "`.mbarrier::complete_tx::bytes`"
    } else {
        "`.bulk_group`"
    }
}

/// Starts a copy.
#[derive(Debug)]
struct Issue {
    shared: Address,
    global: Address,
    bytes: Slot,
    /// Where a copy to shared memory reports; none of a copy to global memory.
    barrier: Option<Address>,
    tally: u32,
}

impl Execute for Issue {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let registers = &warp.registers;
        let shared = registers.addresses(&self.shared);
        let global = registers.addresses(&self.global);
        let barrier = self.barrier.as_ref().map(|a| registers.addresses(a));
        for lane in lanes(at.active) {
            let copy = BulkCopy {
                global: global[lane],
                shared: shared[lane],
                bytes: warp.registers.lane(self.bytes, lane) as u32,
                barrier: barrier.map_or(0, |barrier| barrier[lane]),
                pc: at.pc,
                warp: warp.index,
                lane,
            };
            self.start(runner, warp, copy)?;
        }
        Ok(Next::Step)
    }

    fn is_asynchronous(&self) -> bool {
        true
    }
}

impl Issue {
    fn start(&self, runner: &mut BlockRunner, warp: &mut Warp, copy: BulkCopy) -> Result<(), Stop> {
        let is_load = self.barrier.is_some();
        let thread = warp.thread(copy.lane);
        if !copy.bytes.is_multiple_of(UNIT) {
            let bytes = copy.bytes;
            let reason = format!("a bulk copy of {bytes} bytes: the size must be a multiple of 16");
            return Err(runner.fault(thread, copy.pc, FaultKind::InvalidCopy { reason }));
        }
        if is_load
            && [copy.shared, copy.barrier]
                .map(rank_of)
                .iter()
                .any(|at| at.0.is_some())
        {
            let reason = "a bulk copy to the shared memory of another block";
            return Err(runner.unsupported(thread, copy.pc, reason));
        }
        let (load, store) = if is_load {
            (copy.global, copy.shared)
        } else {
            (copy.shared, copy.global)
        };
        let (load, store) = ([load; LANES], [store; LANES]);
        for (kind, addresses) in [(AccessKind::Load, &load), (AccessKind::Store, &store)] {
            let mask = 1 << copy.lane;
            let whole = Request::weak(kind, addresses, mask, UNIT, copy.pc, warp.index);
            let is_shared = (kind == AccessKind::Store) == is_load;
            let shared = is_shared.then_some(&runner.block.shared);
            runner.check_alignment(&whole, &Span::of(addresses, mask, UNIT), shared)?;
        }
        if is_load {
            check_barrier(runner, thread, &copy)?;
        }
        if copy.bytes == 0 {
            return Ok(());
        }
        let mut ours = of(&copy, AccessKind::Load, &load);
        if is_load {
            check_global_source(runner, &ours)?;
            ours = of(&copy, AccessKind::Store, &store);
        }
        let span = Span::of(ours.addresses, ours.mask, ours.width);
        runner.check_shared(&ours, &span)?;
        check_proxy(runner, &ours)?;
        let claim = if is_load { Claim::All } else { Claim::Writes };
        if !is_load {
            check_shared_source(runner, &ours, &span)?;
            let theirs = of(&copy, AccessKind::Store, &store);
            let buffer = buffer(runner, &theirs)?;
            runner.check_writable(&theirs, buffer)?;
            let to_span = Span::of(theirs.addresses, theirs.mask, theirs.width);
            runner.check_leaving(&theirs, &to_span)?;
        }
        runner.claim(warp, &ours, copy.lane, claim)?;
        self.count(runner, &copy);
        if is_load {
            let buffer = buffer(runner, &of(&copy, AccessKind::Load, &load))?;
            let data = words(&buffer, copy.global - buffer.base, copy.bytes).collect();
            runner.claims().arriving.push(BulkLoad { copy, data });
            return runner.settle(warp, (thread, copy.pc), copy.barrier);
        }
        let queues = warp.copies.get_or_insert_default();
        queues.stores.open[copy.lane].push(BulkStore {
            copy,
            data: None,
            unset: Vec::new(),
        });
        if runner.launch.sanitize.races {
            runner.sanitizer.leaving.push(copy);
        }
        Ok(())
    }

    fn count(&self, runner: &mut BlockRunner, copy: &BulkCopy) {
        let bytes = u64::from(copy.bytes);
        let sectors = (copy.global + bytes - 1) / SECTOR - copy.global / SECTOR + 1;
        let traffic = runner.tallies.traffic(self.tally);
        traffic.global += GlobalTraffic {
            requests: 1,
            sectors,
            ideal_sectors: sectors.min(bytes.div_ceil(SECTOR)),
            // They do not pass through L1.
            l2_sectors: if runner.launch.count_l2 { sectors } else { 0 },
            bytes,
        };
        let passes = bytes.div_ceil(WAVEFRONT);
        let shared = SharedTraffic {
            requests: 1,
            wavefronts: passes,
            ideal_wavefronts: passes,
            bytes,
        };
        if self.barrier.is_some() {
            traffic.copied_to_shared += shared;
        }
    }
}

/// The access of a copy at one of its ends.
fn of<'r>(copy: &BulkCopy, kind: AccessKind, addresses: &'r Row64) -> Request<'r> {
    Request {
        kind,
        addresses,
        mask: 1 << copy.lane,
        width: copy.bytes,
        pc: copy.pc,
        warp: copy.warp,
        strong: false,
        non_coherent: false,
    }
}

/// The buffer of a copy's end in global memory.
fn buffer<'a>(runner: &BlockRunner<'a>, request: &Request) -> Result<&'a Buffer, Stop> {
    let span = Span::of(request.addresses, request.mask, request.width);
    Ok(runner.buffer(request, request.mask, &span)?.0)
}

/// The object that a copy reports to must be there.
///
/// No fence is asked for between `mbarrier.init` and a copy of the same block: the ISA names
/// `fence.mbarrier_init` for the other threads of a cluster ("membar, fence"), and NVIDIA's own
/// libraries leave the fence of the proxies out there, as the memory model lets them (CUB,
/// kernel_transform.cuh).
fn check_barrier(runner: &mut BlockRunner, thread: u32, copy: &BulkCopy) -> Result<(), Stop> {
    if runner.claims().barriers.contains_key(&copy.barrier) {
        return Ok(());
    }
    let location = runner.block.shared.location(runner.launch, copy.barrier);
    let reason = format!("a bulk copy reports to {location}, where no mbarrier object is");
    Err(runner.fault(thread, copy.pc, FaultKind::InvalidBarrier { reason }))
}

/// Checks what a copy is to read of global memory.
fn check_global_source(runner: &mut BlockRunner, request: &Request) -> Result<(), Stop> {
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
fn moved_bytes(shared: &SharedMemory, request: &Request) -> Option<Vec<u64>> {
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
fn check_shared_source(
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

/// Checks that the asynchronous proxy sees what ordinary instructions have stored to a copy's end
/// in shared memory.
fn check_proxy(runner: &mut BlockRunner, request: &Request) -> Result<(), Stop> {
    let lane = request.mask.trailing_zeros() as usize;
    let start = request.addresses[lane];
    let claims = runner.claims();
    let mut units = (start..start + u64::from(request.width)).step_by(4);
    let Some(unfenced) = units.find(|&offset| claims.is_unfenced(offset, 4)) else {
        return Ok(());
    };
    let kind = FaultKind::MissingProxyFence {
        copy: request.access(),
        location: runner.block.shared.location(runner.launch, unfenced),
    };
    Err(runner.fault(request.thread(lane), request.pc, kind))
}

/// The copy to shared memory arrives.
pub(super) fn arrive(runner: &mut BlockRunner, load: &BulkLoad) -> Result<(), Stop> {
    let BulkLoad { copy, data } = load;
    let launch = runner.launch;
    let sources = [copy.global; LANES];
    let request = of(copy, AccessKind::Load, &sources);
    let buffer = buffer(runner, &request)?;
    let mut global = GlobalRegion::new(buffer, launch);
    if launch.sanitize.races {
        let span = Span::of(&sources, request.mask, request.width);
        runner.check_load(&request, &mut global, &span)?;
    }
    runner.check_source(&request, &mut global, data)?;
    let targets = [copy.shared; LANES];
    let store = of(copy, AccessKind::Store, &targets);
    let bytes = u64::from(copy.bytes);
    let mut shared = std::mem::take(&mut runner.block.shared);
    if let Some(claims) = &mut shared.claims {
        claims.release(copy.shared, bytes);
        claims.note_copy(copy.shared, bytes);
    }
    let span = Span::of(&targets, store.mask, store.width);
    let mut checked = Ok(());
    if launch.sanitize.races {
        checked = runner.check_stores(&store, &mut shared, &span, |_, _| true, |_, _| {});
    }
    if checked.is_ok() {
        for k in (0..bytes).step_by(4) {
            let word = global.load(copy.lane, copy.global - buffer.base + k, 4);
            shared.store(copy.lane, copy.shared + k, 4, word);
        }
        runner.mark_written(&store, &mut shared, &span);
        runner.pass_unset((&global, &request), (&mut shared, copy.shared));
    }
    runner.block.shared = shared;
    checked
}

/// `cp.async.bulk.commit_group`.
#[derive(Debug)]
struct Commit;

impl Execute for Commit {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let queues = warp.copies.get_or_insert_default();
        lanes(at.active).for_each(|lane| queues.stores.commit(lane));
        Ok(Next::Step)
    }
}

/// `cp.async.bulk.wait_group` until at most `pending` groups are under way; with `.read`, until so
/// many still have to read.
#[derive(Debug)]
struct Wait {
    pending: u32,
    only_read: bool,
}

impl Execute for Wait {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let mut queues = warp.copies.take().unwrap_or_default();
        let mut result = Ok(());
        'lanes: for lane in lanes(at.active) {
            let groups = &mut queues.stores.groups[lane];
            let count = groups.len().saturating_sub(self.pending as usize);
            for store in groups.iter_mut().take(count).flatten() {
                read_source(runner, store);
                if !self.only_read {
                    result = make(runner, store);
                }
                if result.is_err() {
                    break 'lanes;
                }
            }
            if !self.only_read {
                groups.drain(..count);
            }
        }
        // Several copies may have the same source.
        if let Some(claims) = &mut runner.block.shared.claims {
            for (_, store) in queues
                .stores
                .all()
                .filter(|(_, store)| store.data.is_none())
            {
                claims.claim(store.copy.shared, store.copy.bytes.into(), Claim::Writes);
            }
        }
        warp.copies = Some(queues);
        result.map(|()| Next::Step)
    }
}

/// Reads what a copy stores to global memory, if it has not yet.
fn read_source(runner: &mut BlockRunner, store: &mut BulkStore) {
    let BulkStore { copy, data, unset } = store;
    if data.is_none() {
        let bytes = u64::from(copy.bytes);
        let word = |k| runner.block.shared.load(copy.lane, copy.shared + k, 4) as u32;
        *data = Some((0..bytes).step_by(4).map(word).collect());
        let sources = [copy.shared; LANES];
        let request = of(copy, AccessKind::Load, &sources);
        if runner.launch.sanitize.uninitialized {
            *unset = moved_bytes(&runner.block.shared, &request).unwrap_or_default();
        }
        if let Some(claims) = &mut runner.block.shared.claims {
            claims.release(copy.shared, bytes);
        }
    }
}

/// Stores what a copy has read to global memory.
fn make(runner: &mut BlockRunner, store: &BulkStore) -> Result<(), Stop> {
    let BulkStore { copy, data, unset } = store;
    let launch = runner.launch;
    runner.sanitizer.leaving.retain(|leaving| leaving != copy);
    let targets = [copy.global; LANES];
    let request = of(copy, AccessKind::Store, &targets);
    let buffer = buffer(runner, &request)?;
    let span = Span::of(&targets, request.mask, request.width);
    buffer.note(&request, &span);
    let mut region = GlobalRegion::new(buffer, launch);
    if launch.sanitize.races {
        runner.check_stores(&request, &mut region, &span, |_, _| true, |_, _| {})?;
    }
    for (k, word) in (0..).step_by(4).zip(data.iter().flatten()) {
        region.store(copy.lane, copy.global - buffer.base + k, 4, (*word).into());
    }
    runner.mark_written(&request, &mut region, &span);
    for byte in unset {
        let place = (copy.lane, copy.global - buffer.base + byte);
        runner.mark_unset(&mut region, place, (1, 0xff), Origin::MOVED);
    }
    runner.turn.changes += 1;
    Ok(())
}

impl BlockRunner<'_> {
    /// Threads end: of their copies to global memory, those that have read their source are made;
    /// others, and those to the memory of a block whose last thread ends, should have been waited
    /// for. Without checks they are made all the same.
    pub(crate) fn end_copies(&mut self, warp: &mut Warp, ending: u32) -> Result<(), Stop> {
        let (mut late, is_checked) = (None, self.launch.sanitize.races);
        if let Some(mut queues) = warp.copies.take() {
            for lane in lanes(ending) {
                let CopyGroups { open, groups, .. } = &mut queues.stores;
                let groups = groups[lane].iter_mut().chain([&mut open[lane]]);
                for store in groups.flatten() {
                    if !is_checked {
                        read_source(self, store);
                    }
                    match store.data {
                        Some(_) => make(self, store)?,
                        None => late = late.or(Some((store.copy, AccessKind::Load))),
                    }
                }
                queues.stores.groups[lane].clear();
            }
            warp.copies = Some(queues);
        }
        if self.block.live_threads == ending.count_ones()
            && let Some(claims) = &self.block.shared.claims
            && let Some(load) = claims.arriving.first()
        {
            late = late.or(Some((load.copy, AccessKind::Store)));
        }
        let Some((copy, kind)) = late.filter(|_| is_checked) else {
            return Ok(());
        };
        let kind = FaultKind::CopyNotAwaited {
            copy: of(&copy, kind, &[0; LANES]).access(),
            location: self.block.shared.location(self.launch, copy.shared),
        };
        let thread = (copy.warp * LANES + copy.lane) as u32;
        Err(self.fault(thread, copy.pc, kind))
    }
}
