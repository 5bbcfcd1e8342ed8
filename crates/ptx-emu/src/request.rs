//! One warp-wide access: its addresses, and what it costs.

use std::ops::Range;

use crate::coalesce::{
    SECTOR, SectorSet, atomic_wavefronts, ideal_wavefronts, sectors, wavefronts,
};
use crate::counts::{GlobalTraffic, SharedTraffic};
use crate::fault::{Access, AccessKind};
use crate::registers::{ALL, LANES, Row64, lanes, number_of};

/// Pieces of a span beyond which its lanes are looked at one by one.
const MAX_PIECES: u32 = 8;

/// How the addresses of a mask lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// All of the bits that some address has.
    bits: u64,
    /// The lanes that start where the active lane before them ends.
    follows: u32,
    /// The lanes that start where the active lane before them starts.
    repeats: u32,
    /// Most lanes are a piece of their own.
    pub(crate) is_scattered: bool,
    /// Each lane of the mask starts where it would if all lanes were active and each started where
    /// the one before ends.
    pub(crate) is_consecutive: bool,
}

/// Lanes that follow each other, whose addresses do so too, or are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) lanes: Range<usize>,
    pub(crate) is_same: bool,
}

impl Piece {
    pub(crate) fn mask(&self) -> u32 {
        (ALL >> (LANES - self.lanes.len())) << self.lanes.start
    }
}

/// The lanes whose addresses are the one before's plus `width`, and those whose are the same.
#[inline(always)]
fn steps(addresses: &Row64, width: u64) -> (u32, u32) {
    let (mut follows, mut repeats) = (0, 0);
    for lane in 1..LANES {
        let step = addresses[lane].wrapping_sub(addresses[lane - 1]);
        follows |= u32::from(step == width) << lane;
        repeats |= u32::from(step == 0) << lane;
    }
    (follows, repeats)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide_steps(addresses: &Row64, width: u64) -> (u32, u32) {
    steps(addresses, width)
}

impl Span {
    #[inline]
    pub(crate) fn of(addresses: &Row64, mask: u32, width: u32) -> Self {
        #[cfg(target_arch = "x86_64")]
        let (follows, repeats) = if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the host has AVX2.
            unsafe { wide_steps(addresses, width.into()) }
        } else {
            steps(addresses, width.into())
        };
        #[cfg(not(target_arch = "x86_64"))]
        let (follows, repeats) = steps(addresses, width.into());
        let beside = mask & mask << 1;
        let mut span = Self {
            min: u64::MAX,
            max: 0,
            bits: 0,
            follows: follows & beside,
            repeats: repeats & beside,
            is_scattered: false,
            is_consecutive: true,
        };
        let alone = mask & !(span.follows | span.repeats);
        if alone.count_ones() > MAX_PIECES {
            (span.is_scattered, span.is_consecutive) = (true, false);
            for lane in lanes(mask) {
                let address = addresses[lane];
                span.min = span.min.min(address);
                span.max = span.max.max(address);
                span.bits |= address;
            }
            return span;
        }
        let start = mask.trailing_zeros() as usize % LANES;
        for piece in span.pieces(mask) {
            let (first, last) = (addresses[piece.lanes.start], addresses[piece.lanes.end - 1]);
            let steps = (piece.lanes.start - start) as u64;
            let expected = addresses[start].wrapping_add(steps * u64::from(width));
            span.is_consecutive &= first == expected && !piece.is_same && last >= first;
            span.min = span.min.min(first).min(last);
            span.max = span.max.max(first).max(last);
            span.bits |= first | last;
        }
        span
    }

    /// True if each lane is a piece of its own.
    #[inline(always)]
    pub(crate) fn is_apart(&self) -> bool {
        self.follows | self.repeats == 0
    }

    /// The first piece of the lanes of a mask, which is not empty, and part of the span's.
    #[inline(always)]
    pub(crate) fn piece(&self, mask: u32) -> Piece {
        let start = mask.trailing_zeros();
        let beside = mask & mask << 1;
        let ones = |lanes: u32| ((lanes & beside) >> start >> 1).trailing_ones();
        let (following, repeating) = (ones(self.follows), ones(self.repeats));
        let count = 1 + following.max(repeating);
        Piece {
            lanes: start as usize..(start + count) as usize,
            is_same: repeating > 0,
        }
    }

    /// The pieces of a mask, which is part of the span's.
    #[inline(always)]
    pub(crate) fn pieces(&self, mask: u32) -> impl Iterator<Item = Piece> + use<> {
        let (span, mut rest) = (*self, mask);
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let piece = span.piece(rest);
            rest &= !piece.mask();
            Some(piece)
        })
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

impl<'r> Request<'r> {
    /// A weak access, not through the read-only path. `warp` is the index of the warp in its block.
    pub(crate) fn weak(
        kind: AccessKind,
        addresses: &'r Row64,
        mask: u32,
        width: u32,
        pc: u32,
        warp: usize,
    ) -> Request<'r> {
        Request {
            kind,
            addresses,
            mask,
            width,
            pc,
            warp,
            strong: false,
            non_coherent: false,
        }
    }

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
        if span.is_scattered {
            return lanes(self.mask).all(|lane| f(self.addresses[lane], width));
        }
        span.pieces(self.mask).all(|piece| {
            let elements = if piece.is_same { 1 } else { piece.lanes.len() };
            f(self.addresses[piece.lanes.start], elements as u64 * width)
        })
    }

    /// Bytes that all lanes move together.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(number_of(self.mask) * self.width)
    }

    /// Distinct sectors, if the lanes are few pieces, which ascend.
    fn sectors_of_pieces(&self, span: &Span) -> Option<u64> {
        if span.is_scattered || u64::from(self.width) > SECTOR {
            return None;
        }
        let (mut count, mut next) = (0, 0);
        for Piece { lanes, .. } in span.pieces(self.mask) {
            // Each lane lies in one sector, and a piece leaves none out.
            let first = self.addresses[lanes.start] / SECTOR;
            let end = self.addresses[lanes.end - 1] / SECTOR + 1;
            // The sector before may be that of the piece before.
            if first + 1 < next || end <= first {
                return None;
            }
            count += end - first.max(next);
            next = end;
        }
        Some(count)
    }

    /// Counts an access to global memory. `loaded` has what the block has loaded, if traffic to L2
    /// is counted.
    pub(crate) fn count_global(
        &self,
        traffic: &mut GlobalTraffic,
        span: &Span,
        loaded: Option<&mut SectorSet>,
    ) {
        let is_whole = span.piece(self.mask).mask() == self.mask;
        let touched = match span.is_consecutive && is_whole {
            true => (span.max + u64::from(self.width) - 1) / SECTOR - span.min / SECTOR + 1,
            false if span.min == span.max => 1,
            false => {
                let sectors = || sectors(self.addresses, self.mask);
                self.sectors_of_pieces(span).unwrap_or_else(sectors)
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes in pieces: their sectors, counted by piece, are those counted by lane.
    #[test]
    fn sectors_of_pieces_are_those_of_lanes() {
        let mut counted = 0;
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let width = 1 << random.u32(0..6);
            let (mut address, mut step) = (256 * u64::from(width), u64::from(width));
            let addresses: Row64 = std::array::from_fn(|_| {
                address += step;
                if random.u32(0..12) == 0 {
                    let back = random.u64(0..8) * u64::from(width);
                    address = address - back + random.u64(0..24) * u64::from(width);
                    step = [0, u64::from(width)][random.usize(0..2)];
                }
                address
            });
            let mask = if random.bool() { ALL } else { random.u32(1..) };
            let request = Request::weak(AccessKind::Load, &addresses, mask, width, 0, 0);
            let span = Span::of(&addresses, mask, width);
            if let Some(found) = request.sectors_of_pieces(&span) {
                assert_eq!(found, sectors(&addresses, mask), "seed {seed}");
                counted += 1;
            }
        }
        assert!(counted > 5000, "only {counted}");
    }
}
