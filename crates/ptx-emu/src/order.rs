//! The order in which the blocks of a launch start.

use crate::config::Schedule;
use crate::turn::{Turns, laggards};

/// `most` of the blocks (or clusters), if there are more: the first and the last two, and between
/// them pairs of neighbours, each at a place in its part of the grid that follows from the seed.
fn chosen(blocks: u64, most: Option<u64>, seed: u64) -> Option<Vec<u32>> {
    let most = most.filter(|&most| most < blocks)?;
    let pairs = (most / 2).max(1);
    let (inner, between) = (pairs.saturating_sub(2), blocks.saturating_sub(4));
    let mut random = fastrand::Rng::with_seed(seed ^ blocks);
    let starts = (0..pairs).map(|pair| match pair {
        0 => 0,
        _ if pair == pairs - 1 => blocks - 2,
        // More than two for each: no two pairs meet.
        _ => {
            let of = |part: u64| 2 + part * between / inner;
            random.u64(of(pair - 1)..=of(pair) - 2)
        }
    });
    let chosen = starts.flat_map(|first| [first as u32, first as u32 + 1]);
    Some(chosen.take(most.max(1) as usize).collect())
}

/// The blocks (or clusters) that run, in the order in which they start.
#[derive(Debug)]
pub(crate) struct Order {
    len: u64,
    /// How many there are, with those that do not run.
    all: u64,
    /// Those that run, if not all do.
    chosen: Option<Vec<u32>>,
    shuffle: Option<Shuffle>,
}

impl Order {
    /// `choice` is the seed of those that run, if not all do.
    pub(crate) fn new(schedule: Schedule, blocks: u64, most: Option<u64>, choice: u64) -> Self {
        let chosen = chosen(blocks, most, choice);
        let len = chosen.as_ref().map_or(blocks, |chosen| chosen.len() as u64);
        let shuffle = match schedule {
            Schedule::InOrder => None,
            Schedule::Random { seed } => Some(Shuffle::new(
                len,
                match Turns::of(schedule) {
                    Turns::Laggard => laggards(seed).0,
                    _ => seed,
                },
            )),
        };
        Self {
            len,
            all: blocks,
            chosen,
            shuffle,
        }
    }

    /// How many there are, with those that do not run.
    pub(crate) fn all(&self) -> u64 {
        self.all
    }

    /// How many run.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The one that starts at a position below [`Order::len`].
    pub(crate) fn at(&self, position: u64) -> u64 {
        let position = self
            .shuffle
            .as_ref()
            .map_or(position, |shuffle| shuffle.at(position));
        match &self.chosen {
            Some(chosen) => chosen[position as usize].into(),
            None => position,
        }
    }
}

/// A random order of the numbers below `len`, which takes no memory: a Feistel network over the
/// next power of 4, whose values beyond `len` are mapped again.
#[derive(Debug)]
struct Shuffle {
    len: u64,
    half_bits: u32,
    keys: [u64; 4],
    is_reversed: bool,
}

impl Shuffle {
    /// The order of a seed. Seeds that differ in the last bit alone give opposite orders.
    fn new(len: u64, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed >> 1);
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        Self {
            len,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| random.u64(..)),
            is_reversed: seed & 1 == 1,
        }
    }

    fn at(&self, position: u64) -> u64 {
        let mut at = if self.is_reversed {
            self.len - 1 - position
        } else {
            position
        };
        let mask = (1 << self.half_bits) - 1;
        loop {
            let (mut left, mut right) = (at >> self.half_bits, at & mask);
            for key in self.keys {
                let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (left, right) = (right, left ^ (mixed >> 32 & mask));
            }
            at = left << self.half_bits | right;
            if at < self.len {
                return at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_blocks_are_pairs_from_the_first_to_the_last() {
        assert_eq!(chosen(100, Some(4), 1).unwrap(), [0, 1, 98, 99]);
        assert_eq!(chosen(100, Some(2), 1).unwrap(), [0, 1]);
        assert_eq!(chosen(2, Some(1), 1).unwrap(), [0]);
        assert_eq!(chosen(7, Some(7), 1), None);
        assert_eq!(chosen(7, None, 1), None);
        for (blocks, most) in [(5, 4), (7, 6), (9, 8), (65, 64), (1 << 31, 64)] {
            for seed in 0..100 {
                let of = chosen(blocks, Some(most), seed).unwrap();
                assert_eq!(of.len() as u64, most);
                assert_eq!(of[..2], [0, 1]);
                assert_eq!(u64::from(*of.last().unwrap()), blocks - 1);
                assert!(of.is_sorted_by(|a, b| a < b), "{blocks}, {most}: {of:?}");
                assert!(of.chunks(2).all(|pair| pair[1] == pair[0] + 1));
            }
        }
    }

    #[test]
    fn every_block_is_chosen_by_some_seed() {
        let chosen = |seed| chosen(300, Some(64), seed).unwrap();
        let all: std::collections::BTreeSet<u32> = (0..500).flat_map(chosen).collect();
        assert_eq!(all.len(), 300);
    }

    #[test]
    fn a_random_order_has_each_chosen_block_once() {
        let in_order = |seed, blocks, most| {
            let order = Order::new(Schedule::Random { seed }, blocks, most, 1);
            let all = (0..order.len()).map(|position| order.at(position));
            all.collect::<Vec<_>>()
        };
        let chosen: Vec<u64> = chosen(1 << 30, Some(10), 1)
            .unwrap()
            .into_iter()
            .map(u64::from)
            .collect();
        for (blocks, most, all) in [
            (1 << 30, Some(10), chosen),
            (1, None, vec![0]),
            (2, None, vec![0, 1]),
            (1000, None, (0..1000).collect()),
        ] {
            let mut order = in_order(2, blocks, most);
            let mut opposite = in_order(3, blocks, most);
            opposite.reverse();
            assert_eq!(order, opposite);
            assert!(blocks < 3 || order != all && order != in_order(8, blocks, most));
            order.sort_unstable();
            assert_eq!(order, all);
        }
    }

    #[test]
    fn both_orders_of_two_blocks_occur() {
        let first = |seed| Order::new(Schedule::Random { seed }, 2, None, 1).at(0);
        assert!((0..64).map(|k| first(2 * k)).sum::<u64>().abs_diff(32) < 16);
    }
}
