//! This machine's CPU.

use std::thread::available_parallelism;

use crate::units::count;

/// Its model, if the system tells, and how many cores this program may use.
pub fn description() -> String {
    let cores = available_parallelism().map_or(1, |cores| cores.get());
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("{model}, {}", count(cores, "core"))
}
