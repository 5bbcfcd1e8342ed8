//! Commands of a program that drives a GPU: what orders them, and which of them conflict.
//!
//! # Purpose
//!
//! Kernels, copies and fills run at the same time unless the program orders them. Two that access
//! the same bytes, at least one to write, without an order between them, are a race: the result
//! depends on which comes first. This crate is told of every command what it accesses and what it
//! waits for, and gives the races.
//!
//! ```
//! use command_order::{Commands, Manners};
//!
//! let mut commands = Commands::default();
//! let [one, other] = [commands.chain(), commands.chain()];
//! let sent = commands.host();
//!
//! let produce = commands.begin(one, &sent, "produce");
//! commands.access(produce, Manners::WRITES, 0x1000..0x2000);
//! assert!(commands.end().conflicts.is_empty());
//!
//! let consume = commands.begin(other, &sent, "consume");
//! commands.access(consume, Manners::READS, 0x1800..0x1900);
//! let conflicts = commands.end().conflicts;
//! assert_eq!(commands.label(conflicts[0].earlier), Some(&"produce"));
//! assert_eq!(conflicts[0].extent, 0x1800..0x1900);
//!
//! // An event, and a wait for it.
//! let recorded = commands.moment(one);
//! commands.wait(other, &recorded);
//! let again = commands.begin(other, &sent, "consume");
//! commands.access(again, Manners::READS, 0x1800..0x1900);
//! assert!(commands.end().conflicts.is_empty());
//! ```
//!
//! # Contract
//!
//! - **No false conflict.** Each is with an earlier command that accessed the bytes, in a manner
//!   that needs an order, and that is not done before the later one by what was stated.
//! - **None is missed altogether:** a command that conflicts with any earlier one has a conflict
//!   with one of them, by byte. Of several, it may be with those alone that come after the others.
//! - **It costs as programs synchronise.** Clocks have the chains in use; memory has the latest
//!   accesses of each byte, as pieces of pages; [`Commands::settle`] forgets everything that is
//!   known to be done.
//!
//! It knows nothing of CUDA: the rules of streams are with those who call it.
//!
//! # Spine
//!
//! | file | content |
//! |------|---------|
//! | `clock.rs`, `order.rs` | **what is done before what**: vector clocks of chains and the host |
//! | `memory.rs`, `bytes.rs` | the latest accesses of every byte; sets of bytes |
//! | `graph.rs` | graphs as chains |
//!
//! # Limits
//!
//! Host threads count as one, in the order of their calls.

mod bytes;
mod clock;
mod graph;
mod memory;
mod order;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

pub use bytes::{PAGE_BYTES, PageBits};
pub use clock::{Chain, Clock, Stamp};
pub use graph::paths;
pub use memory::{Conflict, Manners};
use memory::{Memory, New};
pub use order::Moment;
use order::Order;

/// The most conflicts of one command that are kept: more say nothing new.
const MOST_CONFLICTS: usize = 4096;

/// The commands of a program, each with a label of the caller's. See the crate.
#[derive(Debug)]
pub struct Commands<L> {
    order: Order,
    memory: Memory,
    /// The commands of each chain that a conflict may still be with, by number.
    labels: BTreeMap<Chain, VecDeque<(u32, L)>>,
    /// Memory that a command of a stream makes: until that is done, it may not be accessed.
    made: BTreeMap<u64, Made>,
    /// Those of the command that was begun last.
    found: Found,
}

/// The conflicts of a command, and the other commands that it may know of by memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Its conflicts, in the order in which they were found: a few thousand at most. An earlier
    /// command that makes the memory has no manners.
    pub conflicts: Vec<Conflict>,
    /// The commands that nothing orders before it and that have strongly written bytes that it
    /// strongly reads: with fences, they may be ordered by that.
    pub seen: Vec<Stamp>,
}

#[derive(Debug)]
struct Made {
    end: u64,
    stamp: Stamp,
}

impl<L> Default for Commands<L> {
    fn default() -> Commands<L> {
        Commands {
            order: Order::default(),
            memory: Memory::default(),
            labels: BTreeMap::new(),
            made: BTreeMap::new(),
            found: Found::default(),
        }
    }
}

/// Order.
impl<L> Commands<L> {
    /// A new chain, without commands.
    pub fn chain(&mut self) -> Chain {
        self.order.chain()
    }

    /// The commands that the host knows to be done now: one that it sends is behind them.
    #[must_use]
    pub fn host(&self) -> Moment {
        self.order.host()
    }

    /// The time at which all that a chain has now is done, as an event records it.
    #[must_use]
    pub fn moment(&self, chain: Chain) -> Moment {
        self.order.moment(chain)
    }

    /// Lets later commands of a chain wait for a time.
    pub fn wait(&mut self, chain: Chain, moment: &Clock) {
        self.order.wait(chain, moment);
    }

    /// Lets later commands of a chain wait for all that another has now.
    pub fn wait_for(&mut self, chain: Chain, other: Chain) {
        self.order.wait_for(chain, other);
    }

    /// Lets later commands of a chain wait for the commands that wrote these bytes last, as one
    /// does that waits for a value in memory. They count as done with all that their chains have
    /// now: that misses races, and makes none.
    pub fn wait_for_writers(&mut self, chain: Chain, range: Range<u64>) {
        for stamp in self.memory.writers(range) {
            self.order.wait_for(chain, stamp.chain);
        }
    }

    /// Lets the host wait for a time.
    pub fn host_waits(&mut self, moment: &Clock) {
        self.order.host_waits(moment);
    }

    /// Lets the host wait for all that a chain has now.
    pub fn host_waits_for(&mut self, chain: Chain) {
        self.order.host_waits_for(chain);
    }

    /// Forgets what cannot be part of a conflict any more, if the host knows of all commands that
    /// they are done. Commands that were sent before and begin later must not be left.
    pub fn settle(&mut self) {
        if self.order.is_all_known() {
            self.order.begin_again();
            self.memory.clear();
            self.labels.clear();
            self.made.clear();
        }
    }
}

/// Commands.
impl<L> Commands<L> {
    /// Begins a command of a chain, which the host has sent when it knew `sent`. What it accesses
    /// is to be told before another begins.
    pub fn begin(&mut self, chain: Chain, sent: &Moment, label: L) -> Stamp {
        let stamp = self.order.command(chain, sent);
        let labels = self.labels.entry(chain).or_default();
        // Those that the host knew are not compared with: later commands are behind them.
        while labels.front().is_some_and(|(tick, _)| {
            self.order.is_known(Stamp { chain, tick: *tick }) && labels.len() > 1
        }) {
            labels.pop_front();
        }
        labels.push_back((stamp.tick, label));
        self.found = Found::default();
        stamp
    }

    /// The command's label. `None` of one that is known to be done, and was forgotten.
    #[must_use]
    pub fn label(&self, stamp: Stamp) -> Option<&L> {
        let labels = self.labels.get(&stamp.chain)?;
        let at = labels.binary_search_by_key(&stamp.tick, |(tick, _)| *tick);
        at.ok().map(|at| &labels[at].1)
    }

    /// States that a command accesses a range of addresses.
    pub fn access(&mut self, stamp: Stamp, manners: Manners, range: Range<u64>) {
        self.made_before(stamp, &range);
        let (memory, order, found) = (&mut self.memory, &self.order, &mut self.found);
        let mut new = New {
            seen: &mut found.seen,
            stamp,
            manners,
            is_before: &|earlier| order.is_before(earlier, stamp.chain),
            found: &mut |conflict| push(&mut found.conflicts, conflict),
        };
        memory.add_range(range, &mut new);
    }

    /// States that a command accesses some bytes of the page at an address.
    pub fn access_bits(&mut self, stamp: Stamp, manners: Manners, address: u64, bits: &PageBits) {
        if !self.made.is_empty() {
            let first = bits.iter().position(|word| *word != 0).unwrap_or(0) as u64;
            let at = address + 64 * first;
            self.made_before(stamp, &(at..at + 1));
        }
        let (memory, order, found) = (&mut self.memory, &self.order, &mut self.found);
        let mut new = New {
            seen: &mut found.seen,
            stamp,
            manners,
            is_before: &|earlier| order.is_before(earlier, stamp.chain),
            found: &mut |conflict| push(&mut found.conflicts, conflict),
        };
        memory.add_bits(address, bits, &mut new);
    }

    /// Whether the host knows of a command that it is done.
    #[must_use]
    pub fn is_known(&self, stamp: Stamp) -> bool {
        self.order.is_known(stamp)
    }

    /// The conflicts of an access by the host itself, now, with commands of which it does not know
    /// that they are done.
    #[must_use]
    pub fn conflicts_of_host(&self, manners: Manners, range: Range<u64>) -> Vec<Conflict> {
        let is_known = |stamp| self.order.is_known(stamp);
        self.memory.conflicts(manners, range, is_known)
    }

    /// States that a command makes memory of this range, which nothing has accessed.
    pub fn make(&mut self, stamp: Stamp, range: Range<u64>) {
        let end = range.end;
        self.made.insert(range.start, Made { end, stamp });
    }

    /// States that a command ends the memory of this range. Accesses that are not done before are
    /// conflicts.
    pub fn unmake(&mut self, stamp: Stamp, range: Range<u64>) {
        self.made_before(stamp, &range);
        self.made.remove(&range.start);
        let (memory, order, found) = (&mut self.memory, &self.order, &mut self.found);
        let is_before = |earlier: Stamp| order.is_before(earlier, stamp.chain);
        memory.end(range, &is_before, &mut |conflict| {
            push(&mut found.conflicts, conflict);
        });
    }

    /// Forgets the accesses to this range: the host has ended its memory, after all that may use
    /// it.
    pub fn forget(&mut self, range: Range<u64>) {
        self.made.remove(&range.start);
        self.memory.end(range, &|_| true, &mut |_| ());
    }

    /// Ends the command that was begun last.
    pub fn end(&mut self) -> Found {
        std::mem::take(&mut self.found)
    }

    /// Notes a conflict with the command that makes this memory, if it is not done before.
    fn made_before(&mut self, stamp: Stamp, range: &Range<u64>) {
        let Some((start, made)) = self.made.range(..range.end).next_back() else {
            return;
        };
        let is_here = range.start < made.end && range.start >= *start;
        if is_here && made.stamp != stamp && !self.order.is_before(made.stamp, stamp.chain) {
            let conflict = Conflict {
                earlier: made.stamp,
                manners: Manners::default(),
                by: Manners::default(),
                extent: range.clone(),
                bytes: range.end - range.start,
            };
            push(&mut self.found.conflicts, conflict);
        }
    }
}

fn push(found: &mut Vec<Conflict>, conflict: Conflict) {
    if found.len() < MOST_CONFLICTS {
        found.push(conflict);
    }
}
