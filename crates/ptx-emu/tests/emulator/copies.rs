//! Asynchronous copies that report to an object of `mbarrier`.

use crate::common::launch;
use ptx_emu::Schedule;

/// Each lane copies its word; with `wait`, all wait for the object before they read the next
/// lane's.
fn text(arrival: &str, count: u32, wait: &str) -> String {
    format!(
        "mov.u32 %r10, s; mov.u32 %r11, bar; mad.lo.u32 %r12, %r2, 4, %r10;
         setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared.b64 [%r11], {count}; bar.sync 0;
         cp.async.ca.shared.global [%r12], [%rd4], 4; {arrival} {wait}
         xor.b32 %r13, %r12, 4; ld.shared.u32 %r14, [%r13]; st.global.u32 [%rd3], %r14;"
    )
}

const WAIT: &str = "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r11], 0; @!%p2 bra W;";
const MODULE: &str = ".shared .align 16 .b32 s[32];\n.shared .align 8 .b64 bar;";

/// In any order of the lanes.
#[test]
fn an_arrival_behind_copies_shows_them() {
    let expected: Vec<u32> = (0..32).map(|lane| lane ^ 1).collect();
    for arrival in [
        "cp.async.mbarrier.arrive.noinc.shared.b64 [%r11];",
        // Without `.noinc` the arrival counts for itself: the thread's own follows.
        "cp.async.mbarrier.arrive.shared.b64 [%r11]; mbarrier.arrive.shared.b64 _, [%r11];",
        "cp.async.mbarrier.arrive.shared.b64 [%r11]; mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r11];",
    ] {
        let seeds = (0..8).map(|seed| Schedule::Random { seed });
        for schedule in seeds.chain([Schedule::InOrder]) {
            let ran = launch(&text(arrival, 32, WAIT)).module_scope(MODULE);
            let out = ran.schedule(schedule).out();
            assert_eq!(out[..32], expected, "{schedule:?} {arrival}");
        }
    }
}

#[test]
fn a_missing_wait_is_a_race() {
    let awaited = "cp.async.mbarrier.arrive.noinc.shared.b64 [%r11];";
    let fault = launch(&text(awaited, 32, "")).module_scope(MODULE).fault();
    assert!(fault.starts_with("race"), "{fault}");
    let without_barrier = launch(
        &text(awaited, 32, "")
            .replace("@%p1 mbarrier.init", "@!%p1 bra N; bra N; mbarrier.init")
            .replace("bar.sync 0;", "N: bar.sync 0;"),
    )
    .module_scope(MODULE)
    .fault();
    assert!(
        without_barrier.contains("no mbarrier object"),
        "{without_barrier}"
    );
}
