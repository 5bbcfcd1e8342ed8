//! Every check: a kernel that trips it with the exact message, and one that does the same correctly.

mod common;

use common::launch;
use insta::assert_snapshot;
use ptx_emu::{LaunchConfig, Limits, Machine, Options, Sanitize};

#[test]
fn a_load_past_the_end() {
    let load = |offset: i32| {
        format!(".loc 1 7 5\nld.global.u32 %r5, [%rd4+{offset}];\nst.global.u32 [%rd3], %r5;")
    };
    assert_snapshot!(launch(&load(132)).fault(), @r"
    out of bounds: load of 4 bytes at offset 256 of buffer `in` (256 bytes) reaches 4 bytes past its end (index 64, length 64)
      in kernel `k` at src/lab.rs:7 (PTX line 26), block (0, 0, 0), thread (31, 0, 0)
    ");
    assert_eq!(launch(&load(128)).out()[0], 32);
}

#[test]
fn a_load_across_the_end() {
    let body = "ld.global.v2.u32 {%r5, %r6}, [%rd2+248];";
    assert_snapshot!(launch(body).input(0..63).fault(), @r"
    out of bounds: load of 8 bytes at offset 248 of buffer `in` (252 bytes) reaches 4 bytes past its end
      in kernel `k` at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(body).input(0..64).report();
}

#[test]
fn a_store_before_the_start() {
    let body = "sub.u64 %rd5, %rd3, 8;\nst.global.u32 [%rd5], %r2;";
    assert_snapshot!(launch(body).fault(), @r"
    out of bounds: store of 4 bytes at offset -8 of buffer `out` (256 bytes) starts 8 bytes before its start (index -2, length 64)
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_null_pointer() {
    let body = "mul.wide.u32 %rd5, %r2, 4;\nld.global.u32 %r5, [%rd5];";
    assert_snapshot!(launch(body).fault(), @r"
    out of bounds: load of 4 bytes at address 0x0: a null pointer
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn an_index_that_wraps() {
    let body = "sub.u32 %r5, %r2, 3;\nmul.wide.u32 %rd5, %r5, 4;\nadd.u64 %rd5, %rd2, %rd5;\nld.global.u32 %r6, [%rd5];";
    assert_snapshot!(launch(body).fault(), @r"
    out of bounds: load of 4 bytes at offset 17179869172 of buffer `in` (256 bytes): 2^32 elements too far, as when an index of type u32 goes below 0 (index -3)
      in kernel `k` at src/lab.rs:1 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(&body.replace("sub", "add")).report();
}

#[test]
fn an_address_far_from_everything() {
    let body = "mov.u64 %rd5, 0x123456789abc0;\nld.u32 %r5, [%rd5];";
    assert_snapshot!(launch(body).fault(), @r"
    out of bounds: load of 4 bytes at address 0x123456789abc0, where no buffer is
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_freed_buffer() {
    let text = launch("ld.global.u32 %r5, [%rd4];").text();
    let mut machine = Machine::new(
        Limits::default(),
        Options {
            threads: 1,
            ..Options::default()
        },
    );
    let module = machine
        .load(ptx::Program::parse(&text).expect("valid"))
        .expect("it fits");
    let [old, new] = ["old", "new"].map(|name| {
        let buffer = machine.allocate(128, name).expect("it fits");
        machine.write(buffer, &[0; 128]).expect("in bounds");
        buffer
    });
    let config = LaunchConfig {
        grid: [1; 3],
        block: [32, 1, 1],
        shared_mem_bytes: 0,
    };
    let params = |input: u64| [&0u64.to_le_bytes()[..], &input.to_le_bytes(), &[0; 4]].concat();
    machine
        .launch(&module, "k", &config, &params(new))
        .expect("nothing is wrong");
    machine
        .launch(&module, "k", &config, &params(old))
        .expect("nothing is wrong");
    assert!(machine.free(old));
    assert!(!machine.free(old));
    let fault = machine
        .launch(&module, "k", &config, &params(old))
        .expect_err("freed");
    assert_snapshot!(fault.to_string(), @r"
    out of bounds: load of 4 bytes at offset 0 of buffer `old`, which has been freed
      in kernel `k` at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn shared_memory_out_of_bounds() {
    let body = "shl.b32 %r5, %r2, 2;\nst.shared.u32 [%r5], %r2;";
    assert_snapshot!(launch(body).shared(124).fault(), @r"
    out of bounds: store of 4 bytes at offset 124 of shared memory (124 bytes) reaches 4 bytes past its end (index 31, length 31)
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (31, 0, 0)
    ");
    launch(body).shared(128).report();
    // Through a generic address.
    let body = "mov.u32 %r5, 128;\ncvt.u64.u32 %rd5, %r5;\ncvta.shared.u64 %rd6, %rd5;\nst.u32 [%rd6], %r2;";
    assert_snapshot!(launch(body).shared(128).fault(), @r"
    out of bounds: store of 4 bytes at offset 128 of shared memory (128 bytes) reaches 4 bytes past its end (index 32, length 32)
      in kernel `k` at src/lab.rs:1 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(&body.replace("128", "0"))
        .block(1)
        .shared(128)
        .report();
}

#[test]
fn local_memory_out_of_bounds() {
    let body = |offset: u32| {
        format!(
            ".local .align 4 .b8 array[16];\nmov.u32 %r5, array;\nadd.u32 %r5, %r5, {offset};\n\
             st.local.u32 [%r5], %r2;\nld.local.u32 %r6, [%r5];\nst.global.u32 [%rd3], %r6;"
        )
    };
    assert_snapshot!(launch(&body(16)).fault(), @r"
    out of bounds: store of 4 bytes at offset 16 of local memory (16 bytes) reaches 4 bytes past its end (index 4, length 4)
      in kernel `k` at src/lab.rs:1 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_eq!(launch(&body(12)).out()[..32], (0..32).collect::<Vec<_>>());
}

#[test]
fn a_misaligned_access() {
    let body = "add.u64 %rd5, %rd4, 2;\nld.global.u32 %r5, [%rd5];";
    assert_snapshot!(launch(body).fault(), @r"
    misaligned access: load of 4 bytes at byte 2 of buffer `in`, address 0x1000000002, which is 2 bytes past a multiple of 4
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
    // A vector must be aligned to its whole size.
    let body = "ld.global.v2.u32 {%r5, %r6}, [%rd4];";
    assert_snapshot!(launch(body).fault(), @r"
    misaligned access: load of 8 bytes at byte 4 of buffer `in`, address 0x1000000004, which is 4 bytes past a multiple of 8
      in kernel `k` at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (1, 0, 0)
    ");
    launch("ld.global.u16 %r5, [%rd4+2];").report();
}

#[test]
fn a_store_to_a_constant() {
    let scope = ".const .align 4 .u32 table[2] = {5, 6};";
    let load = "mov.u64 %rd5, table;\nld.const.u32 %r5, [%rd5+4];\nst.global.u32 [%rd3], %r5;";
    assert_eq!(launch(load).module_scope(scope).out()[0], 6);
    let store = "mov.u64 %rd5, table;\ncvta.const.u64 %rd5, %rd5;\nst.u32 [%rd5], %r2;";
    assert_snapshot!(launch(store).module_scope(scope).fault(), @r"
    store to read-only memory: store of 4 bytes to `table`, which is constant
      in kernel `k` at src/lab.rs:1 (PTX line 27), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn global_memory_that_nobody_wrote() {
    let body = ".loc 1 9 2\nld.global.u32 %r5, [%rd3];";
    assert_snapshot!(launch(body).out_unwritten().fault(), @r"
    uninitialized read: load of 4 bytes from byte 0 of buffer `out`, which nothing has written before
      in kernel `k` at src/lab.rs:9 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(body).report();
    let checks = Sanitize {
        uninitialized: false,
        ..Sanitize::ALL
    };
    launch(body).out_unwritten().sanitize(checks).report();
    // What the kernel itself wrote counts.
    launch("st.global.u32 [%rd3], %r2;\nld.global.u32 %r5, [%rd3];")
        .out_unwritten()
        .report();
}

#[test]
fn poisoned_memory() {
    let program = ptx::Program::parse(&launch("ld.global.u8 %r5, [%rd2+9];").text()).unwrap();
    let mut machine = Machine::default();
    let module = machine.load(program).unwrap();
    let [from, to] = ["from", "to"].map(|name| machine.allocate(10, name).unwrap());
    machine.write(from, &[1; 10]).unwrap();
    let params = [&to.to_le_bytes()[..], &from.to_le_bytes(), &[0; 4]].concat();
    let config = LaunchConfig {
        grid: [1; 3],
        block: [1; 3],
        shared_mem_bytes: 0,
    };
    machine.launch(&module, "k", &config, &params).unwrap();
    assert!(machine.poison(from, 0xa5));
    assert!(!machine.poison(from + 1, 0xa5));
    // It may be copied: the copy is as bad.
    machine.copy(from, to, 10).unwrap();
    for buffer in [from, to] {
        let mut bytes = [0; 10];
        machine.read(buffer, &mut bytes).unwrap();
        assert_eq!(bytes, [0xa5; 10]);
    }
    let fault = machine.launch(&module, "k", &config, &params).unwrap_err();
    assert!(
        fault.to_string().starts_with("uninitialized read"),
        "{fault}"
    );
}

#[test]
fn shared_memory_that_nobody_wrote() {
    let read = "mov.u32 %r5, tile;\nld.shared.u32 %r6, [%r5+64];";
    let tile = ".shared .align 4 .b8 tile[128];";
    assert_snapshot!(launch(&format!("{tile}\n{read}")).fault(), @r"
    uninitialized read: load of 4 bytes from byte 64 of shared array `tile`, which nothing has written before
      in kernel `k` at src/lab.rs:1 (PTX line 27), block (0, 0, 0), thread (0, 0, 0)
    ");
    let write = "shl.b32 %r7, %r2, 2;\nmov.u32 %r8, tile;\nadd.u32 %r8, %r8, %r7;\n\
                 st.shared.u32 [%r8], %r2;\nbar.sync 0;";
    launch(&format!("{tile}\n{write}\n{read}")).report();
    // The next block starts anew.
    let first_only = "mov.u32 %r9, %ctaid.x;\nsetp.eq.u32 %p1, %r9, 0;\nmov.u32 %r8, tile;\n\
                      @%p1 st.shared.u32 [%r8+64], 1;\nbar.sync 0;";
    launch(&format!("{tile}\n{first_only}\n{read}"))
        .block(1)
        .report();
    assert_snapshot!(launch(&format!("{tile}\n{first_only}\n{read}")).block(1).grid(2).fault(), @r"
    uninitialized read: load of 4 bytes from byte 64 of shared array `tile`, which nothing has written before
      in kernel `k` at src/lab.rs:1 (PTX line 32), block (1, 0, 0), thread (0, 0, 0)
    ");
}

/// Each thread stores to its own word, then loads its right neighbour's.
fn exchange(between: &str) -> String {
    format!(
        ".shared .align 4 .b8 tile[512];\nmov.u32 %r5, tile;\nshl.b32 %r6, %r2, 2;\n\
         add.u32 %r5, %r5, %r6;\n.loc 1 10 1\nst.shared.u32 [%r5], %r2;\n{between}\n\
         sub.u32 %r9, %r4, 1;\nsetp.lt.u32 %p1, %r2, %r9;\n.loc 1 12 1\n\
         @%p1 ld.shared.u32 %r7, [%r5+4];"
    )
}

#[test]
fn a_race_between_warps_in_shared_memory() {
    assert_snapshot!(launch(&exchange("")).block(64).fault(), @r"
    race in shared memory: load of byte 4 of shared array `tile` and an earlier store by another lane of the warp, with neither a barrier nor a warp barrier between them
      in kernel `k` at src/lab.rs:12 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:10 (PTX line 30), block (0, 0, 0), thread (1, 0, 0)
    ");
    assert_snapshot!(launch(&exchange("bar.warp.sync -1;")).block(64).fault(), @r"
    race in shared memory: store of byte 128 of shared array `tile` and an earlier load by another warp, with no barrier between them (nor, in a loop, between one iteration and the next)
      in kernel `k` at src/lab.rs:10 (PTX line 30), block (0, 0, 0), thread (32, 0, 0)
      earlier load at src/lab.rs:12 (PTX line 35), block (0, 0, 0), thread (31, 0, 0)
    ");
    launch(&exchange("bar.sync 0;")).block(64).report();
    let unchecked = Sanitize {
        races: false,
        uninitialized: false,
        ..Sanitize::ALL
    };
    launch(&exchange("")).block(64).sanitize(unchecked).report();
}

#[test]
fn a_race_within_a_warp() {
    assert_snapshot!(launch(&exchange("")).fault(), @r"
    race in shared memory: load of byte 4 of shared array `tile` and an earlier store by another lane of the warp, with neither a barrier nor a warp barrier between them
      in kernel `k` at src/lab.rs:12 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:10 (PTX line 30), block (0, 0, 0), thread (1, 0, 0)
    ");
    launch(&exchange("bar.warp.sync -1;")).report();
}

#[test]
fn a_load_that_a_later_store_overtakes() {
    // Missing: the barrier between the loads of a step and the stores of the next.
    let step = |second: &str| {
        format!(
            "{}\n{second}\n.loc 1 14 1\nst.shared.u32 [%r5], %r7;",
            exchange("bar.sync 0;")
        )
    };
    assert_snapshot!(launch(&step("")).block(64).fault(), @r"
    race in shared memory: store of byte 4 of shared array `tile` and an earlier load by another lane of the warp, with neither a barrier nor a warp barrier between them
      in kernel `k` at src/lab.rs:14 (PTX line 38), block (0, 0, 0), thread (1, 0, 0)
      earlier load at src/lab.rs:12 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(&step("bar.sync 0;")).block(64).report();
}

#[test]
fn lanes_that_store_to_one_address() {
    let body =
        |value: &str| format!(".shared .align 4 .b8 flag[4];\nst.shared.u32 [flag], {value};");
    assert_snapshot!(launch(&body("%r2")).fault(), @r"
    race in shared memory: store of byte 0 of shared array `flag` and an earlier store by the same instruction, with another value: which one stays is not defined
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (1, 0, 0)
      earlier store at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(&body("1")).report();
    launch(&body("1")).block(256).report();
    launch("st.global.u32 [%rd1], 1;").grid(4).report();
    launch("red.global.add.u32 [%rd1], %r2;").grid(4).report();
}

#[test]
fn a_race_between_blocks() {
    // Every block stores to the same words.
    let body = "mul.wide.u32 %rd5, %r2, 4;\nadd.u64 %rd5, %rd1, %rd5;\n.loc 1 20 1\n\
                st.global.u32 [%rd5], %r3;";
    assert_snapshot!(launch(body).grid(2).fault(), @r"
    race in global memory: store of byte 0 of buffer `out` and an earlier store by another block: nothing orders the blocks of one launch
      in kernel `k` at src/lab.rs:20 (PTX line 28), block (1, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:20 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch("st.global.u32 [%rd3], %r3;").grid(2).report();
}

#[test]
fn a_halo_that_another_block_changes() {
    // Each thread stores its own word and reads the next one, perhaps another block's.
    let body = ".loc 1 21 1\nst.global.u32 [%rd3], %r3;\nbar.sync 0;\nsetp.lt.u32 %p1, %r3, 63;\n\
                .loc 1 23 1\n@%p1 ld.global.u32 %r5, [%rd3+4];";
    assert_snapshot!(launch(body).grid(2).fault(), @r"
    race in global memory: store of byte 128 of buffer `out` and an earlier load by another block: nothing orders the blocks of one launch
      in kernel `k` at src/lab.rs:21 (PTX line 26), block (1, 0, 0), thread (0, 0, 0)
      earlier load at src/lab.rs:23 (PTX line 30), block (0, 0, 0), thread (31, 0, 0)
    ");
    launch(body).block(64).report();
    let checks = Sanitize {
        races: false,
        ..Sanitize::ALL
    };
    launch(body).grid(2).sanitize(checks).report();
}

#[test]
fn bytes_of_one_word_are_apart() {
    let body = "cvt.u64.u32 %rd5, %r3;\nadd.u64 %rd5, %rd1, %rd5;\nst.global.u8 [%rd5], %r3;";
    launch(body).block(64).grid(2).report();
}

#[test]
fn a_last_block_that_reads_what_others_published() {
    let body = |fence: &str, count: &str| {
        format!(
            "st.global.u32 [%rd3], %r3;\n{fence}\n{count}\nsetp.ne.u32 %p1, %r5, 3;\n@%p1 ret;\n\
             ld.global.u32 %r6, [%rd1];\nld.global.u32 %r7, [%rd1+4];\nld.global.u32 %r8, [%rd1+8];\n\
             add.u32 %r6, %r6, %r7;\nadd.u32 %r6, %r6, %r8;\nst.global.u32 [%rd1+16], %r6;"
        )
    };
    let count = "atom.global.add.u32 %r5, [%rd1+64], 1;";
    let kernel = launch(&body("membar.gl;", count)).block(1).grid(4);
    assert_eq!(kernel.out()[4], 3);
    let kernel = launch(&body("", &count.replace("atom.", "atom.acq_rel.gpu.")))
        .block(1)
        .grid(4);
    assert_eq!(kernel.out()[4], 3);
    assert_snapshot!(launch(&body("", count)).block(1).grid(4).fault(), @r"
    race in global memory: load of byte 0 of buffer `out` and an earlier store by another block: nothing orders the blocks of one launch
      in kernel `k` at src/lab.rs:1 (PTX line 30), block (3, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_read_only_load_of_what_the_launch_stores() {
    let body =
        ".loc 1 30 1\nst.global.u32 [%rd3], %r2;\n.loc 1 31 1\nld.global.nc.u32 %r5, [%rd3];";
    assert_snapshot!(launch(body).fault(), @r"
    read-only load of changing data: ld.global.nc of byte 0 of buffer `out`, which this launch changes
      in kernel `k` at src/lab.rs:31 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:30 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch("ld.global.nc.u32 %r5, [%rd4];\nst.global.u32 [%rd3], %r5;").report();
}

#[test]
fn a_barrier_that_threads_return_before() {
    let body = "setp.ge.u32 %p1, %r2, 40;\n@%p1 ret;\n.loc 1 40 1\nbar.sync 0;";
    assert_snapshot!(launch(body).block(64).fault(), @r"
    barrier reached by a part of the block: 40 threads of 64 reached barrier 0; the others ended without it (first: thread (40, 0, 0)). Does it stand in a branch, or after a `return`?
      in kernel `k` at src/lab.rs:40 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(body).block(40).report();
    let hardware = Sanitize {
        barriers: false,
        ..Sanitize::ALL
    };
    launch(body).block(64).sanitize(hardware).report();
}

#[test]
fn a_barrier_in_a_divergent_branch() {
    let body = "and.b32 %r5, %r2, 1;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra $even;\n\
                .loc 1 50 1\nbar.sync 0;\nbra $done;\n$even:\n.loc 1 52 1\nbar.sync 0;\n$done:";
    assert_snapshot!(launch(body).fault(), @r"
    barrier in divergent code: threads of one warp reached barrier 0 at different places
      in kernel `k` at src/lab.rs:50 (PTX line 29), block (0, 0, 0), thread (1, 0, 0)
      other barrier at src/lab.rs:52 (PTX line 33), block (0, 0, 0), thread (0, 0, 0)
    ");
    // The same for whole warps is allowed.
    let body = body.replace("and.b32 %r5, %r2, 1", "and.b32 %r5, %r2, 32");
    launch(&body).block(64).report();
}

#[test]
fn a_barrier_in_one_branch_only() {
    let body = "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra $skip;\n.loc 1 55 1\nbar.sync 0;\n$skip:";
    assert_snapshot!(launch(body).fault(), @r"
    barrier reached by a part of the block: 16 threads of 32 reached barrier 0; the others ended without it (first: thread (16, 0, 0)). Does it stand in a branch, or after a `return`?
      in kernel `k` at src/lab.rs:55 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn barriers_of_unequal_loops() {
    // Warp 0 passes three barriers, warp 1 two.
    let body = "mov.u32 %r5, 3;\nsetp.ge.u32 %p1, %r2, 32;\n@%p1 mov.u32 %r5, 2;\n$loop:\n\
                .loc 1 57 1\nbar.sync 0;\nsub.u32 %r5, %r5, 1;\nsetp.ne.u32 %p2, %r5, 0;\n\
                @%p2 bra $loop;";
    assert_snapshot!(launch(body).block(64).fault(), @r"
    barrier reached by a part of the block: 32 threads of 64 reached barrier 0; the others ended without it (first: thread (32, 0, 0)). Does it stand in a branch, or after a `return`?
      in kernel `k` at src/lab.rs:57 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
    ");
    launch(body).block(32).report();
}

#[test]
fn invalid_barriers() {
    assert_snapshot!(launch("mov.u32 %r5, 16;\nbar.sync %r5;").fault(), @r"
    invalid barrier: barrier 16; there are 16, numbered from 0
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(launch("mov.u32 %r5, 33;\nbar.sync 1, %r5;").fault(), @r"
    invalid barrier: barrier 1 for 33 threads; the number must be a multiple of 32, above 0
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_deadlock_of_two_barriers() {
    let body = "setp.ge.u32 %p1, %r2, 32;\n@%p1 bra $second;\n.loc 1 60 1\nbar.sync 1, 64;\n\
                bra $done;\n$second:\n.loc 1 62 1\nbar.sync 2, 64;\n$done:";
    assert_snapshot!(launch(body).block(64).fault(), @r"
    deadlock: no thread of the block can go on
      in kernel `k` at src/lab.rs:60 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
      32 threads wait for barrier 1 (64 threads) at src/lab.rs:60 (PTX line 28) (first: thread (0, 0, 0))
      32 threads wait for barrier 2 (64 threads) at src/lab.rs:62 (PTX line 32) (first: thread (32, 0, 0))
    ");
    launch(&body.replace("bar.sync 2", "bar.sync 1"))
        .block(64)
        .report();
}

#[test]
fn a_deadlock_with_threads_that_returned() {
    let body = "setp.ge.u32 %p1, %r2, 32;\n@%p1 ret;\n.loc 1 64 1\nbar.sync 1, 64;";
    assert_snapshot!(launch(body).block(64).fault(), @r"
    deadlock: no thread of the block can go on
      in kernel `k` at src/lab.rs:64 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
      32 threads wait for barrier 1 (64 threads) at src/lab.rs:64 (PTX line 28) (first: thread (0, 0, 0))
      32 threads exited
    ");
}

#[test]
fn a_shuffle_that_lanes_do_not_reach() {
    let body = "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra $skip;\n.loc 1 70 1\n\
                shfl.sync.down.b32 %r5, %r2, 1, 31, -1;\n$skip:\n.loc 1 72 1\nbar.sync 0;";
    assert_snapshot!(launch(body).fault(), @r"
    lanes missing: shfl.sync with mask 0xffffffff waits for lanes 0xffff0000, which do not reach it
      in kernel `k` at src/lab.rs:70 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
      16 threads wait for barrier 0 at src/lab.rs:72 (PTX line 31) (first: thread (16, 0, 0))
    ");
    // Only the lanes that are there are named, and none reads beyond them.
    launch(&body.replace(
        "down.b32 %r5, %r2, 1, 31, -1",
        "bfly.b32 %r5, %r2, 1, 31, 0xffff",
    ))
    .report();
}

#[test]
fn a_shuffle_by_a_lane_that_its_mask_does_not_name() {
    let body = "shfl.sync.bfly.b32 %r5, %r2, 1, 31, 0xffff;";
    assert_snapshot!(launch(body).fault(), @r"
    lanes missing: lane 16 executes shfl.sync with mask 0x0000ffff, which does not name it
      in kernel `k` at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (16, 0, 0)
    ");
    launch(body).block(16).report();
}

#[test]
fn a_shuffle_from_a_lane_that_has_returned() {
    let body = "setp.ge.u32 %p1, %r2, 16;\n@%p1 ret;\nshfl.sync.down.b32 %r5, %r2, 1, 31, -1;";
    assert_snapshot!(launch(body).fault(), @r"
    shuffle from an inactive lane: reads lane 16, which does not take part (lanes 0x0000ffff do)
      in kernel `k` at src/lab.rs:1 (PTX line 27), block (0, 0, 0), thread (15, 0, 0)
    ");
    launch(&body.replace("down", "bfly")).report();
}

const RECURSION: &str = "
.func (.param .b32 result) depth(.param .b32 n)
{
.local .align 8 .b8 frame[64];
.reg .b32 %x<4>;
.reg .pred %q<2>;
ld.param.u32 %x1, [n];
mov.u32 %x2, 0;
setp.eq.u32 %q1, %x1, 0;
@%q1 bra $end;
sub.u32 %x1, %x1, 1;
{
.param .b32 a;
.param .b32 b;
st.param.b32 [a], %x1;
call.uni (b), depth, (a);
ld.param.b32 %x2, [b];
}
add.u32 %x2, %x2, 1;
$end:
st.param.b32 [result], %x2;
ret;
}";

fn recursion(n: u32) -> common::Launch {
    let body = format!(
        "mov.u32 %r5, {n};\n{{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r5;\n\
         call.uni (b), depth, (a);\nld.param.b32 %r6, [b];\n}}\nst.global.u32 [%rd3], %r6;"
    );
    launch(&body).module_scope(RECURSION)
}

#[test]
fn too_deep_a_recursion() {
    assert_eq!(recursion(50).out()[..2], [50, 50]);
    assert_snapshot!(recursion(100_000).fault(), @r"
    stack overflow: more than 1024 nested calls; is there an endless recursion?
      in kernel `k` at PTX line 20, block (0, 0, 0), thread (0, 0, 0)
    ");
    let mut small = recursion(50);
    small.limits.local_bytes_per_thread = 2048;
    assert_snapshot!(small.fault(), @r"
    stack overflow: 2096 bytes of local memory in 26 nested calls; the limit is 2048 bytes
      in kernel `k` at PTX line 20, block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn an_endless_loop() {
    let mut endless = launch("$loop:\n.loc 1 80 1\nbra $loop;");
    endless.options.fuel = 1000;
    assert_snapshot!(endless.fault(), @r"
    out of fuel: the block has executed 1000 warp instructions and has not ended; is there an endless loop, or a wait for another block?
      in kernel `k` at src/lab.rs:80 (PTX line 27), block (0, 0, 0), thread (0, 0, 0)
    ");
    let mut enough = launch("mov.u32 %r5, 0;");
    enough.options.fuel = 13;
    enough.report();
}

#[test]
fn a_spinning_block_that_waits_for_nobody() {
    let mut spin = launch(
        "$loop:\nld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra $loop;",
    );
    spin.options.fuel = 10_000;
    assert_snapshot!(spin.fault(), @r"
    out of fuel: the block has executed 10000 warp instructions and has not ended; is there an endless loop, or a wait for another block?
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn plain_memory_under_a_lock() {
    // Fences order the accesses of one holder before those of the next.
    let body = |fence: &str| {
        format!(
            "$retry:\natom.global.cas.b32 %r5, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra $retry;\n{fence}\n\
             ld.global.u32 %r6, [%rd1+4];\nadd.u32 %r6, %r6, 1;\nst.global.u32 [%rd1+4], %r6;\n{fence}\n\
             atom.global.exch.b32 %r7, [%rd1], 0;"
        )
    };
    for (block, grid) in [(32, 1), (64, 1), (64, 3)] {
        let kernel = launch(&body("membar.gl;"))
            .block(block)
            .grid(grid)
            .input(0..256);
        assert_eq!(kernel.out()[1], block * grid);
    }
    assert_snapshot!(launch(&body("")).fault(), @r"
    race in global memory: load of byte 4 of buffer `out` and an earlier store by another lane of the warp, with neither a barrier nor a warp barrier between them
      in kernel `k` at src/lab.rs:1 (PTX line 30), block (0, 0, 0), thread (1, 0, 0)
      earlier store at src/lab.rs:1 (PTX line 32), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_trap() {
    let body = ".loc 1 90 1\nsetp.eq.u32 %p1, %r2, 5;\n@%p1 trap;";
    assert_snapshot!(launch(body).fault(), @r"
    trap: the kernel executed `trap`: a panic in Rust, as of an index out of range, a division by zero, an `unwrap` of nothing
      in kernel `k` at src/lab.rs:90 (PTX line 27), block (0, 0, 0), thread (5, 0, 0)
    ");
    launch(body).block(5).report();
    assert_snapshot!(launch("brkpt;").fault(), @r"
    breakpoint: the kernel executed `brkpt`
      in kernel `k` at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_panic_in_a_library_function() {
    // The place is where the user's code called it.
    let scope = ".file 2 \"/usr/lib/rustlib/src/rust/library/core/src/panicking.rs\"\n.func panic()\n{\n.loc 2 80 5\ntrap;\nret;\n}";
    let body = "setp.ne.u32 %p1, %r2, 3;\n@%p1 ret;\n.loc 1 92 7\ncall.uni panic, ();";
    assert_snapshot!(launch(body).module_scope(scope).fault(), @r"
    trap: the kernel executed `trap`: a panic in Rust, as of an index out of range, a division by zero, an `unwrap` of nothing
      in kernel `k` at src/lab.rs:92 (PTX line 34), block (0, 0, 0), thread (3, 0, 0)
    ");
}

#[test]
fn an_invalid_call_and_branch() {
    let table = "ts: .branchtargets $a, $b;\nbrx.idx %r2, ts;\n$a:\nret;\n$b:";
    assert_snapshot!(launch(table).fault(), @r"
    invalid branch: branch to entry 2 of a table of 2
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (2, 0, 0)
    ");
    launch(table).block(2).report();
}

#[test]
fn what_is_not_modelled() {
    let body = ".loc 1 95 1\nwgmma.fence.sync.aligned;";
    assert_snapshot!(launch(body).fault(), @r"
    not supported by the emulated device: instruction `wgmma` (in `wgmma.fence.sync.aligned`)
      in kernel `k` at src/lab.rs:95 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
    // Only where it is reached.
    launch(&format!("bra $past;\n{body}\n$past:")).report();
}

#[test]
fn a_fault_of_a_later_block_and_thread() {
    let body = "setp.eq.u32 %p1, %r3, 45;\n@%p1 trap;";
    assert_snapshot!(launch(body).grid(2).fault(), @r"
    trap: the kernel executed `trap`: a panic in Rust, as of an index out of range, a division by zero, an `unwrap` of nothing
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (1, 0, 0), thread (13, 0, 0)
    ");
}

#[test]
fn impossible_launches() {
    let message = |change: &dyn Fn(&mut common::Launch)| {
        let mut kernel = launch("");
        change(&mut kernel);
        kernel.fault()
    };
    assert_snapshot!(message(&|k| k.config.block = [1025, 1, 1]), @"the block has 1025 in x; the device allows 1024");
    assert_snapshot!(message(&|k| k.config.block = [32, 33, 1]), @"a block of 1056 threads; the device allows 1024");
    assert_snapshot!(message(&|k| k.config.block = [1, 1, 65]), @"the block has 65 in z; the device allows 64");
    assert_snapshot!(message(&|k| k.config.grid = [1, 65536, 1]), @"the grid has 65536 in y; the device allows 65535");
    assert_snapshot!(message(&|k| k.config.grid = [1, 0, 1]), @"the grid is (1, 0, 1): no dimension may be 0");
    assert_snapshot!(message(&|k| k.config.grid = [1 << 20, 1 << 15, 1]), @"a grid of (1048576, 32768, 1) blocks; at most 4294967294 can be run");
    assert_snapshot!(message(&|k| k.config.shared_mem_bytes = 228 << 10), @"233472 bytes of static and dynamic shared memory a block; the device allows 232448");
    assert_snapshot!(launch(".shared .b8 big[50000];\nst.shared.u8 [big], 0;").fault(), @"50000 bytes of static shared memory a block; the device allows 49152");
}

#[test]
fn a_frame_beyond_local_memory() {
    let body = |bytes: u32| format!(".local .align 4 .b8 array[{bytes}];");
    assert_snapshot!(launch(&body(800_000)).fault(), @"kernel `k` needs 800000 bytes of local memory a thread, for arrays and variables that do not fit in registers; the device allows 524288");
    launch(&body(512 << 10)).report();
}

/// The place of code that was inlined out of a function of the user's own names the function's line and the call's.
#[test]
fn an_inlined_function() {
    let body = "sub.u64 %rd5, %rd2, 4;\n.loc 1 20 1 // src/lab.rs:20:1 @[ src/lab.rs:8:5 ]\nld.global.u32 %r5, [%rd5];";
    assert_snapshot!(launch(body).fault(), @r"
    out of bounds: load of 4 bytes at offset -4 of buffer `in` (256 bytes) starts 4 bytes before its start (index -1, length 64)
      in kernel `k` at src/lab.rs:20, called at src/lab.rs:8 (PTX line 27), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn launches_of_what_does_not_exist() {
    let text = launch("").text();
    let mut machine = Machine::default();
    let module = machine
        .load(ptx::Program::parse(&text).expect("valid"))
        .expect("it fits");
    let config = LaunchConfig {
        grid: [1; 3],
        block: [1; 3],
        shared_mem_bytes: 0,
    };
    let fault = machine
        .launch(&module, "wave", &config, &[])
        .expect_err("no such kernel");
    assert_snapshot!(fault.to_string(), @"the module has no kernel `wave`; it has `k`");
    let fault = machine
        .launch(&module, "k", &config, &[0; 16])
        .expect_err("too few bytes");
    assert_snapshot!(fault.to_string(), @"kernel `k` takes 20 bytes of parameters, 16 were given");
    let fault = Machine::default()
        .launch(&module, "k", &config, &[0; 20])
        .expect_err("foreign");
    assert_snapshot!(fault.to_string(), @"the module was not loaded by this machine");
    let full = machine.allocate(1 << 40, "huge").expect_err("too large");
    assert_snapshot!(full.to_string(), @"cannot allocate 1099511627776 bytes for `huge`: 0 of 17179869184 bytes are in use");
    let copy = machine.write(0x1000, &[0; 4]).expect_err("no buffer there");
    assert_snapshot!(copy.to_string(), @"a copy of 4 bytes at address 0x1000 does not lie in one buffer");
}

#[test]
fn block_shapes_that_the_kernel_asks_for() {
    let text = |directive: &str| {
        launch("").text().replacen(
            "in, .param .u32 n)",
            &format!("in, .param .u32 n)\n{directive}"),
            1,
        )
    };
    let fault = |directive: &str| {
        let mut machine = Machine::default();
        let program = ptx::Program::parse(&text(directive)).expect("valid");
        let module = machine.load(program).expect("it fits");
        let config = LaunchConfig {
            grid: [1; 3],
            block: [64, 1, 1],
            shared_mem_bytes: 0,
        };
        machine
            .launch(&module, "k", &config, &[0; 20])
            .map(|_| ())
            .map_err(|f| f.to_string())
    };
    assert_snapshot!(fault(".maxntid 32, 1, 1").expect_err("too many"), @"a block of 64 threads; kernel `k` allows 32");
    assert_snapshot!(fault(".reqntid 32, 2, 1").expect_err("another shape"), @"kernel `k` must be launched with blocks of (32, 2, 1)");
    assert_eq!(fault(".maxntid 64, 1, 1"), Ok(()));
    assert_eq!(fault(".reqntid 64, 1, 1"), Ok(()));
}
