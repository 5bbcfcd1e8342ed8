//! One warp-wide access: where it goes, whether it may, what it costs.

use ptx::Space;

use crate::block::{BlockRunner, Stop, Warp};
use crate::check::race::Record;
use crate::coalesce::{SECTOR, atomic_wavefronts, lanes, sectors, wavefronts};
use crate::code::Address;
use crate::fault::{AccessKind, FaultKind, Location, Stray};
use crate::memory::global::Buffer;
use crate::memory::{NULL_LIMIT, space_of, window};
use crate::registers::{ALL, File, LANES, Registers, Row64};

/// The addresses of an instruction's lanes. Those of lanes outside the mask are meaningless.
pub(super) fn addresses(registers: &Registers, address: &Address) -> Row64 {
    let offset = address.offset as u64;
    match address.base.file {
        File::B64 => registers
            .r64(address.base.row)
            .map(|base| base.wrapping_add(offset)),
        _ => registers
            .r32(address.base.row)
            .map(|base| u64::from(base).wrapping_add(offset)),
    }
}

/// What the addresses of a mask have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) min: u64,
    pub(super) max: u64,
    /// All of the bits that some address has.
    bits: u64,
    /// All lanes are active and each starts where the one before ends.
    pub(super) contiguous: bool,
}

impl Span {
    #[inline]
    pub(super) fn of(addresses: &Row64, mask: u32, width: u32) -> Self {
        if mask == ALL {
            let mut gaps = 0;
            for lane in 0..LANES as u64 {
                gaps |= addresses[lane as usize]
                    .wrapping_sub(addresses[0])
                    .wrapping_sub(lane * u64::from(width));
            }
            let last = addresses[LANES - 1];
            if gaps == 0 && last >= addresses[0] {
                return Self {
                    min: addresses[0],
                    max: last,
                    bits: addresses[0],
                    contiguous: true,
                };
            }
        }
        let first = addresses[mask.trailing_zeros() as usize];
        let mut span = Self {
            min: first,
            max: first,
            bits: first,
            contiguous: false,
        };
        for (lane, &address) in addresses.iter().enumerate() {
            if mask >> lane & 1 == 1 {
                span.min = span.min.min(address);
                span.max = span.max.max(address);
                span.bits |= address;
            }
        }
        span
    }

    /// The same for those of the lanes that lie in one buffer.
    #[inline]
    pub(super) fn restricted(self, mask: u32) -> Self {
        Self {
            contiguous: self.contiguous && mask == ALL,
            ..self
        }
    }

    #[inline]
    pub(super) fn is_aligned(&self, width: u32) -> bool {
        self.bits & u64::from(width - 1) == 0
    }
}

/// One warp-wide access to one space.
pub(super) struct Request<'r> {
    pub(super) kind: AccessKind,
    pub(super) addresses: &'r Row64,
    pub(super) mask: u32,
    /// Bytes of a lane.
    pub(super) width: u32,
    pub(super) pc: u32,
    pub(super) strong: bool,
    pub(super) non_coherent: bool,
}

impl Request<'_> {
    pub(super) fn access(&self) -> crate::fault::Access {
        crate::fault::Access {
            kind: self.kind,
            bytes: self.width,
        }
    }
}

impl<'a> BlockRunner<'a> {
    /// Calls `f` with each space that the lanes of a generic access lie in, their addresses in it, and the lanes.
    pub(super) fn by_space(
        &mut self,
        space: Space,
        addresses: Row64,
        mask: u32,
        mut f: impl FnMut(&mut Self, Space, &Row64, u32) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if space != Space::Generic {
            return f(self, space, &addresses, mask);
        }
        let mut rest = mask;
        while rest != 0 {
            let space = space_of(addresses[rest.trailing_zeros() as usize]);
            let here = lanes(rest)
                .filter(|&lane| space_of(addresses[lane]) == space)
                .fold(0, |mask, lane| mask | 1 << lane);
            let base = window(space);
            f(
                self,
                space,
                &addresses.map(|address| address.wrapping_sub(base)),
                here,
            )?;
            rest &= !here;
        }
        Ok(())
    }

    pub(super) fn check_alignment(
        &self,
        warp: &Warp,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        if span.is_aligned(request.width) {
            return Ok(());
        }
        let misaligned =
            |lane: &usize| !request.addresses[*lane].is_multiple_of(u64::from(request.width));
        let lane = lanes(request.mask).find(misaligned).unwrap_or(0);
        let address = request.addresses[lane];
        let buffer = self.launch.memory.find(address, 1);
        let kind = FaultKind::Misaligned {
            access: request.access(),
            address,
            location: buffer.map(|buffer| Location::Buffer {
                name: buffer.name.clone(),
                offset: address - buffer.base,
            }),
        };
        Err(self.fault(warp.thread(lane), request.pc, kind))
    }

    /// The buffer of the first lane of `rest`, and all lanes of `rest` that lie in it.
    #[inline]
    pub(super) fn buffer(
        &self,
        warp: &Warp,
        request: &Request,
        rest: u32,
        span: &Span,
    ) -> Result<(&'a Buffer, u32), Stop> {
        let memory = self.launch.memory;
        let width = u64::from(request.width);
        // An address so high that the sum wraps is in no buffer.
        if let Some(bytes) = (span.max - span.min).checked_add(width)
            && let Some(buffer) = memory.find(span.min, bytes)
        {
            return Ok((buffer, rest));
        }
        let first = rest.trailing_zeros() as usize;
        let Some(buffer) = memory.find(request.addresses[first], width) else {
            return Err(self.stray(warp, request, first));
        };
        let inside = |lane: &usize| {
            let offset = request.addresses[*lane].wrapping_sub(buffer.base);
            offset < buffer.bytes && width <= buffer.bytes - offset
        };
        Ok((
            buffer,
            lanes(rest)
                .filter(inside)
                .fold(0, |mask, lane| mask | 1 << lane),
        ))
    }

    /// Checks that all lanes lie in shared memory.
    pub(super) fn check_shared(
        &self,
        warp: &Warp,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let width = u64::from(request.width);
        if self.shared.contains(span.max, width) {
            return Ok(());
        }
        let outside = |lane: &usize| !self.shared.contains(request.addresses[*lane], width);
        let lane = lanes(request.mask).find(outside).unwrap_or(0);
        let stray = Stray::Shared {
            size: self.shared.bytes,
            offset: request.addresses[lane],
        };
        let kind = FaultKind::OutOfBounds {
            access: request.access(),
            stray,
        };
        Err(self.fault(warp.thread(lane), request.pc, kind))
    }

    pub(super) fn check_writable(
        &self,
        warp: &Warp,
        request: &Request,
        buffer: &Buffer,
        mask: u32,
    ) -> Result<(), Stop> {
        if !buffer.read_only {
            return Ok(());
        }
        let what = format!("`{}`, which is constant", buffer.name);
        let kind = FaultKind::ReadOnly {
            access: request.access(),
            what,
        };
        Err(self.fault(warp.first_thread(mask), request.pc, kind))
    }

    /// The fault of an access outside everything in global memory.
    pub(super) fn stray(&self, warp: &Warp, request: &Request, lane: usize) -> Stop {
        let address = request.addresses[lane];
        let stray = if address < NULL_LIMIT {
            Stray::Null { address }
        } else {
            let memory = self.launch.memory;
            match memory.neighbour(address) {
                None => self.wrapped(address, request.width),
                Some(near) if near.freed => Stray::Freed {
                    name: near.name.to_owned(),
                    offset: address.saturating_sub(near.base),
                },
                Some(near) => Stray::Buffer {
                    name: near.name.to_owned(),
                    size: near.bytes,
                    offset: address.wrapping_sub(near.base) as i64,
                },
            }
        };
        let kind = FaultKind::OutOfBounds {
            access: request.access(),
            stray,
        };
        self.fault(warp.thread(lane), request.pc, kind)
    }

    /// An address near no buffer: perhaps the index wrapped at 2^32.
    pub(super) fn wrapped(&self, address: u64, width: u32) -> Stray {
        const NEAR: u64 = 1 << 24;
        let meant = address.wrapping_sub(u64::from(width) << 32);
        match self.launch.memory.neighbour(meant) {
            Some(near) if !near.freed && meant.abs_diff(near.base) < near.bytes.max(NEAR) => {
                Stray::Wrapped {
                    name: near.name.to_owned(),
                    size: near.bytes,
                    offset: meant.wrapping_sub(near.base) as i64,
                }
            }
            _ => Stray::Nowhere { address },
        }
    }

    pub(super) fn count_global(&mut self, tally: u32, request: &Request, span: &Span) {
        let touched = if span.contiguous {
            (span.max + u64::from(request.width) - 1) / SECTOR - span.min / SECTOR + 1
        } else {
            sectors(request.addresses, request.mask)
        };
        let bytes = u64::from(request.mask.count_ones() * request.width);
        let traffic = &mut self.tallies.traffic[tally as usize].global;
        traffic.requests += 1;
        traffic.sectors += touched;
        traffic.ideal_sectors += touched.min(bytes.div_ceil(SECTOR));
        traffic.bytes += bytes;
    }

    pub(super) fn count_shared(&mut self, tally: u32, request: &Request, span: &Span) {
        let (taken, ideal) = match request.kind {
            AccessKind::Atomic => (atomic_wavefronts(request.addresses, request.mask), 1),
            _ if span.contiguous && request.width == 4 => (1, 1),
            _ => wavefronts(request.addresses, request.mask, request.width),
        };
        let traffic = &mut self.tallies.traffic[tally as usize].shared;
        traffic.requests += 1;
        traffic.wavefronts += taken;
        traffic.ideal_wavefronts += ideal;
        traffic.bytes += u64::from(request.mask.count_ones() * request.width);
    }

    /// The record of an access by the first thread of a warp.
    pub(super) fn record(&self, warp: &Warp, pc: u32, strong: bool) -> Record {
        Record {
            block: self.block_number(),
            clock: self.clocks.now(warp.index),
            pc,
            thread: warp.thread(0) as u16,
            strong,
            fences: self.fence_count.min(u8::MAX.into()) as u8,
        }
    }
}
