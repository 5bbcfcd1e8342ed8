//! Asynchronous copies that nobody waits for, or that others get in the way of; objects of `mbarrier` that are used wrongly.

use insta::assert_snapshot;

use crate::common::{Launch, launch};

/// A copy of a word a thread, between two texts. `%r5` is where it goes, `%rd4` where it comes from.
fn word(before: &str, copy: &str, after: &str) -> Launch {
    launch(&format!(
        ".shared .align 16 .b8 tile[256];\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 4, %r5;\n{before}\n.loc 1 5 1\n{copy}\n{after}\n\
         ld.shared.u32 %r6, [%r5];\nst.global.u32 [%rd3], %r6;"
    ))
}

const WORD: &str = "cp.async.ca.shared.global [%r5], [%rd4], 4;";
const WAIT: &str = "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;";

#[test]
fn a_word_that_is_read_or_written_before_it_is_there() {
    assert_eq!(word("", WORD, WAIT).out()[..32], launch("").input[..32]);
    // An old value is there, so that nothing else would tell.
    let old = "st.shared.u32 [%r5], 7;\nbar.sync 0;";
    assert_snapshot!(word(old, WORD, ".loc 1 7 1").fault(), @"");
    let late = ".loc 1 7 1\nst.shared.u32 [%r5], 8;\ncp.async.wait_all;";
    assert_snapshot!(word("", WORD, late).fault(), @"");
    // By another thread, and by another copy.
    let other = format!(
        "bar.sync 0;\nxor.b32 %r7, %r5, 128;\n.loc 1 7 1\nld.shared.u32 %r8, [%r7];\n{WAIT}"
    );
    assert_snapshot!(word(old, WORD, &other).block(64).fault(), @"");
    assert_snapshot!(word("", &format!("{WORD}\n.loc 1 6 1\n{WORD}"), WAIT).fault(), @"");
    // A group too early.
    let two = format!(
        "{WORD}\ncp.async.commit_group;\nadd.u32 %r7, %r5, 128;\ncp.async.ca.shared.global [%r7], [%rd4], 4;"
    );
    assert_snapshot!(word("", &two, "cp.async.commit_group;\ncp.async.wait_group 2;").fault(), @"");
    word("", &two, "cp.async.commit_group;\ncp.async.wait_group 1;").report();
}

#[test]
fn a_word_beyond_its_memory() {
    // The message names the copy, not the wait.
    assert_snapshot!(word("", &WORD.replace("[%rd4]", "[%rd4+132]"), WAIT).fault(), @"");
    assert_snapshot!(word("", &WORD.replace("[%r5]", "[%r5+132]"), WAIT).fault(), @"");
    assert_snapshot!(word("", &WORD.replace("[%rd4]", "[%rd4+2]"), WAIT).fault(), @"");
    assert_snapshot!(word("", &WORD.replace("[%r5], [%rd4], 4", "[%r5], [%rd4], 8"), WAIT).fault(), @"");
    // What is not read may be anywhere; it gives zeros.
    let absent = word(
        "mov.u32 %r9, 0;\nmov.u64 %rd4, 4;",
        "cp.async.ca.shared.global [%r5], [%rd4], 4, %r9;",
        WAIT,
    );
    assert_eq!(absent.out(), [0; 64]);
}

const INIT: &str = "mbarrier.init.shared.b64 [bar], 1;\n";
const FENCE: &str = "fence.mbarrier_init.release.cluster;\n";
const EXPECT: &str = "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n";
const COPY: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd2], 128, [bar];\n";
const AWAIT: &str = "wait:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra wait;\n";

/// The first thread makes an object and starts a copy of 128 bytes; all wait, and read a word each.
fn bulk(init: &str, fetch: &str, wait: &str) -> Launch {
    launch(&format!(
        ".shared .align 16 .b8 tile[256];\n.shared .align 8 .b8 bar[16];\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 4, %r5;\n\
         setp.ne.u32 %p1, %r2, 0;\n@%p1 bra made;\n.loc 1 10 1\n{init}made:\nbar.sync 0;\n@%p1 bra fetched;\n.loc 1 20 1\n{fetch}fetched:\n\
         .loc 1 30 1\n{wait}.loc 1 40 1\nld.shared.u32 %r6, [%r5];\n.loc 1 50 1\nst.global.u32 [%rd3], %r6;"
    ))
}

fn made() -> String {
    format!("{INIT}{FENCE}")
}

fn fetched() -> String {
    format!("{EXPECT}{COPY}")
}

#[test]
fn a_bulk_copy_arrives_when_it_is_waited_for() {
    let right = [
        bulk(&made(), &fetched(), AWAIT),
        // The copy first; the bytes apart from the arrival; a generic address; a state in place of the parity.
        bulk(&made(), &format!("{COPY}{EXPECT}"), AWAIT),
        bulk(
            &made(),
            &format!(
                "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 128;\n{COPY}mbarrier.arrive.shared.b64 _, [bar];\n"
            ),
            AWAIT,
        ),
        bulk(&made(), &fetched(), &AWAIT.replace("try", "test")),
        bulk(
            &made(),
            &fetched(),
            "mov.u64 %rd5, bar;\ncvta.shared.u64 %rd5, %rd5;\nwait:\nmbarrier.try_wait.parity.b64 %p2, [%rd5], 0, 1000;\n@!%p2 bra wait;\n",
        ),
        bulk(&format!("{INIT}fence.proxy.async;\n"), &fetched(), AWAIT),
    ];
    for launch in right {
        for block in [32, 64] {
            let out = launch_of(&launch, block).out();
            assert_eq!(out[..32], launch.input[..32]);
        }
    }
}

/// The same with so many threads; those beyond 32 store the words again.
fn launch_of(launch: &Launch, block: u32) -> Launch {
    let body = launch.body.replace(
        "mad.lo.u32 %r5, %r2, 4",
        "and.b32 %r8, %r2, 31;\nmad.lo.u32 %r5, %r8, 4",
    );
    crate::common::launch(&body).block(block)
}

#[test]
fn a_bulk_copy_that_nobody_waits_for() {
    assert_snapshot!(bulk(&made(), &fetched(), "").fault(), @"");
    // Another thread has waited, this one not.
    let one = format!("@%p1 bra gone;\n{AWAIT}gone:\n");
    assert_snapshot!(launch_of(&bulk(&made(), &fetched(), &format!("bar.sync 0;\nsetp.ge.u32 %p1, %r2, 32;\n{one}")), 64).fault(), @"");
    // The block ends.
    let ends = bulk(&made(), &fetched(), "bra end;\n");
    assert_snapshot!(crate::common::launch(&format!("{}\nend:", ends.body)).fault(), @"");
}

#[test]
fn bytes_that_do_not_match() {
    assert_snapshot!(bulk(&made(), &fetched().replace("[bar], 128", "[bar], 112"), AWAIT).fault(), @"");
    assert_snapshot!(bulk(&made(), &fetched().replace("[bar], 128", "[bar], 144"), AWAIT).fault(), @"");
    assert_snapshot!(bulk(&made(), &format!("{COPY}mbarrier.arrive.shared.b64 _, [bar];\n"), AWAIT).fault(), @"");
    assert_snapshot!(bulk(&made(), &fetched().replace("[bar], 128", "[bar], 1048576"), AWAIT).fault(), @"");
    // All 32 lanes start one.
    assert_snapshot!(bulk(&made(), EXPECT, &format!("{COPY}{AWAIT}")).fault(), @"");
}

#[test]
fn a_bulk_copy_beyond_its_memory() {
    let of = |from: &str, to: &str| bulk(&made(), &fetched().replace(from, to), AWAIT).fault();
    assert_snapshot!(of("[%rd2], 128", "[%rd2+8], 128"), @"");
    assert_snapshot!(of("[tile]", "[tile+8]"), @"");
    assert_snapshot!(of("[%rd2], 128", "[%rd2], 120"), @"");
    assert_snapshot!(of("[%rd2], 128", "[%rd2+160], 128"), @"");
    assert_snapshot!(of("[tile]", "[tile+160]"), @"");
}

#[test]
fn objects_that_are_used_wrongly() {
    assert_snapshot!(bulk("", &fetched(), AWAIT).fault(), @"");
    assert_snapshot!(bulk("", COPY, AWAIT).fault(), @"");
    assert_snapshot!(bulk(INIT, &fetched(), AWAIT).fault(), @"");
    assert_snapshot!(bulk(&format!("{INIT}{INIT}"), &fetched(), AWAIT).fault(), @"");
    assert_snapshot!(bulk(&INIT.replace("[bar], 1", "[bar], 0"), &fetched(), AWAIT).fault(), @"");
    assert_snapshot!(bulk(&INIT.replace("[bar]", "[bar+4]"), &fetched(), AWAIT).fault(), @"");
    assert_snapshot!(bulk(&made(), &format!("{EXPECT}{EXPECT}{COPY}"), AWAIT).fault(), @"");
    assert_snapshot!(bulk(&made(), &fetched(), &format!("{AWAIT}.loc 1 35 1\nst.shared.u32 [bar+4], 0;\n")).fault(), @"");
    assert_snapshot!(bulk(&made(), &format!("{COPY}mbarrier.inval.shared.b64 [bar];\n"), AWAIT).fault(), @"");
    assert_snapshot!(bulk(&made(), &fetched(), &AWAIT.replace(".parity.shared.b64 %p2, [bar], 0", ".shared.b64 %p2, [bar], 7")).fault(), @"");
    // No barrier between the making and the use.
    let mut unordered = launch_of(
        &bulk(&made(), "", "mbarrier.arrive.shared.b64 _, [bar];\n"),
        64,
    );
    unordered.body = unordered
        .body
        .replace("made:\nbar.sync 0;", "made:")
        .replace("], 1;", "], 64;");
    assert_snapshot!(unordered.fault(), @"");
}

#[test]
fn a_phase_that_never_completes() {
    // An arrival is missing.
    assert_snapshot!(bulk(&made().replace("], 1;", "], 2;"), &fetched(), AWAIT).fault(), @"");
    // The wait is for the phase after.
    assert_snapshot!(bulk(&made(), &fetched(), &AWAIT.replace("[bar], 0", "[bar], 1").replace("wait:", &format!("{}wait:", AWAIT.replace("wait", "first")))).fault(), @"");
    // It is polled.
    let mut polled = bulk(&made(), "", &AWAIT.replace("try", "test"));
    polled.options.fuel = 10_000;
    assert_snapshot!(polled.fault(), @"");
}

/// All threads write a word each of the tile; the first copies it to `out`.
fn store(before: &str, after: &str) -> Launch {
    launch(&format!(
        ".shared .align 16 .b8 tile[256];\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 4, %r5;\n.loc 1 5 1\nst.shared.u32 [%r5], %r2;\n\
         {before}bar.sync 0;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra done;\n.loc 1 10 1\n\
         cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 128;\ncp.async.bulk.commit_group;\n{after}done:\n"
    ))
}

const PROXY: &str = "fence.proxy.async.shared::cta;\n";
const READ: &str = "cp.async.bulk.wait_group.read 0;\n";

#[test]
fn a_bulk_copy_to_global_memory() {
    let expected: Vec<u32> = (0..32).collect();
    for wait in [READ, "cp.async.bulk.wait_group 0;\n"] {
        assert_eq!(store(PROXY, wait).out()[..32], expected);
        // After the wait, the tile is free.
        let again = format!("{wait}st.shared.u32 [tile], 99;\n");
        assert_eq!(store(PROXY, &again).out()[..32], expected);
    }
    assert_snapshot!(store("", READ).fault(), @"");
    assert_snapshot!(store("fence.proxy.async.global;\n", READ).fault(), @"");
    assert_snapshot!(store(PROXY, "").fault(), @"");
    let early = format!(".loc 1 20 1\nst.shared.u32 [tile+124], 99;\n{READ}");
    assert_snapshot!(store(PROXY, &early).fault(), @"");
    // To read it is no fault.
    store(PROXY, &format!("ld.shared.u32 %r6, [tile];\n{READ}")).report();
    let wrong = |from: &str, to: &str| {
        let mut store = store(PROXY, READ);
        store.body = store.body.replace(from, to);
        store.fault()
    };
    assert_snapshot!(wrong("[%rd1]", "[%rd1+8]"), @"");
    assert_snapshot!(wrong("[%rd1]", "[%rd1+192]"), @"");
    assert_snapshot!(wrong("[tile], 128", "[tile], 144"), @"");
}

#[test]
fn what_the_launch_has_stored_to_global_memory_needs_a_fence() {
    let body = |fence: &str| {
        let bulk = bulk(&made(), &fetched().replace("[%rd2]", "[%rd1]"), AWAIT).body;
        let bulk = bulk.replace("st.global.u32 [%rd3], %r6", "st.global.u32 [%rd4], %r6");
        format!(".loc 1 2 1\nst.global.u32 [%rd3], %r2;\n{fence}{bulk}")
    };
    launch(&body("fence.proxy.async;\n")).report();
    assert_snapshot!(launch(&body("")).fault(), @"");
    assert_snapshot!(launch(&body(PROXY)).fault(), @"");
}
