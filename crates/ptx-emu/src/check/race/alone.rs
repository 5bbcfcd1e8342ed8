//! The memory of a line whose granules each have one lane's last load and one lane's last store:
//! lanes go their own ways, by many instructions.
//!
//! Such a kernel has many lines, and most are not in the caches of the host. An access looks at
//! the head and at one row. Most lines have accesses of one kind at one time: so the row of the
//! first kind is [`Near`] the head, and the memory for another and for times is made where needed.

use super::cell::{Cell, Kind};
use super::order::{BlockOrder, Now, Record, Relation};
use super::part::{LINE, Part, members};

const GRANULES: usize = LINE as usize;
/// Bits of an instruction's position in an [`Entry`].
const PC_BITS: u32 = 20;
/// Bits of a lane.
const LANE_BITS: u32 = 5;
/// The most times that a line tells apart: each granule remembers two at most.
const MAX_TIMES: usize = 1 << (u32::BITS - PC_BITS - LANE_BITS);

/// An access of one lane: from the lowest bit on, its instruction, the number of its time, its
/// lane.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(super) struct Entry(u32);

/// The last access of a kind of each granule.
pub(super) type Row = [Entry; GRANULES];

impl Entry {
    #[inline(always)]
    fn new(record: &Record, time: u32, lane: u32) -> Self {
        Self(lane << (u32::BITS - LANE_BITS) | time << PC_BITS | record.pc)
    }

    fn pc(self) -> u32 {
        self.0 & ((1 << PC_BITS) - 1)
    }

    fn time(self) -> usize {
        (self.0 >> PC_BITS) as usize % MAX_TIMES
    }

    fn lane(self) -> u32 {
        self.0 >> (u32::BITS - LANE_BITS)
    }

    /// True if both are of one lane at one time.
    #[inline(always)]
    fn is_of_one_lane(self, other: Self) -> bool {
        (self.0 ^ other.0) >> PC_BITS == 0
    }
}

/// The accesses of a warp between two of its barriers. Packed, so that [`Alone`] is short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, packed(2))]
struct Time {
    block: u32,
    clock: u32,
    warp: u16,
}

impl Time {
    #[inline(always)]
    fn of(record: &Record) -> Self {
        let &Record {
            block, clock, warp, ..
        } = record;
        Self { block, clock, warp }
    }
}

/// The row of one kind, which lies beside the head.
#[derive(Debug)]
pub(super) struct Near<'a> {
    pub(super) kind: Kind,
    pub(super) row: &'a mut Row,
}

/// Memory that few lines need.
#[derive(Clone, Debug, Default)]
struct Far {
    /// Of the kind that is not near.
    row: Row,
    /// By number; the last access's may be missing.
    times: Vec<Time>,
}

/// The last load and the last store of each granule, beside a row [`Near`] it. All zeros remember
/// nothing.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Alone {
    /// The granules that have a load, and those that have a store.
    loaded: u32,
    stored: u32,
    /// The granules whose last load is through the read-only path.
    non_coherent: u32,
    /// The time of the last access; of no block if there was none.
    time: Time,
    /// Its number, and how many times have a place in `far`.
    number: u8,
    saved: u8,
    /// Made where it is needed first.
    far: Option<Box<Far>>,
}

impl Alone {
    /// Forgets all.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        (self.loaded, self.stored, self.non_coherent) = (0, 0, 0);
        (self.time, self.number, self.saved) = (Time::default(), 0, 0);
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.loaded | self.stored == 0
    }

    /// True if an [`Entry`] has room for an access's instruction.
    #[inline(always)]
    pub(super) fn has_room(record: &Record) -> bool {
        record.pc >> PC_BITS == 0
    }

    /// True if an [`Entry`] has room for the access's instruction, and no granule is of a load
    /// through the read-only path and of a store.
    #[inline(always)]
    fn tells(&self, kind: Kind, record: &Record, granules: u32) -> bool {
        let met = match kind {
            Kind::Load if record.non_coherent => self.stored,
            Kind::Load => 0,
            Kind::Store => self.non_coherent,
        };
        Self::has_room(record) && met & granules == 0
    }

    /// The row of a kind, if it has been made.
    #[inline(always)]
    fn row<'a>(&'a self, near: &'a Near, kind: Kind) -> Option<&'a Row> {
        if near.kind == kind {
            Some(near.row)
        } else {
            Some(&self.far.as_ref()?.row)
        }
    }

    /// Notes an access of one lane, the first or at the time of the last one, to granules that
    /// other lanes have not accessed. False, and nothing is noted, if it is another. The record has
    /// no lanes.
    #[inline(always)]
    pub(super) fn note_same(
        &mut self,
        near: Near,
        kind: Kind,
        record: &Record,
        granules: u32,
        lane: u32,
    ) -> bool {
        if self.is_empty() {
            self.time = Time::of(record);
        }
        let is_same = self.time == Time::of(record) && !record.strong;
        if !is_same || !self.tells(kind, record, granules) {
            return false;
        }
        let new = Entry::new(record, self.number.into(), lane);
        let is_ours = |other: Kind| {
            let mut met = members(self.known(other) & granules);
            let row = self.row(&near, other);
            met.all(|granule| {
                row.is_some_and(|row| row[granule as usize % GRANULES].is_of_one_lane(new))
            })
        };
        if !is_ours(Kind::Load) || !is_ours(Kind::Store) {
            return false;
        }
        let row = match (near.kind == kind, &mut self.far) {
            (true, _) => near.row,
            (false, Some(far)) => &mut far.row,
            (false, None) => return false,
        };
        for granule in members(granules) {
            row[granule as usize % GRANULES] = new;
        }
        self.count(kind, record, granules);
        true
    }

    /// Notes an access, whose record has no lanes. False, and nothing is noted, if a granule would
    /// have accesses of one kind by several lanes, or the access may race.
    pub(super) fn access<B: BlockOrder>(
        &mut self,
        near: Near,
        kind: Kind,
        now: &Now<B>,
        part: Part,
    ) -> bool {
        let is_noted = self.tells(kind, &now.record, part.granules)
            && (part.map.one_place().is_some()
                || members(part.granules).all(|granule| part.map.lanes(granule).is_power_of_two()))
            && self.is_clear(&near, now, part);
        if is_noted {
            self.put(near, kind, &now.record, part);
        }
        is_noted
    }

    /// True if what the granules remember is of the same lane at one time, or ordered before. Of
    /// loads, too: they remember one lane's.
    fn is_clear<B: BlockOrder>(&self, near: &Near, now: &Now<B>, part: Part) -> bool {
        // The number of a time, and how it stands to the access: most granules remember one time.
        let mut last = (MAX_TIMES, Relation::Unclear);
        for kind in [Kind::Load, Kind::Store] {
            let known = self.known(kind) & part.granules;
            let row = match self.row(near, kind) {
                Some(row) => row,
                None if known == 0 => continue,
                None => return false,
            };
            for granule in members(known) {
                let entry = row[granule as usize % GRANULES];
                if last.0 != entry.time() {
                    last = (entry.time(), now.relation(&self.record(entry)));
                }
                let is_clear = match last.1 {
                    Relation::Before => true,
                    Relation::OneTime => 1 << entry.lane() == part.map.lanes(granule),
                    Relation::Unordered | Relation::Unclear => false,
                };
                if !is_clear {
                    return false;
                }
            }
        }
        true
    }

    /// Remembers an access, which [`Alone::tells`], as the last of its kind. The record has no
    /// lanes, and each granule is of one lane.
    pub(super) fn put(&mut self, mut near: Near, kind: Kind, record: &Record, part: Part) {
        let number = self.number_of(&mut near, Time::of(record));
        let known = self.known(kind);
        let row = if near.kind == kind {
            near.row
        } else {
            &mut self.far.get_or_insert_default().row
        };
        for granule in members(part.granules) {
            let lane = part.map.lanes(granule).trailing_zeros();
            let new = Entry::new(record, number, lane);
            let bit = 1 << granule;
            let last = &mut row[granule as usize];
            // A load that is replaced does not count any more.
            if kind == Kind::Load && known & bit != 0 && !last.is_of_one_lane(new) {
                self.non_coherent &= !bit;
            }
            *last = new;
        }
        self.count(kind, record, part.granules);
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

    /// The number of a time, which becomes that of the last access.
    fn number_of(&mut self, near: &mut Near, time: Time) -> u32 {
        if self.is_empty() {
            self.time = time;
        } else if self.time != time {
            self.save_time(near);
            let far = self.far.get_or_insert_default();
            let times = &far.times[..self.saved.into()];
            let known = times.iter().rposition(|known| *known == time);
            (self.time, self.number) = (time, known.map_or(self.saved, |known| known as u8));
        }
        self.number.into()
    }

    /// Puts the last access's time with the others, and has a number left for another.
    #[inline(never)]
    fn save_time(&mut self, near: &mut Near) {
        let far = self.far.get_or_insert_default();
        if self.number == self.saved {
            far.times.truncate(self.saved.into());
            far.times.push(self.time);
            self.saved += 1;
        }
        if usize::from(self.saved) == MAX_TIMES {
            let known = [near.kind, near.kind.other()].map(|kind| self.known(kind));
            self.saved = self.forget_times(near, known);
        }
    }

    /// Makes room for a time: forgets those that no access of these granules is of, of those near
    /// and far. Gives how many are left.
    fn forget_times(&mut self, near: &mut Near, known: [u32; 2]) -> u8 {
        let far = self.far.get_or_insert_default();
        let mut numbers = [None; MAX_TIMES];
        let mut kept = Vec::new();
        for (row, entries) in [&mut *near.row, &mut far.row].into_iter().zip(known) {
            for granule in members(entries) {
                let entry = &mut row[granule as usize];
                let time = entry.time();
                let number = *numbers[time].get_or_insert_with(|| {
                    kept.push(far.times[time]);
                    kept.len() as u32 - 1
                });
                let others = !((MAX_TIMES as u32 - 1) << PC_BITS);
                *entry = Entry(entry.0 & others | number << PC_BITS);
            }
        }
        far.times = kept;
        far.times.len() as u8
    }

    /// A weak access, without whether it is through the read-only path.
    fn record(&self, entry: Entry) -> Record {
        let Time { block, clock, warp } = match (&self.far, entry.time()) {
            (Some(far), time) if time != self.number.into() => far.times[time],
            _ => self.time,
        };
        Record {
            block,
            clock,
            pc: entry.pc(),
            lanes: 1 << entry.lane(),
            warp,
            strong: false,
            non_coherent: false,
        }
    }

    /// The granule's last access of a kind.
    pub(super) fn last(&self, near: &Near, kind: Kind, granule: u32) -> Option<Record> {
        let row = self.row(near, kind)?;
        let is_known = self.known(kind) >> granule & 1 == 1;
        is_known.then(|| Record {
            non_coherent: kind == Kind::Load && self.non_coherent >> granule & 1 == 1,
            ..self.record(row[granule as usize])
        })
    }

    /// The granules that have an access of a kind.
    #[inline(always)]
    fn known(&self, kind: Kind) -> u32 {
        match kind {
            Kind::Load => self.loaded,
            Kind::Store => self.stored,
        }
    }

    /// Puts it into cells, which remember nothing yet.
    pub(super) fn fill(&self, near: &Near, cells: &mut [Cell]) {
        for (granule, cell) in (0..).zip(cells) {
            for kind in [Kind::Load, Kind::Store] {
                if let Some(record) = self.last(near, kind, granule) {
                    cell.remember(kind, 0, record);
                }
            }
        }
    }
}
