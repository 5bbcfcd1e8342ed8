//! The report of a run by a device that counts.

use ptx_emu::{GlobalTraffic, LaunchReport};

/// The counts of all launches of one kernel in one run of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelReport {
    /// Number of launches.
    pub launches: u64,
    /// Blocks, threads and counts of all these launches together.
    pub total: LaunchReport,
}

/// A count of the emulated device, exact on every machine.
pub struct Count {
    /// In a grade's report.
    pub name: &'static str,
    /// In tables of counts, where it is in them.
    pub words: Option<&'static str>,
    /// The number of a kernel's launches together.
    pub of: fn(&KernelReport) -> u64,
}

/// All counts that grades and tables have.
pub const COUNTS: [Count; 9] = [
    Count {
        name: "launches",
        words: Some("launches"),
        of: |report| report.launches,
    },
    Count {
        name: "thread_instructions",
        words: Some("instructions"),
        of: |report| report.total.counts.instructions.thread,
    },
    Count {
        name: "warp_instructions",
        words: Some("warp instructions"),
        of: |report| report.total.counts.instructions.warp,
    },
    Count {
        name: "global_sectors",
        words: Some("sectors"),
        of: |report| report.global(|traffic| traffic.sectors),
    },
    Count {
        name: "ideal_global_sectors",
        words: None,
        of: |report| report.global(|traffic| traffic.ideal_sectors),
    },
    Count {
        name: "bank_conflicts",
        words: Some("bank conflicts"),
        of: |report| report.total.counts.bank_conflicts(),
    },
    Count {
        name: "divergent_branches",
        words: None,
        of: |report| report.total.counts.divergent_branches,
    },
    Count {
        name: "barriers",
        words: Some("barriers"),
        of: |report| report.total.counts.barriers,
    },
    Count {
        name: "local_bytes",
        words: Some("local bytes"),
        of: |report| report.total.counts.local_bytes,
    },
];

impl KernelReport {
    /// The sum over loads, stores and atomics of global memory.
    fn global(&self, of: fn(&GlobalTraffic) -> u64) -> u64 {
        let counts = &self.total.counts;
        let all = [
            &counts.global_loads,
            &counts.global_stores,
            &counts.global_atomics,
        ];
        all.into_iter().map(of).sum()
    }
}
