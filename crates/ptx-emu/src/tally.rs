//! Raw counts by instruction, gathered by each worker and turned into [`Counts`] at the end.

use crate::counts::{
    Counts, DistributedTraffic, Executed, GlobalTraffic, InstructionClass, InstructionCounts,
    SharedTraffic,
};
use crate::position::CodePosition;

/// What is known of an instruction beside what it does.
#[derive(Clone, Debug)]
pub(crate) struct InstructionInfo {
    pub(crate) class: InstructionClass,
    /// A branch, whose divergence counts.
    pub(crate) is_branch: bool,
    pub(crate) position: CodePosition,
}

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
    /// Stores to shared memory by an instruction that loads from global memory.
    pub(crate) copied_to_shared: SharedTraffic,
    pub(crate) distributed: DistributedTraffic,
    pub(crate) local_bytes: u64,
    pub(crate) param_bytes: u64,
}

/// All raw counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) executions: Vec<Execution>,
    pub(crate) traffic: Vec<Traffic>,
}

impl Tallies {
    /// Zero counts of so many instructions and memory instructions.
    pub(crate) fn new(instructions: usize, memory_instructions: usize) -> Self {
        Self {
            executions: vec![Execution::default(); instructions],
            traffic: vec![Traffic::default(); memory_instructions],
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
            ours.copied_to_shared += theirs.copied_to_shared;
            ours.distributed += theirs.distributed;
            ours.local_bytes += theirs.local_bytes;
            ours.param_bytes += theirs.param_bytes;
        }
    }

    /// The counts of every instruction that was executed, in the order of the text. `owners` has the index of the
    /// instruction of each [`Traffic`].
    pub(crate) fn report(
        &self,
        infos: &[InstructionInfo],
        owners: &[u32],
    ) -> Vec<InstructionCounts> {
        let counted = self.executions.iter().zip(infos);
        let mut all: Vec<_> = counted
            .map(|(execution, info)| counts(execution, info))
            .collect();
        for (traffic, &owner) in self.traffic.iter().zip(owners) {
            add_traffic(&mut all[owner as usize], traffic);
        }
        all.retain(|instruction| instruction.counts.instructions.warp != 0);
        all.sort_by_key(|instruction| instruction.place.ptx_line);
        all
    }
}

fn counts(execution: &Execution, info: &InstructionInfo) -> InstructionCounts {
    let executed = Executed {
        warp: execution.warps,
        thread: execution.threads,
    };
    let mut counts = Counts {
        instructions: executed,
        ..Counts::default()
    };
    counts.classes[info.class as usize] = executed;
    if info.is_branch {
        counts.branches = execution.warps;
        counts.divergent_branches = execution.divergent;
    }
    if info.class == InstructionClass::Barrier {
        counts.barriers = execution.warps;
    }
    InstructionCounts {
        place: info.position.clone(),
        class: info.class,
        counts,
    }
}

fn add_traffic(instruction: &mut InstructionCounts, traffic: &Traffic) {
    let counts = &mut instruction.counts;
    let (global, shared, distributed) = match instruction.class {
        InstructionClass::Store => (
            &mut counts.global_stores,
            &mut counts.shared_stores,
            &mut counts.distributed_stores,
        ),
        InstructionClass::Atomic => (
            &mut counts.global_atomics,
            &mut counts.shared_atomics,
            &mut counts.distributed_atomics,
        ),
        _ => (
            &mut counts.global_loads,
            &mut counts.shared_loads,
            &mut counts.distributed_loads,
        ),
    };
    *distributed += traffic.distributed;
    *global += traffic.global;
    *shared += traffic.shared;
    counts.shared_stores += traffic.copied_to_shared;
    counts.local_bytes += traffic.local_bytes;
    counts.param_bytes += traffic.param_bytes;
}
