//! Asynchronous copies that no thread waits for, or that others get in the way of; objects of
//! `mbarrier` that are used wrongly.

use insta::assert_snapshot;

use crate::common::{Launch, launch};

/// A copy of a word a thread, between two texts. `%r5` is where it goes, `%rd4` where it comes
/// from.
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
    assert_snapshot!(word(old, WORD, ".loc 1 7 1").fault(), @r"
    copy under way: load of 4 bytes at element 0 (byte 0) of shared array `tile`, to which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:7 (PTX line 33), block (0, 0, 0), thread (0, 0, 0)
      copy started at src/lab.rs:5 (PTX line 31), block (0, 0, 0), thread (0, 0, 0)
    ");
    let late = ".loc 1 7 1\nst.shared.u32 [%r5], 8;\ncp.async.wait_all;";
    assert_snapshot!(word("", WORD, late).fault(), @r"
    copy under way: store of 4 bytes at element 0 (byte 0) of shared array `tile`, to which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:7 (PTX line 32), block (0, 0, 0), thread (0, 0, 0)
      copy started at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
    ");
    // By another thread, and by another copy.
    let other = format!(
        "bar.sync 0;\nxor.b32 %r7, %r5, 128;\n.loc 1 7 1\nld.shared.u32 %r8, [%r7];\n{WAIT}"
    );
    assert_snapshot!(word(old, WORD, &other).block(64).fault(), @r"
    copy under way: load of 4 bytes at element 32 (byte 128) of shared array `tile`, to which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:7 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
      copy started at src/lab.rs:5 (PTX line 31), block (0, 0, 0), thread (32, 0, 0)
    ");
    assert_snapshot!(word("", &format!("{WORD}\n.loc 1 6 1\n{WORD}"), WAIT).fault(), @r"
    copy under way: store of 4 bytes at element 0 (byte 0) of shared array `tile`, to which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:6 (PTX line 32), block (0, 0, 0), thread (0, 0, 0)
      copy started at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
    ");
    // A group too early.
    let two = format!(
        "{WORD}\ncp.async.commit_group;\nadd.u32 %r7, %r5, 128;\ncp.async.ca.shared.global [%r7], [%rd4], 4;"
    );
    assert_snapshot!(word("", &two, "cp.async.commit_group;\ncp.async.wait_group 2;").fault(), @r"
    copy under way: load of 4 bytes at element 0 (byte 0) of shared array `tile`, to which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:5 (PTX line 36), block (0, 0, 0), thread (0, 0, 0)
      copy started at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
    ");
    word("", &two, "cp.async.commit_group;\ncp.async.wait_group 1;").report();
}

#[test]
fn a_word_beyond_its_memory() {
    // The message names the copy, not the wait.
    assert_snapshot!(word("", &WORD.replace("[%rd4]", "[%rd4+132]"), WAIT).fault(), @r"
    out of bounds: load of 4 bytes at offset 256 of buffer `in` (256 bytes) reaches 4 bytes past its end (index 64, length 64)
      in kernel `k` at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (31, 0, 0)
    ");
    assert_snapshot!(word("", &WORD.replace("[%r5]", "[%r5+132]"), WAIT).fault(), @r"
    out of bounds: store of 4 bytes at offset 256 of shared memory (256 bytes) reaches 4 bytes past its end (index 64, length 64)
      in kernel `k` at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (31, 0, 0)
    ");
    assert_snapshot!(word("", &WORD.replace("[%rd4]", "[%rd4+2]"), WAIT).fault(), @r"
    misaligned access: load of 4 bytes at byte 2 of buffer `in`, address 0x200134800002, which is 2 bytes past a multiple of 4
      in kernel `k` at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(word("", &WORD.replace("[%r5], [%rd4], 4", "[%r5], [%rd4], 8"), WAIT).fault(), @r"
    misaligned access: load of 8 bytes at byte 4 of buffer `in`, address 0x200134800004, which is 4 bytes past a multiple of 8
      in kernel `k` at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (1, 0, 0)
    ");
    // A source that is not read may be anywhere; it gives zeros.
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
        // The copy first; the bytes apart from the arrival; a generic address; a state instead of
        // the parity.
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

/// The same with `block` threads; those beyond 32 store the words again.
fn launch_of(launch: &Launch, block: u32) -> Launch {
    let body = launch.body.replace(
        "mad.lo.u32 %r5, %r2, 4",
        "and.b32 %r8, %r2, 31;\nmad.lo.u32 %r5, %r8, 4",
    );
    crate::common::launch(&body).block(block)
}

#[test]
fn a_bulk_copy_that_nobody_waits_for() {
    assert_snapshot!(bulk(&made(), &fetched(), "").fault(), @r"
    copy under way: load of 4 bytes at element 0 (byte 0) of shared array `tile`, to which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:40 (PTX line 43), block (0, 0, 0), thread (0, 0, 0)
      copy started at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
    // Another thread has waited, this one not.
    let one = format!("@%p1 bra gone;\n{AWAIT}gone:\n");
    assert_snapshot!(launch_of(&bulk(&made(), &fetched(), &format!("bar.sync 0;\nsetp.ge.u32 %p1, %r2, 32;\n{one}")), 64).fault(), @r"
    race in shared memory: load of element 0 (byte 0) of shared array `tile` and an earlier store by another warp, with no barrier between them (or, in a loop, between one iteration and the next)
      in kernel `k` at src/lab.rs:40 (PTX line 51), block (0, 0, 0), thread (32, 0, 0)
      earlier store at src/lab.rs:20 (PTX line 40), block (0, 0, 0), thread (0, 0, 0)
    ");
    // The block ends.
    let ends = bulk(&made(), &fetched(), "bra end;\n");
    assert_snapshot!(crate::common::launch(&format!("{}\nend:", ends.body)).fault(), @r"
    copy under way at the end: a bulk copy to byte 0 of shared array `tile` is under way when the block ends: wait for it before (`mbarrier::wait`)
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn bytes_that_do_not_match() {
    assert_snapshot!(bulk(&made(), &fetched().replace("[bar], 128", "[bar], 112"), AWAIT).fault(), @r"
    invalid barrier: copies of 128 bytes are under way to the mbarrier object at byte 0 of shared array `bar`, whose phase 0 expects 112: it would complete before they have arrived
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(bulk(&made(), &fetched().replace("[bar], 128", "[bar], 144"), AWAIT).fault(), @r"
    deadlock: no thread of the block can go on
      in kernel `k` at src/lab.rs:30 (PTX line 43), block (0, 0, 0), thread (0, 0, 0)
      32 threads wait for the mbarrier object (byte 0 of shared array `bar`; phase 0: 0 arrivals and 144 bytes are missing) at src/lab.rs:30 (PTX line 43) (first: thread (0, 0, 0))
    ");
    assert_snapshot!(bulk(&made(), &format!("{COPY}mbarrier.arrive.shared.b64 _, [bar];\n"), AWAIT).fault(), @r"
    invalid barrier: copies of 128 bytes are under way to the mbarrier object at byte 0 of shared array `bar`, whose phase 0 expects 0: it would complete before they have arrived
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(bulk(&made(), &fetched().replace("[bar], 128", "[bar], 1048576"), AWAIT).fault(), @r"
    invalid barrier: the mbarrier object at byte 0 of shared array `bar` is to wait for 1048576 bytes; 1048575 is the most that a phase counts
      in kernel `k` at src/lab.rs:20 (PTX line 38), block (0, 0, 0), thread (0, 0, 0)
    ");
    // All 32 lanes start one.
    assert_snapshot!(bulk(&made(), EXPECT, &format!("{COPY}{AWAIT}")).fault(), @r"
    copy under way: store of 128 bytes at element 0 (byte 0) of shared array `tile`, to which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:30 (PTX line 41), block (0, 0, 0), thread (1, 0, 0)
      copy started at src/lab.rs:30 (PTX line 41), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_bulk_copy_beyond_its_memory() {
    let of = |from: &str, to: &str| bulk(&made(), &fetched().replace(from, to), AWAIT).fault();
    assert_snapshot!(of("[%rd2], 128", "[%rd2+8], 128"), @r"
    misaligned access: load of 16 bytes at byte 8 of buffer `in`, address 0x200134800008, which is 8 bytes past a multiple of 16
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of("[tile]", "[tile+8]"), @r"
    misaligned access: store of 16 bytes at byte 8 of shared array `tile`, address 0x8, which is 8 bytes past a multiple of 16
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of("[%rd2], 128", "[%rd2], 120"), @r"
    invalid copy: a bulk copy of 120 bytes: the size must be a multiple of 16
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of("[%rd2], 128", "[%rd2+160], 128"), @r"
    out of bounds: load of 128 bytes at offset 160 of buffer `in` (256 bytes) reaches 32 bytes past its end
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of("[tile]", "[tile+160]"), @r"
    out of bounds: store of 128 bytes at offset 160 of shared memory (272 bytes) reaches 16 bytes past its end
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn objects_that_are_used_wrongly() {
    assert_snapshot!(bulk("", &fetched(), AWAIT).fault(), @r"
    invalid barrier: mbarrier.arrive of byte 0 of shared array `bar`, where no mbarrier object is: `mbarrier::init` makes one
      in kernel `k` at src/lab.rs:20 (PTX line 36), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(bulk("", COPY, AWAIT).fault(), @r"
    invalid barrier: a bulk copy reports to byte 0 of shared array `bar`, where no mbarrier object is
      in kernel `k` at src/lab.rs:20 (PTX line 36), block (0, 0, 0), thread (0, 0, 0)
    ");
    // The block that has made an object may name it in a copy with no fence (CUB does).
    bulk(INIT, &fetched(), AWAIT).report();
    let ended = format!("{INIT}mbarrier.inval.shared.b64 [bar];\n");
    assert_snapshot!(bulk(&ended, COPY, AWAIT).fault(), @r"
    invalid barrier: a bulk copy reports to byte 0 of shared array `bar`, where no mbarrier object is
      in kernel `k` at src/lab.rs:20 (PTX line 38), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(bulk(&format!("{INIT}{INIT}"), &fetched(), AWAIT).fault(), @r"
    invalid barrier: mbarrier.init of byte 0 of shared array `bar`, where an mbarrier object is: `mbarrier::invalidate` must end it before
      in kernel `k` at src/lab.rs:10 (PTX line 33), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(bulk(&INIT.replace("[bar], 1", "[bar], 0"), &fetched(), AWAIT).fault(), @r"
    invalid barrier: an mbarrier object at byte 0 of shared array `bar` for 0 arrivals; a phase waits for 1 to 1048575
      in kernel `k` at src/lab.rs:10 (PTX line 32), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(bulk(&INIT.replace("[bar]", "[bar+4]"), &fetched(), AWAIT).fault(), @r"
    misaligned access: store of 8 bytes at byte 4 of shared array `bar`, address 0x104, which is 4 bytes past a multiple of 8
      in kernel `k` at src/lab.rs:10 (PTX line 32), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(bulk(&made(), &format!("{EXPECT}{EXPECT}{COPY}"), AWAIT).fault(), @r"
    invalid barrier: 1 arrival at the mbarrier object at byte 0 of shared array `bar`, whose phase 0 waits for 0 more: it was made for 1
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(bulk(&made(), &fetched(), &format!("{AWAIT}.loc 1 35 1\nst.shared.u32 [bar+4], 0;\n")).fault(), @r"
    invalid barrier: store of 4 bytes at element 1 (byte 4) of shared array `bar`, where an mbarrier object is (at byte 0 of shared array `bar`): only `mbarrier` instructions may access it
      in kernel `k` at src/lab.rs:35 (PTX line 46), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(bulk(&made(), &format!("{COPY}mbarrier.inval.shared.b64 [bar];\n"), AWAIT).fault(), @r"
    invalid barrier: mbarrier.inval of byte 0 of shared array `bar`, which copies that are under way report to
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(bulk(&made(), &fetched(), &AWAIT.replace(".parity.shared.b64 %p2, [bar], 0", ".shared.b64 %p2, [bar], 7")).fault(), @r"
    invalid barrier: mbarrier.try_wait of the mbarrier object at byte 0 of shared array `bar` with a state of phase 7; it is in phase 1, and knows that one and the one before
      in kernel `k` at src/lab.rs:30 (PTX line 43), block (0, 0, 0), thread (0, 0, 0)
    ");
    // No barrier between the making and the use by another warp.
    let other =
        "setp.lt.u32 %p3, %r2, 32;\n@%p3 bra no;\nmbarrier.arrive.shared.b64 _, [bar];\nno:\n";
    let mut unordered = launch_of(&bulk(&made(), "", other), 64);
    unordered.body = unordered
        .body
        .replace("made:\nbar.sync 0;", "made:")
        .replace("], 1;", "], 32;");
    assert_snapshot!(unordered.fault(), @r"
    race in shared memory: atomic operation of element 0 (byte 0) of shared array `bar` and an earlier store by another warp, with no barrier between them (or, in a loop, between one iteration and the next)
      in kernel `k` at src/lab.rs:30 (PTX line 42), block (0, 0, 0), thread (32, 0, 0)
      earlier store at src/lab.rs:10 (PTX line 33), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_phase_that_never_completes() {
    // An arrival is missing.
    assert_snapshot!(bulk(&made().replace("], 1;", "], 2;"), &fetched(), AWAIT).fault(), @r"
    deadlock: no thread of the block can go on
      in kernel `k` at src/lab.rs:30 (PTX line 43), block (0, 0, 0), thread (0, 0, 0)
      32 threads wait for the mbarrier object (byte 0 of shared array `bar`; phase 0: 1 arrival and 128 bytes are missing) at src/lab.rs:30 (PTX line 43) (first: thread (0, 0, 0))
    ");
    // The wait is for the phase after.
    let next = AWAIT
        .replace("[bar], 0", "[bar], 1")
        .replace("wait:", "next:")
        .replace("bra wait", "bra next");
    assert_snapshot!(bulk(&made(), &fetched(), &format!("{AWAIT}{next}")).fault(), @r"
    deadlock: no thread of the block can go on
      in kernel `k` at src/lab.rs:30 (PTX line 46), block (0, 0, 0), thread (0, 0, 0)
      32 threads wait for the mbarrier object (byte 0 of shared array `bar`; phase 1: 1 arrival and 0 bytes are missing) at src/lab.rs:30 (PTX line 46) (first: thread (0, 0, 0))
    ");
    // It is polled.
    let mut polled = bulk(&made(), "", &AWAIT.replace("try", "test"));
    polled.options.fuel = 10_000;
    assert_snapshot!(polled.fault(), @r"
    out of fuel: the block has executed 10000 warp instructions and has not ended; is there an endless loop, or a wait for another block?
      in kernel `k` at src/lab.rs:30 (PTX line 41), block (0, 0, 0), thread (0, 0, 0)
    ");
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
    assert_snapshot!(store("", READ).fault(), @r"
    missing proxy fence: a bulk copy's load of 128 bytes: an ordinary instruction has stored to byte 0 of shared array `tile`, and no `bulk_copy::fence_shared` stands between (in PTX `fence.proxy.async`)
      in kernel `k` at src/lab.rs:10 (PTX line 34), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(store("fence.proxy.async.global;\n", READ).fault(), @r"
    missing proxy fence: a bulk copy's load of 128 bytes: an ordinary instruction has stored to byte 0 of shared array `tile`, and no `bulk_copy::fence_shared` stands between (in PTX `fence.proxy.async`)
      in kernel `k` at src/lab.rs:10 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(store(PROXY, "").fault(), @r"
    copy under way at the end: a bulk copy from byte 0 of shared array `tile` may not have read it when the thread ends that started it: wait for it before (`bulk_copy::wait_read`, in PTX `cp.async.bulk.wait_group.read`)
      in kernel `k` at src/lab.rs:10 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    let early = format!(".loc 1 20 1\nst.shared.u32 [tile+124], 99;\n{READ}");
    assert_snapshot!(store(PROXY, &early).fault(), @r"
    copy under way: store of 4 bytes at element 31 (byte 124) of shared array `tile`, from which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:20 (PTX line 38), block (0, 0, 0), thread (0, 0, 0)
      copy started at src/lab.rs:10 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    // A read of it is allowed.
    store(PROXY, &format!("ld.shared.u32 %r6, [tile];\n{READ}")).report();
    let wrong = |from: &str, to: &str| {
        let mut store = store(PROXY, READ);
        store.body = store.body.replace(from, to);
        store.fault()
    };
    assert_snapshot!(wrong("[%rd1]", "[%rd1+8]"), @r"
    misaligned access: store of 16 bytes at byte 8 of buffer `out`, address 0x200134811608, which is 8 bytes past a multiple of 16
      in kernel `k` at src/lab.rs:10 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(wrong("[%rd1]", "[%rd1+192]"), @r"
    out of bounds: store of 128 bytes at offset 192 of buffer `out` (256 bytes) reaches 64 bytes past its end
      in kernel `k` at src/lab.rs:10 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(wrong("[tile], 128", "[tile], 144"), @r"
    uninitialized read: load of 144 bytes from element 0 (byte 0) of shared array `tile`, whose bytes 128 to 143 nothing has written before
      in kernel `k` at src/lab.rs:10 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn what_the_launch_has_stored_to_global_memory_needs_a_fence() {
    let body = |fence: &str| {
        let bulk = bulk(&made(), &fetched().replace("[%rd2]", "[%rd1]"), AWAIT).body;
        let bulk = bulk.replace("st.global.u32 [%rd3], %r6", "st.global.u32 [%rd4], %r6");
        format!(".loc 1 2 1\nst.global.u32 [%rd3], %r2;\n{fence}{bulk}")
    };
    launch(&body("fence.proxy.async;\n")).report();
    assert_snapshot!(launch(&body("")).fault(), @r"
    missing proxy fence: a bulk copy's load of 128 bytes: an ordinary instruction has stored to byte 0 of buffer `out`, and no `bulk_copy::fence_global` stands between (in PTX `fence.proxy.async`)
      in kernel `k` at src/lab.rs:20 (PTX line 41), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(launch(&body(PROXY)).fault(), @r"
    missing proxy fence: a bulk copy's load of 128 bytes: an ordinary instruction has stored to byte 0 of buffer `out`, and no `bulk_copy::fence_global` stands between (in PTX `fence.proxy.async`)
      in kernel `k` at src/lab.rs:20 (PTX line 42), block (0, 0, 0), thread (0, 0, 0)
    ");
    // Before the store it shows nothing.
    let early = body("").replace(".loc 1 2 1\n", ".loc 1 2 1\nfence.proxy.async;\n");
    assert_snapshot!(launch(&early).fault(), @r"
    missing proxy fence: a bulk copy's load of 128 bytes: an ordinary instruction has stored to byte 0 of buffer `out`, and no `bulk_copy::fence_global` stands between (in PTX `fence.proxy.async`)
      in kernel `k` at src/lab.rs:20 (PTX line 42), block (0, 0, 0), thread (0, 0, 0)
    ");
    // By another thread, behind a barrier; and before it.
    let other = |fence: &str, barrier: &str| {
        let fence = format!(
            "{fence}setp.ne.u32 %p3, %r2, 63;\n@%p3 bra no;\nfence.proxy.async;\nno:\n{barrier}"
        );
        launch_of(&launch(&body(&fence)), 64)
    };
    other("bar.sync 0;\n", "bar.sync 0;\n").report();
    let fault = other("", "bar.sync 0;\n").fault();
    assert!(fault.starts_with("missing proxy fence"), "{fault}");
}

#[test]
fn what_another_block_has_stored_needs_a_fence() {
    // Block 0 stores and says so; block 1 waits, and copies it.
    let body = |writer: [&str; 2], reader: &str| {
        let copy = bulk(&made(), &fetched().replace("[%rd2]", "[%rd1]"), AWAIT).body;
        let copy = copy.replace("st.global.u32 [%rd3], %r6", "st.global.u32 [%rd4], %r6");
        let [before, after] = writer;
        let body = format!(
            "mov.u32 %r10, %ctaid.x;\nsetp.ne.u32 %p5, %r10, 0;\n@%p5 bra reads;\n{before}\n.loc 1 2 1\nst.global.u32 [%rd3], %r2;\n{after}\n\
             bar.sync 0;\nsetp.ne.u32 %p5, %r2, 0;\n@%p5 ret;\nfence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd1+252], 1;\nret;\nreads:\n\
             poll:\nld.acquire.gpu.global.u32 %r10, [%rd1+252];\nsetp.eq.u32 %p5, %r10, 0;\n@%p5 bra poll;\n{reader}\nbar.sync 0;\n{copy}"
        );
        launch(&body).grid(2)
    };
    const ALL: &str = "fence.proxy.async;";
    body(["", ALL], "").report();
    body(["", ""], ALL).report();
    assert_snapshot!(body([ALL, ""], "").fault(), @r"
    missing proxy fence: a bulk copy's load of 128 bytes: an ordinary instruction has stored to byte 0 of buffer `out`, and no `bulk_copy::fence_global` stands between (in PTX `fence.proxy.async`)
      in kernel `k` at src/lab.rs:20 (PTX line 59), block (1, 0, 0), thread (0, 0, 0)
    ");
    // Of the reader before it has heard of the store.
    let early = body(["", ""], "")
        .body
        .replace("reads:", &format!("reads:\n{ALL}"));
    let fault = launch(&early).grid(2).fault();
    assert!(fault.starts_with("missing proxy fence"), "{fault}");
}

#[test]
fn a_source_that_is_overwritten_before_the_copy_has_arrived() {
    let late = |store: &str| format!(".loc 1 7 1\n{store}\n{WAIT}");
    assert_snapshot!(word("", WORD, &late("st.global.u32 [%rd4], 99;")).fault(), @r"
    copy under way: an asynchronous copy's load of 4 bytes from byte 0 of buffer `in`, which a thread has overwritten before the copy had arrived: wait for the copy before anything stores there
      in kernel `k` at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
      overwritten by store at src/lab.rs:7 (PTX line 32), block (0, 0, 0), thread (0, 0, 0)
    ");
    // By another thread, behind a barrier.
    let other = "bar.sync 0;\nxor.b32 %r9, %r2, 32;\nmul.wide.u32 %rd5, %r9, 4;\nadd.u64 %rd5, %rd2, %rd5;\nst.global.u32 [%rd5], 99;\n\
                 bar.sync 0;";
    assert_snapshot!(word("", WORD, &late(other)).block(64).fault(), @r"
    copy under way: an asynchronous copy's load of 4 bytes from byte 0 of buffer `in`, which a thread has overwritten before the copy had arrived: wait for the copy before anything stores there
      in kernel `k` at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
      overwritten by store at src/lab.rs:7 (PTX line 36), block (0, 0, 0), thread (32, 0, 0)
    ");
    // With what is there already, behind the wait, or where nothing is read.
    word("", WORD, &late("st.global.u32 [%rd4], %r2;")).report();
    word("", WORD, &format!("{WAIT}\nst.global.u32 [%rd4], 99;")).report();
    let half = "mov.u32 %r9, 0;\ncp.async.ca.shared.global [%r5], [%rd4], 4, %r9;";
    word("", half, &late("st.global.u32 [%rd4], 99;")).report();
    // In bulk.
    let store = "fence.proxy.async;\n.loc 1 25 1\nst.global.u32 [%rd2+20], 99;\n";
    assert_snapshot!(bulk(&made(), &format!("{}{store}", fetched()), AWAIT).fault(), @r"
    copy under way: an asynchronous copy's load of 128 bytes from byte 20 of buffer `in`, which a thread has overwritten before the copy had arrived: wait for the copy before anything stores there
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
      overwritten by store at src/lab.rs:25 (PTX line 42), block (0, 0, 0), thread (0, 0, 0)
    ");
    bulk(&made(), &fetched(), &format!("{AWAIT}bar.sync 0;\n{store}")).report();
}

#[test]
fn where_a_bulk_copy_is_to_store() {
    let all = "cp.async.bulk.wait_group 0;\n";
    let between = |access: &str| store(PROXY, &format!("{READ}.loc 1 20 1\n{access}\n{all}"));
    assert_snapshot!(between("ld.global.u32 %r6, [%rd1+4];").fault(), @r"
    copy under way: load of 4 bytes at byte 4 of buffer `out`, to which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
      copy started at src/lab.rs:10 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(between("st.global.u32 [%rd1+124], 5;").fault(), @r"
    copy under way: store of 4 bytes at byte 124 of buffer `out`, to which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
      copy started at src/lab.rs:10 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(between("cp.async.bulk.global.shared::cta.bulk_group [%rd1+112], [tile], 16;").fault(), @r"
    copy under way: store of 16 bytes at byte 112 of buffer `out`, to which a copy is under way: nothing has waited for it
      in kernel `k` at src/lab.rs:20 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
      copy started at src/lab.rs:10 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    between("ld.global.u32 %r6, [%rd1+128];").report();
    store(
        PROXY,
        &format!("{all}ld.global.u32 %r6, [%rd1+4];\nst.global.u32 [%rd1+4], 7;\n"),
    )
    .report();
}
