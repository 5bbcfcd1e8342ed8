//! Accesses to what must be left alone: where asynchronous copies are under way, and objects of
//! `mbarrier`.

use super::{GlobalRegion, Region};
use crate::check::race::LINE;
use crate::fault::{AccessKind, FaultKind, Location, ProductProblem, RaceAccess, Stop};
use crate::memory::claims::{BulkCopy, Claim, Claims};
use crate::memory::shared::SharedMemory;
use crate::memory::tile::bytes_of;
use crate::memory::{Words, byte_mask};
use crate::registers::{LANES, lanes};
use crate::request::{Request, Span};
use crate::runner::BlockRunner;
use crate::warp::{BulkStore, Warp};

/// Bytes of an object of `mbarrier`.
pub(crate) const MBARRIER_BYTES: u64 = 8;

impl BlockRunner<'_> {
    /// The claims on the block's shared memory.
    pub(crate) fn claims(&mut self) -> &mut Claims {
        let bytes = self.block.shared.bytes;
        let tracks_proxies = self.launch.exchange.bulk && self.launch.sanitize.races;
        let claims = &mut self.block.shared.claims;
        claims.get_or_insert_with(|| Box::new(Claims::new(bytes, tracks_proxies)))
    }

    /// Checks an ordinary access to the block's own memory against the claims on it, and notes it.
    pub(super) fn meet_claims(
        &mut self,
        warp: &Warp,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let Some(mut claims) = self.block.shared.claims.take() else {
            return Ok(());
        };
        let checked = self.check_claims(warp, &self.block.shared, &claims, request, span);
        if request.kind != AccessKind::Load {
            let width = request.width.into();
            lanes(request.mask).for_each(|lane| claims.note_store(request.addresses[lane], width));
        }
        self.block.shared.claims = Some(claims);
        checked
    }

    /// Checks that no lane accesses what is claimed in `memory`, the running block's or another's;
    /// `warp` executes the access.
    pub(crate) fn check_claims(
        &self,
        warp: &Warp,
        memory: &SharedMemory,
        claims: &Claims,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let writes = request.kind != AccessKind::Load;
        let width = u64::from(request.width);
        let is_free = |offset, bytes| !claims.keeps(offset, bytes, writes);
        if !self.launch.sanitize.races || request.all_ranges(span, is_free) {
            return Ok(());
        }
        let is_kept = |lane: &usize| claims.keeps(request.addresses[*lane], width, writes);
        match lanes(request.mask).find(is_kept) {
            Some(lane) => Err(self.claimed(warp, memory, claims, request, lane)),
            None => Ok(()),
        }
    }

    /// Claims what one lane's copy uses, if races are checked. `request` is its access.
    pub(crate) fn claim(
        &mut self,
        warp: &Warp,
        request: &Request,
        lane: usize,
        claim: Claim,
    ) -> Result<(), Stop> {
        if !self.launch.sanitize.races {
            return Ok(());
        }
        self.claims();
        let Some(mut claims) = self.block.shared.claims.take() else {
            return Ok(());
        };
        let (offset, width) = (request.addresses[lane], request.width.into());
        let result = if claims.keeps(offset, width, request.kind != AccessKind::Load) {
            Err(self.claimed(warp, &self.block.shared, &claims, request, lane))
        } else {
            claims.claim(offset, width, claim);
            Ok(())
        };
        self.block.shared.claims = Some(claims);
        result
    }

    /// The fault of a lane's access to what is claimed.
    pub(crate) fn claimed(
        &self,
        warp: &Warp,
        memory: &SharedMemory,
        claims: &Claims,
        request: &Request,
        lane: usize,
    ) -> Stop {
        let (offset, width) = (request.addresses[lane], u64::from(request.width));
        let meets = |start: u64, bytes: u64| start < offset + width && offset < start + bytes;
        let location = memory
            .location(self.launch, offset)
            .in_elements(request.width, self.launch.granule);
        let mut barriers = claims.barriers.keys();
        if let Some(&barrier) = barriers.find(|&&barrier| meets(barrier, MBARRIER_BYTES)) {
            let barrier = memory.location(self.launch, barrier);
            let access = request.access();
            let reason = format!(
                "{access} at {location}, where an mbarrier object is (at {barrier}): only `mbarrier` instructions may access it"
            );
            let kind = FaultKind::InvalidBarrier { reason };
            return self.fault(request.thread(lane), request.pc, kind);
        }
        if request.kind != AccessKind::Load
            && let Some((of_warp, pc)) = claims.factor_at(offset, width)
        {
            let product = self.started(AccessKind::Load, of_warp, 0, pc);
            let access = request.access();
            let reason = format!(
                "{access} at {location}, which the `wgmma.mma_async` at {} ({}) may still read: its warpgroup has not waited for it (`wgmma.wait_group`)",
                product.place, product.thread
            );
            let kind = FaultKind::Product {
                problem: ProductProblem::UnderWay,
                reason,
            };
            return self.fault(request.thread(lane), request.pc, kind);
        }
        let started = |kind, of_warp, of_lane, pc| self.started(kind, of_warp, of_lane, pc);
        let mut bulk = claims
            .arriving
            .iter()
            .map(|load| &load.copy)
            .filter(|copy| meets(copy.shared, copy.bytes.into()));
        let copy = match bulk.next() {
            Some(copy) => Some(started(AccessKind::Store, copy.warp, copy.lane, copy.pc)),
            None => {
                // Those of other blocks are not at hand.
                let own = self.launch.view(self.block.index).block;
                let is_own = memory.owner.is_none_or(|owner| owner == own);
                let warps = self
                    .block
                    .warps
                    .iter()
                    .map(Box::as_ref)
                    .chain([warp])
                    .filter(|_| is_own);
                let queues = warps.filter_map(|one| Some((one.index, one.copies.as_ref()?)));
                let mut copies = queues.flat_map(|(number, queues)| {
                    let loads = queues.loads.all().map(|(of_lane, copy)| {
                        (AccessKind::Store, copy.dst, copy.bytes, of_lane, copy.pc)
                    });
                    let stores = queues
                        .stores
                        .all()
                        .map(|(of_lane, BulkStore { copy, .. })| {
                            (AccessKind::Load, copy.shared, copy.bytes, of_lane, copy.pc)
                        });
                    loads.chain(stores).map(move |copy| (number, copy))
                });
                let found =
                    copies.find(|(_, (_, start, bytes, ..))| meets(*start, (*bytes).into()));
                found
                    .map(|(of_warp, (kind, _, _, of_lane, pc))| started(kind, of_warp, of_lane, pc))
            }
        };
        let kind = FaultKind::CopyUnderWay {
            access: request.access(),
            location,
            copy,
            overwritten: None,
        };
        self.fault(request.thread(lane), request.pc, kind)
    }

    /// One end of a copy that a lane has started.
    fn started(&self, kind: AccessKind, warp: usize, lane: usize, pc: u32) -> RaceAccess {
        let thread = (warp * LANES + lane) as u32;
        RaceAccess {
            kind,
            thread: self.launch.thread_id(self.block.index, thread),
            place: self.launch.code.infos[pc as usize].position.clone(),
        }
    }

    /// Checks that no lane accesses global memory to which a copy of the block is under way.
    pub(crate) fn check_leaving(&self, request: &Request, span: &Span) -> Result<(), Stop> {
        let width = u64::from(request.width);
        let meets = |copy: &BulkCopy, first: u64, last: u64| {
            first < copy.global + u64::from(copy.bytes) && copy.global < last.saturating_add(width)
        };
        for copy in &self.sanitizer.leaving {
            if !meets(copy, span.min, span.max) {
                continue;
            }
            let at = |lane: usize| request.addresses[lane];
            let Some(lane) = lanes(request.mask).find(|&lane| meets(copy, at(lane), at(lane)))
            else {
                continue;
            };
            let buffer = self.launch.memory.find(at(lane), width);
            let Some(buffer) = buffer else { continue };
            let kind = FaultKind::CopyUnderWay {
                access: request.access(),
                location: Location::Buffer {
                    name: buffer.name.clone(),
                    offset: buffer.place(at(lane) - buffer.base),
                },
                copy: Some(self.started(AccessKind::Store, copy.warp, copy.lane, copy.pc)),
                overwritten: None,
            };
            return Err(self.fault(request.thread(lane), request.pc, kind));
        }
        Ok(())
    }

    /// Checks that what one lane's copy reads, as it arrives, is what was there where it was
    /// started: `data`.
    pub(crate) fn check_source(
        &self,
        request: &Request,
        region: &mut GlobalRegion,
        data: &[u8],
    ) -> Result<(), Stop> {
        if !self.launch.sanitize.races {
            return Ok(());
        }
        let lane = request.mask.trailing_zeros() as usize;
        let start = request.addresses[lane] - region.base();
        let now = bytes_of(region, start, request.width);
        let Some(byte) = now.iter().zip(data).position(|(now, before)| now != before) else {
            return Ok(());
        };
        let offset = start + byte as u64;
        let granules = self.granules(offset, 1);
        let stores = granules.filter_map(|granule| {
            let line = region.line(granule / LINE, GlobalRegion::epoch(self))?;
            line.stores(granule % LINE).first().copied()
        });
        let store = stores.max_by_key(|store| (store.block == self.block_number(), store.clock));
        region.release_lines();
        // The race check has noted the stores of this launch.
        let Some(store) = store else { return Ok(()) };
        let kind = FaultKind::CopyUnderWay {
            access: request.access(),
            location: region.location(self.launch, offset),
            copy: None,
            overwritten: Some(self.race_access(&store, AccessKind::Store)),
        };
        Err(self.fault(request.thread(lane), request.pc, kind))
    }
}

/// The words of a range, which starts at a multiple of 4; of the last, the bytes in the range.
pub(crate) fn words(memory: &impl Words, offset: u64, bytes: u32) -> impl Iterator<Item = u32> {
    (0..bytes).step_by(4).map(move |k| {
        let word = memory.word(0, (offset / 4) as usize + k as usize / 4);
        word & byte_mask((bytes - k).min(4)) as u32
    })
}
