//! The references; the sweeps on the emulated device; refusals.

use super::problem::sum;
use super::{
    Access, BandwidthOptions, LAB, LatencyOptions, MemBench, Memory, Path, bandwidth, latency,
};
use device::Device;
use device::run::reset;
use device::{EmulatedDevice, Options, Sanitize};
use exit::ErrorKind;
use lab::{CaseParams, Cpu, LabCase};
use terminal::progress::NoProgress;

#[test]
fn the_references_are_the_sum() {
    let problem = MemBench::new(100_003, 8, 256, 7).unwrap();
    let inputs = problem.inputs().unwrap();
    let elements: &[u32] = inputs[0].1.as_slice().unwrap();
    let exact: u64 = elements.iter().map(|&v| u64::from(v)).sum();
    assert_eq!(sum(elements, Cpu::Serial), exact as u32);
    assert_eq!(sum(elements, Cpu::Parallel), exact as u32);
}
fn few_footprints() -> LatencyOptions {
    LatencyOptions {
        footprints_bytes: vec![128, 1024, 3 * 1024, 64 * 1024],
        line_bytes: 128,
        loads: 64,
        most_warm_loads: 100,
        samples: 1,
        seed: 3,
    }
}
#[test]
fn chases_end_where_the_cpu_does() {
    // `latency` itself compares the ends. This test checks that each path followed each footprint.
    let device = EmulatedDevice::default();
    for path in Path::ALL {
        let curve = latency(&device, path, &few_footprints(), &NoProgress).unwrap();
        let followed: Vec<u64> = curve.points.iter().map(|p| p.footprint_bytes).collect();
        assert_eq!(followed, few_footprints().footprints_bytes, "{path:?}");
        // The emulated clock counts instructions, and each load is at least one.
        assert!(curve.points.iter().all(|p| p.cycles >= 1.0), "{curve:?}");
    }
}
#[test]
fn what_shared_memory_cannot_hold_is_left_out() {
    let options = LatencyOptions {
        footprints_bytes: vec![1024, 227 * 1024, 228 * 1024],
        ..few_footprints()
    };
    let curve = latency(
        &EmulatedDevice::default(),
        Path::Shared,
        &options,
        &NoProgress,
    )
    .unwrap();
    assert_eq!(curve.points.len(), 2);
}
#[test]
fn each_load_of_a_chase_is_of_a_line_of_its_own() {
    let device = EmulatedDevice::default();
    let lines = 40;
    let next = super::chain::random_cycle(lines, 5);
    let plan = super::latency::record(Path::Ca, lines, &few_footprints(), lines, 0).unwrap();
    let mut session = device.prepare(&LAB.module, &plan).unwrap();
    let inputs = vec![("next".to_owned(), next.into())];
    reset(session.as_mut(), &plan, &inputs).unwrap();
    session.run().unwrap();
    let chase = &session.reports()[1].total;
    assert_eq!(chase.kernel, "membench_chase_ca");
    // One thread loads one sector at a time: the warm-up loads and the timed ones.
    let loads = chase.counts.global_loads;
    assert_eq!((loads.requests, loads.sectors), (40 + 64, 40 + 64));
    assert_eq!(loads.bytes, 8 * (40 + 64));
}
#[test]
fn bandwidth_kernels_move_what_they_say() {
    let options = BandwidthOptions {
        multiprocessors: 1,
        l2_blocks_per_multiprocessor: 1,
        // The size is not a multiple of a block's share or of a thread's.
        device_bytes: 4 * 16 * 256 * 3 + 16 * 5,
        passes: 3,
        samples: 1,
    };
    let figures = bandwidth(&EmulatedDevice::default(), &options, &NoProgress).unwrap();
    let measured: Vec<_> = figures
        .iter()
        .map(|figure| (figure.memory, figure.access, figure.moved_bytes))
        .collect();
    let bytes = options.device_bytes;
    assert_eq!(
        measured,
        [
            (Memory::Shared, Access::Read, 3 * 2 * 32 * 1024),
            (Memory::L1, Access::Read, 3 * 2 * 32 * 1024),
            (Memory::L2, Access::Read, 3 * 32 * 1024),
            (Memory::Device, Access::Read, bytes),
            (Memory::Device, Access::Write, bytes),
            (Memory::Device, Access::Copy, 2 * bytes),
        ]
    );
    // The emulated device has no meaningful clock.
    assert!(figures.iter().all(|figure| figure.bytes_per_s.is_none()));
}
#[test]
fn shared_memory_is_read_without_bank_conflicts() {
    let device = EmulatedDevice::new(Options {
        sanitize: Sanitize::NONE,
        ..Options::default()
    });
    let mut plan = plan::Plan::new("p");
    let sum = plan.buffer("sum", device::Element::U32, 1);
    let config = plan::LaunchConfig::new(1, 64).with_shared_mem_bytes(64 * 64);
    plan.launch("membench_read_shared", config, plan::args![sum, 5u32, 1u32])
        .unwrap();
    let mut session = device.prepare(&LAB.module, &plan).unwrap();
    session.fill(sum, 0).unwrap();
    session.run().unwrap();
    let counts = &session.reports()[0].total.counts;
    assert_eq!(counts.bank_conflicts(), 0);
    // Five passes over 4 KiB, and the sum of two warps.
    assert_eq!(counts.shared_loads.bytes, 5 * 4096 + 2 * 4);
}
#[test]
fn default_sweeps_are_of_whole_lines_in_order() {
    let info = EmulatedDevice::default().info().clone();
    let options = LatencyOptions::for_device(&info);
    let footprints = &options.footprints_bytes;
    assert_eq!((footprints[0], footprints.len()), (1024, 81));
    assert_eq!(footprints[80], 1 << 30);
    assert!(footprints.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(footprints.iter().all(|bytes| bytes % 128 == 0));
    // More of them around the size of L2.
    let large = device::DeviceInfo {
        l2_bytes: Some(50 << 20),
        ..info.clone()
    };
    let of_large = LatencyOptions::for_device(&large).footprints_bytes;
    assert!(of_large.windows(2).all(|pair| pair[0] < pair[1]));
    let has = |mib: u64| of_large.contains(&(mib << 20));
    assert!([36, 44, 52, 72, 88, 104, 144].into_iter().all(has));
    assert!(!has(18) && !has(160 + 16));
    // On a small device, at most a quarter of its memory.
    let small = device::DeviceInfo {
        memory_bytes: Some(1 << 30),
        ..info
    };
    let of_small = LatencyOptions::for_device(&small).footprints_bytes;
    assert_eq!(of_small.last(), Some(&(1 << 28)));
    assert_eq!(BandwidthOptions::for_device(&small).device_bytes, 1 << 27);
}
#[test]
fn sweeps_that_make_no_sense_are_refused() {
    let refusal = |change: fn(&mut LatencyOptions)| {
        let mut options = few_footprints();
        change(&mut options);
        let device = EmulatedDevice::default();
        let error = latency(&device, Path::Ca, &options, &NoProgress).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        error.to_string()
    };
    insta::assert_snapshot!(refusal(|o| o.line_bytes = 12), @"line_bytes = 12: nodes hold addresses: a multiple of 8 bytes");
    insta::assert_snapshot!(refusal(|o| o.line_bytes = 0), @"line_bytes = 0: nodes hold addresses: a multiple of 8 bytes");
    insta::assert_snapshot!(refusal(|o| o.loads = 12), @"loads = 12: loads are timed 8 at a time: a multiple of 8");
    insta::assert_snapshot!(refusal(|o| o.samples = 0), @"samples = 0: at least 1");
    insta::assert_snapshot!(refusal(|o| o.footprints_bytes = vec![]), @"footprints = 0: at least 1");
    insta::assert_snapshot!(refusal(|o| o.footprints_bytes = vec![64]), @"footprint = 64: a chain has at least one line");
    let options = BandwidthOptions {
        multiprocessors: 1,
        l2_blocks_per_multiprocessor: 1,
        device_bytes: 20,
        passes: 1,
        samples: 1,
    };
    let device = EmulatedDevice::default();
    let error = bandwidth(&device, &options, &NoProgress).unwrap_err();
    insta::assert_snapshot!(error, @"device_bytes = 20: a multiple of 16, above 0 and below 17179869184");
}
fn refusal(pairs: &[&str]) -> String {
    let params = CaseParams::parse(pairs.iter().copied()).unwrap();
    LAB.case(&params).err().expect("refused").to_string()
}
#[test]
fn wrong_parameters_are_named() {
    insta::assert_snapshot!(refusal(&["n=0"]), @"parameter `n` = `0`: there are 1 to 2147483647 elements");
    insta::assert_snapshot!(refusal(&["n=2147483648"]), @"parameter `n` = `2147483648`: there are 1 to 2147483647 elements");
    insta::assert_snapshot!(refusal(&["x=3"]), @"parameter `x` = `3`: a thread loads 1, 2, 4, 8, 16 or 32 elements");
    insta::assert_snapshot!(refusal(&["x=64"]), @"parameter `x` = `64`: a thread loads 1, 2, 4, 8, 16 or 32 elements");
    insta::assert_snapshot!(refusal(&["x=0"]), @"parameter `x` = `0`: a thread loads 1, 2, 4, 8, 16 or 32 elements");
    insta::assert_snapshot!(refusal(&["block=48"]), @"parameter `block` = `48`: a block has whole warps: a multiple of 32 threads, up to 1024");
    insta::assert_snapshot!(refusal(&["block=2048"]), @"parameter `block` = `2048`: a block has whole warps: a multiple of 32 threads, up to 1024");
    insta::assert_snapshot!(refusal(&["size=5"]), @"unknown parameter `size`; there are: n, x, block, seed");
}
