//! Threads that wait for a change in memory, and are not run until there is one.
//!
//! A group of lanes that polls memory executes the same instructions over and over. If its
//! registers are at some poll what they were at the same poll before, and it has done nothing
//! meanwhile but load and compute, then it will go on like that until a word that it has loaded
//! changes: it is *parked*, and costs nothing. A group that counts its rounds, or looks at a clock,
//! is not parked. Weak loads count as polls in a block that has stored nothing for long: a wait by
//! them is a race with the store that ends it, which is found once that is made.
//!
//! So a wait takes the time of those who wait for something new, not of those who wait; a wait in
//! vain is found at once; and an order can be had in which someone runs only when all others wait
//! ([`Turns::Laggard`](crate::turn::Turns)).

use ptx::Space;

use crate::access::MemoryAccess;
use crate::memory::{SHARED_WINDOW, Words, rank_of, space_of};
use crate::polls::{MAX_WATCHED, Parked, Watched, fingerprint};
use crate::registers::{Row64, lanes};
use crate::runner::{At, BlockRunner};
use crate::warp::{State, Warp};

impl Warp {
    /// The addresses of a poll, before it is made, if they are to be noted.
    pub(crate) fn polled(&self, access: &MemoryAccess) -> Option<Row64> {
        let compares = self.spin.compares();
        compares.then(|| self.registers.addresses(&access.address))
    }
}

impl BlockRunner<'_> {
    /// A poll of memory that is about to be made. True if the group has been parked instead.
    pub(crate) fn park(&mut self, warp: &mut Warp, at: At, is_weak: bool) -> bool {
        let mask = warp.groups[at.group].mask;
        let Warp {
            spin, registers, ..
        } = &mut *warp;
        if !spin.poll(at.pc, mask, is_weak, || fingerprint(registers, mask)) {
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
            let address = access.generic(addresses[lane]);
            let step = access.width.min(8);
            for offset in (0..access.width).step_by(step as usize) {
                let mut word = Watched {
                    address: address + u64::from(offset),
                    bytes: step,
                    value: 0,
                };
                if warp.spin.watched.len() > MAX_WATCHED {
                    continue;
                }
                match self.peek(&word) {
                    Some(value) => word.value = value,
                    None => {
                        warp.spin.is_pure = false;
                        return;
                    }
                }
                // A word that has changed within the round is there with both values, so that the
                // group is not parked: it has acted on the one, and memory may have the other.
                if warp.spin.watched.last() != Some(&word) {
                    warp.spin.watched.push(word);
                }
            }
        }
    }

    /// The value of a word now; `None` if it is in memory of the thread's own, or in none.
    pub(crate) fn peek(&self, word: &Watched) -> Option<u64> {
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
        let mut warp = self.block.take_warp(index);
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
        self.block.put_back(index, warp);
    }

    /// True if some group waits for a change in memory that other clusters reach.
    pub(crate) fn waits_for_others(&self) -> bool {
        let parked = self.block.warps.iter().flat_map(|warp| &warp.parked);
        let mut words = parked.flat_map(|parked| &parked.watched);
        words.any(|word| space_of(word.address) == Space::Global)
    }

    /// True if some group waits for a change in memory.
    pub(crate) fn has_parked(&self) -> bool {
        let mut groups = self.block.warps.iter().flat_map(|warp| &warp.groups);
        groups.any(|group| group.state == State::Polling)
    }
}
