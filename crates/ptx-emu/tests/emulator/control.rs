//! Control flow, calls, synchronisation, atomics, memory spaces: what kernels compute.

use crate::common::{Launch, launch};
use ptx_emu::{Sanitize, Schedule};

/// Runs one launch under every schedule, with and without checks, and sees that all give one
/// result.
fn everywhere(kernel: impl Fn() -> Launch) -> Vec<u32> {
    let reference = kernel().out();
    for sanitize in [Sanitize::ALL, Sanitize::NONE] {
        for schedule in [
            Schedule::InOrder,
            Schedule::Random { seed: 1 },
            Schedule::Random { seed: 2 },
        ] {
            for threads in [1, 3] {
                let mut launched = kernel();
                launched.options.sanitize = sanitize;
                launched.options.schedule = schedule;
                launched.options.threads = threads;
                assert_eq!(
                    launched.out(),
                    reference,
                    "{sanitize:?}, {schedule:?}, {threads} threads"
                );
            }
        }
    }
    reference
}

#[test]
fn special_registers() {
    let body = "mov.u32 %r5, %laneid;\nmov.u32 %r6, %warpid;\nmov.u32 %r7, %lanemask_lt;\nmov.u32 %r8, %lanemask_ge;\n\
                mov.u32 %r9, %nctaid.x;\nmul.wide.u32 %rd5, %r3, 20;\nadd.u64 %rd5, %rd1, %rd5;\n\
                st.global.u32 [%rd5], %r5;\nst.global.u32 [%rd5+4], %r6;\nst.global.u32 [%rd5+8], %r7;\n\
                st.global.u32 [%rd5+12], %r8;\nst.global.u32 [%rd5+16], %r9;";
    let out = launch(body).block(40).grid(2).out_words(400).out();
    // The number of a warp is any of 64; those of a block follow each other.
    let warps = [0, 32].map(|thread| out[5 * thread + 1]);
    assert_eq!(warps[1], (warps[0] + 1) % 64);
    assert_eq!(out[5 * 39..5 * 40], [7, warps[1], 0x7f, 0xffff_ff80, 2]);
    assert_eq!(out[5 * 71], 31);
    assert_eq!(out[5 * 71 + 2..5 * 72], [0x7fff_ffff, 0x8000_0000, 2]);
}

#[test]
fn events_of_a_profiler_do_nothing() {
    let body = "pmevent 0;\npmevent 15;\npmevent.mask 0xffff;\nst.global.u32 [%rd3], 7;";
    assert_eq!(launch(body).block(2).out_words(2).out(), [7, 7]);
}

#[test]
fn grids_and_blocks_of_three_dimensions() {
    let body = "mov.u32 %r5, %tid.x;\nmov.u32 %r6, %tid.y;\nmov.u32 %r7, %tid.z;\nmov.u32 %r8, %ctaid.x;\n\
                mov.u32 %r9, %ctaid.y;\nmov.u32 %r10, %ctaid.z;\n\
                mad.lo.u32 %r11, %r7, 3, %r6;\nmad.lo.u32 %r11, %r11, 2, %r5;\n\
                mad.lo.u32 %r12, %r10, 2, %r9;\nmad.lo.u32 %r12, %r12, 3, %r8;\n\
                mad.lo.u32 %r13, %r12, 12, %r11;\nmul.wide.u32 %rd5, %r13, 4;\nadd.u64 %rd5, %rd1, %rd5;\n\
                mad.lo.u32 %r14, %r12, 1000, %r11;\nst.global.u32 [%rd5], %r14;";
    let mut kernel = launch(body).out_words(144);
    kernel.config.block = [2, 3, 2];
    kernel.config.grid = [3, 2, 2];
    let expected: Vec<u32> = (0..144).map(|i| i / 12 * 1000 + i % 12).collect();
    assert_eq!(kernel.out(), expected);
}

#[test]
fn nested_loops_with_unequal_trip_counts() {
    // Sum of i * j for i < lane, j < i.
    let body = "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\n$outer:\nsetp.ge.u32 %p1, %r6, %r2;\n@%p1 bra $end;\nmov.u32 %r7, 0;\n\
                $inner:\nsetp.ge.u32 %p2, %r7, %r6;\n@%p2 bra $next;\nmad.lo.u32 %r5, %r6, %r7, %r5;\n\
                add.u32 %r7, %r7, 1;\nbra $inner;\n$next:\nadd.u32 %r6, %r6, 1;\nbra $outer;\n$end:\n\
                st.global.u32 [%rd3], %r5;";
    let out = everywhere(|| launch(body));
    let expected = |n: u32| (0..n).flat_map(|i| (0..i).map(move |j| i * j)).sum::<u32>();
    assert_eq!(out[..32], (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn a_branch_table() {
    let body = "and.b32 %r5, %r2, 3;\nts: .branchtargets $a, $b, $c, $b;\nbrx.idx %r5, ts;\n\
                $a:\nmov.u32 %r6, 10;\nbra $end;\n$b:\nmov.u32 %r6, 20;\nbra $end;\n$c:\nmov.u32 %r6, 30;\n$end:\n\
                st.global.u32 [%rd3], %r6;";
    let out = everywhere(|| launch(body));
    assert_eq!(out[..8], [10, 20, 30, 20, 10, 20, 30, 20]);
}

#[test]
fn recursion_with_different_depths() {
    // Fibonacci by two recursive calls, a different argument in each lane.
    let scope = ".func (.param .b32 r) fib(.param .b32 n)\n{\n.reg .b32 %x<6>;\n.reg .pred %q1;\n\
        ld.param.u32 %x1, [n];\nsetp.lt.u32 %q1, %x1, 2;\n@%q1 bra $leaf;\n\
        {\n.param .b32 a;\n.param .b32 b;\nsub.u32 %x2, %x1, 1;\nst.param.b32 [a], %x2;\ncall (b), fib, (a);\nld.param.b32 %x3, [b];\n}\n\
        {\n.param .b32 a;\n.param .b32 b;\nsub.u32 %x2, %x1, 2;\nst.param.b32 [a], %x2;\ncall (b), fib, (a);\nld.param.b32 %x4, [b];\n}\n\
        add.u32 %x1, %x3, %x4;\n$leaf:\nst.param.b32 [r], %x1;\nret;\n}";
    let body = "and.b32 %r5, %r2, 7;\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r5;\n\
                call.uni (b), fib, (a);\nld.param.b32 %r6, [b];\n}\nst.global.u32 [%rd3], %r6;";
    let out = everywhere(|| launch(body).module_scope(scope));
    assert_eq!(out[..10], [0, 1, 1, 2, 3, 5, 8, 13, 0, 1]);
}

#[test]
fn an_indirect_call_of_two_functions() {
    let function = |name: &str, factor: u32| {
        format!(
            ".func (.param .b32 r) {name}(.param .b32 n)\n{{\n.reg .b32 %x1;\nld.param.u32 %x1, [n];\n\
             mul.lo.u32 %x1, %x1, {factor};\nst.param.b32 [r], %x1;\nret;\n}}\n"
        )
    };
    let scope = function("twice", 2) + &function("thrice", 3);
    let body = "and.b32 %r5, %r2, 1;\nsetp.eq.u32 %p1, %r5, 0;\nmov.u64 %rd5, twice;\nmov.u64 %rd6, thrice;\n\
                selp.b64 %rd7, %rd5, %rd6, %p1;\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r2;\n\
                proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
                call (b), %rd7, (a), proto;\nld.param.b32 %r6, [b];\n}\nst.global.u32 [%rd3], %r6;";
    let out = everywhere(|| launch(body).module_scope(&scope));
    assert_eq!(out[..6], [0, 3, 4, 9, 8, 15]);
}

#[test]
fn a_tree_reduction_in_shared_memory() {
    let body = ".shared .align 4 .b8 sums[1024];\nmov.u32 %r5, sums;\nmad.lo.u32 %r6, %r2, 4, %r5;\n\
        ld.global.u32 %r7, [%rd4];\nst.shared.u32 [%r6], %r7;\nmov.u32 %r8, 128;\n$step:\nbar.sync 0;\n\
        setp.ge.u32 %p1, %r2, %r8;\n@%p1 bra $idle;\nshl.b32 %r9, %r8, 2;\nadd.u32 %r9, %r6, %r9;\n\
        ld.shared.u32 %r10, [%r9];\nld.shared.u32 %r11, [%r6];\nadd.u32 %r11, %r11, %r10;\n\
        st.shared.u32 [%r6], %r11;\n$idle:\nshr.u32 %r8, %r8, 1;\nsetp.ne.u32 %p2, %r8, 0;\n@%p2 bra $step;\n\
        setp.ne.u32 %p3, %r2, 0;\n@%p3 ret;\nmov.u32 %r12, %ctaid.x;\nmul.wide.u32 %rd5, %r12, 4;\n\
        add.u64 %rd5, %rd1, %rd5;\nld.shared.u32 %r13, [sums];\nst.global.u32 [%rd5], %r13;";
    let out = everywhere(|| launch(body).block(256).grid(4).input(0..1024));
    let expected: Vec<u32> = (0..4)
        .map(|block| (0..256).map(|i| block * 256 + i).sum())
        .collect();
    assert_eq!(out[..4], expected);
}

#[test]
fn dynamic_shared_memory_lies_behind_static() {
    let scope = ".extern .shared .align 16 .b8 dynamic[];";
    let body = ".shared .align 4 .b8 fixed[4];\nst.shared.u32 [fixed], 5;\nmov.u32 %r5, dynamic;\n\
                mad.lo.u32 %r6, %r2, 4, %r5;\nst.shared.u32 [%r6], %r2;\nbar.sync 0;\n\
                ld.shared.u32 %r7, [fixed];\nld.shared.u32 %r8, [%r6];\nadd.u32 %r7, %r7, %r8;\n\
                st.global.u32 [%rd3], %r7;";
    let out = everywhere(|| launch(body).module_scope(scope).shared(128));
    assert_eq!(out[..32], (5..37).collect::<Vec<_>>());
}

#[test]
fn generic_addresses_of_every_space() {
    // Even lanes use shared memory, odd lanes local memory, through one instruction.
    let body = ".shared .align 4 .b8 tile[128];\n.local .align 4 .b8 mine[4];\n\
        mov.u64 %rd5, tile;\nmul.wide.u32 %rd6, %r2, 4;\nadd.u64 %rd5, %rd5, %rd6;\ncvta.shared.u64 %rd5, %rd5;\n\
        mov.u64 %rd7, mine;\ncvta.local.u64 %rd7, %rd7;\nand.b32 %r5, %r2, 1;\nsetp.eq.u32 %p1, %r5, 0;\n\
        selp.b64 %rd8, %rd5, %rd7, %p1;\nst.u32 [%rd8], %r2;\nld.u32 %r6, [%rd8];\nisspacep.shared %p2, %rd8;\n\
        selp.u32 %r7, 100, 0, %p2;\nadd.u32 %r6, %r6, %r7;\nst.u32 [%rd3], %r6;";
    let out = everywhere(|| launch(body));
    assert_eq!(out[..4], [100, 1, 102, 3]);
}

#[test]
fn shuffles() {
    let body = "shfl.sync.down.b32 %r5, %r2, 16, 31, -1;\nadd.u32 %r6, %r2, %r5;\n\
                shfl.sync.bfly.b32 %r7|%p1, %r2, 1, 31, -1;\nshfl.sync.idx.b32 %r8, %r2, 3, 31, -1;\n\
                shfl.sync.up.b32 %r9|%p2, %r2, 1, 0, -1;\nselp.u32 %r10, 1, 0, %p2;\n\
                mad.lo.u32 %r5, %r7, 100, %r8;\nmad.lo.u32 %r5, %r9, 10000, %r5;\nmad.lo.u32 %r5, %r10, 1000000, %r5;\n\
                st.global.u32 [%rd3], %r5;";
    let out = everywhere(|| launch(body));
    let expected = |i: u32| {
        let up = if i == 0 { 0 } else { i - 1 };
        (i ^ 1) * 100 + 3 + up * 10_000 + u32::from(i > 0) * 1_000_000
    };
    assert_eq!(out[..32], (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn a_reduction_by_shuffles_in_tiles_of_eight() {
    // Every tile has its own mask: one instruction, four operations.
    let body = "mov.u32 %r5, %laneid;\nand.b32 %r6, %r5, 24;\nmov.u32 %r7, 255;\nshl.b32 %r7, %r7, %r6;\nmov.u32 %r8, %r2;\n\
        shfl.sync.bfly.b32 %r9, %r8, 4, 0x181f, %r7;\nadd.u32 %r8, %r8, %r9;\n\
        shfl.sync.bfly.b32 %r9, %r8, 2, 0x181f, %r7;\nadd.u32 %r8, %r8, %r9;\n\
        shfl.sync.bfly.b32 %r9, %r8, 1, 0x181f, %r7;\nadd.u32 %r8, %r8, %r9;\nst.global.u32 [%rd3], %r8;";
    let out = everywhere(|| launch(body));
    let expected = |i: u32| (i / 8 * 8..i / 8 * 8 + 8).sum::<u32>();
    assert_eq!(out[..32], (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn lanes_that_diverged_meet_at_a_shuffle() {
    // The odd lanes take a longer way to the same shuffle.
    let body = "and.b32 %r5, %r2, 1;\nsetp.eq.u32 %p1, %r5, 0;\nmov.u32 %r6, %r2;\n@%p1 bra $meet;\n\
                add.u32 %r6, %r6, 100;\n$meet:\nshfl.sync.bfly.b32 %r7, %r6, 1, 31, -1;\nst.global.u32 [%rd3], %r7;";
    let out = everywhere(|| launch(body));
    assert_eq!(out[..4], [101, 0, 103, 2]);
}

#[test]
fn votes_and_matches() {
    let body = "setp.lt.u32 %p1, %r2, 5;\nvote.sync.ballot.b32 %r5, %p1, -1;\nvote.sync.any.pred %p2, %p1, -1;\n\
        vote.sync.all.pred %p3, %p1, -1;\nvote.sync.uni.pred %p4, !%p1, -1;\nselp.u32 %r6, 1, 0, %p2;\n\
        selp.u32 %r7, 2, 0, %p3;\nselp.u32 %r8, 4, 0, %p4;\nor.b32 %r6, %r6, %r7;\nor.b32 %r6, %r6, %r8;\n\
        and.b32 %r9, %r2, 1;\nmatch.any.sync.b32 %r10, %r9, -1;\nmatch.all.sync.b32 %r11|%p5, %r9, -1;\n\
        redux.sync.add.s32 %r12, %r2, -1;\nredux.sync.max.u32 %r13, %r2, -1;\nactivemask.b32 %r14;\n\
        mul.wide.u32 %rd5, %r2, 28;\nadd.u64 %rd5, %rd1, %rd5;\nst.global.u32 [%rd5], %r5;\nst.global.u32 [%rd5+4], %r6;\n\
        st.global.u32 [%rd5+8], %r10;\nst.global.u32 [%rd5+12], %r11;\nst.global.u32 [%rd5+16], %r12;\n\
        st.global.u32 [%rd5+20], %r13;\nst.global.u32 [%rd5+24], %r14;";
    let out = everywhere(|| launch(body).out_words(7 * 32));
    assert_eq!(out[7..14], [0b11111, 1, 0xaaaa_aaaa, 0, 496, 31, u32::MAX]);
    assert_eq!(out[2], 0x5555_5555);
}

#[test]
fn barrier_reductions() {
    let body = "and.b32 %r5, %r2, 1;\nsetp.eq.u32 %p1, %r5, 0;\nbar.red.popc.u32 %r6, 0, %p1;\nbar.red.and.pred %p2, 0, %p1;\n\
                bar.red.or.pred %p3, 0, %p1;\nselp.u32 %r7, 1000, 0, %p2;\nselp.u32 %r8, 2000, 0, %p3;\n\
                add.u32 %r6, %r6, %r7;\nadd.u32 %r6, %r6, %r8;\nst.global.u32 [%rd3], %r6;";
    let out = everywhere(|| launch(body).block(64));
    assert_eq!(out[..64], [2032; 64]);
}

#[test]
fn producers_and_consumers_with_named_barriers() {
    // Warp 0 fills, warps 1 and 2 read: `bar.arrive` of the producer, `bar.sync` of the consumers.
    let body = ".shared .align 4 .b8 tile[128];\nmov.u32 %r5, tile;\nand.b32 %r6, %r2, 31;\nmad.lo.u32 %r5, %r6, 4, %r5;\n\
        setp.ge.u32 %p1, %r2, 32;\n@%p1 bra $consume;\nadd.u32 %r7, %r2, 50;\nst.shared.u32 [%r5], %r7;\n\
        bar.arrive 1, 96;\nbra $end;\n$consume:\nbar.sync 1, 96;\nld.shared.u32 %r8, [%r5];\nst.global.u32 [%rd3], %r8;\n$end:";
    let out = everywhere(|| launch(body).block(96).out_words(96));
    let expected: Vec<u32> = (0..96)
        .map(|i| if i < 32 { 0 } else { 50 + i % 32 })
        .collect();
    assert_eq!(out, expected);
}

/// What the producer does behind its `bar.arrive` is not ordered before the consumers' loads.
#[test]
fn a_producer_that_goes_on_races_with_its_consumers() {
    let body = |late: &str| {
        format!(
            ".shared .align 4 .b8 tile[128];\nmov.u32 %r5, tile;\nand.b32 %r6, %r2, 31;\nmad.lo.u32 %r5, %r6, 4, %r5;\n\
             setp.ge.u32 %p1, %r2, 32;\n@%p1 bra $consume;\nst.shared.u32 [%r5], %r2;\nbar.arrive 1, 64;\n{late}\
             add.u32 %r7, %r2, 50;\nst.shared.u32 [%r5], %r7;\nbra $end;\n$consume:\nbar.sync 1, 64;\n\
             ld.shared.u32 %r8, [%r5];\nst.global.u32 [%rd3], %r8;\nbar.arrive 2, 64;\n$end:"
        )
    };
    let told = launch(&body("")).block(64).fault();
    assert!(told.starts_with("race in shared memory"), "{told}");
    let out = launch(&body("bar.sync 2, 64;\n"))
        .block(64)
        .out_words(64)
        .out();
    assert_eq!(out[32..40], [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn atomics_of_many_blocks_lose_nothing() {
    let body = "red.global.add.u32 [%rd1], 1;\nmov.u64 %rd5, 1;\nred.global.add.u64 [%rd1+8], %rd5;\n\
                atom.global.max.u32 %r5, [%rd1+16], %r3;\nred.global.or.b32 [%rd1+20], 3;\n\
                atom.global.inc.u32 %r6, [%rd1+24], 9;\nred.global.add.f32 [%rd1+28], 0f3F800000;";
    let out = everywhere(|| launch(body).block(100).grid(40).input(0..4000));
    assert_eq!(out[0], 4000);
    assert_eq!(out[2..8], [4000, 0, 3999, 3, 0, 4000f32.to_bits()]);
}

#[test]
fn a_lock_within_one_warp() {
    // Every lane takes the same lock, adds to a plain counter, and releases: lanes must not starve
    // each other.
    let body = "$retry:\natom.global.cas.b32 %r5, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra $retry;\n\
                ld.volatile.global.u32 %r6, [%rd1+4];\nadd.u32 %r6, %r6, 1;\nst.volatile.global.u32 [%rd1+4], %r6;\n\
                membar.gl;\natom.global.exch.b32 %r7, [%rd1], 0;";
    for grid in [1, 4] {
        let out = everywhere(|| {
            let mut kernel = launch(body).block(64).grid(grid).input(0..256);
            kernel.options.fuel = 2_000_000;
            kernel
        });
        assert_eq!(out[..2], [0, 64 * grid]);
    }
}

#[test]
fn a_chain_of_blocks() {
    // Each block waits for the one before it: blocks start in order.
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u32 %r5, %ctaid.x;\n$wait:\nld.acquire.gpu.global.u32 %r6, [%rd1];\n\
                setp.ne.u32 %p2, %r6, %r5;\n@%p2 bra $wait;\nadd.u32 %r6, %r6, 1;\nst.release.gpu.global.u32 [%rd1], %r6;";
    for threads in [1, 3] {
        let mut kernel = launch(body).grid(20).input(0..640);
        kernel.options.threads = threads;
        assert_eq!(kernel.out()[0], 20);
    }
}

#[test]
fn vectors_and_narrow_types() {
    let body = "mul.wide.u32 %rd5, %r2, 16;\nadd.u64 %rd6, %rd2, %rd5;\nadd.u64 %rd7, %rd1, %rd5;\n\
        ld.global.v4.u32 {%r5, %r6, _, %r8}, [%rd6];\nld.global.s8 %r9, [%rd6+8];\nld.global.u16 %h1, [%rd6+10];\n\
        cvt.u32.u16 %r10, %h1;\nadd.s32 %r9, %r9, %r10;\nst.global.v2.u32 [%rd7], {%r8, %r5};\n\
        st.global.u16 [%rd7+8], %r6;\nst.global.u8 [%rd7+10], 7;\nst.global.u8 [%rd7+11], %r9;";
    let input: Vec<u32> = (0..128)
        .map(|i| if i % 4 == 2 { 0x0102_00ff } else { i + 0x10000 })
        .collect();
    let out = everywhere(|| launch(body).input(input.clone()).out_words(128));
    for i in 0..32u32 {
        let row = &out[4 * i as usize..][..4];
        assert_eq!(row[0], 4 * i + 3 + 0x10000);
        assert_eq!(row[1], 4 * i + 0x10000);
        // -1 + 0x0102, cut to a byte.
        assert_eq!(row[2], (4 * i + 1) | 7 << 16 | 1 << 24);
    }
}

#[test]
fn asynchronous_copies_arrive_when_waited_for() {
    let body = |wait: &str| {
        format!(
            ".shared .align 16 .b8 tile[512];\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 16, %r5;\n\
             mul.wide.u32 %rd5, %r2, 16;\nadd.u64 %rd5, %rd2, %rd5;\ncp.async.ca.shared.global [%r5], [%rd5], 16;\n\
             cp.async.commit_group;\n{wait}\nbar.sync 0;\nld.shared.u32 %r6, [%r5+12];\nst.global.u32 [%rd3], %r6;"
        )
    };
    for wait in ["cp.async.wait_group 0;", "cp.async.wait_all;"] {
        let out = everywhere(|| launch(&body(wait)).input(0..128));
        assert_eq!(out[..3], [3, 7, 11]);
    }
    let message = launch(&body("cp.async.wait_group 1;"))
        .input(0..128)
        .fault();
    assert!(message.starts_with("copy under way: load"), "{message}");
}

#[test]
fn module_variables_keep_their_values() {
    let scope =
        ".global .align 4 .u32 counter = 5;\n.global .align 8 .u64 pointer = generic(counter);";
    let body = "ld.global.u64 %rd5, [pointer];\natom.add.u32 %r5, [%rd5], 1;\nld.volatile.global.u32 %r6, [counter];\n\
                st.global.u32 [%rd3], %r6;";
    let out = everywhere(|| launch(body).module_scope(scope).block(1));
    assert_eq!(out[0], 6);
}

#[test]
fn clocks_advance() {
    let body = "mov.u32 %r5, %clock;\nmov.u64 %rd5, %clock64;\ncvt.u32.u64 %r6, %rd5;\nsub.u32 %r5, %r6, %r5;\n\
                st.global.u32 [%rd3], %r5;";
    assert_eq!(launch(body).out()[0], 1);
}
