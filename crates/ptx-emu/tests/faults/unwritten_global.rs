//! Global memory that nothing has written, read: a fault where it decides something, and none where
//! it is moved. CUDA guide, Device Memory: what `cudaMalloc` gives is not cleared.

use insta::assert_snapshot;
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

/// How a value in `%r5`, which is loaded from the unwritten word 1, is used, by the fault's last
/// line.
fn used(body: &str) -> String {
    let text = one(&format!("ld.global.u32 %r5, [%rd1+4];\n.loc 1 6 1\n{body}")).fault();
    let first = "uninitialized read: load of 4 bytes from byte 4 of buffer `out`, which nothing has written before";
    assert_eq!(text.lines().next(), Some(first), "{body}: {text}");
    let last = text.lines().last().unwrap_or_default();
    last.split_once(", ")
        .map_or("", |(_, used)| used)
        .to_owned()
}

#[test]
fn where_it_matters() {
    let (condition, stored) = (
        "a condition depends on it",
        "a store to global memory of it",
    );
    let cases = [
        ("setp.eq.u32 %p1, %r5, 7;\n@%p1 bra L;\nL:", condition),
        (
            "cvt.u64.u32 %rd9, %r5;\nadd.u64 %rd9, %rd9, %rd2;\nld.global.u32 %r6, [%rd9];",
            "the address of an access depends on it",
        ),
        ("add.u32 %r6, %r5, 1;\nst.global.u32 [%rd2], %r6;", stored),
        (
            "cvt.rn.f32.u32 %f1, %r5;\nst.global.f32 [%rd2], %f1;",
            stored,
        ),
        ("xor.b32 %r6, %r5, %r1;\nst.global.u32 [%rd2], %r6;", stored),
        (
            "atom.global.add.u32 %r6, [%rd2], %r5;",
            "an operand of `atom` depends on it",
        ),
        (
            "shfl.sync.idx.b32 %r6, %r5, 0, 31, 1;\nadd.u32 %r6, %r6, 1;\nst.global.u32 [%rd2], %r6;",
            stored,
        ),
        // Through other memory, and back.
        (
            "st.shared.u32 [s], %r5;\nld.shared.u32 %r6, [s];\nadd.u32 %r6, %r6, 1;\nst.global.u32 [%rd2], %r6;",
            stored,
        ),
        (
            "st.local.u32 [l], %r5;\nld.local.u32 %r6, [l];\nadd.u32 %r6, %r6, 1;\nst.global.u32 [%rd2], %r6;",
            stored,
        ),
        (
            "{ .param .b32 a; .param .b32 b;\nst.param.b32 [a], %r5;\ncall (b), twice, (a);\nld.param.b32 %r6, [b]; }\nst.global.u32 [%rd2], %r6;",
            stored,
        ),
    ];
    let twice = ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %a; ld.param.b32 %a, [a]; add.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }";
    for (body, expected) in cases {
        if body.contains("call") {
            let load = "ld.global.u32 %r5, [%rd1+4];\n.loc 1 6 1\n";
            let text = one(&format!("{load}{body}")).module_scope(twice).fault();
            assert!(
                text.starts_with("uninitialized read: load of 4 bytes from byte 4"),
                "{text}"
            );
            assert!(text.ends_with(expected), "{text}");
            continue;
        }
        assert_eq!(used(body), expected, "{body}");
    }
    // The value is told by its own load, not by the latest one that brought something unset.
    let padding = "ld.global.u32 %r7, [%rd1+12];\nst.global.u32 [%rd2], %r7;\nadd.u32 %r6, %r5, 1;\nst.global.u32 [%rd2], %r6;";
    assert_eq!(used(padding), stored);
    // A sum of several is told by the first.
    let sum = "mov.u32 %r6, 0;\nmov.u32 %r7, 0;\n$L:\nadd.u32 %r6, %r6, %r5;\nadd.u64 %rd1, %rd1, 4;\nld.global.u32 %r5, [%rd1];\n\
               add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 5;\n@%p1 bra $L;\nst.global.u32 [%rd2], %r6;";
    let text = one(&format!("ld.global.u32 %r5, [%rd1];\n{sum}")).fault();
    assert!(text.contains("from byte 4 of buffer `out`"), "{text}");
}

#[test]
fn the_unset_bytes_are_named() {
    let fault =
        |body: &str| one(&format!("{body}\n.loc 1 6 1\nst.global.u32 [%rd2], %r6;")).fault();
    assert_snapshot!(fault("ld.global.v2.u32 {%r5, %r6}, [%rd1];\nadd.u32 %r6, %r6, 1;"), @r"
    uninitialized read: load of 8 bytes from byte 0 of buffer `out`, whose bytes 4 to 7 nothing has written before
      in kernel `k` at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
      at src/lab.rs:6 (PTX line 33), a store to global memory of it
    ");
    let two = "st.global.u8 [%rd1+9], 1;\nld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1];\nadd.u32 %r6, %r8, 1;";
    assert!(fault(two).contains("whose bytes 4 to 8 and 10 to 15 nothing has written before\n"));
    let more = "st.global.u8 [%rd1+5], 1;\nst.global.u8 [%rd1+7], 1;\nld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1];\nadd.u32 %r6, %r8, 1;";
    assert!(fault(more).contains("whose bytes 4, 6 and others nothing has written before\n"));
    // An atomic needs all of what it updates.
    let text = one("atom.global.add.u64 %rd9, [%rd1], 1;").fault();
    assert!(text.contains("atomic operation of 8 bytes from byte 0 of buffer `out`, whose bytes 4 to 7 nothing has written before"), "{text}");
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

#[test]
fn bulk_and_asynchronous_copies_pass_it_on() {
    let use_it =
        "ld.shared.u32 %r6, [s+4];\nadd.u32 %r6, %r6, 1;\n.loc 1 7 1\nst.global.u32 [%rd2], %r6;";
    let copy = "cp.async.ca.shared.global [s], [%rd1], 8;\ncp.async.wait_all;\n";
    assert_snapshot!(one(&format!("{copy}{use_it}")).fault(), @r"
    uninitialized read: load of 8 bytes from byte 0 of buffer `out`, whose bytes 4 to 7 nothing has written before
      in kernel `k` at src/lab.rs:5 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
      at src/lab.rs:7 (PTX line 35), a store to global memory of it
    ");
    let bulk = ".shared .align 8 .b64 bar;\nmbarrier.init.shared::cta.b64 [bar], 1;\nfence.proxy.async;\n\
        mbarrier.arrive.expect_tx.shared::cta.b64 %w1, [bar], 16;\n\
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 16, [bar];\n\
        $wait: mbarrier.test_wait.shared::cta.b64 %p1, [bar], %w1;\n@!%p1 bra $wait;\n";
    let text = one(&format!("{bulk}{use_it}")).fault();
    assert!(text.starts_with("uninitialized read: load of 16 bytes from byte 0 of buffer `out`, whose bytes 4 to 15 nothing has written before"), "{text}");
    // And back to global memory.
    let back = "fence.proxy.async;\ncp.async.bulk.global.shared::cta.bulk_group [%rd2], [s], 16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
    one(&format!("{bulk}{back}")).report();
    let text = one(&format!(
        "{bulk}{back}ld.global.u32 %r5, [%rd2+4];\nsetp.eq.u32 %p1, %r5, 1;\n@%p1 trap;"
    ))
    .fault();
    assert!(
        text.starts_with("uninitialized read: load of 4 bytes from byte 4 of buffer `in`"),
        "{text}"
    );
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
