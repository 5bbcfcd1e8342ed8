//! One warp-wide access: its addresses, and what it costs.

use crate::coalesce::{
    SECTOR, SectorSet, atomic_wavefronts, ideal_wavefronts, sectors, wavefronts,
};
use crate::counts::{GlobalTraffic, SharedTraffic};
use crate::fault::{Access, AccessKind};
use crate::registers::{ALL, LANES, Row64, lanes, runs_of};

/// The range of the addresses of a mask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// All of the bits that some address has.
    bits: u64,
    /// Each lane of the mask starts where it would if all lanes were active and each started where
    /// the one before ends.
    pub(crate) is_consecutive: bool,
    /// The same, and all lanes are active.
    pub(crate) contiguous: bool,
}

impl Span {
    #[inline]
    pub(crate) fn of(addresses: &Row64, mask: u32, width: u32) -> Self {
        let lane = mask.trailing_zeros() as usize % LANES;
        let last = LANES - 1 - mask.leading_zeros() as usize % LANES;
        let (min, max) = (addresses[lane], addresses[last]);
        let first = min.wrapping_sub(lane as u64 * u64::from(width));
        let gap = |lane: usize| {
            let expected = first.wrapping_add(lane as u64 * u64::from(width));
            addresses[lane] ^ expected
        };
        let gaps = match mask {
            ALL => (0..LANES).fold(0, |gaps, lane| gaps | gap(lane)),
            _ => (0..LANES).fold(0, |gaps, lane| {
                gaps | gap(lane) & 0_u64.wrapping_sub(u64::from(mask >> lane & 1))
            }),
        };
        if gaps == 0 && max >= min {
            return Self {
                min,
                max,
                bits: min,
                is_consecutive: true,
                contiguous: mask == ALL,
            };
        }
        let mut span = Self {
            min,
            max: min,
            bits: min,
            is_consecutive: false,
            contiguous: false,
        };
        for (lane, &address) in addresses.iter().enumerate() {
            let address = if mask >> lane & 1 == 1 { address } else { min };
            span.min = span.min.min(address);
            span.max = span.max.max(address);
            span.bits |= address;
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

    /// True if `f` says so of each range of bytes that lanes are in: its address and its length.
    #[inline(always)]
    pub(crate) fn all_ranges(&self, span: &Span, mut f: impl FnMut(u64, u64) -> bool) -> bool {
        let width = u64::from(self.width);
        match span.is_consecutive {
            true => runs_of(self.mask)
                .all(|lanes| f(self.addresses[lanes.start], lanes.len() as u64 * width)),
            false => lanes(self.mask).all(|lane| f(self.addresses[lane], width)),
        }
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
        let has_gaps = runs_of(self.mask).nth(1).is_some();
        let touched = match span.is_consecutive && !has_gaps {
            true => (span.max + u64::from(self.width) - 1) / SECTOR - span.min / SECTOR + 1,
            false if span.min == span.max => 1,
            false => sectors(self.addresses, self.mask),
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
            // No bank has two words of the lanes that are served at once.
            _ if self.width <= 16 && (span.is_consecutive || span.min == span.max) => {
                let ideal = ideal_wavefronts(self.mask, self.width);
                (ideal, ideal)
            }
            _ => wavefronts(self.addresses, self.mask, self.width),
        };
        traffic.requests += 1;
        traffic.wavefronts += taken;
        traffic.ideal_wavefronts += ideal;
        traffic.bytes += self.bytes();
    }
}
