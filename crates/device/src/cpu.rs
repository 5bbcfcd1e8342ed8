//! This machine's CPU, from `/proc/cpuinfo`. (The `sysinfo` crate knows models and clocks, but not
//! virtual machines.)

use std::thread::available_parallelism;

use serde::{Deserialize, Serialize};
use units::{count, three};

use crate::arm_cores;

/// The CPU as the system describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuInfo {
    /// Its model, or the kinds of its cores, where the system says no more; the architecture, if it
    /// does not say these either.
    pub model: String,
    /// Cores that this program may use.
    pub cores: usize,
    /// The highest current clock of a core, in MHz. It means most while the CPU is busy.
    pub clock_mhz: Option<f64>,
    /// Whether it is a virtual machine's, which others may share unseen.
    #[serde(default)]
    pub is_virtual: bool,
}

impl CpuInfo {
    /// As it is now.
    pub fn read() -> CpuInfo {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        CpuInfo::parse(
            &info,
            available_parallelism().map_or(1, |cores| cores.get()),
        )
    }

    fn parse(info: &str, cores: usize) -> CpuInfo {
        let values = |key: &'static str| {
            info.lines().filter_map(move |line| {
                let (name, value) = line.split_once(':')?;
                (name.trim() == key).then_some(value.trim())
            })
        };
        CpuInfo {
            model: values("model name")
                .next()
                .map(str::to_owned)
                .or_else(|| arm_cores::names(values("CPU implementer").zip(values("CPU part"))))
                .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores,
            clock_mhz: values("cpu MHz")
                .filter_map(|value| value.parse().ok())
                .max_by(f64::total_cmp),
            is_virtual: values("flags")
                .any(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
        }
    }
}

impl std::fmt::Display for CpuInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.model, count(self.cores, "core"))?;
        if let Some(clock) = self.clock_mhz {
            write!(f, ", {} GHz", three(clock / 1e3))?;
        }
        if self.is_virtual {
            write!(f, ", of a virtual machine")?;
        }
        Ok(())
    }
}

/// Its model, if the system says, and how many cores this program may use.
pub fn description() -> String {
    let cpu = CpuInfo::read();
    format!("{}, {}", cpu.model, count(cpu.cores, "core"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_core_counts() {
        let info = "model name\t: Fast CPU @ 2.0: new\ncpu MHz\t\t: 800.000\n\nmodel name\t: Fast CPU\ncpu MHz\t\t: 3417.552\n";
        let cpu = CpuInfo::parse(info, 2);
        insta::assert_snapshot!(cpu, @"Fast CPU @ 2.0: new, 2 cores, 3.42 GHz");
        let slice = "model name: Slice\nflags\t\t: fpu hypervisor vme\n";
        insta::assert_snapshot!(CpuInfo::parse(slice, 1), @"Slice, 1 core, of a virtual machine");
        let grace = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n";
        insta::assert_snapshot!(CpuInfo::parse(grace, 72), @"Arm Neoverse-V2, 72 cores");
        let unknown = CpuInfo::parse("", 1);
        assert_eq!(
            (unknown.model.as_str(), unknown.clock_mhz),
            (std::env::consts::ARCH, None)
        );
    }
}
