//! The emulated device does what every device does, and what it alone can do: name the thread and
//! the line of a fault, and count.

#[macro_use]
#[path = "../suite/mod.rs"]
mod suite;

use device::run::reset;
use device::{Device, Element, Module, Order, Preparation, TimedSession};
use device::{EmulatedDevice, Options, POISON, Replay, Sanitize, Schedule, Wish, WrongValue};
use exit::ErrorKind;
use plan::PlanError;
use plan::{Arg, BufferId, LaunchConfig, Plan, args};

static KERNELS: Module = Module::from_static("kernels", include_str!("../kernels.ptx"));

mod on_emulated {
    use device::EmulatedDevice;

    duties!(Some(&EmulatedDevice::default()));
}

/// What is said about one launch of a kernel, of a plan with a buffer of 4 u32 and a scratch buffer
/// of 8 f32.
fn fault(
    kernel: &str,
    config: LaunchConfig,
    args: impl FnOnce(BufferId, BufferId) -> Vec<Arg>,
) -> String {
    let mut plan = Plan::new("p");
    let u = plan.buffer("u", Element::U32, 4);
    let s = plan.scratch("s", Element::F32, 8);
    plan.launch("nothing", LaunchConfig::new(1, 1), args![])
        .unwrap();
    plan.launch(kernel, config, args(u, s)).unwrap();
    let device = EmulatedDevice::default();
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    reset(session.as_mut(), &plan, &vec![]).unwrap();
    session.fill(u, 0).unwrap();
    let error = session.run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Submission);
    // The device is not lost: it says the same again.
    assert_eq!(session.run().unwrap_err().to_string(), error.to_string());
    error.to_string()
}

#[test]
fn faults_name_thread_and_line() {
    let one = LaunchConfig::new(1, 1);
    insta::assert_snapshot!(fault("fails", one, |_, _| args![1u32].to_vec()), @"
        plan `p`, command 1 (launch of `fails`)
        trap: the kernel executed `trap`: a panic, for example from an index out of range, a division by zero or an `unwrap` of `None`
          in kernel `fails` at PTX line 159, block (0, 0, 0), thread (0, 0, 0)
        ");
    insta::assert_snapshot!(fault("writes_at", one, |u, _| args![u, 4u64].to_vec()), @"
        plan `p`, command 1 (launch of `writes_at`)
        out of bounds: store of 4 bytes at offset 16 of buffer `u` (16 bytes) reaches 4 bytes past its end (index 4, length 4)
          in kernel `writes_at` at PTX line 178, block (0, 0, 0), thread (0, 0, 0)
        ");
    // The last of five threads finds no element in a buffer of four, since its length is passed
    // wrongly.
    let five = LaunchConfig::new(1, 5);
    insta::assert_snapshot!(fault("axpy", five, |u, _| vec![1.0f32.into(), u.into(), 4u64.into(), u.into(), 5u64.into()]), @"
        plan `p`, command 1 (launch of `axpy`)
        out of bounds: load of 4 bytes at offset 16 of buffer `u` (16 bytes) reaches 4 bytes past its end (index 4, length 4)
          in kernel `axpy` at PTX line 36, block (0, 0, 0), thread (4, 0, 0)
        ");
}

#[test]
fn reading_unwritten_scratch_is_a_fault() {
    let four = LaunchConfig::new(1, 4);
    insta::assert_snapshot!(fault("axpy", four, |u, s| args![1.0f32, s.slice(), u.slice()].to_vec()), @"
        plan `p`, command 1 (launch of `axpy`)
        uninitialized read: load of 4 bytes from byte 0 of buffer `s`, which nothing has written before
          in kernel `axpy` at PTX line 36, block (0, 0, 0), thread (0, 0, 0)
          at PTX line 40, a store to global memory of it
        ");
}

#[test]
fn reading_a_result_before_it_is_written_is_a_fault() {
    let mut plan = Plan::new("p");
    let x = plan.buffer("x", Element::F32, 4);
    let y = plan.buffer("y", Element::F32, 4);
    plan.output("y", y);
    let axpy = args![1.0f32, x.slice(), y.slice()];
    plan.launch("axpy", LaunchConfig::new(1, 4), axpy).unwrap();
    let device = EmulatedDevice::default();
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    let inputs = vec![("x".to_owned(), vec![1.0f32; 4].into())];
    reset(session.as_mut(), &plan, &inputs).unwrap();
    insta::assert_snapshot!(session.run().unwrap_err(), @"
        plan `p`, command 0 (launch of `axpy`)
        uninitialized read: load of 4 bytes from byte 0 of buffer `y`, which nothing has written before
          in kernel `axpy` at PTX line 37, block (0, 0, 0), thread (0, 0, 0)
          at PTX line 40, a store to global memory of it
        ");
}

/// What is said about commands that are recorded as independent, of a plan with buffers of 8 f32
/// and 4 u32 that runs in some order.
fn dependence(
    schedule: Schedule,
    record: impl Fn(&mut Plan, BufferId, BufferId) -> Result<(), PlanError>,
) -> String {
    let recorded = |as_independent: bool| {
        let mut plan = Plan::new("p");
        let f = plan.buffer("f", Element::F32, 8);
        let u = plan.buffer("u", Element::U32, 4);
        plan.fill(u, 0).unwrap();
        plan.fill(f, 0).unwrap();
        if as_independent {
            plan.independent(|plan| record(plan, f, u)).unwrap()
        } else {
            record(&mut plan, f, u).unwrap()
        }
        plan
    };
    let run = |plan: &Plan| {
        let device = EmulatedDevice::new(Options {
            schedule,
            ..Options::default()
        });
        let mut session = device.prepare(&KERNELS, plan).unwrap();
        let first = session.run();
        assert_eq!(first.is_ok(), session.run().is_ok());
        first
    };
    // One after another, they may do what they like.
    run(&recorded(false)).unwrap();
    let error = run(&recorded(true)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Submission);
    error.to_string()
}

#[test]
fn commands_that_are_not_independent_are_named() {
    let (one, eight) = (LaunchConfig::new(1, 1), LaunchConfig::new(1, 8));
    for schedule in [0, 1, 2, 3].map(|seed| match seed {
        0 => Schedule::InOrder,
        _ => Schedule::Random { seed },
    }) {
        // The second reads what the first writes; a third has nothing to do with them.
        insta::allow_duplicates! {
            insta::assert_snapshot!(dependence(schedule, |plan, f, u| {
                plan.launch("writes_at", one, args![f, 5u64])?;
                plan.launch("writes_at", one, args![u, 3u64])?;
                plan.launch("axpy", eight, args![1.0f32, f.slice_at(5, 1), f.slice_at(6, 1)])
            }), @"plan `p`: command 2 (launch of `writes_at`) and command 4 (launch of `axpy`) are recorded as independent, but the first writes element 5 of buffer `f`, which the second reads; record them one after the other");
            insta::assert_snapshot!(dependence(schedule, |plan, f, _| {
                plan.launch("axpy", eight, args![1.0f32, f.slice_at(5, 1), f.slice_at(6, 1)])?;
                plan.launch("writes_at", one, args![f, 5u64])
            }), @"plan `p`: command 2 (launch of `axpy`) and command 3 (launch of `writes_at`) are recorded as independent, but the first reads element 5 of buffer `f`, which the second writes; record them one after the other");
            // Even of one value.
            insta::assert_snapshot!(dependence(schedule, |plan, _, u| {
                plan.launch("writes_at", one, args![u, 0u64])?;
                plan.launch("writes_at", one, args![u, 3u64])?;
                plan.launch("writes_at", one, args![u, 3u64])
            }), @"plan `p`: command 3 (launch of `writes_at`) and command 4 (launch of `writes_at`) are recorded as independent, but both write element 3 of buffer `u`; record them one after the other");
            insta::assert_snapshot!(dependence(schedule, |plan, f, _| {
                plan.copy_range(f, 0, f, 4, 2)?;
                plan.launch("writes_at", one, args![f, 1u64])
            }), @"plan `p`: command 2 (copy) and command 3 (launch of `writes_at`) are recorded as independent, but the first reads element 1 of buffer `f`, which the second writes; record them one after the other");
            insta::assert_snapshot!(dependence(schedule, |plan, _, u| {
                plan.launch("writes_at", one, args![u, 2u64])?;
                plan.fill(u, 9)
            }), @"plan `p`: command 2 (launch of `writes_at`) and command 3 (fill) are recorded as independent, but both write element 2 of buffer `u`; record them one after the other");
        }
    }
}

#[test]
fn scratch_that_is_copied_to_a_result_looks_wrong() {
    for sanitize in [Sanitize::NONE, Sanitize::ALL] {
        let device = EmulatedDevice::new(Options {
            sanitize,
            ..Options::default()
        });
        let mut plan = Plan::new("p");
        let u = plan.buffer("u", Element::U32, 4);
        let s = plan.scratch("s", Element::U32, 4);
        plan.copy(s, u).unwrap();
        let mut session = device.prepare(&KERNELS, &plan).unwrap();
        reset(session.as_mut(), &plan, &vec![]).unwrap();
        session.run().unwrap();
        assert_eq!(session.read(u).unwrap().bytes(), [POISON; 16]);
    }
}

#[test]
fn endless_loops_run_out_of_fuel() {
    let device = EmulatedDevice::new(Options {
        fuel: 5,
        ..Options::default()
    });
    let mut plan = Plan::new("p");
    let x = plan.buffer("x", Element::F32, 1);
    plan.launch(
        "axpy",
        LaunchConfig::new(1, 1),
        args![1.0f32, x.slice(), x.slice()],
    )
    .unwrap();
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    let error = session.run().unwrap_err();
    insta::assert_snapshot!(error, @"
        plan `p`, command 0 (launch of `axpy`)
        out of fuel: the block has executed 5 warp instructions and has not ended; is there an endless loop, or a wait for another block?
          in kernel `axpy` at PTX line 27, block (0, 0, 0), thread (0, 0, 0)
        ");
}

#[test]
fn runs_are_counted_for_each_kernel() {
    let n = 64usize;
    let mut plan = Plan::new("p");
    let x = plan.buffer("x", Element::F32, n);
    let y = plan.buffer("y", Element::F32, n);
    let axpy = args![1.0f32, x.slice(), y.slice()];
    plan.launch("axpy", LaunchConfig::new(2, 32), axpy.clone())
        .unwrap();
    plan.launch("nothing", LaunchConfig::new(3, 32), args![])
        .unwrap();
    // 32 of these threads have nothing to do: another path through the kernel.
    plan.launch("axpy", LaunchConfig::new(3, 32), axpy).unwrap();
    let device = EmulatedDevice::default();
    let mut session = device.prepare(&KERNELS, &plan).unwrap();
    assert!(session.reports().is_empty());
    for id in [x, y] {
        session.fill(id, 0).unwrap();
    }
    for _ in 0..2 {
        session.run().unwrap();
        let [first, nothing] = session.reports() else {
            panic!("{:?}", session.reports())
        };
        assert_eq!((first.total.kernel.as_str(), first.launches), ("axpy", 2));
        assert_eq!((first.total.blocks, first.total.threads), (5, 160));
        // 4 warps read x and y, 128 contiguous bytes each, and write y.
        assert_eq!(first.total.counts.global_loads.sectors, 4 * 2 * 4);
        assert_eq!(first.total.counts.global_stores.sectors, 4 * 4);
        assert_eq!(first.total.counts.global_stores.bytes, 4 * 32 * 4);
        let listed: u64 = first
            .total
            .instructions
            .iter()
            .map(|i| i.counts.instructions.warp)
            .sum();
        assert_eq!(listed, first.total.counts.instructions.warp);
        assert_eq!((nothing.launches, nothing.total.blocks), (1, 3));
        assert_eq!(nothing.total.counts.instructions.warp, 3);
    }
}

#[test]
fn a_device_runs_the_module_for_its_generation() {
    let module = Module::new(
        "k",
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
         .reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\n\
         st.global.u32 [%rd1], 90; // cuda_std.before sm_90 st.global.u32 [%rd1], 80;\nret;\n}\n\
         // cuda_std.generation sm_75 7.4\n",
    );
    let mut plan = Plan::new("p");
    let out = plan.scratch("out", Element::U32, 1);
    plan.launch("k", LaunchConfig::new(1, 1), args![out])
        .unwrap();
    let run = |device: EmulatedDevice| {
        let mut session = device.prepare(&module, &plan).unwrap();
        session.run().unwrap();
        session.read(out).unwrap().as_slice::<u32>().unwrap()[0]
    };
    assert_eq!(run(EmulatedDevice::default()), 90);
    assert_eq!(run(EmulatedDevice::default().with_capability((8, 6))), 80);
    assert_eq!(run(EmulatedDevice::default().with_capability((10, 0))), 90);
}

/// An A10 has 99 KiB of shared memory per block, an Orin 163 (CUDA C++ Programming Guide, "Compute
/// Capabilities").
#[test]
fn an_emulated_device_has_the_room_of_its_generation() {
    let module = Module::new(
        "large",
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 4 .b8 s[];\n\
         .visible .entry k()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, s;\nret;\n}\n",
    );
    let prepared = |capability, kib: u32| {
        let mut plan = Plan::new("p");
        let config = LaunchConfig::new(1, 32).with_shared_mem_bytes(kib << 10);
        plan.launch("k", config, args![]).unwrap();
        let device = EmulatedDevice::default().with_capability(capability);
        let prepared = device.prepare(&module, &plan);
        prepared
            .map(drop)
            .map_err(|error| (error.kind(), error.to_string()))
    };
    for (capability, most) in [
        ((8, 0), 163),
        ((8, 6), 99),
        ((8, 7), 163),
        ((9, 0), 227),
        ((12, 1), 99),
    ] {
        prepared(capability, most).unwrap();
        let (kind, _) = prepared(capability, most + 1).unwrap_err();
        let is_no_mistake = (kind == ErrorKind::Needs) == (most < 227);
        assert!(is_no_mistake, "{capability:?}: {kind:?}");
    }
    let (kind, message) = prepared((7, 5), 1).unwrap_err();
    assert_eq!(kind, ErrorKind::Needs);
    insta::assert_snapshot!(message, @"module `large` needs compute capability 8.0 or newer; this device has 7.5");
}

/// The order is the session's: it changes neither that of sessions that are prepared already, nor
/// that of the next one.
#[test]
fn each_session_has_an_order_of_its_own() {
    let module = Module::new(
        "last",
        ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry last(.param .u64 out)\n{\n\
         .reg .b64 %rd<2>;\n.reg .b32 %r<3>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\n\
         atom.global.exch.b32 %r2, [%rd1], %r1;\nret;\n}\n",
    );
    let mut plan = Plan::new("p");
    let out = plan.buffer("out", Element::U32, 1);
    plan.launch("last", LaunchConfig::new(64, 1), args![out])
        .unwrap();
    let device = EmulatedDevice::default();
    let in_order = |number| Preparation::default().in_order(Order { number, seed: 7 });
    let orders = 0..device.orders(&module, &plan);
    let ways: Vec<_> = orders
        .map(in_order)
        .chain([Preparation::default()])
        .collect();
    let prepared = |how| device.prepare_as(&module, &plan, how).unwrap();
    let last = |mut session: Box<dyn TimedSession + '_>| {
        session.fill(out, 0).unwrap();
        session.run().unwrap();
        session.read(out).unwrap().as_slice::<u32>().unwrap()[0]
    };
    let sessions: Vec<_> = ways.iter().map(prepared).collect();
    let together: Vec<u32> = sessions.into_iter().map(last).collect();
    assert_eq!((together[0], together[9]), (63, 63), "{together:?}");
    assert!(together[1..9].iter().any(|one| *one != 63));
    let alone: Vec<u32> = ways.iter().map(|how| last(prepared(how))).collect();
    assert_eq!(together, alone);
}

/// A plan that sets every element of a buffer of 64, in two blocks of 32.
fn axpy_plan(y_len: u64) -> Plan {
    let mut plan = Plan::new("p");
    let x = plan.buffer("x", Element::F32, 64);
    let y = plan.buffer("y", Element::F32, 64);
    let arg = vec![
        1.0f32.into(),
        x.into(),
        64u64.into(),
        y.into(),
        y_len.into(),
    ];
    for _ in 0..2 {
        plan.launch("axpy", LaunchConfig::new(2, 32), arg.clone())
            .unwrap();
    }
    plan.output("y", y);
    plan
}

/// The launch that is recorded of a plan.
fn replayed(plan: &Plan, wish: Wish, wrong: Option<WrongValue>) -> Option<Replay> {
    let device = EmulatedDevice::default();
    assert!(device.record(wish, wrong));
    let mut session = device.prepare(&KERNELS, plan).unwrap();
    reset(session.as_mut(), plan, &vec![]).unwrap();
    for id in plan.buffer_ids() {
        session.fill(id, 0).unwrap();
    }
    let _ = session.run();
    let replay = device.take_replay();
    assert!(device.take_replay().is_none());
    replay
}

#[test]
fn a_launch_is_recorded() {
    let first = replayed(&axpy_plan(64), Wish::default(), None).unwrap();
    assert_eq!((first.recording.blocks, first.mistake), (vec![0], None));
    let second = Wish {
        blocks: vec![1],
        ..Wish::default()
    };
    let of_second = replayed(&axpy_plan(64), second, None).unwrap();
    assert_eq!(of_second.recording.blocks, [1]);
    let none = Wish {
        blocks: vec![2],
        ..Wish::default()
    };
    assert!(replayed(&axpy_plan(64), none, None).is_none());
    let mut faulty = axpy_plan(64);
    let beyond = args![faulty.find_buffer("y").unwrap(), 64u64].to_vec();
    faulty
        .launch("writes_at", LaunchConfig::new(1, 1), beyond)
        .unwrap();
    let replay = replayed(&faulty, Wish::default(), None).unwrap();
    let mistake = replay.mistake.unwrap();
    assert!(
        mistake.text.starts_with("out of bounds: store"),
        "{mistake:?}"
    );
    assert_eq!(mistake.step, Some(replay.recording.steps.len() - 1));
}

#[test]
fn the_launch_that_stores_a_wrong_value_is_recorded() {
    let wrong = WrongValue {
        buffer: "y".to_owned(),
        byte: 4 * 40,
        text: "it is wrong".to_owned(),
    };
    let replay = replayed(&axpy_plan(64), Wish::default(), Some(wrong.clone())).unwrap();
    assert_eq!(replay.recording.blocks, [1]);
    let mistake = replay.mistake.unwrap();
    let step = &replay.recording.steps[mistake.step.unwrap()];
    assert_eq!(
        (step.accesses[0].lanes_at(4 * 40), &*mistake.text),
        (1 << 8, "it is wrong")
    );
    // Nothing stores there.
    let unwritten = WrongValue {
        buffer: "x".to_owned(),
        ..wrong
    };
    assert!(replayed(&axpy_plan(64), Wish::default(), Some(unwritten)).is_none());
}
