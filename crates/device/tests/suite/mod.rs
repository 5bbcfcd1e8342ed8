//! One suite of duties of every device: `all/emulated.rs` of this crate tries it on the emulated
//! device, `devices.rs` of the crate `cuda` on a GPU.

// No snapshots here: each would be taken twice, once on each device.

use device::run::{holds, outputs, outputs_into, reset, restore};
use device::{BufferPool, DeviceError, POISON, Preparation, Side, TimedSession};
use device::{
    Capture, Device, DeviceKind, Element, Error, Flushed, HostBuffer, Launching, Module, check,
};
use exit::ErrorKind;
use plan::PlanError;
use plan::{LaunchConfig, Plan, args};

/// A test for each duty, on the device that the expression gives, if it gives one.
macro_rules! duties {
    ($device:expr) => {
        duties! {
            $device =>
                runs_a_grid_with_a_tail,
                a_slice_of_part_of_a_buffer_is_that_part,
                passes_arguments_of_every_type,
                shares_memory_in_a_block,
                shares_memory_among_the_blocks_of_a_cluster,
                runs_clusters_by_stream_and_graph,
                runs_large_clusters_where_they_are_allowed,
                copies_and_fills_in_order,
                keeps_buffers_between_runs,
                sessions_that_share_memory_restore_their_inputs,
                parts_of_a_run_are_timed,
                runs_many_times_by_stream_and_graph,
                captures_no_plan_that_is_empty_or_long_without_repeating,
                replays_the_repetitions_of_a_long_plan,
                independent_commands_run_between_those_around_them,
                a_long_plan_with_independent_commands_repeats,
                copies_large_buffers_whole,
                digests_tell_buffers_apart,
                flushes_its_cache_and_nothing_else,
                runs_an_empty_plan,
                launches_kernels_without_parameters,
                runs_thousands_of_launches,
                knows_its_kernels,
                refuses_what_no_kernel_can_take,
                refuses_more_memory_than_there_is,
                refuses_buffers_of_another_shape,
                isolated_sessions_start_afresh,
                isolated_sessions_see_strays,
        }
    };
    ($device:expr => $($duty:ident,)*) => {
        $(#[test]
        fn $duty() {
            if let Some(device) = $device {
                super::suite::$duty(device);
            }
        })*
    };
}

pub static KERNELS: Module = Module::from_static("kernels", include_str!("../kernels.ptx"));

/// A result that is what `expected` says, in one output named `out`.
fn assert_runs<T>(device: &dyn Device, plan: &Plan, inputs: &[(&str, HostBuffer)], expected: Vec<T>)
where
    HostBuffer: From<Vec<T>>,
{
    let mut session = device.prepare(&KERNELS, plan).unwrap();
    let inputs = inputs
        .iter()
        .map(|(name, buffer)| (name.to_string(), buffer.clone()))
        .collect();
    reset(session.as_mut(), plan, &inputs).unwrap();
    session.run().unwrap();
    let got = outputs(session.as_mut(), plan).unwrap();
    check::exact(&vec![("out".to_owned(), expected.into())], &got).unwrap();
}

pub fn runs_a_grid_with_a_tail(device: &dyn Device) {
    for n in [1usize, 31, 32, 33, 1000] {
        let mut plan = Plan::new("axpy");
        let x = plan.buffer("x", Element::F32, n);
        let y = plan.buffer("y", Element::F32, n);
        let config = LaunchConfig::covering(n as u32, 128).unwrap();
        plan.launch("axpy", config, args![0.1f32, x.slice(), y.slice()])
            .unwrap();
        plan.output("out", y);
        let x_values: Vec<f32> = (0..n).map(|i| 1.0 / (1.0 + i as f32)).collect();
        let y_values: Vec<f32> = (0..n).map(|i| i as f32).collect();
        // Product and sum are rounded each, as Rust does.
        let expected = x_values
            .iter()
            .zip(&y_values)
            .map(|(a, b)| 0.1f32 * a + b)
            .collect();
        assert_runs(
            device,
            &plan,
            &[("x", x_values.into()), ("y", y_values.into())],
            expected,
        );
    }
}

pub fn a_slice_of_part_of_a_buffer_is_that_part(device: &dyn Device) {
    let mut plan = Plan::new("parts");
    let x = plan.buffer("x", Element::F32, 100);
    let y = plan.buffer("y", Element::F32, 100);
    // More threads than the slices have elements.
    let args = args![1f32, x.slice_at(90, 10), y.slice_at(3, 7)];
    plan.launch("axpy", LaunchConfig::new(1, 64), args).unwrap();
    plan.output("out", y);
    let x_values: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let expected = (0..100).map(|i| {
        if (3..10).contains(&i) {
            87.5 + i as f32
        } else {
            0.5
        }
    });
    let y_values = vec![0.5f32; 100];
    let expected = expected.collect();
    assert_runs(
        device,
        &plan,
        &[("x", x_values.into()), ("y", y_values.into())],
        expected,
    );
}

pub fn passes_arguments_of_every_type(device: &dyn Device) {
    let mut plan = Plan::new("arguments");
    let out = plan.buffer("out", Element::U64, 12);
    let structure: Vec<u8> = (1..=16).collect();
    let args = args![
        out.at(1),
        200u8,
        4_000_000_000u32,
        -5i32,
        0x0123_4567_89ab_cdefu64,
        i64::MIN,
        -1.5f32,
        std::f64::consts::PI,
        structure
    ];
    plan.launch("every_type", LaunchConfig::new(1, 1), args)
        .unwrap();
    plan.output("out", out);
    let untouched = u64::from_ne_bytes([POISON; 8]);
    let expected = vec![
        untouched,
        200,
        4_000_000_000,
        -5i64 as u64,
        0x0123_4567_89ab_cdef,
        i64::MIN as u64,
        (-1.5f32).to_bits().into(),
        std::f64::consts::PI.to_bits(),
        u64::from_le_bytes([1, 2, 3, 4, 5, 6, 7, 8]),
        u64::from_le_bytes([9, 10, 11, 12, 13, 14, 15, 16]),
        untouched,
        untouched,
    ];
    assert_runs(device, &plan, &[], expected);
}

pub fn shares_memory_in_a_block(device: &dyn Device) {
    // The last needs more shared memory than a launch gets without asking.
    for (n, first) in [(1u32, 0u32), (32, 0), (100, 0), (256, 64), (1024, 90_000)] {
        let mut plan = Plan::new("reverse");
        let u = plan.buffer("u", Element::U32, n as usize);
        let config = LaunchConfig::new(1, n).with_shared_mem_bytes(first + 4 * n);
        plan.launch("reverse", config, args![u, first]).unwrap();
        plan.output("out", u);
        let input: Vec<u32> = (0..n).map(|i| i * i).collect();
        let expected = input.iter().rev().copied().collect();
        assert_runs(device, &plan, &[("u", input.into())], expected);
    }
}

static CLUSTERS: Module = Module::from_static("clusters", include_str!("../cluster.ptx"));

/// `ring`, in one output, with what it must give.
fn ring(blocks: u32, cluster: u32) -> (Plan, Vec<u32>) {
    let mut plan = Plan::new("ring");
    let out = plan.buffer("out", Element::U32, 32 * blocks as usize);
    let config = LaunchConfig::new(blocks, 32).with_non_portable_cluster(cluster);
    plan.launch("ring", config, args![out]).unwrap();
    plan.output("out", out);
    let peer = |i: u32| {
        let (block, thread) = (i / 32, i % 32);
        let next = block / cluster * cluster + (block % cluster + 1) % cluster;
        32 * next + thread
    };
    (plan, (0..32 * blocks).map(peer).collect())
}

/// A session for this plan, unless the device has no clusters.
fn in_clusters<'d>(device: &'d dyn Device, plan: &Plan) -> Option<Box<dyn TimedSession + 'd>> {
    let prepared = device.prepare(&CLUSTERS, plan);
    if device.info().limits.compute_capability >= (9, 0) {
        return Some(prepared.unwrap());
    }
    assert!(matches!(prepared, Err(Error::Needs { .. })));
    None
}

pub fn shares_memory_among_the_blocks_of_a_cluster(device: &dyn Device) {
    for (blocks, cluster) in [(2, 2), (12, 4), (264, 8), (6, 3)] {
        let (plan, expected) = ring(blocks, cluster);
        let Some(mut session) = in_clusters(device, &plan) else {
            return;
        };
        session.run().unwrap();
        let got = outputs(session.as_mut(), &plan).unwrap();
        check::exact(&vec![("out".to_owned(), expected.into())], &got).unwrap();
    }
    // A cluster in two directions, atomics by generic addresses.
    let mut plan = Plan::new("count");
    let out = plan.buffer("out", Element::U32, 8 * 6);
    let config = LaunchConfig::new((1, 8, 6), 32).with_cluster((1, 2, 3));
    plan.launch("count", config, args![out]).unwrap();
    plan.output("out", out);
    let mut session = in_clusters(device, &plan).unwrap();
    session.run().unwrap();
    let got = outputs(session.as_mut(), &plan).unwrap();
    let expected = vec![6 * 32u32; 48];
    check::exact(&vec![("out".to_owned(), expected.into())], &got).unwrap();
}

pub fn runs_clusters_by_stream_and_graph(device: &dyn Device) {
    let (plan, expected) = ring(64, 8);
    let Some(mut session) = in_clusters(device, &plan) else {
        return;
    };
    let expected = vec![("out".to_owned(), expected.into())];
    session.capture().unwrap();
    for by in [Launching::Stream, Launching::Graph] {
        reset(session.as_mut(), &plan, &vec![]).unwrap();
        session.run_times(3, by).unwrap();
        check::exact(&expected, &outputs(session.as_mut(), &plan).unwrap()).unwrap();
    }
}

pub fn runs_large_clusters_where_they_are_allowed(device: &dyn Device) {
    let (plan, expected) = ring(32, 16);
    let Some(mut session) = in_clusters(device, &plan) else {
        return;
    };
    match session.run() {
        // Not every device has 16 multiprocessors together.
        Err(Error::Device(DeviceError::LaunchRefused { .. })) => {}
        run => {
            run.unwrap();
            let got = outputs(session.as_mut(), &plan).unwrap();
            check::exact(&vec![("out".to_owned(), expected.into())], &got).unwrap();
        }
    }
}

pub fn copies_and_fills_in_order(device: &dyn Device) {
    let mut plan = Plan::new("copies");
    let a = plan.buffer("a", Element::U32, 6);
    let b = plan.scratch("b", Element::U32, 6);
    plan.copy(a, b).unwrap();
    plan.fill(a, 0).unwrap();
    plan.copy_range(b, 1, a, 2, 3).unwrap();
    plan.copy_range(a, 2, a, 5, 1).unwrap();
    plan.output("out", a);
    let input = vec![10u32, 11, 12, 13, 14, 15];
    assert_runs(
        device,
        &plan,
        &[("a", input.into())],
        vec![0u32, 0, 11, 12, 13, 11],
    );
}

pub fn keeps_buffers_between_runs(device: &dyn Device) {
    let mut plan = Plan::new("twice");
    let x = plan.buffer("x", Element::F32, 3);
    let y = plan.buffer("y", Element::F32, 3);
    plan.launch(
        "axpy",
        LaunchConfig::new(1, 32),
        args![2.0f32, x.slice(), y.slice()],
    )
    .unwrap();
    plan.output("out", y);
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    session.write(x, &vec![1.0f32, 2.0, 3.0].into()).unwrap();
    session.fill(y, 0).unwrap();
    let first = session.run().unwrap();
    let second = session.run().unwrap();
    assert_eq!(session.read(y).unwrap(), vec![4.0f32, 8.0, 12.0].into());
    assert_eq!(session.read(x).unwrap(), vec![1.0f32, 2.0, 3.0].into());
    for timing in [first, second] {
        assert!(!timing.host.is_zero());
        // The device measures while the host waits.
        assert!(timing.device.is_none_or(|time| time <= timing.host));
    }
}

pub fn sessions_that_share_memory_restore_their_inputs(device: &dyn Device) {
    let plan = |factor: f32| {
        let mut plan = Plan::new("axpy");
        let [x, y] = ["x", "y"].map(|name| plan.buffer(name, Element::F32, 4));
        let spare = plan.scratch("spare", Element::U8, 4);
        let config = LaunchConfig::new(1, 32);
        plan.launch("axpy", config, args![factor, x.slice(), y, 4u64])
            .unwrap();
        plan.fill(spare, 1).unwrap();
        plan.output("y", y);
        (plan, x, y, spare)
    };
    let inputs = vec![
        ("x".to_owned(), vec![1.0f32, 2.0, 3.0, 4.0].into()),
        ("y".to_owned(), vec![10.0f32; 4].into()),
    ];
    let pool = BufferPool::default();
    let plans = [plan(2.0), plan(-1.0)];
    let mut sessions = plans.each_ref().map(|(own, ..)| {
        let session = device.prepare_as(&KERNELS, own, &Preparation::in_pool(&pool));
        session.unwrap()
    });
    let expected = [[12.0f32, 14.0, 16.0, 18.0], [9.0, 8.0, 7.0, 6.0]];
    let mut got = Vec::new();
    for _ in 0..3 {
        for ((session, (own, _, y, spare)), right) in sessions.iter_mut().zip(&plans).zip(expected)
        {
            restore(session.as_mut(), own, &inputs).unwrap();
            assert_eq!(session.read(*y).unwrap(), inputs[1].1);
            assert_eq!(session.read(*spare).unwrap(), vec![POISON; 4].into());
            session.run().unwrap();
            outputs_into(session.as_mut(), own, &mut got).unwrap();
            assert_eq!(got, [("y".to_owned(), right.to_vec().into())]);
            assert!(holds(session.as_mut(), own, &got).unwrap());
            for other in [vec![], inputs.clone(), vec![inputs[1].clone()]] {
                assert!(!holds(session.as_mut(), own, &other).unwrap());
            }
        }
    }
    let is_shared = device.info().kind == DeviceKind::Cuda;
    let (_, x, y, _) = &plans[1];
    // The contents that another session left are there, and so are the kept inputs.
    let left = HostBuffer::from(vec![5.0f32; 4]);
    sessions[0].write(plans[0].2, &left).unwrap();
    assert_eq!(sessions[1].read(*y).unwrap() == left, is_shared);
    assert_eq!(sessions[1].recall(*x).unwrap(), is_shared);
    reset(sessions[1].as_mut(), &plans[1].0, &inputs).unwrap();
    assert_eq!(sessions[1].read(*y).unwrap(), inputs[1].1);
}

pub fn parts_of_a_run_are_timed(device: &dyn Device) {
    let plan = every_command();
    let out = plan.find_output("out").unwrap();
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    let inputs = [("x", vec![1.5f32]), ("y", vec![0.0f32])]
        .map(|(name, values)| (name.to_owned(), HostBuffer::from(values)));
    reset(session.as_mut(), &plan, &inputs.to_vec()).unwrap();
    assert_eq!(session.run_segments(4).unwrap(), None, "of 3 commands");
    let Some(segments) = session.run_segments(2).unwrap() else {
        assert_eq!(device.info().kind, DeviceKind::Emulated);
        return;
    };
    assert_eq!(session.read(out).unwrap(), vec![1.5f32, 0.0].into());
    let commands: Vec<u64> = segments
        .parts
        .iter()
        .map(|(commands, _)| *commands)
        .collect();
    assert_eq!(commands, [1, 2]);
    let parts: f64 = segments
        .parts
        .iter()
        .map(|(_, time)| time.as_secs_f64())
        .sum();
    let whole = segments.whole.device.unwrap();
    // Events have steps of half a microsecond.
    assert!((parts - whole.as_secs_f64()).abs() < 3e-6, "{segments:?}");
    assert!(whole <= segments.whole.host);
}

/// A plan of every kind of command: y += x by a launch, out[0] = y[0] by a copy, out[1] = 0 by a
/// fill before it.
fn every_command() -> Plan {
    let mut plan = Plan::new("every command");
    let x = plan.buffer("x", Element::F32, 1);
    let y = plan.buffer("y", Element::F32, 1);
    let out = plan.scratch("sums", Element::F32, 2);
    plan.fill(out, 0).unwrap();
    let config = LaunchConfig::new(1, 32);
    plan.launch("axpy", config, args![1.0f32, x.slice(), y.slice()])
        .unwrap();
    plan.copy_range(y, 0, out, 0, 1).unwrap();
    plan.output("out", out);
    plan
}

pub fn runs_many_times_by_stream_and_graph(device: &dyn Device) {
    let plan = every_command();
    let out = plan.find_output("out").unwrap();
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    let inputs = [("x", vec![1.5f32]), ("y", vec![0.0f32])]
        .map(|(name, values)| (name.to_owned(), HostBuffer::from(values)));
    reset(session.as_mut(), &plan, &inputs.to_vec()).unwrap();
    let mut check = |runs, by, expected: f32| {
        let timing = session.run_times(runs, by).unwrap();
        assert!(timing.device.is_none_or(|time| time <= timing.host));
        assert_eq!(session.read(out).unwrap(), vec![expected, 0.0].into());
        session.capture().unwrap()
    };
    // Before it is captured, a plan goes by stream whatever is asked for.
    let first = check(2, Launching::Graph, 3.0);
    let second = check(3, Launching::Graph, 7.5);
    check(1, Launching::Stream, 9.0);
    let last = check(20, Launching::Graph, 39.0);
    assert_eq!(first, second, "made once");
    assert_eq!(first, last);
    match first {
        Capture::Graph { nodes, made_in } => {
            assert_eq!((device.info().kind, nodes), (DeviceKind::Cuda, 3));
            assert!(!made_in.is_zero());
        }
        Capture::Stream { reason } => {
            assert_eq!(reason, "this device has no graphs");
            assert_eq!(device.info().kind, DeviceKind::Emulated);
        }
    }
}

pub fn captures_no_plan_that_is_empty_or_long_without_repeating(device: &dyn Device) {
    for commands in [0, 65_537] {
        let mut plan = Plan::new("long");
        let u = plan.buffer("u", Element::U8, 1);
        for command in 0..commands {
            // One of them is another.
            plan.fill(u, u8::from(command == 20_000)).unwrap();
        }
        let mut session = device.prepare(&KERNELS, &plan).unwrap();
        let Capture::Stream { reason } = session.capture().unwrap() else {
            panic!("a graph of {commands} commands");
        };
        let expected = match device.info().kind {
            DeviceKind::Cuda => format!(
                "graphs are made of 1 to 65536 commands; this plan has {commands}, and does not repeat"
            ),
            DeviceKind::Emulated => "this device has no graphs".to_owned(),
        };
        assert_eq!(reason, expected);
        session.run_times(2, Launching::Graph).unwrap();
    }
}

pub fn replays_the_repetitions_of_a_long_plan(device: &dyn Device) {
    const STEPS: u32 = 66_000;
    let mut plan = Plan::new("long");
    let x = plan.buffer("x", Element::F32, 1);
    let y = plan.buffer("y", Element::F32, 1);
    plan.output("y", y);
    // A command that does not repeat.
    plan.fill(y, 0).unwrap();
    // y += x and x -= y in turns, which come back to the same values after twelve; the last turn is
    // not whole.
    for step in 0..=STEPS {
        let (factor, from, to) = match step % 2 {
            0 => (1.0f32, x, y),
            _ => (-1.0, y, x),
        };
        let args = args![factor, from.slice(), to.slice()];
        plan.launch("axpy", LaunchConfig::new(1, 1), args).unwrap();
    }
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    let inputs = [("x", vec![3.0f32]), ("y", vec![5.0f32])]
        .map(|(name, values)| (name.to_owned(), HostBuffer::from(values)))
        .to_vec();
    let mut values = Vec::new();
    for by in [Launching::Stream, Launching::Graph] {
        reset(session.as_mut(), &plan, &inputs).unwrap();
        session.run_times(1, by).unwrap();
        values.push([x, y].map(|id| session.read(id).unwrap()));
        reset(session.as_mut(), &plan, &inputs).unwrap();
        if let Some(segments) = session.run_segments(5).unwrap() {
            // By stream at first, then by replays of 4096 and a rest of 465, after one more.
            let parts: Vec<u64> = segments
                .parts
                .iter()
                .map(|(commands, _)| *commands)
                .collect();
            let expected = match by {
                Launching::Stream => [13200, 13200, 13201, 13200, 13201],
                Launching::Graph => [12289, 12288, 12288, 12288, 16849],
            };
            assert_eq!(parts, expected);
            values.push([x, y].map(|id| session.read(id).unwrap()));
        }
        let captured = session.capture().unwrap();
        if device.info().kind == DeviceKind::Cuda {
            assert!(
                matches!(captured, Capture::Graph { nodes: 4096, .. }),
                "{captured:?}"
            );
        }
    }
    // 66 000 steps are 5500 times twelve; then once more y += x.
    let expected = [vec![3.0f32], vec![3.0]].map(HostBuffer::from);
    assert!(
        values.iter().all(|values| *values == expected),
        "{values:?}"
    );
}

/// Steps of y[i] += x[i] in parts that are independent, of different sizes, each followed by x = y;
/// before them a fill and a copy that are independent, too.
fn steps_in_parts(steps: u32) -> Plan {
    const LEN: u64 = 100_000;
    let mut plan = Plan::new("parts");
    let x = plan.buffer("x", Element::F32, LEN as usize);
    let y = plan.buffer("y", Element::F32, LEN as usize);
    let kept = plan.buffer("kept", Element::F32, LEN as usize);
    plan.output("y", y);
    plan.output("kept", kept);
    plan.independent(|plan| {
        plan.fill(y, 0)?;
        plan.copy(x, kept)
    })
    .unwrap();
    // More parts than streams; the last is empty.
    let ends = [
        0, 1, 40_000, 40_001, 50_000, 60_000, 70_000, 80_000, 90_000, 99_000, LEN,
    ];
    for _ in 0..steps {
        plan.independent(|plan| {
            for part in ends.windows(2) {
                let (start, len) = (part[0], part[1] - part[0]);
                let config = LaunchConfig::covering(len as u32, 128)?;
                let slice = |id: plan::BufferId| id.slice_at(start, len);
                plan.launch("axpy", config, args![1.0f32, slice(x), slice(y)])?;
            }
            Ok(())
        })
        .unwrap();
        plan.copy(y, x).unwrap();
    }
    plan
}

pub fn independent_commands_run_between_those_around_them(device: &dyn Device) {
    let plan = steps_in_parts(5);
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    let x: Vec<f32> = (0..100_000).map(|i| (i % 97) as f32).collect();
    let expected = [x.iter().map(|x| 16.0 * x).collect(), x.clone()].map(HostBuffer::from);
    let inputs = vec![("x".to_owned(), x.into())];
    let assert_right = |on: &mut dyn device::Session, how: &str| {
        let got = outputs(on, &plan).unwrap();
        let got = [&got[0].1, &got[1].1];
        assert!(got == expected.each_ref(), "{how}");
    };
    for by in [Launching::Stream, Launching::Graph] {
        for _ in 0..3 {
            reset(session.as_mut(), &plan, &inputs).unwrap();
            session.run_times(1, by).unwrap();
            assert_right(session.as_mut(), by.name());
        }
        reset(session.as_mut(), &plan, &inputs).unwrap();
        // Parts end where groups do, not within.
        if let Some(segments) = session.run_segments(3).unwrap() {
            let parts = segments.parts.iter().map(|(commands, _)| *commands);
            assert_eq!(parts.collect::<Vec<_>>(), [23, 22, 12]);
            assert_right(session.as_mut(), "in parts");
        }
        let captured = session.capture().unwrap();
        if device.info().kind == DeviceKind::Cuda {
            let nodes = matches!(captured, Capture::Graph { nodes: 57, .. });
            assert!(nodes, "{captured:?}");
        }
    }
}

pub fn a_long_plan_with_independent_commands_repeats(device: &dyn Device) {
    // Few enough for the emulated device, which does the same by stream.
    let steps = match device.info().kind {
        DeviceKind::Cuda => 12_001,
        DeviceKind::Emulated => 3,
    };
    let plan = steps_in_parts(steps);
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    // 0 stays 0, whatever it is multiplied with.
    let inputs = vec![("x".to_owned(), vec![0.0f32; 100_000].into())];
    let expected = [(); 2].map(|()| HostBuffer::from(vec![0.0f32; 100_000]));
    let captured = session.capture().unwrap();
    if device.info().kind == DeviceKind::Cuda {
        // Beyond 65,536 commands a graph has some repetitions, about 4096 commands of them: 372
        // steps of 11 here, after the fill and the copy.
        let nodes = matches!(captured, Capture::Graph { nodes: 4092, .. });
        assert!(nodes, "{captured:?}");
    }
    reset(session.as_mut(), &plan, &inputs).unwrap();
    session.run_times(1, Launching::Graph).unwrap();
    let got = outputs(session.as_mut(), &plan).unwrap();
    assert!([&got[0].1, &got[1].1] == expected.each_ref());
    reset(session.as_mut(), &plan, &inputs).unwrap();
    if let Some(segments) = session.run_segments(4).unwrap() {
        let commands: u64 = segments.parts.iter().map(|(commands, _)| *commands).sum();
        assert_eq!(commands, plan.commands().len() as u64);
    }
}

pub fn copies_large_buffers_whole(device: &dyn Device) {
    // Longer than what is copied at once, and no multiple of it.
    const LEN: usize = (100 << 20) + 12_345;
    let mut plan = Plan::new("large");
    let u = plan.buffer("u", Element::U8, LEN);
    let values = (0..LEN).map(|i| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56);
    let values = HostBuffer::from(values.map(|value| value as u8).collect::<Vec<u8>>());
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    session.write(u, &values).unwrap();
    let mut read = HostBuffer::zeroed(Element::U8, LEN).unwrap();
    for _ in 0..2 {
        session.read_into(u, &mut read).unwrap();
        assert!(read.is_same(&values));
    }
    // Each of these differs in one byte: of the first piece, of one in the middle, of the last.
    assert!(session.holds(u, &values).unwrap());
    for at in [0, 50 << 20, LEN - 1] {
        let mut other = values.clone();
        other.bytes_mut()[at] ^= 1;
        assert!(!session.holds(u, &other).unwrap(), "{at}");
    }
}

pub fn digests_tell_buffers_apart(device: &dyn Device) {
    let mut plan = Plan::new("digests");
    let u = plan.buffer("u", Element::F32, 70_001);
    let odd = plan.buffer("odd", Element::U8, 3);
    plan.fill(odd, 0).unwrap();
    plan.output("u", u);
    let mut sessions = [0, 1].map(|_| device.prepare(&KERNELS, &plan).unwrap());
    let values: Vec<f32> = (0..70_001).map(|i| (i % 7 + 1) as f32).collect();
    let mut other = values.clone();
    other[70_000] = -other[70_000];
    let mut digests = |at: usize, written: &[f32]| {
        let session: &mut Box<dyn TimedSession + '_> = &mut sessions[at];
        session.write(u, &written.to_vec().into()).unwrap();
        session.digest(u).unwrap()
    };
    let one = digests(0, &values);
    assert_eq!(one.is_none(), device.info().kind == DeviceKind::Emulated);
    assert_eq!(digests(1, &values), one);
    if one.is_some() {
        assert_ne!(digests(1, &other), one);
    }
    assert_eq!(sessions[0].digest(odd).unwrap(), None);
}

pub fn flushes_its_cache_and_nothing_else(device: &dyn Device) {
    let plan = every_command();
    let y = plan.find_buffer("y").unwrap();
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    session.write(y, &vec![7.0f32].into()).unwrap();
    for _ in 0..2 {
        match session.flush().unwrap() {
            Flushed::Cache { bytes } => assert!(bytes > device.info().l2_bytes.unwrap()),
            Flushed::NoCache => assert_eq!(device.info().kind, DeviceKind::Emulated),
        }
    }
    assert_eq!(session.read(y).unwrap(), vec![7.0f32].into());
}

pub fn runs_an_empty_plan(device: &dyn Device) {
    let mut plan = Plan::new("nothing");
    let u = plan.buffer("u", Element::U8, 3);
    plan.output("out", u);
    assert_runs(
        device,
        &plan,
        &[("u", vec![1u8, 2, 3].into())],
        vec![1u8, 2, 3],
    );
}

pub fn launches_kernels_without_parameters(device: &dyn Device) {
    let mut plan = Plan::new("no parameters");
    let u = plan.buffer("u", Element::U8, 1);
    plan.launch("nothing", LaunchConfig::new((2, 3), (4, 5, 6)), args![])
        .unwrap();
    plan.launch("fails", LaunchConfig::new(1, 1), args![0u32])
        .unwrap();
    plan.launch("exactly", LaunchConfig::new(1, (4, 2)), args![u])
        .unwrap();
    plan.output("out", u);
    assert_runs(device, &plan, &[("u", vec![9u8].into())], vec![9u8]);
}

pub fn runs_thousands_of_launches(device: &dyn Device) {
    let mut plan = Plan::new("many");
    let x = plan.buffer("x", Element::F32, 5);
    let y = plan.buffer("y", Element::F32, 5);
    for _ in 0..2000 {
        plan.launch(
            "axpy",
            LaunchConfig::new(1, 5),
            args![1.0f32, x.slice(), y.slice()],
        )
        .unwrap();
    }
    plan.output("out", y);
    let inputs = [("x", vec![1.0f32; 5].into()), ("y", vec![0.0f32; 5].into())];
    assert_runs(device, &plan, &inputs, vec![2000.0f32; 5]);
}

pub fn knows_its_kernels(device: &dyn Device) {
    let mut plan = Plan::new("bounded");
    let u = plan.buffer("u", Element::U32, 1);
    plan.launch("bounded", LaunchConfig::new(1, (8, 8)), args![u])
        .unwrap();
    let session = device.prepare(&KERNELS, &plan).unwrap();
    let info = session.kernel_info("bounded").unwrap();
    assert_eq!(info.name, "bounded");
    assert_eq!(info.static_shared_bytes, 16 * 1024);
    assert_eq!(info.max_threads_per_block, 64);
    assert!(
        info.occupancy
            .is_none_or(|share| 0.0 < share && share <= 1.0)
    );
    let error = session.kernel_info("bound").unwrap_err();
    assert_eq!(
        error.to_string(),
        "plan `bounded` does not launch `bound`; did you mean `bounded`?"
    );
}

pub fn refuses_what_no_kernel_can_take(device: &dyn Device) {
    let mut plan = Plan::new("wrong");
    let u = plan.buffer("u", Element::U32, 1);
    plan.launch("bounded", LaunchConfig::new(1, 65), args![u])
        .unwrap();
    let error = device.prepare(&KERNELS, &plan).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Submission);
    assert!(matches!(error, Error::Validation(_)), "{error}");
}

pub fn refuses_more_memory_than_there_is(device: &dyn Device) {
    let mut plan = Plan::new("huge");
    plan.buffer("u", Element::F64, 1 << 48);
    let error = device.prepare(&KERNELS, &plan).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Environment);
    assert!(
        error
            .to_string()
            .contains("plan `huge` needs 2251799813685248 bytes"),
        "{error}"
    );
}

pub fn refuses_buffers_of_another_shape(device: &dyn Device) {
    let mut plan = Plan::new("shapes");
    let u = plan.buffer("u", Element::U32, 2);
    let mut other = Plan::new("other");
    let foreign = other.buffer("v", Element::U32, 2);
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    let error = session.write(u, &vec![1u32].into()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "buffer `u` of plan `shapes` has 2 u32 elements; got 1 of u32"
    );
    let of_other_type = session.write(u, &vec![1i32, 2].into()).unwrap_err();
    assert_eq!(
        of_other_type.to_string(),
        "buffer `u` of plan `shapes` has 2 u32 elements; got 2 of i32"
    );
    for refused in [
        session.write(foreign, &vec![1u32, 2].into()).unwrap_err(),
        session.fill(foreign, 0).unwrap_err(),
        session.read(foreign).unwrap_err(),
    ] {
        assert!(
            matches!(refused, Error::Plan(PlanError::ForeignBuffer { .. })),
            "{refused}"
        );
    }
}

/// A kernel that counts its launches in a global, and stores the count at element `at` of `out`.
fn counting() -> Module {
    Module::new(
        "counting",
        "
.version 7.8
.target sm_80
.address_size 64
.global .align 4 .u32 launches = 7;
.visible .entry count(.param .u64 out, .param .s64 at)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.global.u32 %r1, [launches];
    add.u32 %r2, %r1, 1;
    st.global.u32 [launches], %r2;
    ld.param.u64 %rd1, [out];
    ld.param.s64 %rd2, [at];
    shl.b64 %rd2, %rd2, 2;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
",
    )
}

fn counts_at(at: i64) -> Plan {
    let mut plan = Plan::new("counting");
    let out = plan.buffer("out", Element::U32, 3);
    plan.launch("count", LaunchConfig::new(1, 1), args![out, at])
        .unwrap();
    plan.output("out", out);
    plan
}

pub fn isolated_sessions_start_afresh(device: &dyn Device) {
    let (module, plan) = (counting(), counts_at(1));
    for _ in 0..2 {
        let mut session = device
            .prepare_as(&module, &plan, &Preparation::isolated())
            .unwrap();
        reset(session.as_mut(), &plan, &vec![]).unwrap();
        for launches in [8u32, 9] {
            session.run().unwrap();
            let got = outputs(session.as_mut(), &plan).unwrap();
            assert_eq!(got[0].1.as_slice::<u32>().unwrap()[1], launches);
        }
        assert_eq!(session.strays().unwrap(), []);
    }
}

pub fn isolated_sessions_see_strays(device: &dyn Device) {
    for (at, side, distance_bytes) in [(3, Side::After, 1), (-2, Side::Before, 8)] {
        let (module, plan) = (counting(), counts_at(at));
        let mut session = device
            .prepare_as(&module, &plan, &Preparation::isolated())
            .unwrap();
        reset(session.as_mut(), &plan, &vec![]).unwrap();
        if device.info().kind == DeviceKind::Emulated {
            // Here a stray is a fault.
            let error = session.run().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Submission, "{error}");
            continue;
        }
        session.run().unwrap();
        let strays = session.strays().unwrap();
        let [stray] = &strays[..] else {
            panic!("{strays:?}")
        };
        // A byte of the count may be what lay there.
        assert_eq!((stray.side, stray.buffer.as_str()), (side, "out"));
        assert!(stray.distance_bytes.abs_diff(distance_bytes) < 4, "{stray}");
    }
}
