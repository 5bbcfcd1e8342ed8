//! Holds a warp before a compare-and-swap until others have changed its word, and changed it back.
//!
//! A mistake such as the ABA problem shows only if a thread stops between its load of a word and
//! its compare-and-swap, for as long as others need for several operations. No order of turns by
//! chance does that often. In some orders one warp of the launch at a time is held there: a
//! priority-change point at an access that synchronises, as in probabilistic concurrency testing
//! (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
//! ASPLOS 2010). It goes on when the word has what it expects after it had something else, or when
//! it has been passed over for long.

use std::sync::{Mutex, PoisonError};

use crate::config::Schedule;
use crate::turn::Turns;

/// Turns for which a warp is held, at most.
const TURNS: std::ops::RangeInclusive<u32> = 64..=512;
/// Times that a warp of the launch is held, at most.
const TIMES: u32 = 256;

/// A warp at an instruction: its block, its number there, and the position.
pub(crate) type Held = (u64, usize, u32);

/// The warp of a launch that is held, if one is.
#[derive(Debug)]
pub(crate) struct Hold {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: fastrand::Rng,
    held: Option<Held>,
    /// Its word has had another value than the one that it expects.
    has_changed: bool,
    /// Turns for which it is still held.
    left: u32,
    /// Times that a warp has been held.
    times: u32,
}

impl Hold {
    /// Of a launch in whose order warps are held.
    pub(crate) fn of(schedule: Schedule) -> Option<Hold> {
        let Schedule::Random { seed } = schedule else {
            return None;
        };
        let holds = matches!(Turns::of(schedule), Turns::Stepwise | Turns::Short);
        holds.then(|| Hold {
            state: Mutex::new(State {
                random: fastrand::Rng::with_seed(seed ^ 0x6865_6c64_2062_6163),
                held: None,
                has_changed: false,
                left: 0,
                times: 0,
            }),
        })
    }

    /// Whether a warp waits once more before its compare-and-swap, whose word has what it expects
    /// or `is_other`.
    pub(crate) fn waits(&self, warp: Held, is_other: bool) -> bool {
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.held {
            None => {
                // One that would fail now has nothing to wait for.
                if is_other || state.times == TIMES || state.random.bool() {
                    return false;
                }
                state.times += 1;
                state.held = Some(warp);
                state.has_changed = false;
                state.left = state.random.u32(TURNS);
                true
            }
            Some(held) if held == warp => {
                state.has_changed |= is_other;
                state.left -= 1;
                let is_back = state.has_changed && !is_other;
                if is_back || state.left == 0 {
                    state.held = None;
                }
                state.held.is_some()
            }
            Some(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(seed: u64) -> Hold {
        Hold::of(Schedule::Random { seed }).expect("an order that holds warps")
    }

    #[test]
    fn one_warp_waits_until_its_word_is_as_it_was() {
        for base in 0..50 {
            let hold = hold(8 * base + 2);
            let (one, other) = ((0, 0, 7), (1, 0, 7));
            while !hold.waits(one, false) {}
            assert!(!hold.waits(other, false));
            assert!(hold.waits(one, true) && hold.waits(one, true));
            assert!(!hold.waits(one, false));
        }
    }

    #[test]
    fn nobody_waits_for_ever() {
        let hold = hold(4);
        let mut turns = 0;
        while hold.waits((0, 0, 7), false) || turns == 0 {
            turns += 1;
            assert!(turns <= 2000);
        }
        assert!(Hold::of(Schedule::Random { seed: 0 }).is_none());
        assert!(Hold::of(Schedule::InOrder).is_none());
    }
}
