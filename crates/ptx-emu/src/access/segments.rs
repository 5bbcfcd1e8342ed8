//! The lanes of an access that go to one line of the race check's shadow together.

use crate::check::race::{LINE, LaneMap, Part};
use crate::request::{Request, Span};

/// Lanes that follow each other, whose granules lie in one line of the shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) lanes: u32,
    /// The line, by its number in the region.
    pub(super) line: u64,
    /// Its granules; `None` if those of a lane may lie in several lines.
    pub(super) part: Option<Part>,
}

/// The segments of a request, in the order of its lanes.
pub(super) struct Segments<'r> {
    request: &'r Request<'r>,
    /// The first address of the region.
    base: u64,
    /// Binary logarithm of a granule's bytes.
    granule: u32,
    /// Binary logarithm of a lane's granules; `None` if those of a lane may lie in several lines.
    shift: Option<u32>,
    /// The granules of a lane, moved to the start of a line.
    unit: u32,
    /// Lanes of a granule that follow each other there.
    sharing: u32,
    span: Span,
    /// The lanes that are left.
    rest: u32,
}

impl<'r> Segments<'r> {
    /// `granule` is that of the launch in bytes; `span` is that of the request's addresses.
    #[inline(always)]
    pub(super) fn new(request: &'r Request, span: &Span, base: u64, granule: u32) -> Self {
        let granules = (request.width / granule).max(1);
        let is_simple = granules.is_power_of_two() && u64::from(granules) <= LINE;
        let is_aligned = request.width.is_power_of_two() && span.is_aligned(request.width);
        let is_one = is_simple && is_aligned && !request.strong;
        Self {
            request,
            base,
            granule: granule.trailing_zeros(),
            shift: is_one.then_some(granules.trailing_zeros()),
            unit: u32::MAX >> (32 - granules.min(32)),
            sharing: (granule / request.width.max(1)).max(1),
            span: *span,
            rest: request.mask,
        }
    }

    /// The first granule of a lane.
    #[inline(always)]
    pub(super) fn granule(&self, lane: usize) -> u64 {
        (self.request.addresses[lane] - self.base) >> self.granule
    }

    /// True if each lane is a segment of its own in one line, and they lie far apart.
    #[inline(always)]
    pub(super) fn are_far_lanes(&self) -> bool {
        let shift = self.granule + LINE.trailing_zeros();
        let lines = (self.span.max - self.span.min) >> shift;
        let is_far = lines > u64::from(self.rest.count_ones());
        self.shift.is_some() && self.span.is_apart() && is_far
    }
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    #[inline(always)]
    fn next(&mut self) -> Option<Segment> {
        if self.rest == 0 {
            return None;
        }
        let first = self.rest.trailing_zeros() as usize;
        let granule = self.granule(first);
        let (line, at) = (granule / LINE, (granule % LINE) as u32);
        let Some(shift) = self.shift else {
            self.rest &= self.rest - 1;
            return Some(Segment {
                lanes: 1 << first,
                line,
                part: None,
            });
        };
        if self.span.is_apart() {
            self.rest &= self.rest - 1;
            return Some(Segment {
                lanes: 1 << first,
                line,
                part: Some(Part {
                    granules: self.unit << at,
                    map: LaneMap::same(1 << first),
                }),
            });
        }
        let piece = self.span.piece(self.rest);
        let (mut lanes, mut part) = (
            piece.mask(),
            Part {
                granules: self.unit << at,
                map: LaneMap::same(piece.mask()),
            },
        );
        if self.sharing > 1 && !piece.is_same {
            // Those up to the end of the granule.
            let element =
                (self.request.addresses[first] - self.base) / u64::from(self.request.width);
            let count = self.sharing - element as u32 % self.sharing;
            lanes &= (u32::MAX >> (LINE as u32 - count)) << first;
            part.map = LaneMap::same(lanes);
        } else if !piece.is_same && (self.span.is_consecutive || piece.lanes.len() > 1) {
            if self.span.is_consecutive {
                lanes = self.rest;
            }
            // Those up to the end of the line.
            let count = (LINE as u32 - at) >> shift;
            lanes &= (u32::MAX >> (LINE as u32 - count)) << first;
            part = Part {
                granules: spread(lanes >> first, shift) << at,
                map: LaneMap::consecutive(shift, at, first),
            };
        }
        self.rest &= !lanes;
        Some(Segment {
            lanes,
            line,
            part: Some(part),
        })
    }
}

/// Each bit `1 << shift` times, as far as they fit.
fn spread(bits: u32, shift: u32) -> u32 {
    let spaced = |some: u32, by: u32, mask: u32| (some | some << by) & mask;
    (0..shift).fold(bits, |spread, _| {
        let spread = spaced(spread & 0xffff, 8, 0x00ff_00ff);
        let spread = spaced(spread, 4, 0x0f0f_0f0f);
        let spread = spaced(spread, 2, 0x3333_3333);
        3 * spaced(spread, 1, 0x5555_5555)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::AccessKind;

    /// The lanes, the line and the granules of the segments of loads of bytes, whose granules are
    /// of 4 bytes.
    fn segments(addresses: [u64; 32], mask: u32) -> Vec<(u32, u64, u32)> {
        let request = Request::weak(AccessKind::Load, &addresses, mask, 1, 0, 0);
        let span = Span::of(&addresses, mask, 1);
        let segments = Segments::new(&request, &span, 256, 4);
        let told = |segment: Segment| {
            let part = segment.part.expect("a lane has one granule");
            assert_eq!(part.map, LaneMap::same(segment.lanes));
            (segment.lanes, segment.line, part.granules)
        };
        segments.map(told).collect()
    }

    #[test]
    fn lanes_narrower_than_a_granule_share_it() {
        let row = std::array::from_fn(|lane| 256 + 126 + lane as u64);
        let shared = [(0b11, 0, 1 << 31), (0b11_1100, 1, 1), (0b1100_0000, 1, 2)];
        assert_eq!(segments(row, 0xff), shared);
        // Lanes behind a gap are segments of their own.
        let alone = [(0b11, 0, 1 << 31), (1 << 3, 1, 1), (1 << 5, 1, 1)];
        assert_eq!(segments(row, 0b10_1011), alone);
        let same = [256 + 7; 32];
        assert_eq!(segments(same, u32::MAX), [(u32::MAX, 0, 2)]);
        let apart = std::array::from_fn(|lane| 256 + 3 * lane as u64);
        assert_eq!(segments(apart, 0b111), [(1, 0, 1), (2, 0, 1), (4, 0, 2)]);
    }
}
