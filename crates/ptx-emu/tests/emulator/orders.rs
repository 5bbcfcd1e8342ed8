//! Kernels whose threads communicate without a barrier: their results in the orders
//! that a GPU might choose.

use crate::common::{Launch, launch};
use ptx_emu::Schedule;

/// A schedule of each kind.
const SCHEDULES: [Schedule; 5] = [
    Schedule::Random { seed: 40 },
    Schedule::Random { seed: 41 },
    Schedule::Random { seed: 42 },
    Schedule::Random { seed: 43 },
    Schedule::Random { seed: 44 },
];

/// What the first words of the output are in each of [`SCHEDULES`], which are the same for any
/// number of host threads.
fn outputs(kernel: impl Fn() -> Launch, words: usize) -> Vec<Vec<u32>> {
    let each = SCHEDULES.iter().map(|&schedule| {
        let [one, three] = [1, 3].map(|threads| {
            let mut kernel = kernel().schedule(schedule);
            kernel.options.threads = threads;
            kernel.out()[..words].to_vec()
        });
        assert_eq!(one, three, "{schedule:?}");
        one
    });
    each.collect()
}

/// Every block adds 1 to what the block before it left, without waiting for it.
const PIPELINE: &str = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u32 %r5, %ctaid.x;\nmul.wide.u32 %rd5, %r5, 4;\n\
    add.u64 %rd6, %rd1, %rd5;\nWAIT\nld.volatile.global.u32 %r6, [%rd6];\nadd.u32 %r6, %r6, 1;\n\
    st.volatile.global.u32 [%rd6+4], %r6;\nDONE";

#[test]
fn a_pipeline_of_blocks_that_does_not_wait() {
    let kernel =
        |grid| move || launch(&PIPELINE.replace("WAIT", "").replace("DONE", "")).grid(grid);
    let in_order: Vec<u32> = (0..9).collect();
    assert_eq!(kernel(8)().out()[..9], in_order);
    for outputs in outputs(kernel(8), 9) {
        assert_ne!(outputs, in_order);
    }
    // Of two blocks, one order of each pair shows it.
    let of_two = outputs(kernel(2), 3);
    for pair in of_two.chunks_exact(2) {
        assert!(pair.iter().any(|out| out[..] != [0, 1, 2]), "{of_two:?}");
    }
}

#[test]
fn a_sum_of_blocks_that_is_not_atomic() {
    // One block after the other it is right, in any order.
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nld.relaxed.gpu.global.u32 %r6, [%rd1];\nadd.u32 %r6, %r6, 1;\n\
                st.relaxed.gpu.global.u32 [%rd1], %r6;";
    let outputs = outputs(|| launch(body).grid(8), 1);
    assert!(outputs.iter().any(|out| out[0] < 8), "{outputs:?}");
    // So with the warps of one block.
    let first_lanes = "and.b32 %r7, %r2, 31;\nsetp.ne.u32 %p1, %r7, 0;";
    let body = body.replace("setp.ne.u32 %p1, %r2, 0;", first_lanes);
    assert_eq!(launch(&body).block(256).out()[0], 8);
    let of_warps = self::outputs(|| launch(&body).block(256), 1);
    assert!(of_warps.iter().any(|out| out[0] < 8), "{of_warps:?}");
}

#[test]
fn a_pipeline_of_blocks_that_waits() {
    let wait = "$wait:\nld.acquire.gpu.global.u32 %r7, [%rd1+128];\nsetp.ne.u32 %p2, %r7, %r5;\n@%p2 bra $wait;";
    let done = "add.u32 %r7, %r5, 1;\nst.release.gpu.global.u32 [%rd1+128], %r7;";
    let body = PIPELINE.replace("WAIT", wait).replace("DONE", done);
    let right: Vec<u32> = (0..17).collect();
    for outputs in outputs(|| launch(&body).grid(16), 17) {
        assert_eq!(outputs, right);
    }
}

/// Blocks leave a number each, meet at a barrier of the whole grid, and take the next block's.
const GRID_BARRIER: &str = "mov.u32 %r5, %ctaid.x;\nmov.u32 %r6, %nctaid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra $meet;\n\
    mul.wide.u32 %rd5, %r5, 4;\nadd.u64 %rd5, %rd1, %rd5;\nadd.u32 %r7, %r5, 100;\nst.global.u32 [%rd5+4], %r7;\n\
    fence.acq_rel.gpu;\natom.global.add.u32 %r8, [%rd1], 1;\n$wait:\nld.relaxed.gpu.global.u32 %r9, [%rd1];\n\
    setp.lt.u32 %p2, %r9, %r6;\n@%p2 bra $wait;\nfence.acq_rel.gpu;\n$meet:\nbar.sync 0;\n@%p1 ret;\n\
    add.u32 %r10, %r5, 1;\nrem.u32 %r10, %r10, %r6;\nmul.wide.u32 %rd6, %r10, 4;\nadd.u64 %rd6, %rd1, %rd6;\n\
    ld.global.u32 %r11, [%rd6+4];\nmul.wide.u32 %rd7, %r6, 4;\nadd.u64 %rd7, %rd5, %rd7;\nst.global.u32 [%rd7+4], %r11;";

#[test]
fn a_barrier_of_the_grid() {
    let kernel = || launch(GRID_BARRIER).block(64).grid(20);
    let mut right = vec![20];
    right.extend(100..120);
    right.extend(101..120);
    right.push(100);
    assert_eq!(kernel().out()[..41], right);
    for outputs in outputs(kernel, 41) {
        assert_eq!(outputs, right);
    }
}

#[test]
fn a_barrier_of_a_grid_with_more_registers_than_the_device_has() {
    // With 40 registers of a thread, a multiprocessor holds 48 warps instead of 64.
    let each = |line: &str| -> String {
        let lines = (0..40).map(|i| {
            line.replace('#', &i.to_string())
                .replace('@', &(100 + 4 * (i % 30)).to_string())
        });
        lines.collect()
    };
    let body = [
        ".reg .b32 %v<40>;\n",
        &each("ld.global.u32 %v#, [%rd1+@];\n"),
        GRID_BARRIER,
        "\n",
        &each("red.global.or.b32 [%rd1], %v#;\n"),
    ]
    .concat();
    let mut kernel = launch(&body).block(512).grid(7).input(0..5000);
    kernel.limits.multiprocessors = 2;
    assert_eq!(kernel.limits.resident_blocks(512, 0, 40), 6);
    let message = kernel.fault();
    assert!(
        message.contains("the device holds 6 of this launch's blocks"),
        "{message}"
    );
    kernel.config.grid = [6, 1, 1];
    kernel.out();
}

#[test]
fn a_barrier_of_a_grid_that_the_device_does_not_hold() {
    let mut kernel = launch(GRID_BARRIER).block(512).grid(9).input(0..5000);
    kernel.limits.multiprocessors = 2;
    assert_eq!(kernel.limits.resident_blocks(512, 0, 0), 8);
    let message = kernel.fault();
    insta::assert_snapshot!(message, @r"
    deadlock: the 8 blocks that run wait for blocks that cannot start (not started: 1): the device holds 8 of this launch's blocks at once, and they poll memory in which nothing changes any more. A block may wait only for blocks that run at the same time: launch at most 8 and give each more to do, or end the launch where blocks wait for each other
      in kernel `k` at src/lab.rs:1 (PTX line 36), block (6, 0, 0), thread (0, 0, 0)
    ");
    kernel.config.grid = [8, 1, 1];
    kernel.out();
    // Blocks that wait only for those before them need no room for all.
    let mut chain = launch(
        "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u32 %r5, %ctaid.x;\n$wait:\nld.acquire.gpu.global.u32 %r6, [%rd1];\n\
         setp.ne.u32 %p2, %r6, %r5;\n@%p2 bra $wait;\nadd.u32 %r6, %r6, 1;\nst.release.gpu.global.u32 [%rd1], %r6;",
    );
    chain.config.grid = [3000, 1, 1];
    chain.limits.multiprocessors = 1;
    assert_eq!(chain.input(0..96000).out()[0], 3000);
}

#[test]
fn blocks_that_wait_for_what_nobody_does() {
    let body =
        "$wait:\nld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra $wait;";
    insta::assert_snapshot!(launch(body).grid(2).fault(), @r"
    deadlock: the 2 blocks that run wait for something that none of them does: they poll memory in which nothing changes any more
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (1, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn updates_that_nobody_reads_and_that_order_other_accesses() {
    // The update says that a block's number is there, but no block looks whether the other's is.
    let body = PIPELINE
        .replace("WAIT", "red.release.gpu.global.add.u32 [%rd1+128], 1;")
        .replace("volatile.", "")
        .replace(
            "DONE",
            "fence.acq_rel.gpu;\nred.relaxed.gpu.global.add.u32 [%rd1+132], 1;",
        );
    let right: Vec<u32> = (0..9).collect();
    let wrong = SCHEDULES.iter().filter(|&&schedule| {
        let ran = launch(&body).grid(8).schedule(schedule).run();
        ran.result.is_err() || ran.out[..9] != right
    });
    assert_eq!(wrong.count(), SCHEDULES.len());
}

/// Each lane gives its number to the next one through memory, all lanes at once.
fn hand_over(load: &str, store: &str, between: &str) -> String {
    format!(
        ".shared .align 4 .b8 tile[132];\nmov.u32 %r5, tile;\nshl.b32 %r6, %r2, 2;\nadd.u32 %r5, %r5, %r6;\n\
         {store} [%r5], 0;\nbar.sync 0;\nadd.u32 %r7, %r2, 7;\n{store} [%r5], %r7;\n{between}\nxor.b32 %r8, %r6, 4;\n\
         mov.u32 %r9, tile;\nadd.u32 %r9, %r9, %r8;\n{load} %r10, [%r9];\nst.global.u32 [%rd3], %r10;"
    )
}

#[test]
fn a_hand_over_between_lanes() {
    let right: Vec<u32> = (0..32).map(|lane| (lane ^ 1) + 7).collect();
    for (load, store) in [
        ("ld.volatile.shared.u32", "st.volatile.shared.u32"),
        ("ld.relaxed.cta.shared.u32", "st.relaxed.cta.shared.u32"),
    ] {
        let kernel = |between: &str| launch(&hand_over(load, store, between));
        assert_eq!(kernel("").out()[..32], right);
        for outputs in outputs(|| kernel(""), 32) {
            assert_ne!(outputs, right, "{load}");
        }
        // A shuffle makes lanes wait, and the accesses are strong.
        for between in ["bar.warp.sync -1;", "bar.sync 0;"] {
            for outputs in outputs(|| kernel(between), 32) {
                assert_eq!(outputs, right);
            }
        }
    }
}

#[test]
fn lanes_that_wait_for_each_other() {
    // Lane by lane, each waits until the one before it has had its turn.
    let body = "$wait:\nld.volatile.global.u32 %r5, [%rd1];\nsetp.ne.u32 %p1, %r5, %r2;\n@%p1 bra $wait;\n\
                add.u32 %r5, %r5, 1;\nst.volatile.global.u32 [%rd1], %r5;";
    for outputs in outputs(|| launch(body).block(64), 1) {
        assert_eq!(outputs, [64]);
    }
}

#[test]
fn updates_whose_old_value_nobody_reads_keep_blocks_apart() {
    // Such a kernel gives the same in any order: its counts stay those of converged warps.
    let body = "atom.global.add.u32 %r5, [%rd1], 1;";
    let counts = |schedule| {
        let report = launch(body).grid(8).schedule(schedule).report();
        report.counts.instructions.warp
    };
    for schedule in SCHEDULES {
        assert_eq!(counts(schedule), counts(Schedule::InOrder));
    }
}

#[test]
fn an_endless_wait_is_told_from_a_long_one() {
    // Block 0 computes for long before it gives the sign that the others wait for.
    let body = "mov.u32 %r5, %ctaid.x;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra $wait;\nmov.u32 %r6, 0;\n$work:\n\
                add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 100000;\n@%p2 bra $work;\nst.release.gpu.global.u32 [%rd1], 1;\n\
                ret;\n$wait:\nld.acquire.gpu.global.u32 %r7, [%rd1];\nsetp.eq.u32 %p2, %r7, 0;\n@%p2 bra $wait;";
    for seed in 40..44 {
        let kernel = launch(body).grid(4).schedule(Schedule::Random { seed });
        let outcome = kernel.run();
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    }
}

#[test]
fn lanes_that_take_for_granted_that_they_are_together() {
    let body = "activemask.b32 %r5;\nst.global.u32 [%rd3], %r5;";
    let together = vec![u32::MAX; 32];
    assert_eq!(launch(body).out()[..32], together);
    let outputs = outputs(|| launch(body), 32);
    assert!(outputs.iter().all(|out| *out != together), "{outputs:?}");
}

#[test]
fn half_a_warp_that_arrives_in_parts() {
    // 16 threads arrive for another warp, which waits for 64; the volatile load makes lanes run
    // apart.
    let body = "ld.volatile.global.u32 %r5, [%rd2];\nsetp.ge.u32 %p1, %r2, 32;\n@%p1 bra $arrive;\n\
                bar.sync 1, 64;\nst.global.u32 [%rd3], 7;\nret;\n$arrive:\nbar.arrive 1, 64;";
    for outputs in outputs(|| launch(body).block(48), 32) {
        assert_eq!(outputs, [7; 32]);
    }
}
