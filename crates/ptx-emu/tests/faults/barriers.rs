//! Barriers that threads exit before, and warp barriers at two places.

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
    let mut notes: Vec<_> = (0..8)
        .map(|seed| {
            let kernel = launch(body).block(128).grid(3);
            let report = kernel.schedule(Schedule::Random { seed }).report();
            report.early_exit.expect("78 threads exit").to_string()
        })
        .collect();
    notes.dedup();
    assert_snapshot!(notes.join("\n"), @"kernel `k`: 78 threads of 128 had exited in block (0, 0, 0) when the others waited at the barrier at src/lab.rs:40 (PTX line 28). Exited threads count as arrived. Where that is not meant, put their work under a condition, and let all threads reach the barrier.");
    // All come; a number of threads is named; none waits; the check is off.
    let note = |lines: &str| launch(lines).block(128).report().early_exit;
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
}
