//! The ends of bulk copies: they arrive in shared memory, or are waited for and made in global
//! memory.

use super::checks::{buffer, moved_bytes, of_bytes, of_row};
use crate::access::{GlobalRegion, Region};
use crate::fault::{AccessKind, FaultKind, Stop};
use crate::instructions::atomic::Update;
use crate::instructions::tensor;
use crate::memory::claims::{BulkCopy, BulkLoad, Claim};
use crate::memory::shared::SharedMemory;
use crate::memory::tile::{bytes_of, put_bytes};
use crate::registers::{LANES, lanes};
use crate::request::Span;
use crate::runner::{At, BlockRunner, Execute, Next};
use crate::unset_origin::Origin;
use crate::warp::{BulkStore, CopyGroups, Warp};
use ptx::Space;

/// The copy to shared memory arrives.
pub(in super::super) fn arrive(runner: &mut BlockRunner, load: &BulkLoad) -> Result<(), Stop> {
    let BulkLoad {
        copy,
        data,
        tile,
        is_as_read,
    } = load;
    let launch = runner.launch;
    for row in &tile.rows {
        let sources = [row.global; LANES];
        let request = of_row(copy, AccessKind::Load, &sources, row);
        let mut global = GlobalRegion::new(buffer(runner, &request)?, launch);
        if launch.sanitize.races {
            let span = Span::of(&sources, request.mask, request.width);
            runner.check_load(&request, &mut global, &span)?;
        }
        if *is_as_read {
            let start = row.start as usize;
            let before = &data[start..start + row.bytes as usize];
            runner.check_source(&request, &mut global, before)?;
        }
    }
    let targets = [copy.shared; LANES];
    let store = of_bytes(copy, AccessKind::Store, &targets, tile.span());
    if runner.records {
        runner.note_arrival(Space::Shared, &store, None);
    }
    let mut shared = std::mem::take(&mut runner.block.shared);
    if let Some(claims) = &mut shared.claims {
        claims.release(copy.shared, store.width.into());
        claims.note_copy(copy.shared, store.width.into());
    }
    let span = Span::of(&targets, store.mask, store.width);
    let mut checked = Ok(());
    if launch.sanitize.races {
        checked = runner.check_stores(&store, &mut shared, &span, |_, _| true, |_, _| {});
    }
    if checked.is_ok() {
        for part in tile.parts(copy.shared, 0, tile.bytes) {
            let start = part.start as usize;
            put_bytes(
                &mut shared,
                part.shared,
                &data[start..start + part.bytes as usize],
            );
        }
        checked = mark(runner, load, &mut shared);
    }
    runner.block.shared = shared;
    checked
}

/// Counts the bytes that a copy has brought to shared memory as written, except those that nothing
/// has written in global memory.
fn mark(runner: &mut BlockRunner, load: &BulkLoad, shared: &mut SharedMemory) -> Result<(), Stop> {
    let BulkLoad { copy, tile, .. } = load;
    for part in tile.parts(copy.shared, 0, tile.bytes) {
        let targets = [part.shared; LANES];
        let store = of_bytes(copy, AccessKind::Store, &targets, part.bytes);
        let span = Span::of(&targets, store.mask, store.width);
        runner.mark_written(&store, shared, &span);
    }
    for row in &tile.rows {
        let sources = [row.global; LANES];
        let buffer = buffer(runner, &of_row(copy, AccessKind::Load, &sources, row))?;
        let global = GlobalRegion::new(buffer, runner.launch);
        if global.is_whole() || global.is_written(row.global - buffer.base, row.bytes.into()) {
            continue;
        }
        for part in tile.parts(copy.shared, row.start, row.bytes) {
            let from = [row.global + u64::from(part.start - row.start); LANES];
            let request = of_bytes(copy, AccessKind::Load, &from, part.bytes);
            runner.pass_unset((&global, &request), (shared, &[part.shared; LANES]));
        }
    }
    Ok(())
}

/// `cp.async.bulk.commit_group`.
#[derive(Debug)]
pub(super) struct Commit;

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
pub(super) struct Wait {
    pub(super) pending: u32,
    pub(super) only_read: bool,
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
                claims.claim(store.copy.shared, store.tile.span().into(), Claim::Writes);
            }
        }
        warp.copies = Some(queues);
        result.map(|()| Next::Step)
    }
}

/// Reads what a copy stores to global memory, if it has not yet.
fn read_source(runner: &mut BlockRunner, store: &mut BulkStore) {
    let BulkStore {
        copy,
        tile,
        data,
        unset,
        ..
    } = store;
    if data.is_some() {
        return;
    }
    let mut bytes = tile.filled();
    for row in &tile.rows {
        for part in tile.parts(copy.shared, row.start, row.bytes) {
            let start = part.start as usize;
            let read = bytes_of(&runner.block.shared, part.shared, part.bytes);
            bytes[start..start + read.len()].copy_from_slice(&read);
            if runner.launch.sanitize.uninitialized {
                let sources = [part.shared; LANES];
                let request = of_bytes(copy, AccessKind::Load, &sources, part.bytes);
                let moved = moved_bytes(&runner.block.shared, &request).unwrap_or_default();
                unset.extend(moved.iter().map(|byte| u64::from(part.start) + byte));
            }
        }
    }
    *data = Some(bytes);
    if let Some(claims) = &mut runner.block.shared.claims {
        claims.release(copy.shared, tile.span().into());
    }
}

/// Stores what a copy has read to global memory.
fn make(runner: &mut BlockRunner, store: &BulkStore) -> Result<(), Stop> {
    let BulkStore {
        copy,
        tile,
        update,
        data,
        unset,
    } = store;
    let launch = runner.launch;
    let update = update.and_then(|(op, element)| tensor::update(op, element));
    let Some(data) = data else { return Ok(()) };
    for row in &tile.rows {
        let leaves = BulkCopy {
            global: row.global,
            bytes: row.bytes,
            ..*copy
        };
        runner
            .sanitizer
            .leaving
            .retain(|leaving| *leaving != leaves);
        let targets = [row.global; LANES];
        let mut request = of_row(copy, AccessKind::Store, &targets, row);
        if update.is_some() {
            (request.kind, request.strong) = (AccessKind::Atomic, true);
        }
        let buffer = buffer(runner, &request)?;
        let span = Span::of(&targets, request.mask, request.width);
        if runner.records {
            runner.note_arrival(Space::Global, &request, Some(buffer));
        }
        buffer.note(&request, &span);
        let mut region = GlobalRegion::new(buffer, launch);
        if launch.sanitize.races {
            runner.check_stores(&request, &mut region, &span, |_, _| true, |_, _| {})?;
        }
        let (start, at) = (row.start as usize, row.global - buffer.base);
        let bytes = &data[start..start + row.bytes as usize];
        if let Some(update) = update {
            runner.check_written(&request, &region, &span)?;
            reduce(&mut region, at, bytes, update);
            continue;
        }
        put_bytes(&mut region, at, bytes);
        runner.mark_written(&request, &mut region, &span);
        let range = u64::from(row.start)..u64::from(row.start + row.bytes);
        for byte in unset.iter().filter(|byte| range.contains(byte)) {
            let place = (copy.lane, at + byte - range.start);
            runner.mark_unset(&mut region, place, (1, 0xff), Origin::MOVED);
        }
    }
    runner.turn.changes += 1;
    Ok(())
}

/// Updates every element of a row.
fn reduce(region: &mut GlobalRegion, at: u64, bytes: &[u8], update: Update) {
    let size = update.bytes();
    for (index, element) in bytes.chunks_exact(size as usize).enumerate() {
        let value = element
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u64::from(byte));
        let offset = at + u64::from(size) * index as u64;
        region.update(0, offset, size, |old| update.apply(old, value, 0, true));
    }
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
            copy: of_bytes(&copy, kind, &[0; LANES], copy.bytes).access(),
            location: self.block.shared.location(self.launch, copy.shared),
        };
        let thread = (copy.warp * LANES + copy.lane) as u32;
        Err(self.fault(thread, copy.pc, kind))
    }
}
