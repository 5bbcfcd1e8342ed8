//! The memory of a line whose granules are each one lane's, all accesses being of one warp between
//! the same two of its barriers: lanes go their own ways, by many instructions.

use super::cell::{Cell, Kind};
use super::order::Record;
use super::part::{LINE, Part, members};

const GRANULES: usize = LINE as usize;
/// Instead of a lane: nothing has accessed the granule.
const NONE: u8 = u8::MAX;

/// The last load and the last store of each granule.
#[derive(Clone, Debug)]
pub(super) struct Alone {
    /// An access of the warp at that time; its lanes, its instruction and its path do not count.
    record: Record,
    loaded: u32,
    stored: u32,
    /// The granules that a load through the read-only path is of.
    non_coherent: u32,
    /// The lane of each granule, or [`NONE`].
    lanes: [u8; GRANULES],
    /// The instruction of each granule's last load.
    loads: [u32; GRANULES],
    stores: [u32; GRANULES],
}

impl Default for Alone {
    fn default() -> Self {
        Self {
            record: Record::default(),
            loaded: 0,
            stored: 0,
            non_coherent: 0,
            lanes: [NONE; GRANULES],
            loads: [0; GRANULES],
            stores: [0; GRANULES],
        }
    }
}

impl Alone {
    /// Forgets all.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        (self.loaded, self.stored, self.non_coherent) = (0, 0, 0);
        self.lanes = [NONE; GRANULES];
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.loaded | self.stored == 0
    }

    /// Notes an access, whose record has no lanes. False, and nothing is noted, if it is of another
    /// time, or some granule is not one lane's, or a load through the read-only path meets a store.
    /// Granules of one place follow each other.
    #[inline(always)]
    pub(super) fn access(&mut self, kind: Kind, record: &Record, part: Part) -> bool {
        if self.is_empty() {
            self.record = *record;
        } else if !self.record.is_of_one_time(record) {
            return false;
        }
        let is_stale = match kind {
            Kind::Load => record.non_coherent && self.stored & part.granules != 0,
            Kind::Store => self.non_coherent & part.granules != 0,
        };
        if is_stale {
            return false;
        }
        match part.map.one_place() {
            Some(lane) => self.access_of(kind, record, part.granules, lane),
            None => self.access_of_several(kind, record, part),
        }
    }

    /// The same of one lane, whose granules follow each other.
    #[inline(always)]
    fn access_of(&mut self, kind: Kind, record: &Record, granules: u32, lane: u8) -> bool {
        let start = granules.trailing_zeros() as usize;
        let range = start..start + granules.count_ones() as usize;
        let mut lanes = self.lanes[range.clone()].iter();
        if lanes.any(|&known| known != NONE && known != lane) {
            return false;
        }
        self.lanes[range.clone()].fill(lane);
        let last = match kind {
            Kind::Load => &mut self.loads,
            Kind::Store => &mut self.stores,
        };
        last[range].fill(record.pc);
        self.count(kind, record, granules);
        true
    }

    fn access_of_several(&mut self, kind: Kind, record: &Record, part: Part) -> bool {
        let mut granules = members(part.granules);
        let is_of_one = granules.all(|granule| {
            let (lanes, known) = (part.map.lanes(granule), self.lanes[granule as usize]);
            lanes.is_power_of_two() && (known == NONE || lanes == 1 << known)
        });
        if !is_of_one {
            return false;
        }
        for granule in members(part.granules) {
            let lane = part.map.lanes(granule).trailing_zeros() as u8;
            self.access_of(kind, record, 1 << granule, lane);
        }
        true
    }

    #[inline(always)]
    fn count(&mut self, kind: Kind, record: &Record, granules: u32) {
        match kind {
            Kind::Load => self.loaded |= granules,
            Kind::Store => self.stored |= granules,
        }
        if record.non_coherent {
            self.non_coherent |= granules;
        }
    }

    /// The granule's last access of a kind.
    pub(super) fn last(&self, kind: Kind, granule: u32) -> Option<Record> {
        let (granules, pcs) = match kind {
            Kind::Load => (self.loaded, &self.loads),
            Kind::Store => (self.stored, &self.stores),
        };
        let is_known = granules >> granule & 1 == 1;
        is_known.then(|| Record {
            pc: pcs[granule as usize],
            lanes: 1 << self.lanes[granule as usize],
            non_coherent: kind == Kind::Load && self.non_coherent >> granule & 1 == 1,
            ..self.record
        })
    }

    /// Puts it into cells, which remember nothing yet.
    pub(super) fn fill(&self, cells: &mut [Cell]) {
        for (granule, cell) in (0..).zip(cells) {
            for kind in [Kind::Load, Kind::Store] {
                if let Some(record) = self.last(kind, granule) {
                    cell.remember(kind, 0, record);
                }
            }
        }
    }
}
