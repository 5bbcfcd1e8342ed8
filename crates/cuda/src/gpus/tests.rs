use std::{ptr, thread};

use cust::event::{Event, EventFlags, EventStatus};
use cust::stream::{Stream, StreamFlags};

use test_support::{Need, skip};

use super::commands::Commands;
use super::driver::stream::StreamRef;
use super::gate::{Gate, Held, LONGEST};
use super::gpu::{CudaDevice, suspects};
use super::memory::{BAND_BYTES, Bands, stray};
use super::module::{check_target, refused, spills};
use device::{DeviceInfo, DeviceKind, DriverError, Element, Module, Share, Side, Spills};
use plan::Plan;
use plan::{LaunchConfig, args};

#[test]
fn suspects_are_named_once() {
    let mut plan = Plan::new("p");
    assert_eq!(suspects(plan.kernels()), "no kernel");
    let one = LaunchConfig::new(1, 1);
    plan.launch("step", one, args![]).unwrap();
    plan.launch("step", one, args![]).unwrap();
    assert_eq!(suspects(plan.kernels()), "kernel `step`");
    plan.launch("edge", one, args![]).unwrap();
    assert_eq!(
        suspects(plan.kernels()),
        "one of the kernels `step`, `edge`"
    );
}

fn laid_out(plan: &Plan) -> Commands<'static> {
    // SAFETY: nothing is enqueued.
    unsafe { Commands::new(plan, &Share::whole(1), |_| 0xabc0, |_, _| ptr::null_mut()) }
}

#[test]
fn every_parameter_points_at_its_value() {
    let mut plan = Plan::new("p");
    let u = plan.buffer("u", Element::F32, 10);
    for step in 0..100u32 {
        plan.launch("k", LaunchConfig::new(1, 1), args![u, step])
            .unwrap();
    }
    let commands = laid_out(&plan);
    for (step, step_params) in commands.params().chunks(2).enumerate() {
        // SAFETY: the pointers point into the values, which live.
        let values = unsafe { (*step_params[0].cast::<u64>(), *step_params[1].cast::<u32>()) };
        assert_eq!(values, (0xabc0, step as u32));
    }
}

#[test]
fn a_long_plan_that_repeats_becomes_a_graph_of_some_repetitions() {
    let graph_of = |before: u32, steps: u32, period: u32| {
        let mut plan = Plan::new("p");
        let u = plan.buffer("u", Element::F32, 10);
        for byte in 1..=before {
            plan.fill(u, byte as u8).unwrap();
        }
        for step in 0..steps {
            let config = LaunchConfig::new(1 + step % 2, 1);
            plan.launch("k", config, args![u, step % period]).unwrap();
            plan.fill(u, 0).unwrap();
        }
        laid_out(&plan).graph_range()
    };
    assert_eq!(graph_of(0, 0, 1), None);
    let whole = graph_of(0, 32_768, 40_000);
    assert_eq!(whole, Some(0..65_536), "short enough as a whole");
    // Shapes of two kinds and arguments of three repeat after six launches, each with a fill.
    assert_eq!(graph_of(0, 40_001, 3), Some(0..12 * 341));
    assert_eq!(graph_of(2, 40_001, 3), Some(2..2 + 12 * 341));
    assert_eq!(graph_of(9, 40_001, 3), None, "too much before it");
    assert_eq!(graph_of(0, 40_000, 5_000), Some(0..10_000));
    assert_eq!(
        graph_of(0, 40_000, 30_000),
        None,
        "it does not repeat twice"
    );
    assert_eq!(graph_of(0, 40_000, 40_000), None);
}

#[test]
fn independent_commands_stay_whole_in_parts_and_repetitions() {
    let mut plan = Plan::new("p");
    let u = plan.buffer("u", Element::F32, 10);
    let one = LaunchConfig::new(1, 1);
    plan.fill(u, 0).unwrap();
    for step in 0..30_000u32 {
        plan.launch("k", one, args![u]).unwrap();
        // Groups of two and of three in turns: the commands repeat after one step, with their
        // groups after two.
        let pair = |to: &mut Plan| {
            to.launch("k", one, args![u, 1u32])?;
            to.launch("k", one, args![u, 2u32])
        };
        match step % 2 {
            0 => plan.independent(pair).unwrap(),
            _ => pair(&mut plan).unwrap(),
        }
    }
    let commands = laid_out(&plan);
    assert_eq!(commands.graph_range(), Some(1..1 + 6 * 682));
    assert_eq!(commands.schedule.side_streams.len(), 1);
    let boundaries = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(|at| commands.schedule.boundary(at));
    assert_eq!(boundaries, [0, 1, 2, 4, 4, 5, 6, 7, 8, 10]);
}

fn gpu(compute_capability: (u32, u32)) -> DeviceInfo {
    DeviceInfo {
        compute_capability: Some(compute_capability),
        driver_cuda: Some((12, 4)),
        ..DeviceInfo::new(DeviceKind::Cuda, "NVIDIA Test")
    }
}

fn targeting(target: &str) -> Module {
    let text = format!("//\n.version 8.4\n.target {target}, debug\n.address_size 64\n");
    Module::new("waves", text)
}

#[test]
fn targets_up_to_the_device_run() {
    for target in ["sm_52", "sm_80", "sm_90", "sm_90a"] {
        check_target(&targeting(target), &gpu((9, 0))).unwrap();
    }
    check_target(&targeting("sm_100f"), &gpu((10, 3))).unwrap();
}

#[test]
fn other_targets_do_not() {
    for (target, capability) in [
        ("sm_100", (9, 0)),
        ("sm_90a", (10, 0)),
        ("sm_100f", (12, 0)),
    ] {
        check_target(&targeting(target), &gpu(capability)).unwrap_err();
    }
    let error = check_target(&targeting("sm_120"), &gpu((9, 0))).unwrap_err();
    insta::assert_snapshot!(error, @"module `waves` is built for sm_120, which NVIDIA Test (compute capability 9.0) cannot run; build the kernels for sm_90 or older");
}

#[test]
fn a_driver_that_is_too_old_is_named() {
    let cause = DriverError {
        function: "cuModuleLoadDataEx",
        code: 222,
        name: String::new(),
        description: String::new(),
    };
    let error = refused(&targeting("sm_80"), &gpu((9, 0)), cause, &[0]);
    insta::assert_snapshot!(error, @"module `waves`: PTX version 8.4 is newer than the driver, which supports CUDA 12.4; update the driver, or build the kernels for an older PTX version");
}

#[test]
fn the_compilers_log_is_shown() {
    let cause = DriverError {
        function: "cuModuleLoadDataEx",
        code: 218,
        name: "CUDA_ERROR_INVALID_PTX".to_owned(),
        description: "a PTX JIT compilation failed".to_owned(),
    };
    let log = b"ptxas application ptx input, line 9; error : Unknown symbol 'x'\n\0\0";
    let error = refused(&targeting("sm_80"), &gpu((9, 0)), cause, log);
    insta::assert_snapshot!(error, @"
    module `waves` does not load: cuModuleLoadDataEx returned CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed
    ptxas application ptx input, line 9; error : Unknown symbol 'x'
    ");
}

#[test]
fn spills_are_read_from_what_the_compiler_tells() {
    let told = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'inner' for 'sm_90a'
ptxas info    : Function properties for inner
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
ptxas info    : Compiling entry function 'shell' for 'sm_90a'
ptxas info    : Function properties for 'shell'
    24 bytes stack frame, 20 bytes spill stores, 36 bytes spill loads
";
    let spills = spills(told);
    assert_eq!(spills["inner"], Spills::default());
    let shell = Spills {
        store_bytes: 20,
        load_bytes: 36,
    };
    assert_eq!((spills["shell"], spills.len()), (shell, 2));
}

#[test]
fn the_nearest_stray_is_told() {
    let pattern = Bands::new().pattern;
    assert_eq!(stray("u", Side::After, &pattern, &pattern), None);
    let mut band = pattern.clone();
    band[3] ^= 1;
    band[100] ^= 0x80;
    let after = stray("u", Side::After, &pattern, &band).unwrap();
    assert_eq!((after.distance_bytes, after.bytes), (4, 2));
    let before = stray("u", Side::Before, &pattern, &band).unwrap();
    assert_eq!(before.distance_bytes, (BAND_BYTES - 100) as u64);
    insta::assert_snapshot!(after, @"2 bytes outside buffer `u` were written, the nearest 4 bytes behind the last byte of it");
    insta::assert_snapshot!(before, @"2 bytes outside buffer `u` were written, the nearest 262044 bytes before the first byte of it");
}

/// A gate, and a stream that waits at it with an event enqueued behind; nothing without a GPU.
fn held(check: impl FnOnce(&Gate, Held, &Stream, &Event)) {
    let device = match CudaDevice::open(0) {
        Ok(device) => device,
        Err(error) => return skip(Need::Gpu, error),
    };
    device.enter().unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let event = Event::new(EventFlags::DEFAULT).unwrap();
    let gate = Gate::new().unwrap();
    let held = gate
        .hold(StreamRef::from(&stream))
        .expect("a driver that can");
    event.record(&stream).unwrap();
    check(&gate, held, &stream, &event);
    stream.synchronize().unwrap();
}

#[test]
fn a_held_stream_waits_until_it_is_released() {
    held(|gate, held, stream, event| {
        thread::sleep(LONGEST / 10);
        assert_eq!(event.query().unwrap(), EventStatus::NotReady);
        let released = held.release();
        assert!(released.elapsed() < LONGEST / 10);
        stream.synchronize().unwrap();
        assert_eq!(event.query().unwrap(), EventStatus::Ready);
        assert_eq!(held.release(), released);
        drop(held);
        assert!(gate.hold(StreamRef::from(stream)).is_some());
    });
}

#[test]
fn a_stream_that_is_never_released_goes_on_and_is_not_held_again() {
    held(|gate, held, stream, event| {
        stream.synchronize().unwrap();
        assert_eq!(event.query().unwrap(), EventStatus::Ready);
        assert!(gate.hold(StreamRef::from(stream)).is_none());
        thread::sleep(LONGEST / 10);
        assert!(held.release().elapsed() >= LONGEST / 10);
        drop(held);
    });
}

#[test]
fn gates_on_the_emulated_driver() {
    test_support::on_emulated_driver(&["a_held_stream", "a_stream_that_is_never_released"], 1);
}
