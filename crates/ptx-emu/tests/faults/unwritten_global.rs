//! Global memory that nothing has written may be moved: the copy is as unset. CUDA guide, Device
//! Memory: what `cudaMalloc` gives is not cleared.

use ptx_emu::Machine;

use crate::common::{Launch, launch, load, one_block};

/// One thread and an unwritten buffer `out`, whose word 0 the kernel writes. The values read are
/// those of `out` at `%rd1`; `%rd2` is a buffer that is written.
fn one(body: &str) -> Launch {
    launch(&format!(
        ".shared .align 16 .b8 s[64];\n.local .align 16 .b8 l[64];\n.reg .b64 %w<9>;\nst.global.u32 [%rd1], 3;\n.loc 1 5 1\n{body}"
    ))
    .block(1)
    .out_unwritten()
}

#[test]
fn a_copy_may_move_it() {
    let load = "ld.global.v2.u32 {%r5, %r6}, [%rd1];\n";
    let copies = [
        // A structure with padding, whole and in words, by every way.
        format!("{load}st.global.v2.u32 [%rd2], {{%r5, %r6}};"),
        format!("{load}st.global.u32 [%rd2], %r5;\nst.global.u32 [%rd2+4], %r6;"),
        "ld.global.u64 %rd9, [%rd1];\nst.global.u64 [%rd2], %rd9;".to_owned(),
        "ld.global.u64 %rd9, [%rd1];\nmov.b64 {%r5, %r6}, %rd9;\nmov.b64 %w1, {%r5, %r6};\nst.global.u64 [%rd2], %w1;".to_owned(),
        format!("{load}st.shared.v2.u32 [s], {{%r5, %r6}};\nbar.sync 0;\nld.shared.v2.u32 {{%r7, %r8}}, [s];\nst.global.v2.u32 [%rd2], {{%r7, %r8}};"),
        format!("{load}st.local.v2.u32 [l], {{%r5, %r6}};\nld.local.u32 %r7, [l];\nld.local.u32 %r8, [l+4];\nst.global.u32 [%rd2], %r7;\nst.global.u32 [%rd2+4], %r8;"),
        format!("{load}shfl.sync.bfly.b32 %r7, %r6, 0, 31, 1;\nst.global.u32 [%rd2], %r5;\nst.global.u32 [%rd2+4], %r7;"),
        // Bytes that are put together.
        format!("{load}ld.global.u8 %r7, [%rd1+4];\nld.global.u8 %r8, [%rd1+5];\nshl.b32 %r8, %r8, 8;\nor.b32 %r7, %r7, %r8;\nst.global.u16 [%rd2+4], %r7;\nst.global.u32 [%rd2], %r5;"),
        // A choice between two.
        format!("{load}setp.eq.u32 %p1, %r1, 64;\nselp.b32 %r7, %r6, %r5, %p1;\nst.global.u32 [%rd2+4], %r7;\nst.global.u32 [%rd2], %r5;"),
        "cp.async.ca.shared.global [s], [%rd1], 8;\ncp.async.wait_all;\nld.shared.u64 %rd9, [s];\nst.global.u64 [%rd2], %rd9;".to_owned(),
        // By generic addresses.
        "ld.u64 %rd9, [%rd1];\nst.u64 [%rd2], %rd9;".to_owned(),
        // A field of bits is set, in a word that is not.
        "ld.global.u32 %r5, [%rd1+8];\nbfi.b32 %r5, 5, %r5, 2, 3;\nst.global.u32 [%rd1+8], %r5;\nld.global.u32 %r6, [%rd1+8];\nbfe.u32 %r6, %r6, 2, 3;\nsetp.ne.u32 %p1, %r6, 5;\n@%p1 trap;".to_owned(),
        "ld.global.u32 %r5, [%rd1+8];\nand.b32 %r5, %r5, 0xfffffff0;\nor.b32 %r5, %r5, 5;\nst.global.u32 [%rd1+8], %r5;\nld.global.u32 %r6, [%rd1+8];\nand.b32 %r6, %r6, 15;\nsetp.ne.u32 %p1, %r6, 5;\n@%p1 trap;".to_owned(),
        // An exchange whose result nothing reads is a store.
        "atom.global.exch.b32 %r9, [%rd1+8], 4;\nld.global.u32 %r5, [%rd1+8];\nadd.u32 %r5, %r5, %r5;\nst.global.u32 [%rd2], 3;".to_owned(),
    ];
    for copy in &copies {
        let kernel = one(copy);
        let mut machine = Machine::new(kernel.limits.clone(), kernel.options.clone());
        let outcome = kernel.run_on(&mut machine);
        assert!(
            outcome.result.is_ok(),
            "{copy}\n{}",
            outcome.result.unwrap_err()
        );
        // The copy stays unset: a use of it is told.
        if copy.contains("[%rd2+4]") || copy.contains("st.global.v2") {
            let text = one(&format!(
                "{copy}\nld.global.u32 %r10, [%rd2+4];\nsetp.eq.u32 %p2, %r10, 1;\n@%p2 trap;"
            ))
            .fault();
            assert!(
                text.starts_with("uninitialized read: load of 4 bytes from byte 4 of buffer `in`"),
                "{copy}\n{text}"
            );
        }
    }
}

/// A copy of unset bytes looks as they do: on a GPU both are equal.
#[test]
fn a_copy_is_equal_to_what_it_copies() {
    let body = "ld.global.v2.u32 {%r5, %r6}, [%rd2];\nst.global.v2.u32 [%rd1], {%r5, %r6};";
    let mut machine = Machine::default();
    let module = load(&mut machine, &launch(body).text());
    let [from, to] = ["from", "to"].map(|name| machine.allocate(8, name).unwrap());
    machine.poison(from, 0x5c);
    machine.write(from, &[1, 2, 3, 4]).unwrap();
    let params = [&to.to_le_bytes()[..], &from.to_le_bytes(), &[0; 4]].concat();
    let config = one_block(1);
    machine.launch(&module, "k", &config, &params).unwrap();
    let mut bytes = [0; 8];
    machine.read(to, &mut bytes).unwrap();
    assert_eq!(bytes, [1, 2, 3, 4, 0x5c, 0x5c, 0x5c, 0x5c]);
}
