//! Raw counts by position, gathered by each worker and turned into [`Counts`] at the end.

use crate::code::{Code, Op};
use crate::counts::{Counts, Executed, GlobalTraffic, InstructionCounts, SharedTraffic};

/// Executions of one instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Execution {
    pub(crate) warps: u64,
    pub(crate) threads: u64,
    pub(crate) divergent: u64,
}

/// Traffic of one memory instruction; a generic one may reach several spaces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) global: GlobalTraffic,
    pub(crate) shared: SharedTraffic,
    pub(crate) local_bytes: u64,
    pub(crate) param_bytes: u64,
}

/// All raw counts.
#[derive(Clone, Debug)]
pub(crate) struct Tallies {
    pub(crate) executions: Vec<Execution>,
    pub(crate) traffic: Vec<Traffic>,
}

impl Tallies {
    pub(crate) fn new(code: &Code) -> Self {
        Self {
            executions: vec![Execution::default(); code.insts.len()],
            traffic: vec![Traffic::default(); code.memory_tallies as usize],
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.executions.iter_mut().zip(&other.executions) {
            ours.warps += theirs.warps;
            ours.threads += theirs.threads;
            ours.divergent += theirs.divergent;
        }
        for (ours, theirs) in self.traffic.iter_mut().zip(&other.traffic) {
            ours.global += theirs.global;
            ours.shared += theirs.shared;
            ours.local_bytes += theirs.local_bytes;
            ours.param_bytes += theirs.param_bytes;
        }
    }

    /// The counts of every instruction that was executed, by position.
    pub(crate) fn report(&self, code: &Code) -> Vec<InstructionCounts> {
        let mut all: Vec<Counts> = self
            .executions
            .iter()
            .zip(&code.insts)
            .zip(&code.classes)
            .map(|((execution, inst), &class)| counts(execution, &inst.op, class as usize))
            .collect();
        for (traffic, &position) in self.traffic.iter().zip(&code.tally_positions) {
            add_traffic(
                &mut all[position as usize],
                traffic,
                &code.insts[position as usize].op,
            );
        }
        let executed = |counts: &Counts| counts.instructions.warp != 0;
        let mut instructions: Vec<_> = all
            .into_iter()
            .zip(&code.classes)
            .zip(&code.places)
            .filter(|((counts, _), _)| executed(counts))
            .map(|((counts, &class), place)| InstructionCounts {
                place: place.clone(),
                class,
                counts,
            })
            .collect();
        instructions.sort_by_key(|instruction| instruction.place.ptx_line);
        instructions
    }
}

fn counts(execution: &Execution, op: &Op, class: usize) -> Counts {
    let executed = Executed {
        warp: execution.warps,
        thread: execution.threads,
    };
    let mut counts = Counts {
        instructions: executed,
        ..Counts::default()
    };
    counts.classes[class] = executed;
    match op {
        Op::Branch { .. } | Op::BranchTable { .. } => {
            counts.branches = execution.warps;
            counts.divergent_branches = execution.divergent;
        }
        Op::Barrier(_) => counts.barriers = execution.warps,
        Op::LoadParam { bytes, dst, .. } => {
            counts.param_bytes = execution.threads * u64::from(*bytes) * dst.len() as u64;
        }
        _ => {}
    }
    counts
}

fn add_traffic(counts: &mut Counts, traffic: &Traffic, op: &Op) {
    let (global, shared) = match op {
        Op::Store(_) => (&mut counts.global_stores, &mut counts.shared_stores),
        Op::Atomic(_) => (&mut counts.global_atomics, &mut counts.shared_atomics),
        // An asynchronous copy loads from global and stores to shared memory.
        Op::AsyncCopy(_) => (&mut counts.global_loads, &mut counts.shared_stores),
        _ => (&mut counts.global_loads, &mut counts.shared_loads),
    };
    *global += traffic.global;
    *shared += traffic.shared;
    counts.local_bytes += traffic.local_bytes;
    counts.param_bytes += traffic.param_bytes;
}
