//! How much of each chain is known to be done.

/// A chain of commands: each waits for the one before, as those of a stream do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chain(pub(crate) u32);

/// One command: its chain, and its number there, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// The chain.
    pub chain: Chain,
    /// The number.
    pub tick: u32,
}

/// For each chain, how many of its commands are done for somebody: a vector clock. Chains without
/// any are left out, so that a program pays for those that it uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock(Vec<(Chain, u32)>);

impl Clock {
    /// How many commands of a chain are done.
    #[must_use]
    pub fn of(&self, chain: Chain) -> u32 {
        match self.0.binary_search_by_key(&chain, |(known, _)| *known) {
            Ok(at) => self.0[at].1,
            Err(_) => 0,
        }
    }

    /// Whether a command is done.
    #[must_use]
    pub fn has(&self, stamp: Stamp) -> bool {
        self.of(stamp.chain) >= stamp.tick
    }

    /// Lets a command, and all before it in its chain, be done.
    pub(crate) fn add(&mut self, stamp: Stamp) {
        match self
            .0
            .binary_search_by_key(&stamp.chain, |(known, _)| *known)
        {
            Ok(at) => self.0[at].1 = self.0[at].1.max(stamp.tick),
            Err(at) => self.0.insert(at, (stamp.chain, stamp.tick)),
        }
    }

    /// Lets all be done that is done for another.
    pub(crate) fn join(&mut self, other: &Clock) {
        for &(chain, tick) in &other.0 {
            self.add(Stamp { chain, tick });
        }
    }

    /// Leaves out the chains that another clock is as far in: they are known by other means.
    pub(crate) fn forget_known(&mut self, known: &Clock) {
        self.0.retain(|(chain, tick)| known.of(*chain) < *tick);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joined_clock_has_what_both_have() {
        let stamp = |chain, tick| Stamp {
            chain: Chain(chain),
            tick,
        };
        let (mut one, mut other) = (Clock::default(), Clock::default());
        one.add(stamp(3, 5));
        other.add(stamp(1, 2));
        other.add(stamp(3, 4));
        one.join(&other);
        assert!(one.has(stamp(1, 2)) && one.has(stamp(3, 5)));
        assert!(!one.has(stamp(1, 3)) && !one.has(stamp(2, 1)));
        one.forget_known(&other);
        assert_eq!(one.of(Chain(1)), 0);
        assert_eq!(one.of(Chain(3)), 5);
    }
}
