//! Barriers that a part of the block reaches, and warp-wide instructions that a part of the mask
//! does.

use insta::assert_snapshot;
use ptx_emu::{Sanitize, Schedule};

use crate::common::launch;

#[test]
fn a_barrier_that_threads_return_before() {
    // They count as arrived: in parts of a warp and whole warps, in one block or many.
    for threads in [40, 64, 1] {
        let body = format!(
            "setp.ge.u32 %p1, %r2, {threads};\n@%p1 ret;\n.loc 1 40 1\nbar.sync 0;\nst.global.u32 [%rd3], 1;"
        );
        for seed in 0..8 {
            let kernel = launch(&body).block(128).out_words(256).grid(2);
            let out = kernel.schedule(Schedule::Random { seed }).out();
            assert_eq!(out[128..].iter().sum::<u32>(), threads);
        }
    }
    // By a jump to the end of the kernel, past code of others; and in a loop, before its barrier.
    let jump =
        "setp.ge.u32 %p1, %r2, 40;\n@%p1 bra $end;\nbar.sync 0;\nst.global.u32 [%rd3], 1;\n$end:";
    launch(jump).block(64).report();
    let in_loop = "mov.u32 %r5, 0;\n$loop:\nsetp.ge.u32 %p1, %r5, %r2;\n@%p1 bra $end;\nbar.sync 0;\n\
                   add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, 9;\n@%p2 bra $loop;\n$end:";
    launch(in_loop).block(64).report();
    // Their stores before are there for the others.
    let stored = ".shared .align 4 .b8 tile[256];\nmov.u32 %r5, tile;\nshl.b32 %r6, %r2, 2;\nadd.u32 %r6, %r6, %r5;\n\
                  st.shared.u32 [%r6], %r2;\nsetp.ge.u32 %p1, %r2, 32;\n@%p1 ret;\nbar.sync 0;\nld.shared.u32 %r7, [%r6+128];\n\
                  st.global.u32 [%rd3], %r7;";
    assert_eq!(launch(stored).block(64).out()[..32], Vec::from_iter(32..64));
    let late = stored
        .replace("bar.sync 0;\n", "")
        .replace("%p1 ret;", "%p1 ret;\nbar.warp.sync -1;");
    let fault = launch(&late).block(64).fault();
    assert!(!fault.is_empty());
}

#[test]
fn threads_that_exit_before_a_barrier_are_noted() {
    let body = "setp.ge.u32 %p1, %r2, 50;\n@%p1 ret;\n.loc 1 40 1\nbar.sync 0;\nbar.sync 0;";
    let notes = (0..8).map(|seed| {
        let kernel = launch(body).block(128).grid(3);
        let report = kernel.schedule(Schedule::Random { seed }).report();
        report.early_exit.expect("78 threads exit").to_string()
    });
    let mut notes: Vec<_> = notes.collect();
    notes.dedup();
    assert_snapshot!(notes.join("\n"), @"kernel `k`: 78 threads of 128 had exited in block (0, 0, 0) when the others waited at the barrier at src/lab.rs:40 (PTX line 28). Exited threads count as arrived. Where that is not meant, put their work under a condition, and let all threads reach the barrier.");
    // All come; a number of threads is named; none waits; the check is off.
    let note = |body: &str| launch(body).block(128).report().early_exit;
    assert_eq!(note("bar.sync 0;"), None);
    assert_eq!(note(&body.replace("bar.sync 0;", "bar.sync 0, 64;")), None);
    assert_eq!(note("setp.ge.u32 %p1, %r2, 50;\n@%p1 ret;"), None);
    let hardware = Sanitize {
        barriers: false,
        ..Sanitize::ALL
    };
    let report = launch(body).block(128).sanitize(hardware).report();
    assert_eq!(report.early_exit, None);
}

#[test]
fn a_barrier_that_threads_go_past() {
    let body = "setp.ge.u32 %p1, %r2, 40;\n@%p1 bra $past;\n.loc 1 40 1\nbar.sync 0;\n$past:\nst.global.u32 [%rd3], 1;";
    assert_snapshot!(launch(body).block(64).fault(), @r"
    barrier reached by a part of the block: 40 threads of 64 reached barrier 0; others went past it and ended (thread (40, 0, 0)). Is it in a branch, or in a loop that some threads leave earlier?
      in kernel `k` at src/lab.rs:40 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
    for seed in 0..8 {
        launch(body)
            .block(64)
            .schedule(Schedule::Random { seed })
            .fault();
    }
    launch(body).block(40).report();
    let hardware = Sanitize {
        barriers: false,
        ..Sanitize::ALL
    };
    launch(body).block(64).sanitize(hardware).report();
}

#[test]
fn a_barrier_in_a_divergent_branch() {
    let body = "and.b32 %r5, %r2, 1;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra $even;\n\
                .loc 1 50 1\nbar.sync 0;\nbra $done;\n$even:\n.loc 1 52 1\nbar.sync 0;\n$done:";
    assert_snapshot!(launch(body).fault(), @r"
    barrier in divergent code: threads of one warp reached barrier 0 at different places
      in kernel `k` at src/lab.rs:50 (PTX line 29), block (0, 0, 0), thread (1, 0, 0)
      other barrier at src/lab.rs:52 (PTX line 33), block (0, 0, 0), thread (0, 0, 0)
    ");
    // The same for whole warps is allowed.
    let body = body.replace("and.b32 %r5, %r2, 1", "and.b32 %r5, %r2, 32");
    launch(&body).block(64).report();
}

#[test]
fn barriers_of_unequal_loops() {
    // Warp 0 passes three barriers, warp 1 two.
    let body = "mov.u32 %r5, 3;\nsetp.ge.u32 %p1, %r2, 32;\n@%p1 mov.u32 %r5, 2;\n$loop:\n\
                .loc 1 57 1\nbar.sync 0;\nsub.u32 %r5, %r5, 1;\nsetp.ne.u32 %p2, %r5, 0;\n\
                @%p2 bra $loop;";
    assert_snapshot!(launch(body).block(64).fault(), @r"
    barrier reached by a part of the block: 32 threads of 64 reached barrier 0; others went past it and ended (thread (32, 0, 0)). Is it in a branch, or in a loop that some threads leave earlier?
      in kernel `k` at src/lab.rs:57 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(body).block(32).report();
}

#[test]
fn invalid_barriers() {
    assert_snapshot!(launch("mov.u32 %r5, 16;\nbar.sync %r5;").fault(), @r"
    invalid barrier: barrier 16; there are 16, numbered from 0
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(launch("mov.u32 %r5, 33;\nbar.sync 1, %r5;").fault(), @r"
    invalid barrier: barrier 1 for 33 threads; the number must be a multiple of 32, above 0
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_deadlock_of_two_barriers() {
    let body = "setp.ge.u32 %p1, %r2, 32;\n@%p1 bra $second;\n.loc 1 60 1\nbar.sync 1, 64;\n\
                bra $done;\n$second:\n.loc 1 62 1\nbar.sync 2, 64;\n$done:";
    assert_snapshot!(launch(body).block(64).fault(), @r"
    deadlock: no thread of the block can go on
      in kernel `k` at src/lab.rs:60 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
      32 threads wait for barrier 1 (64 threads) at src/lab.rs:60 (PTX line 28) (first: thread (0, 0, 0))
      32 threads wait for barrier 2 (64 threads) at src/lab.rs:62 (PTX line 32) (first: thread (32, 0, 0))
    ");
    launch(&body.replace("bar.sync 2", "bar.sync 1"))
        .block(64)
        .report();
}

#[test]
fn a_deadlock_with_threads_that_returned() {
    let body = "setp.ge.u32 %p1, %r2, 32;\n@%p1 ret;\n.loc 1 64 1\nbar.sync 1, 64;";
    assert_snapshot!(launch(body).block(64).fault(), @r"
    deadlock: no thread of the block can go on
      in kernel `k` at src/lab.rs:64 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
      32 threads wait for barrier 1 (64 threads) at src/lab.rs:64 (PTX line 28) (first: thread (0, 0, 0))
      32 threads exited
    ");
}

#[test]
fn a_shuffle_that_lanes_do_not_reach() {
    let body = "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra $skip;\n.loc 1 70 1\n\
                shfl.sync.down.b32 %r5, %r2, 1, 31, -1;\n$skip:\n.loc 1 72 1\nbar.sync 0;";
    assert_snapshot!(launch(body).fault(), @r"
    lanes missing: shfl.sync.down.b32 with mask 0xffffffff waits for lanes 0xffff0000, which do not reach it
      in kernel `k` at src/lab.rs:70 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
      16 threads wait for barrier 0 at src/lab.rs:72 (PTX line 31) (first: thread (16, 0, 0))
    ");
    // Only the lanes that are there are named, and none reads beyond them.
    launch(&body.replace(
        "down.b32 %r5, %r2, 1, 31, -1",
        "bfly.b32 %r5, %r2, 1, 31, 0xffff",
    ))
    .report();
}

#[test]
fn a_shuffle_by_a_lane_that_its_mask_does_not_name() {
    let body = "shfl.sync.bfly.b32 %r5, %r2, 1, 31, 0xffff;";
    assert_snapshot!(launch(body).fault(), @r"
    lanes missing: lane 16 executes shfl.sync.bfly.b32 with mask 0x0000ffff, which does not name it
      in kernel `k` at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (16, 0, 0)
    ");
    launch(body).block(16).report();
}

#[test]
fn a_shuffle_from_a_lane_that_has_returned() {
    let body = "setp.ge.u32 %p1, %r2, 16;\n@%p1 ret;\nshfl.sync.down.b32 %r5, %r2, 1, 31, -1;";
    assert_snapshot!(launch(body).fault(), @r"
    shuffle from an inactive lane: reads lane 16, which does not take part (lanes 0x0000ffff do)
      in kernel `k` at src/lab.rs:1 (PTX line 27), block (0, 0, 0), thread (15, 0, 0)
    ");
    launch(&body.replace("down", "bfly")).report();
}

#[test]
fn a_warp_barrier_that_lanes_go_past() {
    // Half of the warp skips the barrier, goes on and ends: what it does meanwhile, nothing orders.
    let body = "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra $skip;\n.loc 1 70 1\nbar.warp.sync -1;\n$skip:\n\
                .loc 1 72 1\nst.global.u32 [%rd3], %r2;";
    assert_snapshot!(launch(body).fault(), @r"
    lanes missing: bar.warp.sync with mask 0xffffffff waits for lanes 0xffff0000, which do not reach it
      in kernel `k` at src/lab.rs:70 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
    let votes = body.replace("bar.warp.sync -1", "vote.sync.ballot.b32 %r5, %p1, -1");
    assert_snapshot!(launch(&votes).fault(), @r"
    lanes missing: vote.sync.ballot.b32 with mask 0xffffffff waits for lanes 0xffff0000, which do not reach it
      in kernel `k` at src/lab.rs:70 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
    // With the mask of those that come it is right, and so it is for lanes that have nothing to do
    // and end.
    launch(&body.replace("-1", "0xffff")).report();
    launch(&body.replace("@%p1 bra $skip;", "@%p1 ret;")).report();
    launch(&body.replace("$skip:\n.loc 1 72 1\nst.global.u32 [%rd3], %r2;", "$skip:")).report();
}

#[test]
fn a_warp_barrier_at_two_places() {
    // Both halves wait with the same mask, each at its own instruction: one barrier, which orders
    // both.
    let body = ".shared .align 4 .b8 tile[128];\nmov.u32 %r5, tile;\nshl.b32 %r6, %r2, 2;\nadd.u32 %r5, %r5, %r6;\n\
                setp.ge.u32 %p1, %r2, 16;\n@%p1 bra $upper;\nst.shared.u32 [%r5], %r2;\nbar.warp.sync -1;\n\
                bra $end;\n$upper:\nbar.warp.sync -1;\nld.shared.u32 %r7, [%r5-64];\nst.global.u32 [%rd3], %r7;\n$end:";
    for schedule in [Schedule::InOrder, Schedule::Random { seed: 2 }] {
        let out = launch(body).schedule(schedule).out();
        assert_eq!(out[16..32], Vec::from_iter(0..16));
    }
    assert_snapshot!(launch(&body.replacen("bar.warp.sync -1", "bar.warp.sync 0xffff", 1)).fault(), @r"
    race in shared memory: load of element 0 (byte 0) of shared array `tile` and an earlier store by another lane of the warp, with no barrier or warp barrier between them
      in kernel `k` at src/lab.rs:1 (PTX line 36), block (0, 0, 0), thread (16, 0, 0)
      earlier store at src/lab.rs:1 (PTX line 31), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(launch(&body.replacen("bar.warp.sync -1;", "", 1)).fault(), @r"
    race in shared memory: load of element 0 (byte 0) of shared array `tile` and an earlier store by another lane of the warp, with no barrier or warp barrier between them
      in kernel `k` at src/lab.rs:1 (PTX line 36), block (0, 0, 0), thread (16, 0, 0)
      earlier store at src/lab.rs:1 (PTX line 31), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_race_behind_a_barrier_that_threads_go_past() {
    // Warp 1 does not wait for what warp 0 stores before the barrier.
    let body = ".shared .align 4 .b8 tile[256];\nmov.u32 %r5, tile;\nshl.b32 %r6, %r2, 2;\nadd.u32 %r6, %r6, %r5;\n\
                st.shared.u32 [%r6], %r2;\nsetp.ge.u32 %p1, %r2, 32;\n@%p1 bra $past;\n.loc 1 8 1\nbar.sync 0;\n$past:\n\
                .loc 1 9 1\nxor.b32 %r6, %r6, 128;\nld.shared.u32 %r7, [%r6];";
    assert_snapshot!(launch(body).block(64).fault(), @r"
    race in shared memory: load of element 0 (byte 0) of shared array `tile` and an earlier store by another warp, with no barrier between them (or, in a loop, between one iteration and the next)
      in kernel `k` at src/lab.rs:9 (PTX line 37), block (0, 0, 0), thread (32, 0, 0)
      earlier store at src/lab.rs:1 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
      32 threads wait for barrier 0 at src/lab.rs:8 (PTX line 33) (first: thread (0, 0, 0)); this thread has gone past it
    ");
}
