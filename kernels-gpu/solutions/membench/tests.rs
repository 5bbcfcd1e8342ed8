//! Sectors of the variants, and the sweeps over them on the emulated device.

use crate::membench::{CoalescingOptions, LAB, MemBench, coalescing};
use device::Device;
use device::run::reset;
use device::validate::validate;
use device::{EmulatedDevice, GlobalTraffic, LaunchLimits};
use exit::ErrorKind;
use lab::LabCase;
use terminal::progress::NoProgress;

/// The variant's loads from global memory.
fn loads(variant: &str, n: u32, x: u32) -> GlobalTraffic {
    let problem = MemBench::new(n, x, 256, 1).unwrap();
    let device = EmulatedDevice::default();
    let plan = LAB.find(variant).unwrap().record(&problem).unwrap();
    let mut session = device.prepare(&LAB.module, &plan).unwrap();
    reset(session.as_mut(), &plan, &problem.inputs().unwrap()).unwrap();
    session.run().unwrap();
    session.reports()[0].total.counts.global_loads
}
#[test]
fn sectors_are_exactly_what_the_layout_says() {
    let n = 32_768;
    // 8 elements of 4 bytes are a sector.
    let ideal = u64::from(n) / 8;
    for x in [1, 2, 4, 8, 16, 32] {
        let of = |variant: &str| loads(variant, n, x);
        let coalesced = of("coalesced_load");
        assert_eq!(coalesced.sectors, ideal, "x = {x}");
        assert_eq!(coalesced.requests, u64::from(n) / 32, "x = {x}");
        assert_eq!(coalesced.efficiency(), 1.0);
        // Lanes whose elements are x apart touch x times the sectors, until each lane has its own.
        let scattered = of("non_coalesced_load");
        assert_eq!(scattered.sectors, ideal * u64::from(x.min(8)), "x = {x}");
        assert_eq!(scattered.requests, coalesced.requests, "x = {x}");
        assert_eq!(scattered.bytes, coalesced.bytes, "x = {x}");
        let vector = of("vector_load");
        assert_eq!(vector.sectors, ideal, "x = {x}");
        assert_eq!(vector.requests, coalesced.requests / u64::from(x.min(4)));
    }
    for stride in [2, 4, 8, 16, 32] {
        let strided = loads(&format!("stride_{stride}"), n, 4);
        assert_eq!(strided.bytes, 4 * u64::from(n), "stride {stride}");
        assert_eq!(strided.sectors, ideal * stride.min(8), "stride {stride}");
    }
}
#[test]
fn the_sweeps_over_access_patterns_count_and_check() {
    let device = EmulatedDevice::default();
    let options = CoalescingOptions {
        elements: 5000,
        samples: 1,
        ..CoalescingOptions::for_device(device.info())
    };
    let sweeps = coalescing(&device, &options, &NoProgress).unwrap();
    let ideal = u64::from(options.counted_elements) / 8;
    for ([coalesced, scattered], x) in sweeps.by_x.iter().zip([1, 2, 4, 8, 16, 32]) {
        assert_eq!((coalesced.x, scattered.x), (x, x));
        assert_eq!((coalesced.sectors, coalesced.ideal_sectors), (ideal, ideal));
        let times = u64::from(x.min(8));
        assert_eq!(
            (scattered.sectors, scattered.ideal_sectors),
            (times * ideal, ideal)
        );
        // The emulated device's clock is meaningless.
        assert_eq!((coalesced.seconds, scattered.bytes_per_s), (None, None));
    }
    for ((stride, figure), expected) in sweeps.by_stride.iter().zip([1, 2, 4, 8, 16, 32]) {
        assert_eq!((*stride, figure.x), (expected, 8));
        assert_eq!(
            figure.sectors,
            u64::from(expected.min(8)) * ideal,
            "{stride}"
        );
    }
    let none = CoalescingOptions {
        block: 31,
        ..options
    };
    let error = coalescing(&device, &none, &NoProgress).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
}
#[test]
fn the_largest_sums_fit_a_grid() {
    for (x, block) in [(1, 32), (32, 1024)] {
        let problem = MemBench::new(i32::MAX as u32, x, block, 1).unwrap();
        for variant in &LAB.variants {
            let plan = variant.record(&problem).unwrap();
            validate(&LAB.module, &plan, &LaunchLimits::SM_90).unwrap();
        }
    }
}
