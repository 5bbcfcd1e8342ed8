//! Loops of graphs, as they go round: when others are first, and when one does not end.
//!
//! A loop goes on as long as a value is not 0 that kernels set, so that three things keep it from
//! its end. The kernel that would set it was not done, because a fault or an error has ended it.
//! The program sets what the kernel looks at after the call that launches the graph: a GPU's driver
//! returns from that at once. Or nothing ever sets it; on a GPU the program hangs.

use std::sync::Arc;

use ptx_emu::short_name;

use super::Driver;
use super::between::{Begun, MemoryOf};
use crate::code::{Code, Outcome};
use crate::objects::branch::BranchKind;
use crate::objects::graph::{Branch, GraphWork};
use crate::objects::stream::StreamKey;
use crate::objects::work::{Item, Work};
use crate::report;
use crate::settings::Settings;
use crate::site::Site;

/// After this number of rounds, other streams' ready work goes first, and a call need not wait.
pub(super) const ROUNDS_IN_TURN: u64 = 100;

/// A loop with more rounds counts as one without an end.
const MOST_ROUNDS: u64 = 1_000_000;

/// The kind of a fault, as records have it.
const ENDLESS: &str = "endless loop";

/// How many rounds a loop may have. One whose body has no kernel has nothing that ends it.
fn most_rounds(body: &GraphWork) -> u64 {
    if has_kernel(body) { MOST_ROUNDS } else { 1 }
}

fn has_kernel(graph: &GraphWork) -> bool {
    graph.work.iter().any(|work| {
        let mut within = work.within().iter();
        matches!(work, Work::Launch(_)) || within.any(|inner| has_kernel(inner))
    })
}

impl Driver {
    /// Does a conditional node: the body that its value chooses is the stream's next work. Behind
    /// each round, a loop looks again.
    pub(super) fn do_branch(
        &mut self,
        key: StreamKey,
        item: &Item,
        branch: &Arc<Branch>,
        begun: Option<&Begun>,
    ) -> Outcome {
        self.between.looks_at(begun, branch.handle);
        let site = self.between.site_of(item);
        let value = self.condition(branch, site.as_ref());
        let Some(body) = branch.chosen(value) else {
            return Ok(());
        };
        let part = |work, rounds| Item {
            ticket: item.ticket,
            work,
            sent: item.sent.clone(),
            graph: item.graph.clone(),
            node: item.node,
            rounds,
        };
        let is_loop = branch.kind == BranchKind::While;
        // Whether there are kernels in it is looked for in few rounds.
        let is_turn = item.rounds == 1 || item.rounds.is_multiple_of(ROUNDS_IN_TURN);
        if is_loop && is_turn && item.rounds >= most_rounds(body) {
            self.tell_endless(branch, item.rounds, site.as_ref());
            if !Settings::get().goes_on {
                return Err(Code::LAUNCH_TIMEOUT);
            }
            self.work_was_left(key, item);
            return Ok(());
        }
        let queue = self.queues.streams.entry(key).or_default();
        if is_loop {
            queue.push_front(part(item.work.clone(), item.rounds + 1));
        }
        queue.push_front(part(Work::All(Arc::clone(body)), 0));
        Ok(())
    }

    /// Ends the loops that work is in which was not done, behind this round of theirs.
    pub(super) fn work_was_left(&mut self, key: StreamKey, item: &Item) {
        let Some(queue) = self.queues.streams.get_mut(&key) else {
            return;
        };
        // The work of a loop's round is the stream's first, and the loop itself is behind it.
        let is_around = |other: &Item| other.ticket == item.ticket && other.rounds > 0;
        let before = queue.len();
        queue.retain(|other| !is_around(other));
        if queue.len() == before {
            return;
        }
        let what = match &item.work {
            Work::Launch(launch) => format!("the launch of `{}`", short_name(&launch.kernel)),
            Work::Branch(_) => "a loop in it".to_owned(),
            _ => "a node of its body".to_owned(),
        };
        if self.told.insert((what.clone(), "loop", 0)) {
            report::note(&format!(
                "a loop of a graph (cudaGraphCondTypeWhile) has no further round: {what} ended before it was done, and may be what ends the loop"
            ));
        }
    }

    /// Tells that a loop does not end, as a kernel is told that does not.
    fn tell_endless(&mut self, branch: &Branch, rounds: u64, site: Option<&Site>) {
        let why = if rounds < MOST_ROUNDS {
            "its body has no kernel that could set it to 0".to_owned()
        } else {
            format!("it was not 0 after {rounds} rounds")
        };
        let what = |handle: &str| {
            format!(
                "a conditional node goes round as long as the value of handle {handle} is not 0, and {why}"
            )
        };
        let rules = [
            "to end it: let a kernel in the body call cudaGraphSetConditional with 0 in the last round",
            "rule: the body is done again as long as the value is not 0 (CUDA Programming Guide, \"Conditional WHILE Nodes\"); on a GPU such a launch has no end",
        ];
        self.tell_of_branch(branch, ENDLESS, site, what, rules);
    }

    /// Whether a call need not wait for a loop that its work is behind. A copy of pageable memory
    /// is done before its call returns, so that the program may use the memory.
    pub(super) fn may_be_behind_loop(&self, work: &Work) -> bool {
        let Work::Copy(copy) = work else { return true };
        if self.last_condition == 0 {
            return true;
        }
        let sides = [copy.from, copy.to];
        let mut memory = sides.iter().map(|side| self.memory_of(side.address));
        !memory.any(|memory| memory == MemoryOf::Pageable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_without_a_kernel_has_one_round() {
        let empty = GraphWork {
            work: vec![Work::Nothing],
            ..GraphWork::default()
        };
        assert_eq!(most_rounds(&empty), 1);
        let around = GraphWork {
            work: vec![Work::All(Arc::new(empty))],
            ..GraphWork::default()
        };
        assert_eq!(most_rounds(&around), 1);
        assert_eq!(MOST_ROUNDS % ROUNDS_IN_TURN, 0, "it is looked for then");
    }
}
