//! Threads that wait: by polling, which costs nothing while nothing changes; by counting, sleeping
//! or a clock, which ends too early in some order; and by objects of `mbarrier`.

use std::time::Instant;

use crate::common::{Launch, launch};
use ptx_emu::{Sanitize, Schedule};

/// The order in which one block and one warp run only when all others wait.
const LAGGARD: Schedule = Schedule::Random { seed: 45 };

fn schedules() -> impl Iterator<Item = Schedule> {
    let random = (40..48).map(|seed| Schedule::Random { seed });
    random.chain([Schedule::InOrder])
}

/// Each block of a pipeline waits for the ticket of the one before, and adds 1 to what that left.
fn pipeline(wait: &str, threads: u32, blocks: u32) -> Launch {
    let body = format!(
        "mov.u32 %r5, %ctaid.x;\nmul.wide.u32 %rd5, %r5, 4;\nadd.u64 %rd6, %rd1, %rd5;\nsetp.ne.u32 %p1, %r2, 0;\n\
         @%p1 bra $meet;\nmov.u32 %r8, 0;\n$wait:\n{wait}\n@%p2 bra $wait;\nfence.acq_rel.gpu;\n\
         ld.global.u32 %r6, [%rd6+4];\nadd.u32 %r6, %r6, 1;\nst.global.u32 [%rd6+8], %r6;\nfence.acq_rel.gpu;\n\
         add.u32 %r7, %r5, 1;\nst.relaxed.gpu.global.u32 [%rd1], %r7;\n$meet:\nbar.sync 0;"
    );
    launch(&body)
        .block(threads)
        .grid(blocks)
        .out_words(blocks as usize + 2)
}

/// Polls until the ticket is there.
const POLL: &str = "ld.relaxed.gpu.global.u32 %r7, [%rd1];\nsetp.ne.u32 %p2, %r7, %r5;";
const CAS: &str = "atom.global.cas.b32 %r7, [%rd1], 1000000, 0;\nsetp.ne.u32 %p2, %r7, %r5;";
const SLEEP: &str =
    "ld.volatile.global.u32 %r7, [%rd1];\nnanosleep.u32 100;\nsetp.ne.u32 %p2, %r7, %r5;";
/// Polls behind another poll, which is not in the loop.
const BEHIND: &str = "ld.volatile.global.u32 %r9, [%rd2];\n$inner:\nld.volatile.global.u32 %r7, [%rd1];\n\
                      setp.ne.u32 %p2, %r7, %r5;\n@%p2 bra $inner;";
/// Gives up after a number of polls, or rounds of a clock.
const COUNTS: &str = "ld.relaxed.gpu.global.u32 %r7, [%rd1];\nadd.u32 %r8, %r8, 1;\nsetp.ne.u32 %p2, %r7, %r5;\n\
                      setp.lt.u32 %p3, %r8, 1000;\nand.pred %p2, %p2, %p3;";
const CLOCK: &str = "ld.relaxed.gpu.global.u32 %r7, [%rd1];\nmov.u32 %r9, %clock;\nand.b32 %r9, %r9, 0;\n\
                     add.u32 %r8, %r8, 1;\nadd.u32 %r8, %r8, %r9;\nsetp.ne.u32 %p2, %r7, %r5;\nsetp.lt.u32 %p3, %r8, 2000;\n\
                     and.pred %p2, %p2, %p3;";

#[test]
fn a_pipeline_of_blocks_in_every_order() {
    for wait in [POLL, CAS, SLEEP, BEHIND] {
        for schedule in schedules() {
            let out = pipeline(wait, 64, 12).schedule(schedule).out();
            assert_eq!(out[1..], Vec::from_iter(0..13), "{schedule:?} {wait}");
        }
    }
}

#[test]
fn waiting_costs_nothing() {
    let start = Instant::now();
    let mut polls = 0;
    for schedule in schedules() {
        let report = pipeline(POLL, 256, 400).schedule(schedule).report();
        polls += report.counts.instructions.warp;
    }
    // Without parking, most of a thousand million.
    assert!(polls < 20_000_000, "{polls}");
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn a_wait_that_gives_up() {
    // Right if blocks run in order; the one that lags shows that it is too short.
    for wait in [COUNTS, CLOCK] {
        assert_eq!(pipeline(wait, 32, 2).out()[1..], [0, 1, 2], "{wait}");
        let ends = |blocks| {
            let mut seeds = (0..8).map(|k| 8 * k + 5);
            seeds.any(|seed| {
                let ran = pipeline(wait, 32, blocks)
                    .schedule(Schedule::Random { seed })
                    .run();
                ran.result.is_err() || ran.out[1..] != Vec::from_iter(0..=blocks)
            })
        };
        assert!(ends(2), "{wait}");
    }
    // Warps of one block.
    let warps = "and.b32 %r9, %r2, 31;\nsetp.ne.u32 %p1, %r9, 0;\n@%p1 ret;\nsetp.eq.u32 %p1, %r2, 0;\n@!%p1 bra $wait;\n\
                 st.volatile.shared.u32 [flag], 5;\nret;\n$wait:\nmov.u32 %r8, 0;\n$again:\nld.volatile.shared.u32 %r7, [flag];\n\
                 add.u32 %r8, %r8, 1;\nsetp.ne.u32 %p2, %r7, 5;\nsetp.lt.u32 %p3, %r8, 500;\nand.pred %p2, %p2, %p3;\n\
                 @%p2 bra $again;\nst.global.u32 [%rd1], %r7;";
    let clear = ".shared .align 4 .b8 flag[4];\nst.volatile.shared.u32 [flag], 0;\nbar.sync 0;\n";
    let kernel = || launch(&format!("{clear}{warps}")).block(64);
    assert_eq!(kernel().out()[0], 5);
    let mut seeds = (0..8).map(|k| 8 * k + 5);
    assert!(seeds.any(|seed| kernel().schedule(Schedule::Random { seed }).out()[0] != 5));
    // A wait for as long as it takes is right.
    let patient = warps.replace(
        "setp.lt.u32 %p3, %r8, 500;",
        "setp.lt.u32 %p3, %r8, 0;\nnot.pred %p3, %p3;",
    );
    for schedule in schedules() {
        let out = launch(&format!("{clear}{patient}"))
            .block(64)
            .schedule(schedule)
            .out();
        assert_eq!(out[0], 5, "{schedule:?}");
    }
}

/// True if some of the three orders with a laggard that a seed gives shows that a launch waits for
/// too short a time.
fn some_laggard_shows(seed: u64, kernel: impl Fn() -> Launch, right: &[u32]) -> bool {
    (5..8).any(|kind| {
        let schedule = Schedule::Random {
            seed: 8 * seed + kind,
        };
        let ran = kernel().schedule(schedule).run();
        ran.result.is_err() || ran.out[..right.len()] != *right
    })
}

#[test]
fn each_of_three_lags_in_turn() {
    for seed in 0..8 {
        for waits in 1..3 {
            let only = format!(
                "{COUNTS}\nsetp.ne.u32 %p3, %r7, %r5;\nsetp.ne.u32 %p4, %r5, {waits};\n\
                                and.pred %p3, %p3, %p4;\nor.pred %p2, %p2, %p3;"
            );
            assert!(
                some_laggard_shows(seed, || pipeline(&only, 32, 3), &[3, 1, 2, 3]),
                "{seed} {waits}"
            );
        }
        // Warp `sets` sets a flag; the first of the others gives up.
        for sets in 0..3 {
            let body = format!(
                ".shared .align 4 .b8 flag[4];\nst.volatile.shared.u32 [flag], 0;\nbar.sync 0;\n\
                 and.b32 %r9, %r2, 31;\nsetp.ne.u32 %p1, %r9, 0;\n@%p1 ret;\nshr.u32 %r9, %r2, 5;\n\
                 setp.ne.u32 %p1, %r9, {sets};\n@%p1 bra $wait;\nst.volatile.shared.u32 [flag], 5;\nret;\n\
                 $wait:\nmov.u32 %r8, 0;\n$again:\nld.volatile.shared.u32 %r7, [flag];\nadd.u32 %r8, %r8, 1;\n\
                 setp.ne.u32 %p2, %r7, 5;\nsetp.lt.u32 %p3, %r8, 500;\nand.pred %p2, %p2, %p3;\n@%p2 bra $again;\n\
                 shl.b32 %r9, %r9, 2;\ncvt.u64.u32 %rd5, %r9;\nadd.u64 %rd5, %rd5, %rd1;\nst.global.u32 [%rd5], %r7;"
            );
            let mut right = [5; 3];
            right[sets] = 0;
            let kernel = || launch(&body).block(96).out_words(3);
            assert!(some_laggard_shows(seed, kernel, &right), "{seed} {sets}");
        }
    }
}

#[test]
fn waits_in_vain_are_found_at_once() {
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\n$wait:\nld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n\
                @%p1 bra $wait;";
    insta::assert_snapshot!(launch(body).fault(), @r"
    deadlock: the block waits for something that none of its threads does: its threads poll memory in which nothing changes any more
      in kernel `k` at src/lab.rs:1 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
    for schedule in schedules() {
        let fault = launch(body).grid(3).schedule(schedule).fault();
        assert!(fault.starts_with("deadlock: the 3 blocks"), "{fault}");
    }
    // Nobody else could change shared memory.
    let by_shared = ".shared .align 4 .b8 flag[4];\nst.volatile.shared.u32 [flag], 0;\nbar.sync 0;\nmov.u32 %r5, %ctaid.x;\n\
                setp.ne.u32 %p1, %r5, 1;\n@%p1 ret;\n$wait:\nld.volatile.shared.u32 %r5, [flag];\n\
                setp.eq.u32 %p1, %r5, 0;\n@%p1 bra $wait;";
    for schedule in schedules() {
        let fault = launch(by_shared).grid(3).schedule(schedule).fault();
        assert!(
            fault.starts_with("deadlock: the block waits") && fault.contains("block (1, 0, 0)"),
            "{fault}"
        );
    }
    // One warp polls, the other waits at a barrier for it.
    let by_barrier = "setp.ge.u32 %p1, %r2, 32;\n@%p1 bra $meet;\n$wait:\nld.volatile.global.u32 %r5, [%rd1];\n\
                setp.eq.u32 %p1, %r5, 0;\n@%p1 bra $wait;\n$meet:\nbar.sync 0;";
    for schedule in schedules() {
        let fault = launch(by_barrier).block(64).schedule(schedule).fault();
        assert!(fault.starts_with("deadlock"), "{fault}");
    }
}

/// A producer warp stores 32 words and arrives at an object; a consumer warp waits and reads them.
fn produced(count: u32, arrive: &str) -> Launch {
    launch(&format!(
        ".shared .align 8 .b8 full[8];\n.shared .align 4 .b8 tile[128];\nmov.u32 %r5, tile;\nand.b32 %r6, %r2, 31;\n\
         shl.b32 %r10, %r6, 2;\nadd.u32 %r6, %r5, %r10;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 mbarrier.init.shared.b64 [full], {count};\n\
         bar.sync 0;\nsetp.ge.u32 %p1, %r2, 32;\n@%p1 bra $consume;\nst.shared.u32 [%r6], %r2;\n{arrive}\nret;\n$consume:\n\
         mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;\n@!%p2 bra $consume;\nsub.u32 %r7, 124, %r10;\nadd.u32 %r7, %r7, %r5;\n\
         ld.shared.u32 %r8, [%r7];\nst.global.u32 [%rd3-128], %r8;"
    ))
    .block(64)
}

#[test]
fn too_few_arrivals() {
    let all = "mbarrier.arrive.shared.b64 _, [full];";
    let one = format!("setp.eq.u32 %p3, %r2, 0;\n@%p3 {all}");
    let synced = format!("bar.warp.sync -1;\n{one}");
    for schedule in schedules() {
        let right: Vec<u32> = (0..32).rev().collect();
        for (count, arrive) in [(32, all), (1, &synced)] {
            let out = produced(count, arrive).schedule(schedule).out();
            assert_eq!(out[..32], right, "{schedule:?}");
        }
    }
}

#[test]
fn a_lane_that_arrives_for_others() {
    let all = "mbarrier.arrive.shared.b64 _, [full];";
    let by =
        |lanes: &str| format!("and.b32 %r11, %r2, {lanes};\nsetp.eq.u32 %p3, %r11, 0;\n@%p3 {all}");
    let halves =
        "setp.lt.u32 %p3, %r2, 16;\n@%p3 bar.warp.sync 0xffff;\n@!%p3 bar.warp.sync 0xffff0000;";
    let (one, two) = (by("31"), by("15"));
    let right: Vec<u32> = (0..32).rev().collect();
    for schedule in schedules() {
        // Each for the half of the warp that it has waited for; in two groups.
        let apart = format!("setp.lt.u32 %p3, %r2, 9;\n@%p3 bra $few;\n{all}\nret;\n$few:\n{all}");
        for (count, arrive) in [(2, format!("{halves}\n{two}")), (32, apart)] {
            let out = produced(count, &arrive).schedule(schedule).out();
            assert_eq!(out[..32], right, "{schedule:?}");
        }
        for (count, arrive) in [
            (1, one.clone()),
            (2, two.clone()),
            // For the other half too.
            (1, format!("{halves}\n{one}")),
            // A shuffle and a vote order nothing.
            (1, format!("vote.sync.any.pred %p3, 1, -1;\n{one}")),
        ] {
            let fault = produced(count, &arrive).schedule(schedule).fault();
            let is_found = fault.starts_with("race") || fault.starts_with("uninitialized");
            assert!(is_found, "{schedule:?} {arrive}: {fault}");
        }
    }
}

/// A third warp reads what the second has read, after a barrier of these two.
#[test]
fn what_a_lane_has_released_is_passed_on() {
    let body = ".shared .align 8 .b8 full[8];\n.shared .align 4 .b8 cell[4];\nsetp.eq.u32 %p1, %r2, 0;\n\
                @%p1 mbarrier.init.shared.b64 [full], 1;\nbar.sync 0;\nsetp.ge.u32 %p1, %r2, 32;\n@%p1 bra $others;\n\
                setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nst.shared.u32 [cell], 7;\nmbarrier.arrive.shared.b64 _, [full];\nret;\n\
                $others:\nsetp.ge.u32 %p1, %r2, 64;\n@%p1 bra $read;\n$wait:\n\
                mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;\n@!%p2 bra $wait;\n$read:\nbar.sync 1, 64;\n\
                ld.shared.u32 %r8, [cell];\nst.global.u32 [%rd3], %r8;";
    for schedule in schedules() {
        let ran = launch(body).block(96).out_words(96).schedule(schedule);
        assert_eq!(ran.out()[32..], [7; 64], "{schedule:?}");
    }
}

/// A warp with two objects of `mbarrier` for `count` arrivals, and a word of each lane.
fn of_one_warp(count: u32, body: &str) -> Launch {
    launch(&format!(
        "setp.eq.u32 %p1, %r2, 0;\n@%p1 mbarrier.init.shared.b64 [full], {count};\n\
         @%p1 mbarrier.init.shared.b64 [empty], {count};\nbar.sync 0;\nmov.u32 %r5, tile;\n\
         mad.lo.u32 %r6, %r2, 4, %r5;\nxor.b32 %r7, %r2, 5;\n\
         mad.lo.u32 %r7, %r7, 4, %r5;\n{body}"
    ))
    .module_scope(
        ".shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\n.shared .b32 tile[32];",
    )
}

/// Waits for the phase of this parity.
fn wait(object: &str, parity: &str) -> String {
    format!(
        "$wait_{object}:\nmbarrier.try_wait.parity.shared.b64 %p2, [{object}], {parity};\n@!%p2 bra $wait_{object};\n"
    )
}

/// Each lane reads what another has stored and lets it store again, for 3 rounds.
#[test]
fn lanes_of_a_warp_wait_for_each_other() {
    let (full, empty) = (wait("full", "%r9"), wait("empty", "%r9"));
    let body = format!(
        "mov.u32 %r8, 0;\nmov.u32 %r10, 0;\n$round:\nand.b32 %r9, %r8, 1;\nadd.u32 %r11, %r2, %r8;\n\
         st.shared.u32 [%r6], %r11;\nmbarrier.arrive.shared.b64 _, [full];\n{full}ld.shared.u32 %r12, [%r7];\n\
         add.u32 %r10, %r10, %r12;\nmbarrier.arrive.shared.b64 _, [empty];\n{empty}add.u32 %r8, %r8, 1;\n\
         setp.lt.u32 %p3, %r8, 3;\n@%p3 bra $round;\nst.global.u32 [%rd3], %r10;"
    );
    let right: Vec<u32> = (0..32).map(|lane| 3 * (lane ^ 5) + 3).collect();
    for schedule in schedules() {
        let out = of_one_warp(32, &body).schedule(schedule).out();
        assert_eq!(out[..32], right, "{schedule:?}");
    }
}

#[test]
fn a_lane_shows_what_it_did_before_it_arrived() {
    let (full, empty) = (wait("full", "0"), wait("empty", "0"));
    let first = "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra $others;\nst.shared.u32 [tile], 7;\n\
                 mbarrier.arrive.shared.b64 _, [full];\n";
    let read = "ld.shared.u32 %r12, [tile];\nst.global.u32 [%rd3], %r12;";
    // Lane 1 passes it on.
    let second = format!(
        "setp.ne.u32 %p3, %r2, 1;\n@%p3 bra $wait_empty;\n{full}mbarrier.arrive.shared.b64 _, [empty];\n"
    );
    let relaxed = full.replace("parity.shared", "parity.relaxed.cta.shared::cta");
    let few = format!("setp.ge.u32 %p3, %r2, 16;\n@%p3 bra $read;\n{full}$read:\n");
    for schedule in schedules() {
        for way in [
            format!("$others:\n{full}"),
            format!("$others:\n{second}{empty}"),
        ] {
            let ran = of_one_warp(1, &format!("{first}{way}{read}")).schedule(schedule);
            assert_eq!(ran.out()[..32], [7; 32], "{schedule:?} {way}");
        }
        for way in [
            // It goes on to store.
            format!("st.shared.u32 [tile], 8;\n$others:\n{full}"),
            // Not all wait, or not for what is in memory.
            format!("$others:\n{few}"),
            format!("$others:\n{relaxed}"),
        ] {
            let fault = of_one_warp(1, &format!("{first}{way}{read}"))
                .schedule(schedule)
                .fault();
            let is_found = fault.starts_with("race") || fault.starts_with("uninitialized");
            assert!(is_found, "{schedule:?} {way}: {fault}");
        }
    }
}

#[test]
fn the_laggard_is_an_order_like_another() {
    assert_eq!(pipeline(POLL, 64, 30).schedule(LAGGARD).out()[31], 30);
    let body = "red.global.add.u32 [%rd1], 1;\nbar.sync 0;\nst.global.u32 [%rd3+128], %r3;";
    launch(body)
        .block(128)
        .grid(3)
        .out_words(500)
        .schedule(LAGGARD)
        .report();
}

/// Thread 0 of each block waits for a flag by weak loads; that of block `sets` sets it.
fn weak_wait(wait: &str, sets: u32) -> Launch {
    launch(&format!(
        "mov.u32 %r5, %ctaid.x;\nsetp.eq.u32 %p1, %r5, {sets};\n@%p1 bra $set;\nsetp.eq.u32 %p3, %r2, 0;\n\
         $wait:\n{wait}\nsetp.eq.u32 %p1, %r6, 0;\n@%p1 bra $wait;\n@%p3 st.global.u32 [%rd3+8], %r6;\nret;\n\
         $set:\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nst.global.u32 [%rd1], 7;"
    ))
    .grid(2)
}

const ALL_LANES: &str = "ld.global.u32 %r6, [%rd1];";
const ONE_LANE: &str = "@%p3 ld.global.u32 %r6, [%rd1];\nshfl.sync.idx.b32 %r6, %r6, 0, 31, -1;";

#[test]
fn a_wait_by_weak_loads_is_a_race() {
    let unchecked = Sanitize {
        races: false,
        ..Sanitize::ALL
    };
    for (wait, threads) in [(ALL_LANES, 1), (ONE_LANE, 1), (ALL_LANES, 2)] {
        for schedule in schedules() {
            let of = |sets| {
                let mut kernel = weak_wait(wait, sets).schedule(schedule);
                kernel.options.threads = threads;
                kernel
            };
            for sets in 0..2 {
                let fault = of(sets).fault();
                assert!(fault.starts_with("race in global memory"), "{fault}");
                let waits = 2 + 32 * (1 - sets as usize);
                let out = of(sets).sanitize(unchecked).out();
                assert_eq!((out[0], out[waits]), (7, 7), "{schedule:?}");
            }
            let fault = of(2).fault();
            assert!(fault.starts_with("deadlock: the 2 blocks"), "{fault}");
        }
    }
}

#[test]
fn a_wait_by_weak_loads_for_another_lane() {
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra $set;\n$wait:\nld.global.u32 %r6, [%rd1];\n\
                setp.eq.u32 %p1, %r6, 0;\n@%p1 bra $wait;\nret;\n$set:\nsetp.ne.u32 %p1, %r2, 1;\n@%p1 ret;\n\
                st.global.u32 [%rd1], 7;";
    for schedule in schedules() {
        let fault = launch(body).schedule(schedule).fault();
        assert!(fault.starts_with("race in global memory"), "{fault}");
    }
}

/// Half of a warp polls; the other counts, and says when that is enough.
#[test]
fn lanes_that_others_stop_are_not_parked() {
    let body = "mov.u32 %r5, 0;\nsetp.lt.u32 %p1, %r2, 16;\n$again:\n@%p1 bra $poll;\nadd.u32 %r5, %r5, 1;\nbra $both;\n\
                $poll:\nld.volatile.global.u32 %r6, [%rd2];\n$both:\nshfl.sync.idx.b32 %r7, %r5, 16, 31, -1;\n\
                setp.lt.u32 %p2, %r7, 1000;\n@%p1 mov.u32 %r7, 0;\n@%p2 bra $again;\nst.global.u32 [%rd3], %r5;";
    for schedule in schedules() {
        let out = launch(body).schedule(schedule).out();
        assert_eq!((out[0], out[16]), (0, 1000), "{schedule:?}");
    }
}

/// The lock is free when a block looks at it, taken at its `cas`, which leaves it as it is, and
/// free when the block looks again.
#[test]
fn a_round_that_saw_two_values_is_not_parked() {
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\n$take:\nld.global.u32 %r5, [%rd1];\n$swap:\n\
                or.b32 %r6, %r5, 0x100;\natom.acquire.gpu.global.cas.b32 %r7, [%rd1], %r5, %r6;\nsetp.ne.u32 %p2, %r7, %r5;\n\
                mov.u32 %r5, %r7;\n@%p2 bra $swap;\nand.b32 %r4, %r7, 0xff00;\nsetp.ne.u32 %p2, %r4, 0;\n@%p2 bra $take;\nld.global.u32 %r8, [%rd1+4];\n\
                add.u32 %r8, %r8, 1;\nst.global.u32 [%rd1+4], %r8;\nmov.u32 %r9, 0;\nfence.acq_rel.sys;\nst.relaxed.sys.global.u8 [%rd1+1], %r9;";
    for seed in 0..128 {
        let schedule = Schedule::Random { seed };
        let out = launch(body)
            .grid(4)
            .schedule(schedule)
            .sanitize(Sanitize::NONE)
            .out();
        assert_eq!(out[..2], [0, 4], "{schedule:?}");
    }
}

#[test]
fn a_try_wait_gives_up_once_with_other_seeds() {
    // Thread 32 arrives late; thread 0 counts its waits.
    let wait = |repeats: &str| {
        format!(
            "setp.eq.u32 %p1, %r2, 0;\n@%p1 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\nsetp.eq.u32 %p3, %r2, 32;\n\
             @%p3 bra $arrive;\n@!%p1 ret;\nmov.u32 %r5, 0;\n$wait:\nadd.u32 %r5, %r5, 1;\n\
             mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n{repeats}selp.u32 %r6, 1, 0, %p2;\nst.global.u32 [%rd1], %r5;\n\
             st.global.u32 [%rd1+4], %r6;\nret;\n$arrive:\nmbarrier.arrive.shared.b64 _, [bar];"
        )
    };
    let out = |seed, repeats| {
        let mut kernel = launch(&wait(repeats))
            .module_scope(".shared .align 8 .b64 bar;")
            .block(64);
        kernel.options.seed = seed;
        kernel.out()[..2].to_vec()
    };
    let repeats = "@!%p2 bra $wait;\n";
    assert_eq!(out(0, repeats), [1, 1]);
    assert_eq!(out(0, ""), [1, 1]);
    for seed in 1..9 {
        assert_eq!(out(seed, repeats), [2, 1]);
        assert_eq!(out(seed, ""), [1, 0]);
    }
}

#[test]
fn who_computes_for_long_while_others_poll_is_waited_for() {
    // Warp 0 computes before it stores; the others poll, and store to shared memory in each round,
    // so that they are never parked.
    let body = "mov.u32 %r10, %ctaid.x;\nmul.wide.u32 %rd7, %r10, 16;\nadd.u64 %rd1, %rd1, %rd7;\n\
                shr.u32 %r5, %r2, 5;\nand.b32 %r6, %r2, 31;\nmul.wide.u32 %rd6, %r5, 4;\nsetp.ne.u32 %p1, %r5, 0;\n\
                @%p1 bra $wait;\nmov.u32 %r7, 0;\n$compute:\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, 100000;\n\
                @%p2 bra $compute;\nst.release.gpu.global.u32 [%rd1], %r7;\nret;\n\
                $wait:\nmov.u32 %r9, place;\nadd.u32 %r9, %r9, %r5;\n$again:\nld.acquire.gpu.global.u32 %r8, [%rd1];\n\
                st.volatile.shared.u8 [%r9], 1;\nsetp.ne.u32 %p3, %r8, 0;\nvote.sync.all.pred %p2, %p3, -1;\n@!%p2 bra $again;\n\
                setp.ne.u32 %p3, %r6, 0;\n@%p3 ret;\nadd.u64 %rd6, %rd1, %rd6;\nst.global.u32 [%rd6], %r8;";
    for seed in 8..16 {
        let kernel = launch(body)
            .module_scope(".shared .align 4 .b8 place[4];")
            .block(64)
            .grid(2)
            .schedule(Schedule::Random { seed });
        let out = kernel.out();
        assert_eq!([out[0], out[1], out[4], out[5]], [100_000; 4], "{seed}");
    }
}

#[test]
fn blocks_that_look_at_many_flags_do_not_wait_in_vain() {
    // Each of 600 blocks sets its flag, and counts those that are set; none waits.
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u32 %r5, %ctaid.x;\nmul.wide.u32 %rd5, %r5, 4;\nadd.u64 %rd6, %rd1, %rd5;\n\
                st.release.gpu.global.u32 [%rd6], 1;\nmov.u32 %r7, 0;\nmov.u32 %r8, 0;\nmov.u64 %rd7, %rd1;\n$next:\n\
                ld.acquire.gpu.global.u32 %r9, [%rd7];\nadd.u32 %r8, %r8, %r9;\nadd.u64 %rd7, %rd7, 4;\nadd.u32 %r7, %r7, 1;\n\
                setp.lt.u32 %p2, %r7, 600;\n@%p2 bra $next;\nadd.u64 %rd6, %rd6, 2400;\nst.global.u32 [%rd6], %r8;";
    for seed in [8, 10, 12, 13] {
        let kernel = launch(body)
            .grid(600)
            .out_words(1200)
            .schedule(Schedule::Random { seed });
        let out = kernel.out();
        assert!(out[600..].iter().all(|&seen| (1..=600).contains(&seen)));
    }
}
