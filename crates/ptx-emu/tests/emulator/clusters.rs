//! Clusters: which block is which, the barrier, shared memory of other blocks.

use crate::common::launch;
use ptx_emu::{DistributedTraffic, Sanitize, Schedule};

const SYNC: &str =
    "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n";

/// Each thread stores its number in the grid, then reads that of the block to the right in the
/// cluster, the last block that of the first. `%rd5` is the address in the block's own memory,
/// `%r5` the same in 32 bits.
fn ring(load: &str) -> String {
    format!(
        ".shared .align 4 .b8 tile[128];\nmov.u32 %r5, tile;\nmov.u64 %rd5, tile;\ncvta.shared.u64 %rd5, %rd5;\n\
         mul.wide.u32 %rd6, %r2, 4;\nadd.u64 %rd5, %rd5, %rd6;\nshl.b32 %r6, %r2, 2;\nadd.u32 %r5, %r5, %r6;\n\
         st.shared.u32 [%r5], %r3;\n{SYNC}\
         mov.u32 %r7, %cluster_ctarank;\nmov.u32 %r8, %cluster_nctarank;\nadd.u32 %r7, %r7, 1;\n\
         rem.u32 %r7, %r7, %r8;\n{load}\nst.global.u32 [%rd3], %r9;\n{SYNC}"
    )
}

const LOADS: [&str; 4] = [
    "mapa.shared::cluster.u32 %r10, %r5, %r7;\nld.shared::cluster.u32 %r9, [%r10];",
    "mapa.u64 %rd7, %rd5, %r7;\nld.u32 %r9, [%rd7];",
    // Generic, by way of the shared window.
    "mapa.shared::cluster.u32 %r10, %r5, %r7;\ncvt.u64.u32 %rd7, %r10;\ncvta.shared::cluster.u64 %rd7, %rd7;\n\
     ld.u32 %r9, [%rd7];",
    "mapa.shared::cluster.u32 %r10, tile, %r7;\nadd.u32 %r10, %r10, %r6;\nld.shared::cluster.u32 %r9, [%r10];",
];

fn expected(blocks: u32, cluster: u32) -> Vec<u32> {
    let neighbour = |block: u32| block / cluster * cluster + (block % cluster + 1) % cluster;
    (0..blocks)
        .flat_map(|block| (0..32).map(move |thread| 32 * neighbour(block) + thread))
        .collect()
}

#[test]
fn blocks_read_each_others_shared_memory() {
    for load in LOADS {
        for cluster in [1, 2, 4, 8] {
            let ring = launch(&ring(load)).grid(8).cluster(cluster).out_words(256);
            assert_eq!(ring.out(), expected(8, cluster), "{load}, {cluster}");
            let unchecked = ring.sanitize(Sanitize::NONE);
            assert_eq!(unchecked.out(), expected(8, cluster), "{load}, {cluster}");
        }
    }
}

#[test]
fn any_order_of_turns_gives_the_same() {
    for seed in 0..20 {
        let mut ring = launch(&ring(LOADS[0])).grid(16).cluster(4).out_words(512);
        ring = ring.schedule(Schedule::Random { seed });
        assert_eq!(ring.out(), expected(16, 4), "{seed}");
        ring.options.threads = 0;
        assert_eq!(ring.out(), expected(16, 4), "{seed}");
    }
}

#[test]
fn accesses_to_other_blocks_are_counted_apart() {
    let traffic = |requests, bytes| DistributedTraffic { requests, bytes };
    let counts = launch(&ring(LOADS[0]))
        .grid(8)
        .cluster(4)
        .out_words(256)
        .report()
        .counts;
    assert_eq!(counts.distributed_loads, traffic(8, 1024));
    assert_eq!(counts.distributed_stores, traffic(0, 0));
    // A block alone is its own neighbour.
    let alone = launch(&ring(LOADS[0]))
        .grid(8)
        .out_words(256)
        .report()
        .counts;
    assert_eq!(alone.distributed_loads, traffic(0, 0));
    assert_eq!(alone.shared_loads.requests, 8);
    // Lanes that reach several blocks make a request of each.
    let spread = LOADS[0].replace("mapa", "and.b32 %r7, %r2, 3;\nmapa");
    let several = launch(&ring(&spread))
        .grid(4)
        .cluster(4)
        .out_words(128)
        .report()
        .counts;
    assert_eq!(several.distributed_loads, traffic(12, 4 * 24 * 4));
    assert_eq!(several.shared_loads.requests, 4);
}

#[test]
fn stores_and_atomics_reach_other_blocks() {
    // Every thread adds to a counter of block 0, and stores to its own place in the memory of the
    // next block.
    let body = format!(
        ".shared .align 4 .b8 counter[4];\n.shared .align 4 .b8 inbox[128];\nst.shared.u32 [counter], 0;\n{SYNC}\
         mov.u32 %r5, 0;\nmapa.shared::cluster.u32 %r6, counter, %r5;\nred.relaxed.cluster.shared::cluster.add.u32 [%r6], 1;\n\
         mov.u32 %r7, %cluster_ctarank;\nxor.b32 %r7, %r7, 1;\nmapa.shared::cluster.u32 %r8, inbox, %r7;\n\
         shl.b32 %r9, %r2, 2;\nadd.u32 %r8, %r8, %r9;\nst.shared::cluster.u32 [%r8], %r3;\n{SYNC}\
         mov.u32 %r10, inbox;\nadd.u32 %r10, %r10, %r9;\nld.shared.u32 %r11, [%r10];\nld.shared.u32 %r12, [counter];\n\
         mad.lo.u32 %r11, %r12, 1000, %r11;\nst.global.u32 [%rd3], %r11;"
    );
    let launch = launch(&body).grid(4).cluster(2).out_words(128);
    let counter = |block: u32| if block.is_multiple_of(2) { 64_000 } else { 0 };
    let expected: Vec<u32> = (0..128)
        .map(|thread| counter(thread / 32) + (thread ^ 32))
        .collect();
    assert_eq!(launch.out(), expected);
    let counts = launch.report().counts;
    assert_eq!(counts.distributed_atomics.requests, 2);
    assert_eq!(
        counts.distributed_stores,
        DistributedTraffic {
            requests: 4,
            bytes: 512
        }
    );
}

#[test]
fn stores_that_report_to_an_object_of_another_block() {
    // Each thread sends its number to the other block, twice, which waits for them. Lanes wait for
    // each other between: else one's second store could complete the phase of another's first.
    let send = |turn: u32| {
        format!(
            "add.u32 %r9, %r3, {turn};\nst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8+{}], %r9, [%r10];\n",
            128 * turn
        )
    };
    let wait = |label: &str, turn: u32| {
        format!(
            "{label}:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], {turn};\n@!%p2 bra {label};\nld.shared.u32 %r11, [%r5+{}];\n",
            128 * turn
        )
    };
    let expect = "@!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n";
    let body = format!(
        ".shared .align 4 .b8 tile[256];\n.shared .align 8 .b8 bar[8];\nmov.u32 %r5, tile;\nshl.b32 %r6, %r2, 2;\n\
         add.u32 %r5, %r5, %r6;\nmov.u32 %r7, %cluster_ctarank;\nxor.b32 %r7, %r7, 1;\nmapa.shared::cluster.u32 %r8, %r5, %r7;\n\
         mapa.shared::cluster.u32 %r10, bar, %r7;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra made;\nmbarrier.init.shared.b64 [bar], 1;\n\
         fence.mbarrier_init.release.cluster;\nmade:\n{SYNC}{}{expect}{}{expect}{}{}\
         mad.lo.u32 %r11, %r11, 1000, 0;\nst.global.u32 [%rd3], %r11;",
        send(0),
        wait("first", 0) + "bar.warp.sync -1;\n",
        send(1),
        wait("second", 1),
    );
    for schedule in [None, Some(1), Some(2)] {
        let mut launch = launch(&body).grid(4).cluster(2).out_words(128);
        if let Some(seed) = schedule {
            launch = launch.schedule(ptx_emu::Schedule::Random { seed });
        }
        let expected: Vec<u32> = (0..128).map(|thread| 1000 * ((thread ^ 32) + 1)).collect();
        assert_eq!(launch.out(), expected);
    }
}

#[test]
fn the_special_registers_of_every_block() {
    let names = [
        "cluster_ctaid.x",
        "cluster_ctaid.y",
        "cluster_ctaid.z",
        "cluster_nctaid.x",
        "cluster_nctaid.y",
        "cluster_nctaid.z",
        "cluster_ctarank",
        "cluster_nctarank",
        "clusterid.x",
        "clusterid.y",
        "clusterid.z",
        "nclusterid.x",
        "nclusterid.y",
        "nclusterid.z",
        "ctaid.x",
        "ctaid.y",
        "ctaid.z",
    ];
    let words = names.len() as u32;
    let mut body = format!(
        "mov.u32 %r5, %ctaid.z;\nmov.u32 %r6, %nctaid.y;\nmov.u32 %r7, %ctaid.y;\nmad.lo.u32 %r5, %r5, %r6, %r7;\n\
         mov.u32 %r6, %nctaid.x;\nmov.u32 %r7, %ctaid.x;\nmad.lo.u32 %r5, %r5, %r6, %r7;\n\
         mul.wide.u32 %rd5, %r5, {};\nadd.u64 %rd5, %rd1, %rd5;\n",
        4 * words
    );
    for (at, name) in names.iter().enumerate() {
        body += &format!(
            "mov.u32 %r8, %{name};\nst.global.u32 [%rd5+{}], %r8;\n",
            4 * at
        );
    }
    let (grid, cluster) = ([4u32, 6, 4], [2u32, 3, 1]);
    let mut launch = launch(&body)
        .block(1)
        .out_words((4 * 6 * 4 * words) as usize);
    (launch.config.grid, launch.config.cluster) = (grid, cluster);
    let expected: Vec<u32> = (0..grid.iter().product())
        .flat_map(|block: u32| {
            let block = [block % 4, block / 4 % 6, block / 24];
            let of = |f: &dyn Fn(usize) -> u32| [f(0), f(1), f(2)];
            let inside = of(&|axis| block[axis] % cluster[axis]);
            let rank = (inside[2] * cluster[1] + inside[1]) * cluster[0] + inside[0];
            let id = of(&|axis| block[axis] / cluster[axis]);
            let ids = of(&|axis| grid[axis] / cluster[axis]);
            [&inside[..], &cluster, &[rank, 6], &id, &ids, &block].concat()
        })
        .collect();
    assert_eq!(launch.out(), expected);
}

#[test]
fn an_address_tells_its_block() {
    let rank = "getctarank.shared::cluster.u32 %r11, %r10;\ngetctarank.shared::cluster.u32 %r12, %r5;\n\
                getctarank.u64 %r13, %rd5;\nmad.lo.u32 %r9, %r11, 100, %r12;\nmad.lo.u32 %r9, %r9, 100, %r13;";
    let body = ring(&format!("{}\n{rank}", LOADS[0]));
    let out = launch(&body).grid(4).cluster(4).out_words(128).out();
    let of_blocks: Vec<u32> = out.iter().copied().step_by(32).collect();
    assert_eq!(of_blocks, [1_00_00, 2_01_01, 3_02_02, 3_03]);
}

#[test]
fn arrivals_and_waits_apart() {
    // Between arrival and wait each block does something of its own; the barrier is used again at
    // once.
    let body = format!(
        ".shared .align 4 .b8 cell[4];\nsetp.ne.u32 %p1, %r2, 0;\nmov.u32 %r5, %cluster_ctarank;\nmov.u32 %r12, 0;\n\
         xor.b32 %r6, %r5, 1;\nmapa.shared::cluster.u32 %r7, cell, %r6;\nmov.u32 %r8, 0;\n$loop:\n\
         add.u32 %r9, %r8, %r3;\n@!%p1 st.shared.u32 [cell], %r9;\nbarrier.cluster.arrive;\nadd.u32 %r8, %r8, 1;\n\
         barrier.cluster.wait;\nld.shared::cluster.u32 %r10, [%r7];\nadd.u32 %r12, %r12, %r10;\n\
         {SYNC}setp.lt.u32 %p2, %r8, 5;\n@%p2 bra $loop;\nst.global.u32 [%rd3], %r12;"
    );
    let out = launch(&body).grid(2).cluster(2).out_words(64).out();
    assert_eq!(out[0], 32 + 33 + 34 + 35 + 36);
    assert_eq!(out[63], 1 + 2 + 3 + 4);
}

#[test]
fn threads_that_have_exited_are_not_waited_for() {
    let body = format!(
        "setp.ge.u32 %p1, %r2, 40;\n@%p1 bra $end;\nmov.u32 %r5, %cluster_ctarank;\nsetp.eq.u32 %p2, %r5, 1;\n@%p2 bra $end;\n\
         {SYNC}st.global.u32 [%rd3], 7;\n$end:"
    );
    let out = launch(&body)
        .block(64)
        .grid(2)
        .cluster(2)
        .out_words(128)
        .out();
    assert_eq!(out.iter().filter(|&&word| word == 7).count(), 40);
}

#[test]
fn a_sample_of_a_launch_is_of_whole_clusters() {
    let mut ring = launch(&ring(LOADS[0]))
        .grid(64)
        .cluster(4)
        .out_words(64 * 32);
    ring.options.most_blocks = Some(6);
    assert_eq!(ring.report().counts.distributed_loads.requests, 8);
}
