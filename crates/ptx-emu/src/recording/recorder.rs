//! Keeps what the warps of some blocks do.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use super::{RecordedBuffer, RecordedRegister, RecordingPlan, Step};

/// Keeps the steps of one attempt at a launch.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(super) plan: RecordingPlan,
    kept: Mutex<Kept>,
}

/// Things that steps name by their number.
#[derive(Debug)]
pub(super) struct Numbered<T>(HashMap<T, usize>);

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Eq + Hash> Numbered<T> {
    pub(super) fn number(&mut self, one: T) -> usize {
        let next = self.0.len();
        *self.0.entry(one).or_insert(next)
    }

    pub(super) fn in_order(self) -> Vec<T> {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_by_key(|(_, number)| *number);
        all.into_iter().map(|(one, _)| one).collect()
    }
}

/// The steps, and what they name.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// By position in the code.
    pub(super) places: Numbered<u32>,
    pub(super) registers: Numbered<RecordedRegister>,
    pub(super) buffers: Numbered<RecordedBuffer>,
    pub(super) steps: VecDeque<Step>,
    pub(super) is_cut: bool,
}

impl Recorder {
    pub(crate) fn new(plan: RecordingPlan) -> Self {
        Self {
            plan,
            kept: Mutex::default(),
        }
    }

    /// Whether a block is recorded.
    pub(crate) fn wants(&self, block: u64) -> bool {
        self.plan.blocks.contains(&block)
    }

    /// Changes the latest step, if it is kept.
    pub(super) fn change(&self, change: impl FnOnce(&mut Kept, &mut Step)) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_cut && !self.plan.keeps_last {
            return;
        }
        if let Some(mut step) = kept.steps.pop_back() {
            change(&mut kept, &mut step);
            kept.steps.push_back(step);
        }
    }

    pub(super) fn begin(&self, pc: u32, step: Step) {
        let kept = &mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.steps.len() == self.plan.most_steps {
            kept.is_cut = true;
            if !self.plan.keeps_last {
                return;
            }
            kept.steps.pop_front();
        }
        let place = kept.places.number(pc);
        kept.steps.push_back(Step { place, ..step });
    }

    /// The recorded blocks, and what was kept of them.
    pub(super) fn into_kept(self) -> (Vec<u64>, Kept) {
        let kept = self.kept.into_inner();
        (
            self.plan.blocks,
            kept.unwrap_or_else(PoisonError::into_inner),
        )
    }
}
