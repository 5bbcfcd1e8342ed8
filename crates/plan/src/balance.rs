//! How many chunks tiles are cut into, so that all multiprocessors finish at about the same time.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Tiles that are alike: each computes `planes` planes, in some chunks, and a chunk is a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// How many there are.
    pub tiles: u32,
    /// The planes of each.
    pub planes: u32,
    /// The time of a plane, in any unit.
    pub cost: u32,
}

/// The rest that a block's time depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks that run at once: those of all multiprocessors.
    pub at_once: u32,
    /// The planes whose time a block takes beside that of those that it writes.
    pub extra: u32,
    /// The largest number of chunks of a tile.
    pub most: u32,
    /// The largest number of planes of a chunk, unless that takes too many chunks.
    pub longest: u32,
    /// The number of planes below which a tile is not cut further: where a GPU is not filled
    /// anyway, the planes that each chunk adds cost more than they save.
    pub shortest: u32,
}

/// How tiles are cut into chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// All of them alike, in this number of chunks, so that one group has all blocks.
    Alike(u32),
    /// Each kind by itself, in the order in which the blocks are to start, the longest ones first:
    /// the kind's position, and its number of chunks. Kinds without tiles or planes are left out.
    Apart(Vec<(usize, u32)>),
}

impl Cut {
    /// The groups of blocks in the order in which they are to start, each with its number of
    /// chunks: `whole`, which has all tiles, or else those of `kinds`, in which each kind has the
    /// position that it had among the tiles.
    pub fn of<G: Copy>(&self, whole: G, kinds: &[G]) -> Vec<(G, u32)> {
        match self {
            Cut::Alike(chunks) => vec![(whole, *chunks)],
            Cut::Apart(apart) => {
                let apart = apart.iter();
                apart.map(|&(kind, chunks)| (kinds[kind], chunks)).collect()
            }
        }
    }
}

/// Kinds of tiles, each with its position and its number of chunks.
type Kinds = Vec<(usize, Tiles, u32)>;

/// How much sooner, in percent, all must be finished for kinds to be cut apart: the blocks of
/// neighbouring tiles then no longer run at the same time, and share fewer reads in L2.
const WORTH_PERCENT: u64 = 3;

/// The cut with which all tiles are finished first.
///
/// Blocks start in their order, and each when one before it ends, as on a GPU. For each longest
/// time that a block may take, every kind is cut as little as it must; the time that wins is the
/// one with which the last block ends first, and with equal ends the one with the fewest blocks.
/// Equal numbers of chunks for all are tried, too, and taken unless others are clearly better.
///
/// ```
/// use plan::balance::{Blocks, Cut, Tiles, cut};
///
/// // 100 planes; a plane of the two tiles at the ends takes half as long again.
/// let ends = Tiles { tiles: 2, planes: 100, cost: 150 };
/// let inner = Tiles { tiles: 2, planes: 100, cost: 100 };
/// let blocks = Blocks { at_once: 10, extra: 4, most: 16, longest: 128, shortest: 1 };
/// // Cut alike, each in two, the slow ones would end when 81 of the others' planes have passed.
/// let apart = cut(&[inner, ends], blocks);
/// assert_eq!(apart, Cut::Apart(vec![(1, 3), (0, 2)]));
/// assert_eq!(apart.of("all", &["inner", "ends"]), [("ends", 3), ("inner", 2)]);
/// assert_eq!(cut(&[inner], blocks), Cut::Alike(5));
/// ```
pub fn cut(tiles: &[Tiles], blocks: Blocks) -> Cut {
    let kinds = kinds(tiles);
    let most = kinds.iter().map(|&(_, kind)| blocks.most(kind)).max();
    let fewest = kinds.iter().map(|&(_, kind)| blocks.fewest(kind)).max();
    let alike = (fewest.unwrap_or(1)..=most.unwrap_or(1))
        .filter_map(|chunks| blocks.with(&kinds, |kind| Some(chunks.min(blocks.most(kind)))));
    let Some((alike_end, alike)) = blocks.soonest(alike) else {
        return Cut::Alike(1);
    };
    let is_worth = |&(end, _): &(u64, Kinds)| 100 * end < (100 - WORTH_PERCENT) * alike_end;
    let apart = blocks.cuts_apart(&kinds).into_iter();
    match blocks.soonest(apart).filter(is_worth) {
        Some((_, apart)) => Cut::Apart(chunks_of(apart)),
        None => Cut::Alike(alike.iter().map(|&(.., chunks)| chunks).max().unwrap_or(1)),
    }
}

/// The cut of kinds that have launches of their own, which run side by side: each kind's position
/// and number of chunks, in the order in which they are to start. The first kind of `tiles` comes
/// first: its tiles start together, and so its neighbours share reads in L2. The others follow, the
/// longest blocks first. Kinds without tiles or planes are left out.
///
/// Whatever a kind leaves idle at its end, the next one fills. So a kind is not cut to be balanced
/// by itself, and has fewer chunks.
///
/// ```
/// use plan::balance::{Blocks, Tiles, side_by_side};
///
/// // Twelve tiles for eight multiprocessors: by themselves, each best in two chunks.
/// let inner = Tiles { tiles: 12, planes: 100, cost: 100 };
/// let ends = Tiles { tiles: 8, planes: 50, cost: 100 };
/// let blocks = Blocks { at_once: 8, extra: 4, most: 16, longest: u32::MAX, shortest: 1 };
/// assert_eq!(side_by_side(&[inner], blocks), [(0, 2)]);
/// // Beside others that fill the second round, none.
/// assert_eq!(side_by_side(&[inner, ends], blocks), [(0, 1), (1, 1)]);
/// ```
pub fn side_by_side(tiles: &[Tiles], blocks: Blocks) -> Vec<(usize, u32)> {
    let kinds = kinds(tiles);
    let Some((&(position, first), others)) = kinds.split_first() else {
        return Vec::new();
    };
    let of_others = blocks.cuts_apart(others);
    let chunks = blocks.fewest(first)..=blocks.most(first);
    let cuts = chunks.flat_map(|chunks| {
        of_others.iter().map(move |cut| {
            let mut all = vec![(position, first, chunks)];
            all.extend_from_slice(cut);
            all
        })
    });
    let soonest = blocks.soonest(cuts);
    soonest.map(|(_, cut)| chunks_of(cut)).unwrap_or_default()
}

/// Those that have tiles and planes.
fn kinds(tiles: &[Tiles]) -> Vec<(usize, Tiles)> {
    let all = tiles.iter().copied().enumerate();
    all.filter(|(_, kind)| kind.tiles > 0 && kind.planes > 0)
        .collect()
}

fn chunks_of(cut: Kinds) -> Vec<(usize, u32)> {
    let chunks = |(position, _, chunks)| (position, chunks);
    cut.into_iter().map(chunks).collect()
}

impl Blocks {
    /// A time before which the last block cannot end: that of the longest one, and an equal share
    /// of all.
    fn earliest_end(self, cut: &[(usize, Tiles, u32)]) -> u64 {
        let longest = cut
            .iter()
            .map(|&(_, kind, chunks)| self.longest(kind, chunks));
        let work = cut.iter().map(|&(_, kind, chunks)| {
            let planes = u64::from(kind.planes) + u64::from(chunks) * u64::from(self.extra);
            u64::from(kind.tiles) * u64::from(kind.cost) * planes
        });
        let share = work.sum::<u64>() / u64::from(self.at_once.max(1));
        longest.max().unwrap_or(0).max(share)
    }

    /// The kinds with these numbers of chunks, the longest blocks first, unless one has none.
    fn with(
        self,
        kinds: &[(usize, Tiles)],
        chunks: impl Fn(Tiles) -> Option<u32>,
    ) -> Option<Kinds> {
        let cut = |&(position, kind): &(usize, Tiles)| Some((position, kind, chunks(kind)?));
        let mut cut: Kinds = kinds.iter().map(cut).collect::<Option<_>>()?;
        self.longest_first(&mut cut);
        Some(cut)
    }

    /// For each longest time that a block may take, the cut with which every kind is cut as little
    /// as it must. Without kinds, that of none.
    fn cuts_apart(self, kinds: &[(usize, Tiles)]) -> Vec<Kinds> {
        let times: BTreeSet<u64> = kinds
            .iter()
            .flat_map(|&(_, kind)| {
                let chunks = self.fewest(kind)..=self.most(kind);
                chunks.map(move |chunks| self.longest(kind, chunks))
            })
            .collect();
        if times.is_empty() {
            return vec![Kinds::new()];
        }
        let cuts = times
            .into_iter()
            .filter_map(|limit| self.with(kinds, |kind| self.chunks_within(kind, limit)));
        cuts.collect()
    }

    fn most(self, kind: Tiles) -> u32 {
        let most = self.most.min(kind.planes.div_ceil(self.shortest.max(1)));
        most.clamp(1, kind.planes)
    }

    fn fewest(self, kind: Tiles) -> u32 {
        kind.planes
            .div_ceil(self.longest.max(1))
            .min(self.most(kind))
    }

    /// The first of these cuts of those that end soonest and have the fewest blocks, and its end.
    /// Blocks start in a cut's order.
    fn soonest(self, cuts: impl Iterator<Item = Kinds>) -> Option<(u64, Kinds)> {
        let mut best: Option<((u64, u64), Kinds)> = None;
        for cut in cuts {
            if best
                .as_ref()
                .is_some_and(|(best, _)| self.earliest_end(&cut) > best.0)
            {
                continue;
            }
            let number = |&(_, kind, chunks): &(usize, Tiles, u32)| {
                u64::from(kind.tiles) * u64::from(chunks)
            };
            let key = (self.end(&cut), cut.iter().map(number).sum());
            if best.as_ref().is_none_or(|(best, _)| key < *best) {
                best = Some((key, cut));
            }
        }
        best.map(|((end, _), cut)| (end, cut))
    }

    /// The time of the longest of a tile's blocks.
    fn longest(self, kind: Tiles, chunks: u32) -> u64 {
        u64::from(kind.cost) * u64::from(kind.planes.div_ceil(chunks) + self.extra)
    }

    /// The least number of chunks with which no block takes longer.
    fn chunks_within(self, kind: Tiles, limit: u64) -> Option<u32> {
        (self.fewest(kind)..=self.most(kind)).find(|&chunks| self.longest(kind, chunks) <= limit)
    }

    fn longest_first(self, cut: &mut [(usize, Tiles, u32)]) {
        cut.sort_by_key(|&(_, kind, chunks)| Reverse(self.longest(kind, chunks)));
    }

    /// When the last block ends, if they start in this order.
    fn end(self, cut: &[(usize, Tiles, u32)]) -> u64 {
        let mut free: BinaryHeap<Reverse<u64>> =
            (0..self.at_once.max(1)).map(|_| Reverse(0)).collect();
        let mut last = 0;
        for &(_, kind, chunks) in cut {
            let start = |chunk: u32| u64::from(kind.planes) * u64::from(chunk) / u64::from(chunks);
            for number in 0..chunks {
                let planes = start(number + 1) - start(number) + u64::from(self.extra);
                for _ in 0..kind.tiles {
                    let mut next = free.peek_mut().expect("one at least");
                    next.0 += u64::from(kind.cost) * planes;
                    last = last.max(next.0);
                }
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(tiles: u32, planes: u32, cost: u32) -> Tiles {
        Tiles {
            tiles,
            planes,
            cost,
        }
    }

    fn blocks(at_once: u32, extra: u32) -> Blocks {
        Blocks {
            at_once,
            extra,
            most: 16,
            longest: 128,
            shortest: 1,
        }
    }

    fn end(tiles: &[Tiles], blocks: Blocks, chosen: &Cut) -> u64 {
        let mut kinds: Kinds = match chosen {
            Cut::Alike(chunks) => (0..tiles.len())
                .map(|position| (position, tiles[position], *chunks))
                .collect(),
            Cut::Apart(chosen) => chosen
                .iter()
                .map(|&(position, chunks)| (position, tiles[position], chunks))
                .collect(),
        };
        blocks.longest_first(&mut kinds);
        blocks.end(&kinds)
    }

    #[test]
    fn it_is_never_worse_than_chunks_of_one_length() {
        for planes in [5, 64, 192, 333] {
            for blocks in [blocks(132, 9), blocks(16, 9), blocks(1, 4), blocks(132, 0)] {
                let tiles = [
                    kind(12, planes, 100),
                    kind(12, planes, 140),
                    kind(4, planes, 150),
                ];
                let chosen = cut(&tiles, blocks);
                let best = (planes.div_ceil(128)..=16.min(planes))
                    .map(|chunks| end(&tiles, blocks, &Cut::Alike(chunks)))
                    .min();
                assert!(
                    end(&tiles, blocks, &chosen) <= best.unwrap(),
                    "{planes} {blocks:?}"
                );
            }
        }
    }

    #[test]
    fn tiles_of_a_wave_are_cut_by_their_cost() {
        // 4 x 8 tiles of 192 planes: with four chunks each they are one wave of 132 blocks, whose
        // slowest take 1.5 (48 + 9).
        let tiles = [
            kind(12, 192, 100),
            kind(4, 192, 140),
            kind(12, 192, 120),
            kind(4, 192, 150),
        ];
        let chosen = cut(&tiles, blocks(132, 9));
        assert!(
            end(&tiles, blocks(132, 9), &chosen) < 150 * (48 + 9) * 9 / 10,
            "{chosen:?}"
        );
    }

    #[test]
    fn a_small_gain_does_not_part_neighbours() {
        // 180 tiles, 15 of them with the source: seven waves either way.
        let tiles = [kind(15, 510, 125), kind(165, 510, 100)];
        let blocks = Blocks {
            most: 64,
            ..blocks(132, 8)
        };
        assert_eq!(cut(&tiles, blocks), Cut::Alike(5));
    }

    #[test]
    fn chunks_are_at_most_as_long_as_is_said() {
        let tiles = [kind(12, 1000, 100), kind(200, 1000, 140)];
        let cut = cut(&tiles, blocks(132, 9));
        let fewest = match cut {
            Cut::Alike(chunks) => chunks,
            Cut::Apart(chosen) => chosen.iter().map(|&(_, chunks)| chunks).min().unwrap(),
        };
        assert!(fewest >= 8, "{fewest}");
    }

    /// 512^3 points of the 25-point stencil in one pass on 132 multiprocessors: by itself, the box
    /// deep inside is best in chunks; beside the shell's boxes, it is not cut.
    #[test]
    fn what_one_kind_leaves_idle_the_others_fill() {
        let deep = kind(180, 472, 122);
        let shell = [
            (13, 512, 235),
            (13, 512, 235),
            (12, 512, 200),
            (12, 512, 200),
        ];
        let shell = shell.map(|(tiles, planes, cost)| kind(tiles, planes, cost));
        let ends = [kind(240, 20, 155); 2];
        let all: Vec<Tiles> = [deep].into_iter().chain(shell).chain(ends).collect();
        let blocks = Blocks {
            longest: u32::MAX,
            ..blocks(132, 16)
        };
        let by_itself = side_by_side(&[deep], blocks);
        assert!(by_itself[0].1 > 1, "{by_itself:?}");
        let order = side_by_side(&all, blocks);
        assert_eq!(order[0], (0, 1));
        let kinds: Kinds = order
            .iter()
            .map(|&(position, chunks)| (position, all[position], chunks))
            .collect();
        let alone = all.iter().map(|&kind| {
            let chunks = side_by_side(&[kind], blocks)[0].1;
            blocks.end(&[(0, kind, chunks)])
        });
        let one_after_another: u64 = alone.sum();
        // The least time that these blocks can take.
        let share = blocks.earliest_end(&kinds);
        assert!(100 * blocks.end(&kinds) < 104 * share);
        assert!(100 * blocks.end(&kinds) < 92 * one_after_another);
    }

    #[test]
    fn nothing_to_do_is_not_cut() {
        assert_eq!(cut(&[], blocks(132, 9)), Cut::Alike(1));
        let none = [kind(0, 9, 1), kind(9, 0, 1)];
        assert_eq!(cut(&none, blocks(132, 9)), Cut::Alike(1));
    }
}
