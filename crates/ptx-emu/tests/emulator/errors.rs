//! Wrong instructions: the exact message, with line, column and a caret.
//!
//! Unknown instructions: a value with the reason, never an error.

use ptx_emu::Executable;

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
        let error = match Executable::parse(&wrap(text)) {
            Ok(_) => panic!("accepted: {text}"),
            Err(error) => error,
        };
        report.push_str(&format!("{text}\n=> {error}\n\n"));
    }
    report
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
        "lop3.b32 %r1, %r2, %r3, %r0, %r1;",
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

/// Each is refused by `ptxas` 13.5 too.
#[test]
fn what_no_driver_loads() {
    let body = |version: &str, scope: &str, text: &str| {
        let error = Executable::parse(&format!(
            ".version {version}\n.address_size 64\n{scope}\n.visible .entry k(.param .u64 a)\n{{\n.reg .pred %p<4>;\n\
             .reg .b16 %h<4>;\n.reg .b32 %r<40>;\n.reg .b64 %d<4>;\n.reg .f64 %fd<4>;\n{text}\nret;\n}}\n"
        ));
        error.map(|_| ()).map_err(|error| error.to_string())
    };
    let sm_90 = "8.0\n.target sm_90";
    let refused = |scope: &str, text: &str, expected: &str| {
        let error = body(sm_90, scope, text).expect_err(text);
        assert!(error.contains(expected), "{scope} {text}: {error}");
    };
    for text in [
        "vote.ballot.b32 %r1, %p1;",
        "vote.all.pred %p1, %p2;",
        "shfl.idx.b32 %r1, %r2, 0, 31;",
        "shfl.down.b32 %r1|%p1, %r2, 1, 31;",
    ] {
        let opcode = text.split('.').next().unwrap_or_default();
        let expected = format!("PTX has no `{opcode}` without `.sync` for sm_70 and higher");
        refused("", text, &expected);
        assert!(body("6.4\n.target sm_70", "", text).is_err());
        for older in [
            "6.3\n.target sm_70",
            "8.0\n.target sm_60",
            "3.2\n.target sm_30",
        ] {
            assert_eq!(body(older, "", text), Ok(()), "{older} {text}");
        }
    }
    refused(
        "",
        "match.any.b32 %r1, %r2, 1;",
        "`match` lacks its `.sync`",
    );
    refused(
        "",
        "redux.add.s32 %r1, %r2, 1;",
        "`redux` lacks its `.sync`",
    );
    let initial = "has an initial value: only .global and .const variables may have one";
    for text in [".shared .u32 s = 5;", ".shared .u32 s[2] = {1, 2};"] {
        refused(text, "", initial);
        refused("", text, initial);
    }
    for text in [
        ".local .u32 s = 5;",
        ".reg .u32 s = 5;",
        ".param .u32 s = 5;",
    ] {
        refused("", text, initial);
    }
    refused(
        ".extern .global .u32 s = 5;",
        "",
        "is .extern and has an initial value",
    );
    let bytes = "the constant variables take 65537 bytes; a module has 65536";
    refused(".const .b8 s[65537];", "", bytes);
    refused("", ".const .b8 s[65537];", bytes);
    refused(
        ".const .b8 z;\n.const .u32 w;\n.const .b8 y;\n.const .b8 s[65528];",
        "",
        bytes,
    );
    assert_eq!(
        body(sm_90, ".const .b8 z;\n.const .align 16 .b8 s[65520];", ""),
        Ok(())
    );
    for text in [
        ".reg .u32 %q<4>; .reg .u32 %q1;",
        ".reg .u32 %q1; .reg .u32 %q<4>;",
        ".reg .u32 %q<4>; .reg .f32 %q1;",
        ".reg .u32 %q<4>; .local .u32 %q1;",
        ".reg .u32 %r1; mov.u32 %r1, 1;",
        ".reg .u32 %q<4>; mov.u32 %q1, 1; .reg .u32 %q1;",
    ] {
        refused("", text, "1` is declared twice, first at");
    }
    for text in [
        ".reg .u32 %q<4>; .reg .u32 %q4; mov.u32 %q4, 1;",
        ".reg .u32 %q<4>; .reg .u32 %q1<5>; mov.u32 %q13, 1;",
        ".reg .u32 %q<4>; { .reg .u32 %q1; mov.u32 %q1, 1; }",
        "{ .reg .u32 %q1; } .reg .u32 %q<4>; mov.u32 %q1, 1;",
    ] {
        assert_eq!(body(sm_90, "", text), Ok(()), "{text}");
    }
    for (text, expected) in [
        (
            "atom.global.max.f64 %fd1, [%d1], %fd2;",
            "PTX has no `atom.global.max` of type .f64",
        ),
        (
            "atom.global.and.u32 %r1, [%d1], %r2;",
            "PTX has no `atom.global.and` of type .u32",
        ),
        (
            "red.global.inc.u64 [%d1], %d2;",
            "PTX has no `red.global.inc` of type .u64",
        ),
        (
            "ld.global.v2.u4 {%d1, %d2}, [%d3];",
            "PTX has no type `.u4` for `ld`",
        ),
        (
            "ld.global.i32 %r1, [%d3];",
            "PTX has no type `.i32` for `ld`",
        ),
        (
            "st.global.pred [%d3], %p1;",
            "PTX has no `st.global` of type .pred",
        ),
        (
            "mul.wide.s64 %d1, %d2, %d3;",
            "PTX has no `mul.wide` of type .s64",
        ),
        (
            "match.any.sync.f64 %r1, %d1, %r2;",
            "PTX has no `match.any.sync` of type .f64",
        ),
        (
            "cvta.global.b64 %d1, %d2;",
            "PTX has no `cvta.global` of type .b64",
        ),
    ] {
        refused("", text, expected);
    }
}

/// A sample of each family; `ptxas` 13.5 refuses all, and takes the one beside each.
#[test]
fn types_that_no_driver_loads() {
    let read = |version: &str, scope: &str, text: &str| {
        let lines = format!(
            ".version {version}\n.address_size 64\n{scope}\n.visible .entry k(.param .u64 a)\n{{\n\
             .reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n{text}\nret;\n}}\n"
        );
        Executable::parse(&lines).map_err(|error| error.to_string())
    };
    let sm_90 = "8.5\n.target sm_90";
    let pairs = [
        ("add.b32 %r1, %r2, %r3;", "add.u32 %r1, %r2, %r3;"),
        ("mul.lo.b16 %h1, %h2, %h3;", "mul.lo.s16 %h1, %h2, %h3;"),
        (
            "mad.wide.b32 %d1, %r2, %r3, %d4;",
            "mad.wide.u32 %d1, %r2, %r3, %d4;",
        ),
        ("add.cc.b32 %r1, %r2, %r3;", "add.cc.s32 %r1, %r2, %r3;"),
        ("addc.cc.b64 %d1, %d2, %d3;", "addc.cc.u64 %d1, %d2, %d3;"),
        ("abs.u32 %r1, %r2;", "abs.s32 %r1, %r2;"),
        ("mul24.lo.b32 %r1, %r2, %r3;", "mul24.lo.u32 %r1, %r2, %r3;"),
        (
            "dp4a.s32.b32 %r1, %r2, %r3, %r4;",
            "dp4a.s32.u32 %r1, %r2, %r3, %r4;",
        ),
        ("and.u32 %r1, %r2, %r3;", "and.b32 %r1, %r2, %r3;"),
        ("or.s32 %r1, %r2, %r3;", "or.pred %p1, %p2, %p3;"),
        ("not.f32 %r1, %r2;", "not.b32 %r1, %r2;"),
        ("shl.u32 %r1, %r2, 3;", "shr.b32 %r1, %r2, 3;"),
        ("popc.u32 %r1, %r2;", "popc.b32 %r1, %r2;"),
        (
            "bfi.b16 %h1, %h2, %h3, %r1, %r2;",
            "bfi.b64 %d1, %d2, %d3, %r1, %r2;",
        ),
        ("bfe.b32 %r1, %r2, 3, 4;", "bfe.s32 %r1, %r2, 3, 4;"),
        (
            "ex2.approx.ftz.f16 %h1, %h2;",
            "ex2.approx.ftz.bf16 %h1, %h2;",
        ),
        ("ex2.approx.f64 %d1, %d2;", "ex2.approx.f32 %r1, %r2;"),
        ("setp.lt.b32 %p1, %r1, %r2;", "setp.ne.b32 %p1, %r1, %r2;"),
        ("setp.lo.s32 %p1, %r1, %r2;", "setp.lo.u32 %p1, %r1, %r2;"),
        (
            "setp.lt.f16 %p1|%p2, %h1, %h2;",
            "setp.lt.f16x2 %p1|%p2, %r1, %r2;",
        ),
        (
            "mad.f32 %r1, %r2, %r3, %r4;",
            "mad.rn.f32 %r1, %r2, %r3, %r4;",
        ),
        (
            "isspacep.param::func %p1, %d1;",
            "isspacep.param::entry %p1, %d1;",
        ),
        (
            "cvta.param::func.u64 %d1, %d2;",
            "cvta.param::entry.u64 %d1, %d2;",
        ),
        (
            "st.global.cv.u32 [%d1], %r1;",
            "st.global.wt.u32 [%d1], %r1;",
        ),
        (
            "ld.global.wb.u32 %r1, [%d1];",
            "ld.global.cv.u32 %r1, [%d1];",
        ),
        (
            "selp.f16 %h1, %h2, %h3, %p1;",
            "selp.b16 %h1, %h2, %h3, %p1;",
        ),
        (
            "slct.ftz.b32.s32 %r1, %r2, %r3, %r4;",
            "slct.ftz.b32.f32 %r1, %r2, %r3, %r4;",
        ),
        ("mov.f16 %h1, %h2;", "mov.b16 %h1, %h2;"),
        ("mov.u32 %r1, {%h1, %h2};", "mov.b32 %r1, {%h1, %h2};"),
        (
            "mov.v4.b64 {%d1, %d2, %d3, %d4}, {%d5, %d6, %d7, %d8};",
            "mov.v2.b64 {%d1, %d2}, {%d5, %d6};",
        ),
        (
            "redux.sync.add.b32 %r1, %r2, -1;",
            "redux.sync.add.u32 %r1, %r2, -1;",
        ),
        (
            "redux.sync.and.u32 %r1, %r2, -1;",
            "redux.sync.and.b32 %r1, %r2, -1;",
        ),
        ("ld.global.f16 %h1, [%d1];", "ld.global.b16 %h1, [%d1];"),
        (
            "ld.global.v4.f64 {%d1, %d2, %d3, %d4}, [%d5];",
            "ld.global.v2.f64 {%d1, %d2}, [%d5];",
        ),
        (
            "st.shared.v4.b64 [%d5], {%d1, %d2, %d3, %d4};",
            "st.shared.v4.b32 [%d5], {%r1, %r2, %r3, %r4};",
        ),
        ("ld.nc.u32 %r1, [%d1];", "ld.global.nc.u32 %r1, [%d1];"),
        ("ldu.shared.u32 %r1, [%d1];", "ldu.u32 %r1, [%d1];"),
        (
            "ld.volatile.local.u32 %r1, [%d1];",
            "ld.volatile.shared.u32 %r1, [%d1];",
        ),
        ("st.const.u32 [%d1], %r1;", "ld.const.u32 %r1, [%d1];"),
        (
            "st.relaxed.gpu.local.u32 [%d1], %r1;",
            "st.relaxed.gpu.u32 [%d1], %r1;",
        ),
        (
            "atom.local.add.u32 %r1, [%d1], %r2;",
            "atom.shared.add.u32 %r1, [%d1], %r2;",
        ),
        (
            "atom.global.add.noftz.u32 %r1, [%d1], %r2;",
            "atom.global.add.noftz.f16 %h1, [%d1], %h2;",
        ),
        (
            "cvt.rn.relu.f16.f64 %h1, %d1;",
            "cvt.rn.relu.f16.f32 %h1, %r1;",
        ),
        ("cvt.sat.f32.bf16 %r1, %h1;", "cvt.f32.bf16 %r1, %h1;"),
    ];
    for (wrong, right) in pairs {
        let error = read(sm_90, "", wrong).expect_err(wrong);
        let is_told = ["PTX has no `", "`mad` lacks its rounding"]
            .map(|told| error.starts_with(&format!("8:1: {told}")));
        assert!(is_told.contains(&true), "{wrong}: {error}");
        let unsupported = read(sm_90, "", right).map(|read| read.unsupported().to_vec());
        assert_eq!(unsupported, Ok(vec![]), "{right}");
    }
    let numbers = [
        ("bar.sync 16;", "bar.sync 15;", "there are 16 barriers"),
        (
            "bar.red.popc.u32 %r1, -1, %p1;",
            "bar.red.popc.u32 %r1, 1, %p1;",
            "there are 16 barriers",
        ),
        (
            "barrier.arrive 1, 33;",
            "barrier.arrive 1, 64;",
            "a multiple of 32",
        ),
    ];
    for (wrong, right, expected) in numbers {
        let error = read(sm_90, "", wrong).expect_err(wrong);
        assert!(
            error.starts_with("8:") && error.contains(expected),
            "{error}"
        );
        assert!(read(sm_90, "", right).is_ok(), "{right}");
    }
    let variables = [
        (".global .pred v;", ".global .u8 v;"),
        (".shared .bf16 v[4];", ".shared .b16 v[4];"),
        (".const .v4 .f64 v;", ".const .v2 .f64 v;"),
        (".global .v8 .b32 v;", ".global .v4 .b32 v;"),
    ];
    for (wrong, right) in variables {
        let error = read(sm_90, wrong, "").expect_err(wrong);
        assert!(error.starts_with("4:1: PTX has no "), "{wrong}: {error}");
        assert!(read(sm_90, right, "").is_ok(), "{right}");
    }
    for wrong in [".reg .bf16x2 v;", ".reg .v2 .pred v;"] {
        let error = read(sm_90, "", wrong).expect_err(wrong);
        assert!(error.starts_with("8:1: PTX has no "), "{wrong}: {error}");
    }
    // The low 8 bits of a table count; vectors of 32 bytes came with PTX 8.8, for sm_100.
    assert!(read(sm_90, "", "lop3.b32 %r1, %r2, %r3, %r4, 256;").is_ok());
    let wide = "ld.global.v4.f64 {%d1, %d2, %d3, %d4}, [%d5];";
    assert!(read("8.8\n.target sm_100", "", wide).is_ok());
    assert!(read("8.8\n.target sm_90", "", wide).is_err());
    // Since PTX 9.1, in which compilers of CUDA 13.1 and newer write.
    for text in [
        "ld.volatile.local.v2.u32 {%r1, %r2}, [%d1];",
        "st.volatile.local.u64 [%d1], %d2;",
    ] {
        assert!(read("9.0\n.target sm_90", "", text).is_err(), "{text}");
        assert!(read("9.1\n.target sm_90", "", text).is_ok(), "{text}");
    }
}

#[test]
fn what_is_not_modelled_is_a_value() {
    let texts = [
        "tcgen05.fence::before_thread_sync;",
        "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%d1, {%r1, %r2}], {%r0, %r3};",
        "tex.2dms.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%d1, {%r0, %r1, %r2, %r3}];",
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%r0, %r1, %r2, %r3}, %d1, %d2, %r1, 0, 1, 1, 1, 0, 0;",
        "suld.b.1d.b128.trap %r1, [%d1, {%r2}];",
        "txq.channel_order.b32 %r1, [%d1];",
        "tld4.r.cube.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%d1, {%r1, %r2, %r3, %r0}];",
        "sured.b.add.1d.u32.trap [%d1, {%r2}], %r1;",
        "suq.memory_layout.b32 %r1, [%d1];",
        "istypep.texref %p1, %d1;",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r0, %r1}, {%r0, %r1}, {%r0, %r1, %r2, %r3}, %r0, 0x0;",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r0, %r1}, {%r0, %r1}, {%r0, %r1, %r2, %r3};",
        "wmma.load.c.sync.aligned.row.m0n0k0.shared.f32 {%r0}, [%r1];",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r2];",
        "vadd2.u32.u32.u32.frob %r1, %r2, %r3, %r0;",
        "add.ftz.bf16 %h1, %h2, %h3;",
        "cvt.rn.satfinite.e4m3x2.bf16x2 %h1, %r1;",
        "frobnicate.x %r1, <what>, ever;",
        "@%p1 mbarrier.pending_count.b64 %r1, %d1;",
        "add.rn.f32x2 %d1, %d2, %d3;",
        "add.rn.s32 %r1, %r2, %r3;",
        "min.u16x2.relu %r1, %r2, %r3;",
        "mul.f64.ftz %d1, %d2, %d3;",
        "setp.ltu.s32 %p1, %r1, %r2;",
        "cvt.rzi.relu.s32.f32 %r1, %r2;",
        "mov.b128 %q1, {%d1, %d2};",
        "mov.b64 %d1, %q1;",
        "mov.u32 %r1, %aggr_smem_size;",
        "mov.u32 %r1, %aggr_smem_size;",
        "mapa.shared.u32 %r1, %r2, %r3;",
        "ld.release.gpu.global.u32 %r1, [%d1];",
        "st.acquire.gpu.global.u32 [%d1], %r1;",
        "ld.mmio.relaxed.sys.global.u32 %r1, [%d1];",
        "atom.global.v2.f32.add {%r0, %r1}, [%d1], {%r2, %r3};",
        "red.async.relaxed.cluster.global.add.u32 [%d1], %r2;",
        "fence.proxy.alias;",
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%d1, {%r1, %r2, %r3}], [%r2], {%h1};",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], 16, [%r3];",
        "mbarrier.arrive.noComplete.shared.b64 %d1, [%r1], 2;",
        "barrier.cluster.arrive.acquire;",
        "redux.sync.min.f32 %r1, %r2, -1;",
        "call (%r1), %d1, (%r2);",
        "exit.uni;",
    ];
    let mut report = String::new();
    for text in texts {
        let executable = Executable::parse(&kernel(text)).unwrap_or_else(|e| panic!("{e}"));
        let [unsupported] = executable.unsupported() else {
            panic!("{text}: {:?}", executable.unsupported());
        };
        assert_eq!(
            (unsupported.function.as_str(), unsupported.ptx_line),
            ("k", 15)
        );
        let (reason, written) = unsupported.reason.split_once(" (in `").unwrap();
        assert!(
            text.contains(written.strip_suffix("`)").unwrap()),
            "{written}"
        );
        report.push_str(&format!("{text}\n    {reason}\n"));
    }
    insta::assert_snapshot!("unsupported", report);
}

/// The reason why an opcode without operands is not modelled; `None` if it is, or is wrong.
fn reason(opcode: &str) -> Option<String> {
    let executable = Executable::parse(&kernel(&format!("{opcode};"))).ok()?;
    let unsupported = executable.unsupported().first()?;
    Some(unsupported.reason.clone())
}

#[test]
fn the_page_lists_what_is_executed() {
    let page = include_str!("../../../../docs/reference/instructions.md");
    let (_, page) = page.split_once("## Executed").unwrap();
    let (executed, page) = page.split_once("## Not executed").unwrap();
    let (not_executed, _) = page.split_once("\n## ").unwrap();
    let rows = |text: &str, column: usize| -> Vec<String> {
        let rows = text.lines().filter(|line| line.starts_with('|'));
        let cells = rows.map(|line| line.split('|').nth(column).unwrap().to_owned());
        cells.collect()
    };
    let opcodes = |cells: &[String]| -> Vec<String> {
        let code = cells
            .iter()
            .flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let code = code.filter(|code| !code.starts_with('.'));
        code.map(str::to_owned).collect()
    };
    let executed = opcodes(&rows(executed, 2));
    assert!(executed.len() > 120, "{executed:?}");
    for opcode in &executed {
        // It may be a part of the form that is missing here, but not the opcode.
        let unknown = reason(opcode).filter(|reason| reason.starts_with("instruction `"));
        assert_eq!(unknown, None, "{opcode} is not executed");
    }
    for opcode in opcodes(&rows(not_executed, 1)) {
        assert!(reason(&opcode).is_some(), "{opcode} is executed");
    }
}
