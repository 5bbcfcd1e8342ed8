//! Clusters: what the barrier does not order, blocks that are not there, barriers that never
//! complete.

use insta::assert_snapshot;
use ptx_emu::Schedule;

use crate::common::{Launch, launch};

const SYNC: &str = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

/// Two blocks: each thread stores to its own word, then loads that of the other block.
fn exchange(before: &str, between: &str, after: &str) -> Launch {
    let body = format!(
        ".shared .align 4 .b8 tile[128];\nmov.u32 %r5, tile;\nshl.b32 %r6, %r2, 2;\nadd.u32 %r5, %r5, %r6;\n\
         mov.u32 %r7, %cluster_ctarank;\nxor.b32 %r7, %r7, 1;\nmapa.shared::cluster.u32 %r8, %r5, %r7;\n{before}\
         .loc 1 10 1\nst.shared.u32 [%r5], %r3;\n{between}.loc 1 12 1\nld.shared::cluster.u32 %r9, [%r8];\n{after}"
    );
    launch(&body).grid(2).cluster(2)
}

#[test]
fn a_race_between_blocks_of_a_cluster() {
    assert_snapshot!(exchange(SYNC, "bar.sync 0;\n", SYNC).fault(), @r"
    race in shared memory: load of element 0 (byte 0) of shared array `tile` of block (1, 0, 0) and an earlier store by another block of the cluster, with no barrier of the cluster between them (or, in a loop, between one iteration and the next)
      in kernel `k` at src/lab.rs:12 (PTX line 38), block (0, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:10 (PTX line 35), block (1, 0, 0), thread (0, 0, 0)
    ");
    // A relaxed arrival orders nothing.
    let relaxed = SYNC.replace("arrive", "arrive.relaxed");
    assert_snapshot!(exchange("", &relaxed, SYNC).fault(), @r"
    race in shared memory: load of element 0 (byte 0) of shared array `tile` of block (1, 0, 0) and an earlier store by another block of the cluster, with no barrier of the cluster between them (or, in a loop, between one iteration and the next)
      in kernel `k` at src/lab.rs:12 (PTX line 37), block (0, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:10 (PTX line 33), block (1, 0, 0), thread (0, 0, 0)
    ");
    exchange("", SYNC, SYNC).report();
    exchange(&relaxed, SYNC, SYNC).report();
    exchange("", SYNC, &relaxed).fault();
}

#[test]
fn a_store_that_overtakes_a_load_of_the_other_block() {
    let again = |between: &str| format!("{between}.loc 1 14 1\nst.shared.u32 [%r5], 5;\n{SYNC}");
    assert_snapshot!(exchange("", SYNC, &again("bar.sync 0;\n")).fault(), @r"
    race in shared memory: store of element 0 (byte 0) of shared array `tile` of block (0, 0, 0) and an earlier load by another block of the cluster, with no barrier of the cluster between them (or, in a loop, between one iteration and the next)
      in kernel `k` at src/lab.rs:14 (PTX line 40), block (0, 0, 0), thread (0, 0, 0)
      earlier load at src/lab.rs:12 (PTX line 37), block (1, 0, 0), thread (0, 0, 0)
    ");
    exchange("", SYNC, &again(SYNC)).report();
}

#[test]
fn races_in_global_memory_within_a_cluster() {
    // Each block stores a word, then reads the other's.
    let body = |between: &str| {
        format!(
            "mov.u32 %r5, %ctaid.x;\nxor.b32 %r6, %r5, 1;\nmul.wide.u32 %rd5, %r5, 4;\nadd.u64 %rd5, %rd1, %rd5;\n\
             mul.wide.u32 %rd6, %r6, 4;\nadd.u64 %rd6, %rd1, %rd6;\n.loc 1 20 1\nst.global.u32 [%rd5], 1;\n\
             {between}.loc 1 21 1\nld.global.u32 %r7, [%rd6];"
        )
    };
    let of = |between: &str| launch(&body(between)).grid(4).cluster(2);
    of(SYNC).report();
    assert_snapshot!(of("bar.sync 0;\n").fault(), @r"
    race in global memory: load of byte 4 of buffer `out` and an earlier store by another block of the cluster, with no barrier of the cluster between them (or, in a loop, between one iteration and the next)
      in kernel `k` at src/lab.rs:21 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:20 (PTX line 32), block (1, 0, 0), thread (0, 0, 0)
    ");
    // Blocks of two clusters are not ordered.
    let apart = |between: &str| {
        launch(&body(between).replace("xor.b32 %r6, %r5, 1", "xor.b32 %r6, %r5, 2"))
    };
    assert_snapshot!(apart(SYNC).grid(4).cluster(2).fault(), @r"
    race in global memory: store of byte 8 of buffer `out` and an earlier load by another block: nothing orders the blocks of one launch
      in kernel `k` at src/lab.rs:20 (PTX line 32), block (2, 0, 0), thread (0, 0, 0)
      earlier load at src/lab.rs:21 (PTX line 36), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_block_that_may_have_ended() {
    // Found whatever the order of turns.
    let missing = exchange("", SYNC, "");
    assert_snapshot!(missing.fault(), @r"
    shared memory of a block that may not be alive: load of 4 bytes in shared memory of block (0, 0, 0), which has ended: a barrier of the cluster must keep it until all have made their accesses; put a `cluster::sync()` after the last access to another block's memory
      in kernel `k` at src/lab.rs:12 (PTX line 37), block (1, 0, 0), thread (0, 0, 0)
    ");
    for seed in 0..20 {
        let fault = exchange("", SYNC, "")
            .schedule(Schedule::Random { seed })
            .fault();
        assert!(
            fault.starts_with("shared memory of a block that may not be alive: load"),
            "{fault}"
        );
    }
    // Only block 0 loads, while block 1 is still there.
    let one = format!("{SYNC}setp.eq.u32 %p1, %r7, 0;\n@%p1 ret;\n");
    assert_snapshot!(exchange("", &one, "").fault(), @r"
    shared memory of a block that may not be alive: load of 4 bytes in shared memory of block (1, 0, 0), which may end before: no barrier of the cluster stands between the access and the end of that block; put a `cluster::sync()` after the last access to another block's memory
      in kernel `k` at src/lab.rs:12 (PTX line 39), block (0, 0, 0), thread (0, 0, 0)
    ");
    // Block 1 ends at once.
    let ends = format!("{SYNC}setp.eq.u32 %p1, %r7, 0;\n@%p1 ret;\n.loc 1 9 1\n{SYNC}");
    assert_snapshot!(exchange(&ends, "", "").fault(), @r"
    shared memory of a block that may not be alive: load of 4 bytes in shared memory of block (1, 0, 0), which has ended: a barrier of the cluster must keep it until all have made their accesses; put a `cluster::sync()` after the last access to another block's memory
      in kernel `k` at src/lab.rs:12 (PTX line 42), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_block_that_may_not_have_started() {
    let body = ".shared .align 4 .b8 cell[4];\nmov.u32 %r5, 1;\nmapa.shared::cluster.u32 %r6, cell, %r5;\n\
                st.shared::cluster.u32 [%r6], 1;";
    assert_snapshot!(launch(body).grid(2).cluster(2).fault(), @r"
    shared memory of a block that may not be alive: store of 4 bytes in shared memory of block (1, 0, 0), which may not have started: the accessing block has not passed a barrier of the cluster; put a `cluster::sync()` before the first access to another block's memory
      in kernel `k` at src/lab.rs:1 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn memory_that_no_block_of_the_cluster_has() {
    let of = |access: &str| {
        let body = format!(
            ".shared .align 4 .b8 cell[64];\nst.shared.u32 [cell], 0;\nmov.u64 %rd5, cell;\ncvta.shared.u64 %rd6, %rd5;\n\
             {SYNC}mov.u32 %r5, 1;\nmov.u32 %r6, 2;\n{access}\n{SYNC}"
        );
        launch(&body).block(1).grid(2).cluster(2)
    };
    let own = "mapa.shared::cluster.u64 %rd7, cell, %r5;\nld.shared::cluster.u32 %r7, [%rd7];";
    of(own).report();
    assert_snapshot!(of(&own.replace("cell, %r5", "cell, %r6")).fault(), @r"
    out of bounds: load of 4 bytes in shared memory of the block of rank 2 of the cluster, which has 2 blocks
      in kernel `k` at src/lab.rs:1 (PTX line 34), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of(&own.replace("[%rd7]", "[%rd7+64]")).fault(), @r"
    out of bounds: load of 4 bytes at offset 64 of shared memory (64 bytes) reaches 4 bytes past its end (index 16, length 16)
      in kernel `k` at src/lab.rs:1 (PTX line 34), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of(&own.replace("[%rd7]", "[%rd7+2]")).fault(), @r"
    misaligned access: load of 4 bytes at byte 2 of shared array `cell` of block (1, 0, 0), address 0x2, which is 2 bytes past a multiple of 4
      in kernel `k` at src/lab.rs:1 (PTX line 34), block (0, 0, 0), thread (0, 0, 0)
    ");
    // Through the own block's window.
    assert_snapshot!(of(&own.replace("ld.shared::cluster", "ld.shared")).fault(), @r"
    out of bounds: load of 4 bytes in shared memory of the block of rank 1 of the cluster, by an instruction for the own block's (`.shared::cta`)
      in kernel `k` at src/lab.rs:1 (PTX line 34), block (0, 0, 0), thread (0, 0, 0)
    ");
    // A read of what nothing has written is found at the next barrier of the cluster.
    let used = format!(
        "{}\nst.global.u32 [%rd3], %r7;",
        own.replace("[%rd7]", "[%rd7+4]")
    );
    assert_snapshot!(of(&used).fault(), @r"
    uninitialized read: load of 4 bytes from element 1 (byte 4) of shared array `cell` of block (1, 0, 0), which nothing has written before
      in kernel `k` at src/lab.rs:1 (PTX line 34), block (1, 0, 0), thread (0, 0, 0)
      at src/lab.rs:1 (PTX line 35), a store to global memory of it
    ");
    assert_snapshot!(of("mapa.u64 %rd7, %rd1, %r5;").fault(), @r"
    not an address in shared memory: mapa of address 0x200134811600
      in kernel `k` at src/lab.rs:1 (PTX line 33), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn barriers_of_the_cluster_that_never_complete() {
    // Block 1 waits for a warp of its own that never comes.
    let body = format!(
        "mov.u32 %r5, %cluster_ctarank;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra $sync;\nsetp.lt.u32 %p2, %r2, 32;\n\
         .loc 1 30 1\n@%p2 bar.sync 1, 64;\n$sync:\n.loc 1 32 1\n{SYNC}"
    );
    assert_snapshot!(launch(&body).block(64).grid(2).cluster(2).fault(), @r"
    deadlock: no thread of the cluster of 2 blocks can go on
      in kernel `k` at src/lab.rs:32 (PTX line 34), block (0, 0, 0), thread (0, 0, 0)
      64 threads wait for the cluster's barrier at src/lab.rs:32 (PTX line 34) (first: thread (0, 0, 0)) in block (0, 0, 0)
      32 threads wait for barrier 1 (64 threads) at src/lab.rs:30 (PTX line 30) (first: thread (0, 0, 0)) in block (1, 0, 0)
      32 threads wait for the cluster's barrier at src/lab.rs:32 (PTX line 34) (first: thread (32, 0, 0)) in block (1, 0, 0)
    ");
}

#[test]
fn arrivals_and_waits_that_do_not_match() {
    let fault = |body: &str| launch(body).grid(2).cluster(2).fault();
    assert_snapshot!(fault("barrier.cluster.arrive;\nbarrier.cluster.arrive;"), @r"
    invalid barrier: a thread arrives at the cluster's barrier a second time, without a wait between
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(fault("barrier.cluster.wait;"), @r"
    invalid barrier: a thread waits for the cluster's barrier without having arrived at it
      in kernel `k` at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (0, 0, 0)
    ");
    let body = format!(
        "and.b32 %r5, %r2, 1;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra $even;\n.loc 1 50 1\n{SYNC}bra $done;\n\
         $even:\n.loc 1 52 1\n{SYNC}$done:"
    );
    assert_snapshot!(fault(&body), @r"
    invalid barrier: threads of one warp arrive at the cluster's barrier at different places; the other is src/lab.rs:50 (PTX line 29)
      in kernel `k` at src/lab.rs:52 (PTX line 34), block (0, 0, 0), thread (0, 0, 0)
    ");
    // Without `.aligned`, lanes may arrive where they are.
    launch(&body.replace(".aligned", ""))
        .grid(2)
        .cluster(2)
        .report();
}

#[test]
fn clusters_that_cannot_be_launched() {
    let fault = |grid: u32, cluster: u32| launch("").grid(grid).cluster(cluster).fault();
    assert_snapshot!(fault(6, 4), @"launch of `k`: grid [6, 1, 1] is not a multiple of cluster [4, 1, 1]; round it up to a multiple of 4 blocks in x, and return early in the extra blocks");
    assert_snapshot!(fault(34, 17), @"launch of `k`: a cluster of [17, 1, 1] has 17 blocks; 16 is the most");
    assert_snapshot!(fault(4, 0), @"launch of `k`: the cluster is [0, 1, 1]: no dimension may be 0");
    let asked = |directive: &str, cluster: u32| {
        let mut launch = launch("").grid(4).cluster(cluster);
        launch.directive = directive.to_owned();
        launch
    };
    assert_snapshot!(asked(".reqnctapercluster 2, 1, 1", 4).fault(), @"launch of `k`: the kernel was compiled for clusters of [2, 1, 1] blocks (`.reqnctapercluster`) and nothing else, not [4, 1, 1]");
    assert_snapshot!(asked(".maxclusterrank 2", 4).fault(), @"launch of `k`: a cluster of [4, 1, 1] has 4 blocks, but the kernel was compiled for at most 2 (`.maxclusterrank`)");
    asked(".explicitcluster .maxclusterrank 4", 4).report();
    // Without a cluster in the launch, that of the kernel counts.
    let mut own = asked(".reqnctapercluster 4", 1);
    own.body = "mov.u32 %r5, %cluster_nctarank;\nst.global.u32 [%rd3], %r5;".to_owned();
    own.out_words = 128;
    assert_eq!(own.out(), [4; 128]);
}

/// Each thread of two blocks sends a value to the other block, which then does `after`.
fn sent(init: &str, bytes: u32, after: &str) -> Launch {
    let body = format!(
        ".shared .align 4 .b8 tile[128];\n.shared .align 8 .b8 bar[8];\nmov.u32 %r5, tile;\nshl.b32 %r6, %r2, 2;\n\
         add.u32 %r5, %r5, %r6;\nmov.u32 %r7, %cluster_ctarank;\nxor.b32 %r7, %r7, 1;\nmapa.shared::cluster.u32 %r8, %r5, %r7;\n\
         mapa.shared::cluster.u32 %r10, bar, %r7;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra made;\nmbarrier.init.shared.b64 [bar], 1;\n\
         mbarrier.arrive.expect_tx.shared.b64 _, [bar], {bytes};\n{init}made:\n{SYNC}.loc 1 10 1\n\
         st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], %r3, [%r10];\n.loc 1 20 1\n{after}"
    );
    launch(&body).grid(2).cluster(2)
}

#[test]
fn asynchronous_stores_to_other_blocks() {
    let fence = "fence.mbarrier_init.release.cluster;\n";
    let wait = "wait:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra wait;\n";
    let load = ".loc 1 30 1\nld.shared.u32 %r9, [%r5];\n";
    sent(fence, 128, &format!("{wait}{load}")).report();
    // Read before it has been waited for, and not waited for at all.
    assert_snapshot!(sent(fence, 128, &format!("{load}{SYNC}")).fault(), @r"
    race in shared memory: store of element 0 (byte 0) of shared array `tile` of block (0, 0, 0) and an earlier load by another block of the cluster, with no barrier of the cluster between them (or, in a loop, between one iteration and the next)
      in kernel `k` at src/lab.rs:10 (PTX line 43), block (1, 0, 0), thread (0, 0, 0)
      earlier load at src/lab.rs:30 (PTX line 46), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(sent(fence, 128, "").fault(), @r"
    shared memory of a block that may not be alive: store of 4 bytes in shared memory of block (0, 0, 0), which has ended: a barrier of the cluster must keep it until all have made their accesses; put a `cluster::sync()` after the last access to another block's memory
      in kernel `k` at src/lab.rs:10 (PTX line 43), block (1, 0, 0), thread (0, 0, 0)
    ");
    // Overwritten while the other block may still read it.
    let again =
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], %r3, [%r10];\n";
    let expect = "@!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n";
    let twice = format!("{wait}{load}{expect}.loc 1 40 1\n{again}{SYNC}");
    assert_snapshot!(sent(fence, 128, &twice).fault(), @r"
    race in shared memory: load of element 0 (byte 0) of shared array `tile` of block (0, 0, 0) and an earlier store that is asynchronous, without a wait for its `mbarrier` object between them: also the thread that stores has to wait (`mbarrier::wait`)
      in kernel `k` at src/lab.rs:30 (PTX line 49), block (0, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:40 (PTX line 52), block (1, 0, 0), thread (0, 0, 0)
    ");
    // An object that other blocks may not see; bytes that are not what it expects.
    assert_snapshot!(sent("", 128, &format!("{wait}{load}")).fault(), @r"
    invalid barrier: an asynchronous store reports to byte 0 of shared array `bar` of block (1, 0, 0), where no mbarrier object is that `mbarrier::fence_init` has shown to other blocks (in PTX `fence.mbarrier_init`)
      in kernel `k` at src/lab.rs:10 (PTX line 42), block (0, 0, 0), thread (0, 0, 0)
    ");
    let surplus = sent(fence, 126, &format!("{wait}{load}")).fault();
    assert!(
        surplus.contains("stores of 2 bytes more than phase 0 expects"),
        "{surplus}"
    );
    let missing = sent(fence, 132, &format!("{wait}{load}")).fault();
    assert!(
        missing.contains("phase 0: 0 arrivals and 4 bytes are missing"),
        "{missing}"
    );
}

/// Each thread of two blocks sends a value to its own block, which then does `after`.
fn sent_to_itself(after: &str) -> Launch {
    let body = format!(
        ".shared .align 4 .b8 tile[128];\n.shared .align 8 .b8 bar[8];\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra made;\n\
         mbarrier.init.shared.b64 [bar], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n\
         fence.mbarrier_init.release.cluster;\nmade:\nbar.sync 0;\nmov.u32 %r7, %cluster_ctarank;\nmov.u32 %r5, tile;\n\
         shl.b32 %r6, %r2, 2;\nadd.u32 %r5, %r5, %r6;\nmapa.shared::cluster.u32 %r8, %r5, %r7;\n\
         mapa.shared::cluster.u32 %r10, bar, %r7;\n.loc 1 10 1\n\
         st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], %r3, [%r10];\n{after}"
    );
    launch(&body).grid(2).cluster(2)
}

#[test]
fn asynchronous_stores_are_awaited_by_the_thread_that_stores_too() {
    let wait = "wait:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra wait;\n";
    let load = ".loc 1 30 1\nld.shared.u32 %r9, [%r5];\n";
    sent_to_itself(&format!("{wait}{load}")).report();
    // One thread waits for all.
    let first = "@%p1 bra behind;\n";
    sent_to_itself(&format!("{first}{wait}behind:\nbar.sync 0;\n{load}")).report();
    assert_snapshot!(sent_to_itself(&format!("{load}{wait}")).fault(), @r"
    race in shared memory: load of element 0 (byte 0) of shared array `tile` of block (0, 0, 0) and an earlier store that is asynchronous, without a wait for its `mbarrier` object between them: also the thread that stores has to wait (`mbarrier::wait`)
      in kernel `k` at src/lab.rs:30 (PTX line 43), block (0, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:10 (PTX line 41), block (0, 0, 0), thread (0, 0, 0)
    ");
    // A barrier of the block does not wait for the bytes.
    let barrier = sent_to_itself(&format!("bar.sync 0;\n{load}{wait}")).fault();
    assert!(barrier.contains("that is asynchronous"), "{barrier}");
}

#[test]
fn asynchronous_stores_need_a_cluster_of_several_blocks() {
    let wait = "wait:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra wait;\n";
    assert_snapshot!(sent_to_itself(wait).cluster(1).fault(), @r"
    illegal instruction: `st.async` needs a cluster of at least two blocks, and this launch has none: launch it with one, or store to the own block without it
      in kernel `k` at src/lab.rs:10 (PTX line 41), block (0, 0, 0), thread (0, 0, 0)
    ");
}
