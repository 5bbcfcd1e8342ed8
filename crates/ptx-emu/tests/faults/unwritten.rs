//! Reads of unwritten memory.

use insta::assert_snapshot;
use ptx_emu::{Machine, Sanitize, Schedule};

use crate::common::{Launch, launch, load, one_block};

#[test]
fn unwritten_global_memory() {
    let body = ".loc 1 9 2\nld.global.u32 %r5, [%rd3];\n.loc 1 10 1\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%rd3], %r5;";
    assert_snapshot!(launch(body).out_unwritten().fault(), @r"
    uninitialized read: load of 4 bytes from byte 0 of buffer `out`, which nothing has written before
      in kernel `k` at src/lab.rs:9 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
      at src/lab.rs:10 (PTX line 29), a store to global memory of it
    ");
    launch(body).report();
    let checks = Sanitize {
        uninitialized: false,
        ..Sanitize::ALL
    };
    launch(body).out_unwritten().sanitize(checks).report();
    // Words that the kernel itself wrote count.
    launch("st.global.u32 [%rd3], %r2;\nld.global.u32 %r5, [%rd3];")
        .out_unwritten()
        .report();
}

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

#[test]
fn unwritten_shared_memory() {
    let read =
        "mov.u32 %r5, tile;\nld.shared.u32 %r6, [%r5+64];\n.loc 1 2 1\nst.global.u32 [%rd3], %r6;";
    let tile = ".shared .align 4 .b8 tile[128];";
    assert_snapshot!(launch(&format!("{tile}\n{read}")).fault(), @r"
    uninitialized read: load of 4 bytes from element 16 (byte 64) of shared array `tile`, which nothing has written before
      in kernel `k` at src/lab.rs:1 (PTX line 27), block (0, 0, 0), thread (0, 0, 0)
      at src/lab.rs:2 (PTX line 29), a store to global memory of it
    ");
    let write = "shl.b32 %r7, %r2, 2;\nmov.u32 %r8, tile;\nadd.u32 %r8, %r8, %r7;\n\
                 st.shared.u32 [%r8], %r2;\nbar.sync 0;";
    launch(&format!("{tile}\n{write}\n{read}")).report();
    // The next block starts from the beginning.
    let first_only = "mov.u32 %r9, %ctaid.x;\nsetp.eq.u32 %p1, %r9, 0;\nmov.u32 %r8, tile;\n\
                      @%p1 st.shared.u32 [%r8+64], 1;\nbar.sync 0;";
    launch(&format!("{tile}\n{first_only}\n{read}"))
        .block(1)
        .report();
    assert_snapshot!(launch(&format!("{tile}\n{first_only}\n{read}")).block(1).grid(2).fault(), @r"
    uninitialized read: load of 4 bytes from element 16 (byte 64) of shared array `tile`, which nothing has written before
      in kernel `k` at src/lab.rs:1 (PTX line 32), block (1, 0, 0), thread (0, 0, 0)
      at src/lab.rs:2 (PTX line 34), a store to global memory of it
    ");
}

/// A launch whose threads have 16 words of local memory at `%rd9`, generic at `%rd10`. The
/// first word is written; `%rd11` is the address of the word of the thread's number.
fn local(body: &str) -> Launch {
    launch(&format!(
        ".local .align 8 .b8 a[64];\n.shared .align 8 .b8 s[256];\nmov.u64 %rd9, a;\ncvta.local.u64 %rd10, %rd9;\n\
         and.b32 %r10, %r2, 15;\nmul.wide.u32 %rd11, %r10, 4;\nadd.u64 %rd11, %rd9, %rd11;\n\
         st.local.u32 [a], 7;\n.loc 1 5 1\n{body}"
    ))
}

#[test]
fn unwritten_local_memory() {
    let text = local("ld.local.u32 %r5, [%rd11];\n.loc 1 6 1\nst.global.u32 [%rd3], %r5;").fault();
    assert_snapshot!(text, @r"
    uninitialized value: a store to global memory of a value that nothing has set: a variable or an array element, read before it is written
      in kernel `k` at src/lab.rs:6 (PTX line 36), block (0, 0, 0), thread (1, 0, 0)
      last read of unwritten local memory at src/lab.rs:5 (PTX line 34)
    ");
    // By a generic address, and through arithmetic.
    let read = "ld.f32 %f1, [%rd10+8];\nadd.f32 %f1, %f1, 0f3f800000;";
    assert_snapshot!(local(&format!("{read}\n.loc 1 6 1\nst.global.f32 [%rd3], %f1;")).fault(), @r"
    uninitialized value: a store to global memory of a value that nothing has set: a variable or an array element, read before it is written
      in kernel `k` at src/lab.rs:6 (PTX line 37), block (0, 0, 0), thread (0, 0, 0)
      last read of unwritten local memory at src/lab.rs:5 (PTX line 34)
    ");
    // A read of the written word is allowed, though others are not written.
    let index =
        "setp.ne.u32 %p1, %r10, 0;\n@%p1 st.local.u32 [%rd11], 9;\nld.local.u32 %r5, [%rd11];";
    local(&format!("{index}\nst.global.u32 [%rd3], %r5;")).report();
    // Nor is what is not used.
    local("ld.local.u32 %r5, [%rd9+4];\nadd.u32 %r6, %r5, 1;\nst.local.u32 [%rd9+8], %r6;")
        .report();
    let checks = Sanitize {
        uninitialized: false,
        ..Sanitize::ALL
    };
    local(&format!("{read}\nst.global.f32 [%rd3], %f1;"))
        .sanitize(checks)
        .report();
}

#[test]
fn where_an_unset_value_matters() {
    let used = |body: &str| {
        let text = local(&format!("ld.local.u32 %r5, [%rd9+4];\n{body}")).fault();
        let (first, _) = text.split_once(':').unwrap();
        assert_eq!(first, "uninitialized value", "{text}");
        let (_, used) = text.split_once(": ").unwrap();
        used.split_once(" a value").unwrap().0.to_owned()
    };
    let condition = "a condition depends on";
    let cases = [
        ("setp.lt.u32 %p1, %r5, 9;\n@%p1 bra L;\nL:", condition),
        // Also where its value says that the instruction does nothing.
        (
            "setp.eq.u32 %p1, %r5, %r5;\n@!%p1 st.local.u32 [a], 1;",
            condition,
        ),
        (
            "and.b32 %r6, %r5, 3;\nmul.wide.u32 %rd20, %r6, 4;\nadd.u64 %rd20, %rd20, %rd1;\nst.global.u32 [%rd20], 1;",
            "the address of an access depends on",
        ),
        (
            "atom.global.add.u32 %r6, [%rd1], %r5;",
            "an operand of `atom` depends on",
        ),
        (
            "shfl.sync.idx.b32 %r6, 0, %r5, 31, -1;",
            "an operand of `shfl` depends on",
        ),
        // A shuffle passes it on.
        (
            "shfl.sync.idx.b32 %r6, %r5, 0, 31, -1;\nst.global.u32 [%rd3], %r6;",
            "a store to global memory of",
        ),
        (
            "setp.gt.u32 %p1, %r5, 1;\nvote.sync.any.pred %p2, %p1, -1;",
            "an operand of `vote` depends on",
        ),
        (
            "L: .branchtargets M;\nbrx.idx %r5, L;\nM:",
            "an operand of `brx` depends on",
        ),
        (
            "ld.local.v2.u32 {%r6, %r7}, [%rd9];\nst.global.v2.u32 [%rd1], {%r6, %r7};",
            "a store to global memory of",
        ),
        (
            "setp.gt.u32 %p1, %r5, 1;\nselp.u32 %r6, 1, 2, %p1;\nst.global.u32 [%rd1], %r6;",
            "a store to global memory of",
        ),
        (
            "shl.b32 %r6, %r5, 4;\nor.b32 %r6, %r6, 15;\nadd.u32 %r6, %r6, 1;\nsetp.eq.u32 %p1, %r6, 16;\n@%p1 bra L;\nL:",
            condition,
        ),
        // In a register that only one path writes.
        (
            "setp.gt.u32 %p1, %r2, 7;\n@%p1 mov.u32 %r6, 1;\nst.global.u32 [%rd3], %r6;",
            "a store to global memory of",
        ),
        ("st.global.u32 [%rd3], %r60;", "a store to global memory of"),
    ];
    for (body, expected) in cases {
        assert_eq!(used(body), expected, "{body}");
    }
    // Shared memory that gets such a value stays unwritten.
    let shared = "ld.local.u32 %r5, [%rd9+4];\nst.shared.u32 [s], %r5;\nld.shared.u32 %r6, [s];\nst.global.u32 [%rd3], %r6;";
    assert_snapshot!(local(shared).block(1).fault(), @r"
    uninitialized read: load of 4 bytes from element 0 (byte 0) of shared array `s`, which nothing has written before
      in kernel `k` at src/lab.rs:5 (PTX line 36), block (0, 0, 0), thread (0, 0, 0)
      at src/lab.rs:5 (PTX line 37), a store to global memory of it
    ");
}

#[test]
fn unset_bits_that_do_not_matter() {
    let programs = [
        // A structure with padding: a word and a byte, copied as 8 bytes, twice.
        "st.local.u8 [%rd9+4], 3;\nld.local.b64 %rd20, [%rd9];\nst.local.b64 [%rd9+16], %rd20;\n\
         ld.b64 %rd21, [%rd10+16];\nmov.b64 {%r5, %r6}, %rd21;\nand.b32 %r6, %r6, 255;\nadd.u32 %r5, %r5, %r6;\n\
         st.global.u32 [%rd3], %r5;",
        "st.local.u8 [%rd9+4], 3;\nld.local.b64 %rd20, [%rd9];\nshr.u64 %rd20, %rd20, 32;\ncvt.u32.u64 %r5, %rd20;\n\
         cvt.u32.u8 %r6, %r5;\nprmt.b32 %r7, %r5, 0, 17472;\nbfe.u32 %r8, %r5, 0, 8;\nadd.u32 %r5, %r6, %r7;\n\
         add.u32 %r5, %r5, %r8;\nst.global.u32 [%rd3], %r5;",
        // The payload of an empty option, on which nothing depends in the end.
        "setp.gt.u32 %p1, %r2, 7;\n@!%p1 bra L;\nmov.u32 %r5, 5;\nL:\nadd.u32 %r6, %r5, 1;\nsetp.gt.u32 %p2, %r6, 2;\n\
         and.pred %p3, %p1, %p2;\n@!%p3 bra M;\nst.global.u32 [%rd3], %r6;\nM:\nselp.u32 %r7, %r6, 0, %p1;\n\
         st.global.u32 [%rd3], %r7;\nnot.pred %p4, %p1;\nor.pred %p4, %p4, %p2;\n@%p4 st.global.u32 [%rd3], 1;",
    ];
    for program in programs {
        local(program).report();
    }
    assert_eq!(local(programs[0]).out()[3], 10);
    assert_eq!(local(programs[1]).out()[3], 9);
    // Global memory that gets the unset part of an element stays unwritten.
    let program =
        "ld.local.b64 %rd20, [%rd9];\nst.global.b64 [%rd1], %rd20;\nld.global.u32 %r6, [%rd1];";
    assert_eq!(local(program).block(1).out()[..2], [7, 0xa5a5_a5a5]);
    let half = "mov.b64 %rd20, {%r2, %r60};\nst.global.b64 [%rd1], %rd20;";
    assert_eq!(local(half).block(1).out()[..2], [0, 0xa5a5_a5a5]);
    let text = local(&format!(
        "{program}\nld.global.u32 %r6, [%rd1+4];\nadd.u32 %r6, %r6, 1;\nst.global.u32 [%rd1], %r6;"
    ));
    assert_snapshot!(text.block(1).fault(), @r"
    uninitialized read: load of 4 bytes from byte 4 of buffer `out`, which nothing has written before
      in kernel `k` at src/lab.rs:5 (PTX line 37), block (0, 0, 0), thread (0, 0, 0)
      at src/lab.rs:5 (PTX line 39), a store to global memory of it
    ");
}

#[test]
fn unset_values_through_calls() {
    // Local memory of an earlier call, and a structure that is passed with its padding.
    let functions = "
        .func (.param .b32 r) f(.param .align 8 .b8 s[8], .param .b32 n) {
            .reg .b32 %a<4>; .reg .pred %q; .reg .b64 %b;
            .local .align 4 .b8 x[8];
            ld.param.b64 %b, [s];
            cvt.u32.u64 %a1, %b;
            ld.param.u32 %a2, [n];
            setp.eq.u32 %q, %a2, 0;
            @%q st.local.u32 [x], 1;
            ld.local.u32 %a3, [x];
            add.u32 %a1, %a1, %a3;
            st.param.b32 [r], %a1;
            ret;
        }";
    let call = |n: u32, to: &str| {
        format!(
            "{{ .param .align 8 .b8 s[8]; .param .b32 n; .param .b32 r;\nst.param.b32 [s], 5;\nst.param.b32 [n], {n};\n\
             call (r), f, (s, n);\nld.param.b32 {to}, [r]; }}\n"
        )
    };
    let program = |n: u32| {
        let calls = call(0, "%r5") + &call(n, "%r6");
        launch(&format!("{calls}st.global.u32 [%rd3], %r6;")).module_scope(functions)
    };
    assert_eq!(program(0).out()[0], 6);
    assert_snapshot!(program(1).fault(), @r"
    uninitialized value: a store to global memory of a value that nothing has set: a variable or an array element, read before it is written
      in kernel `k` at src/lab.rs:1 (PTX line 48), block (0, 0, 0), thread (0, 0, 0)
      last read of unwritten local memory at PTX line 14
    ");
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
fn unwritten_shared_memory_that_does_no_harm() {
    // Loaded and thrown away, selected away, copied, passed on by a shuffle to lanes that do not
    // use it.
    let load = "ld.shared.u32 %r7, [%r6];\n";
    let programs = [
        "",
        "add.u32 %r8, %r7, 1;\nselp.u32 %r8, %r8, 7, %p1;\nst.global.u32 [%rd3], %r8;",
        "st.shared.u32 [%r6+128], %r7;\nbar.sync 0;\n@%p1 ld.shared.u32 %r8, [%r6+128];\n@%p1 st.global.u32 [%rd3], %r8;",
        "shfl.sync.up.b32 %r8|%p2, %r7, 1, 0, -1;\n@%p2 add.u32 %r8, %r8, 1;\n@%p1 st.global.u32 [%rd3], %r8;",
        "and.b32 %r8, %r7, 0;\nst.global.u32 [%rd3], %r8;",
    ];
    for program in programs {
        for seed in 0..3 {
            let kernel = tile(&format!("{load}{program}"));
            kernel.schedule(Schedule::Random { seed }).report();
        }
    }
    // An inclusive scan by shuffles, whose last sums are not used (NVIDIA's `shfl_scan`).
    let scan: String = [1, 2, 4, 8, 16]
        .map(|step| {
            format!("shfl.sync.up.b32 %r8|%p2, %r7, {step}, 0, -1;\n@%p2 add.u32 %r7, %r7, %r8;\n")
        })
        .concat();
    let scan = format!("{load}{scan}@%p1 st.global.u32 [%rd3], %r7;");
    assert_eq!(tile(&scan).out()[29], (0..30).sum());
}

#[test]
fn where_unwritten_shared_memory_matters() {
    let used = |body: &str| {
        let text = tile(&format!("ld.shared.u32 %r7, [%r6];\n.loc 1 6 1\n{body}")).fault();
        assert!(
            text.starts_with(
                "uninitialized read: load of 4 bytes from element 30 (byte 120) of shared array `tile`"
            ),
            "{text}"
        );
        let last = text.lines().last().unwrap().trim().to_owned();
        last.split_once(", ").unwrap().1.to_owned()
    };
    assert_eq!(
        used("setp.eq.u32 %p2, %r7, 9;\n@%p2 bra $end;\n$end:"),
        "a condition depends on it"
    );
    assert_eq!(
        used("st.global.u32 [%rd3], %r7;"),
        "a store to global memory of it"
    );
    assert_eq!(
        used("add.u32 %r8, %r6, %r7;\nld.shared.u32 %r9, [%r8];"),
        "the address of an access depends on it"
    );
    assert_eq!(
        used("atom.global.add.u32 %r8, [%rd1], %r7;"),
        "an operand of `atom` depends on it"
    );
    // Through the sum of a warp, and through shared memory.
    let sum = "shfl.sync.bfly.b32 %r8, %r7, 1, 31, -1;\nadd.u32 %r7, %r7, %r8;\nst.global.u32 [%rd3], %r7;";
    tile(&format!("ld.shared.u32 %r7, [%r6];\n{sum}")).fault();
    let copied = "ld.shared.u32 %r7, [%r6];\nst.shared.u32 [%r6+128], %r7;\nbar.sync 0;\nld.shared.u32 %r8, [%r6+128];\n\
                  .loc 1 9 1\nst.global.u32 [%rd3], %r8;";
    assert_snapshot!(tile(copied).fault(), @r"
    uninitialized read: load of 4 bytes from element 30 (byte 120) of shared array `tile`, which nothing has written before
      in kernel `k` at src/lab.rs:5 (PTX line 33), block (0, 0, 0), thread (30, 0, 0)
      at src/lab.rs:9 (PTX line 38), a store to global memory of it
    ");
    // A race is the cause where there is one.
    let race = ".shared .align 4 .b8 tile[128];\nmov.u32 %r5, tile;\nshl.b32 %r6, %r2, 2;\nadd.u32 %r6, %r5, %r6;\n\
                setp.lt.u32 %p1, %r2, 16;\n@%p1 ld.shared.u32 %r7, [%r6+64];\n@%p1 st.global.u32 [%rd3], %r7;\n\
                @!%p1 st.shared.u32 [%r6], %r2;";
    let fault = launch(race).fault();
    assert!(fault.starts_with("race in shared memory"), "{fault}");
}
