//! The memory of a line whose granules each have one lane's last load and one lane's last store:
//! lanes go their own ways, by many instructions.
//!
//! Such a kernel has many lines, and most are not in the caches of the host. An access looks at
//! the head, which lies in its line, and at one row of [`Rows`].

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
#[derive(Clone, Copy, Debug, Default)]
struct Entry(u32);

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

/// The last accesses of the granules.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct Rows {
    loads: [Entry; GRANULES],
    stores: [Entry; GRANULES],
    /// By number; the last access's may be missing.
    times: Vec<Time>,
}

impl Rows {
    #[inline(always)]
    fn of(&self, kind: Kind) -> &[Entry; GRANULES] {
        match kind {
            Kind::Load => &self.loads,
            Kind::Store => &self.stores,
        }
    }

    #[inline(always)]
    fn of_mut(&mut self, kind: Kind) -> &mut [Entry; GRANULES] {
        match kind {
            Kind::Load => &mut self.loads,
            Kind::Store => &mut self.stores,
        }
    }

    /// Makes room for a time: forgets those that no access of these granules is of.
    fn forget_times(&mut self, [loaded, stored]: [u32; 2]) {
        let mut numbers = [None; MAX_TIMES];
        let mut kept = Vec::new();
        let loads = members(loaded).map(|granule| (Kind::Load, granule));
        let all = loads.chain(members(stored).map(|granule| (Kind::Store, granule)));
        for (kind, granule) in all {
            let entry = self.of(kind)[granule as usize];
            let time = entry.time();
            let number = *numbers[time].get_or_insert_with(|| {
                kept.push(self.times[time]);
                kept.len() as u32 - 1
            });
            let others = !((MAX_TIMES as u32 - 1) << PC_BITS);
            self.of_mut(kind)[granule as usize] = Entry(entry.0 & others | number << PC_BITS);
        }
        self.times = kept;
    }
}

/// The last load and the last store of each granule. All zeros remember nothing.
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
    /// Its number, and how many times have a place in the rows.
    number: u8,
    saved: u8,
    /// Made where they are needed first.
    rows: Option<Box<Rows>>,
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

    /// True if the line has remembered accesses so before.
    #[inline(always)]
    pub(super) fn was_used(&self) -> bool {
        self.rows.is_some()
    }

    /// True if an [`Entry`] has room for an access's instruction.
    #[inline(always)]
    pub(super) fn has_room(record: &Record) -> bool {
        record.pc >> PC_BITS == 0
    }

    /// The same, and no granule is of a load through the read-only path and of a store.
    #[inline(always)]
    fn tells(&self, kind: Kind, record: &Record, granules: u32) -> bool {
        let met = match kind {
            Kind::Load if record.non_coherent => self.stored,
            Kind::Load => 0,
            Kind::Store => self.non_coherent,
        };
        Self::has_room(record) && met & granules == 0
    }

    /// Notes an access of one lane, the first or at the time of the last one, to granules that
    /// other lanes have not accessed. False, and nothing is noted, if it is another. The record has
    /// no lanes.
    #[inline(always)]
    pub(super) fn note_same(&mut self, kind: Kind, record: &Record, part: Part) -> bool {
        let granules = part.granules;
        if self.is_empty() {
            self.time = Time::of(record);
        }
        let is_same = self.time == Time::of(record) && !record.strong;
        if !is_same || !self.tells(kind, record, granules) {
            return false;
        }
        let (Some(lane), Some(rows)) = (part.map.one_place(), &mut self.rows) else {
            return false;
        };
        let new = Entry::new(record, self.number.into(), lane.into());
        let is_ours = |known: u32, row: &[Entry; GRANULES]| {
            let mut met = members(known & granules);
            met.all(|granule| row[granule as usize % GRANULES].is_of_one_lane(new))
        };
        if !is_ours(self.loaded, &rows.loads) || !is_ours(self.stored, &rows.stores) {
            return false;
        }
        let row = rows.of_mut(kind);
        for granule in members(granules) {
            row[granule as usize % GRANULES] = new;
        }
        self.count(kind, record, granules);
        true
    }

    /// Notes an access, whose record has no lanes. False, and nothing is noted, if a granule would
    /// have accesses of one kind by several lanes, or the access may race.
    pub(super) fn access<B: BlockOrder>(&mut self, kind: Kind, now: &Now<B>, part: Part) -> bool {
        let is_clear = |(rows, granule)| {
            let lanes = part.map.lanes(granule);
            lanes.is_power_of_two() && self.is_clear(rows, now, granule, lanes)
        };
        let is_noted = self.tells(kind, &now.record, part.granules)
            && match &self.rows {
                Some(rows) => members(part.granules).all(|granule| is_clear((rows, granule))),
                None => part.map.has_one_lane(),
            };
        if is_noted {
            self.put(kind, &now.record, part);
        }
        is_noted
    }

    /// True if what a granule remembers is of the same lane at one time, or ordered before. Of
    /// loads, too: it remembers one lane's.
    fn is_clear<B: BlockOrder>(&self, rows: &Rows, now: &Now<B>, granule: u32, lanes: u32) -> bool {
        [Kind::Load, Kind::Store].into_iter().all(|kind| {
            if self.known(kind) >> granule & 1 == 0 {
                return true;
            }
            let earlier = self.record(rows, rows.of(kind)[granule as usize]);
            match now.relation(&earlier) {
                Relation::Before => true,
                Relation::OneTime => earlier.lanes == lanes,
                Relation::Unordered | Relation::Unclear => false,
            }
        })
    }

    /// Remembers an access, which [`Alone::tells`], as the last of its kind. The record has no
    /// lanes, and each granule is of one lane.
    pub(super) fn put(&mut self, kind: Kind, record: &Record, part: Part) {
        let number = self.number_of(Time::of(record));
        let known = self.known(kind);
        let row = self.rows.get_or_insert_default().of_mut(kind);
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
    fn number_of(&mut self, time: Time) -> u32 {
        if self.is_empty() {
            self.time = time;
        } else if self.time != time {
            self.save_time();
            let rows = self.rows.get_or_insert_default();
            let times = &rows.times[..self.saved.into()];
            let known = times.iter().rposition(|known| *known == time);
            (self.time, self.number) = (time, known.map_or(self.saved, |known| known as u8));
        }
        self.number.into()
    }

    /// Puts the last access's time into the rows, and has a number left for another.
    #[inline(never)]
    fn save_time(&mut self) {
        let rows = self.rows.get_or_insert_default();
        if self.number == self.saved {
            rows.times.truncate(self.saved.into());
            rows.times.push(self.time);
            self.saved += 1;
        }
        if usize::from(self.saved) == MAX_TIMES {
            rows.forget_times([self.loaded, self.stored]);
            self.saved = rows.times.len() as u8;
        }
    }

    /// A weak access, without whether it is through the read-only path.
    fn record(&self, rows: &Rows, entry: Entry) -> Record {
        let Time { block, clock, warp } = match entry.time() == self.number.into() {
            true => self.time,
            false => rows.times[entry.time()],
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
    pub(super) fn last(&self, kind: Kind, granule: u32) -> Option<Record> {
        let rows = self.rows.as_ref()?;
        let is_known = self.known(kind) >> granule & 1 == 1;
        is_known.then(|| Record {
            non_coherent: kind == Kind::Load && self.non_coherent >> granule & 1 == 1,
            ..self.record(rows, rows.of(kind)[granule as usize])
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
