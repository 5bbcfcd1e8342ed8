//! The memory of 32 granules in a row: together while warps access them together, else in cells.
//!
//! A warp that accesses consecutive addresses accesses all granules of a line alike. So the line
//! remembers *runs*: one access, the granules whose memory it is in, and a rule that says which
//! lanes made it. A run is what [`Cell`]s would remember, not more and not less. Where lanes go
//! their own ways, runs become many: then the line remembers each granule's accesses as [`Alone`]
//! does, as long as that can tell them. A line makes its cells where neither can: at a possible
//! race, at a strong access, and if runs become many all the same. A buffer's line has cells to the
//! end of the launch, one of shared memory for some blocks more.

use super::alone::{Alone, Near, Row};
use super::cell::{Cell, Conflict, Kind, distance};
use super::order::{BlockOrder, Now, Record, Relation};
use super::part::{LINE, LaneMap, Part, members};

/// The most runs of a line.
const RUNS: usize = 24;
/// Runs that a line has room for: as many as a [`Row`]. Most lines need no more, and a launch makes
/// a line for each 32 granules that it accesses.
const FEW: usize = 4;
/// Runs beyond which an access of a single lane is worth another form.
const MAX_SCATTERED: usize = 6;
/// Epochs for which shared memory keeps cells.
const MAX_EPOCHS: u8 = 32;

/// The bits of [`Run::what`].
const STORES: u8 = 1;
const IS_NON_COHERENT: u8 = 2;

/// One weak access, as some granules remember it. All bits may be anything in a run that does not
/// count.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Run {
    /// [`LaneMap::distances`].
    distances: u64,
    block: u32,
    clock: u32,
    pc: u32,
    /// The granules that remember it as the first of their two, and as the second.
    first: u32,
    second: u32,
    warp: u16,
    /// [`LaneMap::shift`].
    shift: u8,
    /// Its kind, and whether it is through the read-only path.
    what: u8,
}

impl Run {
    #[inline(always)]
    fn new(kind: Kind, record: &Record, map: LaneMap) -> Self {
        let is_non_coherent = if record.non_coherent {
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
            what: kind as u8 * STORES | is_non_coherent,
        }
    }

    #[inline(always)]
    fn kind(&self) -> Kind {
        match self.what & STORES {
            0 => Kind::Load,
            _ => Kind::Store,
        }
    }

    #[inline(always)]
    fn is_non_coherent(&self) -> bool {
        self.what & IS_NON_COHERENT != 0
    }

    /// The access, without lanes.
    #[inline(always)]
    fn record(&self) -> Record {
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

    /// True if both are of one access, but for the granules and the lanes.
    #[inline(always)]
    fn is_like(&self, other: &Self) -> bool {
        (self.block, self.clock, self.pc, self.warp, self.what)
            == (other.block, other.clock, other.pc, other.warp, other.what)
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

    /// Takes all of them away.
    fn take(&mut self) -> Self {
        let taken = Self {
            count: self.count,
            many: self.many.take(),
            few: self.few,
        };
        self.count = 0;
        taken
    }

    /// The place of the few, for a row. There are no runs.
    #[inline(always)]
    fn row(&mut self) -> &mut Row {
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
    fn are_apart(&self, record: &Record) -> bool {
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
    fn note_same(&mut self, kind: Kind, record: &Record, part: Part) -> bool {
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
    fn note_again(&mut self, kind: Kind, record: &Record, part: Part) -> bool {
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
    fn is_clear<B: BlockOrder>(&self, kind: Kind, now: &Now<B>, part: Part) -> bool {
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
        let mut joined = [[0; 2]; RUNS];
        let mut count = self.count + 1;
        let runs = self.all().iter().zip(relations);
        for ((run, relation), joined) in runs.zip(&mut joined) {
            if run.kind() == kind && relation == Relation::OneTime {
                *joined = [run.first & joins[0], run.second & joins[1]];
                count += usize::from(run.joined(*joined, &new)?.is_apart);
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

/// How a line remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum Form {
    #[default]
    Runs = 0,
    /// As [`Alone`] does, with a row of loads in the place of runs.
    AloneLoads,
    /// The same with a row of stores.
    AloneStores,
    Cells,
}

impl Form {
    #[inline(always)]
    fn alone(near: Kind) -> Self {
        match near {
            Kind::Load => Self::AloneLoads,
            Kind::Store => Self::AloneStores,
        }
    }

    /// The kind of the row.
    #[inline(always)]
    fn near(self) -> Option<Kind> {
        match self {
            Self::AloneLoads => Some(Kind::Load),
            Self::AloneStores => Some(Kind::Store),
            Self::Runs | Self::Cells => None,
        }
    }
}

/// What each granule of a line remembers.
#[derive(Clone, Debug, Default)]
#[repr(C)]
struct Cells {
    /// The granules that are [settled](Cell::is_settled) for a block.
    settled: u32,
    /// The number of the block.
    block: u32,
    of: [Cell; LINE as usize],
}

impl Cells {
    /// True if an access changes nothing.
    #[inline(always)]
    fn are_settled<B: BlockOrder>(&self, kind: Kind, now: &Now<B>, granules: u32) -> bool {
        let is_of_block = self.block == now.record.block && self.settled & granules == granules;
        is_of_block && kind == Kind::Load && !now.record.strong && now.blocks.orders_none()
    }
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
    /// It has remembered accesses of lanes that go their own ways.
    was_apart: bool,
    alone: Alone,
    /// Made where they are needed first.
    cells: Option<Box<Cells>>,
    runs: Runs,
}

// SAFETY: each field may be zeros: numbers, `false`, `Form::Runs`, which is 0, and boxes that are
// not there.
unsafe impl bytemuck::Zeroable for Line {}

impl Line {
    /// Looks at what an access of a granule will look at: gives some bits of it.
    #[inline(always)]
    pub(super) fn look(&self, granule: u64) -> u32 {
        let row: &[u32; LINE as usize] = bytemuck::cast_ref(&self.runs.few);
        self.epoch | row[(granule % LINE) as usize]
    }

    /// Forgets what was before an epoch: the number of a first block.
    #[inline(always)]
    pub(crate) fn enter(&mut self, epoch: u32) -> &mut Self {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.runs.count = 0;
            // Lanes will go their own ways again.
            match self.form.near() {
                Some(_) => self.alone.clear(),
                None => self.form = Form::Runs,
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
            Form::AloneLoads | Form::AloneStores => match part.map.one_place() {
                Some(lane) => {
                    let (alone, near) = self.alone();
                    alone.note_same(near, kind, &now.record, part.granules, lane.into())
                }
                None => false,
            },
            Form::Cells => false,
        };
        is_noted || self.access_another(kind, now, part)
    }

    /// The same of one lane.
    #[inline(always)]
    pub(crate) fn access_lane<B: BlockOrder>(
        &mut self,
        kind: Kind,
        now: &Now<B>,
        granules: u32,
        lane: usize,
    ) -> bool {
        let map = LaneMap::same(1 << lane);
        let part = Part { granules, map };
        let is_noted = match self.form {
            Form::Runs => self.runs.note_same(kind, &now.record, part),
            Form::AloneLoads | Form::AloneStores => {
                let (alone, near) = self.alone();
                alone.note_same(near, kind, &now.record, granules, lane as u32)
            }
            Form::Cells => false,
        };
        is_noted || self.access_another(kind, now, part)
    }

    /// What the line remembers of lanes that go their own ways, which it does.
    #[inline(always)]
    fn alone(&mut self) -> (&mut Alone, Near<'_>) {
        let kind = self.form.near().unwrap_or_default();
        let row = self.runs.row();
        (&mut self.alone, Near { kind, row })
    }

    /// Notes an access of lanes that go their own ways, as [`Line::access`] does.
    fn access_alone<B: BlockOrder>(&mut self, kind: Kind, now: &Now<B>, part: Part) -> bool {
        if self.alone.is_empty() {
            self.form = Form::alone(kind);
        }
        let (alone, near) = self.alone();
        alone.access(near, kind, now, part)
    }

    fn access_another<B: BlockOrder>(&mut self, kind: Kind, now: &Now<B>, part: Part) -> bool {
        if self.form == Form::Cells {
            let cells = self.cells.as_ref();
            return cells.is_some_and(|cells| cells.are_settled(kind, now, part.granules));
        }
        if now.record.strong {
            return false;
        }
        let is_of_one = part.map.one_place().is_some();
        if self.form.near().is_some() {
            if is_of_one || !self.alone.is_empty() {
                return self.access_alone(kind, now, part);
            }
            self.form = Form::Runs;
        }
        // Lanes go their own ways as they did before.
        if is_of_one && self.runs.count == 0 && self.was_apart {
            self.alone.clear();
            return self.access_alone(kind, now, part);
        }
        // Or after an access together.
        if is_of_one && self.was_apart && self.part_lanes() {
            return self.access_alone(kind, now, part);
        }
        // Lanes that go their own ways.
        if is_of_one && self.runs.are_apart(&now.record) {
            return self.part_lanes() && self.access(kind, now, part);
        }
        if self.runs.note_again(kind, &now.record, part) {
            return true;
        }
        let reads_only = |kind: Kind| {
            let mut runs = self.runs.all().iter().filter(|run| run.kind() == kind);
            runs.any(|run| run.is_non_coherent() && run.granules() & part.granules != 0)
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
                && Alone::has_room(&run.record())
                && granules.all(|granule| map.lanes(granule).is_power_of_two())
        };
        if !self.runs.all().iter().all(tells) {
            return false;
        }
        self.alone.clear();
        let runs = self.runs.take();
        self.form = Form::alone(runs.all().first().map_or(Kind::Load, Run::kind));
        for run in runs.all() {
            let part = Part {
                granules: run.first,
                map: run.map(),
            };
            let (alone, near) = self.alone();
            alone.put(near, run.kind(), &run.record(), part);
        }
        self.was_apart = true;
        true
    }

    /// True if some of these granules were stored to.
    fn has_stores(&self, granules: u32) -> bool {
        let mut runs = self.runs.all().iter();
        runs.any(|run| run.kind() == Kind::Store && run.granules() & granules != 0)
    }

    /// The stores to a granule.
    pub(crate) fn stores(&mut self, granule: u64) -> Vec<Record> {
        if self.form == Form::Cells
            && let Some(cells) = &self.cells
        {
            let cell = &cells.of[granule as usize];
            return cell.stores_since(self.epoch).collect();
        }
        let granule = granule as u32;
        if self.form.near().is_some() {
            let (alone, near) = self.alone();
            let last = alone.last(&near, Kind::Store, granule);
            return last.into_iter().collect();
        }
        let of = |place: fn(&Run) -> u32| {
            let runs = self.runs.all().iter();
            runs.filter(move |run| run.kind() == Kind::Store && place(run) >> granule & 1 == 1)
        };
        let stores = of(|run| run.first).chain(of(|run| run.second));
        let stores = stores.map(|run| Record {
            lanes: run.map().lanes(granule),
            ..run.record()
        });
        stores.collect()
    }

    /// The cell of a granule of the line.
    pub(crate) fn cell(&mut self, granule: u64) -> &mut Cell {
        if self.form != Form::Cells {
            self.make_cells();
        }
        let cells = self.cells.as_mut().expect("they were made");
        cells.settled &= !(1 << granule);
        &mut cells.of[granule as usize]
    }

    /// Notes a load of one lane in the cell of a granule.
    #[inline(always)]
    pub(crate) fn load<B: BlockOrder>(&mut self, granule: u64, now: &Now<B>) -> Option<Conflict> {
        let cell = self.cell(granule);
        let conflict = cell.load(now);
        if cell.is_settled(now)
            && let Some(cells) = &mut self.cells
        {
            if cells.block != now.record.block {
                (cells.settled, cells.block) = (0, now.record.block);
            }
            cells.settled |= 1 << granule;
        }
        conflict
    }

    /// A store to a granule that has its cell, by a block with at least this number.
    #[inline(always)]
    pub(crate) fn store_since(&self, granule: u64, block: u32) -> Option<Record> {
        let cell = &self.cells.as_ref()?.of[granule as usize];
        cell.stores_since(block).next()
    }

    /// Puts what the line remembers into cells.
    #[inline(never)]
    fn make_cells(&mut self) {
        let form = std::mem::replace(&mut self.form, Form::Cells);
        self.age = 0;
        let cells = self.cells.get_or_insert_default();
        cells.settled = 0;
        let cells = &mut cells.of;
        cells.fill(Cell::default());
        if let Some(kind) = form.near() {
            let row = self.runs.row();
            return self.alone.fill(&Near { kind, row }, &mut cells[..]);
        }
        for run in self.runs.all() {
            for (place, granules) in [run.first, run.second].into_iter().enumerate() {
                for granule in members(granules) {
                    let record = Record {
                        lanes: run.map().lanes(granule),
                        ..run.record()
                    };
                    cells[granule as usize].remember(run.kind(), place, record);
                }
            }
        }
    }
}

const _: () = assert!(
    std::mem::offset_of!(Line, runs) + std::mem::offset_of!(Runs, few) == 64,
    "all but the runs lies in one line of the host's caches"
);
