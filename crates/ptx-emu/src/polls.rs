//! A warp's memory of its polls: whether a group's last round of them was as the one before.
//! Module `spin` parks groups by it.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;

use crate::registers::{ALL, Registers, lanes};

/// Words that a round of polls may load.
pub(crate) const MAX_WATCHED: usize = 64;
/// Polls after which another poll begins the round: the first was not in the loop.
const LONGEST_ROUND: u32 = 16;
/// Most polls between two at which registers are compared; the same of weak loads. Most of these
/// are not polls.
const MAX_SKIPPED: u32 = 64;
const MAX_SKIPPED_WEAK: u32 = 4096;
/// Polls after which the lanes that run ahead stay the same.
const SETTLES: u32 = 64;

/// A word of memory, and what a poll has found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    /// The generic address.
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) value: u64,
}

/// The round of polls of the group that polled last.
#[derive(Debug, Default)]
pub(crate) struct Spin {
    /// The poll where the round began, and the lanes.
    start: u32,
    mask: u32,
    /// A fingerprint of the registers there; `None` if they were not looked at.
    registers: Option<u64>,
    pub(crate) watched: Vec<Watched>,
    /// The group has only polled and computed since.
    pub(crate) is_pure: bool,
    /// Rounds to go by before registers are compared again, and how many after that.
    skipped: u32,
    to_skip: u32,
    /// Polls since a group of the warp did anything else, and since the round began.
    polls: u32,
    since: u32,
}

/// Lanes that are parked, and what they wait to change.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) mask: u32,
    pub(crate) watched: Vec<Watched>,
}

impl Spin {
    /// True if the warp has polled for so long that its groups are to stay as they are, so that
    /// they can be parked.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_pure && self.polls > SETTLES
    }

    /// True if the registers were looked at where the round began.
    pub(crate) fn compares(&self) -> bool {
        self.is_pure && self.registers.is_some()
    }

    /// A poll of the lanes of a mask at a position, which is not made yet. True if the group is to
    /// be parked: it will poll the same again.
    pub(crate) fn poll(
        &mut self,
        pc: u32,
        mask: u32,
        is_weak: bool,
        registers: impl FnOnce() -> u64,
    ) -> bool {
        if !self.is_pure {
            self.polls = 0;
        }
        self.polls += 1;
        if !self.is_pure || self.mask != mask {
            (self.skipped, self.to_skip) = (0, 0);
            self.begin(pc, mask, None);
            return false;
        }
        if self.start != pc {
            self.since += 1;
            if self.since > LONGEST_ROUND {
                self.begin(pc, mask, None);
            }
            return false;
        }
        if self.skipped < self.to_skip {
            self.skipped += 1;
            self.begin(pc, mask, None);
            return false;
        }
        let now = registers();
        if self.registers == Some(now) && self.watched.len() <= MAX_WATCHED {
            return true;
        }
        if self.registers.is_some() {
            self.skipped = 0;
            let most = if is_weak {
                MAX_SKIPPED_WEAK
            } else {
                MAX_SKIPPED
            };
            self.to_skip = (2 * self.to_skip + 1).min(most);
        }
        self.begin(pc, mask, Some(now));
        false
    }

    /// Notes that the lanes of a mask have read each other's registers. Lanes that do not poll
    /// bring what they have done elsewhere.
    pub(crate) fn note_exchange(&mut self, lanes: u32) {
        self.is_pure &= self.mask == lanes;
    }

    fn begin(&mut self, pc: u32, mask: u32, registers: Option<u64>) {
        (self.start, self.mask, self.registers) = (pc, mask, registers);
        (self.is_pure, self.since) = (true, 0);
        self.watched.clear();
    }
}

/// A hash of the registers of some lanes.
pub(crate) fn fingerprint(registers: &Registers, mask: u32) -> u64 {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    let preds = registers.preds.iter().map(|pred| pred & mask);
    preds.for_each(|pred| hasher.write_u32(pred));
    if mask == ALL {
        hasher.write(bytemuck::cast_slice(&registers.rows32));
        hasher.write(bytemuck::cast_slice(&registers.rows64));
    } else {
        for row in &registers.rows32 {
            lanes(mask).for_each(|lane| hasher.write_u32(row[lane]));
        }
        for row in &registers.rows64 {
            lanes(mask).for_each(|lane| hasher.write_u64(row[lane]));
        }
    }
    hasher.finish()
}
