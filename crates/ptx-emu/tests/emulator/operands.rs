//! The forms of operands and the addresses that they mean, as `ptxas` has it.

use insta::assert_snapshot;

use crate::common::{launch, load};
use ptx_emu::{Executable, Machine};

const SHARED: &str = ".shared .align 8 .b32 s[32];\n.shared .b32 other[32];";

#[test]
fn addresses_of_32_bits_wrap() {
    // As nvcc writes an index that falls: the base is below 0, the offset brings it back.
    let out = launch(
        "mov.u32 %r5, s; shl.b32 %r6, %r2, 2; sub.u32 %r5, %r5, %r6; sub.u32 %r5, %r5, 4;
         mov.u32 %r7, s; add.u32 %r7, %r7, %r6; st.shared.u32 [%r7], %r2; bar.sync 0;
         ld.shared.u32 %r8, [%r5+128]; st.global.u32 [%rd3], %r8;",
    )
    .module_scope(SHARED)
    .out();
    let expected: Vec<u32> = (0..32).rev().collect();
    assert_eq!(out[..32], expected);
    let fault = launch("mov.u32 %r5, s; sub.u32 %r5, %r5, 8; ld.shared.u32 %r8, [%r5+4];")
        .module_scope(SHARED)
        .fault();
    assert!(fault.contains("starts 4 bytes before its start"), "{fault}");
    let of_local = launch("mov.u32 %r5, 0; ld.local.u32 %r8, [%r5+-4];").fault();
    assert!(
        of_local.contains("at offset -4 of local memory"),
        "{of_local}"
    );
}

/// PTX ISA, "mov": `mov.u32 ptr, A[5]` is the address of element 5. What an element is, of vectors
/// and of arrays of arrays too, and that an index may lie outside, is as `ptxas` 13.5 has it.
#[test]
fn elements_of_arrays() {
    let scope = ".global .align 8 .b64 wide[4] = {10, 11, 12, 13};\n.global .v2 .f32 pairs[4];
         .global .u16 rows[3][4];\n.shared .align 16 .b32 s[16];\n.global .align 8 .b8 bytes[16];";
    let distance = |to: &str, from: &str| {
        let body = format!(
            ".local .align 8 .b16 own[8];\n.shared .b64 t[4];\nmov.u64 %rd5, {to}; mov.u64 %rd6, {from};
             sub.u64 %rd5, %rd5, %rd6; st.global.u64 [%rd1], %rd5;"
        );
        let out = launch(&body).module_scope(scope).block(1).out();
        (u64::from(out[0]) | u64::from(out[1]) << 32) as i64
    };
    for (to, from, expected) in [
        ("s[5]", "s[0]", 20),
        ("s[5]", "s", 20),
        ("s[1+2]", "s+4", 8),
        ("wide[3]", "wide", 24),
        ("wide[100]", "wide", 800),
        ("wide[-1]", "wide", -8),
        ("pairs[1]", "pairs", 4),
        ("rows[1]", "rows", 2),
        ("bytes[5]", "bytes", 5),
        ("own[3]", "own", 6),
        ("t[3]", "t", 24),
    ] {
        assert_eq!(distance(to, from), expected, "{to} - {from}");
    }
    // In `cvta`, and in loads and stores, without brackets around it.
    let out = launch(
        "cvta.global.u64 %rd5, wide[1]; ld.u64 %rd6, [%rd5]; ld.global.u64 %rd7, wide[2];
         add.u64 %rd6, %rd6, %rd7; st.shared.u32 s[3], 7; ld.shared.u32 %r5, [s+12];
         st.global.u64 [%rd1], %rd6; st.global.u32 [%rd1+8], %r5;",
    )
    .module_scope(scope)
    .block(1)
    .out();
    assert_eq!(out[..3], [23, 0, 7]);
    for (text, expected) in [
        ("mov.u64 %rd5, one[0];", "an element of an array"),
        ("mov.u64 %rd5, %rd6[0];", "an element of an array"),
        ("mov.u64 %rd5, k[0];", "an element of an array"),
        ("add.u64 %rd5, %rd6, wide[1];", "found `wide[1]`"),
        ("mov.u64 %rd5, wide[1]+8;", "found `+`"),
        ("mov.u64 %rd5, wide[1;", "expected `]`"),
    ] {
        let scope = format!("{scope}\n.global .u32 one;");
        let text = launch(text).module_scope(&scope).text();
        let error = Executable::parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn constants_have_addresses_of_32_bits() {
    let module_scope = "\n.const .align 4 .b32 other[4] = {1, 2, 3, 4};
         .const .align 4 .b32 c[4] = {5, 6, 7, 8};\n.const .align 8 .b64 big = 9;";
    // The second and third base are beyond and below: the offset brings them back.
    let body = "mov.u32 %r5, c; ld.const.u32 %r6, [%r5+4]; add.u32 %r5, %r5, 0x90000000;
         ld.const.u32 %r7, [%r5+0x70000008]; mov.u32 %r5, other; sub.u32 %r5, %r5, 0x40000000;
         ld.const.u32 %r8, [%r5+0x40000000]; mov.u32 %r5, big; ld.const.u64 %rd5, [%r5];
         cvt.u32.u64 %r9, %rd5; mov.u32 %r5, c+12; ld.const.u32 %r10, [%r5];
         st.global.v4.u32 [%rd1], {%r6, %r7, %r8, %r9}; st.global.u32 [%rd1+16], %r10;";
    let out = launch(body).module_scope(module_scope).block(1).out();
    assert_eq!(out[..5], [6, 7, 1, 9, 8]);
    // Those of 64 bits are generic, and known as constants.
    let wide = "mov.u64 %rd5, c; ld.const.u32 %r5, [%rd5+4]; cvta.const.u64 %rd6, %rd5;
         ld.u32 %r6, [%rd6+8]; cvta.to.const.u64 %rd7, %rd6; ld.const.u32 %r7, [%rd7];
         ld.const.u32 %r8, [c+12]; isspacep.const %p1, %rd6; isspacep.global %p2, %rd6;
         isspacep.const %p3, %rd1; selp.u32 %r9, 1, 0, %p1; @%p2 add.u32 %r9, %r9, 2;
         @%p3 add.u32 %r9, %r9, 4; st.global.v4.u32 [%rd1], {%r5, %r6, %r7, %r8};
         st.global.u32 [%rd1+16], %r9;";
    let wide_out = launch(wide).module_scope(module_scope).block(1).out();
    assert_eq!(wide_out[..5], [6, 7, 5, 8, 1]);
    let fault = launch("mov.u32 %r5, c; ld.const.u32 %r6, [%r5+16];")
        .module_scope(module_scope)
        .fault();
    assert_snapshot!(fault, @r"
    out of bounds: load of 4 bytes at offset 16 of buffer `c` (16 bytes) reaches 4 bytes past its end (index 4, length 4)
      in kernel `k` at src/lab.rs:1 (PTX line 28), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn the_carry_of_a_difference_is_that_of_its_sum() {
    // 3 - 1 borrows nothing: the flag of 3 + !1 + 1 is set.
    let out = launch(
        "mov.u32 %r5, 3; mov.u32 %r6, 1;
         sub.cc.u32 %r7, %r5, %r6; addc.u32 %r8, 0, 0; st.global.u32 [%rd1], %r8;
         sub.cc.u32 %r7, %r6, %r5; addc.u32 %r8, 0, 0; st.global.u32 [%rd1+4], %r8;
         add.cc.u32 %r7, %r6, %r5; subc.u32 %r8, 10, 4; st.global.u32 [%rd1+8], %r8;
         add.cc.u32 %r7, %r6, -1; subc.cc.u32 %r8, 10, 4; addc.u32 %r9, 0, 0;
         st.global.u32 [%rd1+12], %r8; st.global.u32 [%rd1+16], %r9;
         sub.cc.u64 %rd5, 0, 1; subc.u64 %rd6, 0, 0; st.global.u64 [%rd1+24], %rd6;",
    )
    .block(1)
    .out();
    assert_eq!(out[..5], [1, 0, 5, 6, 1]);
    assert_eq!(out[6..8], [u32::MAX; 2]);
}

#[test]
fn a_generic_access_to_a_name_is_one_to_its_space() {
    let out = launch(
        ".local .align 4 .b32 l;
         st.u32 [s], 7; ld.u32 %r5, [s]; atom.add.u32 %r6, [s], 1; ld.u32 %r7, [s];
         st.u32 [l], 9; ld.u32 %r8, [l]; ld.u32 %r9, [c]; st.u32 [g], 3; ld.u32 %r10, [g];
         st.global.v4.u32 [%rd1], {%r5, %r6, %r7, %r8}; st.global.v2.u32 [%rd1+16], {%r9, %r10};",
    )
    .module_scope(&format!("{SHARED}\n.const .u32 c = 5;\n.global .u32 g;"))
    .block(1)
    .out();
    assert_eq!(out[..6], [7, 7, 8, 9, 5, 3]);
}

#[test]
fn predicates_may_be_numbers() {
    let out = launch(
        "selp.u32 %r5, 1, 2, 1; selp.u32 %r6, 1, 2, 0; setp.eq.and.u32 %p1|%p2, 1, 1, 0;
         set.eq.or.u32.u32 %r7, 1, 2, 1; vote.sync.all.pred %p3, 1, -1; vote.sync.ballot.b32 %r8, 0, -1;
         selp.u32 %r9, 1, 0, %p1; @%p3 add.u32 %r9, %r9, 2;
         st.global.v4.u32 [%rd1], {%r5, %r6, %r7, %r8}; st.global.u32 [%rd1+16], %r9;",
    )
    .out();
    assert_eq!(out[..5], [1, 2, u32::MAX, 0, 2]);
}

#[test]
fn operands_may_be_constant_expressions() {
    let out = launch(
        ".local .align 8 .b8 l[8];
         add.u32 %r5, %r2, (1 << 4) | 3; mov.u32 %r6, WARP_SZ - 1; mov.u32 %r7, -(2 + 3) * 4;
         ld.global.u32 %r8, [%rd2+4*2]; st.global.v4.u32 [%rd1+(1-1)], {%r5, %r6, %r7, %r8};
         ld.u32 %r9, [a+4]; st.u64 [l], %rd1 + 1; ld.u64 %rd5, [l]; sub.u64 %rd5, %rd5, %rd1;
         cvt.u32.u64 %r10, %rd5; add.u32 %r11, %r2, %r10+2; st.global.v2.u32 [%rd1+16], {%r9, %r11};",
    )
    .module_scope(".global .align 8 .b32 a[1 + 1] = {1, 10 / 2};")
    .block(1)
    .out();
    assert_eq!(out[..6], [19, 31, -20i32 as u32, 2, 5, 3]);
}

#[test]
fn vector_registers() {
    let out = launch(
        ".reg .v2 .u32 v; .reg .v4 .f32 w<2>; .reg .b64 packed;
         ld.global.v2.u32 v, [%rd2+8]; mov.u32 %r5, v.x; add.u32 v.y, v.y, 1; mov.b64 packed, v;
         st.global.u64 [%rd1], packed; mov.v2.u32 v, {%r5, v.x}; call (v), twice, (v);
         st.global.v2.u32 [%rd1+8], v; ld.global.v4.f32 w1, [%rd2]; mov.v4.f32 w0, w1;
         st.global.f32 [%rd1+16], w0.a; mov.v4.u32 {%r6, %r7, %r8, %r9}, %ntid;
         st.global.v4.u32 [%rd1+32], {%r6, %r7, %r8, %r9};",
    )
    .module_scope(
        ".func (.reg .v2 .u32 o) twice(.reg .v2 .u32 i) { add.u32 o.x, i.x, i.x; add.u32 o.y, i.y, 1; ret; }",
    )
    .block(1)
    .out();
    assert_eq!(out[..5], [2, 4, 4, 3, 3]);
    assert_eq!(out[8..12], [1, 1, 1, 0]);
}

#[test]
fn an_alias_is_the_function() {
    let out = launch("call (%r5), other, (%r2); st.global.u32 [%rd3], %r5;")
        .module_scope(
            ".func (.reg .u32 o) other(.reg .u32 i);
             .func (.reg .u32 o) f(.reg .u32 i) { add.u32 o, i, 5; ret; }
             .alias other, f;",
        )
        .out();
    assert_eq!(out[3], 8);
}

/// A module of two kernels, the second with this body.
fn two(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry good()\n{{\nret;\n}}\n\
         .visible .entry bad()\n{{\n.reg .b32 %r<4>;\n{body}\nret;\n}}\n"
    )
}

#[test]
fn a_wrong_body_costs_its_kernel_only() {
    for (body, message) in [
        ("add.s32 %r1, %r2;", "11:1: `add` takes 3 operands, found 2"),
        (
            "add.s32 %r1, %r2, %r3",
            "12:1: expected `,` or `;`, found `ret`",
        ),
        ("= ret;", "11:1: expected an instruction"),
        (
            ".reg .b32 x; .reg .b32 x;",
            "11:24: name `x` is declared twice",
        ),
        ("L: ret; L: ret;", "11:9: label `L` is declared twice"),
    ] {
        let mut machine = Machine::default();
        let module = load(&mut machine, &two(body));
        let config = launch("").config;
        machine.launch(&module, "good", &config, [0_u8; 0]).unwrap();
        let fault = machine
            .launch(&module, "bad", &config, [0_u8; 0])
            .unwrap_err()
            .to_string();
        let expected = format!("kernel `bad` cannot run: {message}");
        assert!(fault.starts_with(&expected), "{fault}");
        let alone = two(body).replacen("good()\n{\nret;", "good()\n{\n= ;", 1);
        assert!(Executable::parse(&alone).is_err(), "nothing is left");
    }
    let open = two("").trim_end().trim_end_matches('}').to_owned();
    assert!(Executable::parse(&open).is_err(), "the end is not found");
}

#[test]
fn modules_with_addresses_of_32_bits_are_refused() {
    let text = launch("").text().replace("_size 64", "_size 32");
    let error = Executable::parse(&text).unwrap_err().to_string();
    assert!(
        error.starts_with("3:15: modules with 32-bit addresses are not supported"),
        "{error}"
    );
    let without_size = launch("").text().replace(".address_size 64\n", "");
    Executable::parse(&without_size).expect("64 bits without the directive");
}

#[test]
fn conversions_with_modifiers_without_effect_are_refused() {
    for (form, is_accepted) in [
        ("sat.s16.s16", false),
        ("sat.u16.u16", false),
        ("sat.s32.u16", false),
        ("sat.u32.s16", true),
        ("sat.s16.u16", true),
        ("sat.u8.u16", true),
        ("ftz.s16.s16", false),
        ("rn.ftz.f16.s16", false),
        ("rn.ftz.f16.f32", true),
        ("rni.s32.s32", false),
        ("rn.s32.s32", false),
        ("rn.f32.f16", false),
        ("rn.f32.bf16", true),
        ("rzi.f16.f32", false),
        ("rni.f32.s32", false),
        ("rni.f16.f16", true),
        ("rni.ftz.f32.f32", true),
        ("rn.s32.f32", false),
        ("rzi.s32.f16", true),
        ("rn.f32.s32", true),
        ("rn.f16.f32", true),
    ] {
        let mut types = form.rsplit('.');
        let (src, dst) = (types.next().unwrap(), types.next().unwrap());
        let register = |ty: &str| if &ty[1..] == "32" { "%r5" } else { "%h1" };
        let (dst, src) = (register(dst), register(src));
        let text = launch(&format!("mov.b16 %h1, 0; cvt.{form} {dst}, {src};")).text();
        assert_eq!(Executable::parse(&text).is_ok(), is_accepted, "{form}");
    }
}
