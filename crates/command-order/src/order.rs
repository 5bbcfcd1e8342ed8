//! The order of commands: chains of them, and the host that sends them.
//!
//! The host is one: calls of several threads count as ordered as they came, because what threads
//! tell each other cannot be seen here. Other order comes from what callers state by
//! [`Order::wait`] and [`Order::host_waits`].

use std::sync::Arc;

use crate::clock::{Chain, Clock, Stamp};

/// A time: what is done then. Cheap to copy.
pub type Moment = Arc<Clock>;

#[derive(Debug, Default)]
struct State {
    /// All that is done before the chain's next command, its own earlier ones among it.
    clock: Clock,
    /// The number of its latest command.
    tick: u32,
    /// How often the host had waited when the chain took over what the host knows.
    seen: u64,
    /// The host does not know of all its commands that they are done.
    is_ahead: bool,
    /// It waits for more than its latest command did.
    waits_for_more: bool,
}

/// The order of commands. See the module.
#[derive(Debug, Default)]
pub struct Order {
    chains: Vec<State>,
    /// The commands that the host knows to be done.
    host: Moment,
    /// How often that has changed.
    waited: u64,
    /// The chains with commands that the host does not know to be done.
    ahead: Vec<Chain>,
}

impl Order {
    /// A new chain, without commands.
    pub fn chain(&mut self) -> Chain {
        let number = u32::try_from(self.chains.len()).expect("fewer chains than numbers");
        self.chains.push(State::default());
        Chain(number)
    }

    fn state(&mut self, chain: Chain) -> &mut State {
        &mut self.chains[chain.0 as usize]
    }

    /// The time that the host knows of now.
    #[must_use]
    pub fn host(&self) -> Moment {
        Arc::clone(&self.host)
    }

    /// Adds a command to a chain: behind the chain's others, and behind what the host knew when it
    /// sent it.
    pub fn command(&mut self, chain: Chain, sent: &Moment) -> Stamp {
        let (waited, is_now) = (self.waited, Arc::ptr_eq(sent, &self.host));
        let state = self.state(chain);
        // The chain knows already of all that it took over earlier.
        if !is_now || state.seen != waited {
            state.clock.join(sent);
            if is_now {
                state.seen = waited;
            }
        }
        state.tick += 1;
        state.waits_for_more = false;
        let stamp = Stamp {
            chain,
            tick: state.tick,
        };
        state.clock.add(stamp);
        if !std::mem::replace(&mut state.is_ahead, true) {
            self.ahead.push(chain);
        }
        stamp
    }

    /// The time at which all that a chain has now is done.
    #[must_use]
    pub fn moment(&self, chain: Chain) -> Moment {
        Arc::new(self.chains[chain.0 as usize].clock.clone())
    }

    /// Lets later commands of a chain wait for a time.
    pub fn wait(&mut self, chain: Chain, moment: &Clock) {
        let state = self.state(chain);
        state.clock.join(moment);
        state.waits_for_more = true;
    }

    /// Lets later commands of a chain wait for all that another has now.
    pub fn wait_for(&mut self, chain: Chain, other: Chain) {
        let from = self.state(other);
        let latest = Stamp {
            chain: other,
            tick: from.tick,
        };
        let waits_for_more = from.waits_for_more;
        // A chain that waits for its latest command waits for all that this waited for.
        if chain == other || !waits_for_more && self.state(chain).clock.has(latest) {
            return;
        }
        let taken = std::mem::take(&mut self.state(other).clock);
        self.wait(chain, &taken);
        self.state(other).clock = taken;
    }

    /// Lets the host wait for a time.
    pub fn host_waits(&mut self, moment: &Clock) {
        let host = Arc::make_mut(&mut self.host);
        host.join(moment);
        self.host_knows_more();
    }

    /// Lets the host wait for all that a chain has now.
    pub fn host_waits_for(&mut self, chain: Chain) {
        let clock = &self.chains[chain.0 as usize].clock;
        Arc::make_mut(&mut self.host).join(clock);
        self.host_knows_more();
    }

    fn host_knows_more(&mut self) {
        self.waited += 1;
        let (host, chains) = (&self.host, &mut self.chains);
        self.ahead.retain(|chain| {
            let state = &mut chains[chain.0 as usize];
            state.is_ahead = host.of(*chain) < state.tick;
            state.is_ahead
        });
    }

    /// Whether the host knows of every command that it is done.
    #[must_use]
    pub fn is_all_known(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Whether a command is done before the next one of a chain.
    #[must_use]
    pub fn is_before(&self, stamp: Stamp, chain: Chain) -> bool {
        let clock = &self.chains[chain.0 as usize].clock;
        clock.has(stamp)
    }

    /// Whether the host knows of a command that it is done.
    #[must_use]
    pub fn is_known(&self, stamp: Stamp) -> bool {
        self.host.has(stamp)
    }

    /// Makes clocks short again, once the host knows of every command that it is done: whatever
    /// comes is behind them. Moments of before stay valid.
    pub(crate) fn begin_again(&mut self) {
        debug_assert!(self.is_all_known());
        let known = std::mem::take(&mut self.host);
        for state in &mut self.chains {
            if !state.clock.is_empty() {
                state.clock.forget_known(&known);
            }
        }
        self.waited += 1;
    }
}
