//! Programs that need a fence which orders a store before a later load, or two stores, or two
//! loads: without it they are wrong in some order, and with it right in all.

use crate::common::{Launch, launch};
use ptx_emu::Schedule;

/// The last bits of the seeds of orders with late stores.
const KINDS: [u64; 2] = [3, 4];

/// The first words of the output in many orders.
fn outputs(kernel: impl Fn() -> Launch, words: usize) -> Vec<Vec<u32>> {
    let seeds = (0..40).flat_map(|k| KINDS.map(|kind| 8 * k + kind));
    let run = |seed| {
        let kernel = kernel().schedule(Schedule::Random { seed });
        kernel.out()[..words].to_vec()
    };
    seeds.map(run).collect()
}

/// Two blocks, or the two warps of one, store each to a word of its own, and load the other's.
const STORE_AND_LOAD: &str = "mov.u32 %r4, %ntid.x;\nshr.u32 %r5, %r3, 5;\nand.b32 %r6, %r2, 31;\n\
    setp.ne.u32 %p1, %r6, 0;\n@%p1 ret;\nmul.wide.u32 %rd5, %r5, 128;\nxor.b64 %rd6, %rd5, 128;\n\
    add.u64 %rd5, %rd1, %rd5;\nadd.u64 %rd6, %rd1, %rd6;\nSTORE [%rd5], 1;\nFENCE\nLOAD %r7, [%rd6];\n\
    mul.wide.u32 %rd7, %r5, 4;\nadd.u64 %rd7, %rd1, %rd7;\nst.global.u32 [%rd7+256], %r7;";

fn store_and_load([store, fence, load]: [&str; 3], grid: u32) -> bool {
    let body = STORE_AND_LOAD
        .replace("STORE", store)
        .replace("FENCE", fence)
        .replace("LOAD", load);
    let kernel = || launch(&body).grid(grid).block(64 / grid).out_words(128);
    let all = outputs(kernel, 66);
    all.iter().any(|out| out[64..66] == [0, 0])
}

#[test]
fn both_blocks_may_miss_the_others_store() {
    let (volatile_store, volatile_load) = ("st.volatile.global.u32", "ld.volatile.global.u32");
    let release = "st.release.gpu.global.u32";
    let acquire = "ld.acquire.gpu.global.u32";
    for grid in [1, 2] {
        assert!(store_and_load([volatile_store, "", volatile_load], grid));
        assert!(store_and_load([release, "", acquire], grid));
        assert!(store_and_load(
            [volatile_store, "fence.acq_rel.gpu;", volatile_load],
            grid
        ));
        for fence in ["fence.sc.gpu;", "membar.gl;"] {
            assert!(!store_and_load(
                [volatile_store, fence, volatile_load],
                grid
            ));
        }
    }
}

#[test]
fn a_lock_by_stores_and_loads_needs_total_fences() {
    // Peterson's: `flag[own] = 1; turn = other; while (flag[other] && turn == other);`
    let body = "mov.u32 %r5, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nxor.b32 %r6, %r5, 1;\n\
        mul.wide.u32 %rd5, %r5, 64;\nadd.u64 %rd5, %rd1, %rd5;\nmul.wide.u32 %rd6, %r6, 64;\nadd.u64 %rd6, %rd1, %rd6;\n\
        mov.u32 %r9, 0;\n$again:\n\
        st.release.gpu.global.u32 [%rd5], 1;\nFENCE\nst.release.gpu.global.u32 [%rd1+128], %r6;\nFENCE\n\
        $wait:\nld.acquire.gpu.global.u32 %r7, [%rd6];\nFENCE\nld.acquire.gpu.global.u32 %r8, [%rd1+128];\n\
        setp.ne.u32 %p2, %r7, 0;\nsetp.eq.and.u32 %p2, %r8, %r6, %p2;\n@%p2 bra $wait;\n\
        ld.relaxed.gpu.global.u32 %r7, [%rd1+192];\nadd.u32 %r7, %r7, 1;\nst.relaxed.gpu.global.u32 [%rd1+192], %r7;\n\
        st.release.gpu.global.u32 [%rd5], 0;\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 4;\n@%p2 bra $again;";
    let sums = |fence: &str| {
        let body = body.replace("FENCE", fence);
        outputs(|| launch(&body).grid(2).out_words(64), 49)
    };
    assert!(sums("").iter().any(|out| out[48] != 8));
    assert!(sums("fence.acq_rel.gpu;").iter().any(|out| out[48] != 8));
    for out in sums("fence.sc.gpu;") {
        assert_eq!(out[48], 8);
    }
}

#[test]
fn a_pair_that_is_stored_as_one_may_be_seen_in_halves() {
    let body = "mov.u32 %r5, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nsetp.ne.u32 %p2, %r5, 0;\n@%p2 bra $read;\n\
        mov.u32 %r6, 1;\n$next:\nst.relaxed.gpu.global.v2.u32 [%rd1], {%r6, %r6};\nadd.u32 %r6, %r6, 1;\n\
        setp.lt.u32 %p3, %r6, 20;\n@%p3 bra $next;\nret;\n$read:\nmov.u32 %r6, 0;\nmov.u32 %r9, 0;\n$look:\n\
        ld.relaxed.gpu.global.v2.u32 {%r7, %r8}, [%rd1];\nsetp.ne.u32 %p3, %r7, %r8;\n@%p3 add.u32 %r9, %r9, 1;\n\
        add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p3, %r6, 20;\n@%p3 bra $look;\nst.global.u32 [%rd1+8], %r9;";
    let torn = outputs(|| launch(body).grid(2), 3);
    assert!(torn.iter().any(|out| out[2] > 0));
}

#[test]
fn waits_end_and_orders_repeat() {
    // Blocks hand a token on, by a flag for each.
    let body = "mov.u32 %r5, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmul.wide.u32 %rd5, %r5, 4;\n\
        add.u64 %rd5, %rd1, %rd5;\n$wait:\nld.volatile.global.u32 %r6, [%rd5];\nsetp.ne.u32 %p2, %r6, %r5;\n@%p2 bra $wait;\n\
        add.u32 %r6, %r6, 1;\nst.volatile.global.u32 [%rd5+4], %r6;";
    let right: Vec<u32> = (0..33).collect();
    let all = outputs(|| launch(body).grid(32).out_words(64), 33);
    assert!(all.iter().all(|out| *out == right));
    assert_eq!(all, outputs(|| launch(body).grid(32).out_words(64), 33));
}

/// Block 0 stores a number and releases flag 0 behind it; block 1 waits for that and goes on by
/// `NEXT`; block 2 waits by an acquire, and loads the number.
fn number_behind_a_flag(release: &str, next: &str, wait: &str) -> Vec<Option<String>> {
    let body = "mov.u32 %r5, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nsetp.eq.u32 %p2, %r5, 1;\n@%p2 bra $middle;\n\
        setp.eq.u32 %p2, %r5, 2;\n@%p2 bra $last;\nst.global.u32 [%rd1+256], 7;\nRELEASE\nret;\n\
        $middle:\nld.relaxed.gpu.global.u32 %r6, [%rd1];\nsetp.ne.u32 %p2, %r6, 1;\n@%p2 bra $middle;\nNEXT\nret;\n\
        $last:\nWAIT\n@%p2 bra $last;\nfence.acq_rel.gpu;\nld.global.u32 %r7, [%rd1+256];\nst.global.u32 [%rd1+128], %r7;";
    let body = body
        .replace("RELEASE", release)
        .replace("NEXT", next)
        .replace("WAIT", wait);
    let seeds = (0..40).flat_map(|k| KINDS.map(|kind| 8 * k + kind));
    let run = |seed| {
        let kernel = launch(&body).grid(3).out_words(128);
        let ran = kernel.schedule(Schedule::Random { seed }).run();
        ran.result.err().map(|error| error.to_string())
    };
    seeds.map(run).collect()
}

/// Release patterns are of one location: a fence and a flag order nothing for those who look at
/// another (PTX ISA, "Release and Acquire Patterns").
#[test]
fn plain_accesses_are_ordered_by_a_flag_that_was_read() {
    let releases = [
        "st.release.gpu.global.u32 [%rd1], 1;",
        "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd1], 1;",
        "fence.acq_rel.gpu;\nred.relaxed.gpu.global.add.u32 [%rd1], 1;",
    ];
    let wait_for = |flag: u32, value: u32| {
        format!("ld.relaxed.gpu.global.u32 %r6, [%rd1+{flag}];\nsetp.ne.u32 %p2, %r6, {value};")
    };
    let add = "red.relaxed.gpu.global.add.u32 [%rd1], 1;";
    let (store, other) = (
        "st.relaxed.gpu.global.u32 [%rd1], 2;",
        "st.relaxed.gpu.global.u32 [%rd1+64], 2;",
    );
    let passes_on = "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd1+64], 2;";
    for release in releases {
        for (next, wait) in [
            (add, wait_for(0, 2)),
            (passes_on, wait_for(64, 2)),
            ("", wait_for(0, 1)),
        ] {
            let all = number_behind_a_flag(release, next, &wait);
            assert!(all.iter().all(Option::is_none), "{release} {next} {all:?}");
        }
        for (next, wait) in [(store, wait_for(0, 2)), (other, wait_for(64, 2))] {
            let all = number_behind_a_flag(release, next, &wait);
            let found = { all.iter().flatten() }
                .find(|fault| fault.contains("the fences on both sides do not meet"));
            assert!(found.is_some(), "{release} {next} {all:?}");
        }
    }
}
