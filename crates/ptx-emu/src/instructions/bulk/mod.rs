//! Asynchronous copies in bulk, between global and shared memory: `cp.async.bulk`. The tiles of
//! tensors are read in `tensor`.
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

mod checks;
mod ends;

use ptx::{ScalarType, Space};

pub(super) use checks::check_proxy;
use checks::{
    BY, buffer, check_barrier, check_global_source, check_shared_source, of_bytes, of_row,
};
pub(super) use ends::arrive;
use ends::{Commit, Wait};

use super::tensor::{self, Coordinates};
use crate::coalesce::SECTOR;
use crate::counts::{GlobalTraffic, InstructionClass, SharedTraffic};
use crate::fault::{AccessKind, FaultKind, Stop, Stray};
use crate::memory::claims::{BulkCopy, BulkLoad, Claim};
use crate::memory::rank_of;
use crate::memory::tile::{Tile, TileRow, bytes_of};
use crate::memory::update::AtomicOp;
use crate::read::{Read, Reader, other};
use crate::registers::{Address, LANES, Slot, lanes};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::tensor_map::{TensorElement, TensorMap};
use crate::unset_values::facts::Rule;
use crate::warp::{BulkStore, Warp};

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
        return prefetch(r);
    }
    let rank = tensor::rank(r)?;
    match (r.space(), r.space()) {
        (Some(to @ (Space::Shared | Space::SharedCluster)), Some(Space::Global)) => {
            read_load(r, rank, to)
        }
        (Some(Space::Global), Some(Space::Shared)) => read_store(r, rank, None),
        _ => Err(r.unsupported("spaces")),
    }
}

/// A copy to shared memory, of a tile if there are dimensions.
fn read_load(r: &mut Reader, rank: Option<usize>, to: Space) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Load, Rule::Strict);
    if !r.has("mbarrier::complete_tx::bytes") {
        return Err(r.missing("`.mbarrier::complete_tx::bytes`"));
    }
    let is_multicast = r.has("multicast::cluster");
    let policies = usize::from(r.has("L2::cache_hint"));
    if rank.is_some() {
        r.has("tile");
    }
    let count = 3 + usize::from(rank.is_none()) + usize::from(is_multicast) + policies;
    r.operands(count)?;
    let shared = r.address(to)?;
    let source = source(r, rank)?;
    let barrier = Some(r.address(Space::SharedCluster)?);
    let targets = if is_multicast {
        Some(r.src(ScalarType::U16)?)
    } else {
        None
    };
    issue(r, shared, source, barrier, targets, None)
}

/// A copy, or a reduction, to global memory, of a tile if there are dimensions. Its spaces are
/// taken already.
fn read_store(r: &mut Reader, rank: Option<usize>, update: Option<AtomicOp>) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Store, Rule::Strict);
    if !r.has("bulk_group") {
        return Err(r.missing("`.bulk_group`"));
    }
    let policies = usize::from(r.has("L2::cache_hint"));
    if rank.is_some() {
        r.has("tile");
    }
    r.operands(2 + usize::from(rank.is_none()) + policies)?;
    let Some(rank) = rank else {
        let global = r.address(Space::Global)?;
        let shared = r.address(Space::Shared)?;
        let bytes = r.src(ScalarType::U32)?;
        return issue(
            r,
            shared,
            Source::Plain { global, bytes },
            None,
            None,
            update,
        );
    };
    let tile = Source::Tile(Coordinates::read(r, rank)?);
    let shared = r.address(Space::Shared)?;
    issue(r, shared, tile, None, None, update)
}

/// `cp.reduce.async.bulk`; `.async` is taken already.
pub(super) fn reduce(r: &mut Reader) -> Read<Op> {
    if !r.has("bulk") {
        return Err(r.missing("`.bulk`"));
    }
    let Some(rank) = tensor::rank(r)? else {
        return Err(r.unsupported("modifier `.reduce` without `.tensor`"));
    };
    if (r.space(), r.space()) != (Some(Space::Global), Some(Space::Shared)) {
        return Err(r.unsupported("spaces"));
    }
    let op = r.need(
        "operation",
        &[
            ("add", AtomicOp::Add),
            ("min", AtomicOp::Min),
            ("max", AtomicOp::Max),
            ("inc", AtomicOp::Inc),
            ("dec", AtomicOp::Dec),
            ("and", AtomicOp::And),
            ("or", AtomicOp::Or),
            ("xor", AtomicOp::Xor),
        ],
    )?;
    r.function.note_access(Space::Global, 4);
    read_store(r, Some(rank), Some(op))
}

/// `cp.async.bulk.prefetch`, a hint.
fn prefetch(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Other;
    let rank = tensor::rank(r)?;
    r.has("tile");
    if !(r.has("L2") && r.space() == Some(Space::Global)) {
        return Err(r.missing("`.L2.global`"));
    }
    let policies = usize::from(r.has("L2::cache_hint"));
    let least = 1 + usize::from(rank.is_none()) + policies;
    r.operands(least)?;
    match rank {
        Some(rank) => {
            Coordinates::read(r, rank)?;
        }
        None => {
            r.address(Space::Global)?;
            r.src(ScalarType::U32)?;
        }
    }
    other(Hint)
}

/// The next operands as what a copy to shared memory is of.
fn source(r: &mut Reader, rank: Option<usize>) -> Read<Source> {
    if let Some(rank) = rank {
        return Ok(Source::Tile(Coordinates::read(r, rank)?));
    }
    let global = r.address(Space::Global)?;
    let bytes = r.src(ScalarType::U32)?;
    Ok(Source::Plain { global, bytes })
}

fn issue(
    r: &mut Reader,
    shared: Address,
    source: Source,
    barrier: Option<Address>,
    targets: Option<Slot>,
    update: Option<AtomicOp>,
) -> Read<Op> {
    // Elements of a tile may have any size.
    let narrowest = if matches!(source, Source::Tile(_)) {
        1
    } else {
        4
    };
    r.function.note_access(Space::Shared, narrowest);
    r.exchange.bulk = true;
    other(Issue {
        shared,
        source,
        barrier,
        targets,
        update,
        tally: r.function.tally(),
    })
}

/// The end of a copy in global memory.
#[derive(Debug)]
enum Source {
    /// Consecutive bytes.
    Plain { global: Address, bytes: Slot },
    /// A tile of a tensor.
    Tile(Coordinates),
}

/// Starts a copy.
#[derive(Debug)]
struct Issue {
    shared: Address,
    source: Source,
    /// Where a copy to shared memory reports; none of a copy to global memory.
    barrier: Option<Address>,
    /// The ranks, a bit each, of the blocks of the cluster that get a copy.
    targets: Option<Slot>,
    /// The update of global memory, of a reduction.
    update: Option<AtomicOp>,
    tally: u32,
}

impl Execute for Issue {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let registers = &warp.registers;
        let shared = registers.addresses(&self.shared);
        let barrier = self.barrier.as_ref().map(|a| registers.addresses(a));
        for lane in lanes(at.active) {
            let (tile, map) = match &self.source {
                Source::Plain { global, bytes } => {
                    let address = warp.registers.addresses(global)[lane];
                    let bytes = warp.registers.lane(*bytes, lane) as u32;
                    (Tile::plain(address, bytes), None)
                }
                Source::Tile(named) => {
                    let stores = barrier.is_none();
                    let (tile, map) = named.tile(runner, warp, (lane, at.pc), stores)?;
                    (tile, Some(map))
                }
            };
            let copy = BulkCopy {
                global: tile.rows.first().map_or(0, |row| row.global),
                shared: shared[lane],
                bytes: tile.bytes,
                barrier: barrier.map_or(0, |barrier| barrier[lane]),
                pc: at.pc,
                warp: warp.index,
                lane,
            };
            self.start(runner, warp, copy, (tile, map))?;
        }
        Ok(Next::Step)
    }

    fn is_asynchronous(&self) -> bool {
        true
    }
}

impl Issue {
    fn start(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        copy: BulkCopy,
        (tile, map): (Tile, Option<TensorMap>),
    ) -> Result<(), Stop> {
        let thread = warp.thread(copy.lane);
        let is_load = self.barrier.is_some();
        if !copy.bytes.is_multiple_of(UNIT) {
            let bytes = copy.bytes;
            let reason = format!("a bulk copy of {bytes} bytes: the size must be a multiple of 16");
            return Err(runner.fault(thread, copy.pc, FaultKind::InvalidCopy { reason }));
        }
        let (kind, other_kind) = if is_load {
            (AccessKind::Store, AccessKind::Load)
        } else {
            (AccessKind::Load, AccessKind::Store)
        };
        let alignment = map.map_or(UNIT, |_| tensor::TILE_ALIGN);
        self.check_alignment(runner, &copy, (kind, rank_of(copy.shared).1, alignment))?;
        if map.is_none() {
            self.check_alignment(runner, &copy, (other_kind, copy.global, UNIT))?;
        }
        let update = self.update.zip(map.map(|map| map.element));
        if let Some((op, element)) = update
            && tensor::update(op, element).is_none()
        {
            let reason = format!("a reduction of a tensor of {element:?}");
            return Err(runner.unsupported(thread, copy.pc, &reason));
        }
        let targets = self.targets(runner, warp, &copy)?;
        if is_load {
            for &target in &targets {
                check_barrier(runner, thread, &copy, target)?;
            }
        }
        if copy.bytes == 0 {
            return Ok(());
        }
        self.count(runner, &copy, &tile);
        if !is_load {
            return start_store(runner, warp, copy, tile, update);
        }
        let mut data = tile.filled();
        let mut is_as_read = true;
        for row in &tile.rows {
            let sources = [row.global; LANES];
            let request = of_row(&copy, AccessKind::Load, &sources, row);
            check_global_source(runner, &request)?;
            let buffer = buffer(runner, &request)?;
            if runner.records {
                runner.note_access(Space::Global, &request, Some(buffer));
            }
            let bytes = bytes_of(&buffer, row.global - buffer.base, row.bytes);
            let start = row.start as usize;
            let loaded = &mut data[start..start + bytes.len()];
            loaded.copy_from_slice(&bytes);
            is_as_read &= !map.is_some_and(|map| tensor::rounds(map.element, loaded));
        }
        for target in targets {
            let copy = BulkCopy {
                shared: rank_of(copy.shared).1,
                barrier: rank_of(copy.barrier).1,
                ..copy
            };
            let load = BulkLoad {
                copy,
                data: data.clone(),
                tile: tile.clone(),
                is_as_read,
            };
            start_load(runner, warp, load, target)?;
        }
        Ok(())
    }

    /// Checks the alignment of one end of a copy.
    fn check_alignment(
        &self,
        runner: &BlockRunner,
        copy: &BulkCopy,
        (kind, address, alignment): (AccessKind, u64, u32),
    ) -> Result<(), Stop> {
        let addresses = [address; LANES];
        let mask = 1 << copy.lane;
        let end = Request::weak(kind, &addresses, mask, alignment, copy.pc, copy.warp);
        let is_shared = (kind == AccessKind::Store) == self.barrier.is_some();
        let shared = is_shared.then_some(&runner.block.shared);
        runner.check_alignment(&end, &Span::of(&addresses, mask, alignment), shared)
    }

    /// The ranks of the blocks of the cluster that a copy to shared memory goes to; `None` for the
    /// running one.
    fn targets(
        &self,
        runner: &BlockRunner,
        warp: &Warp,
        copy: &BulkCopy,
    ) -> Result<Vec<Option<u32>>, Stop> {
        let own = runner.block.rank as u32;
        let named = |rank: u32| (rank != own).then_some(rank);
        let Some(slot) = self.targets else {
            let ranks = [copy.shared, copy.barrier].map(|at| rank_of(at).0);
            if self.barrier.is_some() && ranks[0] != ranks[1] {
                let reason = "a bulk copy to the shared memory of one block reports to an mbarrier object of another";
                let kind = FaultKind::InvalidCopy {
                    reason: reason.to_owned(),
                };
                return Err(runner.fault(warp.thread(copy.lane), copy.pc, kind));
            }
            return Ok(vec![ranks[0].and_then(named)]);
        };
        let mask = warp.registers.lane(slot, copy.lane);
        let blocks = runner.cluster.blocks.len() as u32;
        if mask == 0 || mask >> blocks != 0 {
            let reason = format!(
                "a bulk copy to the blocks {mask:#x} of a cluster of {blocks}: the mask names blocks that there are, at least one"
            );
            let kind = FaultKind::InvalidCopy { reason };
            return Err(runner.fault(warp.thread(copy.lane), copy.pc, kind));
        }
        let ranks = (0..blocks).filter(|rank| mask >> rank & 1 == 1);
        Ok(ranks.map(named).collect())
    }

    fn count(&self, runner: &mut BlockRunner, copy: &BulkCopy, tile: &Tile) {
        let of = |row: &TileRow| {
            let bytes = u64::from(row.bytes);
            (row.global + bytes - 1) / SECTOR - row.global / SECTOR + 1
        };
        let sectors: u64 = tile.rows.iter().map(of).sum();
        let bytes: u64 = tile.rows.iter().map(|row| u64::from(row.bytes)).sum();
        let traffic = runner.tallies.traffic(self.tally);
        traffic.global += GlobalTraffic {
            requests: 1,
            sectors,
            ideal_sectors: sectors.min(bytes.div_ceil(SECTOR)),
            // They do not pass through L1.
            l2_sectors: if runner.launch.count_l2 { sectors } else { 0 },
            bytes,
        };
        let in_shared = u64::from(copy.bytes);
        let passes = in_shared.div_ceil(WAVEFRONT);
        let shared = SharedTraffic {
            requests: 1,
            wavefronts: passes,
            ideal_wavefronts: passes,
            bytes: in_shared,
        };
        if self.barrier.is_some() {
            traffic.copied_to_shared += shared;
        }
    }
}

/// Starts a copy to the shared memory of the running block, or to that of a rank.
fn start_load(
    runner: &mut BlockRunner,
    warp: &mut Warp,
    load: BulkLoad,
    target: Option<u32>,
) -> Result<(), Stop> {
    let (copy, thread) = (load.copy, warp.thread(load.copy.lane));
    let targets = [copy.shared; LANES];
    let request = of_bytes(&copy, AccessKind::Store, &targets, load.tile.span());
    if let Some(rank) = target {
        return start_elsewhere(runner, warp, &request, load, rank as usize);
    }
    let span = Span::of(request.addresses, request.mask, request.width);
    runner.check_shared(&request, &span)?;
    if runner.records {
        runner.note_copy(Space::Shared, &request, None);
    }
    check_proxy(runner, &request, BY)?;
    runner.claim(warp, &request, copy.lane, Claim::All)?;
    runner.claims().arriving.push(load);
    runner.settle(warp, (thread, copy.pc), copy.barrier)
}

/// Starts a copy to the shared memory of another block of the cluster. A thread of that block lets
/// it arrive.
fn start_elsewhere(
    runner: &mut BlockRunner,
    warp: &Warp,
    request: &Request,
    load: BulkLoad,
    rank: usize,
) -> Result<(), Stop> {
    runner.check_alive(request, rank)?;
    let lane = load.copy.lane;
    let mut memory = std::mem::take(&mut runner.cluster.memories[rank]);
    let checked = (|| {
        if !memory.contains(load.copy.shared, request.width.into()) {
            let stray = Stray::Shared {
                size: memory.bytes,
                offset: load.copy.shared,
            };
            return Err(runner.out_of_bounds(request, lane, stray));
        }
        let Some(claims) = &memory.claims else {
            return Ok(());
        };
        let span = Span::of(request.addresses, request.mask, request.width);
        runner.check_claims(warp, &memory, claims, request, &span)
    })();
    if let Some(claims) = &mut memory.claims {
        if runner.launch.sanitize.races {
            claims.claim(load.copy.shared, request.width.into(), Claim::All);
        }
        claims.arriving.push(load);
        claims.completed_by_other = true;
    }
    runner.cluster.memories[rank] = memory;
    checked
}

/// Starts a copy to global memory.
fn start_store(
    runner: &mut BlockRunner,
    warp: &mut Warp,
    copy: BulkCopy,
    tile: Tile,
    update: Option<(AtomicOp, TensorElement)>,
) -> Result<(), Stop> {
    let sources = [copy.shared; LANES];
    let whole = of_bytes(&copy, AccessKind::Load, &sources, tile.span());
    runner.check_shared(&whole, &Span::of(&sources, whole.mask, whole.width))?;
    if runner.records {
        runner.note_access(Space::Shared, &whole, None);
    }
    for row in &tile.rows {
        for part in tile.parts(copy.shared, row.start, row.bytes) {
            let from = [part.shared; LANES];
            let request = of_bytes(&copy, AccessKind::Load, &from, part.bytes);
            let span = Span::of(&from, request.mask, request.width);
            check_proxy(runner, &request, BY)?;
            check_shared_source(runner, &request, &span)?;
        }
        let targets = [row.global; LANES];
        let store = of_row(&copy, AccessKind::Store, &targets, row);
        let buffer = buffer(runner, &store)?;
        runner.check_writable(&store, buffer)?;
        if runner.records {
            runner.note_copy(Space::Global, &store, Some(buffer));
        }
        runner.check_leaving(&store, &Span::of(&targets, store.mask, store.width))?;
    }
    runner.claim(warp, &whole, copy.lane, Claim::Writes)?;
    if runner.launch.sanitize.races && update.is_none() {
        let rows = tile.rows.iter();
        let leaving = rows.map(|row| BulkCopy {
            global: row.global,
            bytes: row.bytes,
            ..copy
        });
        runner.sanitizer.leaving.extend(leaving);
    }
    let queues = warp.copies.get_or_insert_default();
    queues.stores.open[copy.lane].push(BulkStore {
        copy,
        tile,
        update,
        data: None,
        unset: Vec::new(),
    });
    Ok(())
}

/// A hint, which moves nothing.
#[derive(Debug)]
struct Hint;

impl Execute for Hint {
    fn execute(&self, _: &mut BlockRunner, _: &mut Warp, _: At) -> Result<Next, Stop> {
        Ok(Next::Step)
    }
}
