//! Buffers that are freed, and memory of one thread.

use insta::assert_snapshot;
use ptx_emu::{DeviceLimits, Executable, Machine, Options};

use crate::common::{launch, one_block};

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
fn each_thread_has_its_local_memory() {
    let body = ".local .align 4 .b8 array[16];\nmov.u32 %r5, array;\nadd.u32 %r5, %r5, 12;\n\
                st.local.u32 [%r5], %r2;\nld.local.u32 %r6, [%r5];\nst.global.u32 [%rd3], %r6;";
    assert_eq!(launch(body).out()[..32], (0..32).collect::<Vec<_>>());
}
