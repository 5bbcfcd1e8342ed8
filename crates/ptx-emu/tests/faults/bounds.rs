//! Accesses to where there is nothing, or not for them.

use insta::assert_snapshot;
use ptx_emu::{DeviceLimits, Executable, Machine, Options};

use crate::common::{launch, one_block};

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
        DeviceLimits::default(),
        Options {
            threads: 1,
            ..Options::default()
        },
    );
    let module = machine
        .load(Executable::parse(&text).expect("valid"))
        .expect("it fits");
    let [old, new] = ["old", "new"].map(|name| {
        let buffer = machine.allocate(128, name).expect("it fits");
        machine.write(buffer, &[0; 128]).expect("in bounds");
        buffer
    });
    let config = one_block(32);
    let params = |input: u64| [&0u64.to_le_bytes()[..], &input.to_le_bytes(), &[0; 4]].concat();
    machine
        .launch(&module, "k", &config, params(new))
        .expect("nothing is wrong");
    machine
        .launch(&module, "k", &config, params(old))
        .expect("nothing is wrong");
    assert!(machine.free(old));
    assert!(!machine.free(old));
    let fault = machine
        .launch(&module, "k", &config, params(old))
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
    misaligned access: load of 4 bytes at byte 2 of buffer `in`, address 0x200134800002, which is 2 bytes past a multiple of 4
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
    // A vector must be aligned to its whole size.
    let body = "ld.global.v2.u32 {%r5, %r6}, [%rd4];";
    assert_snapshot!(launch(body).fault(), @r"
    misaligned access: load of 8 bytes at byte 4 of buffer `in`, address 0x200134800004, which is 4 bytes past a multiple of 8
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
