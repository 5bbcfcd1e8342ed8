//! The checks of memory accesses against the shadow: written before, not racing.

use super::request::{Request, Span};
use super::store::store_lane;
use crate::block::{BlockRunner, Stop, Warp};
use crate::check::race::{Conflict, Leftovers, Now, PAGE, PageGuard, Record};
use crate::coalesce::lanes;
use crate::code::{Access, Op};
use crate::fault::{AccessKind, FaultKind, Location, RaceAccess, RaceBetween};
use crate::memory::byte_mask;
use crate::memory::global::Buffer;
use crate::registers::LANES;

/// The page of a buffer's shadow that was locked last.
struct Pages<'b> {
    buffer: &'b Buffer,
    locked: Option<(u64, PageGuard<'b>)>,
}

impl<'b> Pages<'b> {
    fn new(buffer: &'b Buffer) -> Self {
        Self {
            buffer,
            locked: None,
        }
    }

    #[inline]
    fn cell(&mut self, index: u64) -> &mut crate::check::race::Cell {
        let page = index / PAGE;
        if self
            .locked
            .as_ref()
            .is_none_or(|(locked, _)| *locked != page)
        {
            self.locked = None;
            self.locked = Some((page, self.buffer.races.lock(page)));
        }
        let (_, guard) = self.locked.as_mut().expect("locked above");
        guard.cell(index % PAGE)
    }
}

impl BlockRunner<'_> {
    fn granules(&self, offset: u64, width: u32) -> std::ops::Range<u64> {
        let shift = self.launch.granule.trailing_zeros();
        offset >> shift..((offset + u64::from(width) - 1) >> shift) + 1
    }

    pub(super) fn check_written_global(
        &self,
        warp: &Warp,
        request: &Request,
        buffer: &Buffer,
        mask: u32,
        span: &Span,
    ) -> Result<(), Stop> {
        let width = u64::from(request.width);
        if span.contiguous
            && buffer
                .written
                .covers(span.min - buffer.base, LANES as u64 * width)
        {
            return Ok(());
        }
        for lane in lanes(mask) {
            let offset = request.addresses[lane] - buffer.base;
            if !buffer.written.covers(offset, width) {
                let location = Location::Buffer {
                    name: buffer.name.clone(),
                    offset,
                };
                let kind = FaultKind::Uninitialized {
                    access: request.access(),
                    location,
                };
                return Err(self.fault(warp.thread(lane), request.pc, kind));
            }
        }
        Ok(())
    }

    /// Reading what nobody wrote is, more often than not, reading before another thread writes. So the fault is kept
    /// until the next barrier, and gives way to a race found before that.
    pub(super) fn check_written_shared(
        &mut self,
        warp: &Warp,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let width = u64::from(request.width);
        if self.unwritten.is_some() {
            return Ok(());
        }
        let written = &self.shared.written;
        if span.contiguous && written.covers(span.min, LANES as u64 * width) {
            return Ok(());
        }
        for lane in lanes(request.mask) {
            let address = request.addresses[lane];
            if !written.covers(address, width) {
                let location = self.shared_location(address);
                let kind = FaultKind::Uninitialized {
                    access: request.access(),
                    location,
                };
                let fault = self.fault(warp.thread(lane), request.pc, kind);
                if !self.launch.sanitize.races {
                    return Err(fault);
                }
                self.unwritten = Some(fault);
                break;
            }
        }
        Ok(())
    }

    /// An address in shared memory as a user knows it.
    fn shared_location(&self, address: u64) -> Location {
        let launch = self.launch;
        let kernel = ptx::FunctionId(launch.kernel);
        for variable in &launch.program.shared {
            let start = u64::from(variable.offset);
            if variable.kernels.contains(&kernel)
                && (start..start + u64::from(variable.size)).contains(&address)
            {
                let variable_name = Some(variable.name.clone());
                return Location::Shared {
                    variable: variable_name,
                    offset: address - start,
                };
            }
        }
        Location::Shared {
            variable: None,
            offset: address,
        }
    }

    fn race_access(&self, record: &Record) -> RaceAccess {
        let code = self.launch.code;
        let kind = match &code.insts[record.pc as usize].op {
            Op::Store(_) | Op::AsyncWait { .. } => AccessKind::Store,
            Op::Atomic(_) => AccessKind::Atomic,
            _ => AccessKind::Load,
        };
        let block = u64::from(record.block - self.launch.first_block);
        RaceAccess {
            kind,
            thread: self.launch.thread_id(block, record.thread.into()),
            place: code.places[record.pc as usize].clone(),
        }
    }

    fn race(
        &self,
        request: &Request,
        now: &Record,
        conflict: &Conflict,
        location: Location,
    ) -> Stop {
        let mut earlier = self.race_access(&conflict.earlier);
        // An asynchronous copy is both; the shadow knows which.
        if earlier.kind != AccessKind::Atomic {
            earlier.kind = match conflict.earlier_is_store {
                true => AccessKind::Store,
                false => AccessKind::Load,
            };
        }
        let (then, lanes) = (&conflict.earlier, LANES as u16);
        let between = if then.block != now.block {
            RaceBetween::Blocks
        } else if then.thread / lanes != now.thread / lanes {
            RaceBetween::Warps
        } else if then.pc == now.pc && then.clock == now.clock {
            RaceBetween::OneInstruction
        } else {
            RaceBetween::Lanes
        };
        let kind = FaultKind::Race {
            location,
            kind: request.kind,
            earlier,
            between,
        };
        self.fault(now.thread.into(), request.pc, kind)
    }

    pub(super) fn check_load_global(
        &self,
        warp: &Warp,
        request: &Request,
        buffer: &Buffer,
        mask: u32,
    ) -> Result<(), Stop> {
        let blocks = self.device_order();
        let mut pages = Pages::new(buffer);
        let record = self.record(warp, request.pc, request.strong);
        let mut now = Now {
            record,
            clocks: &self.clocks,
            blocks: &blocks,
        };
        for lane in lanes(mask) {
            now.record.thread = record.thread + lane as u16;
            let offset = request.addresses[lane] - buffer.base;
            let location = || Location::Buffer {
                name: buffer.name.clone(),
                offset,
            };
            for granule in self.granules(offset, request.width) {
                let cell = pages.cell(granule);
                if let Some(conflict) = cell.load(&now) {
                    return Err(self.race(request, &now.record, &conflict, location()));
                }
                if request.non_coherent
                    && let Some(store) = cell.store_since(self.launch.first_block)
                {
                    let earlier = self.race_access(&store);
                    let kind = FaultKind::StaleReadOnlyLoad {
                        location: location(),
                        earlier,
                    };
                    return Err(self.fault(now.record.thread.into(), request.pc, kind));
                }
            }
        }
        Ok(())
    }

    /// Checks and makes the stores of each lane in turn: `changes` says whether a lane stores another value than is
    /// there.
    pub(super) fn check_store_global(
        &self,
        warp: &Warp,
        request: &Request,
        buffer: &Buffer,
        mask: u32,
        changes: impl Fn(usize) -> bool,
        mut store: impl FnMut(usize),
    ) -> Result<(), Stop> {
        let blocks = self.device_order();
        let mut pages = Pages::new(buffer);
        let record = self.record(warp, request.pc, request.strong);
        let mut now = Now {
            record,
            clocks: &self.clocks,
            blocks: &blocks,
        };
        for lane in lanes(mask) {
            now.record.thread = record.thread + lane as u16;
            let offset = request.addresses[lane] - buffer.base;
            for granule in self.granules(offset, request.width) {
                if let Some(conflict) = pages.cell(granule).store(&now, || changes(lane)) {
                    let location = Location::Buffer {
                        name: buffer.name.clone(),
                        offset,
                    };
                    return Err(self.race(request, &now.record, &conflict, location));
                }
            }
            store(lane);
        }
        Ok(())
    }

    pub(super) fn store_global_checked(
        &self,
        warp: &Warp,
        access: &Access,
        request: &Request,
        buffer: &Buffer,
        mask: u32,
    ) -> Result<(), Stop> {
        let (memory, registers, bytes) = (self.launch.memory, &warp.registers, access.bytes);
        let offset = |lane: usize| request.addresses[lane] - buffer.base;
        let changes = |lane: usize| {
            let mut changed = false;
            store_lane(registers, access, lane, |k, value| {
                changed |= (buffer.load(offset(lane) + k, bytes) ^ value) & byte_mask(bytes) != 0;
            });
            changed
        };
        self.check_store_global(warp, request, buffer, mask, changes, |lane| {
            store_lane(registers, access, lane, |k, value| match access.strong {
                true => memory.store_strong(buffer, offset(lane) + k, bytes, value),
                false => buffer.store(offset(lane) + k, bytes, value),
            });
        })
    }

    pub(super) fn check_load_shared(&mut self, warp: &Warp, request: &Request) -> Result<(), Stop> {
        let mut cells = std::mem::take(&mut self.shared.races);
        let record = self.record(warp, request.pc, request.strong);
        let mut now = Now {
            record,
            clocks: &self.clocks,
            blocks: &Leftovers,
        };
        let mut found = None;
        'lanes: for lane in lanes(request.mask) {
            now.record.thread = record.thread + lane as u16;
            for granule in self.granules(request.addresses[lane], request.width) {
                if let Some(conflict) = cells[granule as usize].load(&now) {
                    found = Some((now.record, conflict, request.addresses[lane]));
                    break 'lanes;
                }
            }
        }
        self.shared.races = cells;
        match found {
            None => Ok(()),
            Some((now, conflict, address)) => {
                Err(self.race(request, &now, &conflict, self.shared_location(address)))
            }
        }
    }

    /// As [`Self::check_store_global`], in shared memory.
    pub(super) fn check_store_shared(
        &mut self,
        warp: &Warp,
        request: &Request,
        changes: impl Fn(&crate::memory::shared::SharedMemory, usize) -> bool,
        mut store: impl FnMut(&mut crate::memory::shared::SharedMemory, usize),
    ) -> Result<(), Stop> {
        let mut shared = std::mem::take(&mut self.shared);
        let mut cells = std::mem::take(&mut shared.races);
        let record = self.record(warp, request.pc, request.strong);
        let mut now = Now {
            record,
            clocks: &self.clocks,
            blocks: &Leftovers,
        };
        let mut found = None;
        'lanes: for lane in lanes(request.mask) {
            now.record.thread = record.thread + lane as u16;
            for granule in self.granules(request.addresses[lane], request.width) {
                let cell = &mut cells[granule as usize];
                if let Some(conflict) = cell.store(&now, || changes(&shared, lane)) {
                    found = Some((now.record, conflict, request.addresses[lane]));
                    break 'lanes;
                }
            }
            store(&mut shared, lane);
        }
        shared.races = cells;
        self.shared = shared;
        match found {
            None => Ok(()),
            Some((now, conflict, address)) => {
                Err(self.race(request, &now, &conflict, self.shared_location(address)))
            }
        }
    }

    pub(super) fn store_shared_checked(
        &mut self,
        warp: &Warp,
        access: &Access,
        request: &Request,
    ) -> Result<(), Stop> {
        let (registers, bytes) = (&warp.registers, access.bytes);
        self.check_store_shared(
            warp,
            request,
            |shared, lane| {
                let mut changed = false;
                store_lane(registers, access, lane, |k, value| {
                    let old = shared.load(request.addresses[lane] + k, bytes);
                    changed |= (old ^ value) & byte_mask(bytes) != 0;
                });
                changed
            },
            |shared, lane| {
                store_lane(registers, access, lane, |k, value| {
                    shared.store(request.addresses[lane] + k, bytes, value);
                });
            },
        )
    }
}
