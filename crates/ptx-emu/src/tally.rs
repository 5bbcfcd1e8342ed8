//! Raw counts by instruction, gathered by each worker and turned into [`Counts`] at the end.

use std::ops::Range;

use crate::check::race::Strength;
use crate::counts::{
    Counts, DistributedTraffic, Executed, GlobalTraffic, InstructionClass, InstructionCounts,
    SharedTraffic,
};
use crate::position::CodePosition;
use crate::shared_arrays::Base;

/// The class and the position of an instruction.
#[derive(Clone, Debug)]
pub(crate) struct InstructionInfo {
    pub(crate) class: InstructionClass,
    /// A branch, whose divergence counts.
    pub(crate) is_branch: bool,
    /// Of strong accesses.
    pub(crate) strength: Strength,
    /// The origin of its address, as far as that is known.
    pub(crate) base: Base,
    /// Lanes need not run apart here.
    pub(crate) stays_together: bool,
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

/// The raw counts of a launch: of the code that its kernel may reach, which is little of a module
/// that has many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tallies {
    /// Position of the first instruction that is counted.
    first: u32,
    executions: Vec<Execution>,
    /// Number of the first traffic that is counted.
    first_traffic: u32,
    traffic: Vec<Traffic>,
}

impl Tallies {
    /// Zero counts of the instructions in this range. `owners` has the position of the instruction
    /// of each [`Traffic`], in ascending order.
    pub(crate) fn new(positions: Range<u32>, owners: &[u32]) -> Self {
        let [first, end] = [positions.start, positions.end]
            .map(|position| owners.partition_point(|&owner| owner < position));
        Self {
            first: positions.start,
            executions: vec![Execution::default(); positions.len()],
            first_traffic: first as u32,
            traffic: vec![Traffic::default(); end - first],
        }
    }

    /// Which instructions, by position, and which traffic, by number, are counted.
    #[cfg(test)]
    pub(crate) fn counted(&self) -> (Range<u32>, Range<u32>) {
        let range = |first: u32, len: usize| first..first + len as u32;
        (
            range(self.first, self.executions.len()),
            range(self.first_traffic, self.traffic.len()),
        )
    }

    /// Of the instruction at this position.
    #[inline(always)]
    pub(crate) fn execution(&mut self, position: u32) -> &mut Execution {
        &mut self.executions[(position - self.first) as usize]
    }

    /// The traffic of this number.
    #[inline(always)]
    pub(crate) fn traffic(&mut self, number: u32) -> &mut Traffic {
        &mut self.traffic[(number - self.first_traffic) as usize]
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

    /// The counts of every instruction that was executed, in the order of the text. `owners` is as
    /// for [`Tallies::new`].
    pub(crate) fn report(
        &self,
        infos: &[InstructionInfo],
        owners: &[u32],
    ) -> Vec<InstructionCounts> {
        let is_executed = |execution: &&Execution| execution.warps != 0;
        // An instruction's counts are long: they are put where they stay, also in short launches.
        let count = self.executions.iter().filter(is_executed).count();
        let (mut positions, mut all) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (position, execution) in (self.first..).zip(&self.executions) {
            if is_executed(&execution) {
                positions.push(position);
                all.push(counts(execution, &infos[position as usize]));
            }
        }
        let owners = &owners[self.first_traffic as usize..];
        for (traffic, owner) in self.traffic.iter().zip(owners) {
            if let Ok(at) = positions.binary_search(owner) {
                add_traffic(&mut all[at], traffic);
            }
        }
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
