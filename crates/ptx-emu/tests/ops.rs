//! Instructions on edge operands, against the host's arithmetic or the definition in the PTX ISA.

use ptx_emu::{LaunchConfig, Limits, Machine, Options};

/// Edge patterns of 32 bits: as floats zeros, subnormals, ordinary numbers, the largest, infinities, NaNs; as integers
/// small, large, negative, extreme.
const WORDS: [u32; 24] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0001,
    0x4049_0fdb,
    0xc2f6_e979,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0xffc1_2345,
    31,
    32,
    0xffff_ffff,
    0x7fff_fffe,
    0x0001_2345,
    0x4b80_0001,
];

const LONGS: [u64; 16] = [
    0,
    1 << 63,
    1,
    0x000f_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0xbff8_0000_0000_0001,
    0x4009_21fb_5444_2d18,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_1234,
    0xfff0_0000_0000_0001,
    u64::MAX,
    63,
    0x0123_4567_89ab_cdef,
    0x3ca0_0000_0000_0000,
];

/// Every triple (a, b, c) with c of a few.
fn triples<T: Copy>(values: &[T]) -> Vec<[T; 3]> {
    let mut all = Vec::new();
    for (i, &a) in values.iter().enumerate() {
        for (j, &b) in values.iter().enumerate() {
            for step in 0..3 {
                all.push([a, b, values[(i * 7 + j * 3 + step * 5) % values.len()]]);
            }
        }
    }
    while all.len() % 32 != 0 {
        all.push(all[0]);
    }
    all
}

/// Runs an instruction from `a`, `b`, `c` to `d` for each triple, of values of `bits` bits.
fn run(bits: u32, instruction: &str, triples: &[[u64; 3]]) -> Vec<u64> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b64 %rd<8>;\n.reg .b32 %r<8>;\n.reg .pred %p<4>, %q<4>;\n\
         .reg .b16 %h<4>;\n.reg .b{bits} a, b, c, d;\n.reg .b32 a32, b32, c32, d32;\n.reg .b64 a64, b64, c64, d64;\n\
         ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n\
         mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n\
         mad.lo.u32 %r1, %r1, %r2, %r3;\nmad.wide.u32 %rd3, %r1, 24, %rd1;\nmad.wide.u32 %rd4, %r1, 8, %rd2;\n\
         ld.global.b64 a64, [%rd3];\nld.global.b64 b64, [%rd3+8];\nld.global.b64 c64, [%rd3+16];\n\
         cvt.u32.u64 a32, a64;\ncvt.u32.u64 b32, b64;\ncvt.u32.u64 c32, c64;\n\
         mov.b{bits} a, a{bits};\nmov.b{bits} b, b{bits};\nmov.b{bits} c, c{bits};\n\
         mov.b64 d64, 0;\nmov.b32 d32, 0;\nmov.b{bits} d, 0;\n\
         {instruction}\n\
         st.global.b{bits} [%rd4], d;\nret;\n}}"
    );
    let program = ptx::Program::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut machine = Machine::new(
        Limits::default(),
        Options {
            threads: 1,
            ..Options::default()
        },
    );
    let module = machine.load(program).expect("it fits");
    let input: Vec<u8> = triples
        .iter()
        .flatten()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let in_at = machine.allocate(input.len() as u64, "in").expect("it fits");
    let out_at = machine
        .allocate(8 * triples.len() as u64, "out")
        .expect("it fits");
    machine.write(in_at, &input).expect("in bounds");
    let config = LaunchConfig {
        grid: [triples.len() as u32 / 32, 1, 1],
        block: [32, 1, 1],
        shared_mem_bytes: 0,
    };
    let params = [in_at.to_le_bytes(), out_at.to_le_bytes()].concat();
    machine
        .launch(&module, "k", &config, &params)
        .unwrap_or_else(|fault| panic!("{instruction}: {fault}"));
    let mut out = vec![0; 8 * triples.len()];
    machine.read(out_at, &mut out).expect("in bounds");
    out.chunks_exact(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        .collect()
}

/// Compares an instruction on 32-bit values with a function.
fn check32(instruction: &str, expected: impl Fn(u32, u32, u32) -> u32) {
    let triples = triples(&WORDS);
    let wide: Vec<_> = triples.iter().map(|t| t.map(u64::from)).collect();
    for (&[a, b, c], got) in triples.iter().zip(run(32, instruction, &wide)) {
        let want = expected(a, b, c);
        assert_eq!(
            got as u32, want,
            "{instruction} of {a:#x}, {b:#x}, {c:#x}: got {got:#x}, not {want:#x}"
        );
    }
}

/// Compares an instruction on 64-bit values with a function.
fn check64(instruction: &str, expected: impl Fn(u64, u64, u64) -> u64) {
    let triples = triples(&LONGS);
    for (&[a, b, c], got) in triples.iter().zip(run(64, instruction, &triples)) {
        let want = expected(a, b, c);
        assert_eq!(
            got, want,
            "{instruction} of {a:#x}, {b:#x}, {c:#x}: got {got:#x}, not {want:#x}"
        );
    }
}

/// The bits of an f32 result, every NaN being the one that PTX gives.
fn bits32(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

fn flush(x: f32) -> f32 {
    if x.is_subnormal() {
        0f32.copysign(x)
    } else {
        x
    }
}

fn saturate(x: f32) -> f32 {
    if x.is_nan() {
        0.0
    } else {
        x.clamp(0.0, 1.0) + 0.0
    }
}

/// A float function as one on bits.
fn float2(f: impl Fn(f32, f32) -> f32) -> impl Fn(u32, u32, u32) -> u32 {
    move |a, b, _| bits32(f(f32::from_bits(a), f32::from_bits(b)))
}

#[test]
fn f32_arithmetic() {
    check32("add.f32 d, a, b;", float2(|a, b| a + b));
    check32("sub.rn.f32 d, a, b;", float2(|a, b| a - b));
    check32("mul.rn.f32 d, a, b;", float2(|a, b| a * b));
    check32("div.rn.f32 d, a, b;", float2(|a, b| a / b));
    check32("sqrt.rn.f32 d, a;", float2(|a, _| a.sqrt()));
    check32("rcp.rn.f32 d, a;", float2(|a, _| 1.0 / a));
    check32("fma.rn.f32 d, a, b, c;", |a, b, c| {
        let [a, b, c] = [a, b, c].map(f32::from_bits);
        bits32(a.mul_add(b, c))
    });
    check32(
        "add.ftz.f32 d, a, b;",
        float2(|a, b| flush(flush(a) + flush(b))),
    );
    check32(
        "mul.ftz.f32 d, a, b;",
        float2(|a, b| flush(flush(a) * flush(b))),
    );
    check32("add.sat.f32 d, a, b;", float2(|a, b| saturate(a + b)));
    check32(
        "mul.ftz.sat.f32 d, a, b;",
        float2(|a, b| saturate(flush(flush(a) * flush(b)))),
    );
    check32(
        "div.rn.ftz.f32 d, a, b;",
        float2(|a, b| flush(flush(a) / flush(b))),
    );
    check32("neg.f32 d, a;", |a, _, _| bits32(-f32::from_bits(a)));
    check32("abs.f32 d, a;", |a, _, _| bits32(f32::from_bits(a).abs()));
    check32("copysign.f32 d, a, b;", |a, b, _| {
        (a & 0x8000_0000) | (b & 0x7fff_ffff)
    });
}

/// What an H100 gives where a result only reaches the smallest normal number by rounding.
#[test]
fn ftz_goes_by_the_result_rounded_with_exponents_that_have_no_limit() {
    let one = |instruction: &str, [a, b, c]: [u64; 3]| run(32, instruction, &[[a, b, c]; 32])[0];
    let below_one = [0x0080_0000, 0x3f7f_ffff, 0];
    assert_eq!(one("mul.ftz.f32 d, a, b;", below_one), 0);
    assert_eq!(one("mul.rn.f32 d, a, b;", below_one), 0x0080_0000);
    assert_eq!(one("mul.rp.ftz.f32 d, a, b;", below_one), 0);
    assert_eq!(
        one("mul.rm.ftz.f32 d, a, b;", [0x8080_0000, 0x3f7f_ffff, 0]),
        0x8000_0000
    );
    assert_eq!(
        one("div.rp.ftz.f32 d, a, b;", [0x0080_0000, 0x3f80_0001, 0]),
        0
    );
    assert_eq!(
        one("div.rn.ftz.f32 d, a, b;", [0x3f7f_ffff, 0x7e80_0000, 0]),
        0
    );
    // These are nearer to it than to any other number of 24 bits.
    let less_little = [0x0b22_b207, 0x8480_0008, 0x0080_0000];
    assert_eq!(one("fma.rn.ftz.f32 d, a, b, c;", less_little), 0x0080_0000);
    assert_eq!(one("fma.rz.ftz.f32 d, a, b, c;", less_little), 0);
    assert_eq!(
        one(
            "fma.rp.ftz.f32 d, a, b, c;",
            [0x0080_0001, 0x9a34_0691, 0x0080_0000]
        ),
        0x0080_0000
    );
}

/// The next number towards an infinity.
fn nudge(x: f32, up: bool) -> f32 {
    if up { x.next_up() } else { x.next_down() }
}

/// Rounds a sum, product or quotient of f32 in a direction, by comparing with an f64 that is close enough to decide.
fn rounded(wide: f64, error: f64, nearest: f32, up: bool) -> f32 {
    if nearest.is_nan() {
        return nearest;
    }
    // `wide + error` is the exact value; is the nearest f32 on the wrong side of it?
    let side = (f64::from(nearest) - wide, error);
    let above = side.0 > 0.0 || (side.0 == 0.0 && side.1 < 0.0);
    let below = side.0 < 0.0 || (side.0 == 0.0 && side.1 > 0.0);
    if up && below || !up && above {
        nudge(nearest, up)
    } else {
        nearest
    }
}

#[test]
fn f32_directed_rounding() {
    let direction = |up| {
        move |a: u32, b: u32, f: &dyn Fn(f64, f64) -> (f64, f64)| {
            let [a, b] = [a, b].map(|bits| f64::from(f32::from_bits(bits)));
            let (wide, error) = f(a, b);
            if wide.is_infinite() && a.is_finite() && b.is_finite() {
                return wide as f32;
            }
            let nearest = wide as f32;
            if nearest.is_infinite() && wide.is_finite() {
                // Overflow: inwards gives the largest number.
                let inward = up == (wide < 0.0);
                return if inward {
                    f32::MAX.copysign(nearest)
                } else {
                    nearest
                };
            }
            rounded(wide, error, nearest, up)
        }
    };
    // Products of f32 are exact in f64 (or underflow far below f32); sums come with their error (two-sum).
    let product = |a: f64, b: f64| (a * b, 0.0);
    let sum = |a: f64, b: f64| {
        let s = a + b;
        let t = s - a;
        (s, (a - (s - t)) + (b - t))
    };
    for (name, up) in [("rp", true), ("rm", false)] {
        let round = direction(up);
        check32(&format!("mul.{name}.f32 d, a, b;"), |a, b, _| {
            bits32(round(a, b, &product))
        });
        check32(&format!("add.{name}.f32 d, a, b;"), |a, b, _| {
            let got = round(a, b, &sum);
            let [x, y] = [a, b].map(f32::from_bits);
            // An exact zero sum of numbers of unlike signs is -0 when rounding down.
            if x == -y && x.is_finite() && (x != 0.0 || x.to_bits() != y.to_bits()) {
                return if up { 0 } else { 0x8000_0000 };
            }
            bits32(got)
        });
    }
    check32("add.rz.f32 d, a, b;", |a, b, _| {
        let [x, y] = [a, b].map(f32::from_bits);
        let [up, down] = [true, false].map(|up| direction(up)(a, b, &sum));
        if x == -y && x.is_finite() && (x != 0.0 || x.to_bits() != y.to_bits()) {
            return 0;
        }
        bits32(if up > 0.0 || (up == 0.0 && x.is_sign_positive()) {
            down
        } else {
            up
        })
    });
}

#[test]
fn f32_extrema() {
    let extremum = |less: fn(f32, f32) -> bool, nan: bool| {
        float2(move |a, b| match (a.is_nan(), b.is_nan()) {
            (true, true) => f32::NAN,
            (true, false) if !nan => b,
            (false, true) if !nan => a,
            (false, false) if less(a, b) => a,
            (false, false) if less(b, a) => b,
            // Zeros: the negative one is the smaller.
            (false, false) => {
                let negative_wins = less(-1.0, 1.0);
                if a.is_sign_negative() == negative_wins {
                    a
                } else {
                    b
                }
            }
            _ => f32::NAN,
        })
    };
    check32("min.f32 d, a, b;", extremum(|a, b| a < b, false));
    check32("max.f32 d, a, b;", extremum(|a, b| a > b, false));
    check32("min.NaN.f32 d, a, b;", extremum(|a, b| a < b, true));
    check32("max.NaN.f32 d, a, b;", extremum(|a, b| a > b, true));
}

#[test]
fn f64_arithmetic() {
    // A NaN operand passes through, quieted, by the order given; an invalid operation gives the negative default.
    let finish = |operands: &[f64], x: f64| match operands.iter().find(|x| x.is_nan()) {
        Some(nan) => nan.to_bits() | 1 << 51,
        None if x.is_nan() => 0xfff8_0000_0000_0000,
        None => x.to_bits(),
    };
    let double2 = |f: fn(f64, f64) -> f64| {
        move |a: u64, b: u64, _: u64| {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            finish(&[b, a], f(a, b))
        }
    };
    check64("add.f64 d, a, b;", double2(|a, b| a + b));
    check64("sub.rn.f64 d, a, b;", double2(|a, b| a - b));
    check64("mul.rn.f64 d, a, b;", double2(|a, b| a * b));
    check64("div.rn.f64 d, a, b;", |a, b, _| {
        let (a, b) = (f64::from_bits(a), f64::from_bits(b));
        finish(&[a, b], a / b)
    });
    check64("sqrt.rn.f64 d, a;", |a, _, _| {
        finish(&[f64::from_bits(a)], f64::from_bits(a).sqrt())
    });
    check64("fma.rn.f64 d, a, b, c;", |a, b, c| {
        let [a, b, c] = [a, b, c].map(f64::from_bits);
        finish(&[b, c, a], a.mul_add(b, c))
    });
    // Made of an addition, these pass a NaN on with its sign.
    for (instruction, f) in [
        ("neg.f64 d, a;", (|x: f64| -x) as fn(f64) -> f64),
        ("abs.f64 d, a;", f64::abs),
    ] {
        check64(instruction, move |a, _, _| {
            let a = f64::from_bits(a);
            finish(&[a], f(a))
        });
    }
}

#[test]
fn approximations_are_within_their_bounds() {
    /// Relative error, 0 if both are the same special value.
    fn error(got: u32, want: f64) -> f64 {
        let got = f64::from(f32::from_bits(got));
        if got == want || (got.is_nan() && want.is_nan()) || (got == 0.0 && want.abs() < 1e-37) {
            return 0.0;
        }
        ((got - want) / want).abs()
    }
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function, f64); 6] = [
        ("ex2.approx.ftz.f32", f64::exp2, 2.4e-7),
        ("lg2.approx.ftz.f32", f64::log2, 1.6e-7),
        ("rsqrt.approx.ftz.f32", |x| 1.0 / x.sqrt(), 1.3e-7),
        ("rcp.approx.ftz.f32", |x| 1.0 / x, 1.2e-7),
        ("sqrt.approx.ftz.f32", f64::sqrt, 1.2e-7),
        ("tanh.approx.f32", f64::tanh, 4.9e-4),
    ];
    let values: Vec<u64> = (0..256)
        .map(|i| u64::from((0.01f32 * (i as f32 + 0.5)).to_bits()))
        .collect();
    let triples: Vec<_> = values.iter().map(|&a| [a, 0, 0]).collect();
    for (name, function, bound) in functions {
        for (a, got) in values
            .iter()
            .zip(run(32, &format!("{name} d, a;"), &triples))
        {
            let x = f64::from(f32::from_bits(*a as u32));
            let error = error(got as u32, function(x));
            assert!(error <= bound, "{name} of {x}: error {error}");
        }
    }
    for (name, function) in [("sin", f64::sin as Function), ("cos", f64::cos)] {
        for (a, got) in values
            .iter()
            .zip(run(32, &format!("{name}.approx.f32 d, a;"), &triples))
        {
            let x = f64::from(f32::from_bits(*a as u32));
            let got = f64::from(f32::from_bits(got as u32));
            assert!(
                (got - function(x)).abs() < 2f64.powf(-20.5),
                "{name} of {x}: {got}"
            );
        }
    }
}

#[test]
fn integer_arithmetic() {
    check32("add.u32 d, a, b;", |a, b, _| a.wrapping_add(b));
    check32("add.sat.s32 d, a, b;", |a, b, _| {
        (a as i32).saturating_add(b as i32) as u32
    });
    check32("sub.sat.s32 d, a, b;", |a, b, _| {
        (a as i32).saturating_sub(b as i32) as u32
    });
    check32("mul.lo.s32 d, a, b;", |a, b, _| a.wrapping_mul(b));
    check32("mul.hi.u32 d, a, b;", |a, b, _| {
        ((u64::from(a) * u64::from(b)) >> 32) as u32
    });
    check32("mul.hi.s32 d, a, b;", |a, b, _| {
        ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
    });
    check32("mad.lo.u32 d, a, b, c;", |a, b, c| {
        a.wrapping_mul(b).wrapping_add(c)
    });
    check32("mul24.lo.u32 d, a, b;", |a, b, _| {
        (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)
    });
    check32("div.u32 d, a, b;", |a, b, _| {
        a.checked_div(b).unwrap_or(u32::MAX)
    });
    check32("div.s32 d, a, b;", |a, b, _| match b {
        0 => u32::MAX,
        _ => (a as i32).wrapping_div(b as i32) as u32,
    });
    check32("rem.u32 d, a, b;", |a, b, _| {
        a.checked_rem(b).unwrap_or(u32::MAX)
    });
    check32("rem.s32 d, a, b;", |a, b, _| match b {
        0 => u32::MAX,
        _ => (a as i32).wrapping_rem(b as i32) as u32,
    });
    check32("abs.s32 d, a;", |a, _, _| (a as i32).wrapping_abs() as u32);
    check32("neg.s32 d, a;", |a, _, _| (a as i32).wrapping_neg() as u32);
    check32("min.s32 d, a, b;", |a, b, _| {
        (a as i32).min(b as i32) as u32
    });
    check32("max.u32 d, a, b;", |a, b, _| a.max(b));
    check32("sad.u32 d, a, b, c;", |a, b, c| {
        c.wrapping_add(a.abs_diff(b))
    });
    check32("sad.s32 d, a, b, c;", |a, b, c| {
        c.wrapping_add((a as i32).abs_diff(b as i32))
    });
    check32("dp4a.u32.s32 d, a, b, c;", |a, b, c| {
        let (x, y) = (a.to_le_bytes(), b.to_le_bytes());
        (0..4).fold(c, |sum, i| {
            sum.wrapping_add((i32::from(x[i]) * i32::from(y[i] as i8)) as u32)
        })
    });
    check64("mul.lo.u64 d, a, b;", |a, b, _| a.wrapping_mul(b));
    check64("mul.hi.s64 d, a, b;", |a, b, _| {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    });
    check64("div.s64 d, a, b;", |a, b, _| match b {
        0 => u64::MAX,
        _ => (a as i64).wrapping_div(b as i64) as u64,
    });
    check64("mad.wide.u32 d, a32, b32, c;", |a, b, c| {
        (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)
    });
    check64("mul.wide.s32 d, a32, b32;", |a, b, _| {
        (i64::from(a as i32) * i64::from(b as i32)) as u64
    });
}

#[test]
fn carries() {
    check64(
        "mov.b64 {%r4, %r5}, a; mov.b64 {%r6, %r7}, b;\n\
         add.cc.u32 %r4, %r4, %r6; addc.u32 %r5, %r5, %r7; mov.b64 d, {%r4, %r5};",
        |a, b, _| a.wrapping_add(b),
    );
    check64(
        "mov.b64 {%r4, %r5}, a; mov.b64 {%r6, %r7}, b;\n\
         sub.cc.u32 %r4, %r4, %r6; subc.u32 %r5, %r5, %r7; mov.b64 d, {%r4, %r5};",
        |a, b, _| a.wrapping_sub(b),
    );
    // A 64-bit product from 32-bit parts: what `mad.lo.cc` and `madc.hi` are for.
    check64(
        "mov.b64 {%r4, %r5}, c;\n\
         mad.lo.cc.u32 %r4, a32, b32, %r4; madc.hi.u32 %r5, a32, b32, %r5; mov.b64 d, {%r4, %r5};",
        |a, b, c| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c),
    );
}

#[test]
fn bits() {
    check32("and.b32 d, a, b;", |a, b, _| a & b);
    check32("not.b32 d, a;", |a, _, _| !a);
    check32("cnot.b32 d, a;", |a, _, _| u32::from(a == 0));
    check32("shl.b32 d, a, b;", |a, b, _| a.checked_shl(b).unwrap_or(0));
    check32("shr.u32 d, a, b;", |a, b, _| a.checked_shr(b).unwrap_or(0));
    check32("shr.s32 d, a, b;", |a, b, _| {
        ((a as i32) >> b.min(31)) as u32
    });
    check64("shl.b64 d, a, b32;", |a, b, _| {
        a.checked_shl(b as u32).unwrap_or(0)
    });
    check64("shr.s64 d, a, b32;", |a, b, _| {
        ((a as i64) >> (b as u32).min(63)) as u64
    });
    check32("shf.l.wrap.b32 d, a, b, c;", |a, b, c| {
        (((u64::from(b) << 32 | u64::from(a)) << (c & 31)) >> 32) as u32
    });
    check32("shf.r.clamp.b32 d, a, b, c;", |a, b, c| {
        ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32
    });
    check32("popc.b32 d, a;", |a, _, _| a.count_ones());
    check32("clz.b32 d, a;", |a, _, _| a.leading_zeros());
    check32("brev.b32 d, a;", |a, _, _| a.reverse_bits());
    check32("bfind.u32 d, a;", |a, _, _| {
        a.checked_ilog2().unwrap_or(u32::MAX)
    });
    check32("bfind.s32 d, a;", |a, _, _| {
        let a = if (a as i32) < 0 { !a } else { a };
        a.checked_ilog2().unwrap_or(u32::MAX)
    });
    check32("lop3.b32 d, a, b, c, 0x96;", |a, b, c| a ^ b ^ c);
    check32("lop3.b32 d, a, b, c, 0xe8;", |a, b, c| {
        (a & b) | (a & c) | (b & c)
    });
    check32("setp.eq.u32 %p1, 0, 0; selp.b32 d, a, b, %p1;", |a, _, _| a);
    check32(
        "setp.lt.s32 %p1, c, 0; selp.b32 d, a, b, %p1;",
        |a, b, c| {
            if (c as i32) < 0 { a } else { b }
        },
    );
}

/// The loops of the PTX ISA's definition of `bfe`.
fn bfe(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    let bit = |i: u32| a >> i & 1;
    let msb = width - 1;
    let sign = if !signed || len == 0 {
        0
    } else {
        bit((pos + len - 1).min(msb))
    };
    (0..=msb).fold(0, |d, i| {
        let value = if i < len && pos + i <= msb {
            bit(pos + i)
        } else {
            sign
        };
        d | value << i
    })
}

/// The loops of the PTX ISA's definition of `bfi`.
fn bfi(a: u64, b: u64, pos: u32, len: u32, width: u32) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    (0..len.min(width))
        .filter(|i| pos + i < width)
        .fold(b, |d, i| {
            (d & !(1 << (pos + i))) | (a >> i & 1) << (pos + i)
        })
}

#[test]
fn bit_fields() {
    check32("bfe.u32 d, a, b, c;", |a, b, c| {
        bfe(a.into(), b, c, 32, false) as u32
    });
    check32("bfe.s32 d, a, b, c;", |a, b, c| {
        bfe(a.into(), b, c, 32, true) as u32
    });
    for (pos, len) in [
        (0, 8),
        (5, 3),
        (31, 1),
        (31, 8),
        (32, 4),
        (0, 32),
        (4, 0),
        (0, 64),
    ] {
        check32(&format!("bfe.s32 d, a, {pos}, {len};"), |a, _, _| {
            bfe(a.into(), pos, len, 32, true) as u32
        });
        check64(&format!("bfe.s64 d, a, {pos}, {len};"), |a, _, _| {
            bfe(a, pos, len, 64, true)
        });
        check64(&format!("bfe.u64 d, a, {pos}, {len};"), |a, _, _| {
            bfe(a, pos, len, 64, false)
        });
        check32(&format!("bfi.b32 d, a, b, {pos}, {len};"), |a, b, _| {
            bfi(a.into(), b.into(), pos, len, 32) as u32
        });
        check64(&format!("bfi.b64 d, a, b, {pos}, {len};"), |a, b, _| {
            bfi(a, b, pos, len, 64)
        });
    }
}

#[test]
fn byte_permutations() {
    let bytes = |a: u32, b: u32| (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    check32("prmt.b32 d, a, b, 0x3210;", |a, _, _| a);
    check32("prmt.b32 d, a, b, 0x7654;", |_, b, _| b);
    check32("prmt.b32 d, a, b, 0x0123;", |a, _, _| a.swap_bytes());
    check32("prmt.b32 d, a, b, 0xba98;", |a, _, _| {
        u32::from_le_bytes(a.to_le_bytes().map(|byte| ((byte as i8) >> 7) as u8))
    });
    check32("prmt.b32.f4e d, a, b, c;", |a, b, c| {
        let s = (c & 3) as usize;
        u32::from_le_bytes(std::array::from_fn(|i| bytes(a, b)[s + i]))
    });
    check32("prmt.b32.b4e d, a, b, c;", |a, b, c| {
        let s = (c & 3) as usize;
        u32::from_le_bytes(std::array::from_fn(|i| bytes(a, b)[(s + 8 - i) % 8]))
    });
    check32("prmt.b32.rc16 d, a, b, c;", |a, _, c| {
        let half = a >> (16 * (c & 1)) & 0xffff;
        half << 16 | half
    });
}

#[test]
fn comparisons() {
    let set = |condition: bool| if condition { u32::MAX } else { 0 };
    let float = |f: fn(f32, f32) -> bool| {
        move |a: u32, b: u32, _: u32| set(f(f32::from_bits(a), f32::from_bits(b)))
    };
    check32("set.eq.u32.f32 d, a, b;", float(|a, b| a == b));
    check32(
        "set.ne.u32.f32 d, a, b;",
        float(|a, b| a != b && !a.is_nan() && !b.is_nan()),
    );
    check32("set.lt.u32.f32 d, a, b;", float(|a, b| a < b));
    check32("set.le.u32.f32 d, a, b;", float(|a, b| a <= b));
    check32("set.neu.u32.f32 d, a, b;", float(|a, b| a != b));
    check32(
        "set.equ.u32.f32 d, a, b;",
        float(|a, b| a == b || a.is_nan() || b.is_nan()),
    );
    check32(
        "set.gtu.u32.f32 d, a, b;",
        float(|a, b| a > b || a.is_nan() || b.is_nan()),
    );
    check32(
        "set.num.u32.f32 d, a, b;",
        float(|a, b| !a.is_nan() && !b.is_nan()),
    );
    check32(
        "set.nan.u32.f32 d, a, b;",
        float(|a, b| a.is_nan() || b.is_nan()),
    );
    check32(
        "set.lt.ftz.u32.f32 d, a, b;",
        float(|a, b| flush(a) < flush(b)),
    );
    check32("set.ge.f32.s32 d, a, b;", |a, b, _| {
        if a as i32 >= b as i32 {
            1f32.to_bits()
        } else {
            0
        }
    });
    check32("set.hi.u32.u32 d, a, b;", |a, b, _| set(a > b));
    check32(
        "setp.lt.u32 %p1, a, b; setp.gt.and.s32 %p2|%p3, a, c, %p1;\n\
         selp.b32 d, 1, 0, %p2; selp.b32 %r4, 2, 0, %p3; or.b32 d, d, %r4;",
        |a, b, c| {
            let (first, second) = (a < b, a as i32 > c as i32);
            u32::from(second && first) | u32::from(!second && first) << 1
        },
    );
    check32("slct.b32.s32 d, a, b, c;", |a, b, c| {
        if c as i32 >= 0 { a } else { b }
    });
    check32("slct.b32.f32 d, a, b, c;", |a, b, c| {
        if f32::from_bits(c) >= 0.0 { a } else { b }
    });
    check32(
        "testp.subnormal.f32 %p1, a; selp.b32 d, 1, 0, %p1;",
        |a, _, _| u32::from(f32::from_bits(a).is_subnormal()),
    );
    check32(
        "testp.normal.f32 %p1, a; selp.b32 d, 1, 0, %p1;",
        |a, _, _| {
            let x = f32::from_bits(a);
            u32::from(x.is_normal() || x == 0.0)
        },
    );
}

#[test]
fn conversions() {
    check32("cvt.rn.f32.s32 d, a;", |a, _, _| {
        (a as i32 as f32).to_bits()
    });
    check32("cvt.rn.f32.u32 d, a;", |a, _, _| (a as f32).to_bits());
    check32("cvt.rzi.s32.f32 d, a;", |a, _, _| {
        f32::from_bits(a) as i32 as u32
    });
    check32("cvt.rzi.u32.f32 d, a;", |a, _, _| f32::from_bits(a) as u32);
    check32("cvt.rni.s32.f32 d, a;", |a, _, _| {
        f32::from_bits(a).round_ties_even() as i32 as u32
    });
    check32("cvt.rmi.f32.f32 d, a;", |a, _, _| {
        bits32(f32::from_bits(a).floor())
    });
    check32("cvt.sat.f32.f32 d, a;", |a, _, _| {
        saturate(f32::from_bits(a)).to_bits()
    });
    check32("cvt.ftz.f32.f32 d, a;", |a, _, _| {
        bits32(flush(f32::from_bits(a)))
    });
    check32("cvt.s32.s8 d, a;", |a, _, _| a as i8 as i32 as u32);
    check32("cvt.u32.u16 d, a;", |a, _, _| a & 0xffff);
    check32("cvt.sat.u8.s32 d, a;", |a, _, _| {
        (a as i32).clamp(0, 255) as u32
    });
    check32("cvt.u16.u32 %h1, a; cvt.s32.s16 d, %h1;", |a, _, _| {
        a as i16 as i32 as u32
    });
    check32("cvt.rn.f16.f32 %h1, a; cvt.f32.f16 d, %h1;", |a, _, _| {
        half(f32::from_bits(a))
    });
    check64("cvt.s64.s32 d, a32;", |a, _, _| a as i32 as i64 as u64);
    check64("cvt.rn.f64.s64 d, a;", |a, _, _| {
        (a as i64 as f64).to_bits()
    });
    check64("cvt.f64.f32 d, a32;", |a, _, _| {
        let bits = a as u32;
        let x = f32::from_bits(bits);
        match x.is_nan() {
            true => u64::from(bits >> 31) << 63 | 0x7ff8 << 48 | u64::from(bits & 0x7f_ffff) << 29,
            false => f64::from(x).to_bits(),
        }
    });
    check64("cvt.rn.f32.f64 d32, a; cvt.u64.u32 d, d32;", |a, _, _| {
        // A NaN keeps its sign and the first bits of its payload, quieted.
        match f64::from_bits(a) {
            x if x.is_nan() => a >> 63 << 31 | 0x7fc0_0000 | (a << 12 >> 41),
            x => u64::from((x as f32).to_bits()),
        }
    });
}

/// An f32 rounded to the eleven bits and the range of binary16, as an f32.
fn half(x: f32) -> u32 {
    if x.is_nan() {
        // Canonical in 16 bits, then widened and canonical in 32.
        return 0x7fff_ffff;
    }
    let exponent = x.abs().max(2f32.powi(-14)).log2().floor() as i32;
    let unit = 2f64.powi(exponent.min(20) - 10);
    let rounded = (f64::from(x) / unit).round_ties_even() * unit;
    let limited = if rounded.abs() > 65504.0 {
        f64::INFINITY.copysign(rounded)
    } else {
        rounded
    };
    (limited as f32).copysign(x).to_bits()
}

#[test]
fn packing() {
    check32(
        "cvt.u16.u32 %h1, a; cvt.u16.u32 %h2, b; mov.b32 d, {%h1, %h2};",
        |a, b, _| a & 0xffff | b << 16,
    );
    check32("mov.b32 {%h1, %h2}, a; cvt.u32.u16 d, %h2;", |a, _, _| {
        a >> 16
    });
    check64(
        "mov.b64 {%r4, %r5}, a; mov.b64 d, {%r5, %r4};",
        |a, _, _| a.rotate_left(32),
    );
}
