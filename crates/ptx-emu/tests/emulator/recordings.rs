//! Recordings against what kernels store, and against numbers worked out by hand.

use ptx_emu::{
    Fault, Machine, ProgramFault, RecordedBlocks, RecordedKind, RecordedSpace, Recording,
    RecordingPlan, Step,
};

use crate::common::{Launch, Outcome, launch};

fn plan(blocks: &[u64]) -> RecordingPlan {
    RecordingPlan {
        blocks: RecordedBlocks::Numbered(blocks.to_vec()),
        most_steps: 10_000,
        keeps_last: true,
    }
}

fn record(launch: &Launch, plan: RecordingPlan) -> (Recording, Outcome) {
    let mut machine = Machine::new(launch.limits.clone(), launch.options.clone());
    machine.record(Some(plan));
    let outcome = launch.run_on(&mut machine);
    let recording = machine.take_recording().expect("it was asked for");
    assert_eq!(machine.take_recording(), None);
    (recording, outcome)
}

/// The program's fault of an outcome.
fn fault(outcome: Outcome) -> ProgramFault {
    match outcome.result {
        Err(Fault::Program(fault)) => *fault,
        other => panic!("{other:?}"),
    }
}

/// The steps of a body, without those before it and the return.
fn of_body(recording: &Recording) -> &[Step] {
    &recording.steps[10..recording.steps.len() - 1]
}

/// The values of a step's first register.
fn written(recording: &Recording, step: &Step) -> (String, [u64; 32]) {
    let write = &step.writes[0];
    (
        recording.registers[write.register].name.clone(),
        write.values,
    )
}

#[test]
fn values_are_those_that_the_kernel_would_store() {
    let instructions = [
        ("%r5", "mul.lo.u32 %r5, %r2, 3;"),
        ("%r6", "ld.global.u32 %r6, [%rd4];"),
        ("%r7", "xor.b32 %r7, %r5, %r6;"),
        ("%r8", "shfl.sync.bfly.b32 %r8, %r7, 1, 31, 0xffffffff;"),
        ("%r7", "mad.lo.u32 %r7, %r8, %r6, %r5;"),
        ("%r9", "atom.global.add.u32 %r9, [%rd2+192], 1;"),
    ];
    let body: String = instructions.map(|(_, text)| format!("{text}\n")).concat();
    let (recording, outcome) = record(&launch(&body), plan(&[0]));
    outcome.result.expect("it is right");
    for (index, (register, _)) in instructions.iter().enumerate() {
        // The body up to this instruction, and a store of what it has made.
        let until: String = instructions[..=index]
            .iter()
            .map(|(_, text)| *text)
            .collect();
        let stored = launch(&format!("{until}\nst.global.u32 [%rd3], {register};")).out();
        let (name, values) = written(&recording, &of_body(&recording)[index]);
        assert_eq!(name, *register);
        assert_eq!(values.map(|value| value as u32)[..], stored[..32], "{name}");
    }
}

#[test]
fn what_is_recorded_changes_nothing() {
    let body = "ld.global.u32 %r5, [%rd4];\nred.global.add.u32 [%rd1], %r5;\n\
                bar.sync 0;\nst.global.u32 [%rd3+512], %r5;";
    let launch = launch(body).grid(3).input(0..96).out_words(512);
    let (_, recorded) = record(&launch, plan(&[0, 1, 2]));
    let plain = launch.run();
    assert_eq!(recorded.out, plain.out);
    assert_eq!(recorded.result.unwrap(), plain.result.unwrap());
}

#[test]
fn lanes_that_take_different_ways() {
    let body = "setp.lt.u32 %p1, %r2, 8;\n@%p1 mov.u32 %r5, 1;\n@!%p1 bra $end;\n\
                mov.u32 %r6, 2;\nexit;\n$end:\nmov.u32 %r7, 3;";
    let (recording, _) = record(&launch(body), plan(&[0]));
    let steps = of_body(&recording);
    let (name, values) = written(&recording, &steps[0]);
    assert_eq!(name, "%p1");
    assert_eq!(values, std::array::from_fn(|lane| u64::from(lane < 8)));
    assert_eq!((steps[1].lanes, steps[1].active), (u32::MAX, 0xff));
    let of_register = |register: &str| {
        let mut named = steps.iter().filter(|step| !step.writes.is_empty());
        named
            .find(|step| written(&recording, step).0 == register)
            .unwrap()
    };
    assert_eq!(of_register("%r6").lanes, 0xff);
    let after = of_register("%r7");
    assert_eq!((after.lanes, after.exited), (!0xff, 0xff));
    assert_eq!(recording.steps.last().unwrap().exited, u32::MAX);
}

#[test]
fn accesses_have_offsets_and_costs() {
    let body = "mul.wide.u32 %rd5, %r2, 128;\nadd.u64 %rd5, %rd2, %rd5;\n\
                ld.global.u32 %r5, [%rd5];\nshl.b32 %r6, %r2, 7;\nst.shared.u32 [%r6], %r5;\n\
                ld.shared.u32 %r7, [%r6];\nst.global.u32 [%rd3], %r7;";
    let launch = launch(body).input(0..1024).shared(4096);
    let (recording, outcome) = record(&launch, plan(&[0]));
    outcome.result.expect("it is right");
    let steps = of_body(&recording);
    let load = &steps[2].accesses[0];
    let RecordedSpace::Global(buffer) = load.space else {
        panic!("{load:?}");
    };
    assert_eq!(recording.buffers[buffer].name, "in");
    assert_eq!(recording.buffers[buffer].bytes, 4096);
    assert_eq!(
        (load.kind, load.lanes, load.width),
        (RecordedKind::Load, u32::MAX, 4)
    );
    assert_eq!(load.offsets, std::array::from_fn(|lane| 128 * lane as u64));
    // A sector a lane, and one bank for all.
    assert_eq!(load.cost, 32);
    let store = &steps[4].accesses[0];
    assert_eq!(
        (store.kind, store.space, store.cost),
        (RecordedKind::Store, RecordedSpace::Shared, 32)
    );
    assert_eq!(steps[6].accesses[0].cost, 4);
    assert_eq!(load.lanes_at(259), 1 << 2);
}

#[test]
fn both_sides_of_a_race() {
    let body = "shl.b32 %r5, %r2, 2;\nst.shared.u32 [%r5], %r2;\nxor.b32 %r6, %r5, 128;\n\
                ld.shared.u32 %r7, [%r6];\nst.global.u32 [%rd3], %r7;";
    let launch = launch(body).block(64).shared(256);
    let (recording, outcome) = record(&launch, plan(&[0]));
    let race = fault(outcome);
    let load = recording.fault_step(&race).unwrap();
    assert_eq!(load, recording.steps.len() - 1);
    assert_eq!(recording.steps[load].writes, []);
    let store = recording.earlier_step(&race).unwrap();
    let of = |step: usize| {
        (
            recording.steps[step].warp,
            recording.steps[step].accesses[0].kind,
        )
    };
    // The first warp reads what nothing has stored, which is told at a barrier, or the second
    // stores over it: either way both are there.
    assert_ne!(of(load).0, of(store).0);
    assert_ne!(of(load).1, of(store).1);
}

#[test]
fn a_warp_that_waits_at_a_barrier() {
    let (recording, _) = record(
        &launch("bar.sync 0;\nmov.u32 %r5, 1;").block(64),
        plan(&[0]),
    );
    let barriers: Vec<_> = recording
        .steps
        .iter()
        .filter(|step| step.is_barrier)
        .collect();
    assert_eq!(barriers.len(), 2);
    assert_eq!(barriers[0].waiting, u32::MAX);
}

#[test]
fn blocks_that_store_to_a_byte() {
    let launch = launch("mov.u64 %rd5, %rd3;\nst.global.u32 [%rd3], %r2;").grid(3);
    let launch = launch.out_words(128);
    let (of_one, _) = record(&launch, plan(&[1]));
    let (name, addresses) = written(&of_one, &of_body(&of_one)[0]);
    assert_eq!(name, "%rd5");
    let storing = |address: u64, most_steps: usize| RecordingPlan {
        blocks: RecordedBlocks::Storing(address),
        most_steps,
        keeps_last: true,
    };
    let byte = addresses[3] + 2;
    // Steps of other blocks take no room.
    for most_steps in [100, of_one.steps.len()] {
        let (recording, _) = record(&launch, storing(byte, most_steps));
        assert_eq!((&recording.blocks[..], recording.is_cut), (&[1][..], false));
        assert_eq!(recording.steps, of_one.steps);
        let step = recording.last_store("out", 4 * 35 + 2).unwrap();
        assert_eq!(
            recording.steps[step].accesses[0].lanes_at(4 * 35 + 2),
            1 << 3
        );
        assert_eq!(recording.last_store("out", 4 * 70), None);
        assert_eq!(recording.last_store("in", 4 * 35), None);
    }
    let (nothing, _) = record(&launch, storing(byte + 400, 5));
    assert_eq!(
        (nothing.blocks, nothing.steps, nothing.is_cut),
        (vec![], vec![], false)
    );
}

#[test]
fn a_bound_keeps_the_first_or_the_last_steps() {
    let launch = launch("mov.u32 %r5, 1;").grid(4);
    let (whole, _) = record(&launch, plan(&[2]));
    assert_eq!((whole.steps.len(), whole.is_cut), (12, false));
    for keeps_last in [false, true] {
        let most_steps = 5;
        let (cut, _) = record(
            &launch,
            RecordingPlan {
                most_steps,
                keeps_last,
                ..plan(&[2])
            },
        );
        assert!(cut.is_cut);
        let lines = |recording: &Recording, steps: &[Step]| -> Vec<u32> {
            let line = |step: &Step| recording.places[step.place].ptx_line;
            steps.iter().map(line).collect()
        };
        let kept = if keeps_last {
            &whole.steps[7..]
        } else {
            &whole.steps[..5]
        };
        assert_eq!(lines(&cut, &cut.steps), lines(&whole, kept));
    }
}

#[test]
fn an_asynchronous_copy_begins_and_arrives() {
    let body = "shl.b32 %r5, %r2, 2;\ncp.async.ca.shared.global [%r5], [%rd4], 4;\n\
                cp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.u32 %r6, [%r5];\n\
                st.global.u32 [%rd3], %r6;";
    let launch = launch(body).input(0..32).shared(128);
    let (recording, outcome) = record(&launch, plan(&[0]));
    outcome.result.expect("it is right");
    let steps = of_body(&recording);
    let said = |step: &Step| -> Vec<_> {
        let accesses = step.accesses.iter();
        accesses
            .map(|access| (access.kind, access.space, access.lanes, access.offsets[31]))
            .collect()
    };
    let global = RecordedSpace::Global(0);
    assert_eq!(
        said(&steps[1]),
        [
            (RecordedKind::Load, global, u32::MAX, 124),
            (RecordedKind::Copy, RecordedSpace::Shared, u32::MAX, 124)
        ]
    );
    assert_eq!(said(&steps[2]), []);
    // One arrival of all lanes.
    let arrival = (RecordedKind::Arrival, RecordedSpace::Shared, u32::MAX, 124);
    assert_eq!(said(&steps[3]), [arrival]);
}

#[test]
fn a_bulk_copy_begins_and_arrives_on_both_ways() {
    let body = ".shared .align 128 .b8 tile[128];\n.shared .align 8 .b8 bar[8];\n\
                setp.ne.u32 %p1, %r2, 0;\n@%p1 bra fetched;\n\
                mbarrier.init.shared.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n\
                mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n\
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd2], 128, [bar];\n\
                fetched:\nbar.sync 0;\nwait:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra wait;\n\
                @%p1 bra done;\n\
                cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 128;\n\
                cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\ndone:";
    let launch = launch(body).input(0..32);
    let (recording, outcome) = record(&launch, plan(&[0]));
    assert_eq!(
        outcome.out[..32],
        std::array::from_fn::<u32, 32, _>(|word| word as u32)
    );
    let accesses = recording.steps.iter().flat_map(|step| &step.accesses);
    let wide = accesses.filter(|access| access.width == 128);
    let seen: Vec<_> = wide
        .map(|access| (access.kind, access.space, access.lanes))
        .collect();
    let (input, out) = (RecordedSpace::Global(0), RecordedSpace::Global(1));
    assert_eq!(
        seen,
        [
            (RecordedKind::Load, input, 1),
            (RecordedKind::Copy, RecordedSpace::Shared, 1),
            (RecordedKind::Arrival, RecordedSpace::Shared, 1),
            (RecordedKind::Load, RecordedSpace::Shared, 1),
            (RecordedKind::Copy, out, 1),
            (RecordedKind::Arrival, out, 1),
        ]
    );
    assert!(recording.last_store("out", 100).is_some());
}
