//! One warp-wide access: its addresses, and what it costs.

use crate::coalesce::{SECTOR, SectorSet, atomic_wavefronts, sectors, wavefronts};
use crate::counts::{GlobalTraffic, SharedTraffic};
use crate::fault::{Access, AccessKind};
use crate::registers::{ALL, LANES, Row64};

/// The range of the addresses of a mask.
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

    /// Counts an access to global memory. `loaded` has what the block has loaded, if traffic to L2
    /// is counted.
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
