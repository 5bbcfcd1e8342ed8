//! Asynchronous copies, and what is there after the wait for them.

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
fn a_word_arrives_when_it_is_waited_for() {
    assert_eq!(word("", WORD, WAIT).out()[..32], launch("").input[..32]);
}

#[test]
fn a_source_that_is_not_read() {
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

/// Launches the body again with `block` threads; those beyond 32 store the words again.
fn launch_of(launch: &Launch, block: u32) -> Launch {
    let body = launch.body.replace(
        "mad.lo.u32 %r5, %r2, 4",
        "and.b32 %r8, %r2, 31;\nmad.lo.u32 %r5, %r8, 4",
    );
    crate::common::launch(&body).block(block)
}

#[test]
fn a_phase_that_is_polled_and_never_completes() {
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
}
