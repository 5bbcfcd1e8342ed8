//! The time that a module takes grows with its size: generated ones have very many kernels.
#![cfg(target_os = "linux")]

use ptx_emu::Executable;

/// Processor time of this thread in nanoseconds, which other programs do not add to.
fn processor_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// The time to read a module and ask about each of its kernels.
fn time_of(kernels: usize) -> u64 {
    let mut text = String::from(".version 7.8\n.target sm_80\n.address_size 64\n");
    for number in 0..kernels {
        text += &format!(".visible .entry kernel_number_{number}() {{ ret; }}\n");
    }
    let began = processor_time();
    let executable = Executable::parse(&text).unwrap();
    let program = executable.program();
    let mut found = 0;
    for kernel in program.kernels() {
        assert!(program.kernel(&kernel.name).is_some());
        assert!(!executable.depends_on_order(&kernel.name));
        assert!(!executable.updates_memory(&kernel.name));
        found += 1;
    }
    assert_eq!(found, kernels);
    processor_time() - began
}

#[test]
fn four_times_the_kernels_take_four_times_as_long() {
    // Sixteen times, where each kernel is looked for among all.
    let (few, many) = (time_of(20_000), time_of(80_000));
    assert!(many < 9 * few, "{few} ns and {many} ns");
}

#[test]
fn kernels_that_are_not_launched_cost_little() {
    let mut text = String::from(".version 7.8\n.target sm_80\n.address_size 64\n");
    for number in 0..1000 {
        text += &format!(".visible .entry kernel_number_{number}() {{\n.reg .b32 %r<9>;\n");
        text += &"mad.lo.s32 %r1, %r2, %r3, %r4;\n".repeat(100);
        text += "ret;\n}\n";
    }
    let timed = |parse: fn(&str) -> Result<Executable, ptx::Error>| {
        let began = processor_time();
        let executable = parse(&text).unwrap();
        assert!(executable.kernel("kernel_number_999").is_some());
        processor_time() - began
    };
    let (at_once, lazily) = (timed(Executable::parse), timed(Executable::parse_lazily));
    assert!(3 * lazily < at_once, "{lazily} ns and {at_once} ns");
}
