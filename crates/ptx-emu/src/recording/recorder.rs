//! Keeps what the warps of some blocks do.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use super::{RecordedBlocks, RecordedBuffer, RecordedRegister, RecordingPlan, Step};

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
    pub(super) blocks: Numbered<u64>,
    /// Of [`RecordedBlocks::Storing`].
    watch: Watch,
}

/// The blocks that store to a byte.
#[derive(Debug, Default)]
struct Watch {
    /// The block of the latest steps, which are kept until another runs.
    running: Option<usize>,
    storing: HashSet<usize>,
    /// Those of the blocks that ran before, and stored.
    before: VecDeque<Step>,
    /// The blocks that lack steps.
    dropped: HashSet<usize>,
}

impl Kept {
    /// Keeps the latest steps if their block stored to the byte: no more than `most` with those
    /// before.
    fn settle(&mut self, most: usize) {
        let watch = &mut self.watch;
        let Some(running) = watch.running.take() else {
            return;
        };
        if watch.storing.contains(&running) {
            watch.before.append(&mut self.steps);
        } else {
            watch.dropped.insert(running);
            self.steps.clear();
        }
        let beyond = watch.before.len().saturating_sub(most);
        let dropped = watch.before.drain(..beyond).map(|step| step.block);
        watch.dropped.extend(dropped);
    }

    /// Those of the blocks that stored to the byte, which are numbered again.
    fn storing(mut self, most: usize) -> Kept {
        self.settle(most);
        self.is_cut = !self.watch.dropped.is_disjoint(&self.watch.storing);
        self.steps = std::mem::take(&mut self.watch.before);
        let all = std::mem::take(&mut self.blocks).in_order();
        for step in &mut self.steps {
            step.block = self.blocks.number(all[step.block]);
        }
        self
    }
}

impl Recorder {
    pub(crate) fn new(plan: RecordingPlan) -> Self {
        let mut kept = Kept::default();
        if let RecordedBlocks::Numbered(blocks) = &plan.blocks {
            for block in blocks {
                kept.blocks.number(*block);
            }
        }
        Self {
            plan,
            kept: Mutex::new(kept),
        }
    }

    /// Whether a block is recorded.
    pub(crate) fn wants(&self, block: u64) -> bool {
        match &self.plan.blocks {
            RecordedBlocks::Numbered(blocks) => blocks.contains(&block),
            RecordedBlocks::Storing(_) => true,
        }
    }

    /// The address of the byte, if blocks that store there are recorded.
    pub(super) fn watched(&self) -> Option<u64> {
        match self.plan.blocks {
            RecordedBlocks::Numbered(_) => None,
            RecordedBlocks::Storing(address) => Some(address),
        }
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

    /// Notes that the block of the latest step stored to the byte.
    pub(super) fn note_storing(&self) {
        self.change(|kept, step| {
            kept.watch.storing.insert(step.block);
        });
    }

    pub(super) fn begin(&self, pc: u32, block: u64, step: Step) {
        let kept = &mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let block = kept.blocks.number(block);
        let most = self.plan.most_steps;
        if self.watched().is_some() && kept.watch.running != Some(block) {
            kept.settle(most);
            kept.watch.running = Some(block);
        }
        if kept.steps.len() == most {
            kept.is_cut = true;
            if !self.plan.keeps_last {
                return;
            }
            kept.watch.dropped.insert(block);
            kept.steps.pop_front();
        }
        let place = kept.places.number(pc);
        kept.steps.push_back(Step {
            place,
            block,
            ..step
        });
    }

    /// The steps that were kept, and what they name.
    pub(super) fn into_kept(self) -> Kept {
        let (watches, most) = (self.watched().is_some(), self.plan.most_steps);
        let kept = self.kept.into_inner();
        let kept = kept.unwrap_or_else(PoisonError::into_inner);
        if watches { kept.storing(most) } else { kept }
    }
}
