//! Products of matrices in registers, against the same by rows and columns.

use crate::common::launch;

/// A PTX text that fills the fragments of a lane by the ISA's figures: for each register, the
/// element's row and column follow from the lane.
const LANE: &str = "shr.u32 %r40, %r2, 2; and.b32 %r41, %r2, 3;";

#[test]
fn mma_of_halves() {
    // a[i][k] = i + k, b[k][j] = k == j, so d[i][j] = i + j + c, c[i][j] = 1000.
    let half = |register: &str, value: &str| {
        format!("{value} cvt.rn.f32.u32 %f1, %r42; cvt.rn.f16.f32 {register}, %f1;")
    };
    let mut body = LANE.to_owned();
    for (number, (row, column)) in [(0, 0), (8, 0), (0, 8), (8, 8)].iter().enumerate() {
        for inner in 0..2 {
            let value = format!(
                "add.u32 %r42, %r40, {}; mad.lo.u32 %r42, %r41, 2, %r42;",
                row + column + inner
            );
            body += &half(&format!("%h{}", inner + 1), &value);
        }
        body += &format!("mov.b32 %r{}, {{%h1, %h2}};", 10 + number);
    }
    for number in 0..2 {
        for inner in 0..2 {
            // k = 2 member + inner + 8 number, j = group.
            let value = format!(
                "mad.lo.u32 %r42, %r41, 2, {}; setp.eq.u32 %p1, %r42, %r40; selp.u32 %r42, 1, 0, %p1;",
                inner + 8 * number
            );
            body += &half(&format!("%h{}", inner + 1), &value);
        }
        body += &format!("mov.b32 %r{}, {{%h1, %h2}};", 14 + number);
    }
    body += "mov.f32 %f2, 0f447A0000;
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f3, %f4, %f5, %f6},
            {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f2, %f2, %f2, %f2};
        mul.wide.u32 %rd5, %r2, 16; add.u64 %rd5, %rd1, %rd5;
        cvt.rzi.u32.f32 %r20, %f3; cvt.rzi.u32.f32 %r21, %f4; cvt.rzi.u32.f32 %r22, %f5; cvt.rzi.u32.f32 %r23, %f6;
        st.global.v4.u32 [%rd5], {%r20, %r21, %r22, %r23};";
    let out = launch(&body).out_words(128).out();
    for lane in 0..32 {
        let (group, member) = (lane / 4, lane % 4);
        for index in 0..4 {
            let (row, column) = (group + index / 2 * 8, 2 * member + index % 2);
            let sum = (1000 + row + column) as u32;
            assert_eq!(out[lane * 4 + index], sum, "lane {lane}, element {index}");
        }
    }
}

#[test]
fn mma_of_bytes_saturates() {
    // Every element of a is 127 and of b -128, of c the least number: 16 products reach below it.
    for (modifier, expected) in [
        ("", 0x8000_0000u32.wrapping_sub(16 * 127 * 128)),
        (".satfinite", 0x8000_0000),
    ] {
        let out = launch(&format!(
            "mov.u32 %r10, 0x7f7f7f7f; mov.u32 %r11, 0x80808080; mov.u32 %r12, 0x80000000;
             mma.sync.aligned.m8n8k16.row.col{modifier}.s32.s8.s8.s32 {{%r13, %r14}}, {{%r10}}, {{%r11}}, {{%r12, %r12}};
             st.global.u32 [%rd3], %r14;"
        ))
        .out();
        assert_eq!(out[..32], [expected; 32], "{modifier}");
    }
}

#[test]
fn mma_of_doubles_and_bits() {
    let out = launch(
        "cvt.rn.f64.u32 %d1, %r2; mov.f64 %d2, 0d3FF0000000000000; mov.f64 %d3, 0d0000000000000000;
         mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d4, %d5}, {%d1}, {%d2}, {%d3, %d2};
         cvt.rzi.u32.f64 %r10, %d4; cvt.rzi.u32.f64 %r11, %d5;
         mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r12, %r13}, {%r2}, {0}, {1, 2};
         mul.wide.u32 %rd5, %r2, 16; add.u64 %rd5, %rd1, %rd5; st.global.v4.u32 [%rd5], {%r10, %r11, %r12, %r13};",
    )
    .out_words(128)
    .out();
    for lane in 0..32u32 {
        // Row `group` of a holds the numbers of its lanes.
        let lanes = 4 * (lane / 4)..4 * (lane / 4) + 4;
        let (sum, bits) = (
            lanes.clone().sum::<u32>(),
            lanes.map(u32::count_ones).sum::<u32>(),
        );
        let at = 4 * lane as usize;
        assert_eq!(
            out[at..at + 4],
            [sum, sum + 1, bits + 1, bits + 2],
            "lane {lane}"
        );
    }
}

#[test]
fn ldmatrix_and_stmatrix() {
    // Row r of the matrices in shared memory holds 8 halves 8 r + c.
    let body = "mov.u32 %r10, s; mad.lo.u32 %r11, %r2, 16, %r10; shl.b32 %r12, %r2, 3; mul.lo.u32 %r12, %r12, 0x10001;
        add.u32 %r12, %r12, 0x10000; st.shared.u32 [%r11], %r12; add.u32 %r12, %r12, 0x20002; st.shared.u32 [%r11+4], %r12;
        add.u32 %r12, %r12, 0x20002; st.shared.u32 [%r11+8], %r12; add.u32 %r12, %r12, 0x20002; st.shared.u32 [%r11+12], %r12;
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r11];
        ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r24}, [%r11];
        movmatrix.sync.aligned.m8n8.trans.b16 %r25, %r20; setp.ne.u32 %p1, %r25, %r24; @%p1 trap;
        bar.sync 0;
        stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r11+512], {%r24, %r21};
        bar.sync 0;
        mad.lo.u32 %r13, %r2, 4, %r10; ld.shared.u32 %r26, [%r13+512]; ld.shared.u32 %r27, [%r13+640];
        mul.wide.u32 %rd5, %r2, 32; add.u64 %rd5, %rd1, %rd5;
        st.global.v4.u32 [%rd5], {%r20, %r23, %r24, %r26}; st.global.u32 [%rd5+16], %r27;";
    let out = launch(body)
        .module_scope(".shared .align 16 .b8 s[1024];")
        .out_words(256)
        .out();
    let pair = |low: usize, high: usize| (low | high << 16) as u32;
    for lane in 0..32 {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        let first = pair(8 * row + column, 8 * row + column + 1);
        let fourth = first + 0x10001 * 8 * 24;
        let turned = pair(8 * column + row, 8 * (column + 1) + row);
        // Transposed twice, the first matrix lies there as it was; the second turned.
        let second = turned + 0x10001 * 64;
        let expected = [first, fourth, turned, first, second];
        assert_eq!(out[8 * lane..8 * lane + 5], expected, "lane {lane}");
    }
}

#[test]
fn ldmatrix_finds_races_and_unwritten_memory() {
    let text = "mov.u32 %r10, s; mad.lo.u32 %r11, %r2, 16, %r10; and.b32 %r11, %r11, 511;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r11];";
    let run = |body: &str| {
        launch(body)
            .module_scope(".shared .align 16 .b8 s[512];")
            .fault()
    };
    let fault = run(text);
    assert!(fault.starts_with("uninitialized read"), "{fault}");
    let rotated = "add.u32 %r12, %r11, 16; and.b32 %r12, %r12, 511;
        st.shared.v4.u32 [%r12], {%r2, %r2, %r2, %r2}; ldmatrix";
    let race = run(&text.replace("ldmatrix", rotated));
    assert!(race.starts_with("race"), "{race}");
    let misaligned = run(&text.replace("[%r11]", "[%r11+8]"));
    assert!(misaligned.starts_with("misaligned"), "{misaligned}");
    let diverged = run(&format!(
        "setp.eq.u32 %p1, %r2, 3; @!%p1 bra A; bra B; A: {text} B: st.global.u32 [%rd3], %r2;"
    ));
    assert!(diverged.contains("ldmatrix.sync"), "{diverged}");
}

/// `d = a b + c` by `wmma` of this shape and type, with a by rows and b by columns.
fn wmma(shape: &str, types: [&str; 2], counts: [usize; 3], body: [&str; 2]) -> Vec<u32> {
    let bank = if types[0] == "f64" { "%rd" } else { "%r" };
    let names = |first: usize, count: usize| {
        let all: Vec<_> = (first..first + count)
            .map(|i| format!("{bank}{i}"))
            .collect();
        format!("{{{}}}", all.join(", "))
    };
    let [a, b, c] = [
        names(10, counts[0]),
        names(20, counts[1]),
        names(30, counts[2]),
    ];
    let [factor, sum] = types;
    let of_mma = match factor {
        "f16" => format!("{sum}.{sum}"),
        _ => format!("{sum}.{factor}.{factor}.{sum}"),
    };
    let [fill, end] = body;
    launch(&format!(
        "mov.u32 %r9, m; {fill} bar.sync 0;
         wmma.load.a.sync.aligned.row.{shape}.shared.{factor} {a}, [%r9];
         wmma.load.b.sync.aligned.col.{shape}.shared.{factor} {b}, [%r9+2048], %r8;
         wmma.load.c.sync.aligned.row.{shape}.shared.{sum} {c}, [%r9+4096];
         wmma.mma.sync.aligned.row.col.{shape}.{of_mma} {c}, {a}, {b}, {c};
         wmma.store.d.sync.aligned.row.{shape}.global.{sum} [%rd1], {c};{end}"
    ))
    .module_scope(".shared .align 128 .b8 m[8192];")
    .out_words(256)
    .out()
}

#[test]
fn wmma_of_bytes_and_halves() {
    // Bytes: a[i][k] = i, b[k][j] = 1 by columns of 32 bytes, c = 5.
    let fill = "mov.u32 %r8, 32; mad.lo.u32 %r5, %r2, 8, %r9; shr.u32 %r6, %r2, 1; mul.lo.u32 %r6, %r6, 0x1010101;
        st.shared.u32 [%r5], %r6; st.shared.u32 [%r5+4], %r6; mad.lo.u32 %r5, %r2, 16, %r9; mov.u32 %r6, 0x1010101;
        st.shared.v4.u32 [%r5+2048], {%r6, %r6, %r6, %r6}; mad.lo.u32 %r5, %r2, 32, %r9; mov.u32 %r6, 5;
        st.shared.v4.u32 [%r5+4096], {%r6, %r6, %r6, %r6}; st.shared.v4.u32 [%r5+4112], {%r6, %r6, %r6, %r6};";
    let out = wmma("m16n16k16", ["s8", "s32"], [2, 2, 8], [fill, ""]);
    for (at, &value) in out.iter().enumerate() {
        assert_eq!(value, 16 * (at as u32 / 16) + 5, "{at}");
    }
    // Halves of 1.0 everywhere: 16 products and 1.
    let ones = "mov.u32 %r8, 16; mad.lo.u32 %r5, %r2, 16, %r9; mov.u32 %r6, 0x3c003c00; mov.u32 %r7, 0x3f800000;
        st.shared.v4.u32 [%r5], {%r6, %r6, %r6, %r6}; st.shared.v4.u32 [%r5+512], {%r6, %r6, %r6, %r6};
        st.shared.v4.u32 [%r5+2048], {%r6, %r6, %r6, %r6}; st.shared.v4.u32 [%r5+2560], {%r6, %r6, %r6, %r6};
        mad.lo.u32 %r5, %r2, 32, %r9; st.shared.v4.u32 [%r5+4096], {%r7, %r7, %r7, %r7}; st.shared.v4.u32 [%r5+4112], {%r7, %r7, %r7, %r7};";
    for shape in ["m16n16k16", "m32n8k16", "m8n32k16"] {
        let sums = wmma(shape, ["f16", "f32"], [8, 8, 8], [ones, ""]);
        assert_eq!(sums, [17f32.to_bits(); 256], "{shape}");
    }
}

#[test]
fn wmma_of_other_floats() {
    // a[i][k] = i, b[k][j] = j + 1, c = 5. Rows of a and columns of b have 32 bytes in each type.
    let single = "mov.b32 %r6, %f1; mov.u32 %r7, %r6;";
    let double = "cvt.f64.f32 %d1, %f1; mov.b64 {%r6, %r7}, %d1;";
    let bf16 = "mov.b32 %r7, %f1; shr.u32 %r6, %r7, 16; or.b32 %r7, %r6, %r7; mov.u32 %r6, %r7;";
    for (shape, types, counts, put, n) in [
        ("m16n16k16", ["bf16", "f32"], [4, 4, 8], [bf16, single], 16),
        ("m16n16k8", ["tf32", "f32"], [4, 4, 8], [single, single], 16),
        ("m8n8k4", ["f64", "f64"], [1, 1, 2], [double, double], 8),
    ] {
        let k = shape.rsplit('k').next().unwrap();
        let [factor, sum] = put;
        let fill = format!(
            "mov.u32 %r8, {k}; shr.u32 %r5, %r2, 1; cvt.rn.f32.u32 %f1, %r5; mad.lo.u32 %r5, %r2, 16, %r9;
             {factor} st.shared.v4.u32 [%r5], {{%r6, %r7, %r6, %r7}};
             add.f32 %f1, %f1, 0f3F800000; {factor} st.shared.v4.u32 [%r5+2048], {{%r6, %r7, %r6, %r7}};
             mov.f32 %f1, 0f40A00000; {sum} mad.lo.u32 %r5, %r2, 32, %r9;
             st.shared.v4.u32 [%r5+4096], {{%r6, %r7, %r6, %r7}}; st.shared.v4.u32 [%r5+4112], {{%r6, %r7, %r6, %r7}};"
        );
        let out = wmma(shape, types, counts, [&fill, ""]);
        let value = |at: usize| match types[1] {
            "f64" => f64::from_bits(u64::from(out[2 * at]) | u64::from(out[2 * at + 1]) << 32),
            _ => f32::from_bits(out[at]).into(),
        };
        let k: usize = k.parse().unwrap();
        for at in 0..n * n {
            let expected = k * (at / n) * (at % n + 1) + 5;
            assert_eq!(value(at), expected as f64, "{shape}, element {at}");
        }
    }
}
