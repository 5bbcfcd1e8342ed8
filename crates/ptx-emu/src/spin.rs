//! Threads that wait for a change in memory, and are not run until there is one.
//!
//! A group of lanes that polls memory executes the same instructions over and over. If its
//! registers are at some poll what they were at the same poll before, and it has done nothing
//! meanwhile but load and compute, then it will go on like that until a word that it has loaded
//! changes: it is *parked*, and costs nothing. A group that counts its rounds, or looks at a clock,
//! is not parked.
//!
//! So a wait takes the time of those who wait for something new, not of those who wait; a wait in
//! vain is found at once; and an order can be had in which someone runs only when all others wait
//! ([`Turns::Laggard`](crate::turn::Turns)).

use std::hash::Hasher;

use ptx::Space;

use crate::access::MemoryAccess;
use crate::memory::{SHARED_WINDOW, Words, rank_of, space_of, window};
use crate::registers::{ALL, Registers, Row64, lanes};
use crate::runner::{At, BlockRunner};
use crate::warp::{State, Warp};

/// Words that a round of polls may load.
const MOST_WATCHED: usize = 64;
/// Polls after which another poll begins the round: the first was not in the loop.
const LONGEST_ROUND: u32 = 16;
/// Most polls between two at which registers are compared.
const MOST_SKIPPED: u32 = 64;
/// Polls after which the lanes that run ahead stay the same.
const SETTLES: u32 = 64;

/// A word of memory, and what a poll has found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watched {
    /// The generic address.
    address: u64,
    bytes: u32,
    value: u64,
}

/// The round of polls of the group that polled last.
#[derive(Debug, Default)]
pub(crate) struct Spin {
    /// The poll where the round began, and the lanes.
    start: u32,
    mask: u32,
    /// A fingerprint of the registers there; `None` if they were not looked at.
    registers: Option<u64>,
    watched: Vec<Watched>,
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
    mask: u32,
    watched: Vec<Watched>,
}

impl Spin {
    /// True if the warp has polled for so long that its groups are to stay as they are, so that
    /// they can be parked.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_pure && self.polls > SETTLES
    }

    /// A poll of the lanes of a mask at a position, which is not made yet. True if the group is to
    /// be parked: it will poll the same again.
    fn poll(&mut self, pc: u32, mask: u32, registers: impl FnOnce() -> u64) -> bool {
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
        if self.registers == Some(now) && self.watched.len() <= MOST_WATCHED {
            return true;
        }
        if self.registers.is_some() {
            self.skipped = 0;
            self.to_skip = (2 * self.to_skip + 1).min(MOST_SKIPPED);
        }
        self.begin(pc, mask, Some(now));
        false
    }

    fn begin(&mut self, pc: u32, mask: u32, registers: Option<u64>) {
        (self.start, self.mask, self.registers) = (pc, mask, registers);
        (self.is_pure, self.since) = (true, 0);
        self.watched.clear();
    }
}

/// A hash of the registers of some lanes.
fn fingerprint(registers: &Registers, mask: u32) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
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

impl Warp {
    /// The addresses of a poll, before it is made, if they are to be noted.
    pub(crate) fn polled(&self, access: &MemoryAccess) -> Option<Row64> {
        let compares = self.spin.is_pure && self.spin.registers.is_some();
        compares.then(|| self.registers.addresses(&access.address))
    }
}

impl BlockRunner<'_> {
    /// A poll of memory that is about to be made. True if the group has been parked instead.
    pub(crate) fn park(&mut self, warp: &mut Warp, at: At) -> bool {
        let mask = warp.groups[at.group].mask;
        let Warp {
            spin, registers, ..
        } = &mut *warp;
        if at.active != mask || !spin.poll(at.pc, mask, || fingerprint(registers, mask)) {
            return false;
        }
        let watched = std::mem::take(&mut spin.watched);
        spin.is_pure = false;
        if watched
            .iter()
            .any(|word| self.peek(word) != Some(word.value))
        {
            return false;
        }
        let group = &mut warp.groups[at.group];
        (group.state, group.pc) = (State::Polling, at.pc);
        warp.parked.push(Parked { mask, watched });
        true
    }

    /// Notes what a poll has found, or an update has left, at the addresses that it had.
    pub(crate) fn watch(
        &mut self,
        warp: &mut Warp,
        at: At,
        access: &MemoryAccess,
        addresses: Option<Row64>,
    ) {
        let Some(addresses) = addresses.filter(|_| warp.spin.is_pure) else {
            return;
        };
        for lane in lanes(at.active) {
            let address = match access.space {
                Space::Generic => addresses[lane],
                space => addresses[lane].wrapping_add(window(space)),
            };
            let step = access.width.min(8);
            for at in (0..access.width).step_by(step as usize) {
                let mut word = Watched {
                    address: address + u64::from(at),
                    bytes: step,
                    value: 0,
                };
                let is_known =
                    |known: &Watched| (known.address, known.bytes) == (word.address, step);
                let watched = &warp.spin.watched;
                if watched.last().is_some_and(is_known) || watched.len() > MOST_WATCHED {
                    continue;
                }
                match self.peek(&word) {
                    Some(value) => word.value = value,
                    None => {
                        warp.spin.is_pure = false;
                        return;
                    }
                }
                warp.spin.watched.push(word);
            }
        }
    }

    /// The value of a word now; `None` if it is in memory of the thread's own, or in none.
    fn peek(&self, word: &Watched) -> Option<u64> {
        match space_of(word.address) {
            Space::Shared => {
                let (rank, offset) = rank_of(word.address - SHARED_WINDOW);
                let memory = match rank {
                    None => &self.block.shared,
                    Some(rank) => self.cluster.memories.get(rank as usize)?,
                };
                let is_there = memory.contains(offset, word.bytes.into());
                is_there.then(|| memory.load(0, offset, word.bytes))
            }
            Space::Global => {
                let buffer = self.launch.memory.find(word.address, word.bytes.into())?;
                Some(buffer.load(0, word.address - buffer.base, word.bytes))
            }
            _ => None,
        }
    }

    /// Lets parked groups of a warp go on for which a word has changed.
    pub(crate) fn unpark(&mut self, index: usize) {
        if self.block.warps[index].parked.is_empty() {
            return;
        }
        let mut warp = std::mem::take(&mut self.block.warps[index]);
        warp.parked.retain(|parked| {
            let mut groups = warp.groups.iter_mut();
            let is_parked = |group: &&mut crate::warp::Group| {
                group.state == State::Polling && group.mask == parked.mask
            };
            // One that others have joined goes on anyhow.
            let Some(group) = groups.find(is_parked) else {
                return false;
            };
            let has_changed = |word: &Watched| self.peek(word) != Some(word.value);
            let goes_on = parked.watched.iter().any(has_changed);
            if goes_on {
                group.state = State::Ready;
            }
            !goes_on
        });
        self.block.warps[index] = warp;
    }

    /// True if some group waits for a change in memory.
    pub(crate) fn has_parked(&self) -> bool {
        let mut groups = self.block.warps.iter().flat_map(|warp| &warp.groups);
        groups.any(|group| group.state == State::Polling)
    }
}
