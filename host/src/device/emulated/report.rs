//! Counts of a run, for each kernel.

use std::collections::BTreeMap;

use ptx_emu::{Counts, InstructionCounts, LaunchReport};

/// What the launches of one kernel did in one run of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelReport {
    /// How often it was launched.
    pub launches: u64,
    /// Blocks, threads and counts of all those launches together.
    pub total: LaunchReport,
}

impl KernelReport {
    /// Of a kernel that has not been launched.
    pub(super) fn new(kernel: &str) -> KernelReport {
        KernelReport {
            launches: 0,
            total: LaunchReport {
                kernel: kernel.to_owned(),
                blocks: 0,
                threads: 0,
                counts: Counts::default(),
                instructions: Vec::new(),
            },
        }
    }

    /// Adds a launch.
    pub(super) fn add(&mut self, launch: LaunchReport) {
        self.launches += 1;
        self.total.blocks += launch.blocks;
        self.total.threads += launch.threads;
        self.total.counts += &launch.counts;
        let same =
            |(ours, theirs): (&InstructionCounts, &InstructionCounts)| ours.place == theirs.place;
        let ours = &mut self.total.instructions;
        if ours.len() == launch.instructions.len()
            && ours.iter().zip(&launch.instructions).all(same)
        {
            for (ours, theirs) in ours.iter_mut().zip(&launch.instructions) {
                ours.counts += &theirs.counts;
            }
            return;
        }
        // Launches that took other paths executed other instructions. Places order as the text does.
        let mut merged: BTreeMap<_, InstructionCounts> = BTreeMap::new();
        for instruction in std::mem::take(ours).into_iter().chain(launch.instructions) {
            match merged.entry(instruction.place.clone()) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(instruction);
                }
                std::collections::btree_map::Entry::Occupied(mut entry) => {
                    entry.get_mut().counts += &instruction.counts;
                }
            }
        }
        *ours = merged.into_values().collect();
    }
}
