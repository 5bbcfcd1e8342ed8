//! The checks of accesses against the shadow of races.

use crate::access::region::{Region, WIDEST};
use crate::access::segments::{Segment, Segments};
use crate::check::race::{BlockOrder, Conflict, Kind, LINE, LaneLines, Looked, Now, Record};
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, FaultKind, Location, RaceAccess, RaceBetween, Stop};
use crate::registers::{LANES, lanes};
use crate::request::{Request, Span};
use crate::runner::BlockRunner;

/// Checks the access of a segment of one lane for races, and notes it. False, and nothing is noted,
/// if it may race. The record has no lanes.
#[inline(always)]
fn access_far<B: BlockOrder>(
    kind: Kind,
    now: &Now<B>,
    lines: &mut LaneLines,
    segment: &Segment,
    epoch: u32,
) -> bool {
    let lane = segment.lanes.trailing_zeros() as usize % LANES;
    match (lines.line(lane), segment.part) {
        (Some(line), Some(part)) => {
            let line = line.enter(epoch);
            line.access_lane(kind, now, part.granules, lane)
        }
        _ => false,
    }
}

/// True if a lane accesses what the lane did that was looked at before it.
#[inline(always)]
fn is_as_before(request: &Request, before: Option<usize>, lane: usize) -> bool {
    before.is_some_and(|before| request.addresses[before] == request.addresses[lane])
}

impl BlockRunner<'_> {
    /// The granules of an access at an offset.
    pub(crate) fn granules(&self, offset: u64, width: u32) -> std::ops::Range<u64> {
        let shift = self.launch.granule.trailing_zeros();
        offset >> shift..((offset + u64::from(width) - 1) >> shift) + 1
    }

    /// The offset to name of an access at `offset` that a granule of it is wrong of: of a copy in
    /// bulk, the granule's.
    fn offset_of(&self, request: &Request, offset: u64, granule: u64) -> u64 {
        if request.width > WIDEST {
            offset.max(granule * u64::from(self.launch.granule))
        } else {
            offset
        }
    }

    /// The position of an access at an offset.
    pub(super) fn location<R: Region>(
        &self,
        request: &Request,
        region: &R,
        offset: u64,
    ) -> Location {
        let location = region.location(self.launch, offset);
        location.in_elements(request.width, self.launch.granule)
    }

    /// The access of the warp's first thread.
    pub(super) fn record(&self, request: &Request) -> Record {
        let warp = self.recorded_warp(request.warp);
        Record {
            block: self.block_number(),
            clock: self.sanitizer.clocks.now(self.warp_number(warp)),
            pc: request.pc,
            lanes: 1,
            warp: warp as u16,
            strong: request.strong,
            non_coherent: request.non_coherent,
        }
    }

    /// The access of the warp's first thread, and what it is ordered after.
    fn now<R: Region>(&self, request: &Request) -> Now<'_, R::Order<'_>> {
        Now {
            record: self.record(request),
            clocks: &self.sanitizer.clocks,
            blocks: R::order(self, request.warp),
            rank: self.block.rank,
            cluster: &self.cluster.numbers,
            strengths: (request.strong && self.launch.mixes_strengths())
                .then_some(&self.launch.code.infos[..]),
            is_last: request.kind == AccessKind::Atomic
                && self.launch.code.infos[request.pc as usize].strength.is_last,
        }
    }

    /// The lines of lanes that are segments of their own and lie far apart.
    #[inline(always)]
    fn far_lines<R: Region>(
        &self,
        segments: &Segments,
        region: &mut R,
        request: &Request,
    ) -> Option<LaneLines<'_>> {
        if !R::IS_GLOBAL || !segments.are_far_lanes() {
            return None;
        }
        let granules = lanes(request.mask).map(|lane| (lane, segments.granule(lane)));
        let stores = request.kind != AccessKind::Load;
        region.lane_lines(self.launch, granules, stores)
    }

    /// Checks a load for races, and notes it.
    pub(crate) fn check_load<R: Region>(
        &self,
        request: &Request,
        region: &mut R,
        span: &Span,
    ) -> Result<(), Stop> {
        if region.needs_no_note(self.launch, request, span) {
            return Ok(());
        }
        let mut now = self.now::<R>(request);
        let epoch = R::epoch(self);
        let segments = Segments::new(request, span, region.base(), self.launch.granule);
        let mut far = self.far_lines(&segments, region, request);
        // The lane that was looked at alone last.
        let mut before = None;
        for segment in segments {
            now.record.lanes = 0;
            let is_noted = match &mut far {
                Some(lines) => access_far(Kind::Load, &now, lines, &segment, epoch),
                None => {
                    let Some(line) = region.line(segment.line, epoch) else {
                        return Ok(());
                    };
                    let mut part = segment.part.into_iter();
                    let by_cells = !request.non_coherent && segment.lanes.is_power_of_two();
                    part.any(|part| {
                        line.access(Kind::Load, &now, part)
                            || by_cells && {
                                now.record.lanes = segment.lanes;
                                line.access_cells(Kind::Load, &now, part.granules)
                            }
                    })
                }
            };
            if is_noted {
                continue;
            }
            for lane in lanes(segment.lanes) {
                now.record.lanes = 1 << lane;
                let is_further = !request.non_coherent
                    && is_as_before(request, before.replace(lane), lane)
                    && self.note_further(Kind::Load, request, region, &now, lane);
                if !is_further {
                    self.check_lane_load(request, region, &now, lane)?;
                }
            }
        }
        region.release_lines();
        Ok(())
    }

    /// Notes an access of a lane to where the lane before it has made it: see
    /// [`Line::note_further`](crate::check::race::Line::note_further). False if the lane has to be
    /// looked at alone; what is noted by then stays true.
    #[inline(always)]
    fn note_further<R: Region>(
        &self,
        kind: Kind,
        request: &Request,
        region: &mut R,
        now: &Now<R::Order<'_>>,
        lane: usize,
    ) -> bool {
        let epoch = R::epoch(self);
        for granule in self.granules(request.addresses[lane] - region.base(), request.width) {
            let Some(line) = region.line(granule / LINE, epoch) else {
                return false;
            };
            if !line.note_further(kind, granule % LINE, now) {
                return false;
            }
        }
        true
    }

    /// Checks the load of one lane for races by what each of its granules remembers, and notes it.
    #[inline(always)]
    fn check_lane_load<R: Region>(
        &self,
        request: &Request,
        region: &mut R,
        now: &Now<R::Order<'_>>,
        lane: usize,
    ) -> Result<(), Stop> {
        let epoch = R::epoch(self);
        let offset = request.addresses[lane] - region.base();
        for granule in self.granules(offset, request.width) {
            let Some(line) = region.line(granule / LINE, epoch) else {
                return Ok(());
            };
            if let Some(conflict) = line.load(granule % LINE, now) {
                self.note_meeting(&conflict);
                let offset = self.offset_of(request, offset, granule);
                let location = self.location(request, region, offset);
                return Err(self.race(request, &now.record, &conflict, location));
            }
            let store = if R::IS_GLOBAL && request.non_coherent {
                line.store_since(granule % LINE, self.launch.first_block)
            } else {
                None
            };
            if let Some(store) = store {
                let kind = FaultKind::StaleReadOnlyLoad {
                    location: region.location(self.launch, offset),
                    store: self.race_access(&store, AccessKind::Store),
                    is_later: false,
                };
                return Err(self.fault(now.record.thread(), request.pc, kind));
            }
        }
        Ok(())
    }

    /// Checks the store of each lane for races, notes it, and makes it with `store`, which is given
    /// lanes. `changes` says whether a lane stores another value than is there.
    pub(crate) fn check_stores<R: Region>(
        &self,
        request: &Request,
        region: &mut R,
        span: &Span,
        changes: impl Fn(&R, usize) -> bool,
        mut store: impl FnMut(&mut R, u32),
    ) -> Result<(), Stop> {
        let mut now = self.now::<R>(request);
        let epoch = R::epoch(self);
        // Lanes whose store is checked, and not made yet.
        let mut checked = 0;
        let segments = Segments::new(request, span, region.base(), self.launch.granule);
        let mut far = self.far_lines(&segments, region, request);
        // The lane that was looked at alone last.
        let mut before = None;
        for segment in segments {
            now.record.lanes = 0;
            let is_noted = if let Some(lines) = &mut far {
                access_far(Kind::Store, &now, lines, &segment, epoch)
            // Lanes that store to one granule are looked at one by one.
            } else if let Some(part) = segment.part.filter(|part| part.map.has_one_lane())
                && let Some(line) = region.line(segment.line, epoch)
                && (line.access(Kind::Store, &now, part)
                    // In global memory, cells may have loads through the read-only path.
                    || !R::IS_GLOBAL && segment.lanes.is_power_of_two() && {
                        now.record.lanes = segment.lanes;
                        line.access_cells(Kind::Store, &now, part.granules)
                    })
            {
                region.save(self.launch, segment.line);
                true
            } else {
                false
            };
            if is_noted {
                checked |= segment.lanes;
                continue;
            }
            if checked != 0 {
                store(region, std::mem::take(&mut checked));
            }
            for lane in lanes(segment.lanes) {
                now.record.lanes = 1 << lane;
                // Of others it may matter what they store.
                let is_further = request.kind == AccessKind::Atomic
                    && is_as_before(request, before.replace(lane), lane)
                    && self.note_further(Kind::Store, request, region, &now, lane);
                if !is_further {
                    self.check_lane_store(request, region, &now, lane, &changes)?;
                }
                store(region, 1 << lane);
            }
        }
        if checked != 0 {
            store(region, checked);
        }
        region.release_lines();
        if R::IS_GLOBAL && self.launch.attempt.has_failed() {
            // Nobody sees this end: the launch starts again.
            return Err(self.unsupported(0, request.pc, "a launch that starts again"));
        }
        Ok(())
    }

    /// Checks the store of one lane for races by what each of its granules remembers, and notes it.
    #[inline(always)]
    fn check_lane_store<R: Region>(
        &self,
        request: &Request,
        region: &mut R,
        now: &Now<R::Order<'_>>,
        lane: usize,
        changes: impl Fn(&R, usize) -> bool,
    ) -> Result<(), Stop> {
        let epoch = R::epoch(self);
        let offset = request.addresses[lane] - region.base();
        for granule in self.granules(offset, request.width) {
            let (line, at) = (granule / LINE, granule % LINE);
            let Some(cell) = region.line(line, epoch).map(|line| line.cell(at)) else {
                break;
            };
            let Some(conflict) = cell.store_conflict(now) else {
                let load = if R::IS_GLOBAL {
                    cell.read_only_load_since(self.launch.first_block)
                } else {
                    None
                };
                cell.note_store(now);
                region.save(self.launch, line);
                if let Some(load) = load
                    && changes(region, lane)
                {
                    let location = region.location(self.launch, offset);
                    return Err(self.stale(&load, &now.record, request.kind, location));
                }
                continue;
            };
            self.note_meeting(&conflict);
            if !conflict.earlier_is_store || changes(region, lane) {
                let offset = self.offset_of(request, offset, granule);
                let location = self.location(request, region, offset);
                return Err(self.race(request, &now.record, &conflict, location));
            }
            if let Some(line) = region.line(line, epoch) {
                line.cell(at).note_store(now);
                region.save(self.launch, granule / LINE);
            }
        }
        Ok(())
    }

    /// Notes that an access meets one of another block that runs at the same time.
    fn note_meeting(&self, conflict: &Conflict) {
        if !self.cluster.numbers.contains(&conflict.earlier.block) {
            self.launch.attempt.note_meeting();
        }
    }

    /// The fault of a load through the read-only path, of what a store changes after it.
    fn stale(&self, load: &Record, store: &Record, kind: AccessKind, location: Location) -> Stop {
        let kind = FaultKind::StaleReadOnlyLoad {
            location,
            store: self.race_access(store, kind),
            is_later: true,
        };
        let block = u64::from(load.block - self.launch.first_block);
        self.launch.fault(block, load.thread(), load.pc, kind)
    }

    /// One side of a race. A plain access is of the given kind.
    pub(super) fn race_access(&self, record: &Record, plain: AccessKind) -> RaceAccess {
        let info = &self.launch.code.infos[record.pc as usize];
        let block = u64::from(record.block - self.launch.first_block);
        RaceAccess {
            kind: match info.class {
                InstructionClass::Atomic => AccessKind::Atomic,
                _ => plain,
            },
            thread: self.launch.thread_id(block, self.launch.thread_of(record)),
            place: info.position.clone(),
        }
    }

    /// The fence that is missing between an access of another block and this one, where that is
    /// known.
    fn missing_fence(&self, then: &Record) -> RaceBetween {
        let fences = &self.launch.fences;
        let block = u64::from(then.block - self.launch.first_block);
        let is_published = fences.of(block, then.warp.into(), fences.now()) > then.clock;
        match (is_published, self.sanitizer.clocks.looked(self.block.rank)) {
            (true, Looked::Unfenced) => RaceBetween::BlocksWithoutAcquire,
            (true, Looked::Fenced) => RaceBetween::BlocksWithOtherFlags,
            (false, Looked::Fenced) => RaceBetween::BlocksWithoutRelease,
            _ => RaceBetween::BlocksWithFlags,
        }
    }

    fn race(
        &self,
        request: &Request,
        now: &Record,
        conflict: &Conflict,
        location: Location,
    ) -> Stop {
        let plain = if conflict.earlier_is_store {
            AccessKind::Store
        } else {
            AccessKind::Load
        };
        let then = &conflict.earlier;
        let between = if then.strong && now.strong {
            let infos = &self.launch.code.infos;
            let bytes = |pc: u32| infos[pc as usize].strength.bytes;
            if bytes(then.pc) == bytes(now.pc) {
                RaceBetween::Scopes
            } else {
                RaceBetween::Widths
            }
        } else if self.launch.is_async(then) {
            RaceBetween::AsyncStore
        } else if then.block != now.block {
            match self.cluster.numbers.contains(&then.block) {
                true => RaceBetween::Cluster,
                false if self.launch.exchange.blocks => self.missing_fence(then),
                false => RaceBetween::Blocks,
            }
        } else if then.warp != now.warp {
            RaceBetween::Warps
        } else if then.pc == now.pc && then.clock == now.clock {
            RaceBetween::OneInstruction
        } else {
            RaceBetween::Lanes
        };
        let kind = FaultKind::Race {
            location,
            kind: request.kind,
            earlier: self.race_access(then, plain),
            skipped: match between {
                RaceBetween::Lanes | RaceBetween::Warps => self.waiting_before(request.pc),
                _ => None,
            },
            between,
        };
        self.fault(self.launch.thread_of(now), request.pc, kind)
    }
}
