//! The memory of 32 granules in a row: together while warps access them together, else in cells.
//!
//! A warp that accesses consecutive addresses accesses all granules of a line alike. So the line
//! remembers *runs*: one access, the granules whose memory it is in, and a rule that says which
//! lanes made it. A run is what [`Cell`]s would remember, not more and not less. Where lanes go
//! their own ways, runs become many: then the line remembers each granule's accesses as [`Alone`]
//! does, as long as that can tell them. A line makes its cells where neither can: at a possible
//! race, at a strong access, and if runs become many all the same. A buffer's line has cells to the
//! end of the launch, one of shared memory for some blocks more.

use super::alone::Alone;
use super::cell::{Cell, Kind, distance};
use super::order::{BlockOrder, Now, Record, Relation};
use super::part::{LINE, LaneMap, Part, members};

/// The most runs of a line.
const RUNS: usize = 24;
/// Runs that a line has room for. Most lines need no more, and a launch makes a line for each 32
/// granules that it accesses.
const FEW: usize = 4;
/// Runs beyond which an access of a single lane is worth another form.
const MAX_SCATTERED: usize = 6;
/// Epochs for which shared memory keeps cells.
const MAX_EPOCHS: u8 = 32;

/// One access, as some granules remember it.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// [`LaneMap::distances`].
    distances: u64,
    /// Without lanes.
    record: Record,
    /// The granules that remember it as the first of their two, and as the second.
    first: u32,
    second: u32,
    /// [`LaneMap::shift`].
    shift: u8,
    kind: Kind,
}

impl Run {
    fn new(kind: Kind, record: Record, map: LaneMap) -> Self {
        Self {
            distances: map.distances,
            record,
            first: 0,
            second: 0,
            shift: map.shift,
            kind,
        }
    }

    #[inline(always)]
    fn map(&self) -> LaneMap {
        LaneMap {
            distances: self.distances,
            shift: self.shift,
        }
    }

    #[inline(always)]
    fn granules(&self) -> u32 {
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
        let record = Record {
            non_coherent: self.record.non_coherent | later.record.non_coherent,
            ..later.record
        };
        let changes = granules != 0 && (map != self.map() || record != self.record);
        let part = Run {
            first,
            second,
            ..Run::new(self.kind, record, map)
        };
        Some(Joined {
            part,
            changes,
            is_apart: changes && granules != self.granules(),
        })
    }

    /// Takes another run of the same access in, if one rule serves both.
    fn merge(&mut self, other: &Run) -> bool {
        if self.kind != other.kind || self.record != other.record || self.shift != other.shift {
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
struct Runs {
    count: usize,
    /// All of them, once they have been more than a few.
    many: Option<Box<[Run; RUNS]>>,
    few: [Run; FEW],
}

impl Runs {
    #[inline(always)]
    fn all(&self) -> &[Run] {
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
    fn are_apart(&self, record: &Record) -> bool {
        let is_of_lane = |run: &Run| run.second == 0 && run.map().one_place().is_some();
        match self.count {
            0 | 1 => false,
            2..FEW => self
                .all()
                .iter()
                .all(|run| is_of_lane(run) && run.record == *record),
            FEW..=MAX_SCATTERED => self.all().iter().all(is_of_lane),
            _ => true,
        }
    }

    /// Notes what the line's only access does again, to other granules; false if it is another.
    #[inline(always)]
    fn note_same(&mut self, kind: Kind, record: &Record, part: Part) -> bool {
        let [run] = self.all_mut() else {
            return false;
        };
        let is_same = run.kind == kind
            && run.record == *record
            && run.map() == part.map
            && run.second == 0
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
    fn note_again(&mut self, kind: Kind, record: &Record, part: Part) -> bool {
        let (has_one_lane, loads) = (part.map.has_one_lane(), kind == Kind::Load);
        let is_again = |run: &Run| {
            run.record.is_of_one_time(record)
                && run.record.non_coherent == record.non_coherent
                && run.map() == part.map
                && run.second == 0
                && (has_one_lane || loads && run.kind == Kind::Load)
        };
        if self.count == RUNS || !self.all().iter().all(is_again) {
            return false;
        }
        let (mut is_noted, mut is_whole) = (false, true);
        for run in self.all_mut().iter_mut().filter(|run| run.kind == kind) {
            if run.record == *record {
                run.first |= part.granules;
                is_noted = true;
            } else {
                run.first &= !part.granules;
                is_whole &= run.first != 0;
            }
        }
        if !is_noted {
            let mut run = Run::new(kind, *record, part.map);
            run.first = part.granules;
            self.push(run);
        }
        if !is_whole {
            self.tidy();
        }
        true
    }

    /// True if no earlier access of a kind to these granules may race with this one.
    #[inline(always)]
    fn is_clear<B: BlockOrder>(&self, kind: Kind, now: &Now<B>, part: Part) -> bool {
        self.all().iter().all(|run| {
            let met = run.granules() & part.granules;
            met == 0
                || run.kind != kind
                || match now.relation(&run.record) {
                    Relation::Before => true,
                    Relation::OneTime => run.map().is_one_lane(part.map, met),
                    Relation::Unordered | Relation::Unclear => false,
                }
        })
    }

    /// Notes an access, as [`Cell`]s do; `None` if runs cannot tell it, and then nothing is noted.
    #[inline(always)]
    fn note<B: BlockOrder>(&mut self, kind: Kind, now: &Now<B>, part: Part) -> Option<()> {
        let granules = part.granules;
        let mut relations = [Relation::Before; RUNS];
        // Granules whose first or second access is of the same time, or is unordered.
        let (mut first_same, mut first_unordered) = (0, 0);
        let (mut second_same, mut second_unordered) = (0, 0);
        let mut meets = false;
        for (run, relation) in self.all().iter().zip(&mut relations) {
            if run.granules() & granules == 0 || run.kind != kind {
                continue;
            }
            meets = true;
            *relation = now.relation(&run.record);
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
        let mut new = Run::new(kind, now.record, part.map);
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
        let mut joined = [[0; 2]; RUNS];
        let mut count = self.count + 1;
        let runs = self.all().iter().zip(relations);
        for ((run, relation), joined) in runs.zip(&mut joined) {
            if run.kind == kind && relation == Relation::OneTime {
                *joined = [run.first & joins[0], run.second & joins[1]];
                count += usize::from(run.joined(*joined, &new)?.is_apart);
            }
        }
        if count > RUNS {
            return None;
        }
        for run in self.all_mut() {
            if run.kind == kind {
                run.first &= !new.first;
                run.second &= !new.second;
            }
        }
        for (at, joined) in joined.into_iter().enumerate().take(self.count) {
            self.join(at, joined, &new);
        }
        self.tidy();
        if new.granules() != 0 {
            self.add(new);
        }
        Some(())
    }

    /// The granules whose second access stays: it is unordered, and not nearer to the first than
    /// this one is.
    fn kept<B: BlockOrder>(&self, kind: Kind, now: &Now<B>, relations: &[Relation; RUNS]) -> u32 {
        let runs = self.all().iter().zip(relations);
        let runs =
            runs.filter(|(run, relation)| run.kind == kind && **relation == Relation::Unordered);
        let mut kept = 0;
        for (first, _) in runs.clone() {
            let most = distance(&first.record, &now.record);
            for (second, _) in runs.clone() {
                let both = first.first & second.second;
                if both != 0 && distance(&first.record, &second.record) >= most {
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

/// How a line remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum Form {
    #[default]
    Runs = 0,
    Alone,
    Cells,
}

/// The memory of a line.
///
/// The fields that most accesses look at come first, in one line of the host's caches.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Line {
    /// The launch or the cluster of blocks that accessed it last, by its first block: all accesses
    /// before are ordered before those since.
    epoch: u32,
    form: Form,
    /// Epochs that have begun since cells were made.
    age: u8,
    alone: Alone,
    /// Made where they are needed first.
    cells: Option<Box<[Cell; LINE as usize]>>,
    runs: Runs,
}

// SAFETY: each field may be zeros: numbers, `Form::Runs` and `Kind::Load`, which are 0, and boxes
// that are not there.
unsafe impl bytemuck::Zeroable for Line {}

impl Line {
    /// The epoch that accessed it last.
    #[inline(always)]
    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Forgets what was before an epoch: the number of a first block.
    #[inline(always)]
    pub(crate) fn enter(&mut self, epoch: u32) -> &mut Self {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.runs.count = 0;
            // Lanes will go their own ways again.
            match self.form {
                Form::Alone => self.alone.clear(),
                _ => self.form = Form::Runs,
            }
        }
        self
    }

    /// The same of shared memory, whose blocks do alike: what needed cells needs them again. What
    /// they remember of other clusters is ordered before.
    #[inline(always)]
    pub(crate) fn enter_shared(&mut self, epoch: u32) -> &mut Self {
        if self.epoch != epoch && self.form == Form::Cells && self.age < MAX_EPOCHS {
            (self.epoch, self.age) = (epoch, self.age + 1);
        }
        self.enter(epoch)
    }

    /// Checks an access of several lanes, whose record has none, for races with others, and notes
    /// it. False, and nothing is noted, if that takes the cells: it may race.
    #[inline(always)]
    pub(crate) fn access<B: BlockOrder>(&mut self, kind: Kind, now: &Now<B>, part: Part) -> bool {
        let is_noted = match self.form {
            Form::Runs => self.runs.note_same(kind, &now.record, part),
            Form::Alone => self.alone.note_same(kind, &now.record, part),
            Form::Cells => false,
        };
        is_noted || self.access_another(kind, now, part)
    }

    fn access_another<B: BlockOrder>(&mut self, kind: Kind, now: &Now<B>, part: Part) -> bool {
        if self.form == Form::Cells || now.record.strong {
            return false;
        }
        let is_of_one = part.map.one_place().is_some();
        if self.form == Form::Alone {
            if is_of_one || !self.alone.is_empty() {
                return self.alone.access(kind, now, part);
            }
            self.form = Form::Runs;
        }
        // Lanes go their own ways as they did before.
        if is_of_one && self.runs.count == 0 && self.alone.was_used() {
            self.alone.clear();
            self.form = Form::Alone;
            return self.alone.access(kind, now, part);
        }
        // Lanes that go their own ways.
        if is_of_one && self.runs.are_apart(&now.record) {
            return self.part_lanes() && self.access(kind, now, part);
        }
        if self.runs.note_again(kind, &now.record, part) {
            return true;
        }
        let reads_only = |kind: Kind| {
            let mut runs = self.runs.all().iter().filter(|run| run.kind == kind);
            runs.any(|run| run.record.non_coherent && run.granules() & part.granules != 0)
        };
        let is_clear = self.runs.is_clear(Kind::Store, now, part)
            && match kind {
                Kind::Load => !now.record.non_coherent || !self.has_stores(part.granules),
                Kind::Store => !reads_only(Kind::Load) && self.runs.is_clear(Kind::Load, now, part),
            };
        is_clear
            && (self.runs.note(kind, now, part).is_some()
                || self.part_lanes() && self.access(kind, now, part))
    }

    /// Remembers what the runs say as [`Alone`] does; false if it cannot.
    #[inline(never)]
    fn part_lanes(&mut self) -> bool {
        let tells = |run: &Run| {
            let map = run.map();
            let mut granules = members(run.first);
            run.second == 0
                && Alone::has_room(&run.record)
                && granules.all(|granule| map.lanes(granule).is_power_of_two())
        };
        let tells = self.runs.all().iter().all(tells);
        if tells {
            self.alone.clear();
            for run in self.runs.all() {
                let part = Part {
                    granules: run.first,
                    map: run.map(),
                };
                self.alone.put(run.kind, &run.record, part);
            }
            self.form = Form::Alone;
            self.runs.count = 0;
            self.runs.many = None;
        }
        tells
    }

    /// True if some of these granules were stored to.
    fn has_stores(&self, granules: u32) -> bool {
        let mut runs = self.runs.all().iter();
        runs.any(|run| run.kind == Kind::Store && run.granules() & granules != 0)
    }

    /// The stores to a granule.
    pub(crate) fn stores(&self, granule: u64) -> Vec<Record> {
        if self.form == Form::Cells
            && let Some(cells) = &self.cells
        {
            return cells[granule as usize].stores_since(self.epoch).collect();
        }
        let granule = granule as u32;
        if self.form == Form::Alone {
            return self.alone.last(Kind::Store, granule).into_iter().collect();
        }
        let of = |place: fn(&Run) -> u32| {
            let runs = self.runs.all().iter();
            runs.filter(move |run| run.kind == Kind::Store && place(run) >> granule & 1 == 1)
        };
        let stores = of(|run| run.first).chain(of(|run| run.second));
        let stores = stores.map(|run| Record {
            lanes: run.map().lanes(granule),
            ..run.record
        });
        stores.collect()
    }

    /// The cell of a granule of the line.
    pub(crate) fn cell(&mut self, granule: u64) -> &mut Cell {
        if self.form != Form::Cells {
            self.make_cells();
        }
        let cells = self.cells.as_mut().expect("they were made");
        &mut cells[granule as usize]
    }

    /// Puts what the line remembers into cells.
    #[inline(never)]
    fn make_cells(&mut self) {
        let form = std::mem::replace(&mut self.form, Form::Cells);
        self.age = 0;
        let cells = self.cells.get_or_insert_default();
        cells.fill(Cell::default());
        if form == Form::Alone {
            return self.alone.fill(&mut cells[..]);
        }
        for run in self.runs.all() {
            for (place, granules) in [run.first, run.second].into_iter().enumerate() {
                for granule in members(granules) {
                    let record = Record {
                        lanes: run.map().lanes(granule),
                        ..run.record
                    };
                    cells[granule as usize].remember(run.kind, place, record);
                }
            }
        }
    }
}

const _: () = assert!(
    std::mem::offset_of!(Line, runs) + std::mem::offset_of!(Runs, few) == 64,
    "all but the runs lies in one line of the host's caches"
);
