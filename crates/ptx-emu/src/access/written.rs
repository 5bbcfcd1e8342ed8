//! The checks of accesses against the shadow of what has been written.

use std::ops::Range;

use crate::access::region::Region;
use crate::check::sanitizer::UnsetRead;
use crate::fault::Stop;
use crate::memory::shared::SharedMemory;
use crate::registers::{LANES, Row64, lanes};
use crate::request::{Request, Span};
use crate::runner::BlockRunner;
use crate::unset_origin::Origin;

/// A message names this many ranges of bytes that nothing has written; one more says that there
/// are others.
const NAMED_RANGES: usize = 2;

/// True if all that a request is of has been written.
fn are_written<R: Region>(request: &Request, region: &R, span: &Span) -> bool {
    let base = region.base();
    region.is_whole()
        || request.all_ranges(span, |address, bytes| {
            region.is_written(address - base, bytes)
        })
}

/// The parts of a range of a region that nothing has written, if that is not all of it.
fn unset_parts<R: Region>(region: &R, offset: u64, width: u64) -> Vec<Range<u64>> {
    let mut parts: Vec<Range<u64>> = Vec::new();
    for at in (offset..offset + width).filter(|&at| !region.is_written(at, 1)) {
        let count = parts.len();
        match parts.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ if count > NAMED_RANGES => break,
            _ => parts.push(at..at + 1),
        }
    }
    let is_all = |part: &Range<u64>| part.end - part.start == width;
    if parts.first().is_some_and(is_all) {
        Vec::new()
    } else {
        parts
    }
}

/// The part that nothing has written of what a load reads, in memory that others see.
#[derive(Debug)]
pub(crate) struct Unwritten {
    /// The lanes that may read such, at least one.
    pub(crate) lanes: u32,
    /// The numbers of their reads, as the block has noted them.
    reads: [u32; LANES],
    /// It is in global memory.
    is_global: bool,
}

impl Unwritten {
    /// Where the unset value comes from that a lane has loaded. `stored` is what the memory knows
    /// of that: it was stored there.
    pub(crate) fn origin(&self, lane: usize, stored: Origin) -> Origin {
        match stored.read() {
            None => {
                let is_moved = self.is_global || stored.is_moved();
                Origin::of_read(self.reads[lane], is_moved)
            }
            Some(_) => stored,
        }
    }
}

impl BlockRunner<'_> {
    /// A read of what nothing has written, by a lane.
    fn unset_read<R: Region>(&self, request: &Request, region: &R, lane: usize) -> UnsetRead {
        let offset = request.addresses[lane] - region.base();
        let location = self.location(request, region, offset);
        // The location may count from a variable.
        let shift = |at: u64| at - offset + location.offset();
        let unset = unset_parts(region, offset, request.width.into());
        UnsetRead {
            thread: request.thread(lane),
            pc: request.pc,
            access: request.access(),
            unset: unset
                .into_iter()
                .map(|part| shift(part.start)..shift(part.end))
                .collect(),
            location,
        }
    }

    /// Checks that what an instruction reads has been written, which needs it set, if that is to
    /// be checked.
    ///
    /// In shared memory, reading what nothing has written is, more often than not, reading before
    /// another thread writes. So the fault is kept until the next barrier, and gives way to a race
    /// found before that.
    pub(crate) fn check_written<R: Region>(
        &mut self,
        request: &Request,
        region: &R,
        span: &Span,
    ) -> Result<(), Stop> {
        if !self.launch.sanitize.uninitialized
            || R::DEFERS_UNWRITTEN && self.sanitizer.unwritten.is_some()
            || are_written(request, region, span)
        {
            return Ok(());
        }
        let is_unset = |lane: &usize| {
            let offset = request.addresses[*lane] - region.base();
            !region.is_written(offset, request.width.into())
        };
        let Some(lane) = lanes(request.mask).find(is_unset) else {
            return Ok(());
        };
        let read = self.unset_read(request, region, lane);
        let fault = self.fault(read.thread, read.pc, read.into_fault(None));
        if !R::DEFERS_UNWRITTEN || !self.launch.sanitize.races {
            return Err(fault);
        }
        self.sanitizer.unwritten = Some(fault);
        Ok(())
    }

    /// Gives what a load reads that nothing has written, if that is to be checked; of a thread's
    /// own memory the loader looks itself. The read is allowed as long as nothing depends on it:
    /// the registers have to follow it.
    pub(crate) fn check_loaded<R: Region>(
        &mut self,
        request: &Request,
        region: &R,
        span: &Span,
    ) -> Option<Box<Unwritten>> {
        let is_checked = !R::IS_OWN && self.launch.sanitize.uninitialized;
        if !is_checked || are_written(request, region, span) || self.sanitizer.unwritten.is_some() {
            return None;
        }
        self.note_unwritten(request, region)
    }

    /// Notes the reads of a load that are of what nothing has written. Apart from the check, which
    /// is inlined.
    #[cold]
    #[inline(never)]
    fn note_unwritten<R: Region>(
        &mut self,
        request: &Request,
        region: &R,
    ) -> Option<Box<Unwritten>> {
        let mut unwritten = Unwritten {
            lanes: 0,
            reads: [0; LANES],
            is_global: R::IS_GLOBAL,
        };
        for lane in lanes(request.mask) {
            let offset = request.addresses[lane] - region.base();
            if !region.is_written(offset, request.width.into()) {
                let read = self.unset_read(request, region, lane);
                let threads = self.launch.block_threads();
                unwritten.reads[lane] = self.sanitizer.unset_reads.note(read, threads);
                unwritten.lanes |= 1 << lane;
            }
        }
        (unwritten.lanes != 0).then(|| unwritten.into())
    }

    /// Counts what a store writes as written, if that is checked.
    pub(crate) fn mark_written<R: Region>(&self, request: &Request, region: &mut R, span: &Span) {
        if !self.launch.sanitize.uninitialized || region.is_whole() {
            return;
        }
        let base = region.base();
        request.all_ranges(span, |address, bytes| {
            region.mark_written(address - base, bytes);
            true
        });
    }

    /// Counts bits of a value that a lane has just stored as not set, in bytes that have been
    /// marked as written.
    pub(crate) fn mark_unset<R: Region>(
        &self,
        region: &mut R,
        (lane, offset): (usize, u64),
        (bytes, bits): (u32, u64),
        origin: Origin,
    ) {
        // Other blocks of a cluster do not know the reads of this one.
        let origin = if R::DEFERS_UNWRITTEN && self.launch.cluster_blocks() > 1 {
            origin.without_read()
        } else {
            origin
        };
        region.mark_unset(lane, offset, bytes, bits, origin);
    }

    /// Copies of lanes from global to shared memory have been made, and marked as written: of what
    /// they have read, that which nothing has written stays so.
    pub(crate) fn pass_unset<R: Region>(
        &mut self,
        (from, request): (&R, &Request),
        (to, starts): (&mut SharedMemory, &Row64),
    ) {
        let span = Span::of(request.addresses, request.mask, request.width);
        let Some(unwritten) = self.check_loaded(request, from, &span) else {
            return;
        };
        for lane in lanes(unwritten.lanes) {
            let offset = request.addresses[lane] - from.base();
            let origin = unwritten.origin(lane, Origin::UNKNOWN);
            for byte in 0..u64::from(request.width) {
                if !from.is_written(offset + byte, 1) {
                    self.mark_unset(to, (lane, starts[lane] + byte), (1, 0xff), origin);
                }
            }
        }
    }
}
