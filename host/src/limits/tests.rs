use std::sync::Mutex;
use std::time::Duration;

use approx::assert_relative_eq;
use test_support::{Need, skip};

use super::*;
use device::Device;
use device::{DeviceKind, EmulatedDevice, InstructionClass};
use terminal::progress::NoProgress;
use terminal::progress::Progress;

#[test]
fn every_probe_gives_what_it_must_on_the_emulated_device() {
    let device = EmulatedDevice::default();
    let options = Options::for_device(device.info());
    let limits = measure(&device, &options, &Limit::ALL, &NoProgress).unwrap();
    // Checked, but not timed: the device has no clock.
    assert_eq!(limits, MeasuredLimits::default());
}

#[test]
fn rates_on_a_gpu_make_sense() {
    let devices = match cuda::discover() {
        Ok(devices) => devices,
        Err(reason) => return skip(Need::Gpu, reason),
    };
    let device = devices[0].as_ref();
    let options = Options::for_device(device.info());
    let limits = measure(device, &options, &Limit::ALL, &NoProgress).unwrap();
    let best = |limit| limits.get(limit).expect("enough memory").best_per_s;
    for limit in Limit::ALL {
        println!("{}: {:.4e} {}/s", limit.name(), best(limit), limit.unit());
        let rate = limits.get(limit).unwrap();
        assert!(rate.median_per_s <= rate.best_per_s);
        assert_eq!(rate.samples.len() as u32, options.samples);
    }
    // On every GPU, L2 is faster than device memory, shared memory is faster than L2, and 64-bit
    // arithmetic is not faster than 32-bit arithmetic.
    assert!(best(Limit::Read) < best(Limit::L2));
    assert!(best(Limit::L2) < best(Limit::Shared));
    assert!(best(Limit::Fp64) < best(Limit::Fp32));
    let info = device.info();
    if let (Some(bits), Some(khz)) = (info.memory_bus_bits, info.memory_clock_khz) {
        // Two transfers per cycle.
        let peak = f64::from(bits) / 8.0 * 2.0 * f64::from(khz) * 1e3;
        for limit in [Limit::Copy, Limit::Read, Limit::Write] {
            assert!(best(limit) < peak, "{} above {peak:e}", limit.name());
        }
    }
    assert_eq!(info.kind, DeviceKind::Cuda);
}

#[test]
fn amounts_are_what_the_emulator_counts() {
    // The test counts fused multiply-adds, and the bytes of global loads and stores, instruction by
    // instruction.
    let device = EmulatedDevice::default();
    let options = Options::for_device(device.info());
    let report = |limit| {
        let probe = super::probe::Probe::new(limit, &options).unwrap();
        let mut session = device.prepare(&probe.module, &probe.plan).unwrap();
        probe.write_inputs(session.as_mut()).unwrap();
        probe.begin_sample(session.as_mut()).unwrap();
        session.run().unwrap();
        probe.check(session.as_mut(), 1).unwrap();
        let counts = session.reports()[0].total.counts.clone();
        (probe.amount, counts)
    };
    let (amount, counts) = report(Limit::Read);
    assert_eq!(counts.global_loads.bytes, amount);
    let (l2_bytes, l2) = report(Limit::L2);
    assert_eq!(l2.global_loads.bytes, l2_bytes);
    let (written, write) = report(Limit::Write);
    assert_eq!(write.global_stores.bytes, written);
    let (shared_bytes, shared) = report(Limit::Shared);
    // The sum over the block also goes through shared memory.
    let beside = shared.shared_loads.bytes - shared_bytes;
    assert!(beside < shared_bytes / 100, "{shared:?}");
    for (limit, class) in [
        (Limit::Fp32, InstructionClass::Float32),
        (Limit::Fp64, InstructionClass::Float64),
    ] {
        let (operations, arithmetic) = report(limit);
        // The chains' start values and their sum.
        let more = arithmetic.class(class).thread - operations / 2;
        assert!(more < operations / 20, "{more} of {operations}");
    }
}

#[test]
fn a_copy_of_0_bytes_is_refused() {
    let device = EmulatedDevice::default();
    let options = Options {
        device_bytes: 0,
        ..Options::for_device(device.info())
    };
    measure(&device, &options, &[Limit::Copy], &NoProgress).unwrap_err();
}

#[test]
fn a_sample_is_of_as_many_runs_as_take_its_time() {
    let us = Duration::from_micros;
    assert_eq!(runs_for(us(5000), us(400)), 13);
    assert_eq!(runs_for(us(5000), us(20_000)), 1);
    assert_eq!(runs_for(us(5000), Duration::ZERO), 1000);
    assert_eq!(runs_for(Duration::ZERO, us(10)), 1);
}

#[test]
fn rates_are_of_single_runs() {
    let samples = [3, 1, 2].map(Duration::from_millis).to_vec();
    let rate = Rate::new(1_000_000, 5, samples);
    assert_relative_eq!(rate.best_per_s, 1e9);
    assert_relative_eq!(rate.median_per_s, 5e8);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let device = EmulatedDevice::default();
    let refusal = |change: fn(&mut Options)| {
        let mut options = Options::for_device(device.info());
        change(&mut options);
        measure(&device, &options, &Limit::ALL, &NoProgress).unwrap_err()
    };
    insta::assert_snapshot!(refusal(|options| options.turns = 0), @"turns = 0: at least 1");
    insta::assert_snapshot!(refusal(|options| options.device_bytes = 24), @"device_bytes = 24: a multiple of 16, above 0 and below 17179869184");
}

#[test]
fn progress_counts_limits() {
    struct Seen(Mutex<Vec<(u64, u64)>>);
    impl Progress for Seen {
        fn update(&self, done: u64, total: u64) {
            self.0.lock().unwrap().push((done, total));
        }
    }
    let device = EmulatedDevice::default();
    let options = Options::for_device(device.info());
    let seen = Seen(Mutex::default());
    measure(&device, &options, &[Limit::Copy, Limit::Write], &seen).unwrap();
    assert_eq!(*seen.0.lock().unwrap(), [(0, 2), (1, 2), (2, 2)]);
}
