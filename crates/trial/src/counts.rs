//! The work of launches.

use ptx_emu::LaunchReport;
use serde::{Deserialize, Serialize};

/// The work of a kernel's launches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// How many there were.
    #[serde(default)]
    pub launches: u64,
    /// Instructions of threads.
    pub instructions: u64,
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// Sectors of global memory, of 32 bytes.
    pub sectors: u64,
    /// Passes over the banks of shared memory beyond the first of each access.
    pub bank_conflicts: u64,
    /// Barriers, by warps.
    pub barriers: u64,
    /// Bytes of local memory.
    pub local_bytes: u64,
    /// Time that the launches took, by the clock; 0 of a kernel without a program.
    #[serde(default)]
    pub microseconds: u64,
}

impl From<&LaunchReport> for Counts {
    fn from(report: &LaunchReport) -> Counts {
        let counts = &report.counts;
        let traffic = [
            &counts.global_loads,
            &counts.global_stores,
            &counts.global_atomics,
        ];
        Counts {
            launches: 1,
            instructions: counts.instructions.thread,
            warp_instructions: counts.instructions.warp,
            sectors: traffic.iter().map(|traffic| traffic.sectors).sum(),
            bank_conflicts: counts.bank_conflicts(),
            barriers: counts.barriers,
            local_bytes: counts.local_bytes,
            microseconds: 0,
        }
    }
}

impl Counts {
    /// Adds the work of other launches.
    pub fn add(&mut self, other: &Counts) {
        self.launches += other.launches;
        self.instructions += other.instructions;
        self.warp_instructions += other.warp_instructions;
        self.sectors += other.sectors;
        self.bank_conflicts += other.bank_conflicts;
        self.barriers += other.barriers;
        self.local_bytes += other.local_bytes;
        self.microseconds += other.microseconds;
    }
}
