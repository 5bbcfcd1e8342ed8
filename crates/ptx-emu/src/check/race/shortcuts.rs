//! Tests of the shortcuts of the race check against the way that they spare.

use super::cell::Cell;
use super::*;
use crate::registers::{LANES, lanes};

/// The order of blocks in which those below a number come before.
struct Below(u32);

impl BlockOrder for Below {
    fn is_before(&self, earlier: &Record) -> bool {
        earlier.block < self.0
    }

    fn orders_none(&self) -> bool {
        self.0 == 0
    }
}

fn clocks() -> Clocks {
    let mut clocks = Clocks::default();
    clocks.reset(1, 3, false);
    clocks
}

fn now<'a>(clocks: &'a Clocks, cluster: &'a [u32], warp: u16, below: u32) -> Now<'a, Below> {
    Now {
        record: Record {
            block: cluster[0],
            clock: clocks.now(warp.into()),
            pc: 0,
            lanes: 0,
            warp,
            strong: false,
            non_coherent: false,
        },
        clocks,
        blocks: Below(below),
        rank: 0,
        cluster,
        strengths: None,
        is_last: false,
    }
}

/// Checks the access of a lane by a cell, and notes it.
fn access(cell: &mut Cell, kind: Kind, now: &Now<Below>) -> Option<Conflict> {
    if kind == Kind::Load {
        return cell.load(now);
    }
    let conflict = cell.store_conflict(now);
    if conflict.is_none() {
        cell.note_store(now);
    }
    conflict
}

/// Lanes of a warp that access one granule by one instruction: the shortcut for all behind the
/// first gives what checking each of them gives.
#[test]
fn further_lanes_are_noted_as_if_each_were_checked() {
    let mut shortcuts = 0;
    for seed in 0..20_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut clocks = clocks();
        let (mut short, mut long) = (Cell::default(), Cell::default());
        'accesses: for _ in 0..random.u32(1..12) {
            match random.u32(0..8) {
                0 => clocks.barrier(&[0, 1, 2]),
                1 => clocks.barrier(&[0, 1]),
                2 => clocks.warp_barrier(random.usize(0..3), 0xffff, u32::MAX),
                _ => {}
            }
            let kind = [Kind::Load, Kind::Store][random.usize(0..2)];
            let cluster = [random.u32(1..4)];
            let below = if random.u32(0..4) == 0 { cluster[0] } else { 0 };
            let mut now = now(&clocks, &cluster, random.u16(0..3), below);
            now.record.pc = random.u32(0..3);
            now.record.strong = random.u32(0..4) > 0;
            now.is_last = kind == Kind::Store && now.record.strong && random.bool();
            let mask = random.u32(..)
                & if random.bool() {
                    u32::MAX
                } else {
                    random.u32(..)
                };
            for (count, lane) in lanes(mask).enumerate() {
                now.record.lanes = 1 << lane;
                let expected = access(&mut long, kind, &now);
                let found = if count > 0 && short.note_further(kind, &now) {
                    shortcuts += 1;
                    None
                } else {
                    access(&mut short, kind, &now)
                };
                assert_eq!(found, expected, "seed {seed}");
                assert_eq!(short, long, "seed {seed}");
                if found.is_some() {
                    break 'accesses;
                }
            }
        }
    }
    assert!(shortcuts > 100_000, "only {shortcuts}");
}

/// Single lanes that access a line between barriers of the whole block: a line that forgets what
/// was before such a barrier finds the same races as one that does not.
#[test]
fn a_line_that_forgets_at_barriers_finds_the_same() {
    let (mut races, mut clears) = (0, 0);
    for seed in 0..6000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut clocks = clocks();
        let [mut forgets, mut keeps] = [Line::default(), Line::default()];
        let mut interval = 0u8;
        let owned = random.u32(0..8) > 0;
        for _ in 0..random.u32(1..120) {
            match random.u32(0..12) {
                0 => {
                    clocks.barrier(&[0, 1, 2]);
                    assert!(clocks.have_all(&[0, 1, 2]));
                    interval = interval.wrapping_add(1);
                }
                1 if random.u32(0..4) == 0 => clocks.barrier(&[0, 1]),
                2 => clocks.warp_barrier(random.usize(0..3), u32::MAX, u32::MAX),
                _ => {}
            }
            let kind = [Kind::Load, Kind::Store][random.usize(0..2)];
            let (warp, lane) = (random.u16(0..3), random.usize(0..LANES));
            // Mostly a granule of its own until the next barrier.
            let own = (lane + usize::from(warp) * 11 + usize::from(interval)) % LANES;
            let granule = if owned && random.u32(0..32) > 0 {
                own as u64
            } else {
                random.u64(0..LINE)
            };
            let mut now = now(&clocks, &[7], warp, 7);
            now.record.pc = random.u32(0..5);
            let part = Part {
                granules: 1 << granule,
                map: LaneMap::same(1 << lane),
            };
            let [found, expected] =
                [(&mut forgets, interval), (&mut keeps, 0)].map(|(line, at)| {
                    now.record.lanes = 0;
                    let line = line.enter_shared(7, at);
                    if line.access(kind, &now, part) {
                        return None;
                    }
                    now.record.lanes = 1 << lane;
                    access(line.cell(granule), kind, &now)
                });
            assert_eq!(found, expected, "seed {seed}");
            clears += 1;
            if found.is_some() {
                races += 1;
                break;
            }
        }
    }
    assert!(races > 1000 && clears > 40_000, "{races} races, {clears}");
}
