use super::cell::Cell;
use super::*;
use crate::registers::LANES;

fn record(thread: u16, clocks: &Clocks) -> Record {
    Record {
        block: 1,
        clock: clocks.now(usize::from(thread) / LANES),
        pc: thread.into(),
        lanes: 1 << (usize::from(thread) % LANES),
        warp: thread / LANES as u16,
        strong: false,
        non_coherent: false,
    }
}

fn load(cell: &mut Cell, thread: u16, clocks: &Clocks) -> bool {
    let record = record(thread, clocks);
    cell.load(&Now {
        record,
        clocks,
        blocks: Leftovers,
        rank: 0,
        cluster: &[1],
        strengths: None,
        is_last: false,
    })
    .is_some()
}

fn store(cell: &mut Cell, thread: u16, clocks: &Clocks) -> bool {
    let record = record(thread, clocks);
    let now = Now {
        record,
        clocks,
        blocks: Leftovers,
        rank: 0,
        cluster: &[1],
        strengths: None,
        is_last: false,
    };
    races(cell, &now, true)
}

/// Whether a store, of another value than is there if `changes`, races; if not, it is noted.
fn races(cell: &mut Cell, now: &Now<Leftovers>, changes: bool) -> bool {
    let conflict = cell.store_conflict(now);
    let is_race = conflict.is_some_and(|conflict| changes || !conflict.earlier_is_store);
    if !is_race {
        cell.note_store(now);
    }
    is_race
}

fn clocks() -> Clocks {
    let mut clocks = Clocks::default();
    clocks.reset(1, 3, false);
    clocks
}

#[test]
fn a_barrier_of_all_orders() {
    let (mut clocks, mut cell) = (clocks(), Cell::default());
    assert!(!store(&mut cell, 0, &clocks));
    clocks.barrier(&[0, 1, 2]);
    assert!(!load(&mut cell, 40, &clocks));
    assert!(!load(&mut cell, 70, &clocks));
    clocks.barrier(&[0, 1, 2]);
    assert!(!store(&mut cell, 1, &clocks));
    assert!(load(&mut cell, 40, &clocks));
}

#[test]
fn a_plain_store_races_even_if_an_atomic_follows() {
    let (clocks, mut cell) = (clocks(), Cell::default());
    let strong = |thread| Record {
        strong: true,
        ..record(thread, &clocks)
    };
    let update = |one: &mut Cell, thread| {
        let now = Now {
            record: strong(thread),
            clocks: &clocks,
            blocks: Leftovers,
            rank: 0,
            cluster: &[1],
            strengths: None,
            is_last: false,
        };
        races(one, &now, true)
    };
    assert!(!store(&mut cell, 0, &clocks));
    assert!(!update(&mut cell, 0));
    assert!(update(&mut cell, 40));
}

/// "Thread 0 zeroes the sum, everybody adds": a barrier of its own warp orders the two accesses of
/// thread 0, and not the other warp's.
#[test]
fn a_strong_access_after_a_plain_one_does_not_stand_for_it() {
    let (mut clocks, mut cell) = (clocks(), Cell::default());
    assert!(!store(&mut cell, 0, &clocks));
    clocks.warp_barrier(0, u32::MAX, u32::MAX);
    let strong = |one: &mut Cell, thread, at: &Clocks| {
        let now = Now {
            record: Record {
                strong: true,
                ..record(thread, at)
            },
            clocks: at,
            blocks: Leftovers,
            rank: 0,
            cluster: &[1],
            strengths: None,
            is_last: false,
        };
        races(one, &now, true)
    };
    assert!(!strong(&mut cell, 0, &clocks));
    assert!(strong(&mut cell, 40, &clocks));
    // After a barrier of all, strong accesses are free, and a plain one of another warp is not.
    let mut fresh = Cell::default();
    assert!(!store(&mut fresh, 0, &clocks));
    clocks.barrier(&[0, 1, 2]);
    assert!(!strong(&mut fresh, 0, &clocks));
    assert!(!strong(&mut fresh, 40, &clocks));
    assert!(load(&mut fresh, 70, &clocks));
}

#[test]
fn an_equal_store_does_not_hide_another() {
    let (mut clocks, mut cell) = (clocks(), Cell::default());
    assert!(!store(&mut cell, 0, &clocks));
    for thread in 32..40 {
        let now = Now {
            record: record(thread, &clocks),
            clocks: &clocks,
            blocks: Leftovers,
            rank: 0,
            cluster: &[1],
            strengths: None,
            is_last: false,
        };
        assert!(!races(&mut cell, &now, false));
    }
    clocks.warp_barrier(1, u32::MAX, u32::MAX);
    // Ordered after its own warp's stores, not after warp 0's.
    assert!(store(&mut cell, 33, &clocks));
}

#[test]
fn either_of_two_readers_races() {
    let (clocks, mut cell) = (clocks(), Cell::default());
    assert!(!load(&mut cell, 0, &clocks));
    assert!(!load(&mut cell, 40, &clocks));
    assert!(store(&mut cell, 0, &clocks));
    let mut fresh = Cell::default();
    assert!(!load(&mut fresh, 0, &clocks));
    assert!(!store(&mut fresh, 0, &clocks));
}

#[test]
fn a_barrier_of_some_orders_those_and_what_they_know() {
    let (mut clocks, mut cell) = (clocks(), Cell::default());
    assert!(!store(&mut cell, 0, &clocks));
    clocks.barrier(&[0, 1]);
    assert!(!load(&mut cell, 40, &clocks));
    clocks.barrier(&[1, 2]);
    // Ordered through warp 1.
    assert!(!load(&mut cell, 70, &clocks));
    let (mut anew, mut fresh) = (self::clocks(), Cell::default());
    assert!(!store(&mut fresh, 0, &anew));
    anew.barrier(&[0, 1]);
    assert!(load(&mut fresh, 70, &anew));
}

#[test]
fn lanes_are_ordered_by_warp_barriers_alone() {
    let (mut clocks, mut cell) = (clocks(), Cell::default());
    assert!(!store(&mut cell, 0, &clocks));
    assert!(load(&mut cell, 1, &clocks));
    clocks.warp_barrier(0, u32::MAX, u32::MAX);
    assert!(!load(&mut cell, 1, &clocks));
    assert!(!store(&mut cell, 1, &clocks));
    clocks.warp_barrier(0, 0b110, u32::MAX);
    assert!(!load(&mut cell, 2, &clocks));
    assert!(load(&mut cell, 3, &clocks));
    clocks.warp_barrier(0, 0b1100, u32::MAX);
    // Ordered through lane 2.
    assert!(!load(&mut cell, 3, &clocks));
}

#[test]
fn equal_values_and_strong_accesses_do_not_race() {
    let (clocks, mut cell) = (clocks(), Cell::default());
    assert!(!store(&mut cell, 0, &clocks));
    let other = record(1, &clocks);
    let now = Now {
        record: other,
        clocks: &clocks,
        blocks: Leftovers,
        rank: 0,
        cluster: &[1],
        strengths: None,
        is_last: false,
    };
    assert!(!races(&mut cell, &now, false));
    let strong = |thread| Record {
        strong: true,
        ..record(thread, &clocks)
    };
    let mut fresh = Cell::default();
    for thread in [3, 4] {
        let strong_now = Now {
            record: strong(thread),
            clocks: &clocks,
            blocks: Leftovers,
            rank: 0,
            cluster: &[1],
            strengths: None,
            is_last: false,
        };
        assert!(!races(&mut fresh, &strong_now, true));
    }
    assert!(load(&mut fresh, 5, &clocks));
}

#[test]
fn every_lane_that_has_read_is_remembered() {
    let (mut clocks, mut cell) = (clocks(), Cell::default());
    (0..32).for_each(|lane| assert!(!load(&mut cell, lane, &clocks)));
    // The lower half waits for itself: the upper half may read yet.
    clocks.warp_barrier(0, 0xffff, u32::MAX);
    assert!(store(&mut cell, 3, &clocks));
    clocks.warp_barrier(0, u32::MAX, u32::MAX);
    assert!(!store(&mut cell, 3, &clocks));
    // Halves that wait apart.
    let mut halves = Cell::default();
    for half in [0xffff, 0xffff_0000] {
        (0..32).for_each(|lane| assert!(!load(&mut halves, lane, &clocks)));
        clocks.warp_barrier(0, half, u32::MAX);
        lanes_of(half).for_each(|lane| assert!(!load(&mut halves, lane, &clocks)));
    }
    assert!(store(&mut halves, 3, &clocks));
    let mut upper = Cell::default();
    lanes_of(0xffff_0000).for_each(|lane| assert!(!load(&mut upper, lane, &clocks)));
    clocks.warp_barrier(0, 0xffff_0000, u32::MAX);
    assert!(!store(&mut upper, 20, &clocks));
}

fn lanes_of(mask: u32) -> impl Iterator<Item = u16> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

/// Blocks below one have been ordered before; nothing orders the others.
struct Apart(u32);

impl BlockOrder for Apart {
    fn is_before(&self, earlier: &Record) -> bool {
        earlier.block < self.0
    }

    fn orders_none(&self) -> bool {
        self.0 == 0
    }
}

/// A line and cells that see the same accesses.
struct Both {
    line: Line,
    cells: Vec<Cell>,
    /// Accesses that the line told without cells.
    together: u32,
}

/// An access of lanes to elements of `1 << shift` granules: to one, or each lane to its own.
struct Access {
    kind: Kind,
    lanes: u32,
    first: u32,
    shift: u32,
    is_shared: bool,
}

impl Access {
    /// The granules of a lane.
    fn granules(&self, lane: u32) -> std::ops::Range<u32> {
        let element = if self.is_shared {
            0
        } else {
            lane - self.lanes.trailing_zeros()
        };
        let start = self.first + (element << self.shift);
        start..start + (1 << self.shift)
    }

    fn part(&self) -> Part {
        let lanes = lanes_of(self.lanes).map(u32::from);
        let granules = lanes.flat_map(|lane| self.granules(lane));
        let first = self.lanes.trailing_zeros() as usize;
        Part {
            granules: granules.fold(0, |granules, granule| granules | 1 << granule),
            map: if self.is_shared {
                LaneMap::same(self.lanes)
            } else {
                LaneMap::consecutive(self.shift, self.first, first)
            },
        }
    }

    fn random(random: &mut fastrand::Rng) -> Self {
        let shift = random.u32(0..3);
        let elements = 32 >> shift;
        let at = random.u32(0..elements);
        let count = match random.u32(0..4) {
            0 => 1,
            1 => random.u32(1..=elements - at),
            _ => elements - at,
        };
        let some = if random.u32(0..4) == 0 {
            random.u32(..)
        } else {
            u32::MAX
        };
        let lane = random.u32(0..=32 - count);
        let lanes = (u32::MAX >> (32 - count) << lane) & (some | 1 << lane);
        Self {
            kind: if random.u32(0..3) == 0 {
                Kind::Store
            } else {
                Kind::Load
            },
            lanes,
            first: at << shift,
            shift,
            is_shared: random.u32(0..4) == 0,
        }
    }

    /// An access of a lane that goes its own way: mostly to granules that are its own.
    fn scattered(random: &mut fastrand::Rng) -> Self {
        let shift = random.u32(0..3);
        let first = random.u32(0..32 >> shift) << shift;
        let lane = match random.u32(0..64) {
            0 => random.u32(0..32),
            _ => first / 4,
        };
        Self {
            lanes: 1 << lane,
            first,
            shift,
            is_shared: true,
            ..Self::random(random)
        }
    }
}

impl Both {
    fn new() -> Self {
        Self {
            line: Line::default(),
            cells: vec![Cell::default(); LINE as usize],
            together: 0,
        }
    }

    /// Makes the access, and says whether it races.
    fn access(&mut self, now: &mut Now<Apart>, access: &Access) -> bool {
        let part = access.part();
        now.record.lanes = 0;
        let is_store = access.kind == Kind::Store;
        let is_together =
            (!is_store || part.map.has_one_lane()) && self.line.access(access.kind, now, part);
        self.together += u32::from(is_together);
        for lane in lanes_of(access.lanes).map(u32::from) {
            now.record.lanes = 1 << lane;
            for granule in access.granules(lane) {
                let races = |cell: &mut Cell| {
                    if is_store {
                        cell.store_conflict(now).is_some() || {
                            cell.note_store(now);
                            false
                        }
                    } else {
                        cell.load(now).is_some()
                    }
                };
                let is_race = races(&mut self.cells[granule as usize]);
                if !is_together {
                    let races = if is_store {
                        races(self.line.cell(granule.into()))
                    } else {
                        self.line.load(granule.into(), now).is_some()
                    };
                    assert_eq!(races, is_race);
                }
                assert!(!is_race || !is_together);
                if is_race {
                    return true;
                }
            }
        }
        false
    }

    /// Forgets everything.
    fn enter(&mut self, epoch: u32) {
        self.line.enter(epoch);
        self.cells.fill(Cell::default());
    }

    fn assert_equal(&mut self) {
        let mut line = self.line.clone();
        for (granule, cell) in (0..).zip(&self.cells) {
            assert_eq!(line.cell(granule), cell, "granule {granule}");
            let stores: Vec<_> = cell.stores_since(1).collect();
            assert_eq!(self.line.stores(granule), stores);
        }
    }
}

/// Which accesses a random line sees.
#[derive(Clone, Copy, PartialEq)]
enum Lanes {
    Together,
    /// Lanes of a warp go their own ways.
    Scattered,
    /// So do lanes of all warps, mostly each to granules of its own.
    OfWarps,
}

/// Random accesses to a line, of two blocks of three warps; the number of those that the line told
/// without cells.
fn together(seed: u64, lanes: Lanes) -> u32 {
    let is_scattered = lanes != Lanes::Together;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut clocks = [self::clocks(), self::clocks()];
    let mut both = Both::new();
    // The number of the first block.
    let mut epoch = 1;
    both.enter(epoch);
    let (most, pcs, rarely) = if is_scattered {
        (80, 24, 40)
    } else {
        (24, 4, 1)
    };
    let (mut block, mut warp) = (0, 0);
    for _ in 1..random.u32(2..most) {
        if random.u32(0..rarely) == 0 {
            (block, warp) = (random.usize(0..2), random.u16(0..3));
        }
        match random.u32(0..12 * rarely) {
            0 => clocks[block].barrier(&[0, 1, 2]),
            1 => clocks[block].barrier(&[0, 1]),
            2 => clocks[block].warp_barrier(warp.into(), u32::MAX, u32::MAX),
            3 if random.u32(0..4) == 0 => {
                clocks[block].warp_barrier(warp.into(), 0xffff, u32::MAX);
            }
            4 if is_scattered => {
                epoch += 2;
                both.enter(epoch);
            }
            _ => {}
        }
        let access = if is_scattered && random.u32(0..16) > 0 {
            Access::scattered(&mut random)
        } else {
            Access::random(&mut random)
        };
        if lanes == Lanes::OfWarps && random.u32(0..32) > 0 {
            (block, warp) = (0, (access.first / 4 % 3) as u16);
        }
        let clocks = &clocks[block];
        let record = Record {
            block: epoch + block as u32,
            pc: random.u32(0..pcs),
            non_coherent: access.kind == Kind::Load && random.u32(0..8 * rarely) == 0,
            ..record(LANES as u16 * warp, clocks)
        };
        let mut now = Now {
            record,
            clocks,
            blocks: Apart(0),
            rank: 0,
            cluster: &[epoch + block as u32],
            strengths: None,
            is_last: false,
        };
        if both.access(&mut now, &access) {
            break;
        }
        both.assert_equal();
    }
    both.together
}

/// Of lanes of many blocks that load few granules, most loads change nothing after a while.
#[test]
fn a_line_of_a_table_remembers_what_its_cells_would() {
    let mut together = 0;
    for seed in 0..1000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut clocks = clocks();
        let mut both = Both::new();
        both.enter(1);
        let mut block = 1;
        for _ in 0..random.u32(0..400) {
            match random.u32(0..200) {
                0..20 => block = random.u32(1..5),
                20 => clocks.barrier(&[0, 1, 2]),
                _ => {}
            }
            let first = random.u32(0..4);
            let access = Access {
                kind: match random.u32(0..300) {
                    0 => Kind::Store,
                    _ => Kind::Load,
                },
                lanes: 1 << random.u32(0..32),
                first: 4 * first,
                shift: 2,
                is_shared: true,
            };
            let record = Record {
                block,
                pc: random.u32(0..3),
                non_coherent: random.u32(0..20) == 0,
                strong: random.u32(0..100) == 0,
                ..record(LANES as u16 * random.u16(0..3), &clocks)
            };
            let mut now = Now {
                record,
                clocks: &clocks,
                blocks: Apart(if random.u32(0..50) == 0 { block } else { 0 }),
                rank: 0,
                cluster: &[block],
                strengths: None,
                is_last: false,
            };
            if both.access(&mut now, &access) {
                break;
            }
            both.assert_equal();
        }
        together += both.together;
    }
    assert!(together > 20_000, "only {together} accesses took no cells");
}

#[test]
fn a_line_remembers_what_its_cells_would() {
    let together: u32 = (0..4000).map(|seed| together(seed, Lanes::Together)).sum();
    assert!(together > 8000, "only {together} accesses went together");
}

#[test]
fn a_line_of_lanes_that_go_their_own_ways_remembers_so_too() {
    let together: u32 = (0..2000).map(|seed| together(seed, Lanes::Scattered)).sum();
    assert!(together > 20_000, "only {together} accesses took no cells");
}

#[test]
fn so_does_a_line_of_lanes_of_several_warps() {
    let together: u32 = (0..4000).map(|seed| together(seed, Lanes::OfWarps)).sum();
    assert!(together > 40_000, "only {together} accesses took no cells");
}

/// More times than a line has numbers for: those that no granule remembers any more are forgotten.
#[test]
fn a_line_of_lanes_alone_outlives_many_barriers() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut clocks = clocks();
    let mut both = Both::new();
    both.enter(1);
    for count in 0..1000 {
        let warp = count % 3;
        let record = record(LANES as u16 * warp, &clocks);
        let mut now = Now {
            record,
            clocks: &clocks,
            blocks: Apart(0),
            rank: 0,
            cluster: &[1],
            strengths: None,
            is_last: false,
        };
        let first = random.u32(0..32);
        let access = Access {
            kind: Kind::Store,
            lanes: 1 << (first / 4),
            first,
            shift: 0,
            is_shared: true,
        };
        assert!(!both.access(&mut now, &access));
        both.assert_equal();
        clocks.barrier(&[0, 1, 2]);
    }
    assert_eq!(both.together, 1000);
}
