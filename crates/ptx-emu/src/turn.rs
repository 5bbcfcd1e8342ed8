//! The turn of a block, and how turns are dealt.

use crate::chance;
use crate::config::Schedule;

/// The bits of a seed that say how turns are dealt.
pub(crate) const KIND: u64 = 7;
/// Kinds of order with a laggard, the last ones.
const LAGGARDS: u64 = 3;

/// Warp instructions of a block without a store after which its weak loads count as polls.
const QUIET: u64 = 1 << 18;

/// How turns are dealt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turns {
    /// To warps and blocks in order of their index.
    InOrder,
    /// In a random order: one after the other, as far as each can go.
    Sequential,
    /// In a random order: each up to the next access that may communicate with other threads.
    Stepwise,
    /// By chance, short ones that end anywhere.
    Short,
    /// In a random order, but one warp and one block have theirs only when all others wait.
    Laggard,
}

impl Turns {
    pub(crate) fn of(schedule: Schedule) -> Self {
        match schedule {
            Schedule::InOrder => Self::InOrder,
            Schedule::Random { seed } => match seed & KIND {
                0 | 1 => Self::Sequential,
                2 | 3 => Self::Stepwise,
                4 => Self::Short,
                _ => Self::Laggard,
            },
        }
    }
}

/// Seeds that differ in the last bits alone give three orders with a laggard, which have the rest
/// in common: this is the seed of that, and the number of the order.
pub(crate) fn laggards(seed: u64) -> (u64, u64) {
    let first = KIND - (LAGGARDS - 1);
    (seed | KIND, (seed & KIND).saturating_sub(first))
}

/// The laggard of `count` blocks or warps in an order of this number, if `first` is that of the
/// first order: one of three that are far apart.
pub(crate) fn laggard(number: u64, first: u64, count: u64) -> u64 {
    (first + (number * count).div_ceil(LAGGARDS)) % count
}

/// The turn of a block: how far it is, when it ends, and what others wait for.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Warp instructions that the block has executed.
    pub(crate) executed: u64,
    /// `executed` at which the turn ends.
    pub(crate) end: u64,
    /// Polls after which a warp's turn ends, so that others may do what it waits for, or come
    /// between.
    pub(crate) patience: u32,
    /// Instructions of the block that may wait for others: strong accesses, atomics, fences,
    /// sleeps.
    pub(crate) polls: u64,
    /// The access being made has read a value that is not the latest.
    pub(crate) has_read_late: bool,
    /// Instructions that may have changed what others wait for: stores to memory that they share,
    /// and updates that make a difference.
    pub(crate) changes: u64,
    /// Times that a warp has computed for long without a poll: it does not wait for others.
    pub(crate) computed: u64,
    /// `executed` at the latest store.
    pub(crate) stored_at: u64,
    /// Warp instructions since the last of these, while a laggard waits for its turn.
    pub(crate) idle: u64,
    /// The random order of turns.
    pub(crate) random: fastrand::Rng,
    /// The random order of warps, for long turns.
    pub(crate) warp_order: Vec<usize>,
}

impl Turn {
    pub(crate) fn new(patience: u32) -> Self {
        Self {
            executed: 0,
            end: 0,
            patience,
            polls: 0,
            has_read_late: false,
            changes: 0,
            computed: 0,
            stored_at: 0,
            idle: 0,
            random: fastrand::Rng::with_seed(0),
            warp_order: Vec::new(),
        }
    }

    /// True if the block has stored nothing for so long that its weak loads may wait for others.
    pub(crate) fn is_quiet(&self) -> bool {
        self.executed - self.stored_at > QUIET
    }

    /// Begins the turns of a block of this many warps.
    pub(crate) fn start(&mut self, schedule: Schedule, block: u64, warps: usize) {
        (self.executed, self.stored_at, self.idle) = (0, 0, 0);
        let Schedule::Random { seed } = schedule else {
            return;
        };
        let of_block = block.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let turns = Turns::of(schedule);
        let (seed, number) = match turns {
            Turns::Laggard => laggards(seed),
            _ => (seed, 0),
        };
        self.warp_order.clear();
        if turns != Turns::Short {
            self.random = fastrand::Rng::with_seed(seed >> 1 ^ of_block);
            self.warp_order.extend(0..warps);
            chance::shuffle(&mut self.random, &mut self.warp_order);
            if seed & 1 == 1 {
                self.warp_order.reverse();
            }
            if turns == Turns::Laggard {
                let last = laggard(number, warps as u64 - 1, warps as u64);
                self.warp_order.swap(last as usize, warps - 1);
            }
        }
        self.random = fastrand::Rng::with_seed(seed ^ of_block);
    }
}
