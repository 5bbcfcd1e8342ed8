//! The memory of 32 granules in a row: together while warps access them together, else in cells.
//!
//! A warp that accesses consecutive addresses accesses all granules of a line alike. So the line
//! remembers *runs*: one access, the granules whose memory it is in, and a rule that says which
//! lanes made it. A run is what [`Cell`]s would remember, not more and not less. Where lanes go
//! their own ways, runs become many: then the line remembers each granule's accesses as [`Alone`]
//! does, as long as that can tell them. A line makes its cells where neither can: at a possible
//! race, at a strong access, and if runs become many all the same. A buffer's line has cells to the
//! end of the launch, one of shared memory for some blocks more.

use super::alone::{Alone, Near};
use super::cell::{Cell, Conflict, Kind};
use super::order::{BlockOrder, Now, Record};
use super::part::{LINE, LaneMap, Part, members};
use super::runs::{Run, Runs};

/// Epochs for which shared memory keeps cells.
const MAX_EPOCHS: u8 = 32;

/// How a line remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum Form {
    #[default]
    Runs = 0,
    /// As [`Alone`] does, with a row of loads in the place of runs.
    AloneLoads,
    /// As [`Alone`] does, with a row of stores in the place of runs.
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

/// The memory of each granule of a line.
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
        kind == Kind::Load
            && now.blocks.orders_none()
            && !now.record.strong
            && self.block == now.record.block
            && self.settled & granules == granules
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
    /// Of shared memory: the number of the barrier of the whole block that it has seen last, as far
    /// as a byte tells it.
    interval: u8,
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
            self.forget();
        }
        self
    }

    #[inline(always)]
    fn forget(&mut self) {
        self.runs.clear();
        // Lanes will go their own ways again.
        match self.form.near() {
            Some(_) => self.alone.clear(),
            None => self.form = Form::Runs,
        }
    }

    /// Forgets what was before an epoch in shared memory, where cells stay for some epochs: blocks
    /// do alike, and a line that needed cells needs them again. The accesses of other clusters that
    /// cells remember are ordered before.
    ///
    /// What was before an interval is ordered before all that is in it or behind, so it is
    /// forgotten too: that leaves the line in a form that is cheap to add to. Cells stay, since
    /// they know by clocks what is ordered before. So may what is 256 intervals old.
    #[inline(always)]
    pub(crate) fn enter_shared(&mut self, epoch: u32, interval: u8) -> &mut Self {
        if self.interval != interval {
            self.interval = interval;
            if self.form != Form::Cells {
                self.forget();
            }
        }
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
            Form::Cells => {
                let cells = self.cells.as_ref();
                return cells.is_some_and(|cells| cells.are_settled(kind, now, part.granules));
            }
        };
        is_noted || self.access_another(kind, now, part)
    }

    /// Checks and notes an access of one lane, as [`Line::access`] does those of several.
    #[inline(always)]
    pub(crate) fn access_lane<B: BlockOrder>(
        &mut self,
        kind: Kind,
        now: &Now<B>,
        granules: u32,
        lane: usize,
    ) -> bool {
        if self.form.near().is_some() {
            let (alone, near) = self.alone();
            if alone.note_same(near, kind, &now.record, granules, lane as u32) {
                return true;
            }
        }
        let map = LaneMap::same(1 << lane);
        self.access(kind, now, Part { granules, map })
    }

    /// The memory of lanes that go their own ways, in a line of that form.
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
        if is_of_one && self.runs.is_empty() && self.was_apart {
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
        let reads_only = |other: Kind| {
            let mut runs = self.runs.all().iter().filter(|run| run.kind() == other);
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
        let stores = of(|run| run.first)
            .chain(of(|run| run.second))
            .map(|run| Record {
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

    /// Checks and notes an access of one lane, if the line has cells: what [`Line::access`]
    /// does not. False if it may race; what is noted by then would be noted again.
    #[inline(always)]
    pub(crate) fn access_cells<B: BlockOrder>(
        &mut self,
        kind: Kind,
        now: &Now<B>,
        granules: u32,
    ) -> bool {
        if self.form != Form::Cells {
            return false;
        }
        for granule in members(granules) {
            let granule = granule.into();
            let is_clear = match kind {
                Kind::Load => self.load(granule, now).is_none(),
                Kind::Store => {
                    let cell = self.cell(granule);
                    let is_clear = cell.store_conflict(now).is_none();
                    if is_clear {
                        cell.note_store(now);
                    }
                    is_clear
                }
            };
            if !is_clear {
                return false;
            }
        }
        true
    }

    /// Notes an access of a further lane in the cell of a granule: see [`Cell::note_further`].
    #[inline(always)]
    pub(crate) fn note_further<B: BlockOrder>(
        &mut self,
        kind: Kind,
        granule: u64,
        now: &Now<B>,
    ) -> bool {
        match &mut self.cells {
            Some(cells) if self.form == Form::Cells => {
                cells.of[(granule % LINE) as usize].note_further(kind, now)
            }
            _ => false,
        }
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

// In WebAssembly, whose pointers are shorter, it does as well.
const _: () = assert!(
    cfg!(target_pointer_width = "32")
        || std::mem::offset_of!(Line, runs) + std::mem::offset_of!(Runs, few) == 64,
    "all but the runs lies in one line of the host's caches"
);
