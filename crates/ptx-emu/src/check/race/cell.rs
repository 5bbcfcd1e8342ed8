//! The memory of a granule.

use super::order::{BlockOrder, Now, Record};

/// An access that a granule remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    #[default]
    Load = 0,
    Store = 1,
}

impl Kind {
    /// The one that it is not.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Load => Self::Store,
            Self::Store => Self::Load,
        }
    }
}

/// Up to two accesses, each with the lanes of a warp that made it, of the latest that nothing
/// orders, by warps as far apart as can be: an access that races with any of those left out then
/// races with one of the two as well, except for barriers among parts of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Latest([Record; 2]);

impl Latest {
    #[inline(always)]
    fn note<B: BlockOrder>(&mut self, now: &Now<B>) {
        let [first, second] = &mut self.0;
        let record = &now.record;
        if first.is_of_one_time(record) {
            first.join(record);
        } else if now.is_after(first) {
            *first = *record;
        } else {
            Self::note_second(first, second, now);
        }
    }

    /// Notes an access that is not ordered after the first.
    fn note_second<B: BlockOrder>(first: &mut Record, second: &mut Record, now: &Now<B>) {
        let record = &now.record;
        // This access represents the lanes that are ordered before.
        first.lanes = now.unordered(first);
        if second.is_of_one_time(record) {
            second.join(record);
        } else if now.is_after(second) || distance(first, second) < distance(first, record) {
            *second = *record;
        }
    }

    /// The access that races with this one, of the lanes that do.
    #[inline(always)]
    fn racing<B: BlockOrder>(&self, now: &Now<B>) -> Option<Record> {
        let [first, second] = &self.0;
        if first.block == 0 && second.block == 0 {
            return None;
        }
        // Not by `or_else`: the host's calls of closures that are not inlined add up here.
        match Self::unordered(first, now) {
            None => Self::unordered(second, now),
            racing => racing,
        }
    }

    #[inline(always)]
    fn unordered<B: BlockOrder>(earlier: &Record, now: &Now<B>) -> Option<Record> {
        match now.unordered(earlier) {
            0 => None,
            lanes => Some(Record { lanes, ..*earlier }),
        }
    }

    /// Notes an access of a further lane, made by the instruction of which it has just noted the
    /// lane before. False, and nothing is noted, if that may be another than to join it.
    #[inline(always)]
    fn note_further<B: BlockOrder>(&mut self, now: &Now<B>) -> bool {
        let [first, second] = &mut self.0;
        let record = &now.record;
        if first.is_of_one_time(record) {
            first.join(record);
        } else if first.is_of_warp(record) {
            return false;
        } else if second.is_of_one_time(record) {
            second.join(record);
        } else if second.is_of_warp(record) {
            return false;
        }
        // Else the lane before has not been kept beside the two, and so is this one not.
        true
    }

    /// True if these accesses stand to each lane of the accessing warp alike. `strong` says whether
    /// they are.
    #[inline(always)]
    fn are_alike<B: BlockOrder>(&self, now: &Now<B>, strong: bool) -> bool {
        let is_alike = |earlier: &Record| {
            !earlier.is_of_warp(&now.record)
                || strong
                    && now.record.strong
                    && (earlier.pc == now.record.pc || now.suits(earlier))
        };
        is_alike(&self.0[0]) && is_alike(&self.0[1])
    }

    /// A strong access that races with this strong one: nothing orders the two, and they do not
    /// suit each other (see [`Now::suits`]).
    fn unsuited<B: BlockOrder>(&self, now: &Now<B>) -> Option<Record> {
        now.strengths?;
        let mut earlier = self.0.iter().filter(|earlier| !now.suits(earlier));
        earlier.find_map(|earlier| Self::unordered(earlier, now))
    }
}

impl Record {
    #[inline(always)]
    fn is_of_warp(&self, other: &Self) -> bool {
        (self.block, self.warp) == (other.block, other.warp)
    }

    /// Adds the lanes of a later access of one time.
    #[inline(always)]
    fn join(&mut self, later: &Record) {
        self.lanes |= later.lanes;
        self.pc = later.pc;
        self.non_coherent |= later.non_coherent;
    }
}

/// 0 for lanes of one warp, 1 for warps of one block, 2 for blocks.
pub(super) fn distance(a: &Record, b: &Record) -> u32 {
    if a.block == b.block {
        u32::from(a.warp != b.warp)
    } else {
        2
    }
}

/// Accesses that a granule remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Accesses {
    stores: Latest,
    loads: Latest,
}

/// The accesses that a granule remembers: weak ones and strong ones apart, so neither kind replaces
/// the other, not even of one thread in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    weak: Accesses,
    /// Made at the first strong access: most granules have none.
    strong: Option<Box<Accesses>>,
}

/// The access that a race is with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) earlier: Record,
    pub(crate) earlier_is_store: bool,
}

impl Cell {
    /// Puts a weak access in its place: 0 or 1 among those of its kind.
    pub(super) fn remember(&mut self, kind: Kind, place: usize, record: Record) {
        let latest = match kind {
            Kind::Load => &mut self.weak.loads,
            Kind::Store => &mut self.weak.stores,
        };
        latest.0[place] = record;
    }

    /// Notes a load.
    #[inline(always)]
    pub(super) fn load<B: BlockOrder>(&mut self, now: &Now<B>) -> Option<Conflict> {
        if let Some(earlier) = self.racing(now, |accesses| &accesses.stores) {
            return Some(Conflict {
                earlier,
                earlier_is_store: true,
            });
        }
        self.like(now).loads.note(now);
        None
    }

    /// Notes an access of a further lane of a warp, where the same instruction has just made and
    /// noted that of another lane without a conflict. False, and nothing is noted that a note of
    /// this lane alone would not note, if the lanes may differ: that takes the check of the lane.
    ///
    /// What others have done stands to all lanes of a warp alike, unless single lanes synchronise.
    /// What the warp itself has done may be any lane's, so it must be such that it does not matter.
    #[inline(always)]
    pub(crate) fn note_further<B: BlockOrder>(&mut self, kind: Kind, now: &Now<B>) -> bool {
        let are_alike = |accesses: &Accesses, are_strong: bool| {
            accesses.stores.are_alike(now, are_strong)
                && (kind == Kind::Load || accesses.loads.are_alike(now, are_strong))
        };
        let is_alike = !now.clocks.knows_lanes()
            && are_alike(&self.weak, false)
            && match &self.strong {
                Some(others) => are_alike(others, true),
                None => !now.record.strong,
            };
        if !is_alike {
            return false;
        }
        let noted = self.like(now);
        match kind {
            Kind::Load => noted.loads.note_further(now),
            Kind::Store if now.is_last => {
                noted.stores = Latest([now.record, Record::default()]);
                true
            }
            Kind::Store => noted.stores.note_further(now),
        }
    }

    /// True if further weak loads by the accessing block change nothing, as long as fences order
    /// nothing before it: there are loads of two other blocks, and no stores.
    #[inline(always)]
    pub(super) fn is_settled<B: BlockOrder>(&self, now: &Now<B>) -> bool {
        let ([first, second], [stored, _]) = (&self.weak.loads.0, &self.weak.stores.0);
        let is_apart = |record: &Record| {
            let is_ours = now.cluster.contains(&record.block);
            record.block != 0 && !is_ours && !now.blocks.is_before(record)
        };
        now.blocks.orders_none()
            && stored.block == 0
            && self.strong.is_none()
            && first.block != second.block
            && is_apart(first)
            && is_apart(second)
    }

    /// The accesses of the same kind.
    #[inline(always)]
    fn like<B: BlockOrder>(&mut self, now: &Now<B>) -> &mut Accesses {
        if now.record.strong {
            self.strong.get_or_insert_default()
        } else {
            &mut self.weak
        }
    }

    /// The one of these that an access races with.
    #[inline(always)]
    fn racing<B: BlockOrder>(
        &self,
        now: &Now<B>,
        of: impl Fn(&Accesses) -> &Latest,
    ) -> Option<Record> {
        let weak = of(&self.weak).racing(now);
        match &self.strong {
            Some(strong) if weak.is_none() => {
                if now.record.strong {
                    of(strong).unsuited(now)
                } else {
                    of(strong).racing(now)
                }
            }
            _ => weak,
        }
    }

    /// The access that a store races with, if any. If that is a store too, it is a race only if
    /// this one stores another value.
    #[inline(always)]
    pub(crate) fn store_conflict<B: BlockOrder>(&self, now: &Now<B>) -> Option<Conflict> {
        let (earlier, earlier_is_store) = match self.racing(now, |accesses| &accesses.loads) {
            Some(load) => (load, false),
            None => (self.racing(now, |accesses| &accesses.stores)?, true),
        };
        Some(Conflict {
            earlier,
            earlier_is_store,
        })
    }

    /// Notes a store.
    #[inline(always)]
    pub(crate) fn note_store<B: BlockOrder>(&mut self, now: &Now<B>) {
        let stores = &mut self.like(now).stores;
        if now.is_last {
            *stores = Latest::default();
        }
        stores.note(now);
    }

    /// A load through the read-only path by a block with at least this number.
    #[inline(always)]
    pub(crate) fn read_only_load_since(&self, block: u32) -> Option<Record> {
        // Strong loads take another path.
        let mut loads = self.weak.loads.0.into_iter();
        loads.find(|record| record.non_coherent && record.block >= block)
    }

    /// The stores by blocks with at least this number.
    pub(super) fn stores_since(&self, block: u32) -> impl Iterator<Item = Record> {
        let strong = self.strong.iter().flat_map(|strong| strong.stores.0);
        let stores = self.weak.stores.0.into_iter().chain(strong);
        stores.filter(move |record| record.block >= block)
    }
}
