//! Timing runs in another allocation of their buffers: how much of a time is due to where the
//! buffers lie.

use std::time::{Duration, Instant};

use stats::{SamplingRule, Summary};

use super::{Sampled, Short, Turn, each};
use crate::perf::timed_run::TimedRun;
use crate::perf::watch::Watch;

/// Turns of a run in one of several allocations, the last that it takes.
const TURNS_ELSEWHERE: usize = 3;
/// Turns within this time come before them: memory was allocated and written meanwhile, and clocks
/// went down.
const SETTLE_ELSEWHERE: Duration = Duration::from_millis(50);
/// A device at its power cap lowers its clocks after the pause by more than it has to, and needs
/// half a second to find the highest ones. Turns go on until the last are this near to each other,
const ALIKE_ELSEWHERE: f64 = 0.01;
/// or for this time.
const PATIENCE_ELSEWHERE: Duration = Duration::from_millis(600);

/// The medians of a few runs each in turns: how long these take in their memory. None for a run
/// that fails, or was never at full speed.
pub fn medians(runs: Vec<(TimedRun<'_>, Watch)>, rule: SamplingRule) -> Vec<Option<f64>> {
    let mut turns: Vec<Turn<'_>> = runs
        .into_iter()
        .map(|(run, watch)| {
            let sampled = Sampled::new(run, watch, rule);
            sampled.map_or_else(Turn::Failed, Turn::short)
        })
        .collect();
    let began = Instant::now();
    loop {
        each(&mut turns, Short::isolated);
        let is_settled = began.elapsed() >= SETTLE_ELSEWHERE;
        if is_settled || !turns.iter().any(Turn::is_short) {
            break;
        }
    }
    each(&mut turns, |short| {
        short.turns_s.clear();
        Ok(())
    });
    loop {
        each(&mut turns, Short::isolated);
        let is_over = began.elapsed() >= PATIENCE_ELSEWHERE;
        if !turns.iter().any(|turn| is_unsettled(turn, is_over)) {
            break;
        }
    }
    let medians = turns.into_iter().map(|turn| match turn {
        Turn::Short(short) => {
            let counted = counted(&short.turns_s);
            (!counted.is_empty()).then(|| Summary::new(counted).median_s)
        }
        Turn::Long(_) | Turn::Failed(_) => None,
    });
    medians.collect()
}

/// Whether a run's last turns do not count yet; once the time `is_over`, they need not be alike.
fn is_unsettled(turn: &Turn<'_>, is_over: bool) -> bool {
    let Turn::Short(short) = turn else {
        return false;
    };
    if is_over {
        short.turns_s.len() < TURNS_ELSEWHERE
    } else {
        !are_alike(&short.turns_s)
    }
}

/// The turns that count in one of several allocations.
fn last_turns(turns_s: &[Option<f64>]) -> &[Option<f64>] {
    &turns_s[turns_s.len().saturating_sub(TURNS_ELSEWHERE)..]
}

/// Those of them that were at full speed.
fn counted(turns_s: &[Option<f64>]) -> Vec<f64> {
    last_turns(turns_s).iter().flatten().copied().collect()
}

/// Whether the last turns are enough, and near to each other.
fn are_alike(turns_s: &[Option<f64>]) -> bool {
    let last = counted(turns_s);
    let least = last.iter().copied().fold(f64::INFINITY, f64::min);
    last.len() == TURNS_ELSEWHERE && last.iter().all(|s| s / least - 1.0 <= ALIKE_ELSEWHERE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An H200's `fast` of wave3d in another allocation: its clocks fall to 1.7 GHz and rise again.
    #[test]
    fn turns_that_the_power_cap_slows_do_not_count_elsewhere() {
        let turns_ms = [23.1, 24.6, 25.7, 24.0, 22.9, 22.6, 22.42, 22.40, 22.42];
        let turns_s = turns_ms.map(|ms| Some(ms / 1e3));
        let settled = (0..=turns_s.len()).find(|&turns| are_alike(&turns_s[..turns]));
        assert_eq!(settled, Some(8));
        assert_eq!(last_turns(&turns_s[..8]), &turns_s[5..8]);
    }

    #[test]
    fn a_turn_that_was_discarded_is_not_like_others() {
        assert!(!are_alike(&[Some(1.0), Some(1.0)]));
        assert!(!are_alike(&[Some(1.0), Some(1.0), None]));
        assert!(are_alike(&[None, Some(1.0), Some(1.009), Some(1.0)]));
    }
}
