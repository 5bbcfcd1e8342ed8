//! Products of a warpgroup, and other accesses that nothing orders with them.

use insta::assert_snapshot;

use crate::common::{Launch, launch};

/// The first factor at 0, the second at 2048: rows of 32 bytes, swizzled; 16 k, 64 rows, 8 columns.
const PRODUCT: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd10, %rd11, %p2, 1, 1, 0, 0;\n";
const FENCE: &str = "wgmma.fence.sync.aligned;\n";
const COMMIT: &str = "wgmma.commit_group.sync.aligned;\n";
const WAIT: &str = "wgmma.wait_group.sync.aligned 0;\n";
const PROXY: &str = "fence.proxy.async;\n";

/// A warpgroup fills its shared memory with zeros, from line 10 on, and goes on with `rest`.
fn filled(rest: &str) -> Launch {
    launch(&format!(
        ".shared .align 1024 .b8 tile[2560];\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 4, %r5;\nmov.u32 %r6, 0;\n.loc 1 10 1\n\
         fill:\nst.shared.u32 [%r5], 0;\nadd.u32 %r5, %r5, 512;\nadd.u32 %r6, %r6, 128;\n\
         setp.lt.u32 %p1, %r6, 640;\n@%p1 bra fill;\n\
         mov.u64 %rd10, {:#x};\nmov.u64 %rd11, {:#x};\nsetp.eq.u32 %p2, 0, 1;\n.loc 1 20 1\n{rest}",
        3u64 << 62 | 16 << 32,
        3u64 << 62 | 16 << 32 | 128
    ))
    .block(128)
    .out_words(128)
}

/// A product between two texts; then the first accumulator goes to `out`.
fn product(before: &str, after: &str) -> Launch {
    filled(&format!(
        "{PROXY}bar.sync 0;\n{before}.loc 1 30 1\n{PRODUCT}.loc 1 40 1\n{after}.loc 1 50 1\nst.global.f32 [%rd3], %f1;\n"
    ))
}

#[test]
fn what_is_right() {
    let copied = "mov.f32 %f5, %f1;\nmov.f32 %f1, %f5;\n";
    let right = [
        product(FENCE, &format!("{COMMIT}{WAIT}")),
        // Copies do not count as accesses, before the wait too.
        product(FENCE, &format!("{copied}{COMMIT}{WAIT}")),
        product(FENCE, &format!("{copied}{PRODUCT}{COMMIT}{WAIT}")),
        // Of two groups the first is waited for; its memory may then change.
        product(
            FENCE,
            &format!(
                "{COMMIT}{COMMIT}wgmma.wait_group.sync.aligned 1;\nbar.sync 0;\nst.shared.u32 [%r5-512], 0;\n"
            ),
        ),
        // A register written before the fence.
        product(
            &format!(
                "setp.eq.u32 %p2, 0, 0;\ncvt.rn.f32.u32 %f1, %r2;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, 0f00000000;\n{FENCE}"
            ),
            &format!("{COMMIT}{WAIT}"),
        ),
    ];
    for launch in right {
        launch.out();
    }
}

#[test]
fn an_accumulator_that_is_not_waited_for() {
    assert_snapshot!(product(FENCE, COMMIT).fault(), @r"
    product under way: an accumulator is read while the `wgmma.mma_async` at src/lab.rs:30 (PTX line 44) is under way: execute `wgmma.commit_group` and `wgmma.wait_group` before
      in kernel `k` at src/lab.rs:50 (PTX line 48), block (0, 0, 0), thread (0, 0, 0)
    ");
    // Not in a group.
    assert_snapshot!(product(FENCE, WAIT).fault(), @r"
    product under way: an accumulator is read while the `wgmma.mma_async` at src/lab.rs:30 (PTX line 44) is under way: execute `wgmma.commit_group` and `wgmma.wait_group` before
      in kernel `k` at src/lab.rs:50 (PTX line 48), block (0, 0, 0), thread (0, 0, 0)
    ");
    let written = product(FENCE, &format!("{COMMIT}add.f32 %f1, %f5, %f5;\n"));
    assert_snapshot!(written.fault(), @r"
    product under way: an accumulator is written while the `wgmma.mma_async` at src/lab.rs:30 (PTX line 44) is under way: execute `wgmma.commit_group` and `wgmma.wait_group` before
      in kernel `k` at src/lab.rs:40 (PTX line 47), block (0, 0, 0), thread (0, 0, 0)
    ");
    // The copy of one.
    let copy = "wgmma.commit_group.sync.aligned;\nmov.f32 %f5, %f1;\nadd.f32 %f1, %f5, %f5;\n";
    assert!(
        product(FENCE, copy)
            .fault()
            .starts_with("product under way")
    );
}

#[test]
fn a_factor_in_registers() {
    let registers = PRODUCT
        .replace("%rd10", "{%r10, %r11, %r12, %r13}")
        .replace(", 0, 0;", ", 0;");
    let set = "mov.u32 %r10, 0;\nmov.u32 %r11, 0;\nmov.u32 %r12, 0;\nmov.u32 %r13, 0;\n";
    let run = |before: &str, after: &str| {
        filled(&format!(
            "{PROXY}bar.sync 0;\n{set}{before}.loc 1 30 1\n{registers}{COMMIT}.loc 1 40 1\n{after}{WAIT}"
        ))
    };
    run(FENCE, "mov.u32 %r14, %r10;\n").out();
    let rewritten = run(FENCE, "add.u32 %r10, %r10, 1;\n");
    assert_snapshot!(rewritten.fault(), @r"
    product under way: a register of matrix A is written while the `wgmma.mma_async` at src/lab.rs:30 (PTX line 48) is under way: execute `wgmma.commit_group` and `wgmma.wait_group` before
      in kernel `k` at src/lab.rs:40 (PTX line 51), block (0, 0, 0), thread (0, 0, 0)
    ");
    let again = format!("{WAIT}add.u32 %r10, %r2, 1;\n.loc 1 45 1\n{registers}{COMMIT}");
    assert_snapshot!(run(FENCE, &again).fault(), @r"
    missing wgmma fence: `wgmma.mma_async`: registers of matrix A were written since the product before, and no `wgmma.fence` stands between
      in kernel `k` at src/lab.rs:45 (PTX line 54), block (0, 0, 0), thread (0, 0, 0)
    ");
    // A compiler may have moved it there.
    run(&format!("{FENCE}add.u32 %r10, %r2, 1;\n"), "").out();
}

#[test]
fn no_fence_before_the_first() {
    assert_snapshot!(product("", &format!("{COMMIT}{WAIT}")).fault(), @r"
    missing wgmma fence: `wgmma.mma_async`: no `wgmma.fence` stands before the warp's first product
      in kernel `k` at src/lab.rs:30 (PTX line 43), block (0, 0, 0), thread (0, 0, 0)
    ");
    let again = format!(
        "{COMMIT}{WAIT}setp.eq.u32 %p2, 0, 0;\ncvt.rn.f32.u32 %f1, %r2;\n.loc 1 45 1\n{PRODUCT}{COMMIT}{WAIT}"
    );
    assert_snapshot!(product(FENCE, &again).fault(), @r"
    missing wgmma fence: `wgmma.mma_async`: registers of the accumulator were written since the product before, and no `wgmma.fence` stands between
      in kernel `k` at src/lab.rs:45 (PTX line 51), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn shared_memory_that_is_rewritten() {
    let store = "bar.sync 0;\nst.shared.u32 [%r5-512], 1;\n";
    let fault = product(FENCE, &format!("{COMMIT}{store}{WAIT}")).fault();
    assert_snapshot!(fault, @r"
    product under way: store of 4 bytes at element 512 (byte 2048) of shared array `tile`, which the `wgmma.mma_async` at src/lab.rs:30 (PTX line 44) (block (0, 0, 0), thread (0, 0, 0)) may still read: its warpgroup has not waited for it (`wgmma.wait_group`)
      in kernel `k` at src/lab.rs:40 (PTX line 48), block (0, 0, 0), thread (0, 0, 0)
    ");
    // By a copy in bulk.
    let copy = "bar.sync 0;\n.shared .align 8 .b8 bar[8];\nsetp.ne.u32 %p3, %r2, 0;\n@%p3 bra past;\n\
        mbarrier.init.shared.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n\
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+1024], [%rd2], 16, [bar];\npast:\n";
    let by_copy = product(FENCE, &format!("{COMMIT}{copy}{WAIT}")).fault();
    assert!(by_copy.starts_with("product under way"), "{by_copy}");
}

#[test]
fn stores_that_the_asynchronous_proxy_does_not_see() {
    let text = format!("bar.sync 0;\n{FENCE}.loc 1 30 1\n{PRODUCT}{COMMIT}{WAIT}");
    assert_snapshot!(filled(&text).fault(), @r"
    missing proxy fence: `wgmma.mma_async`'s load of 16 bytes: an ordinary instruction has stored to byte 2048 of shared array `tile`, and no `bulk_copy::fence_shared` stands between (in PTX `fence.proxy.async`)
      in kernel `k` at src/lab.rs:30 (PTX line 43), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn what_a_warpgroup_may_not_be() {
    let all = format!("{FENCE}{PRODUCT}{COMMIT}{WAIT}");
    let rest = format!("{PROXY}bar.sync 0;\n{all}");
    let part = filled(&rest).block(96).fault();
    assert!(part.contains("whose last warpgroup is not whole"), "{part}");
    let diverged =
        format!("{PROXY}bar.sync 0;\nsetp.eq.u32 %p3, %r2, 3;\n@%p3 bra past;\n{all}past:\n");
    let fault = filled(&diverged).fault();
    assert!(
        fault.contains("by 31 threads of a warp") || fault.starts_with("lanes missing"),
        "{fault}"
    );
    let absent =
        format!("{PROXY}bar.sync 0;\nsetp.lt.u32 %p3, %r2, 32;\n@%p3 bra past;\n{all}past:\n");
    let without_one = filled(&absent).fault();
    assert!(
        without_one.contains("all four warps execute each"),
        "{without_one}"
    );
    let differs =
        format!("{PROXY}bar.sync 0;\ncvt.u64.u32 %rd12, %r2;\nadd.u64 %rd10, %rd10, %rd12;\n{all}");
    let of_two = filled(&differs).fault();
    assert!(
        of_two.contains("the matrix descriptor of lane 1"),
        "{of_two}"
    );
}

#[test]
fn factors_outside_of_shared_memory_and_unset() {
    let after = format!("{COMMIT}{WAIT}");
    let far = product(&format!("add.u64 %rd11, %rd11, 64;\n{FENCE}"), &after);
    assert_snapshot!(far.fault(), @r"
    out of bounds: load of 16 bytes at offset 3072 of shared memory (2560 bytes) reaches 528 bytes past its end (index 192, length 160)
      in kernel `k` at src/lab.rs:30 (PTX line 45), block (0, 0, 0), thread (0, 0, 0)
    ");
    let mut unset = product(FENCE, &after);
    unset.body = unset.body.replace("%r6, 640", "%r6, 512");
    assert_snapshot!(unset.fault(), @r"
    uninitialized read: load of 16 bytes from element 1024 (byte 2048) of shared array `tile`, which nothing has written before
      in kernel `k` at src/lab.rs:30 (PTX line 44), block (0, 0, 0), thread (0, 0, 0)
    ");
}
