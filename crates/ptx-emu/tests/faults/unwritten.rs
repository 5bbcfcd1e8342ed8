//! Reads of unwritten memory.

use insta::assert_snapshot;
use ptx_emu::{LaunchConfig, Machine, Sanitize};

use crate::common::launch;

#[test]
fn unwritten_global_memory() {
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
    let program =
        ptx_emu::Executable::parse(&launch("ld.global.u8 %r5, [%rd2+9];").text()).unwrap();
    let mut machine = Machine::default();
    let module = machine.load(program).unwrap();
    let [from, to] = ["from", "to"].map(|name| machine.allocate(10, name).unwrap());
    machine.write(from, &[1; 10]).unwrap();
    let params = [&to.to_le_bytes()[..], &from.to_le_bytes(), &[0; 4]].concat();
    let config = LaunchConfig {
        grid: [1; 3],
        block: [1; 3],
        shared_mem_bytes: 0,
        cluster: [1; 3],
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
fn unwritten_shared_memory() {
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
