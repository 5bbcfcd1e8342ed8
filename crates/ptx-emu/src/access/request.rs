//! One warp-wide access: whether it may, where it goes, what it costs.

use crate::block::{BlockRunner, Stop};
use crate::coalesce::{SECTOR, SectorSet, atomic_wavefronts, sectors, wavefronts};
use crate::counts::{GlobalTraffic, SharedTraffic};
use crate::fault::{Access, AccessKind, FaultKind, Location, Stray};
use crate::memory::global::Buffer;
use crate::memory::{NULL_LIMIT, rank_of};
use crate::registers::{ALL, LANES, Row64, lanes, lanes_where};

/// What the addresses of a mask have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// All of the bits that some address has.
    bits: u64,
    /// All lanes are active and each starts where the one before ends.
    pub(crate) contiguous: bool,
}

impl Span {
    #[inline]
    pub(crate) fn of(addresses: &Row64, mask: u32, width: u32) -> Self {
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
    pub(crate) fn restricted(self, mask: u32) -> Self {
        Self {
            contiguous: self.contiguous && mask == ALL,
            ..self
        }
    }

    #[inline]
    pub(crate) fn is_aligned(&self, width: u32) -> bool {
        self.bits & u64::from(width - 1) == 0
    }
}

/// One warp-wide access to one space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'r> {
    pub(crate) kind: AccessKind,
    pub(crate) addresses: &'r Row64,
    pub(crate) mask: u32,
    /// Bytes of a lane.
    pub(crate) width: u32,
    pub(crate) pc: u32,
    /// Index of the warp in its block.
    pub(crate) warp: usize,
    /// May meet other strong accesses without a race.
    pub(crate) strong: bool,
    /// Through the read-only path.
    pub(crate) non_coherent: bool,
}

impl Request<'_> {
    /// The access of one lane, for messages.
    pub(crate) fn access(&self) -> Access {
        Access {
            kind: self.kind,
            bytes: self.width,
        }
    }

    /// The thread number of a lane in its block.
    pub(crate) fn thread(&self, lane: usize) -> u32 {
        (self.warp * LANES + lane) as u32
    }

    /// Bytes that all lanes move together.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.mask.count_ones() * self.width)
    }

    /// Counts an access to global memory. `loaded` has what the block has loaded, if traffic to L2 is counted.
    pub(crate) fn count_global(
        &self,
        traffic: &mut GlobalTraffic,
        span: &Span,
        loaded: Option<&mut SectorSet>,
    ) {
        let touched = if span.contiguous {
            (span.max + u64::from(self.width) - 1) / SECTOR - span.min / SECTOR + 1
        } else {
            sectors(self.addresses, self.mask)
        };
        traffic.requests += 1;
        traffic.sectors += touched;
        traffic.ideal_sectors += touched.min(self.bytes().div_ceil(SECTOR));
        traffic.bytes += self.bytes();
        if let Some(loaded) = loaded {
            traffic.l2_sectors += match self.kind {
                AccessKind::Load => loaded.add(self.addresses, self.mask),
                AccessKind::Store | AccessKind::Atomic => touched,
            };
        }
    }

    /// Counts an access to shared memory.
    pub(crate) fn count_shared(&self, traffic: &mut SharedTraffic, span: &Span) {
        let (taken, ideal) = match self.kind {
            AccessKind::Atomic => (atomic_wavefronts(self.addresses, self.mask), 1),
            _ if span.contiguous && self.width == 4 => (1, 1),
            _ => wavefronts(self.addresses, self.mask, self.width),
        };
        traffic.requests += 1;
        traffic.wavefronts += taken;
        traffic.ideal_wavefronts += ideal;
        traffic.bytes += self.bytes();
    }
}

impl<'a> BlockRunner<'a> {
    /// Checks that every lane's address is a multiple of the width.
    pub(crate) fn check_alignment(&self, request: &Request, span: &Span) -> Result<(), Stop> {
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
        Err(self.fault(request.thread(lane), request.pc, kind))
    }

    /// The buffer of the first lane of `rest`, and all lanes of `rest` that lie in it.
    #[inline]
    pub(crate) fn buffer(
        &self,
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
            return Err(self.stray(request, first));
        };
        let inside = |lane: usize| {
            let offset = request.addresses[lane].wrapping_sub(buffer.base);
            offset < buffer.bytes && width <= buffer.bytes - offset
        };
        Ok((buffer, lanes_where(rest, inside)))
    }

    /// Checks that all lanes lie in shared memory.
    pub(crate) fn check_shared(&self, request: &Request, span: &Span) -> Result<(), Stop> {
        let width = u64::from(request.width);
        if self.shared.contains(span.max, width) {
            return Ok(());
        }
        let outside = |lane: &usize| !self.shared.contains(request.addresses[*lane], width);
        let lane = lanes(request.mask).find(outside).unwrap_or(0);
        let stray = match rank_of(request.addresses[lane]) {
            (Some(rank), _) if (rank as usize) < self.cluster.blocks.len() => {
                Stray::OtherBlock { rank }
            }
            _ => Stray::Shared {
                size: self.shared.bytes,
                offset: request.addresses[lane],
            },
        };
        Err(self.out_of_bounds(request, lane, stray))
    }

    /// Checks that a buffer may be stored to.
    pub(crate) fn check_writable(&self, request: &Request, buffer: &Buffer) -> Result<(), Stop> {
        if !buffer.read_only {
            return Ok(());
        }
        Err(self.read_only(request, format!("`{}`, which is constant", buffer.name)))
    }

    /// The fault of a store to what must not change.
    pub(crate) fn read_only(&self, request: &Request, what: String) -> Stop {
        let access = request.access();
        let lane = request.mask.trailing_zeros() as usize;
        let kind = FaultKind::ReadOnly { access, what };
        self.fault(request.thread(lane), request.pc, kind)
    }

    /// The fault of a lane's access beyond its memory.
    pub(crate) fn out_of_bounds(&self, request: &Request, lane: usize, stray: Stray) -> Stop {
        let access = request.access();
        let kind = FaultKind::OutOfBounds { access, stray };
        self.fault(request.thread(lane), request.pc, kind)
    }

    /// The fault of an access outside everything in global memory.
    fn stray(&self, request: &Request, lane: usize) -> Stop {
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
        self.out_of_bounds(request, lane, stray)
    }

    /// An address near no buffer: perhaps the index wrapped at 2^32.
    fn wrapped(&self, address: u64, width: u32) -> Stray {
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
}
