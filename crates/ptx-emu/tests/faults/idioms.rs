//! Idioms of the CUDA programming guide that are right on every GPU, and their wrong neighbours.

use insta::assert_snapshot;
use ptx_emu::Schedule;

use crate::common::{Launch, launch};

/// An order of each kind, and that of the index.
fn schedules() -> impl Iterator<Item = Schedule> {
    let random = (40..48).map(|seed| Schedule::Random { seed });
    random.chain([Schedule::InOrder])
}

/// Checks that `out` holds the same at `word` in each order.
fn right(make: impl Fn() -> Launch, word: usize, value: u32) {
    for schedule in schedules() {
        let out = make().schedule(schedule).out();
        assert_eq!(out[word], value, "{schedule:?}");
    }
}

/// The faults in some order.
fn faults(make: impl Fn() -> Launch) -> Vec<String> {
    let ran = schedules().map(|schedule| make().schedule(schedule).run().result);
    ran.filter_map(|result| Some(result.err()?.to_string()))
        .collect()
}

/// The sum of all blocks by the last one, and `count` reset for the next launch.
fn threadfence_reduction(reset_at: u32) -> Launch {
    launch(&format!(
        "st.volatile.global.u32 [%rd3], %r3;\nmembar.gl;\natom.global.inc.u32 %r5, [%rd1+64], 4;\n\
         setp.ne.u32 %p1, %r5, {reset_at};\n@%p1 ret;\nld.volatile.global.u32 %r6, [%rd1];\n\
         ld.volatile.global.u32 %r7, [%rd1+4];\nadd.u32 %r6, %r6, %r7;\nld.volatile.global.u32 %r7, [%rd1+8];\n\
         add.u32 %r6, %r6, %r7;\nld.volatile.global.u32 %r7, [%rd1+12];\nadd.u32 %r6, %r6, %r7;\n\
         st.volatile.global.u32 [%rd1+32], %r6;\n.loc 1 9 1\nst.global.u32 [%rd1+64], 0;"
    ))
    .block(1)
    .grid(4)
}

#[test]
fn the_last_block_resets_the_counter() {
    right(|| threadfence_reduction(3), 8, 6);
    right(|| threadfence_reduction(3), 16, 0);
    // By another thread of the block that drew the last ticket.
    let body = ".shared .align 4 .b8 last[4];\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra $wait;\nmembar.gl;\n\
                atom.global.inc.u32 %r5, [%rd1+64], 4;\nst.shared.u32 [last], %r5;\n$wait:\nbar.sync 0;\n\
                ld.shared.u32 %r5, [last];\nsetp.ne.u32 %p1, %r5, 3;\n@%p1 ret;\nsetp.ne.u32 %p1, %r2, 40;\n@%p1 ret;\n\
                st.global.u32 [%rd1+64], 0;";
    right(|| launch(body).block(64).grid(4), 16, 0);
}

#[test]
fn a_counter_that_is_reset_too_early() {
    assert_snapshot!(threadfence_reduction(1).fault(), @r"
    race in global memory: atomic operation of byte 64 of buffer `out` and an earlier store by another block, and nothing orders the two: that takes a device-wide fence (or a release) behind the first, an atomic or a flag that the other block reads, and a fence (or an acquire) there before the second
      in kernel `k` at src/lab.rs:1 (PTX line 27), block (2, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:9 (PTX line 39), block (1, 0, 0), thread (0, 0, 0)
    ");
    // The first block zeroes the sum, everybody adds; also where it has added before, unless it
    // happens to be the last.
    for (first, least) in [
        ("", 9),
        (
            "atom.global.add.u32 %r5, [%rd1], 1;\nst.global.u32 [%rd1+8], %r5;\n",
            5,
        ),
    ] {
        let body = format!(
            "mov.u32 %r6, %ctaid.x;\nsetp.ne.u32 %p1, %r6, 0;\n@%p1 bra $add;\n{first}st.global.u32 [%rd1], 0;\nmembar.gl;\n\
             $add:\nred.global.add.u32 [%rd1], 1;"
        );
        assert!(faults(|| launch(&body).block(1).grid(4)).len() >= least);
    }
    // An update whose old value is not looked at does not say that a block is the last.
    let body = "atom.global.add.u32 %r5, [%rd1], 1;\nmov.u32 %r6, %ctaid.x;\nsetp.ne.u32 %p1, %r6, 3;\n@%p1 ret;\n\
                st.global.u32 [%rd1], 0;";
    assert_eq!(faults(|| launch(body).block(1).grid(4)).len(), 9);
}

/// The guide's `atomicAdd` of doubles.
fn add_doubles(space: &str, address: &str) -> String {
    format!(
        "ld.{space}.u64 %rd5, [{address}];\n$again:\nmov.b64 %d1, %rd5;\nadd.f64 %d2, %d1, 0d3FF0000000000000;\n\
         mov.b64 %rd6, %d2;\natom.{space}.cas.b64 %rd7, [{address}], %rd5, %rd6;\nsetp.ne.s64 %p1, %rd5, %rd7;\n\
         mov.u64 %rd5, %rd7;\n@%p1 bra $again;\n"
    )
}

#[test]
fn a_plain_load_before_a_loop_of_cas() {
    let sum = 192f64.to_bits();
    let global = add_doubles("global", "%rd1");
    right(|| launch(&global).block(64).grid(3), 1, (sum >> 32) as u32);
    // The old value, which the last `cas` has confirmed, may be used.
    let used = format!("{global}st.global.u64 [%rd2], %rd5;");
    right(
        || launch(&used).block(1),
        1,
        1f64.to_bits().wrapping_shr(32) as u32,
    );
    let shared = format!(
        ".shared .align 8 .b8 sum[8];\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra $go;\nst.shared.u64 [sum], 0;\n$go:\nbar.sync 0;\n\
         {}bar.sync 0;\n@%p2 ret;\nld.shared.u64 %rd8, [sum];\nst.global.u64 [%rd1], %rd8;",
        add_doubles("shared", "sum")
    );
    let sum = 64f64.to_bits();
    right(|| launch(&shared).block(64), 1, (sum >> 32) as u32);
}

#[test]
fn a_plain_load_that_says_whether_an_atomic_is_worth_while() {
    // `if (top >= 0) { old = atomicAdd(&top, -1); .. }`
    let pop = "ld.global.s32 %r5, [%rd2+28];\nsetp.lt.s32 %p1, %r5, 1;\n@%p1 ret;\natom.global.add.s32 %r6, [%rd2+28], -1;\n\
               setp.lt.s32 %p1, %r6, 1;\n@%p1 ret;\nred.global.add.u32 [%rd1], 1;";
    right(|| launch(pop).block(32).grid(2), 0, 7);
}

#[test]
fn plain_loads_beside_atomics_that_race() {
    let cases = [
        // The loaded value goes to memory.
        "ld.global.u32 %r5, [%rd1];\nst.global.u32 [%rd3+128], %r5;\nred.global.add.u32 [%rd1], 1;",
        // It follows the atomic, or is of another word.
        "red.global.add.u32 [%rd1], 1;\nld.global.u32 %r5, [%rd1];\nsetp.ne.u32 %p1, %r5, 9;\n@%p1 ret;",
        "ld.global.u32 %r5, [%rd1];\nsetp.ne.u32 %p1, %r5, 9;\nadd.u64 %rd5, %rd1, 0;\nred.global.add.u32 [%rd5], 1;",
        // The address is made from it.
        "ld.global.u32 %r5, [%rd1];\nmul.wide.u32 %rd5, %r5, 4;\nadd.u64 %rd5, %rd1, %rd5;\nst.global.u32 [%rd5+128], 1;\n\
         red.global.add.u32 [%rd1], 1;",
        // A plain store, which such a load races with as any.
        "ld.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 st.global.u32 [%rd1], %r3;\n@!%p1 red.global.add.u32 [%rd1], 1;",
    ];
    for body in cases {
        assert_eq!(faults(|| launch(body).block(1).grid(4)).len(), 9, "{body}");
    }
}

#[test]
fn a_ticket_that_is_read_before_it_is_counted() {
    // Right if one block runs after the other.
    let body = "ld.global.u32 %r5, [%rd1];\nred.global.add.u32 [%rd1], 1;\nsetp.ne.u32 %p1, %r5, 3;\n@%p1 ret;\n\
                st.global.u32 [%rd1+32], 7;";
    let make = || launch(body).block(1).grid(4);
    assert_eq!(make().out()[8], 7);
    let wrong = schedules().filter(|&schedule| make().schedule(schedule).out()[8] != 7);
    assert!(wrong.count() > 0);
}

#[test]
fn atomics_for_a_part_of_the_threads() {
    let count = |scope: &str| {
        format!(
            "atom.relaxed.{scope}.global.add.u32 %r5, [%rd1], 1;\nst.global.u32 [%rd3+128], %r5;"
        )
    };
    assert_snapshot!(launch(&count("cta")).block(1).grid(2).fault(), @r"
    race in global memory: atomic operation of byte 0 of buffer `out` and an earlier atomic operation by another block, beyond the scope of one of the two: `.cta` (or `_block`) is for the threads of one block, `.cluster` for those of one cluster, `.gpu` for those of one device
      in kernel `k` at src/lab.rs:1 (PTX line 25), block (1, 0, 0), thread (0, 0, 0)
      earlier atomic operation at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(&count("cta")).block(64).out_words(128).report();
    launch(&count("gpu")).block(1).grid(2).report();
    launch(&count("sys")).block(1).grid(2).report();
    // One narrow side is enough.
    let one = "mov.u32 %r6, %ctaid.x;\nsetp.eq.u32 %p1, %r6, 0;\n@%p1 red.relaxed.cta.global.add.u32 [%rd1], 1;\n\
               @!%p1 red.relaxed.gpu.global.add.u32 [%rd1], 1;";
    assert_eq!(faults(|| launch(one).block(1).grid(2)).len(), 9);
    // Blocks of one cluster, and of two.
    let cluster = "red.relaxed.cluster.global.add.u32 [%rd1], 1;";
    launch(cluster).grid(2).cluster(2).report();
    assert_eq!(faults(|| launch(cluster).grid(4).cluster(2)).len(), 9);
}

#[test]
fn atomics_of_different_widths() {
    let body = |other: &str| {
        format!(
            "setp.lt.u32 %p1, %r2, 32;\n@%p1 red.global.add.u32 [%rd1], 1;\n@!%p1 red.global.add.{other};"
        )
    };
    assert_snapshot!(launch(&body("u64 [%rd1], 1")).block(64).fault(), @r"
    race in global memory: atomic operation of byte 0 of buffer `out` and an earlier atomic operation by another thread, of another width: atomic operations of different widths are not atomic for each other
      in kernel `k` at src/lab.rs:1 (PTX line 27), block (0, 0, 0), thread (32, 0, 0)
      earlier atomic operation at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(&body("u32 [%rd1], 1")).block(64).report();
    launch(&body("u64 [%rd1+8], 1")).block(64).report();
    let ordered = "setp.lt.u32 %p1, %r2, 32;\n@%p1 red.global.add.u32 [%rd1], 1;\nbar.sync 0;\n@!%p1 red.global.add.u64 [%rd1], 1;";
    launch(ordered).block(64).report();
}

/// A block leaves a number and sets a flag; the other waits for the flag, and reads.
fn handed_over(release: &str, acquire: &str) -> Launch {
    launch(&format!(
        "mov.u32 %r5, %ctaid.x;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra $wait;\n.loc 1 2 1\nst.global.u32 [%rd1], 7;\n{release}\n\
         st.volatile.global.u32 [%rd1+64], 1;\nret;\n$wait:\nld.volatile.global.u32 %r6, [%rd1+64];\nsetp.eq.u32 %p2, %r6, 0;\n\
         @%p2 bra $wait;\n{acquire}\n.loc 1 9 1\nld.global.u32 %r7, [%rd1];\nst.global.u32 [%rd1+4], %r7;"
    ))
    .block(1)
    .grid(2)
}

#[test]
fn the_message_says_which_fence_is_missing() {
    const FENCE: &str = "fence.acq_rel.gpu;";
    right(|| handed_over(FENCE, FENCE), 1, 7);
    assert_snapshot!(handed_over("", FENCE).fault(), @r"
    race in global memory: load of byte 0 of buffer `out` and an earlier store by another block, which lacks a fence: put a device-wide fence (or a release) there, behind that access and before the atomic or flag that tells this block
      in kernel `k` at src/lab.rs:9 (PTX line 39), block (1, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:2 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(handed_over(FENCE, "").fault(), @r"
    race in global memory: load of byte 0 of buffer `out` and an earlier store by another block, and a fence is missing on this side: put a device-wide fence (or an acquire) here, between the atomic or flag that tells of the other block and this access
      in kernel `k` at src/lab.rs:9 (PTX line 39), block (1, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:2 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(handed_over("fence.acq_rel.cta;", "").fault(), @r"
    race in global memory: load of byte 0 of buffer `out` and an earlier store by another block, and nothing orders the two: that takes a device-wide fence (or a release) behind the first, an atomic or a flag that the other block reads, and a fence (or an acquire) there before the second
      in kernel `k` at src/lab.rs:9 (PTX line 39), block (1, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:2 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn volatile_counts_as_plain_where_asked_for() {
    // ScoR's kind of program: data and flag are volatile, and nothing orders the two.
    let make = |is_plain| {
        let mut launch = handed_over("", "");
        launch.body = launch
            .body
            .replace("st.global", "st.volatile.global")
            .replace("ld.global", "ld.volatile.global");
        launch.options.volatile_is_plain = is_plain;
        launch
    };
    make(false).report();
    let fault = make(true).fault();
    assert!(fault.starts_with("race in global memory"), "{fault}");
}
