//! Wrong text: the exact message, with line, column and a caret.
//!
//! Unknown instructions: a value with the reason, never an error.

mod common;

use ptx::{Op, Program};

/// A kernel with this body.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.global .u32 g;\n\
         .func (.param .b32 r) f(.param .b32 x);\n.func h(.param .align 8 .b8 s[16]);\n\
         .visible .entry k(.param .u64 a)\n{{\n.reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n\
         .reg .b128 %q<2>;\n.reg .v2 .b32 %v;\n{body}\n}}\n"
    )
}

/// Texts and the errors they give, one after the other.
fn report(texts: &[&str], wrap: impl Fn(&str) -> String) -> String {
    let mut report = String::new();
    for text in texts {
        let error = match Program::parse(&wrap(text)) {
            Ok(_) => panic!("accepted: {text}"),
            Err(error) => error,
        };
        report.push_str(&format!("{text}\n=> {error}\n\n"));
    }
    report
}

#[test]
fn modules() {
    let texts = [
        "",
        "hello",
        ".version seven",
        ".version 8.3 .target",
        ".version 8.3 .address_size 16",
        ".version 8.3 .global .u32 x",
        ".version 8.3 .global x;",
        ".version 8.3 .global .align 3 .u32 x;",
        ".version 8.3 .global .u32 x; .global .u32 x;",
        ".version 8.3 .func x; .global .u32 x;",
        ".version 8.3 .func x { ret; } .func x { ret; }",
        ".version 8.3 .global .u64 x[4294967296];",
        ".version 8.3 .global .u32 x[2] = {1, 2, 3};",
        ".version 8.3 .global .u32 x[2][2] = {1, 2};",
        ".version 8.3 .global .u32 x = {1, 2};",
        ".version 8.3 .global .f32 x = 1;",
        ".version 8.3 .global .u64 x = y;",
        ".version 8.3 .global .u16 x = x;",
        ".version 8.3 .global .u32 x = 0f12;",
        ".version 8.3 .global .b8 x[4] = {0xFF(x), 0xFF00(x)};",
        ".version 8.3 .global .b8 x[4] = {0xFF(x), 0xFF0000(x)};",
        ".version 8.3 .reg .b32 %r;",
        ".version 8.3 .texref t;",
        ".version 8.3 .alias a, b;",
        ".version 8.3 .file one",
        ".version 8.3 .section .debug { .b8 1",
        ".version 8.3 .entry",
        ".version 8.3 .entry k(.param u64 a) { ret; }",
        ".version 8.3 .entry k(.param .u64 a .param .u64 b) { ret; }",
        ".version 8.3 .entry k(.param .u64 a, .param .u64 a) { ret; }",
        ".version 8.3 .entry k .maxntid x { ret; }",
        ".version 8.3 .entry k .frobnicate { ret; }",
        ".version 8.3 .entry k { ret;",
        ".version 8.3 .func f(.reg .b128 q) { ret; }",
        ".version 8.3 /* no end",
        ".version 8.3 .file 1 \"no end",
        ".version 8.3 #define",
        ".version 8.3 .func é { ret; }",
    ];
    insta::assert_snapshot!("modules", report(&texts, str::to_string));
}

#[test]
fn statements() {
    let texts = [
        "ret",
        "add.s32 %r1, %r2, %r3\nret;",
        "add.s32 %r1, %r2 %r3;",
        "add.s32 %r1, , %r3;",
        "@p ret;",
        "@%r1 ret;",
        "@!%p9 ret;",
        "mov.b32 %r9, 0;",
        "mov.b32 %r01, 0;",
        "mov.b32 %r1, nowhere;",
        "add.s32 %r1, %r2;",
        "add.s32 %r1, %d2, %r3;",
        "add.s64 %r1, %d2, %d3;",
        "add.s32 7, %r2, %r3;",
        "add.s32 %r1, [%d1], %r3;",
        "add.s32 %r1, %p1, %r3;",
        "add %r1, %r2, %r3;",
        "mul.s32 %r1, %r2, %r3;",
        "fma.f32 %r1, %r2, %r3, %r0;",
        "min.xorsign.f32 %r1, %r2, %r3;",
        "add.f32 %r1, %r2, 5;",
        "add.f32 %r1, %r2, 0f5;",
        "mov.b32 %r1, 99999999999999999999;",
        "cvt.f32.s32 %r1, %r2;",
        "cvt.u32.u64 %r1, %r2;",
        "setp.s32 %p1, %r1, %r2;",
        "setp.eq.and.s32 %p1, %r1, %r2;",
        "selp.b32 %r1, %r2, %r3, %r0;",
        "ld.global.u32 %r1, %d1;",
        "ld.global.u32 %r1, [%h1];",
        "ld.global.u64 %r1, [%d1];",
        "ld.global.v2.u32 {%r1, %r2, %r3}, [%d1];",
        "ld.global.v2.u32 7, [%d1];",
        "ld.shared.u32 %r1, [g];",
        "ld.param.u64 %d1, [b];",
        "ld.global.u32 %r1, [%d1+%d2];",
        "ld.global.u32 %r1, [f];",
        "st.global.u32 %r1, [%d1];",
        "atom.global.u32 %r1, [%d1], %r2;",
        "atom.global.cas.b32 %r1, [%d1], %r2;",
        "fence.sc;",
        "lop3.b32 %r1, %r2, %r3, %r0, 256;",
        "bra nowhere;",
        "bra 7;",
        "brx.idx %r1, nowhere;",
        "L: ret; L: ret;",
        "{ L: ret; } bra L;",
        "call nobody;",
        "call (%r1), f;",
        "call f, (%r1);",
        "call (%r1), f, (%d1);",
        "call (%r1), f, (%r1, %r2);",
        "call h, (%d1);",
        "{ .param .align 8 .b8 s[8]; call h, (s); }",
        "call (%r1, f;",
        ".reg .b32 %r<7>;",
        ".reg .b32 x; .reg .b32 x;",
        ".reg .b32 x[4];",
        ".local .b8 l[4294967295];",
        "= ret;",
        "{ ret;",
        ".loc 1 2;",
        ".pragma nounroll;",
    ];
    insta::assert_snapshot!("statements", report(&texts, kernel));
}

#[test]
fn long_lines_are_cut() {
    let text = format!(
        ".version 8.3 .func {}bad( ; {}",
        "f() ; .func ".repeat(20),
        "// tail ".repeat(40)
    );
    insta::assert_snapshot!("long_line", Program::parse(&text).unwrap_err().to_string());
}

#[test]
fn nesting_is_limited() {
    let text = kernel(&format!(
        "{}ret;{}",
        "{".repeat(100_000),
        "}".repeat(100_000)
    ));
    let error = Program::parse(&text).unwrap_err();
    assert_eq!(error.kind.to_string(), "blocks nest deeper than 64");
    let text = format!(
        ".version 8.3 .global .u32 x[1] = {}1{};",
        "{".repeat(100_000),
        "}".repeat(100_000)
    );
    assert_eq!(
        Program::parse(&text).unwrap_err().kind.to_string(),
        "initialiser nests deeper than 16"
    );
}

#[test]
fn what_is_not_modelled_is_a_value() {
    let texts = [
        "wgmma.fence.sync.aligned;",
        "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%d1, {%r1, %r2}];",
        "frobnicate.x %r1, <what>, ever;",
        "@%p1 mbarrier.init.shared.b64 [%r1], 32;",
        "add.f16 %h1, %h2, %h3;",
        "add.rn.f32x2 %d1, %d2, %d3;",
        "add.rn.s32 %r1, %r2, %r3;",
        "min.u16x2.relu %r1, %r2, %r3;",
        "mul.f64.ftz %d1, %d2, %d3;",
        "ex2.approx.f64 %d1, %d2;",
        "setp.ltu.s32 %p1, %r1, %r2;",
        "cvt.rzi.relu.s32.f32 %r1, %r2;",
        "cvt.rna.tf32.f32 %r1, %r2;",
        "cvt.rn.satfinite.e4m3x2.f32 %h1, %r1, %r2;",
        "mov.b128 %q1, {%d1, %d2};",
        "mov.b64 %d1, %q1;",
        "mov.b32 %r1, %v;",
        "mov.b32 %r1, %v.x;",
        "mov.u32 %r1, %cluster_ctarank;",
        "mov.u32 %r1, %envreg3;",
        "mov.v4.u32 {%r0, %r1, %r2, %r3}, %tid;",
        "ld.shared::cluster.u32 %r1, [%r2];",
        "ld.release.gpu.global.u32 %r1, [%d1];",
        "st.acquire.gpu.global.u32 [%d1], %r1;",
        "ld.mmio.relaxed.sys.global.u32 %r1, [%d1];",
        "atom.global.add.noftz.f16 %h1, [%d1], %h2;",
        "atom.global.v2.f32.add {%r0, %r1}, [%d1], {%r2, %r3};",
        "red.async.relaxed.cluster.global.add.u32 [%d1], %r2;",
        "fence.proxy.async;",
        "cp.async.bulk.commit_group;",
        "barrier.cluster.arrive;",
        "shfl.up.b32 %r1, %r2, 1, 0;",
        "vote.all.pred %p1, %p2;",
        "redux.sync.min.f32 %r1, %r2, -1;",
        "call (%r1), %d1, (%r2);",
        "exit.uni;",
    ];
    let mut report = String::new();
    for text in texts {
        let program = Program::parse(&kernel(text)).unwrap_or_else(|e| panic!("{e}"));
        common::assert_well_formed(&program);
        match &program.kernel("k").unwrap().instructions[0].op {
            Op::Unsupported(what) => report.push_str(&format!("{text}\n    {}\n", what.reason)),
            other => panic!("{text}: {other:?}"),
        }
    }
    insta::assert_snapshot!("unsupported", report);
}
