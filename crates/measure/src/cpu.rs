//! This machine's CPU, from `/proc/cpuinfo`. (The `sysinfo` crate knows models and clocks, but not
//! virtual machines.)

use std::thread::available_parallelism;

use results::cpu::CpuInfo;
use units::count;

/// The CPU as it is now.
pub fn read() -> CpuInfo {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    parse(
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
            .unwrap_or(std::env::consts::ARCH)
            .to_owned(),
        cores,
        clock_mhz: values("cpu MHz")
            .filter_map(|value| value.parse().ok())
            .max_by(f64::total_cmp),
        is_virtual: values("flags")
            .any(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
    }
}

/// Its model, if the system says, and how many cores this program may use.
pub fn description() -> String {
    let cpu = read();
    format!("{}, {}", cpu.model, count(cpu.cores, "core"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_core_counts() {
        let info = "model name\t: Fast CPU @ 2.0: new\ncpu MHz\t\t: 800.000\n\nmodel name\t: Fast CPU\ncpu MHz\t\t: 3417.552\n";
        let cpu = parse(info, 2);
        insta::assert_snapshot!(cpu, @"Fast CPU @ 2.0: new, 2 cores, 3.42 GHz");
        let info = "model name: Slice\nflags\t\t: fpu hypervisor vme\n";
        insta::assert_snapshot!(parse(info, 1), @"Slice, 1 core, of a virtual machine");
        let unknown = parse("", 1);
        assert_eq!(
            (unknown.model.as_str(), unknown.clock_mhz),
            (std::env::consts::ARCH, None)
        );
    }
}
