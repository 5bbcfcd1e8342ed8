//! Reads of unwritten memory.

use ptx_emu::Machine;

use crate::common::{Launch, launch, load, one_block};

#[test]
fn poisoned_memory() {
    let body = "ld.global.u8 %r5, [%rd2+9];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 trap;";
    let mut machine = Machine::default();
    let module = load(&mut machine, &launch(body).text());
    let [from, to] = ["from", "to"].map(|name| machine.allocate(10, name).unwrap());
    machine.write(from, &[1; 10]).unwrap();
    let params = [&to.to_le_bytes()[..], &from.to_le_bytes(), &[0; 4]].concat();
    let config = one_block(1);
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

/// A kernel of one block with 64 words of shared memory, `%r5` and `%r6` the addresses of word 0
/// and of the thread's word. Threads below 30 write theirs, all wait.
fn tile(body: &str) -> Launch {
    launch(&format!(
        ".shared .align 8 .b8 tile[256];\nmov.u32 %r5, tile;\nshl.b32 %r6, %r2, 2;\nadd.u32 %r6, %r5, %r6;\n\
         setp.lt.u32 %p1, %r2, 30;\n@%p1 st.shared.u32 [%r6], %r2;\nbar.sync 0;\n.loc 1 5 1\n{body}"
    ))
}

#[test]
fn a_scan_whose_last_sums_are_not_used() {
    let load = "ld.shared.u32 %r7, [%r6];\n";
    // By shuffles, as in NVIDIA's `shfl_scan`.
    let scan: String = [1, 2, 4, 8, 16]
        .map(|step| {
            format!("shfl.sync.up.b32 %r8|%p2, %r7, {step}, 0, -1;\n@%p2 add.u32 %r7, %r7, %r8;\n")
        })
        .concat();
    let scan = format!("{load}{scan}@%p1 st.global.u32 [%rd3], %r7;");
    assert_eq!(tile(&scan).out()[29], (0..30).sum());
}
