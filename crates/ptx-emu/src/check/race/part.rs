//! The granules of a line that an access is of, and the lanes of each.

/// Granules of a line.
pub(crate) const LINE: u64 = 32;

/// The granules of a line that some lanes access, and the lanes of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) granules: u32,
    pub(crate) map: LaneMap,
}

/// A rule that gives the lanes of a granule: those at a distance from the granule's number, which
/// is counted in elements of some granules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneMap {
    /// Bit `32 + d` for each distance `d`.
    pub(super) distances: u64,
    /// Binary logarithm of an element's granules.
    pub(super) shift: u8,
}

impl LaneMap {
    /// Each granule is of the same lanes.
    pub(crate) fn same(lanes: u32) -> Self {
        Self {
            distances: u64::from(lanes) << 32,
            shift: LINE.trailing_zeros() as u8,
        }
    }

    /// The element of `1 << shift` granules that begins at a granule is a lane's, the next one the
    /// next lane's.
    #[inline(always)]
    pub(crate) fn consecutive(shift: u32, granule: u32, lane: usize) -> Self {
        Self {
            distances: 1 << (32 + lane as u32 - (granule >> shift)),
            shift: shift as u8,
        }
    }

    /// The lane that all granules are of, if the rule is of one lane alone.
    #[inline(always)]
    pub(super) fn one_place(self) -> Option<u8> {
        let is_one = u32::from(self.shift) == LINE.trailing_zeros() && self.has_one_lane();
        is_one.then(|| (self.distances >> 32).trailing_zeros() as u8)
    }

    /// True if no granule is of several lanes.
    pub(crate) fn has_one_lane(self) -> bool {
        self.distances.is_power_of_two()
    }

    /// The lanes of a granule.
    #[inline(always)]
    pub(super) fn lanes(self, granule: u32) -> u32 {
        (self.distances << (granule >> self.shift) >> 32) as u32
    }

    /// The rule that gives, for these granules, the lanes of both; `None` if none does.
    pub(super) fn joined(self, other: Self, granules: u32) -> Option<Self> {
        if self.shift == other.shift {
            let distances = self.distances | other.distances;
            return Some(Self { distances, ..self });
        }
        let first = granules.trailing_zeros();
        let lanes = self.lanes(first) | other.lanes(first);
        granules.is_power_of_two().then(|| Self::same(lanes))
    }

    /// True if each of these granules is, by both rules, of one lane and the same.
    #[inline(always)]
    pub(super) fn is_one_lane(self, other: Self, granules: u32) -> bool {
        if self == other && self.has_one_lane() {
            return true;
        }
        members(granules).all(|granule| {
            let lanes = self.lanes(granule);
            lanes == other.lanes(granule) && lanes.is_power_of_two()
        })
    }
}

/// The numbers of the bits of a mask.
pub(super) fn members(mask: u32) -> impl Iterator<Item = u32> {
    crate::registers::lanes(mask).map(|bit| bit as u32)
}
