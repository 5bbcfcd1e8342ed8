//! Races in programs that are made from parts: which parts order them.

use insta::assert_snapshot;
use ptx_emu::Schedule;

use crate::common::{Launch, launch};

/// Two blocks of one thread: in each step, a block adds the other's word of the step before to its
/// own. Word 8 of `out` counts arrivals at a barrier after each step but the one that is left out.
fn steps(left_out: Option<u32>) -> Launch {
    let mut body = "mov.u32 %r5, %ctaid.x;\nxor.b32 %r6, %r5, 1;\n".to_owned();
    let mut arrived = 0;
    for step in 0..5 {
        let (from, to) = (8 * (step % 2), 8 * ((step + 1) % 2));
        let line = 100 + step;
        body += &format!(
            ".loc 1 {line} 1\nmul.wide.u32 %rd5, %r5, 4;\nadd.u64 %rd5, %rd1, %rd5;\nmul.wide.u32 %rd6, %r6, 4;\nadd.u64 %rd6, %rd1, %rd6;\n\
             ld.global.u32 %r7, [%rd5+{from}];\nld.global.u32 %r8, [%rd6+{from}];\nadd.u32 %r7, %r7, %r8;\nadd.u32 %r7, %r7, %r5;\n\
             st.global.u32 [%rd5+{to}], %r7;\n"
        );
        if left_out != Some(step) {
            arrived += 2;
            body += &format!(
                ".loc 1 200 1\nfence.acq_rel.gpu;\nred.relaxed.gpu.global.add.u32 [%rd1+32], 1;\nspin{step}:\n\
                 ld.relaxed.gpu.global.u32 %r9, [%rd1+32];\nsetp.lt.u32 %p1, %r9, {arrived};\n@%p1 bra spin{step};\nfence.acq_rel.gpu;\n"
            );
        }
    }
    launch(&body).block(1).grid(2)
}

#[test]
fn a_barrier_of_the_grid_that_one_step_leaves_out() {
    let expected = [7, 8, 15, 16];
    assert_snapshot!(steps(Some(0)).fault(), @r"
    race in global memory: load of byte 0 of buffer `out` and an earlier store by another block, and nothing orders the two: that takes a device-wide fence (or a release) behind the first, an atomic or a flag that the other block reads, and a fence (or an acquire) there before the second
      in kernel `k` at src/lab.rs:100 (PTX line 33), block (1, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:101 (PTX line 46), block (0, 0, 0), thread (0, 0, 0)
    ");
    let mut races = 0;
    for seed in 0..8 {
        let schedule = Schedule::Random { seed };
        assert_eq!(steps(None).schedule(schedule).out()[..4], expected);
        // Where a block hears of the other only after its next arrival, nothing races, and the
        // result is wrong.
        let outcome = steps(Some(2)).schedule(schedule).run();
        match outcome.result {
            Ok(_) => assert_ne!(outcome.out[..4], expected, "seed {seed}"),
            Err(fault) => {
                assert!(fault.to_string().starts_with("race"), "{fault}");
                races += 1;
            }
        }
    }
    assert!(races > 0);
}

/// One block after the other adds 1 to what the block before it left, and hands it on by a ticket
/// in word 32.
fn chain(wait: &str, behind: &str, pass: &str) -> Launch {
    launch(&format!(
        "mov.u32 %r5, %ctaid.x;\nmul.wide.u32 %rd5, %r5, 4;\nadd.u64 %rd6, %rd1, %rd5;\n$wait:\n{wait}\n\
         setp.ne.u32 %p2, %r7, %r5;\n@%p2 bra $wait;\n{behind}\nld.global.u32 %r6, [%rd6];\nadd.u32 %r6, %r6, 1;\n\
         st.global.u32 [%rd6+4], %r6;\nadd.u32 %r7, %r5, 1;\n{pass}"
    ))
    .block(1)
    .grid(4)
}

#[test]
fn a_ticket_that_acquires_nothing() {
    const RELEASE: &str = "st.release.gpu.global.u32 [%rd1+128], %r7;";
    const RELAXED: &str = "ld.relaxed.gpu.global.u32 %r7, [%rd1+128];";
    const VOLATILE: &str = "ld.volatile.global.u32 %r7, [%rd1+128];";
    const ATOMIC: &str = "atom.relaxed.gpu.global.add.u32 %r7, [%rd1+128], 0;";
    assert_snapshot!(chain(RELAXED, "", RELEASE).fault(), @r"
    race in global memory: load of byte 4 of buffer `out` and an earlier store by another block, and a fence is missing on this side: put a device-wide fence (or an acquire) here, between the atomic or flag that tells of the other block and this access
      in kernel `k` at src/lab.rs:1 (PTX line 33), block (1, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:1 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    for wait in [VOLATILE, ATOMIC, &ATOMIC.replace("relaxed", "release")] {
        for behind in ["", "fence.acq_rel.cta;", "fence.release.gpu;"] {
            let fault = chain(wait, behind, RELEASE).fault();
            assert!(fault.starts_with("race in global memory"), "{fault}");
        }
    }
    let fenced = "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd1+128], %r7;";
    let counted = "atom.acq_rel.gpu.global.add.u32 %r7, [%rd1+128], 1;";
    for pass in [RELEASE, fenced, counted] {
        for (wait, behind) in [
            (&RELAXED.replace("relaxed", "acquire")[..], ""),
            (&ATOMIC.replace("relaxed", "acquire"), ""),
            (&ATOMIC.replace("relaxed", "acq_rel"), ""),
            (RELAXED, "fence.acq_rel.gpu;"),
            (VOLATILE, "membar.gl;"),
            (ATOMIC, "fence.acquire.sys;"),
        ] {
            for seed in 0..8 {
                let chain = chain(wait, behind, pass).schedule(Schedule::Random { seed });
                assert_eq!(chain.out()[..5], [0, 1, 2, 3, 4]);
            }
        }
    }
}

/// Blocks of two warps: a thread stores its block's number, another counts the block, and the one
/// that counted last adds up. Each line says which warp does something; between them are barriers,
/// or flags in shared memory.
fn two_warps(lines: &[(u32, &str)], between: impl Fn(u32, u32, usize) -> String) -> Launch {
    let mut body =
        "mov.u32 %r5, %ctaid.x;\n.shared .align 4 .b8 flags[64];\n.shared .align 4 .b8 count[4];\n\
                    setp.ne.u32 %p1, %r2, 0;\n@%p1 bra $cleared;\n"
            .to_owned();
    (0..16).for_each(|word| body += &format!("st.shared.u32 [flags+{}], 0;\n", 4 * word));
    body += "$cleared:\nbar.sync 0;\n";
    let mut last = None;
    for (step, &(warp, line)) in lines.iter().enumerate() {
        if let Some(last) = last {
            body += &between(last, warp, step);
        }
        last = Some(warp);
        body += &format!(
            "setp.ne.u32 %p1, %r2, {};\n@%p1 bra $next{step};\n{line}\n$next{step}:\n",
            32 * warp
        );
    }
    launch(&body).block(64).grid(3)
}

#[test]
fn a_fence_of_another_warp() {
    const STORE: &str =
        "mul.wide.u32 %rd5, %r5, 4;\nadd.u64 %rd5, %rd1, %rd5;\nst.global.u32 [%rd5], %r5;";
    const FENCE: &str = "fence.acq_rel.gpu;";
    const COUNT: &str =
        "atom.relaxed.gpu.global.add.u32 %r6, [%rd1+64], 1;\nst.shared.u32 [count], %r6;";
    const SUM: &str = "ld.shared.u32 %r6, [count];\nsetp.ne.u32 %p2, %r6, 2;\n@%p2 bra $no;\nld.global.u32 %r7, [%rd1];\n\
                       ld.global.u32 %r8, [%rd1+4];\nadd.u32 %r7, %r7, %r8;\nld.global.u32 %r8, [%rd1+8];\nadd.u32 %r7, %r7, %r8;\n\
                       st.global.u32 [%rd1+32], %r7;\n$no:";
    let barrier = |_, _, _| "bar.sync 0;\n".to_owned();
    // Without a fence of their own, behind a flag.
    let flag = |fences: &'static str| {
        move |from, to, step| {
            format!(
                "setp.ne.u32 %p1, %r2, {};\n@%p1 bra $set{step};\n{fences}\nst.volatile.shared.u32 [flags+{at}], 1;\n$set{step}:\n\
                 setp.ne.u32 %p1, %r2, {};\n@%p1 bra $go{step};\n$spin{step}:\nld.volatile.shared.u32 %r9, [flags+{at}];\n\
                 setp.eq.u32 %p2, %r9, 0;\n@%p2 bra $spin{step};\n{fences}\n$go{step}:\n",
                32 * from,
                32 * to,
                at = 4 * step,
            )
        }
    };
    let fenced = flag("fence.acq_rel.cta;");
    let plain = flag("");
    let right = |mut launch: Launch| {
        for seed in 0..8 {
            launch.options.schedule = Schedule::Random { seed };
            assert_eq!(launch.out()[8], 3);
        }
    };
    // One thread after the other, with barriers or fenced flags between: each may do any part.
    for warps in [
        [0, 0, 0, 0, 0],
        [0, 1, 0, 1, 0],
        [1, 1, 0, 0, 0],
        [1, 0, 0, 0, 1],
        [0, 0, 1, 1, 1],
    ] {
        let lines = [STORE, FENCE, COUNT, FENCE, SUM];
        let lines: Vec<_> = warps.into_iter().zip(lines).collect();
        right(two_warps(&lines, barrier));
        right(two_warps(&lines, fenced));
    }
    let all = [(1, STORE), (0, FENCE), (0, COUNT), (0, FENCE), (0, SUM)];
    assert_snapshot!(two_warps(&all, plain).fault(), @r"
    race in global memory: load of byte 0 of buffer `out` and an earlier store by another block, which lacks a fence: put a device-wide fence (or a release) there, behind that access and before the atomic or flag that tells this block
      in kernel `k` at src/lab.rs:1 (PTX line 124), block (2, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:1 (PTX line 52), block (0, 0, 0), thread (32, 0, 0)
    ");
    // The thread that adds up learns of the count by a flag, without a fence of its own.
    let by_flag = [(0, STORE), (0, FENCE), (0, COUNT), (0, FENCE), (1, SUM)];
    let between = |from, to, step| {
        if from == to {
            "bar.sync 0;\n".to_owned()
        } else {
            plain(from, to, step)
        }
    };
    let fault = two_warps(&by_flag, between).fault();
    assert!(fault.starts_with("race"), "{fault}");
    // No fence after the count, or none before, by anybody.
    for missing in [1, 3] {
        let mut lines = vec![(0, STORE), (0, FENCE), (0, COUNT), (0, FENCE), (1, SUM)];
        lines.remove(missing);
        let lacking = two_warps(&lines, barrier).fault();
        assert!(lacking.starts_with("race in global memory"), "{lacking}");
    }
}
