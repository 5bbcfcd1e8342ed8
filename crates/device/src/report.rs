//! The report of a run by a device that counts.

use ptx_emu::LaunchReport;

/// The counts of all launches of one kernel in one run of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelReport {
    /// Number of launches.
    pub launches: u64,
    /// Blocks, threads and counts of all these launches together.
    pub total: LaunchReport,
}
