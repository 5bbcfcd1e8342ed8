//! The accesses that granules in a row remember together, as runs: see `line`.

use super::alone::Row;
use super::cell::{Kind, distance};
use super::order::{BlockOrder, Now, Record, Relation};
use super::part::{LaneMap, Part, members};

/// The most runs of a line.
const RUNS: usize = 24;
/// Runs that a line has room for: as many as a [`Row`]. Most lines need no more, and a launch makes
/// a line for each 32 granules that it accesses.
const FEW: usize = 4;
/// Runs that most lines with several accesses have at most.
const SOME: usize = 8;
/// Runs beyond which an access of a single lane is worth another form.
const MAX_SCATTERED: usize = 6;

/// The bits of [`Run::what`].
const STORES: u8 = 1;
const IS_NON_COHERENT: u8 = 2;

/// One weak access, as some granules remember it. All bits may be anything in a run that does not
/// count.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Run {
    /// [`LaneMap::distances`].
    distances: u64,
    block: u32,
    clock: u32,
    pc: u32,
    /// The granules that remember it as the first of their two, and as the second.
    pub(super) first: u32,
    pub(super) second: u32,
    warp: u16,
    /// [`LaneMap::shift`].
    shift: u8,
    /// Its kind, and whether it is through the read-only path.
    what: u8,
}

impl Run {
    #[inline(always)]
    fn new(kind: Kind, record: &Record, map: LaneMap) -> Self {
        let kind = match kind {
            Kind::Load => 0,
            Kind::Store => STORES,
        };
        let path = if record.non_coherent {
            IS_NON_COHERENT
        } else {
            0
        };
        Self {
            distances: map.distances,
            block: record.block,
            clock: record.clock,
            pc: record.pc,
            first: 0,
            second: 0,
            warp: record.warp,
            shift: map.shift,
            what: kind | path,
        }
    }

    #[inline(always)]
    pub(super) fn kind(&self) -> Kind {
        match self.what & STORES {
            0 => Kind::Load,
            _ => Kind::Store,
        }
    }

    #[inline(always)]
    pub(super) fn is_non_coherent(&self) -> bool {
        self.what & IS_NON_COHERENT != 0
    }

    /// The access, without lanes.
    #[inline(always)]
    pub(super) fn record(&self) -> Record {
        Record {
            block: self.block,
            clock: self.clock,
            pc: self.pc,
            lanes: 0,
            warp: self.warp,
            strong: false,
            non_coherent: self.is_non_coherent(),
        }
    }

    /// True if both are of one access, whatever their granules and lanes.
    #[inline(always)]
    fn is_like(&self, other: &Self) -> bool {
        (self.block, self.clock, self.pc, self.warp, self.what)
            == (other.block, other.clock, other.pc, other.warp, other.what)
    }

    #[inline(always)]
    pub(super) fn map(&self) -> LaneMap {
        LaneMap {
            distances: self.distances,
            shift: self.shift,
        }
    }

    #[inline(always)]
    pub(super) fn granules(&self) -> u32 {
        self.first | self.second
    }

    /// What a later access of one time makes of the run, at these granules in first and in second
    /// place; `None` if no rule tells it.
    fn joined(&self, [first, second]: [u32; 2], later: &Run) -> Option<Joined> {
        let granules = first | second;
        let map = match granules {
            0 => self.map(),
            _ => self.map().joined(later.map(), granules)?,
        };
        let part = Run {
            first,
            second,
            distances: map.distances,
            shift: map.shift,
            what: self.what | later.what,
            ..*later
        };
        let changes = granules != 0 && (map != self.map() || !part.is_like(self));
        Some(Joined {
            part,
            changes,
            is_apart: changes && granules != self.granules(),
        })
    }

    /// Takes another run of the same access in, if one rule serves both.
    fn merge(&mut self, other: &Run) -> bool {
        if !self.is_like(other) || self.shift != other.shift {
            return false;
        }
        if self.distances != other.distances {
            let distances = self.distances | other.distances;
            let both = LaneMap {
                distances,
                ..self.map()
            };
            let serves = |run: &Run| {
                let map = run.map();
                members(run.granules()).all(|granule| both.lanes(granule) == map.lanes(granule))
            };
            if !serves(self) || !serves(other) {
                return false;
            }
            self.distances = distances;
        }
        self.first |= other.first;
        self.second |= other.second;
        true
    }
}

/// The runs of a line.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Runs {
    count: usize,
    /// All of them, once they have been more than a few.
    many: Option<Box<[Run; RUNS]>>,
    pub(super) few: [Run; FEW],
}

impl Runs {
    #[inline(always)]
    pub(super) fn all(&self) -> &[Run] {
        match &self.many {
            None => &self.few[..self.count],
            Some(many) => &many[..self.count],
        }
    }

    #[inline(always)]
    fn all_mut(&mut self) -> &mut [Run] {
        match &mut self.many {
            None => &mut self.few[..self.count],
            Some(many) => &mut many[..self.count],
        }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Takes all of them away.
    pub(super) fn take(&mut self) -> Self {
        let taken = Self {
            count: self.count,
            many: self.many.take(),
            few: self.few,
        };
        self.count = 0;
        taken
    }

    /// The place of the few, for a row, where the line has no runs.
    #[inline(always)]
    pub(super) fn row(&mut self) -> &mut Row {
        debug_assert_eq!(self.count, 0);
        bytemuck::cast_mut(&mut self.few)
    }

    /// Puts a run behind the others, for which there is room.
    #[inline(always)]
    fn push(&mut self, run: Run) {
        if self.count == FEW && self.many.is_none() {
            self.make_room();
        }
        let last = self.count;
        self.count += 1;
        self.all_mut()[last] = run;
    }

    #[inline(never)]
    fn make_room(&mut self) {
        let mut many = Box::new([Run::default(); RUNS]);
        many[..FEW].copy_from_slice(&self.few);
        self.many = Some(many);
    }

    /// Adds a run, for which there is room.
    fn add(&mut self, run: Run) {
        if !self.all_mut().iter_mut().any(|other| other.merge(&run)) {
            self.push(run);
        }
    }

    /// Drops the runs that are of no granule.
    fn tidy(&mut self) {
        let mut kept = 0;
        let runs = self.all_mut();
        for at in 0..runs.len() {
            if runs[at].granules() != 0 {
                runs[kept] = runs[at];
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// True if a further access of a single lane makes another form worth while: there are many
    /// runs; or each is of a lane alone, and they fill the line or are lanes of this access.
    #[inline(always)]
    pub(super) fn are_apart(&self, record: &Record) -> bool {
        let is_of_lane = |run: &Run| run.second == 0 && run.map().one_place().is_some();
        let now = Run::new(Kind::Load, record, LaneMap::same(0));
        let is_now = |run: &Run| {
            run.is_like(&Run {
                what: run.what & STORES | now.what,
                ..now
            })
        };
        match self.count {
            0 | 1 => false,
            2..FEW => self.all().iter().all(|run| is_of_lane(run) && is_now(run)),
            FEW..=MAX_SCATTERED => self.all().iter().all(is_of_lane),
            _ => true,
        }
    }

    /// Notes what the line's only access does again, to other granules; false if it is another.
    #[inline(always)]
    pub(super) fn note_same(&mut self, kind: Kind, record: &Record, part: Part) -> bool {
        let [run] = self.all_mut() else {
            return false;
        };
        let is_same = run.is_like(&Run::new(kind, record, part.map))
            && run.map() == part.map
            && run.second == 0
            && !record.strong
            && (kind == Kind::Load || part.map.has_one_lane());
        if is_same {
            run.first |= part.granules;
        }
        is_same
    }

    /// Notes an access of the lanes that all others are of, and of one time with them: it races
    /// with none, and is what its granules remember of its kind. False, and nothing is noted, if it
    /// is none of these.
    #[inline(always)]
    pub(super) fn note_again(&mut self, kind: Kind, record: &Record, part: Part) -> bool {
        let (has_one_lane, loads) = (part.map.has_one_lane(), kind == Kind::Load);
        let mut new = Run::new(kind, record, part.map);
        let is_again = |run: &Run| {
            (run.block, run.clock, run.warp) == (new.block, new.clock, new.warp)
                && run.is_non_coherent() == record.non_coherent
                && run.map() == part.map
                && run.second == 0
                && (has_one_lane || loads && run.kind() == Kind::Load)
        };
        if self.count == RUNS || !self.all().iter().all(is_again) {
            return false;
        }
        let (mut is_noted, mut is_whole) = (false, true);
        for run in self.all_mut().iter_mut().filter(|run| run.kind() == kind) {
            if run.is_like(&new) {
                run.first |= part.granules;
                is_noted = true;
            } else {
                run.first &= !part.granules;
                is_whole &= run.first != 0;
            }
        }
        if !is_noted {
            new.first = part.granules;
            self.push(new);
        }
        if !is_whole {
            self.tidy();
        }
        true
    }

    /// True if no earlier access of a kind to these granules may race with this one.
    #[inline(always)]
    pub(super) fn is_clear<B: BlockOrder>(&self, kind: Kind, now: &Now<B>, part: Part) -> bool {
        self.all().iter().all(|run| {
            let met = run.granules() & part.granules;
            met == 0
                || run.kind() != kind
                || match now.relation(&run.record()) {
                    Relation::Before => true,
                    Relation::OneTime => run.map().is_one_lane(part.map, met),
                    Relation::Unordered | Relation::Unclear => false,
                }
        })
    }

    /// Notes an access, as [`Cell`](super::cell::Cell)s do; `None` if runs cannot tell it, and then
    /// nothing is noted.
    #[inline(always)]
    pub(super) fn note<B: BlockOrder>(
        &mut self,
        kind: Kind,
        now: &Now<B>,
        part: Part,
    ) -> Option<()> {
        // What is known of each run lies in arrays, which are shorter where runs are few.
        if self.count <= SOME {
            self.note_beside::<SOME, B>(kind, now, part)
        } else {
            self.note_beside::<RUNS, B>(kind, now, part)
        }
    }

    /// Notes an access beside at most `MOST` runs.
    fn note_beside<const MOST: usize, B: BlockOrder>(
        &mut self,
        kind: Kind,
        now: &Now<B>,
        part: Part,
    ) -> Option<()> {
        let granules = part.granules;
        let mut relations = [Relation::Before; MOST];
        // Granules whose first or second access is of the same time, or is unordered.
        let (mut first_same, mut first_unordered) = (0, 0);
        let (mut second_same, mut second_unordered) = (0, 0);
        let mut meets = false;
        for (run, relation) in self.all().iter().zip(&mut relations) {
            if run.granules() & granules == 0 || run.kind() != kind {
                continue;
            }
            meets = true;
            *relation = now.relation(&run.record());
            match relation {
                Relation::OneTime => {
                    first_same |= run.first;
                    second_same |= run.second;
                }
                Relation::Unordered => {
                    first_unordered |= run.first;
                    second_unordered |= run.second;
                }
                Relation::Before => {}
                Relation::Unclear => return None,
            }
        }
        let mut new = Run::new(kind, &now.record, part.map);
        new.first = granules & !(first_same | first_unordered);
        if !meets {
            let has_room = self.count < RUNS;
            return has_room.then(|| self.add(new));
        }
        let contested = granules & first_unordered;
        new.second = contested & !second_same;
        if new.second & second_unordered != 0 {
            new.second &= !self.kept(kind, now, &relations);
        }
        let joins = [granules & first_same, contested & second_same];
        if new.granules() | joins[0] | joins[1] == 0 {
            return Some(());
        }
        // The granules that this access shares with each run of the same time.
        let mut joined = [[0; 2]; MOST];
        let mut count = self.count + 1;
        let runs = self.all().iter().zip(relations);
        for ((run, relation), is_joined) in runs.zip(&mut joined) {
            if run.kind() == kind && relation == Relation::OneTime {
                *is_joined = [run.first & joins[0], run.second & joins[1]];
                count += usize::from(run.joined(*is_joined, &new)?.is_apart);
            }
        }
        if count > RUNS {
            return None;
        }
        for run in self.all_mut() {
            if run.kind() == kind {
                run.first &= !new.first;
                run.second &= !new.second;
            }
        }
        for (at, is_joined) in joined.into_iter().enumerate().take(self.count) {
            self.join(at, is_joined, &new);
        }
        self.tidy();
        if new.granules() != 0 {
            self.add(new);
        }
        Some(())
    }

    /// The granules whose second access stays: it is unordered, and not nearer to the first than
    /// this one is.
    fn kept<B: BlockOrder>(&self, kind: Kind, now: &Now<B>, relations: &[Relation]) -> u32 {
        let runs = self.all().iter().zip(relations);
        let runs =
            runs.filter(|(run, relation)| run.kind() == kind && **relation == Relation::Unordered);
        let mut kept = 0;
        for (first, _) in runs.clone() {
            let most = distance(&first.record(), &now.record);
            for (second, _) in runs.clone() {
                let both = first.first & second.second;
                if both != 0 && distance(&first.record(), &second.record()) >= most {
                    kept |= both;
                }
            }
        }
        kept
    }

    /// Adds a later access of one time to some granules of a run: of those in first, and in second
    /// place.
    fn join(&mut self, at: usize, joined: [u32; 2], later: &Run) {
        let run = &mut self.all_mut()[at];
        match run.joined(joined, later) {
            Some(Joined { part, is_apart, .. }) if is_apart => {
                run.first &= !part.first;
                run.second &= !part.second;
                self.add(part);
            }
            Some(Joined { part, changes, .. }) if changes => *run = part,
            _ => {}
        }
    }
}

/// The part of a run that a later access of one time joins.
struct Joined {
    part: Run,
    /// It differs from the run.
    changes: bool,
    /// It is told apart from the rest of the run.
    is_apart: bool,
}
